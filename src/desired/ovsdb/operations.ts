import { datumToJson, type JsonValue, type Mutation, type Operation } from '../../ovsdb/index.ts';
import type { PlannedChange } from './changes.ts';

/** Changes → operations of one transaction. */

const whereRow = (uuid: string): readonly (readonly [string, '==', JsonValue])[] => [
  ['_uuid', '==', ['uuid', uuid]],
];

const setOf = (uuids: readonly string[]): JsonValue =>
  uuids.length === 1
    ? ['uuid', uuids[0] as string]
    : ['set', uuids.map((uuid): JsonValue => ['uuid', uuid])];

/** What one row's set columns gain and lose, by column. */
interface SetChanges {
  readonly table: string;
  readonly uuid: string;
  readonly columns: Map<string, { readonly add: Set<string>; readonly remove: Set<string> }>;
}

/**
 * The operations of these changes: new rows with their members, then changes of rows, then one mutation per row whose sets
 * change, then deletions. Rows that live by references are removed by removing those.
 */
export function operationsOf(changes: readonly PlannedChange[]): readonly Operation[] {
  const sets = setChangesOf(changes);
  const inserts: Operation[] = [];
  const updates: Operation[] = [];
  const deletes: Operation[] = [];
  for (const change of changes) {
    if (change.action === 'insert') {
      inserts.push(insertOf(change, sets.get(change.uuid)));
      sets.delete(change.uuid);
    } else if (change.action === 'update') {
      updates.push(...updatesOf(change));
    } else if (change.isRoot) {
      deletes.push({ op: 'delete', table: change.table, where: whereRow(change.uuid) });
      sets.delete(change.uuid);
    }
  }
  return [...inserts, ...updates, ...[...sets.values()].flatMap(mutateOf), ...deletes];
}

function setChangesOf(changes: readonly PlannedChange[]): Map<string, SetChanges> {
  const sets = new Map<string, SetChanges>();
  for (const change of changes) {
    for (const { action, table, uuid, column } of change.memberships) {
      let holder = sets.get(uuid);
      if (holder === undefined) {
        holder = { table, uuid, columns: new Map() };
        sets.set(uuid, holder);
      }
      let set = holder.columns.get(column);
      if (set === undefined) {
        set = { add: new Set(), remove: new Set() };
        holder.columns.set(column, set);
      }
      (action === 'add' ? set.add : set.remove).add(change.uuid);
    }
  }
  return sets;
}

function insertOf(change: PlannedChange, members: SetChanges | undefined): Operation {
  const row: Record<string, JsonValue> = {};
  for (const { name, type, after } of change.columns) row[name] = datumToJson(type, after);
  for (const [column, { add }] of members?.columns ?? []) {
    const listed = change.columns.find((planned) => planned.name === column)?.after;
    const all = Array.isArray(listed) ? new Set([...(listed as readonly string[]), ...add]) : add;
    if (all.size > 0) row[column] = setOf([...all]);
  }
  return { op: 'insert', table: change.table, uuid: change.uuid, row };
}

function updatesOf(change: PlannedChange): readonly Operation[] {
  const where = whereRow(change.uuid);
  const row: Record<string, JsonValue> = {};
  const mutations: Mutation[] = [];
  for (const column of change.columns) {
    if (column.mutations !== undefined) mutations.push(...column.mutations);
    else row[column.name] = datumToJson(column.type, column.after);
  }
  const result: Operation[] = [];
  if (Object.keys(row).length > 0) result.push({ op: 'update', table: change.table, where, row });
  if (mutations.length > 0) result.push({ op: 'mutate', table: change.table, where, mutations });
  return result;
}

function mutateOf({ table, uuid, columns }: SetChanges): readonly Operation[] {
  const mutations: Mutation[] = [];
  for (const [column, { add, remove }] of columns) {
    // A set that must not be empty gets its new members before it loses the old ones.
    if (add.size > 0) mutations.push([column, 'insert', setOf([...add])]);
    if (remove.size > 0) mutations.push([column, 'delete', setOf([...remove])]);
  }
  return mutations.length > 0 ? [{ op: 'mutate', table, where: whereRow(uuid), mutations }] : [];
}
