/** The port of tunnels, egress addresses, bindings and the host's port: ways by which something is taken for a network's without any way between two. */
import { describe, expect, test } from 'vitest';
import type { Row, Tables } from '../../../src/verify/rows.ts';
import type { Flow, Snapshot } from '../../../src/verify/snapshot.ts';
import { found } from '../../support/verify/found.ts';
import { flow, HOST, NODE, NORTHBOUND, snapshot } from '../../support/verify/small-zone.ts';

const map = (members: object): unknown => ['map', Object.entries(members)];
const uuids = (...values: readonly string[]): unknown => [
  'set',
  values.map((one) => ['uuid', one]),
];

describe('nftables of the port of tunnels', () => {
  const own = { family: 'inet', table: 'ovn-kubernetes' };
  const match = (left: object, right: unknown): object => ({ match: { op: '==', left, right } });
  const toPort = match({ payload: { protocol: 'udp', field: 'dport' } }, 6081);
  const rule = (chain: string, ...expr: readonly object[]): object => ({
    rule: { ...own, chain, handle: 7, expr },
  });
  const drop = { drop: null };
  const froms = [
    match({ meta: { key: 'iifname' } }, 'ovn-k8s-mp*'),
    match({ meta: { key: 'sdifname' } }, 'ovn-k8s-mp*'),
    match({ ct: { key: 'status' } }, 'dnat'),
  ];
  const peers = (...elem: readonly string[]): object => ({
    set: { ...own, name: 'tunnel-peers-v4', type: 'ipv4_addr', elem },
  });
  const RIGHT = [
    ...['tunnel-forward', 'tunnel-input'].flatMap((chain) =>
      froms.map((from) => rule(chain, from, toPort, drop)),
    ),
    rule('tunnel-input', toPort, { jump: { target: 'tunnel-sources' } }),
    rule('tunnel-sources', match({ payload: {} }, '@tunnel-peers-v4'), { accept: null }),
    rule('tunnel-sources', { counter: {} }, drop),
    peers(),
  ];
  const ruleset = (nftables: readonly object[]): Snapshot =>
    snapshot({ host: { ...HOST, nftables } });
  const inRuleset = (...all: readonly object[]): readonly string[] =>
    found(ruleset(all), ruleset(RIGHT));

  test('each rule that drops is missed', () => {
    for (const [index, what] of [
      'chain tunnel-forward does not drop what comes by a port of a network',
      'chain tunnel-forward does not drop what comes by a VRF of a network',
      'chain tunnel-forward does not drop what a service leads there',
      'chain tunnel-input does not drop what comes by a port of a network',
      'chain tunnel-input does not drop what comes by a VRF of a network',
      'chain tunnel-input does not drop what a service leads there',
      'chain tunnel-input does not lead what comes to the port of tunnels to tunnel-sources',
    ].entries())
      expect(inRuleset(...RIGHT.toSpliced(index, 1))).toEqual([expect.stringContaining(what)]);
    expect(inRuleset(...RIGHT.toSpliced(8, 1))).toEqual([
      expect.stringContaining('does not drop what strangers send'),
    ]);
  });

  test('a rule that accepts before', () => {
    for (const chain of ['tunnel-forward', 'tunnel-input', 'tunnel-sources'])
      expect(inRuleset(rule(chain, { accept: null }), ...RIGHT)).toEqual([
        expect.stringContaining(`chain ${chain} lets`),
      ]);
  });

  test('a peer that is no node', () => {
    expect(inRuleset(...RIGHT, peers('172.18.0.99'))).toEqual([
      expect.stringContaining('172.18.0.99 of tunnel-peers-v4 sends to the port of tunnels'),
    ]);
  });
});

