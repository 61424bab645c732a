/** Faults that somebody could make by hand, one each, in a world that is found apart without them: each connects what should be apart, or stops what should pass. */
import { describe, expect, test } from 'vitest';
import type { Row, Tables } from '../../../src/verify/rows.ts';
import type { Flow, HostState, Snapshot } from '../../../src/verify/snapshot.ts';
import { found } from '../../support/verify/found.ts';
import { connectedSnapshot } from '../../support/verify/connected-zone.ts';
import { flow, HOST, NORTHBOUND, snapshot } from '../../support/verify/small-zone.ts';

const map = (values: Readonly<Record<string, string>>): unknown => ['map', Object.entries(values)];
const uuids = (...values: readonly string[]): unknown => [
  'set',
  values.map((one) => ['uuid', one]),
];

type Changed = Readonly<Record<string, readonly Row[]>>;

const withRows = (tables: Tables | undefined, more: Changed): Tables => {
  const all = new Map(tables);
  for (const [table, rows] of Object.entries(more))
    all.set(table, [...(all.get(table) ?? []), ...rows]);
  return all;
};

/** Columns of the row of that name, changed. */
const changed = (tables: Tables, table: string, name: string, columns: Row): Tables =>
  new Map([
    ...tables,
    [
      table,
      (tables.get(table) ?? []).map((row) =>
        row['name'] === name || row['logical_port'] === name ? { ...row, ...columns } : row,
      ),
    ],
  ]);

const northbound: Tables = new Map(Object.entries(NORTHBOUND));
const BLUE_POD = 'blue.net_blue_a';
const BLUE_ROUTER = 'blue_net_ovn_cluster_router';

/** Northbound of the two networks with a changed row and further ones. */
const inNorthbound = (
  table: string,
  name: string,
  columns: Row,
  more: Changed = {},
): readonly string[] =>
  found(
    snapshot({ northbound: withRows(changed(northbound, table, name, columns), more) }),
    snapshot(),
  );

