import type { Referrer, ReplicaChanges, ReplicaRow, ReplicaView } from '../replica/replica-view.ts';
import { columnOf, tableOf } from '../data/schema.ts';
import type { Datum } from '../data/value.ts';

/** Reads a reference column of a row as rows. Rows that are not (yet) in the replica are left out. */
export function referredRows(
  replica: ReplicaView,
  row: ReplicaRow,
  column: string,
): readonly ReplicaRow[] {
  const { type } = columnOf(tableOf(replica.schema, row.table), column);
  const value: Datum = row.column(column);
  const resolve = (table: string | undefined, uuids: Iterable<unknown>): readonly ReplicaRow[] =>
    table === undefined || !replica.hasTable(table)
      ? []
      : [...uuids].flatMap((uuid) => replica.row(table, uuid as string) ?? []);
  if (value === undefined) return [];
  if (value instanceof Map) {
    const map = value as ReadonlyMap<unknown, unknown>;
    return type.value?.refTable === undefined
      ? resolve(type.key.refTable, map.keys())
      : resolve(type.value.refTable, map.values());
  }
  return resolve(type.key.refTable, Array.isArray(value) ? value : [value]);
}

/**
 * Rows that did not change themselves but refer to one that came or went with these changes: what they show of it is another thing now.
 * To be called in a subscriber. Rows that are among the changes are left out; each is named once for each of its columns.
 */
export function newReferrers(replica: ReplicaView, changes: ReplicaChanges): readonly Referrer[] {
  const changed = new Set<string>();
  for (const [table, { rows }] of changes.tables) {
    for (const { uuid } of rows) changed.add(`${table} ${uuid}`);
  }
  const found = new Map<string, Referrer>();
  for (const [table, { rows }] of changes.tables) {
    if (!replica.hasTable(table)) continue;
    for (const { kind, uuid } of rows) {
      if (kind === 'modified') continue;
      for (const referrer of replica.referrers(table, uuid)) {
        if (changed.has(`${referrer.table} ${referrer.uuid}`)) continue;
        found.set(`${referrer.table} ${referrer.column} ${referrer.uuid}`, referrer);
      }
    }
  }
  return [...found.values()];
}
