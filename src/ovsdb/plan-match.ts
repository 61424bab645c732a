import { RowReference, type DesiredRow, type DesiredValue } from './desired.ts';
import type { Entry } from './plan-entry.ts';
import type { PlanColumn, PlanTable, PlanTables } from './plan-table.ts';
import type { ReplicaRow, ReplicaView, RowCursor } from './replica-view.ts';
import type { Writable } from './value.ts';

type Place = { readonly table: string; readonly key: string };

/** A row that holds others, found right. */
interface Holder {
  readonly entry: Entry;
  readonly row: ReplicaRow;
  /** How many members each of its sets must have. */
  readonly members: Map<string, number>;
}

/** Stands in place of a pass's number for an entry that is not right. */
const TRIED = -1;

/**
 * Finds wanted rows that are in the database exactly as wanted, under the UUID that we give them: a restart on a right
 * database asks nothing else of them. Reads stored values in place and decodes nothing.
 *
 * What it finds right is right; what it does not find may be right as well, and is looked at in the ordinary way.
 */
export class RowMatcher {
  readonly #tables: PlanTables;
  readonly #replica: ReplicaView;
  readonly #cursors = new Map<PlanTable, RowCursor>();
  /** Entry whose row was looked for last. */
  #at: Entry | undefined;
  /** How many members each set must have, by the row that holds it. */
  readonly #members = new Map<Entry, Map<string, number>>();
  /** Rows that hold others, by table and key. */
  readonly #holders = new Map<PlanTable, Map<string, Holder>>();

  /** Entries whose rows just appeared; undefined while the database is read for the first time. */
  readonly #arrived: ReadonlySet<Entry> | undefined;

  /** While the database is followed only rows that `arrived` are matched; all others were found before. */
  constructor(tables: PlanTables, replica: ReplicaView, arrived?: ReadonlySet<Entry>) {
    this.#arrived = arrived;
    this.#tables = tables;
    this.#replica = replica;
  }

  /** True if all of an entry is as wanted, columns and the sets that must hold it: the row belongs to the entry then. */
  match(entry: Entry): boolean {
    if (entry.isAssumed) return true;
    const { row: wanted, table } = entry;
    if (this.#arrived?.has(entry) === false) {
      // The only row of ours with the key is the one that stands for it.
      return entry.ours.length === 1 && wanted !== undefined;
    }
    if (entry.pass === TRIED) return false;
    // Rows that need each other in a circle are left to the ordinary way.
    entry.pass = TRIED;
    if (wanted === undefined || entry.rivals !== undefined || wanted.partial === true) return false;
    if (!table.isPresent || table.hasShared) return false;
    const cursor = this.#cursor(table);
    if (!cursor.seek(table.ownWords(entry))) return false;
    this.#at = entry;
    if (!this.#hasColumns(entry, wanted, cursor)) return false;
    for (const place of wanted.containers) {
      const holder = this.#holder(place);
      // Matching the holder may have moved the cursor to another row of the same table.
      if (this.#at !== entry) cursor.seek(table.ownWords(entry));
      this.#at = entry;
      if (holder?.entry.table.sets.has(place.column) !== true) return false;
      if (!cursor.isIn(holder.row, place.column)) return false;
      holder.members.set(place.column, (holder.members.get(place.column) ?? 0) + 1);
    }
    entry.attachMatch();
    return true;
  }

  #cursor(table: PlanTable): RowCursor {
    let cursor = this.#cursors.get(table);
    if (cursor === undefined) {
      cursor = this.#replica.cursor(table.name);
      this.#cursors.set(table, cursor);
    }
    return cursor;
  }

  #hasColumns(entry: Entry, wanted: DesiredRow, cursor: RowCursor): boolean {
    const { table } = entry;
    let set = 0;
    let refers = false;
    for (const name in wanted.columns) {
      const value = wanted.columns[name];
      if (value === undefined) continue;
      const column = table.column(name);
      if (column === undefined) {
        if (table.rules.foreignColumns?.includes(name) === true) continue;
        return false;
      }
      if (column.isReference) {
        refers = true;
        if (column.kind !== 'members') set++;
      } else {
        if (!cursor.holds(name, value as Writable)) return false;
        if (!isDefault(column, value)) set++;
      }
    }
    return cursor.countSet(table.exact) === set && (!refers || this.#hasReferences(entry, wanted));
  }

  /** The rows that are referred to are looked at first: only then is this one. */
  #hasReferences(entry: Entry, wanted: DesiredRow): boolean {
    for (const column of entry.table.references) {
      const value = wanted.columns[column.name];
      if (value === undefined) continue;
      if (column.kind === 'members') {
        if (!this.#hasMembers(entry, column, value)) return false;
        continue;
      }
      const target = value instanceof RowReference ? this.#target(value) : undefined;
      if (target === undefined) return false;
      const row = entry.table.found(entry.ownUuid);
      if (row?.holds(column.name, target.uuid) !== true) return false;
    }
    return true;
  }

  #target(reference: Place): ReplicaRow | undefined {
    const entry = this.#tables.get(reference.table)?.known(reference.key);
    return entry !== undefined && this.match(entry) ? entry.ours[0] : undefined;
  }

