import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { RowOwner } from '../../../src/desired/engine.ts';
import {
  RowReference,
  type Containment,
  type DesiredRow,
  type FoundRow,
  type TableClaim,
} from '../../../src/desired/rows.ts';
import { parseSchema, type DatabaseSchema, type JsonValue, type Operation } from 'ovsdb-client-ts';
import type { WireRow } from '../../../src/ovsdb/data/operation.ts';

/** A small northbound world for tests of the reconciler. */

export const northboundSchema = (): DatabaseSchema =>
  parseSchema(
    JSON.parse(
      readFileSync(resolve(import.meta.dirname, '../../../schemas/ovn-nb.ovsschema'), 'utf8'),
    ) as JsonValue,
  );

const text = (row: FoundRow, column: string): string => String(row.column(column));

const inContainer = (row: FoundRow, container: RowReference | undefined, column: string) =>
  container === undefined ? undefined : `${container.key} ${text(row, column)}`;

const claim = (table: string, more: Partial<TableClaim> = {}): [string, TableClaim] => [
  table,
  { database: 'OVN_Northbound', table, keyOf: (row) => text(row, 'name'), ...more },
];

export const CLAIMS: ReadonlyMap<string, TableClaim> = new Map([
  claim('NB_Global', { keyOf: () => 'NB_Global', foreignColumns: ['external_ids'] }),
  claim('Copp'),
  claim('Meter'),
  claim('Meter_Band', {
    container: { table: 'Meter', column: 'bands' },
    keyOf: (row, container) => inContainer(row, container, 'action'),
  }),
  claim('Address_Set', { isolates: true }),
  claim('Port_Group', { isolates: true }),
  claim('ACL', {
    isolates: true,
    keyOf: (row) => {
      const ids = row.column('external_ids');
      return ids instanceof Map ? (ids.get('id') as string | undefined) : undefined;
    },
  }),
  claim('Load_Balancer'),
  // Without external_ids: ours by the mark of the switch whose name it begins with.
  claim('Load_Balancer_Group', {
    markedBy: (row) => [new RowReference('Logical_Switch', text(row, 'name').split('-')[0] ?? '')],
  }),
  claim('Logical_Router'),
  claim('Logical_Router_Port'),
  claim('Gateway_Chassis'),
  claim('Logical_Router_Static_Route', {
    container: { table: 'Logical_Router', column: 'static_routes' },
    keyOf: (row, container) => inContainer(row, container, 'ip_prefix'),
  }),
  claim('Logical_Switch', { sharedColumns: ['other_config'] }),
  claim('Logical_Switch_Port', { foreignColumns: ['up', 'dynamic_addresses', 'tag'] }),
]);

/** Container of a row: table, key, column. */
export type Place = readonly [table: string, key: string, column: string];

/** The object for which all rows of the tests are there, unless they say otherwise. */
const OBJECT = 'Test one';

/** Our mark, as the database holds it. */
export const MARKED = { heddle: OBJECT } as const;

export function keyed(
  table: string,
  key: string,
  columns: DesiredRow['columns'],
  ...places: readonly Place[]
): DesiredRow {
  return {
    database: 'OVN_Northbound',
    table,
    key,
    columns,
    containers: places.map(([table, key, column]): Containment => ({ table, key, column })),
    rule: 'rule',
    object: OBJECT,
  };
}

/** A desired row whose key is its name. */
export const row = (
  table: string,
  key: string,
  columns: DesiredRow['columns'] = {},
  ...places: readonly Place[]
): DesiredRow => keyed(table, key, { name: key, ...columns }, ...places);

export const switchRow = (name: string, columns: DesiredRow['columns'] = {}): DesiredRow =>
  row('Logical_Switch', name, columns);

export const portRow = (
  name: string,
  onSwitch: string,
  columns: DesiredRow['columns'] = {},
  ...groups: readonly string[]
): DesiredRow =>
  row(
    'Logical_Switch_Port',
    name,
    columns,
    ['Logical_Switch', onSwitch, 'ports'],
    ...groups.map((group): Place => ['Port_Group', group, 'ports']),
  );

export const routerRow = (name: string, columns: DesiredRow['columns'] = {}): DesiredRow =>
  row('Logical_Router', name, columns);

export const routeRow = (router: string, prefix: string, nexthop: string): DesiredRow =>
  keyed('Logical_Router_Static_Route', `${router} ${prefix}`, { ip_prefix: prefix, nexthop }, [
    'Logical_Router',
    router,
    'static_routes',
  ]);

export const aclRow = (id: string, portGroup: string, match = 'ip4'): DesiredRow =>
  keyed(
    'ACL',
    id,
    { priority: 1000, direction: 'to-lport', match, action: 'drop', external_ids: { id } },
    ['Port_Group', portGroup, 'acls'],
  );

export const meterRow = (name: string): DesiredRow => row('Meter', name, { unit: 'pktps' });

export const bandRow = (meter: string): DesiredRow =>
  keyed('Meter_Band', `${meter} drop`, { action: 'drop', rate: 20 }, ['Meter', meter, 'bands']);

export const globalRow = (options: Readonly<Record<string, string>>): DesiredRow => ({
  ...keyed('NB_Global', 'NB_Global', { options }),
  partial: true,
});

export const reference = (table: string, key: string): RowReference => new RowReference(table, key);

/** A unit whose rows the test decides. */
export class TestUnit implements RowOwner {
  readonly id: string;
  readonly order: number;
  rank: number;
  wanted: readonly DesiredRow[] = [];
  /** What its builder throws now. */
  error: Error | undefined;
  builds = 0;

  constructor(id: string, rank = 0, order = 0) {
    this.id = id;
    this.rank = rank;
    this.order = order;
  }

  rowsIn(): readonly DesiredRow[] {
    this.builds += 1;
    if (this.error !== undefined) throw this.error;
    return this.wanted;
  }
}

/** Operations of somebody else. */
export const insert = (table: string, row: WireRow, uuid?: string): Operation =>
  uuid === undefined ? { op: 'insert', table, row } : { op: 'insert', table, row, uuid };

export const update = (table: string, uuid: string, row: WireRow): Operation => ({
  op: 'update',
  table,
  where: [['_uuid', '==', ['uuid', uuid]]],
  row,
});

export const remove = (table: string, uuid: string): Operation => ({
  op: 'delete',
  table,
  where: [['_uuid', '==', ['uuid', uuid]]],
});

export const mutate = (
  table: string,
  uuid: string,
  column: string,
  mutator: 'insert' | 'delete',
  value: JsonValue,
): Operation => ({
  op: 'mutate',
  table,
  where: [['_uuid', '==', ['uuid', uuid]]],
  mutations: [[column, mutator, value]],
});

export const uuidSet = (...uuids: readonly string[]): JsonValue => [
  'set',
  uuids.map((uuid): JsonValue => ['uuid', uuid]),
];

export const textMap = (record: Readonly<Record<string, string>>): JsonValue => [
  'map',
  Object.entries(record),
];
