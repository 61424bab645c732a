import { RowReference, type DesiredRow, type DesiredValue } from './desired.ts';
import type { Entry } from './plan-entry.ts';
import { rowUuid } from './plan-resolve.ts';
import type { PlanColumn, PlanTable, PlanTables } from './plan-table.ts';
import type { ReplicaRow, ReplicaView } from './replica-view.ts';
import type { Writable } from './value.ts';

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
  readonly #database: string;
  /** How many members each set must have, by the row that holds it. */
  readonly #members = new Map<Entry, Map<string, number>>();

  /** Entries whose rows just appeared; undefined while the database is read for the first time. */
  readonly #arrived: ReadonlySet<Entry> | undefined;

  /** While the database is followed only rows that `arrived` are matched; all others were found before. */
  constructor(tables: PlanTables, replica: ReplicaView, arrived?: ReadonlySet<Entry>) {
    this.#arrived = arrived;
    this.#tables = tables;
    this.#replica = replica;
    this.#database = replica.schema.name;
  }

  /** The row of an entry if all of it is as wanted, columns and the sets that must hold it; attached to the entry then. */
  match(entry: Entry): ReplicaRow | undefined {
    const { claim, table } = entry;
    if (entry.isAssumed) return entry.ours[0];
    if (this.#arrived?.has(entry) === false) {
      // The only row of ours with the key is the one that stands for it.
      return entry.ours.length === 1 && claim !== undefined ? entry.ours[0] : undefined;
    }
    if (entry.pass === TRIED) return undefined;
    // Rows that need each other in a circle are left to the ordinary way.
    entry.pass = TRIED;
    if (claim === undefined || entry.rivals !== undefined || claim.row.partial === true) {
      return undefined;
    }
    if (!table.isPresent || table.hasShared) return undefined;
    // What just arrived has the UUID that was planned for it.
    const planned = this.#arrived === undefined ? undefined : entry.uuid;
    const uuid = planned ?? rowUuid(this.#database, table.name, entry.key);
    const row = this.#replica.row(table.name, uuid);
    if (row === undefined || !this.#hasColumns(entry, claim.row, row)) return undefined;
    if (!this.#isInPlace(claim.row, row, uuid)) return undefined;
    entry.isAssumed = true;
    entry.lastUuid = uuid;
    entry.attach(row, true);
    table.byUuid.set(uuid, entry);
    return row;
  }

  #hasColumns(entry: Entry, wanted: DesiredRow, row: ReplicaRow): boolean {
    const { table } = entry;
    let set = 0;
    for (const name in wanted.columns) {
      const value = wanted.columns[name];
      if (value === undefined) continue;
      const column = table.column(name);
      if (column === undefined) {
        if (table.rules.foreignColumns?.includes(name) === true) continue;
        return false;
      }
      if (column.kind === 'members') {
        if (!this.#hasMembers(entry, column, value, row)) return false;
        continue;
      }
      const plain = column.isReference ? this.#uuidOf(value) : (value as Writable);
      if (plain === undefined || !row.holds(name, plain)) return false;
      if (!isDefault(column, value)) set++;
    }
    return row.countSet(table.exact) === set;
  }

  /** UUID of the row that a single reference means. */
  #uuidOf(value: DesiredValue): string | undefined {
    return value instanceof RowReference ? this.#target(value)?.uuid : undefined;
  }

  #target(reference: { readonly table: string; readonly key: string }): ReplicaRow | undefined {
    const entry = this.#tables.get(reference.table)?.entries.get(reference.key);
    return entry === undefined ? undefined : this.match(entry);
  }

  #hasMembers(entry: Entry, column: PlanColumn, value: DesiredValue, row: ReplicaRow): boolean {
    if (!Array.isArray(value)) return false;
    for (const reference of value as readonly unknown[]) {
      const target = reference instanceof RowReference ? this.#target(reference) : undefined;
      if (target === undefined || !row.includes(column.name, target.uuid)) return false;
    }
    this.#expect(entry, column.name, value.length);
    return true;
  }

  #isInPlace(wanted: DesiredRow, row: ReplicaRow, uuid: string): boolean {
    for (const { table, key, column } of wanted.containers) {
      const holder = this.#tables.get(table);
      const entry = holder?.entries.get(key);
      if (entry === undefined || holder?.sets.has(column) !== true) return false;
      if (this.match(entry)?.includes(column, uuid) !== true) return false;
      this.#expect(entry, column, 1);
    }
    return true;
  }

  #expect(entry: Entry, column: string, count: number): void {
    let sets = this.#members.get(entry);
    if (sets === undefined) {
      sets = new Map();
      this.#members.set(entry, sets);
    }
    sets.set(column, (sets.get(column) ?? 0) + count);
  }

  /** Sets of right rows that hold more than what was found wanted in them, as far as rows of ours can be in them. */
  surplus(): readonly (readonly [PlanTable, readonly string[]])[] {
    const result: (readonly [PlanTable, readonly string[]])[] = [];
    for (const table of this.#tables.values()) {
      for (const column of table.sets.values()) {
        const target = this.#tables.get(column.type.key.refTable ?? '');
        if (target === undefined) continue;
        for (const entry of table.entries.values()) {
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