describe('the external bridge', () => {
  const node = {
    ...NODE,
    metadata: {
      name: 'n1',
      annotations: {
        ...NODE.metadata.annotations,
        'k8s.ovn.org/node-encap-ips': '["172.18.0.2"]',
        'k8s.ovn.org/l3-gateway-config': JSON.stringify({
          default: {
            mode: 'shared',
            'bridge-id': 'br-ex',
            'interface-id': 'br-ex_n1',
            'mac-address': '02:00:00:00:00:01',
            'ip-addresses': ['172.18.0.2/16'],
            'next-hops': ['172.18.0.1'],
            'node-port-enable': 'true',
            'vlan-id': '0',
          },
        }),
      },
    },
  };
  const egress = (name: string, mark: number, address: string): object => ({
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'EgressIP',
    metadata: { name, annotations: { 'k8s.ovn.org/egressip-mark': String(mark) } },
    spec: { egressIPs: [address], namespaceSelector: {} },
  });
  const zone = (flows: readonly Flow[], bridge: Row = {}): Snapshot =>
    snapshot({
      objects: {
        ...snapshot().objects,
        nodes: [node],
        egressIps: [
          egress('one', 50_000, '172.18.0.60'),
          egress('two', 50_001, '172.18.0.61'),
        ] as never,
      },
      openVswitch: new Map(
        Object.entries({
          Bridge: [{ name: 'br-ex', ports: uuids('p'), ...bridge }],
          Port: [{ _uuid: ['uuid', 'p'], interfaces: uuids('b') }],
          Interface: [
            {
              _uuid: ['uuid', 'b'],
              name: 'patch-br-ex_blue_net_n1-to-br-int',
              type: 'patch',
              ofport: 3,
              options: map({ peer: 'patch-br-int-to-br-ex_blue_net_n1' }),
            },
          ],
        }),
      ),
      host: { ...HOST, bridgeFlows: flows },
    });
  const RIGHT = [
    flow(0, 'udp,in_port=3,tp_dst=6081', 'drop'),
    flow(0, 'ct_state=-trk,ip,in_port=3,nw_frag=yes', 'ct(table=0,zone=64004)'),
    flow(0, 'ct_state=-inv+trk,ct_nw_proto=17,ct_tp_dst=6081,udp,nw_frag=yes', 'drop'),
    flow(0, 'udp,in_port=1,dl_dst=02:00:00:00:00:01,tp_dst=6081', 'drop'),
    flow(0, 'in_port=3', 'drop'),
  ];
  const inFlows = (flows: readonly Flow[]): readonly string[] => found(zone(flows), zone(RIGHT));

  test('each flow that keeps networks and strangers from tunnels is missed', () => {
    for (const [index, what] of [
      'lack the one that drops what goes from network blue_net to the port of tunnels (udp)',
      'lack the one that puts together pieces of what goes from network blue_net',
      'lack the one that drops pieces of what goes to the port of tunnels (udp)',
      'lack the one that drops what strangers send to the port of tunnels',
    ].entries())
      expect(inFlows(RIGHT.toSpliced(index, 1))).toEqual([expect.stringContaining(what)]);
  });

  test('who is no node sends to the port of tunnels', () => {
    const by = (source: string): Flow => ({
      ...flow(0, `udp,in_port=1,dl_dst=02:00:00:00:00:01,nw_src=${source},tp_dst=6081`, 'LOCAL'),
      priority: 205,
    });
    expect(inFlows([...RIGHT, by('172.18.0.2')])).toEqual([]);
    expect(inFlows([...RIGHT, by('172.18.0.99')])).toEqual([
      expect.stringContaining('lets 172.18.0.99 send to the port of tunnels, who is no node'),
    ]);
  });

  test('an egress address of somebody else', () => {
    const sent = (mark: string): readonly string[] =>
      inFlows([
        ...RIGHT,
        flow(
          0,
          `pkt_mark=${mark},ip,in_port=3`,
          'ct(commit,table=8,zone=64000,nat(src=172.18.0.60))',
        ),
      ]);
    expect(sent('0xc350')).toEqual([]);
    for (const mark of ['0xc351', '0x3f0'])
      expect(sent(mark)).toEqual([
        expect.stringContaining(
          'gives network blue_net address 172.18.0.60 of EgressIP one without its mark',
        ),
      ]);
  });

  test('a mirror', () => {
    expect(found(zone(RIGHT, { mirrors: uuids('m') }), zone(RIGHT))).toEqual([
      expect.stringContaining('Open_vSwitch Bridge br-ex has a mirror'),
    ]);
  });
});

