import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  RowReference,
  type Containment,
  type DatabaseRules,
  type DesiredRow,
} from '../../../src/ovsdb/plan/desired.ts';
import type { FoundRow } from '../../../src/ovsdb/replica/replica-view.ts';
import type { Operation, WireRow } from '../../../src/ovsdb/data/operation.ts';
import { parseSchema, type DatabaseSchema } from '../../../src/ovsdb/data/schema.ts';
import type { JsonValue } from '../../../src/ovsdb/data/value.ts';

/** A small northbound world for tests: rows marked `owner=heddle`, or known by a name that starts with `ours`. */

export const northboundSchema = (): DatabaseSchema =>
  parseSchema(
    JSON.parse(
      readFileSync(resolve(import.meta.dirname, '../../../schemas/ovn-nb.ovsschema'), 'utf8'),
    ) as JsonValue,
  );

const text = (row: FoundRow, column: string): string => String(row.column(column));

const byName = (row: FoundRow): string => text(row, 'name');

const isMarked = (row: FoundRow): boolean => {
  const ids = row.column('external_ids');
  return ids instanceof Map && ids.get('owner') === 'heddle';
};

const isNamedOurs = (row: FoundRow): boolean => text(row, 'name').startsWith('ours');

const inContainer = (row: FoundRow, container: RowReference | undefined, ...columns: string[]) =>
  container === undefined
    ? undefined
    : [container.key, ...columns.map((column) => text(row, column))].join(' ');

export const RULES: DatabaseRules = {
  NB_Global: { keyOf: () => 'NB_Global', isOurs: () => false },
  Meter: { keyOf: byName, isOurs: isNamedOurs },
  Meter_Band: {
    container: { table: 'Meter', column: 'bands' },
    keyOf: (row, container) => inContainer(row, container, 'action'),
    isOurs: (_row, container) => container?.key.startsWith('ours') === true,
  },
  Address_Set: { keyOf: byName, isOurs: isMarked, isolates: true },
  Port_Group: { keyOf: byName, isOurs: isMarked, isolates: true },
  ACL: {
    isolates: true,
    keyOf: (row) => {
      const ids = row.column('external_ids');
      return ids instanceof Map ? (ids.get('id') as string | undefined) : undefined;
    },
    isOurs: isMarked,
  },
  Load_Balancer: { keyOf: byName, isOurs: isMarked },
  Load_Balancer_Group: { keyOf: byName, isOurs: isNamedOurs },
  Logical_Router: { keyOf: byName, isOurs: isMarked },
  Logical_Router_Port: { keyOf: byName, isOurs: isMarked },
  Gateway_Chassis: { keyOf: byName, isOurs: isNamedOurs },
  Logical_Router_Static_Route: {
    container: { table: 'Logical_Router', column: 'static_routes' },
    keyOf: (row, container) => inContainer(row, container, 'ip_prefix'),
    isOurs: isMarked,
  },
  Logical_Switch: {
    keyOf: byName,
    isOurs: isMarked,
    sharedColumns: ['other_config'],
  },
  Logical_Switch_Port: {
    keyOf: byName,
    isOurs: isMarked,
    foreignColumns: ['up', 'dynamic_addresses', 'tag'],
  },
};

const OWNED = { owner: 'heddle' } as const;

/** A desired row with our mark. */
export function row(
  table: string,
  key: string,
  columns: DesiredRow['columns'] = {},
  ...containers: readonly (readonly [table: string, key: string, column: string])[]
): DesiredRow {
  return {
    table,
    key,
    columns: { name: key, external_ids: OWNED, ...columns },
    containers: containers.map(([table, key, column]): Containment => ({ table, key, column })),
  };
}

export const switchRow = (name: string, columns: DesiredRow['columns'] = {}): DesiredRow =>
  row('Logical_Switch', name, columns);

export const portRow = (
  name: string,
  onSwitch: string,
  columns: DesiredRow['columns'] = {},
): DesiredRow => row('Logical_Switch_Port', name, columns, ['Logical_Switch', onSwitch, 'ports']);

export const routerRow = (name: string, columns: DesiredRow['columns'] = {}): DesiredRow =>
  row('Logical_Router', name, columns);

export const routeRow = (router: string, prefix: string, nexthop: string): DesiredRow => ({
  table: 'Logical_Router_Static_Route',
  key: `${router} ${prefix}`,
  columns: { ip_prefix: prefix, nexthop, external_ids: OWNED },
  containers: [{ table: 'Logical_Router', key: router, column: 'static_routes' }],
});

export const aclRow = (id: string, portGroup: string): DesiredRow => ({
  table: 'ACL',
  key: id,
  columns: {
    priority: 1000,
    direction: 'to-lport',
    match: 'ip4',
    action: 'drop',
    external_ids: { ...OWNED, id },
  },
  containers: [{ table: 'Port_Group', key: portGroup, column: 'acls' }],
});

export const groupRow = (name: string): DesiredRow => ({
  table: 'Load_Balancer_Group',
  key: name,
  columns: { name },
  containers: [],
});

export const reference = (table: string, key: string): RowReference => new RowReference(table, key);

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