describe('Northbound', () => {
  test('a port nested in the port of another network', () => {
    expect(
      inNorthbound('Logical_Switch_Port', BLUE_POD, { parent_name: 'green.net_green_a' }),
    ).toEqual([
      'ports: Northbound Logical_Switch_Port blue.net_blue_a is nested in port green.net_green_a, by which it sends and receives: no object wants that',
    ]);
  });

  test('a port that is mirrored', () => {
    expect(
      inNorthbound('Logical_Switch_Port', BLUE_POD, { mirror_rules: uuids('mirror') }),
    ).toEqual([expect.stringContaining('blue.net_blue_a is mirrored')]);
  });

  test('a port that is disabled', () => {
    expect(inNorthbound('Logical_Switch_Port', BLUE_POD, { enabled: false })).toEqual([
      expect.stringContaining('is disabled: nothing of Pod blue/a passes'),
    ]);
  });

  test('answers of DHCP for another subnet, with a router elsewhere', () => {
    const answer = {
      _uuid: ['uuid', 'dhcp'],
      cidr: '10.99.0.0/16',
      options: map({ router: '10.99.0.1' }),
    };
    expect(
      inNorthbound(
        'Logical_Switch_Port',
        BLUE_POD,
        { dhcpv4_options: uuids('dhcp') },
        { DHCP_Options: [answer] },
      ),
    ).toEqual([
      'ports: Northbound Logical_Switch_Port blue.net_blue_a, DHCP_Options 10.99.0.0/16 is answered for 10.99.0.0/16, which network blue_net does not have',
      'ports: Northbound Logical_Switch_Port blue.net_blue_a, DHCP_Options 10.99.0.0/16 is told router 10.99.0.1, which is not on network blue_net',
    ]);
  });

  test('a router that answers with the address of another network, or in a conntrack zone of its choice', () => {
    const options = map({ lb_force_snat_ip: '100.65.0.2 169.254.0.14', 'snat-ct-zone': '7' });
    expect(inNorthbound('Logical_Router', BLUE_ROUTER, { options })).toEqual([
      'translation: Northbound Logical_Router blue_net_ovn_cluster_router has lb_force_snat_ip 169.254.0.14, which is an address of network green_net',
      'translation: Northbound Logical_Router blue_net_ovn_cluster_router translates in conntrack zone 7, which others may have, too: no object wants that',
    ]);
  });

  test('a route that drops what goes to pods of the network', () => {
    const row = { _uuid: ['uuid', 'r'], ip_prefix: '10.20.0.0/25', nexthop: 'discard' };
    expect(
      inNorthbound(
        'Logical_Router',
        BLUE_ROUTER,
        { static_routes: uuids('r') },
        { Logical_Router_Static_Route: [row] },
      ),
    ).toEqual([expect.stringContaining('drops what goes to 10.20.0.0/25: no object wants that')]);
  });

  test('a limit of bandwidth', () => {
    const row = { match: `outport == "${BLUE_POD}"`, bandwidth: map({ rate: '1' }) };
    expect(inNorthbound('Logical_Switch', '', {}, { QoS: [row] })).toEqual([
      expect.stringContaining('drops what is above a rate: no object wants that'),
    ]);
  });

  test('a load balancer on the router of a connection', () => {
    const right = connectedSnapshot();
    const balancer = {
      _uuid: ['uuid', 'lb'],
      name: 'lead',
      vips: map({ '192.168.0.9:80': '10.20.0.3:80' }),
    };
    const rows = changed(right.northbound, 'Logical_Router', 'connect_router_both', {
      load_balancer: uuids('lb'),
    });
    const faulty = { ...right, northbound: withRows(rows, { Load_Balancer: [balancer] }) };
    expect(found(faulty, right)).toEqual([
      'load balancers: Northbound Load_Balancer lead hangs on connect_router_both of ClusterNetworkConnect both: no object wants that',
    ]);
  });
});

describe('Southbound', () => {
  test('a port that is bound to another chassis, too', () => {
    const southbound = (more: Row): Tables =>
      new Map(
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
              logical_port: BLUE_POD,
              type: '',
              datapath: ['uuid', 'd'],
              tunnel_key: 1,
              options: map({}),
              ...more,
            },
          ],
        }),
      );
    expect(
      found(
        snapshot({ southbound: southbound({ additional_chassis: uuids('elsewhere') }) }),
        snapshot({ southbound: southbound({}) }),
      ),
    ).toEqual([
      'southbound: Southbound Port_Binding blue.net_blue_a is bound to chassis of nobody, too: what is sent to it goes there as well, and no object wants that',
    ]);
  });
});

