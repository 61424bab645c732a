import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { claimsOf } from '../../../src/desired/engine.ts';
import { MARK, RowReference, type DesiredRow, type TableClaim } from '../../../src/desired/rows.ts';
import { zoneFeatures } from '../../../src/topology/features.ts';
import { layer3Network } from '../../../src/topology/networks/layer3.ts';
import { isReferenceRow } from '../../../src/topology/rows/reference-rows.ts';
import { NORTHBOUND, SOUTHBOUND } from '../../../src/topology/rows/unit-rows.ts';
import { builtUnits } from '../../support/zone/built-rows.ts';
import { foundRow, readBackRow } from '../../support/ovsdb/found-rows.ts';
import {
  pooledService,
  servicesOfAllKinds,
  withPool,
  withServices,
} from '../../support/zone/services.ts';
import {
  blue,
  bluePod,
  bluePodDefault,
  dualZone,
  exampleZone,
  farYellowPod,
  factsOf,
  inLocalMode,
  ipv6Zone,
  layer2Secondary,
  localnet,
  more,
  networkName,
  overlay,
  overlayPod,
  underlay,
  yellow,
  yellowPod,
  type Zone,
} from '../../support/zone/zones.ts';

const busy = (zone: Zone): Zone => ({
  ...withServices(zone, ...servicesOfAllKinds, ...pooledService),
  networks: [
    ...withPool(zone).networks,
    yellow,
    more,
    layer2Secondary,
    localnet,
    overlay,
    underlay,
    {
      ...blue,
      name: networkName('cluster_udn_store-1'),
      id: 8,
      role: 'secondary',
      nads: ['blue/store-1'],
      masquerade: {},
      object: 'ClusterUserDefinedNetwork store-1',
    },
  ],
  settings: {
    ...zone.settings,
    features: {
      egressIp: true,
      egressFirewall: true,
      egressService: true,
      externalRoutes: true,
      multicast: true,
    },
  },
  attachments: [
    bluePod,
    { ...bluePodDefault, openDefaultPorts: [{ protocol: 'icmp' }] },
    yellowPod,
    overlayPod,
  ],
  namespaces: [...zone.namespaces, 'yellow'],
  remoteAttachments: [farYellowPod],
});

const ZONES: readonly (readonly [string, Zone])[] = [
  ['IPv4', busy(exampleZone)],
  ['IPv4, local gateway mode', busy(inLocalMode(exampleZone))],
  ['both families', busy(dualZone)],
  ['IPv6', busy(ipv6Zone)],
];

const northbound = claimsOf(zoneFeatures, NORTHBOUND);
const southbound = claimsOf(zoneFeatures, SOUTHBOUND);
const claimOf = ({ database, table }: Pick<DesiredRow, 'database' | 'table'>): TableClaim =>
  (database === NORTHBOUND ? northbound : southbound).get(table)!;

/** The container by which a row is known, as the plan finds it. */
function placeOf(row: DesiredRow): RowReference | undefined {
  const { container } = claimOf(row);
  const place = row.containers.find(
    ({ table, column }) => table === container?.table && column === container.column,
  );
  return place && new RowReference(place.table, place.key);
}

const rowsOf = (zone: Zone): DesiredRow[] => builtUnits(factsOf(zone)).flatMap(({ rows }) => rows);

describe.each(ZONES)('rows that we write: %s', (_name, zone) => {
  test('have the same key when read back', () => {
    const rows = rowsOf(zone).filter(({ partial }) => partial !== true);
    const wrong = rows.filter(
      (row) => claimOf(row).keyOf(readBackRow(row), placeOf(row)) !== row.key,
    );
    expect(wrong).toEqual([]);
    expect(rows.length).toBeGreaterThan(130);
  });

  test('without external_ids are known by a row of ours that has them', () => {
    const rows = rowsOf(zone);
    const keys = new Set(rows.map(({ table, key }) => `${table} ${key}`));
    const marked = rows.filter((row) => claimOf(row).markedBy !== undefined);
    expect(new Set(marked.map(({ table }) => table))).toEqual(
      new Set(['Static_MAC_Binding', 'Load_Balancer_Group', 'Encap']),
    );
    const lost = marked.filter((row) => {
      const by = claimOf(row).markedBy?.(readBackRow(row), placeOf(row)) ?? [];
      return !by.some(({ table, key }) => keys.has(`${table} ${key}`));
    });
    expect(lost).toEqual([]);
  });

  test('follow a rule of their feature, for an object', () => {
    for (const feature of zoneFeatures) {
      const rows = builtUnits(factsOf(zone))
        .filter(({ unit }) => unit.startsWith(`${feature.name} `) || unit === feature.name)
        .flatMap((unit) => unit.rows);
      const used = new Set(rows.map(({ rule }) => rule));
      expect([...used].filter((rule) => !Object.hasOwn(feature.rules, rule))).toEqual([]);
      expect(rows.filter(({ object }) => object === '')).toEqual([]);
      expect(rows.filter((row) => !feature.claims.includes(claimOf(row)))).toEqual([]);
    }
  });
});

