import { datumToJson, type JsonValue, type Mutation, type Operation } from 'ovsdb-client-ts';
import type { PlannedChange, PlannedMembership } from './changes.ts';

/** Changes → operations of one transaction. */

const whereRow = (uuid: string): readonly (readonly [string, '==', JsonValue])[] => [
  ['_uuid', '==', ['uuid', uuid]],
];

const setOf = (uuids: readonly string[]): JsonValue =>
  uuids.length === 1
    ? ['uuid', uuids[0] as string]
    : ['set', uuids.map((uuid): JsonValue => ['uuid', uuid])];

/** A row that comes into a set of another one, or leaves it. */
interface Move extends PlannedMembership {
  readonly member: string;
}

/**
 * The operations of these changes: new rows with their members, then changes of rows, then one mutation per row whose sets
 * change, then deletions. Rows that live by references are removed by removing those.
 */
export function operationsOf(changes: readonly PlannedChange[]): readonly Operation[] {
  const moves = changes.flatMap(({ uuid: member, memberships }) =>
    memberships.map((one): Move => ({ ...one, member })),
  );
  const byHolder = Map.groupBy(moves, ({ uuid }) => uuid);
  const inserts: Operation[] = [];
  const updates: Operation[] = [];
  const deletes: Operation[] = [];
  for (const change of changes) {
    if (change.action === 'insert') {
      inserts.push(insertOf(change, byHolder.get(change.uuid) ?? []));
      byHolder.delete(change.uuid);
    } else if (change.action === 'update') {
      updates.push(...updatesOf(change));
    } else if (change.isRoot) {
      deletes.push({ op: 'delete', table: change.table, where: whereRow(change.uuid) });
      byHolder.delete(change.uuid);
    }
  }
  return [...inserts, ...updates, ...[...byHolder].map(mutateOf), ...deletes];
}

/** Members that come into a set, or leave it. */
const membersOf = (moves: readonly Move[], action: Move['action']): readonly string[] => [
  ...new Set(moves.filter((one) => one.action === action).map(({ member }) => member)),
];

function insertOf(change: PlannedChange, moves: readonly Move[]): Operation {
  const row: Record<string, JsonValue> = {};
  for (const { name, type, after } of change.columns) row[name] = datumToJson(type, after);
  for (const [column, those] of Map.groupBy(moves, (one) => one.column))
    row[column] = setOf(membersOf(those, 'add'));
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

function mutateOf([uuid, moves]: readonly [string, readonly Move[]]): Operation {
  const mutations: Mutation[] = [];
  for (const [column, those] of Map.groupBy(moves, (one) => one.column)) {
    // A set that must not be empty gets its new members before it loses the old ones.
    for (const [action, mutator] of [
      ['add', 'insert'],
      ['remove', 'delete'],
    ] as const) {
      const some = membersOf(those, action);
      if (some.length > 0) mutations.push([column, mutator, setOf(some)]);
    }
  }
  return { op: 'mutate', table: moves[0]?.table ?? '', where: whereRow(uuid), mutations };
}
