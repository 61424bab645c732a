import { describe, expect, test } from 'vitest';
import type { GraphRow } from '../../../src/graph/graph-row.ts';
import { dotText } from '../../../src/graph/dot.ts';
import { mermaidText } from '../../../src/graph/mermaid.ts';
import { svgText } from '../../../src/graph/svg.ts';
import { joinedBy, partOf, topologyGraph } from '../../../src/graph/topology-graph.ts';

const row = (
  table: string,
  key: string,
  columns: Record<string, unknown>,
  ...holders: readonly [table: string, key: string][]
): GraphRow => ({
  table,
  key,
  columns,
  object: 'UserDefinedNetwork blue/n',
  holders: holders.map(([holder, name]) => ({ table: holder, key: name })),
});

const map = (members: Record<string, string>): Map<string, string> =>
  new Map(Object.entries(members));

/** A network with a pod switch, a distributed router, a gateway router that is its peer, and an external switch. */
const networkRows = (network: string, pods = 1): readonly GraphRow[] => {
  const ids = map({ 'k8s.ovn.org/network': network });
  const [sw, router, gateway, external] = ['sw', 'lr', 'gr', 'ext'].map(
    (kind) => `${network}_${kind}`,
  ) as [string, string, string, string];
  return [
    row('Logical_Switch', sw, { external_ids: ids }),
    row('Logical_Switch', external, { external_ids: ids }),
    row('Logical_Router', router, { external_ids: ids }),
    row('Logical_Router', gateway, { external_ids: ids }),
    row('Logical_Router_Port', `rtos-${sw}`, { networks: ['10.1.0.1/24', 'fd01::1/64'] }, [
      'Logical_Router',
      router,
    ]),
    row(
      'Logical_Router_Port',
      `a-${network}`,
      { networks: '100.88.0.4/31', peer: `b-${network}` },
      ['Logical_Router', router],
    ),
    row(
      'Logical_Router_Port',
      `b-${network}`,
      { networks: '100.88.0.5/31', peer: `a-${network}` },
      ['Logical_Router', gateway],
    ),
    row('Logical_Router_Port', `rtoe-${network}`, { networks: '172.18.0.3/16' }, [
      'Logical_Router',
      gateway,
    ]),
    row(
      'Logical_Switch_Port',
      `stor-${sw}`,
      { type: 'router', options: map({ 'router-port': `rtos-${sw}` }) },
      ['Logical_Switch', sw],
    ),
    row(
      'Logical_Switch_Port',
      `etor-${network}`,
      { type: 'router', options: map({ 'router-port': `rtoe-${network}` }) },
      ['Logical_Switch', external],
    ),
    row(
      'Logical_Switch_Port',
      `ln-${network}`,
      { type: 'localnet', tag_request: 7, options: map({ network_name: 'physnet' }) },
      ['Logical_Switch', external],
    ),
    row(
      'Logical_Switch_Port',
      `far-${network}`,
      {
        type: 'remote',
        addresses: '0a:58:64:58:00:03 100.88.0.3/16',
        external_ids: map({ node: 'n2' }),
      },
      ['Logical_Switch', sw],
    ),
    row('Logical_Router_Static_Route', `${router} r1`, {}, ['Logical_Router', router]),
    row('Logical_Router_Static_Route', `${router} r2`, {}, ['Logical_Router', router]),
    row('NAT', `${gateway} n1`, {}, ['Logical_Router', gateway]),
    ...Array.from({ length: pods }, (_, at) => ({
      ...row(
        'Logical_Switch_Port',
        `${network}_web-${at}`,
        {
          addresses: [`0a:58:0a:01:00:0${at} 10.1.0.${at}`],
          external_ids: map({ pod: 'true', namespace: 'blue' }),
        },
        ['Logical_Switch', sw],
      ),
      object: `Pod blue/web-${at}`,
    })),
  ];
};

describe('the graph of a network', () => {
  const [graph] = topologyGraph(networkRows('blue_n')).networks;

  test('has a box for each switch and router, and for what hangs at a switch', () => {
    expect(graph?.boxes.map(({ kind, title, lines }) => [kind, title, ...lines])).toEqual([
      ['switch', 'blue_n_sw'],
      ['switch', 'blue_n_ext'],
      ['router', 'blue_n_lr', '2 routes'],
      ['router', 'blue_n_gr', '1 NAT rule'],
      ['bridge', 'physnet', 'VLAN 7'],
      ['zones', 'other zones', 'n2 100.88.0.3/16'],
      ['pods', 'pods', 'blue/web-0 10.1.0.0'],
    ]);
  });

  test('its lines lead from the pods to the outside, with the addresses of routers', () => {
    expect(graph?.lines.map(({ from, to, label }) => `${from} > ${to} ${label}`.trim())).toEqual([
      'blue_n_lr > blue_n_gr 100.88.0.4/31',
      'blue_n_sw > blue_n_lr 10.1.0.1/24, fd01::1/64',
      'blue_n_gr > blue_n_ext 172.18.0.3/16',
      'blue_n_ext > blue_n_ext bridge physnet',
      'blue_n_sw > blue_n_sw zones',
      'blue_n_sw pods  > blue_n_sw',
    ]);
  });

  test('many pods are counted', () => {
    const [many] = topologyGraph(networkRows('blue_n', 15)).networks;
    const pods = many?.boxes.find(({ kind }) => kind === 'pods');
    expect(pods?.lines).toHaveLength(13);
    expect(pods?.lines.at(-1)).toBe('and 3 more');
  });
});

