/** A plan for people and for programs. */
import { visibleText } from '../api/visible-text.ts';
import type { Atom, ColumnType, Datum, JsonValue } from 'ovsdb-client-ts';
import type { Plan, PlannedChange, PlannedColumn } from '../desired/ovsdb/changes.ts';
import { isMap, isSet, membersOf, without } from '../desired/ovsdb/column-values.ts';

type BaseType = ColumnType['key'];

/** Number of rows. */
type Counts = Readonly<Record<PlannedChange['action'], number>>;

/** Number of rows that a plan inserts, changes and removes, per table, in order of the tables' names. */
function planCounts(plan: Pick<Plan, 'changes'>): Readonly<Record<string, Counts>> {
  const counts = new Map<string, { insert: number; update: number; delete: number }>();
  for (const { table, action } of plan.changes) {
    const count = counts.get(table) ?? { insert: 0, update: 0, delete: 0 };
    count[action] += 1;
    counts.set(table, count);
  }
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

interface RenderOptions {
  /** Columns of new rows too, not only their names. Default true. */
  readonly details?: boolean;
}

type NameOf = Plan['nameOf'];

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
      lines.push(...renderChange(change, plan.nameOf, options.details ?? true));
    }
  }
  if (plan.isEmpty) lines.push('Nothing to do.');
  for (const { message } of plan.problems) lines.push(`! ${message}`);
  for (const sentence of plan.unsupported) lines.push(`! ${sentence}`);
  return `${lines.map(visibleText).join('\n')}\n`;
}

/** What of a row that is there is changed: `other_config: {subnet=10.0.0.0/24} → {subnet=103.103.0.0/24}`. */
export const changedColumns = (change: PlannedChange, nameOf: NameOf): readonly string[] =>
  renderChange(change, nameOf, true)
    .slice(1)
    .map((line) => line.trim());

const byKey = (changes: readonly PlannedChange[]): readonly PlannedChange[] =>
  changes.toSorted((a, b) =>
    a.key === b.key ? (a.uuid < b.uuid ? -1 : 1) : a.key < b.key ? -1 : 1,
  );

function countText(count: Counts): string {
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

function renderChange(change: PlannedChange, nameOf: NameOf, details: boolean): readonly string[] {
  const why = change.reason === 'duplicate' ? ` (second row of this key, ${change.uuid})` : '';
  const lines = [`  ${SIGNS[change.action]} ${change.key}${why}`];
  if (change.action === 'insert' && !details) return lines;
  for (const column of change.columns)
    lines.push(`      ${column.name}: ${columnText(change, column, nameOf)}`);
  if (change.action === 'delete') return lines;
  for (const { action, table, key, column } of change.memberships) {
    const verb = action === 'add' ? (change.action === 'insert' ? 'in' : 'into') : 'out of';
    lines.push(`      ${verb} ${table} ${key} ${column}`);
  }
  return lines;
}

/** Up to this many members a set or map is shown whole. */
const SHOWN_WHOLE = 8;

/** A new value, or what became of it: of a set or map too large to be shown whole the members that leave and come. */
function columnText(
  { action }: PlannedChange,
  { type, before, after }: PlannedColumn,
  nameOf: NameOf,
): string {
  const member = ([key, value]: readonly [Atom, Atom | undefined]): string =>
    value === undefined
      ? atomText(key, type.key, nameOf)
      : `${atomText(key, type.key, nameOf)}=${atomText(value, type.value, nameOf)}`;
  const whole = (datum: Datum): string => {
    if (datum === undefined) return '[]';
    if (isMap(datum)) return `{${[...datum].map(member).join(', ')}}`;
    if (isSet(datum)) return `[${datum.map((atom) => member([atom, undefined])).join(', ')}]`;
    return member([datum, undefined]);
  };
  if (action === 'insert') return whole(after);
  const [old, wanted] = [membersOf(before), membersOf(after)];
  if (Math.max(old.size, wanted.size) <= SHOWN_WHOLE) return `${whole(before)} → ${whole(after)}`;
  const gone = [...without(old, wanted)].map((one) => `-${member(one)}`);
  const come = [...without(wanted, old)].map((one) => `+${member(one)}`);
  return [...gone, ...come].join(' ');
}

/** Text that can't be mistaken is shown bare, as ovn-nbctl does; references by the key of their row. */
function atomText(atom: Atom, base: BaseType | undefined, nameOf: NameOf): string {
  if (typeof atom !== 'string') return String(atom);
  const name = base?.refTable === undefined ? undefined : nameOf(base.refTable, atom);
  return name ?? (/^[A-Za-z0-9_.:/@$+-]+$/.test(atom) ? atom : JSON.stringify(atom));
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
      ...known({ object: change.object, rule: change.rule, reason: change.reason }),
      columns: Object.fromEntries(
        change.columns.map(({ name, type, before, after }) => [
          name,
          {
            ...(change.action === 'insert' ? {} : { before: jsonOf(before, type, plan.nameOf) }),
            after: jsonOf(after, type, plan.nameOf),
          },
        ]),
      ),
      memberships: change.memberships.map(({ uuid: _uuid, ...membership }) => membership),
    })),
    problems: plan.problems.map(({ object, ...problem }) => ({ ...problem, ...known({ object }) })),
    heldBack: plan.heldBack,
    unsupported: [...plan.unsupported],
  };
}

/** What of this there is. */
const known = (values: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );

/** A value: references as `table/key` where the row is known, maps as objects. */
function jsonOf(datum: Datum, { key, value }: ColumnType, nameOf: NameOf): JsonValue {
  const atom = (one: Atom, base: BaseType | undefined): Atom => {
    const name =
      base?.refTable === undefined || typeof one !== 'string'
        ? undefined
        : nameOf(base.refTable, one);
    return name === undefined ? one : `${base?.refTable}/${name}`;
  };
  if (datum === undefined) return [];
  if (isMap(datum))
    return Object.fromEntries([...datum].map(([k, v]) => [String(atom(k, key)), atom(v, value)]));
  return isSet(datum) ? datum.map((one) => atom(one, key)) : atom(datum, key);
}
