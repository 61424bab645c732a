/** A topology as a Mermaid flowchart, which wikis and code forges draw. Pure. */
import type { Box, BoxKind, Line, TopologyGraph } from './topology-graph.ts';

const SHAPES: Readonly<Record<BoxKind, readonly [string, string]>> = {
  network: ['[', ']'],
  switch: ['(', ')'],
  router: ['[[', ']]'],
  host: ['[', ']'],
  bridge: ['[(', ')]'],
  zones: ['[/', '/]'],
  pods: ['>', ']'],
  egress: ['[\\', '/]'],
};

/** Text in quotes: what would end it, or be read as markup, becomes an entity. */
const quoted = (text: string): string =>
  `"${text.replace(/[#"<>&`]/g, (character) => `#${character.codePointAt(0)};`)}"`;

const boxText = (id: string, { kind, title, lines }: Box): string => {
  const [open, close] = SHAPES[kind];
  const label = [title, ...lines].map((line) => quoted(line).slice(1, -1)).join('<br/>');
  return `${id}${open}"${label}"${close}`;
};

export function mermaidText({ networks, links }: TopologyGraph): string {
  const boxes = networks.flatMap((network) => network.boxes);
  const ids = new Map(boxes.map(({ id }, index) => [id, `n${index + 1}`]));
  const lineText = ({ from, to, label }: Line): string =>
    `${ids.get(from)} ${label === '' ? '---' : `---|${quoted(label)}|`} ${ids.get(to)}`;
  const text = ['flowchart LR'];
  for (const [index, network] of networks.entries()) {
    text.push(`  subgraph s${index}[${quoted(network.network)}]`);
    for (const box of network.boxes) text.push(`    ${boxText(ids.get(box.id) ?? '', box)}`);
    for (const line of network.lines) text.push(`    ${lineText(line)}`);
    for (const { id, link } of network.boxes)
      if (link !== undefined) text.push(`    click ${ids.get(id)} href ${quoted(link)}`);
    text.push('  end');
  }
  for (const line of links) text.push(`  ${lineText(line)}`);
  return `${text.join('\n')}\n`;
}
