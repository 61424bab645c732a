/** A plan for a fresh database as commands of ovn-nbctl and ovn-sbctl, one for each transaction. */
import { visibleJson } from '../api/visible-text.ts';
import type { Atom, Datum } from 'ovsdb-client-ts';
import type { Plan, PlannedChange, PlannedColumn } from '../desired/ovsdb/changes.ts';
import { isMap, isSet } from '../desired/ovsdb/column-values.ts';
import { shellQuoted } from '../process/shell-quoted.ts';

/** Texts that the programs would take for something else. */
const RESERVED = /^(true|false)$/;
const BARE = /^[A-Za-z_][A-Za-z0-9_.-]*$/;

/** A value in the syntax of ovs-vsctl(8), "Database Values". */
function valueText(datum: Datum): string {
  if (datum === undefined) return '[]';
  if (isMap(datum))
    return `{${[...datum].map(([key, value]) => `${atomText(key)}=${atomText(value)}`).join(', ')}}`;
  return isSet(datum) ? `[${datum.map(atomText).join(', ')}]` : atomText(datum);
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const atomText = (atom: Atom): string =>
  typeof atom !== 'string' || UUID.test(atom) || (BARE.test(atom) && !RESERVED.test(atom))
    ? String(atom)
    : visibleJson(JSON.stringify(atom));

const shellWord = (text: string): string =>
  /^[A-Za-z0-9_./:=@,+-]+$/.test(text) ? text : shellQuoted(text);

/** Rows that the sets of a new row hold, by column. */
function membersOf(made: PlannedChange, changes: readonly PlannedChange[]): Map<string, string[]> {
  const members = new Map<string, string[]>();
  for (const { uuid, memberships } of changes)
    for (const { uuid: holder, column } of memberships)
      if (holder === made.uuid) members.set(column, [...(members.get(column) ?? []), uuid]);
  return members;
}

/** A new row with its members: some sets must not be empty. */
function creation(made: PlannedChange, changes: readonly PlannedChange[]): readonly string[] {
  const members = membersOf(made, changes);
  const values = made.columns.map(({ name, after }) => `${name}=${valueText(after)}`);
  const sets = [...members].map(([column, uuids]) => `${column}=${valueText(uuids)}`);
  return [`--id=${made.uuid}`, 'create', made.table, ...values, ...sets];
}

/** Of a map the members that change: others may have some of their own. */
const assignments = ({ name, after }: PlannedColumn): readonly string[] =>
  isMap(after)
    ? [...after].map(([key, value]) => `${name}:${atomText(key)}=${atomText(value)}`)
    : [`${name}=${valueText(after)}`];

/**
 * What makes the rows of a plan in a fresh database: one command per transaction, each a line of a shell script (with line ends inside). Rows
 * have the UUIDs that Heddle gives them; `records` says how the program finds rows that every database has, by UUID. Throws for a plan that
 * removes rows.
 */
export function creationCommands(
  plan: Plan,
  program: string,
  records: ReadonlyMap<string, string>,
): readonly string[] {
  const recordOf = (uuid: string): string => records.get(uuid) ?? uuid;
  return plan.batches.flat().map(({ changes }) => {
    const gone = changes.find(({ action }) => action === 'delete');
    if (gone !== undefined) throw new Error(`${gone.table} ${gone.key} is to be removed`);
    const made = changes.filter(({ action }) => action === 'insert');
    const isMade = new Set(made.map(({ uuid }) => uuid));
    const argv = [
      ...made.map((change) => creation(change, changes)),
      ...changes
        .filter(({ action, columns }) => action === 'update' && columns.length > 0)
        .map(({ table, uuid, columns }) => [
          'set',
          table,
          recordOf(uuid),
          ...columns.flatMap(assignments),
        ]),
      ...changes.flatMap(({ uuid, memberships }) =>
        memberships
          .filter(({ uuid: holder }) => !isMade.has(holder))
          .map(({ table, uuid: holder, column }) => ['add', table, recordOf(holder), column, uuid]),
      ),
    ];
    return `${program} ${argv.map((some) => some.map(shellWord).join(' ')).join(' \\\n  -- ')}`;
  });
}
