/**
 * A Northbound database as an ovn-kubernetes would have left it: the rows of the same objects as it writes them (docs/differences.md), and rows
 * that nobody here asks for, its own and those of other programs.
 */
import { randomUUID } from 'node:crypto';
import { MARK } from '../../../src/desired/rows.ts';
import type { JsonValue, Operation, OvsdbClient } from 'ovsdb-client-ts';
import { nameInReference } from '../../../src/topology/rows/object-ids.ts';
import { foreignRows } from '../ovsdb/foreign-rows.ts';

/** A row in wire form (RFC 7047 §5.1). */
export interface WireRow {
  readonly table: string;
  readonly uuid: string;
  readonly columns: Record<string, JsonValue>;
}

/** They belong to the server, and to ovn-northd. */
const NOT_OURS: ReadonlySet<string> = new Set(['NB_Global', 'Connection', 'SSL']);

export const UUID = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g;

/**
 * Their rows keep their UUIDs: ovn-northd and ovn-controller would take others for other switches and routers, and plug the external bridge in anew,
 * whose flows nobody repairs while no daemon runs.
 */
const STEADY: ReadonlySet<string> = new Set(['Logical_Switch', 'Logical_Router']);

/** All rows that controllers write. */
export async function northboundRows(client: OvsdbClient): Promise<WireRow[]> {
  const tables = [...client.replica.schema.tables.keys()].filter((name) => !NOT_OURS.has(name));
  const outcome = await client.transact(
    tables.map((table): Operation => ({ op: 'select', table, where: [] })),
  );
  if (outcome.kind !== 'success') throw new Error(`can't read: ${outcome.kind}`);
  return tables.flatMap((table, n) =>
    (outcome.results[n]?.rows ?? []).map(({ _uuid, _version, ...columns }) => ({
      table,
      uuid: (_uuid as readonly string[])[1] ?? '',
      columns: { ...columns },
    })),
  );
}

const textOf = ({ columns }: WireRow, column: string): string => {
  const value = columns[column];
  return typeof value === 'string' ? value : '';
};

type Pairs = readonly (readonly [string, string])[];

/** A map column of texts. */
export const mapOf = ({ columns }: WireRow, column: string): ReadonlyMap<string, string> =>
  new Map((columns[column] as readonly [string, Pairs])[1]);

const setMap = (row: WireRow, column: string, map: ReadonlyMap<string, string>): void => {
  row.columns[column] = ['map', [...map]];
};

const change = (
  row: WireRow,
  column: string,
  members: Readonly<Record<string, string | undefined>>,
): void => {
  const map = new Map(mapOf(row, column));
  for (const [key, value] of Object.entries(members))
    if (value === undefined) map.delete(key);
    else map.set(key, value);
  setMap(row, column, map);
};

const ID = 'k8s.ovn.org/id';
const idOf = (row: WireRow): string =>
  'external_ids' in row.columns ? (mapOf(row, 'external_ids').get(ID) ?? '') : '';

/** Addresses of the lab's host outside, by which nodes leave. */
const NEXT_HOP = /^(172\.18\.0|fd00:172:18:)[.:]100$/;
/** Of which ports have one Gateway_Chassis each there. */
const CHASSIS_GROUPS: ReadonlySet<string> = new Set(['HA_Chassis_Group', 'HA_Chassis']);

/** A Gateway_Chassis for each port that has our group; the ports name them in its place. */
function gatewayChassis(rows: readonly WireRow[]): readonly WireRow[] {
  const chassis = rows.find(({ table }) => table === 'HA_Chassis')?.columns['chassis_name'];
  return rows.flatMap((port) => {
    const [kind] = (port.columns['ha_chassis_group'] ?? []) as readonly unknown[];
    if (port.table !== 'Logical_Router_Port' || kind !== 'uuid' || typeof chassis !== 'string')
      return [];
    const uuid = randomUUID();
    port.columns['ha_chassis_group'] = ['set', []];
    port.columns['gateway_chassis'] = ['set', [['uuid', uuid]]];
    const name = `${textOf(port, 'name')}-${chassis}`;
    const columns = { name, chassis_name: chassis, priority: 1 };
    return [{ table: 'Gateway_Chassis', uuid, columns }];
  });
}