describe('br-int', () => {
  const SOUTHBOUND: Tables = new Map(
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
          logical_port: BLUE_POD,
          type: '',
          datapath: ['uuid', 'd'],
          tunnel_key: 1,
          options: map({}),
        },
      ],
    }),
  );
  const node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: 'n1',
      annotations: {
        'k8s.ovn.org/node-chassis-id': 'chassis-1',
        'k8s.ovn.org/node-encap-ips': '["172.18.0.2"]',
      },
    },
  } as const;
  const zone = (bridge: Row, interfaces: readonly Row[], flows: readonly Flow[]): Snapshot => {
    const right = snapshot();
    return snapshot({
      objects: { ...right.objects, nodes: [node] },
      southbound: SOUTHBOUND,
      openVswitch: new Map(
        Object.entries({
          Bridge: [{ name: 'br-int', ports: uuids('p'), fail_mode: 'secure', ...bridge }],
          Port: [{ _uuid: ['uuid', 'p'], interfaces: uuids(...interfaces.map((_, i) => `i${i}`)) }],
          Interface: interfaces.map((row, i) => ({ ...row, _uuid: ['uuid', `i${i}`] })),
        }),
      ),
      host: { ...HOST, integrationFlows: flows },
    });
  };
  const port = { name: 'veth1', type: '', ofport: 4, external_ids: map({ 'iface-id': BLUE_POD }) };
  const right = zone({}, [port], [flow(65, 'reg15=0x1,metadata=0x1', 'output:4')]);

  test('without ovn-controller it would switch packets', () => {
    for (const mode of ['standalone', ['set', []]])
      expect(found(zone({ fail_mode: mode }, [port], []), right)).toEqual([
        'integration bridge: Open_vSwitch Bridge br-int has fail_mode standalone: without ovn-controller it switches between all networks',
      ]);
  });

  test('a mirror', () => {
    expect(found(zone({ mirrors: uuids('m') }, [port], []), right)).toEqual([
      expect.stringContaining('br-int has a mirror'),
    ]);
  });

  test('a tunnel to a stranger, and one that takes what anybody sends', () => {
    for (const remote of ['203.0.113.9', 'flow']) {
      const tunnel = {
        name: 'gnv0',
        type: 'geneve',
        ofport: 9,
        options: map({ remote_ip: remote }),
      };
      expect(found(zone({}, [port, tunnel], []), right)).toEqual([
        expect.stringContaining(`gnv0 is a tunnel to ${remote}, which is of no node`),
      ]);
    }
  });

  test.each([
    [
      'out by one of several ports',
      'bundle(eth_src,0,active_backup,ofport,members:77)',
      'out by port 77, which is of no logical port and no tunnel',
    ],
    [
      'out by a port of nobody',
      'output:77',
      'out by port 77, which is of no logical port and no tunnel',
    ],
    [
      'out by a port of a register',
      'output:NXM_NX_REG0[]',
      'sends to a port that it does not name',
    ],
    ['out by a queue of a port', 'enqueue:77:1', 'sends to a port that it does not name'],
    [
      'as if it had come by another port',
      'resubmit(7,0)',
      'goes on as if a packet had come by port 7',
    ],
  ])('a flow that leads a packet of a network %s', (_, actions, what) => {
    const faulty = zone({}, [port], [flow(8, 'metadata=0x1', actions)]);
    expect(found(faulty, right)).toEqual([expect.stringContaining(what)]);
  });
});

describe('the external bridge', () => {
  const node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: 'n1',
      annotations: {
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
  } as const;
  const zone = (flows: readonly Flow[]): Snapshot =>
    snapshot({
      objects: { ...snapshot().objects, nodes: [node] },
      openVswitch: new Map(
        Object.entries({
          Bridge: [{ name: 'br-ex', ports: uuids('p') }],
          Port: [{ _uuid: ['uuid', 'p'], interfaces: uuids('b', 'g') }],
          Interface: [
            ['b', 'blue_net', 3],
            ['g', 'green_net', 4],
          ].map(([uuid, network, ofport]) => ({
            _uuid: ['uuid', uuid],
            name: `patch-br-ex_${network}_n1-to-br-int`,
            type: 'patch',
            ofport,
            options: map({ peer: `patch-br-int-to-br-ex_${network}_n1` }),
          })),
        }),
      ),
      host: { ...HOST, bridgeFlows: flows },
    });

  test.each([
    ['as if it had come from another one', 'resubmit(4,0)', 'goes on as if'],
    ['with the port of another one', 'load:0x4->NXM_OF_IN_PORT[],resubmit(,0)', 'changes the port'],
    [
      'to the port that a register names',
      'output:NXM_NX_REG0[]',
      'sends to the port that a register names',
    ],
    ['by a queue of the port of another one', 'enqueue:4:1', 'says not to which port'],
  ])('a flow that leads what a network sends %s', (_, actions, what) => {
    const faulty = zone([flow(0, 'in_port=3,ip,nw_src=169.254.0.11', actions)]);
    expect(found(faulty, zone([]))).toEqual([expect.stringContaining(what)]);
  });
});

