/** A topology as DOT, the language of Graphviz. Pure. */
import type { Box, BoxKind, Line, TopologyGraph } from './topology-graph.ts';

const SHAPES: Readonly<Record<BoxKind, string>> = {
  switch: 'shape=box, style="rounded,filled", fillcolor="#e3f2fd"',
  router: 'shape=box, style="filled", fillcolor="#fff3e0", peripheries=2',
  host: 'shape=box, style="filled", fillcolor="#f5f5f5"',
  bridge: 'shape=cylinder, style="filled", fillcolor="#eceff1"',
  zones: 'shape=folder, style="filled", fillcolor="#f3e5f5"',
  pods: 'shape=note, style="filled", fillcolor="#e8f5e9"',
};

const quoted = (text: string): string =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', ' ')}"`;

/** Lines below each other, each with its left end below that of the one above. */
const label = ({ title, lines }: Box): string =>
  quoted([title, ...lines].join('\0'))
    .replaceAll('\0', '\\l')
    .replace(/"$/, '\\l"');

const lineText = ({ from, to, label: text }: Line): string =>
  `${quoted(from)} -- ${quoted(to)}${text === '' ? '' : ` [label=${quoted(text)}]`};`;

/** Networks become clusters, below each other: Graphviz draws the first one at the bottom. */
export function dotText({ networks, links }: TopologyGraph): string {
  const clusters = networks
    .toReversed()
    .map(({ network, boxes, lines }, index) =>
      [
        `  subgraph cluster_${index} {`,
        `    label=${quoted(network)};`,
        ...boxes.map((box) => `    ${quoted(box.id)} [label=${label(box)}, ${SHAPES[box.kind]}];`),
        ...lines.map(
          ({ from, to, label: text }) =>
            `    ${quoted(from)} -- ${quoted(to)}${text === '' ? '' : ` [label=${quoted(text)}]`};`,
        ),
        '  }',
      ].join('\n'),
    );
  return [
    'graph topology {',
    '  rankdir=LR;',
    '  node [fontname="Helvetica,Arial,sans-serif", fontsize=11, margin="0.22,0.08"];',
    '  edge [fontname="Helvetica,Arial,sans-serif", fontsize=9, color="#607d8b"];',
    '  graph [fontname="Helvetica,Arial,sans-serif", fontsize=14, labeljust=l, color="#b0bec5", style=rounded, nodesep=0.3, ranksep=0.6];',
    ...clusters,
    ...links.map((line) => `  ${lineText(line)}`),
    '}',
    '',
  ].join('\n');
}