/** Columns of rows that stand for the same, as the reference writes them. Returns the rows that it has not. */
function alter(rows: readonly WireRow[], { pods, hasEgressIp }: LeftZone): ReadonlySet<WireRow> {
  const absent = new Set<WireRow>();
  for (const row of rows) {
    const { table, columns } = row;
    if ('external_ids' in columns) change(row, 'external_ids', { [MARK]: undefined });
    const id = idOf(row);
    // A port by its name: all ports of the protocol, and no set of the pods that call it so.
    if (table === 'ACL' && id.includes(':tcp-namedPort:')) {
      change(row, 'external_ids', {
        [ID]: id.replace(':tcp-namedPort:', ':tcp:'),
        'k8s.ovn.org/port-policy-protocol': 'tcp',
      });
      columns['match'] = textOf(row, 'match').replace(/tcp && \(.*tcp\.dst==\d+\)/, 'tcp');
    }
    if (table === 'Address_Set' && id.includes('_PORT{')) absent.add(row);
    if (table === 'ACL' && /:pass-\d(:|$)/.test(id)) absent.add(row);
    if (CHASSIS_GROUPS.has(table)) absent.add(row);
    // Gateway routers ask for the next hops of the node themselves.
    if (table === 'Static_MAC_Binding' && NEXT_HOP.test(textOf(row, 'ip'))) absent.add(row);
    alterEgress(row, id, hasEgressIp, absent);
    // Blocks as policies write them.
    if (table === 'ACL')
      columns['match'] = textOf(row, 'match').replace('192.0.2.0/24', '192.0.2.9/24');
    if (table === 'Load_Balancer') {
      change(row, 'options', { event: 'true', reject: 'false' });
      const vips = [...mapOf(row, 'vips')];
      // Endpoints in the order of events.
      setMap(row, 'vips', new Map(vips.map(([k, v]) => [k, v.split(',').reverse().join(',')])));
    }
    if (table === 'Logical_Switch_Port' && pods.includes(textOf(row, 'name'))) {
      change(row, 'options', { 'iface-id-ver': undefined });
      columns['enabled'] = true;
    }
  }
  for (const { columns, uuid } of rows.filter((row) => idOf(row).includes(':EgressQoS:')))
    if ('direction' in columns)
      for (const row of rows)
        if (row.table === 'Logical_Switch' && !NOT_MARKED.test(textOf(row, 'name')))
          addMember(row, 'qos_rules', ['uuid', uuid]);
  return absent;
}

/**
 * What of egress objects ovn-kubernetes writes otherwise, and what it has not (docs/differences.md). It marks what goes to other nodes, too: Open
 * vSwitch's userspace datapath, which labs have, finds no way into a tunnel for what is marked.
 */
function alterEgress(row: WireRow, id: string, hasEgressIp: boolean, absent: Set<WireRow>): void {
  const { table, columns } = row;
  if (/:EgressIP:(98|97|94|4|3):|:EgressIP:95:.*:default$|:EgressService:103:/.test(id))
    absent.add(row);
  if (table === 'ACL' && id.includes(':EgressFirewall:')) columns['meter'] = 'acl-logging';
  if (table !== 'Logical_Router_Policy') return;
  if (id.includes(':EgressIP:100:') && !id.endsWith(':default') && hasEgressIp)
    change(row, 'options', { pkt_mark: '50000' });
  if (mapOf(row, 'external_ids').has('EgressSVC')) change(row, 'options', { pkt_mark: undefined });
}

/** Takes rows that are not there out of those that hold them. */
function forget(rows: readonly WireRow[], uuids: ReadonlySet<string>): void {
  const isGone = (value: JsonValue): boolean =>
    Array.isArray(value) && value[0] === 'uuid' && uuids.has(value[1] as string);
  for (const { columns } of rows)
    for (const [column, value] of Object.entries(columns))
      if (isGone(value)) columns[column] = ['set', []];
      else if (Array.isArray(value) && value[0] === 'set')
        columns[column] = ['set', (value[1] as JsonValue[]).filter((one) => !isGone(one))];
}

/** Switches without rows of an EgressQoS, by their names. */
const NOT_MARKED = /^(join$|join_|transit_switch|ext_)/;

function addMember({ columns }: WireRow, column: string, member: readonly [string, string]): void {
  const value = columns[column] as readonly [string, readonly unknown[] | string];
  const members =
    value[0] === 'set' ? (value[1] as readonly (readonly [string, string])[]) : [value];
  if (!members.some((one) => one[1] === member[1]))
    columns[column] = ['set', [...(members as JsonValue[]), [...member]]];
}

/** Rows with the names that port groups and address sets have there, also where texts speak of them. */
function renamed(rows: readonly WireRow[]): WireRow[] {
  const names = new Map(
    rows
      .filter((row) => ['Port_Group', 'Address_Set'].includes(row.table) && idOf(row) !== '')
      .map((row) => [textOf(row, 'name'), nameInReference(idOf(row))]),
  );
  const text = JSON.stringify(rows).replaceAll(/\ba[\da-f]{32}\b/g, (one) => names.get(one) ?? one);
  return JSON.parse(text) as WireRow[];
}

const ids = (of: Readonly<Record<string, string>>): JsonValue => ['map', Object.entries(of)];
const owned = (type: string, ...keys: readonly string[]): JsonValue =>
  ids({
    [ID]: ['default-network-controller', type, ...keys].join(':'),
    'k8s.ovn.org/owner-controller': 'default-network-controller',
    'k8s.ovn.org/owner-type': type,
  });

