import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Zone } from '../../../src/model/model.ts';
import {
  RowReference,
  type DatabaseRules,
  type DesiredRow,
} from '../../../src/ovsdb/plan/desired.ts';
import { northboundRules } from '../../../src/topology/northbound-rules.ts';
import { southboundRules } from '../../../src/topology/southbound-rules.ts';
import { zoneUnits, type Database } from '../../../src/topology/units.ts';
import { foundRow, readBackRow } from '../../support/found-rows.ts';
import {
  blue,
  bluePod,
  bluePodDefault,
  CHASSIS_1,
  dualZone,
  exampleZone,
  inLocalMode,
  ipv6Zone,
  networkName,
} from '../../support/zones.ts';

const busy = (zone: Zone): Zone => ({
  ...zone,
  networks: [
    ...zone.networks,
    { ...blue, name: networkName('cluster_udn_store-1'), id: 8, role: 'secondary' },
  ],
  settings: {
    ...zone.settings,
    features: { egressIp: true, egressFirewall: true, multicast: true },
  },
  attachments: [bluePod, { ...bluePodDefault, openDefaultPorts: [{ protocol: 'icmp' }] }],
});

const rulesOf = (zone: Zone, database: Database): DatabaseRules =>
  database === 'Northbound' ? northboundRules(zone) : southboundRules(zone);

/** The container by which a row is known, as the plan finds it. */
function placeOf(rules: DatabaseRules, row: DesiredRow): RowReference | undefined {
  const container = rules[row.table]?.container;
  const place = row.containers.find(
    ({ table, column }) => table === container?.table && column === container.column,
  );
  return place === undefined ? undefined : new RowReference(place.table, place.key);
}

