/** A topology as a Mermaid flowchart, which wikis and code forges draw. Pure. */
import type { Box, BoxKind, NetworkGraph } from './topology-graph.ts';

const SHAPES: Readonly<Record<BoxKind, readonly [string, string]>> = {
  switch: ['(', ')'],
  router: ['[[', ']]'],
  host: ['[', ']'],
  bridge: ['[(', ')]'],
  zones: ['[/', '/]'],
  pods: ['>', ']'],
};

/** Text in quotes: what would end it, or be read as markup, becomes an entity. */
const quoted = (text: string): string =>
  `"${text.replace(/[#"<>&`]/g, (character) => `#${character.codePointAt(0)};`)}"`;

const boxText = (id: string, { kind, title, lines }: Box): string => {
  const [open, close] = SHAPES[kind];
  const label = [title, ...lines].map((line) => quoted(line).slice(1, -1)).join('<br/>');
  return `${id}${open}"${label}"${close}`;
};

export function mermaidText(networks: readonly NetworkGraph[]): string {
  let count = 0;
  const text = ['flowchart LR'];
  for (const [index, { network, boxes, lines }] of networks.entries()) {
    const ids = new Map(boxes.map(({ id }) => [id, `n${(count += 1)}`]));
    text.push(`  subgraph s${index}[${quoted(network)}]`);
    for (const box of boxes) text.push(`    ${boxText(ids.get(box.id) ?? '', box)}`);
    for (const { from, to, label } of lines) {
      const arrow = label === '' ? '---' : `---|${quoted(label)}|`;
      text.push(`    ${ids.get(from)} ${arrow} ${ids.get(to)}`);
    }
    text.push('  end');
  }
  return `${text.join('\n')}\n`;
}
