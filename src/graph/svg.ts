/** DOT → a picture. */
import { Graphviz } from '@hpcc-js/wasm-graphviz';

/** An SVG document. Throws what Graphviz says of text that is no DOT. */
export async function svgText(dot: string): Promise<string> {
  const graphviz = await Graphviz.load();
  return graphviz.dot(dot, 'svg');
}