  /** The row that holds others; asked for once for each of them. */
  #holder(place: Place): Holder | undefined {
    const table = this.#tables.get(place.table);
    if (table === undefined) return undefined;
    let known = this.#holders.get(table);
    if (known === undefined) {
      known = new Map();
      this.#holders.set(table, known);
    }
    let holder = known.get(place.key);
    if (holder === undefined) {
      const entry = table.known(place.key);
      const row = entry !== undefined && this.match(entry) ? entry.ours[0] : undefined;
      if (entry === undefined || row === undefined) return undefined;
      holder = { entry, row, members: this.#membersOf(entry) };
      known.set(place.key, holder);
    }
    return holder;
  }

  #hasMembers(entry: Entry, column: PlanColumn, value: DesiredValue): boolean {
    if (!Array.isArray(value)) return false;
    const targets = (value as readonly unknown[]).map((reference) =>
      reference instanceof RowReference ? this.#target(reference) : undefined,
    );
    const row = entry.table.found(entry.ownUuid);
    for (const target of targets) {
      if (target === undefined || row?.includes(column.name, target.uuid) !== true) return false;
    }
    const sets = this.#membersOf(entry);
    sets.set(column.name, (sets.get(column.name) ?? 0) + value.length);
    return true;
  }

  #membersOf(entry: Entry): Map<string, number> {
    let sets = this.#members.get(entry);
    if (sets === undefined) {
      sets = new Map();
      this.#members.set(entry, sets);
    }
    return sets;
  }

  /** Sets of right rows that hold more than what was found wanted in them, as far as rows of ours can be in them. */
  surplus(): readonly (readonly [PlanTable, readonly string[]])[] {
    const result: (readonly [PlanTable, readonly string[]])[] = [];
    for (const table of this.#tables.values()) {
      for (const column of table.sets.values()) {
        const target = this.#tables.get(column.type.key.refTable ?? '');
        if (target === undefined) continue;
        for (const entry of table.entries) {
          const row = entry.isAssumed ? entry.ours[0] : undefined;
          const expected = this.#members.get(entry)?.get(column.name) ?? 0;
          if (row === undefined || row.memberCount(column.name) === expected) continue;
          result.push([target, row.column(column.name) as readonly string[]]);
        }
      }
    }
    return result;
  }
}

function isDefault(column: PlanColumn, value: DesiredValue): boolean {
  const { defaultValue } = column;
  if (value instanceof RowReference || defaultValue === undefined) return false;
  if (typeof defaultValue !== 'object') return value === defaultValue;
  if (typeof value !== 'object') return false;
  if (Array.isArray(value)) return value.length === 0;
  if (value instanceof Map) return value.size === 0;
  for (const _key in value as Readonly<Record<string, string>>) return false;
  return true;
}
