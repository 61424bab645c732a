import type { Atom, Datum, JsonValue } from '../../ovsdb/index.ts';
import type { Plan, PlannedChange, PlannedColumn, TableCounts } from './changes.ts';
import type { ClaimedTable, ClaimedTables } from './claimed-table.ts';

/** A plan for people and for programs. */

/** Number of rows that a plan inserts, changes and removes, per table, in order of the tables' names. */
export function planCounts(plan: Pick<Plan, 'changes'>): Readonly<Record<string, TableCounts>> {
  const counts = new Map<string, { insert: number; update: number; delete: number }>();
  for (const { table, action } of plan.changes) {
    const count = counts.get(table) ?? { insert: 0, update: 0, delete: 0 };
    count[action] += 1;
    counts.set(table, count);
  }
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

export interface RenderOptions {
  /** Columns of new rows too, not only their names. Default true. */
  readonly details?: boolean;
}

type Names = Plan['names'];

/**
 * The plan as a readable difference, grouped per table: `+` new, `~` changed, `-` removed.
 *
 * ```
 * Logical_Switch: 1 to add, 1 to change
 *   + blue_blue_ovn-worker
 *       other_config: {subnet=103.103.0.0/24}
 *   ~ blue_blue_join
 *       external_ids: {} → {k8s.ovn.org/network=blue_blue}
 * ```
 */
export function renderPlan(plan: Plan, options: RenderOptions = {}): string {
  const lines: string[] = [];
  const tables = Map.groupBy(plan.changes, (change) => change.table);
  for (const [table, count] of Object.entries(planCounts(plan))) {
    lines.push(`${table}: ${countText(count)}`);
    for (const change of byKey(tables.get(table) ?? [])) {
      lines.push(...renderChange(change, plan.names, options.details ?? true));
    }
  }
  if (plan.isEmpty) lines.push('Nothing to do.');
  for (const { message } of plan.problems) lines.push(`! ${message}`);
  for (const sentence of plan.unsupported) lines.push(`! ${sentence}`);
  return `${lines.join('\n')}\n`;
}

const byKey = (changes: readonly PlannedChange[]): readonly PlannedChange[] =>
  changes.toSorted((a, b) =>
    a.key === b.key ? (a.uuid < b.uuid ? -1 : 1) : a.key < b.key ? -1 : 1,
  );

function countText(count: TableCounts): string {
  return [
    [count.insert, 'to add'],
    [count.update, 'to change'],
    [count.delete, 'to remove'],
  ]
    .filter(([number]) => number !== 0)
    .map(([number, what]) => `${number} ${what}`)
    .join(', ');
}

const SIGNS = { insert: '+', update: '~', delete: '-' } as const;

function renderChange(change: PlannedChange, names: Names, details: boolean): readonly string[] {
  const why = change.reason === 'duplicate' ? ` (second row of this key, ${change.uuid})` : '';
  const lines = [`  ${SIGNS[change.action]} ${change.key}${why}`];
  if (change.action === 'insert' && !details) return lines;
  for (const column of change.columns) lines.push(`      ${renderColumn(change, column, names)}`);
  if (change.action === 'delete') return lines;
  for (const { action, table, key, column } of change.memberships) {
    const verb = action === 'add' ? (change.action === 'insert' ? 'in' : 'into') : 'out of';
    lines.push(`      ${verb} ${table} ${key} ${column}`);
  }
  return lines;
}

function renderColumn(change: PlannedChange, column: PlannedColumn, names: Names): string {
  const after = datumText(column.after, names);
  if (change.action === 'insert') return `${column.name}: ${after}`;
  const [gone, come] = memberDifference(column);
  if (gone === undefined || come === undefined) {
    return `${column.name}: ${datumText(column.before, names)} → ${after}`;
  }
  const parts = [...gone.map((m) => `-${m(names)}`), ...come.map((m) => `+${m(names)}`)];
  return `${column.name}: ${parts.join(' ')}`;
}

type MemberText = (names: Names) => string;

/** Up to this many members a set or map is shown whole. */
const SHOWN_WHOLE = 8;

/** Members that leave and come, for sets and maps too large to be shown whole. */
function memberDifference({
  before,
  after,
}: PlannedColumn): readonly (readonly MemberText[] | undefined)[] {
  const [old, wanted] = [pairsOf(before), pairsOf(after)];
  if (Math.max(old.size, wanted.size) <= SHOWN_WHOLE) return [undefined, undefined];
  const text =
    ([key, value]: readonly [Atom, Atom | undefined]): MemberText =>
    (names) =>
      value === undefined
        ? atomText(key, names)
        : `${atomText(key, names)}=${atomText(value, names)}`;
  const without = (from: ReadonlyMap<Atom, Atom | undefined>, other: typeof from) =>
    [...from].filter(([key, value]) => !other.has(key) || other.get(key) !== value).map(text);
  return [without(old, wanted), without(wanted, old)];
}

function pairsOf(datum: Datum): ReadonlyMap<Atom, Atom | undefined> {
  if (isMap(datum)) return datum;
  return new Map(isSet(datum) ? datum.map((atom) => [atom, undefined]) : []);
}

export const isMap = (datum: Datum): datum is ReadonlyMap<Atom, Atom> => datum instanceof Map;
export const isSet = (datum: Datum): datum is readonly Atom[] => Array.isArray(datum);

function datumText(datum: Datum, names: Names): string {
  if (datum === undefined) return '[]';
  if (isMap(datum)) {
    return `{${[...datum].map(([k, v]) => `${atomText(k, names)}=${atomText(v, names)}`).join(', ')}}`;
  }
  if (isSet(datum)) return `[${datum.map((atom) => atomText(atom, names)).join(', ')}]`;
  return atomText(datum, names);
}

/** Text that can't be mistaken is shown bare, as ovn-nbctl does; references by the key of their row. */
function atomText(atom: Atom, names: Names): string {
  if (typeof atom !== 'string') return String(atom);
  const name = names.get(atom);
  if (name !== undefined) return name.key;
  return /^[A-Za-z0-9_.:/@$+-]+$/.test(atom) ? atom : JSON.stringify(atom);
}

/** The plan as JSON: what `renderPlan` shows, for programs. */
export function planToJson(plan: Plan): JsonValue {
  return {
    database: plan.database,
    empty: plan.isEmpty,
    counts: Object.fromEntries(
      Object.entries(planCounts(plan)).map(([table, count]) => [table, { ...count }]),
    ),
    changes: plan.changes.map((change) => ({
      action: change.action,
      table: change.table,
      key: change.key,
      uuid: change.uuid,
      unit: change.unit,
      ...(change.object === undefined ? {} : { object: change.object }),
      ...(change.rule === undefined ? {} : { rule: change.rule }),
      ...(change.reason === undefined ? {} : { reason: change.reason }),
      columns: Object.fromEntries(
        change.columns.map((column) => [
          column.name,
          {
            ...(change.action === 'insert' ? {} : { before: jsonOf(column.before, plan.names) }),
            after: jsonOf(column.after, plan.names),
          },
        ]),
      ),
      memberships: change.memberships.map(({ action, table, key, column }) => ({
        action,
        table,
        key,
        column,
      })),
    })),
    problems: plan.problems.map(({ object, ...problem }) => ({
      ...problem,
      ...(object === undefined ? {} : { object }),
    })),
    heldBack: plan.heldBack,
    unsupported: [...plan.unsupported],
  };
}

/** A value: references as `table/key` where the row is known, maps as objects. */
function jsonOf(datum: Datum, names: Names): JsonValue {
  const atom = (value: Atom): Atom => {
    const name = typeof value === 'string' ? names.get(value) : undefined;
    return name === undefined ? value : `${name.table}/${name.key}`;
  };
  if (datum === undefined) return [];
  if (isMap(datum))
    return Object.fromEntries([...datum].map(([k, v]) => [String(atom(k)), atom(v)]));
  return isSet(datum) ? datum.map(atom) : atom(datum);
}

/** Tables and keys of the rows that changes are about and that their values refer to, by UUID. */
export function namesIn(changes: readonly PlannedChange[], tables: ClaimedTables): Plan['names'] {
  const result = new Map<string, { table: string; key: string }>();
  const note = (table: ClaimedTable | undefined, atom: unknown): void => {
    if (table === undefined || typeof atom !== 'string') return;
    const entry = table.byUuid.get(atom);
    if (entry !== undefined) result.set(atom, { table: table.name, key: entry.key });
  };
  for (const { columns } of changes) {
    for (const { type, before, after } of columns) {
      const key = tables.get(type.key.refTable ?? '');
      const value = tables.get(type.value?.refTable ?? '');
      if (key === undefined && value === undefined) continue;
      for (const datum of [before, after]) {
        if (datum instanceof Map) {
          for (const [k, v] of datum) {
            note(key, k);
            note(value, v);
          }
        } else for (const atom of Array.isArray(datum) ? datum : [datum]) note(key, atom);
      }
    }
  }
  // A row is called by the key that it is to have, whatever key it has now.
  for (const { uuid, table, key } of changes) result.set(uuid, { table, key });
  return result;
}