test('the default network comes first, and each network stands by itself', () => {
  const rows = [...networkRows('zoo'), row('Logical_Switch', 'n1', {}), ...networkRows('apple')];
  expect(topologyGraph(rows).networks.map(({ network }) => network)).toEqual([
    'default',
    'apple',
    'zoo',
  ]);
});

describe('a connection of two networks', () => {
  const ids = map({
    'k8s.ovn.org/owner-type': 'ClusterNetworkConnect',
    'k8s.ovn.org/name': 'all',
  });
  const port = (key: string, peer: string, router: string): GraphRow =>
    row('Logical_Router_Port', key, { networks: '192.168.0.4/31', peer }, [
      'Logical_Router',
      router,
    ]);
  const graph = topologyGraph([
    ...networkRows('a_n'),
    ...networkRows('b_n'),
    row('Logical_Router', 'connect_router_all', { external_ids: ids }),
    port('crtor-a', 'rtocr-a', 'connect_router_all'),
    port('rtocr-a', 'crtor-a', 'a_n_lr'),
    port('crtor-b', 'rtocr-b', 'connect_router_all'),
    port('rtocr-b', 'crtor-b', 'b_n_lr'),
  ]);

  test('stands beside them, with a link to the router of each', () => {
    expect(graph.networks.map(({ network }) => network)).toEqual(['a_n', 'b_n', 'connection all']);
    expect(graph.links).toEqual([
      { from: 'connect_router_all', to: 'a_n_lr', label: '192.168.0.4/31' },
      { from: 'connect_router_all', to: 'b_n_lr', label: '192.168.0.4/31' },
    ]);
  });

  test('its links are drawn outside of the networks', async () => {
    expect(dotText(graph)).toContain(
      '\n  "connect_router_all" -- "a_n_lr" [label="192.168.0.4/31"];\n',
    );
    const svg = await svgText(dotText(graph));
    expect(svg.match(/class="edge"/g)).toHaveLength(14);
    expect(mermaidText(graph)).toMatch(/ {2}end\n {2}n15 ---\|"192.168.0.4\/31"\| n3\n/);
  });

  test('is drawn with the networks that it joins, and no others', () => {
    const beside = topologyGraph([
      ...networkRows('c_n'),
      row('Logical_Router', 'connect_router_all', { external_ids: ids }),
      ...networkRows('a_n'),
      port('crtor-a', 'rtocr-a', 'connect_router_all'),
      port('rtocr-a', 'crtor-a', 'a_n_lr'),
    ]);
    expect([...joinedBy(beside, 'all')].sort()).toEqual(['a_n', 'connection all']);
    expect(joinedBy(beside, 'a_n').size).toBe(0);
  });

  test('one of the networks alone has no link', () => {
    const part = partOf(graph, (network) => network === 'a_n');
    expect([part.networks.length, part.links]).toEqual([1, []]);
  });
});

describe('written as', () => {
  const networks = topologyGraph(networkRows('blue_n'));

  test('SVG it has every box, also of 20 networks', async () => {
    const many = topologyGraph(
      Array.from({ length: 20 }, (_, at) => networkRows(`net${at}`, 20)).flat(),
    );
    const svg = await svgText(dotText(many));
    expect(svg).toContain('<svg');
    for (const { boxes } of many.networks)
      for (const { title } of boxes) expect(svg).toContain(`>${title}<`);
    expect(svg.match(/class="node"/g)).toHaveLength(20 * 7);
    expect(svg.match(/class="edge"/g)).toHaveLength(20 * 6);
  });

  test('Mermaid it is a flowchart with a subgraph for each network', () => {
    expect(mermaidText(networks)).toBe(`flowchart LR
  subgraph s0["blue_n"]
    n1("blue_n_sw")
    n2("blue_n_ext")
    n3[["blue_n_lr<br/>2 routes"]]
    n4[["blue_n_gr<br/>1 NAT rule"]]
    n5[("physnet<br/>VLAN 7")]
    n6[/"other zones<br/>n2 100.88.0.3/16"/]
    n7>"pods<br/>blue/web-0 10.1.0.0"]
    n3 ---|"100.88.0.4/31"| n4
    n1 ---|"10.1.0.1/24, fd01::1/64"| n3
    n4 ---|"172.18.0.3/16"| n2
    n2 --- n5
    n1 --- n6
    n7 --- n1
  end
`);
  });

  test('text that would end a label, or be markup, is text', async () => {
    const evil = '"]; x -> "y\\l<b>&';
    const graph = topologyGraph([row('Logical_Switch', evil, {})]);
    expect(await svgText(dotText(graph))).toContain(
      '&quot;]; x &#45;&gt; &quot;y\\l&lt;b&gt;&amp;',
    );
    expect(mermaidText(graph)).toContain('n1("#34;]; x -#62; #34;y\\l#60;b#62;#38;")');
  });
});