describe('ports and their bindings', () => {
  const POD = 'blue.net_blue_a';
  const MAC = '0a:58:0a:14:00:03 10.20.0.3';
  const bound = (
    wanted: Readonly<Record<string, unknown>>,
    row: Readonly<Record<string, unknown>>,
  ): Snapshot => {
    const northbound: Tables = new Map([
      ...Object.entries(NORTHBOUND),
      [
        'Logical_Switch_Port',
        (NORTHBOUND['Logical_Switch_Port'] ?? []).map((port) =>
          port['name'] === POD ? { ...port, ...wanted } : port,
        ),
      ],
    ]);
    const southbound: Tables = new Map(
      Object.entries({
        Datapath_Binding: [
          {
            _uuid: ['uuid', 'd'],
            tunnel_key: 1,
            external_ids: map({ 'logical-switch': 'blue_net switch', name: 'blue_net_n1' }),
          },
        ],
        Port_Binding: [
          {
            logical_port: POD,
            type: '',
            datapath: ['uuid', 'd'],
            tunnel_key: 5,
            options: map({}),
            port_security: MAC,
            ...row,
          },
        ],
      }),
    );
    return snapshot({ northbound, southbound });
  };

  test('a binding with another key, or fewer addresses that it may send with', () => {
    const options = map({ 'requested-chassis': 'chassis-1', 'requested-tnl-key': '5' });
    expect(found(bound({ options }, { tunnel_key: 6 }), bound({ options }, {}))).toEqual([
      'identities: Southbound Port_Binding blue.net_blue_a has tunnel key 6, and Northbound asks for 5',
    ]);
    expect(found(bound({}, { port_security: ['set', []] }), bound({}, {}))).toEqual([
      `southbound: Southbound Port_Binding blue.net_blue_a may send with any address, and Northbound has ${MAC}`,
    ]);
  });

  test('a binding to another VLAN or physical network', () => {
    const wanted = { type: 'localnet', options: map({ network_name: 'physnet' }), tag: 50 };
    const row = { ...wanted, port_security: ['set', []] };
    expect(found(bound(wanted, { ...row, tag: 60 }), bound(wanted, row))).toEqual([
      expect.stringContaining('leads to VLAN 60, and Northbound has 50'),
    ]);
    const elsewhere = { ...row, options: map({ network_name: 'elsewhere' }) };
    expect(found(bound(wanted, elsewhere), bound(wanted, row))).toEqual([
      expect.stringContaining('leads to physical network elsewhere, and Northbound has physnet'),
    ]);
  });

  test("the host's port with an address of somebody else", () => {
    const node = {
      ...NODE,
      metadata: {
        name: 'n1',
        annotations: {
          ...NODE.metadata.annotations,
          'k8s.ovn.org/node-subnets':
            '{"default":["10.128.0.0/24"],"blue_net":["10.20.0.0/24"],"green_net":["10.20.0.0/32"]}',
        },
      },
    };
    const withHost = (addresses: string): Snapshot => {
      const port = { _uuid: ['uuid', 'host'], name: 'k8s-blue_net_n1', type: '', addresses };
      const switches = (NORTHBOUND['Logical_Switch'] ?? []).map((row) =>
        row['name'] === 'blue_net_n1'
          ? { ...row, ports: uuids('blue_net stor', 'blue_net pod', 'host') }
          : row,
      );
      const northbound = new Map(
        Object.entries({
          ...NORTHBOUND,
          Logical_Switch: switches,
          Logical_Switch_Port: [...(NORTHBOUND['Logical_Switch_Port'] ?? []), port],
        }),
      );
      return snapshot({ objects: { ...snapshot().objects, nodes: [node] }, northbound });
    };
    const right = withHost('0a:58:0a:14:00:02 10.20.0.2');
    for (const [addresses, foreign] of [
      [MAC, '10.20.0.3'],
      ['unknown', 'unknown'],
    ] as const)
      expect(found(withHost(addresses), right)).toEqual([
        `ports: Northbound Logical_Switch_Port k8s-blue_net_n1 has addresses ${foreign}, and the host has 10.20.0.2 on network blue_net`,
      ]);
  });
});