describe('rows that we wrote', () => {
  test.each([
    ['IPv4', busy(exampleZone)],
    ['IPv4, local gateway mode', busy(inLocalMode(exampleZone))],
    ['both families', busy(dualZone)],
    ['IPv6', busy(ipv6Zone)],
  ])('%s: have the same key when read back, and are known to be ours', (_name, zone) => {
    const units = [...zoneUnits(zone).values()];
    const wrong: string[] = [];
    let count = 0;
    for (const { database, build } of units) {
      const rules = rulesOf(zone, database);
      for (const row of build()) {
        count++;
        const rule = rules[row.table];
        // What another program makes has its name from there.
        const found =
          row.partial === true ? foundRow({ name: row.key, ...row.columns }) : readBackRow(row);
        const place = placeOf(rules, row);
        if (rule?.keyOf(found, place) !== row.key) wrong.push(`key of ${row.table} ${row.key}`);
        const isShared = row.partial === true || row.table === 'NB_Global';
        if (rule?.isOurs(found, place) === isShared) {
          wrong.push(`owner of ${row.table} ${row.key}`);
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(count).toBeGreaterThan(150);
  });
});

const rules = northboundRules(exampleZone);

const isOurs = (
  table: string,
  columns: Readonly<Record<string, unknown>>,
  place?: readonly [string, string],
): boolean | undefined =>
  rules[table]?.isOurs(foundRow(columns), place && new RowReference(place[0], place[1]));

const goneNetwork = { 'k8s.ovn.org/network': 'gone_net', 'k8s.ovn.org/topology': 'layer3' };

describe('rows that a former life or another program of the same names left (topology.md §21)', () => {
  test.each([
    [
      'switch of a network that is gone',
      'Logical_Switch',
      {
        name: 'gone_net_ovn-worker',
        external_ids: { ...goneNetwork, 'k8s.ovn.org/role': 'primary' },
      },
      undefined,
    ],
    [
      'its router',
      'Logical_Router',
      { name: 'gone_net_ovn_cluster_router', external_ids: goneNetwork },
      undefined,
    ],
    [
      'its load balancer group',
      'Load_Balancer_Group',
      { name: 'gone_net_clusterSwitchLBGroup' },
      undefined,
    ],
    [
      'its port group',
      'Port_Group',
      {
        name: 'a1',
        external_ids: {
          'k8s.ovn.org/id': 'gone_net-network-controller:Cluster:clusterPortGroup',
          'k8s.ovn.org/owner-type': 'Cluster',
        },
      },
      undefined,
    ],
    [
      'its neighbour entry',
      'Static_MAC_Binding',
      {
        logical_port: 'rtoe-GR_gone_net_ovn-worker',
        ip: '169.254.169.4',
        mac: '0a:58:a9:fe:a9:04',
        override_dynamic_mac: true,
      },
      undefined,
    ],
    [
      'transit port of a node that is gone',
      'Logical_Switch_Port',
      { name: 'blue_blue_tstor-gone', type: 'remote', external_ids: { node: 'gone' } },
      ['Logical_Switch', 'blue_blue_transit_switch'],
    ],
    [
      'route to a node that is gone',
      'Logical_Router_Static_Route',
      {
        ip_prefix: '103.103.7.0/24',
        nexthop: '100.88.0.9',
        external_ids: { 'ic-node': 'gone', 'k8s.ovn.org/network': 'blue_blue' },
      },
      ['Logical_Router', 'blue_blue_ovn_cluster_router'],
    ],
    [
      'port of a pod of the default network',
      'Logical_Switch_Port',
      { name: 'shop_web', external_ids: { namespace: 'shop', pod: 'true' } },
      ['Logical_Switch', 'ovn-worker'],
    ],
    [
      'port of a pod of another network',
      'Logical_Switch_Port',
      {
        name: 'blue.blue_blue_old',
        external_ids: {
          ...goneNetwork,
          namespace: 'blue',
          pod: 'true',
          'k8s.ovn.org/nad': 'blue/blue',
        },
      },
      ['Logical_Switch', 'blue_blue_ovn-worker'],
    ],
    [
      'management port of a network that was primary',
      'Logical_Switch_Port',
      { name: 'k8s-blue_blue_ovn-worker', addresses: ['0a:58:67:67:00:02 103.103.0.2'] },
      ['Logical_Switch', 'blue_blue_ovn-worker'],
    ],
    [
      'route to a service that is open no more',
      'Logical_Router_Static_Route',
      {
        ip_prefix: '10.96.0.99',
        nexthop: '103.103.0.2',
        policy: 'dst-ip',
        external_ids: { ...goneNetwork, 'k8s.ovn.org/udn-enabled-default-service': 'a/b' },
      },
      ['Logical_Router', 'blue_blue_ovn_cluster_router'],
    ],
    [
      'route of rerouted pods for a former subnet',
      'Logical_Router_Static_Route',
      { ip_prefix: '103.50.0.0/16', nexthop: '100.65.0.2', policy: 'src-ip' },
      ['Logical_Router', 'blue_blue_ovn_cluster_router'],
    ],
    [
      'route of a former masquerade subnet',
      'Logical_Router_Static_Route',
      {
        ip_prefix: '169.254.169.0/29',
        nexthop: '169.254.169.4',
        output_port: 'rtoe-GR_ovn-worker',
        external_ids: { 'k8s.ovn.org/node-masquerade-subnet': '' },
      },
      ['Logical_Router', 'GR_ovn-worker'],
    ],
    [
      'default route to a former next hop',
      'Logical_Router_Static_Route',
      { ip_prefix: '0.0.0.0/0', nexthop: '172.18.0.254', output_port: 'rtoe-GR_ovn-worker' },
      ['Logical_Router', 'GR_ovn-worker'],
    ],
    [
      'address translation of a single pod',
      'NAT',
      {
        type: 'snat',
        logical_ip: '10.244.0.7',
        external_ip: '172.18.0.3',
        options: { stateless: 'false' },
      },
      ['Logical_Router', 'GR_ovn-worker'],
    ],
    [
      'policy for a former address of the node',
      'Logical_Router_Policy',
      {
        priority: 1004,
        match: 'inport == "rtos-ovn-worker" && ip4.dst == 172.18.0.99 /* ovn-worker */',
        action: 'reroute',
      },
      ['Logical_Router', 'ovn_cluster_router'],
    ],
    [
      'address set of nodes',
      'Address_Set',
      {
        name: 'a2',
        external_ids: {
          'k8s.ovn.org/id': 'default-network-controller:ClusterNodeIPs:node-ips:v6',
          'k8s.ovn.org/owner-type': 'ClusterNodeIPs',
        },
      },
      undefined,
    ],
  ] as const)('%s', (_name, table, columns, place) => {
    expect(isOurs(table, columns, place)).toBe(true);
  });

  test('chassis of a node that is gone', () => {
    const southbound = southboundRules(exampleZone);
    const chassis = foundRow({
      name: 'gone',
      hostname: 'gone',
      other_config: { 'is-remote': 'true' },
    });
    expect(southbound['Chassis']?.isOurs(chassis, undefined)).toBe(true);
    const encap = foundRow({
      type: 'geneve',
      ip: '172.18.0.9',
      chassis_name: 'gone',
      options: { csum: 'true' },
    });
    expect(southbound['Encap']?.isOurs(encap, new RowReference('Chassis', 'gone'))).toBe(true);
  });
});

describe('rows of others', () => {
  test.each([
    [
      "somebody's switch",
      'Logical_Switch',
      { name: 'lab', other_config: { subnet: '10.1.0.0/24' } },
      undefined,
    ],
    [
      "somebody's switch with our kind of port",
      'Logical_Switch_Port',
      { name: 'stor-lab', type: 'router' },
      ['Logical_Switch', 'lab'],
    ],
    [
      'a port that was added to a switch of ours by hand',
      'Logical_Switch_Port',
      { name: 'probe', addresses: ['unknown'] },
      ['Logical_Switch', 'blue_blue_ovn-worker'],
    ],
    [
      'a port with ids of another kind',
      'Logical_Switch_Port',
      { name: 'x', external_ids: { 'neutron:port_name': 'x' } },
      ['Logical_Switch', 'ovn-worker'],
    ],
    [
      'a Layer2 network',
      'Logical_Switch',
      {
        name: 'y_ovn_layer2_switch',
        external_ids: { 'k8s.ovn.org/network': 'y', 'k8s.ovn.org/topology': 'layer2' },
      },
      undefined,
    ],
    ['a router of somebody', 'Logical_Router', { name: 'edge' }, undefined],
    [
      'a router that only has the name of ours',
      'Logical_Router',
      { name: 'ovn_cluster_router' },
      undefined,
    ],
    [
      'a route by hand',
      'Logical_Router_Static_Route',
      { ip_prefix: '192.0.2.0/24', nexthop: '172.18.0.7' },
      ['Logical_Router', 'GR_ovn-worker'],
    ],
    [
      'a route by hand on the distributed router',
      'Logical_Router_Static_Route',
      { ip_prefix: '192.0.2.0/24', nexthop: '100.64.0.9', policy: 'src-ip' },
      ['Logical_Router', 'ovn_cluster_router'],
    ],
    [
      'a route without next hop',
      'Logical_Router_Static_Route',
      { ip_prefix: '192.0.2.0/24', nexthop: 'discard', policy: 'src-ip' },
      ['Logical_Router', 'ovn_cluster_router'],
    ],
    [
      'a published address',
      'NAT',
      { type: 'dnat_and_snat', logical_ip: '10.244.0.7', external_ip: '172.18.0.50' },
      ['Logical_Router', 'GR_ovn-worker'],
    ],
    [
      'translation of addresses that are none of ours',
      'NAT',
      { type: 'snat', logical_ip: '192.168.7.0/24', external_ip: '172.18.0.3' },
      ['Logical_Router', 'GR_ovn-worker'],
    ],
    [
      'translation of nonsense',
      'NAT',
      { type: 'snat', logical_ip: 'a:b/c', external_ip: '' },
      ['Logical_Router', 'GR_ovn-worker'],
    ],
    [
      'a policy by hand',
      'Logical_Router_Policy',
      { priority: 1004, match: 'ip4.src == 1.2.3.4', action: 'drop' },
      ['Logical_Router', 'ovn_cluster_router'],
    ],
    [
      'a policy of an egress IP',
      'Logical_Router_Policy',
      {
        priority: 100,
        match: 'ip4.src == 10.244.0.5',
        external_ids: { 'k8s.ovn.org/id': 'x', 'k8s.ovn.org/owner-type': 'EgressIP' },
      },
      ['Logical_Router', 'ovn_cluster_router'],
    ],
    ['an ACL by hand', 'ACL', { priority: 1001, match: 'ip4' }, undefined],
    [
      'an ACL of a network policy',
      'ACL',
      { external_ids: { 'k8s.ovn.org/id': 'x', 'k8s.ovn.org/owner-type': 'NetworkPolicy' } },
      undefined,
    ],
    ['an address set by hand', 'Address_Set', { name: 'friends' }, undefined],
    [
      "somebody's load balancer group",
      'Load_Balancer_Group',
      { name: 'myclusterLBGroup2' },
      undefined,
    ],
    ["somebody's meter", 'Meter', { name: 'slow' }, undefined],
    [
      'a neighbour by hand',
      'Static_MAC_Binding',
      { logical_port: 'rtoe-GR_ovn-worker', ip: '172.18.0.1', mac: '02:42:ac:12:00:01' },
      undefined,
    ],
  ] as const)('%s stays', (_name, table, columns, place) => {
    expect(isOurs(table, columns, place)).toBe(false);
  });

  test("the own chassis, an emulated switch's chassis, and tunnel endpoints of the own one stay", () => {
    const southbound = southboundRules(exampleZone);
    const own = foundRow({ name: CHASSIS_1, other_config: { 'is-remote': 'true' } });
    const vtep = foundRow({ name: 'vtep', other_config: {} });
    const encap = foundRow({
      type: 'geneve',
      ip: '172.18.0.3',
      chassis_name: CHASSIS_1,
      options: { csum: 'true' },
    });
    expect(southbound['Chassis']?.isOurs(own, undefined)).toBe(false);
    expect(southbound['Chassis']?.isOurs(vtep, undefined)).toBe(false);
    expect(southbound['Encap']?.isOurs(encap, undefined)).toBe(false);
  });

  test('a switch with a network but no topology was never written by a network controller', () => {
    const marked = { name: 'x', external_ids: { 'k8s.ovn.org/network': 'blue_blue' } };
    expect(isOurs('Logical_Switch', marked)).toBe(false);
  });
});

test.each([
  '10.0.0.0/abc',
  '10.0.0.0/1.5',
  '10.0.0.0/',
  '0.0.0.0/-5',
  'x/24',
  'fd00::/abc',
  '::',
  '',
])('a route or translation for %j is nobody we know', (prefix) => {
  for (const nexthop of ['10.0.0.3', 'fd00::7', 'discard', 'a:b']) {
    const route = { ip_prefix: prefix, nexthop, policy: 'src-ip' };
    expect(
      isOurs('Logical_Router_Static_Route', route, ['Logical_Router', 'ovn_cluster_router']),
    ).toBe(false);
  }
  const nat = { type: 'snat', logical_ip: prefix };
  expect(isOurs('NAT', nat, ['Logical_Router', 'GR_ovn-worker'])).toBe(false);
});

test('rules take whatever a database holds', () => {
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom(
      '',
      'discard',
      '10.0.0.0/abc',
      '10.0.0.0/33',
      '::/-1',
      'a:b',
      'fe80::1%x',
      '0.0.0.0/0',
      'src-ip',
      'snat',
      'rtoe-GR_ovn-worker',
      'fd00::/8',
      '10.244.0.2',
    ),
  );
  const value = fc.oneof(
    text,
    fc.constant(undefined),
    fc.integer(),
    fc.boolean(),
    fc.array(text),
    fc.dictionary(
      fc.constantFrom(
        'node',
        'pod',
        'namespace',
        'ic-node',
        'k8s.ovn.org/network',
        'k8s.ovn.org/id',
        'is-remote',
      ),
      text,
      { noNullPrototype: true },
    ),
  );
  const place = fc.constantFrom(
    'ovn_cluster_router',
    'GR_ovn-worker',
    'ovn-worker',
    'ext_ovn-worker',
    'x_join',
    'transit_switch',
    'rtos-x',
  );
  const columns = fc.dictionary(
    fc.constantFrom(
      'name',
      'external_ids',
      'ip_prefix',
      'nexthop',
      'policy',
      'output_port',
      'type',
      'logical_ip',
      'logical_port',
      'ip',
      'mac',
      'priority',
      'match',
      'other_config',
      'options',
    ),
    value,
    { noNullPrototype: true },
  );
  const tables = { ...northboundRules(exampleZone), ...southboundRules(exampleZone) };
  fc.assert(
    fc.property(fc.constantFrom(...Object.entries(tables)), columns, place, (table, found, key) => {
      const [name, rule] = table;
      const container = rule.container && new RowReference(rule.container.table, key);
      const row = foundRow(found);
      expect(typeof rule.isOurs(row, container), name).toBe('boolean');
      expect(['string', 'undefined']).toContain(typeof rule.keyOf(row, container));
      expect(['boolean', 'undefined']).toContain(typeof rule.mayAdopt?.(row, container));
    }),
    { numRuns: 2000 },
  );
});

test('rules name columns that the schema has', () => {
  const schema = JSON.parse(readFileSync('schemas/ovn-nb.ovsschema', 'utf8')) as {
    tables: Record<string, { columns: Record<string, unknown> }>;
  };
  const columnsOf = (table: string): string[] => Object.keys(schema.tables[table]?.columns ?? {});
  for (const [table, rule] of Object.entries(rules)) {
    expect(columnsOf(table)).toEqual(expect.arrayContaining([...(rule.foreignColumns ?? [])]));
    if (rule.container === undefined) continue;
    expect(columnsOf(rule.container.table)).toContain(rule.container.column);
  }
});