test('rows are marked with the object for which they are there', () => {
  const objects = Map.groupBy(rowsOf(busy(exampleZone)), ({ object }) => object);
  expect([...objects.keys()].sort()).toEqual([
    'ClusterUserDefinedNetwork store-1',
    'ClusterUserDefinedNetwork yellow-net',
    'NetworkAttachmentDefinition blue/ln',
    'Node ovn-worker2',
    'OVNSecondaryNetwork blue/overlay',
    'OVNSecondaryNetwork blue/underlay',
    'Pod blue/pod1',
    'Pod yellow/far',
    'Pod yellow/pod2',
    'Service blue/outside',
    'Service blue/pooled',
    'Service blue/web',
    'Service default/kubernetes',
    'Service kube-system/agent',
    'UserDefinedNetwork blue/blue',
    'UserDefinedNetwork blue/l2',
    'UserDefinedNetwork blue/more',
    'cluster',
  ]);
  expect(objects.get('Node ovn-worker2')?.map(({ table, key }) => `${table} ${key}`)).toEqual([
    'Chassis c2222222-2222-4222-8222-222222222222',
    'Encap geneve 172.18.0.4',
    'Logical_Switch_Port tstor-ovn-worker2',
    'Logical_Router_Static_Route ovn_cluster_router 10.244.1.0/24 any -',
    'Logical_Router_Static_Route ovn_cluster_router 100.64.0.3/32 any -',
  ]);
});

test('every rule is one sentence with its source', () => {
  for (const { name, rules } of zoneFeatures) {
    expect(Object.keys(rules), name).not.toEqual([]);
    for (const { text, source } of Object.values(rules)) {
      expect(text).toMatch(/^[A-Z].*\.$/);
      expect(source).toMatch(/^reference\/(topology|egress)\.md §/);
    }
  }
});

test('every rule of a network has rows', () => {
  const facts = [inLocalMode(exampleZone), exampleZone].map((zone) => factsOf(busy(zone)));
  for (const { nextHops } of facts)
    nextHops.put(['breth0', '172.18.0.1'], { mac: '02:00:00:00:00:01' });
  const used = new Set(
    facts.flatMap((one) => builtUnits(one).flatMap(({ rows }) => rows.map(({ rule }) => rule))),
  );
  expect(Object.keys(layer3Network.rules).filter((rule) => !used.has(rule))).toEqual([]);
});

describe('rows of others', () => {
  const holder = (table: string, key: string): RowReference => new RowReference(table, key);

  test.each([
    ['a band of a meter of theirs', 'Meter_Band', { action: 'drop', rate: 25 }, ['Meter', 'slow']],
    ['an ACL by hand', 'ACL', { priority: 1001, match: 'ip4' }, undefined],
    ['a route that nobody holds', 'Logical_Router_Static_Route', { ip_prefix: '::/0' }, undefined],
  ] as const)('%s has no key of ours', (_name, table, columns, place) => {
    const container = place && holder(...place);
    expect(northbound.get(table)?.keyOf(foundRow(columns), container)).toBeUndefined();
  });

  test('a load balancer group of another network belongs to the router of that network, or to its switch on Layer2', () => {
    const claim = northbound.get('Load_Balancer_Group');
    const group = foundRow({ name: 'theirs_clusterSwitchLBGroup' });
    expect(claim?.markedBy?.(group, undefined)).toEqual([
      holder('Logical_Router', 'theirs_ovn_cluster_router'),
      holder('Logical_Switch', 'theirs_ovn_layer2_switch'),
    ]);
    expect(claim?.markedBy?.(foundRow({ name: 'friends' }), undefined)).toEqual([]);
  });
});