describe('the host', () => {
  const ofHost = (more: Partial<HostState>): readonly string[] =>
    found(snapshot({ host: { ...HOST, ...more } }), snapshot());

  test('no rule that leads what comes from networks to their tables', () => {
    expect(ofHost({ rules: HOST.rules.filter(({ isL3mdev }) => !isL3mdev) })).toEqual([
      'host routing: ip rules (v4) lack "l3mdev": what comes from networks is routed by tables of the host',
    ]);
  });

  test('a rule before that which takes all, and none that asks for something', () => {
    const rule = {
      priority: 500,
      family: 'v4',
      table: 254,
      isL3mdev: false,
      isWider: false,
    } as const;
    expect(ofHost({ rules: [{ ...rule, isForAll: true }, ...HOST.rules] })).toEqual([
      'host routing: ip rule 500: lookup 254 comes before "l3mdev", and takes what comes from networks, too: no object wants that',
    ]);
    expect(ofHost({ rules: [{ ...rule, isForAll: false }, ...HOST.rules] })).toEqual([]);
  });

  test('a device on the port of a network', () => {
    expect(ofHost({ links: [...HOST.links, { name: 'mv0', below: 'ovn-k8s-mp1' }] })).toEqual([
      'host routing: link mv0 sends by ovn-k8s-mp1 of network blue_net: no object wants that',
    ]);
  });
});

describe('nftables', () => {
  const own = { family: 'inet', table: 'ovn-kubernetes' };
  const ruleset = (...more: readonly object[]): Snapshot =>
    snapshot({
      host: {
        ...HOST,
        nftables: [{ rule: { ...own, chain: 'services', handle: 1, expr: [] } }, ...more],
      },
    });
  const inRuleset = (...more: readonly object[]): readonly string[] =>
    found(ruleset(...more), ruleset());
  const rule = (chain: string, ...expr: readonly object[]): object => ({
    rule: { ...own, chain, handle: 5, expr },
  });

  test('a chain that lets pass what it came from keeps apart', () => {
    expect(
      inRuleset(
        rule('udn-isolation', { jump: { target: 'aside' } }),
        rule('aside', { accept: null }),
      ),
    ).toEqual([
      expect.stringContaining('of chain aside, table inet ovn-kubernetes accepts without asking'),
    ]);
    expect(inRuleset(rule('aside', { accept: null }))).toEqual([]);
  });

  test('a return before what drops', () => {
    expect(inRuleset(rule('mgmtport-forward', { return: null }))).toEqual([
      expect.stringContaining('of chain mgmtport-forward'),
    ]);
  });

  test('packets that are handed to the port of a network', () => {
    const stranger = { family: 'netdev', table: 'x', chain: 'ingress', handle: 2 };
    for (const way of ['fwd', 'dup'])
      expect(
        inRuleset({ rule: { ...stranger, expr: [{ [way]: { dev: 'ovn-k8s-mp2' } }] } }),
      ).toEqual([
        'nftables: nft rule 2 of chain ingress, table netdev x hands packets to ovn-k8s-mp2 of network green_net: no object wants that',
      ]);
  });

  test('the address of a network for packets of somebody else', () => {
    const expr = [{ snat: { family: 'ip', addr: '169.254.0.14' } }];
    expect(
      inRuleset({ rule: { family: 'ip', table: 'nat', chain: 'post', handle: 3, expr } }),
    ).toEqual([
      'nftables: nft rule 3 of chain post, table ip nat gives packets address 169.254.0.14 of network green_net: what answers is led there',
    ]);
  });

  test('a map that gives the mark of a network', () => {
    const marks = { family: 'inet', table: 'x', name: 'm', type: 'ipv4_addr', map: 'mark' };
    expect(inRuleset({ map: { ...marks, elem: [['10.20.0.3', 0x1002]] } })).toEqual([
      "nftables: 10.20.0.3 of m, table inet x gives the mark of network green_net: what it matches is routed as that network's",
    ]);
  });
});
