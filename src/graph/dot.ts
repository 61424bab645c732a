/** A topology as DOT, the language of Graphviz. Pure. */
import type { Box, BoxKind, Line, TopologyGraph } from './topology-graph.ts';

const SHAPES: Readonly<Record<BoxKind, string>> = {
  network: 'shape=box3d, style="filled", fillcolor="#e3f2fd"',
  switch: 'shape=box, style="rounded,filled", fillcolor="#e3f2fd"',
  router: 'shape=box, style="filled", fillcolor="#fff3e0", peripheries=2',
  host: 'shape=box, style="filled", fillcolor="#f5f5f5"',
  bridge: 'shape=cylinder, style="filled", fillcolor="#eceff1"',
  zones: 'shape=folder, style="filled", fillcolor="#f3e5f5"',
  pods: 'shape=note, style="filled", fillcolor="#e8f5e9"',
  egress: 'shape=cds, style="filled", fillcolor="#fce4ec"',
};

/** What a box is, for who points at it. */
const MEANINGS: Readonly<Record<BoxKind, string>> = {
  network: 'network',
  switch: 'logical switch',
  router: 'logical router',
  host: "port of the host's own network stack",
  bridge: 'network outside of OVN, by a bridge of the node',
  zones: 'ports of other nodes',
  pods: 'pods of this node',
  egress: 'what leaves, and how:',
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

const boxText = (box: Box): string => {
  const { id, kind, title, tooltip = `${MEANINGS[kind]} ${title}`, link } = box;
  const target = link === undefined ? '' : `, URL=${quoted(link)}, target="_top"`;
  return `    ${quoted(id)} [label=${label(box)}, ${SHAPES[kind]}, tooltip=${quoted(tooltip)}${target}];`;
};

/**
 * A font whose letters all have one width: boxes are measured here, and drawn with whatever font of this kind is where the picture is looked at.
 */
const FONT = 'fontname="Courier New,Courier,monospace"';

/** Networks become clusters, below each other: Graphviz draws the first one at the bottom. */
export function dotText({ networks, links }: TopologyGraph): string {
  const clusters = networks
    .toReversed()
    .map(({ network, boxes, lines }, index) =>
      [
        `  subgraph cluster_${index} {`,
        `    label=${quoted(network)}; tooltip=${quoted(network)};`,
        ...boxes.map(boxText),
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
    `  node [${FONT}, fontsize=11, margin="0.22,0.08"];`,
    `  edge [${FONT}, fontsize=9, color="#607d8b"];`,
    `  graph [${FONT}, fontsize=14, labeljust=l, color="#b0bec5", style=rounded, nodesep=0.3, ranksep=0.6];`,
    ...clusters,
    ...links.map((line) => `  ${lineText(line)}`),
    '}',
    '',
  ].join('\n');
}