/** Rows of features that nobody here renders, on rows that stay: a pod switch with a pod, and its routers. */
function unrendered(switchName: string, pod: string, router: string, gateway: string): Operation[] {
  const [firewall, group, qos, policy, nat] = Array.from({ length: 5 }, () => randomUUID());
  const insert = (
    table: string,
    uuid: string | undefined,
    row: Record<string, JsonValue>,
  ): Operation => ({ op: 'insert', table, row, ...(uuid === undefined ? {} : { uuid }) });
  const into = (
    table: string,
    name: string,
    column: string,
    uuid: string | undefined,
  ): Operation => ({
    op: 'mutate',
    table,
    where: [['name', '==', name]],
    mutations: [[column, 'insert', ['uuid', uuid ?? '']]],
  });
  return [
    insert('ACL', firewall, {
      direction: 'from-lport',
      priority: 9999,
      tier: 2,
      match: '(ip4.dst == 198.51.100.0/24) && inport == @a4711',
      action: 'drop',
      external_ids: owned('EgressFirewall', 'default-net', '7'),
    }),
    insert('Port_Group', group, {
      name: 'a4711',
      acls: ['uuid', firewall ?? ''],
      external_ids: owned('Namespace', 'default-net'),
    }),
    insert('Address_Set', undefined, {
      name: 'a4712',
      addresses: '10.128.0.99',
      external_ids: owned('EgressQoS', 'default-net', '1000', 'v4'),
    }),
    insert('QoS', qos, {
      direction: 'to-lport',
      priority: 1000,
      match: '(ip4.dst == 0.0.0.0/0) && ip4.src == $a4712',
      action: ['map', [['dscp', 20]]],
      external_ids: owned('EgressQoS', 'default-net', '1000'),
    }),
    insert('Logical_Router_Policy', policy, {
      priority: 100,
      match: 'ip4.src == 10.128.0.99',
      action: 'reroute',
      nexthops: '100.64.0.2',
      external_ids: owned('EgressIP', '100', 'eip_default-net/gone', 'ip4', 'default'),
    }),
    insert('NAT', nat, {
      type: 'snat',
      logical_ip: '10.128.0.99',
      external_ip: '172.18.0.77',
      external_ids: owned('EgressIP', 'eip_default-net/gone', 'ip4'),
    }),
    into('Logical_Switch', switchName, 'qos_rules', qos),
    into('Logical_Router', router, 'policies', policy),
    into('Logical_Router', gateway, 'nat', nat),
    {
      op: 'mutate',
      table: 'Port_Group',
      where: [['name', '==', 'a4711']],
      mutations: [['ports', 'insert', ['uuid', pod]]],
    },
  ];
}

export interface LeftZone {
  readonly node: string;
  /** Logical ports of pods of the default network that were made without a version of their interface. */
  readonly pods: readonly string[];
  /** Whether pods leave by this node with addresses of EgressIPs. */
  readonly hasEgressIp: boolean;
}

/**
 * Makes the database, in one transaction, what an ovn-kubernetes with the same objects would have left: no mark, UUIDs that follow from nothing,
 * what it writes differently, what it writes besides; and rows of others. Returns what was there before.
 */
export async function leaveAsReference(
  client: OvsdbClient,
  zone: LeftZone,
): Promise<readonly WireRow[]> {
  const { node, pods } = zone;
  const before = await northboundRows(client);
  const fresh = new Map(
    before.filter(({ table }) => !STEADY.has(table)).map(({ uuid }) => [uuid, randomUUID()]),
  );
  const text = JSON.stringify(before).replaceAll(UUID, (one) => fresh.get(one) ?? one);
  const rows = renamed(JSON.parse(text) as WireRow[]);
  const absent = alter(rows, zone);
  const kept = [...rows, ...gatewayChassis(rows)].filter((row) => !absent.has(row));
  forget(kept, new Set([...absent].map(({ uuid }) => uuid)));
  const pod = kept.find(({ columns }) => columns['name'] === pods[0])?.uuid ?? '';
  const outcome = await client.transact([
    ...[...new Set(before.map(({ table }) => table))]
      .filter((table) => !STEADY.has(table))
      .map((table): Operation => ({ op: 'delete', table, where: [] })),
    ...kept.map(({ table, uuid, columns: row }): Operation =>
      STEADY.has(table)
        ? { op: 'update', table, where: [['_uuid', '==', ['uuid', uuid]]], row }
        : { op: 'insert', table, uuid, row },
    ),
    ...foreignRows.flat(),
    ...unrendered(node, pod, 'ovn_cluster_router', `GR_${node}`),
  ]);
  if (outcome.kind !== 'success') throw new Error(`can't write: ${JSON.stringify(outcome)}`);
  return before;
}

/** Address sets of networks that are gone: more than fit into one transaction of ours. */
export async function leaveSets(client: OvsdbClient, count: number): Promise<void> {
  const sets = Array.from({ length: count }, (_, n): Operation => ({
    op: 'insert',
    table: 'Address_Set',
    row: { name: `${MANY}${n}`, external_ids: owned('EgressQoS', 'gone', String(n), 'v4') },
  }));
  const outcome = await client.transact(sets);
  if (outcome.kind !== 'success') throw new Error(`can't write: ${JSON.stringify(outcome)}`);
}

const MANY = 'left';
/** How many of them there are. */
export const countSets = (rows: readonly WireRow[]): number =>
  rows.filter((row) => textOf(row, 'name').startsWith(MANY)).length;