describe('rows that an ovn-kubernetes left', () => {
  const network = { 'k8s.ovn.org/network': 'gone_net', 'k8s.ovn.org/topology': 'layer2' };

  test.each([
    ['a switch', { name: 'gone_net_ovn_layer2_switch', external_ids: network }],
    [
      'a port group',
      { name: 'a1', external_ids: { 'k8s.ovn.org/owner-type': 'Cluster', 'k8s.ovn.org/id': 'x' } },
    ],
    ['the distributed router', { external_ids: { 'k8s-cluster-router': 'yes' } }],
    ['a gateway router', { external_ids: { physical_ips: '172.18.0.3' } }],
    ['a route to a node', { external_ids: { 'ic-node': 'gone' } }],
    ['a pod of the default network', { external_ids: { namespace: 'a', pod: 'true' } }],
    ['a node on a transit switch', { type: 'remote', external_ids: { node: 'gone' } }],
  ])('%s is one, unless it carries our mark', (_name, columns) => {
    expect(isReferenceRow(foundRow(columns), 'Logical_Switch_Port')).toBe(true);
    const external_ids = { ...columns.external_ids, [MARK]: 'cluster' };
    expect(isReferenceRow(foundRow({ ...columns, external_ids }), 'Logical_Switch_Port')).toBe(
      false,
    );
  });

  test.each([
    ['a switch by hand', { name: 'lab' }],
    ['a port of another program', { external_ids: { 'neutron:port_name': 'x' } }],
    ['a port with a note of its node', { type: '', external_ids: { node: 'n1' } }],
  ])('%s is none', (_name, columns) => {
    expect(isReferenceRow(foundRow(columns), 'Logical_Switch_Port')).toBe(false);
  });
});

test('claims take whatever a database holds', () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('', 'discard', 'a:b', '::/-1', 'snat', 'x_y'));
  const value = fc.oneof(
    text,
    fc.constant(undefined),
    fc.integer(),
    fc.boolean(),
    fc.array(text),
    fc.dictionary(fc.constantFrom('node', 'pod', 'ic-node', 'k8s.ovn.org/id', MARK), text, {
      noNullPrototype: true,
    }),
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
      'rate',
      'logical_ip',
      'logical_port',
      'ip',
      'priority',
      'match',
      'action',
      'options',
    ),
    value,
    { noNullPrototype: true },
  );
  const claims = [...northbound.values(), ...southbound.values()];
  fc.assert(
    fc.property(
      fc.constantFrom(...claims),
      columns,
      text,
      fc.boolean(),
      (claim, found, key, is) => {
        const container =
          claim.container && is ? new RowReference(claim.container.table, key) : undefined;
        const row = foundRow(found);
        expect(['string', 'undefined']).toContain(typeof claim.keyOf(row, container));
        expect(['object', 'undefined']).toContain(typeof claim.markedBy?.(row, container));
        expect(typeof isReferenceRow(row, claim.table)).toBe('boolean');
      },
    ),
    { numRuns: 2000 },
  );
});

test.each([
  ['nb', northbound],
  ['sb', southbound],
])('claims name tables and columns that the schema has: %s', (name, claims) => {
  const schema = JSON.parse(readFileSync(`schemas/ovn-${name}.ovsschema`, 'utf8')) as {
    tables: Record<string, { columns: Record<string, unknown> }>;
  };
  const columnsOf = (table: string): string[] => Object.keys(schema.tables[table]?.columns ?? {});
  for (const [table, claim] of claims) {
    const named = [...(claim.foreignColumns ?? []), ...(claim.sharedColumns ?? [])];
    expect(columnsOf(table)).toEqual(expect.arrayContaining(named));
    // Of rows that ovn-kubernetes gives ports of ours without any id, and nothing wants.
    if (table !== 'Gateway_Chassis')
      expect(columnsOf(table).includes('external_ids')).toBe(claim.markedBy === undefined);
    if (claim.container !== undefined)
      expect(columnsOf(claim.container.table)).toContain(claim.container.column);
  }
});
