/** Reading rows that a database holds: whatever is there, in the shape that its column has. */

import type { FoundRow, TableClaim } from '../../desired/rows.ts';
import { hashedName, nameInReference, OBJECT_ID, OWNER_TYPE_ID } from './object-ids.ts';
import { NORTHBOUND, type Database } from './unit-rows.ts';

/** A text column; an optional one that is empty reads as undefined. */
export function textOf(row: FoundRow, column: string): string | undefined {
  const value = row.column(column);
  return typeof value === 'string' ? value : undefined;
}

export function numberOf(row: FoundRow, column: string): number | undefined {
  const value = row.column(column);
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined;
}

/** A map of text to text. */
export function mapOf(row: FoundRow, column: string): ReadonlyMap<string, string> {
  const value = row.column(column);
  return value instanceof Map ? (value as ReadonlyMap<string, string>) : new Map<string, string>();
}

export const idsOf = (row: FoundRow): ReadonlyMap<string, string> => mapOf(row, 'external_ids');

/** True if an optional or set column holds something. */
export function isSet(row: FoundRow, column: string): boolean {
  const value = row.column(column);
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== '';
}

const nameKey = (row: FoundRow): string | undefined => textOf(row, 'name');

/** Key of a row that is known by an object id, wherever it hangs. */
export const idKey = (row: FoundRow): string | undefined => idsOf(row).get(OBJECT_ID);

/** A table whose rows are known by their names. */
export const claimByName = (
  database: Database,
  table: string,
  more: Omit<Partial<TableClaim>, 'database' | 'table' | 'keyOf'> = {},
): TableClaim => ({ database, table, keyOf: nameKey, ...more });

const HASH_OF_REFERENCE = /^a\d{1,20}$/;

/**
 * Owner types of sets that rows of every network name: whoever renames a row has to change, in one transaction, what names it. Those of ovn-kubernetes
 * stay beside ours.
 */
const OF_ALL_NETWORKS: ReadonlySet<string> = new Set([
  'ClusterNodeIPs',
  'EgressService',
  'UDNEnabledService',
]);

/** Key of a port group or address set: its name, and of one that ovn-kubernetes named the name that it gets here. */
function groupKey(row: FoundRow): string | undefined {
  const [name, id] = [nameKey(row), idKey(row)];
  if (id === undefined || name === undefined || !HASH_OF_REFERENCE.test(name)) return name;
  if (OF_ALL_NETWORKS.has(idsOf(row).get(OWNER_TYPE_ID) ?? '')) return name;
  return name === nameInReference(id) ? hashedName(id) : name;
}

/** A table of port groups or address sets, which keep networks apart. */
export const claimOfGroups = (table: 'Port_Group' | 'Address_Set'): TableClaim => ({
  database: NORTHBOUND,
  table,
  keyOf: groupKey,
  isolates: true,
});
