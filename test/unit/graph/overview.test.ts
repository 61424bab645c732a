import { expect, test } from 'vitest';
import { dotText } from '../../../src/graph/dot.ts';
import { mermaidText } from '../../../src/graph/mermaid.ts';
import { overviewOf } from '../../../src/graph/overview.ts';
import { svgText } from '../../../src/graph/svg.ts';
import type { GraphRow } from '../../../src/graph/graph-row.ts';
import { topologyGraph } from '../../../src/graph/topology-graph.ts';

const row = (
  table: string,
  key: string,
  network: string,
  columns: object = {},
  holder?: readonly [table: string, key: string],
): GraphRow => ({
  table,
  key,
  object: 'Pod blue/a',
  columns: {
    external_ids: new Map([
      ['k8s.ovn.org/network', network],
      ['pod', 'true'],
    ]),
    ...columns,
  },
  holders: holder === undefined ? [] : [{ table: holder[0], key: holder[1] }],
});

const network = (name: string, pods: number, subnet = '10.1.0.1/24'): readonly GraphRow[] => [
  row('Logical_Switch', `${name}_sw`, name),
  row('Logical_Router', `${name}_lr`, name),
  row('Logical_Router_Port', `${name}_rp`, name, { networks: [subnet] }, [
    'Logical_Router',
    `${name}_lr`,
  ]),
  row(
    'Logical_Switch_Port',
    `${name}_sp`,
    name,
    { type: 'router', options: new Map([['router-port', `${name}_rp`]]) },
    ['Logical_Switch', `${name}_sw`],
  ),
  row('ACL', `${name}_acl`, name, {}, ['Logical_Switch', `${name}_sw`]),
  ...Array.from({ length: pods }, (_, at) =>
    row('Logical_Switch_Port', `${name}_${at}`, name, { addresses: `0a:58 10.1.0.${at}` }, [
      'Logical_Switch',
      `${name}_sw`,
    ]),
  ),
];

const graph = topologyGraph([
  ...network('default', 1),
  ...Array.from({ length: 12 }, (_, at) => network(`net${at}`, 2)).flat(),
  ...network('big', 30, '10.9.0.1/16'),
  ...network('joined', 2),
  ...network('other', 2),
  // A connection's router between two networks.
  row('Logical_Router_Port', 'a', 'joined', { peer: 'b' }, ['Logical_Router', 'joined_lr']),
  row('Logical_Router_Port', 'b', 'other', { peer: 'a' }, ['Logical_Router', 'other_lr']),
]);

test('networks are in natural order, the default one first', () => {
  const names = graph.networks.map((one) => one.network);
  expect(names.slice(0, 4)).toEqual(['default', 'big', 'joined', 'net0']);
  expect(names.indexOf('net2')).toBeLessThan(names.indexOf('net10'));
});

test('a network is one box with its subnets and numbers, and those that are alike and joined to none are one box', () => {
  const { networks, links } = overviewOf(graph, 'n1', (name) => `${name}.svg`);
  expect(links).toEqual([]);
  expect(networks.map((one) => one.network)).toEqual(['16 networks on n1']);
  const boxes = networks[0]?.boxes ?? [];
  const lines = networks[0]?.lines ?? [];
  expect(boxes.map(({ title, lines: text, link }) => [title, ...text, link ?? '-'])).toEqual([
    ['default', '10.1.0.1/24', '1 pod, 1 switch, 1 router, 1 ACL', 'default.svg'],
    ['big', '10.9.0.1/16', '30 pods, 1 switch, 1 router, 1 ACL', 'big.svg'],
    ['joined', '10.1.0.1/24', '2 pods, 1 switch, 1 router, 1 ACL', 'joined.svg'],
    [
      '12 networks alike',
      'net0',
      'net1',
      'net2',
      'net3',
      'and 8 more',
      'each: 2 pods, 1 switch, 1 router, 1 ACL',
      'net0.svg',
    ],
    ['other', '10.1.0.1/24', '2 pods, 1 switch, 1 router, 1 ACL', 'other.svg'],
  ]);
  expect(lines).toEqual([{ from: 'joined', to: 'other', label: '' }]);
  expect(boxes[3]?.tooltip).toMatch(/^net0, .*, net11$/);
});

test('drawn it has tooltips and links, and a font that is as wide wherever it is looked at', async () => {
  const overview = overviewOf(graph, 'n1', (name) => `${name}.svg`);
  const svg = await svgText(dotText(overview));
  expect(svg.match(/class="node"/g)).toHaveLength(5);
  expect(svg).toContain('xlink:href="big.svg"');
  expect(svg).toContain('xlink:title="net0, net1,');
  expect(svg).not.toMatch(/font-family="(?!Courier New,Courier,monospace")/);
  expect(mermaidText(overview)).toContain('click n2 href "big.svg"');
});
