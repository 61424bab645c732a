import { RowReference, type Containment, type DesiredRow, type DesiredValue } from './desired.ts';
import type { Entry } from './plan-entry.ts';
import type { PlanColumn, PlanTable, PlanTables } from './plan-table.ts';
import type { ReplicaRow, ReplicaView, RowComparer, RowMembers } from '../replica/replica-view.ts';
import { uuidText } from '../storage/uuid-pool.ts';

type Place = { readonly table: string; readonly key: string };

/** What is asked of one table. */
interface Side {
  readonly table: PlanTable;
  readonly comparer: RowComparer;
  readonly sets: ReadonlyMap<string, SetSide>;
  /** By place: not looked at, looked at, right. Only while the database is read for the first time. */
  readonly states: Uint8Array;
  /** Not 0 for rows of the database that were found right. */
  readonly taken: Uint8Array;
  /** The row that holds others and was asked for last. */
  holder: Holder | undefined;
}

/** One set column whose members may be rows of ours. */
interface SetSide {
  readonly column: PlanColumn;
  readonly members: RowMembers;
  /** By place of the row that has the set: how many wanted rows were found in it. */
  readonly expected: Uint32Array;
}

interface Holder {
  readonly key: string;
  readonly place: number;
  /** Its row; 0 when that is not right. */
  readonly row: number;
}

const TRIED = 1;
const RIGHT = 2;

/** So many rows are looked up at a time. */
const BLOCK = 256;

/** Stands in place of a pass's number for an entry that is not right. */
const TRIED_PASS = -1;

/**
 * Finds wanted rows that are in the database exactly as wanted, under the UUID that we give them: a restart on a right
 * database asks nothing else of them. Reads stored values in place and decodes nothing.
 *
 * What it finds right is right; what it does not find may be right as well, and is looked at in the ordinary way.
 */
export class RowMatcher {
  readonly #tables: PlanTables;
  readonly #replica: ReplicaView;
  readonly #sides = new Map<string, Side>();
  /** Entries whose rows just appeared; undefined while the database is read for the first time. */
  readonly #arrived: ReadonlySet<Entry> | undefined;

  /** While the database is followed only rows that `arrived` are matched; all others were found before. */
  constructor(tables: PlanTables, replica: ReplicaView, arrived?: ReadonlySet<Entry>) {
    this.#tables = tables;
    this.#replica = replica;
    this.#arrived = arrived;
  }

  #side(name: string): Side | undefined {
    const known = this.#sides.get(name);
    if (known !== undefined) return known;
    const table = this.#tables.get(name);
    if (table?.isPresent !== true) return undefined;
    const comparer = this.#replica.comparer(name, table.exact, table.rules.foreignColumns ?? []);
    const isFirst = this.#arrived === undefined;
    const places = isFirst ? table.entries.top : 0;
    const sets = new Map<string, SetSide>();
    for (const column of table.sets.values()) {
      if (!this.#tables.has(column.type.key.refTable ?? '')) continue;
      const members = comparer.members(column.name);
      sets.set(column.name, { column, members, expected: new Uint32Array(places) });
    }
    const side: Side = {
      table,
      comparer,
      sets,
      states: new Uint8Array(places),
      taken: new Uint8Array(isFirst ? comparer.top : 0),
      holder: undefined,
    };
    this.#sides.set(name, side);
    return side;
  }

  /** Looks for the row of an entry that arrived: true if all of it is as wanted, columns and the sets that must hold it. */
  matchArrival(entry: Entry): boolean {
    const side = this.#side(entry.table.name);
    return side !== undefined && this.#isRight(side, entry.place);
  }

  /** Looks for all rows that are wanted of a table: those found right stay bare wishes. Returns their number. */
  matchAll(table: PlanTable, visit: (wish: DesiredRow) => void): number {
    const side = this.#side(table.name);
    const { entries } = table;
    let right = 0;
    const rows = new Uint32Array(BLOCK);
    for (let first = 1, { top } = entries; first < top; first += BLOCK) {
      const end = Math.min(first + BLOCK, top);
      side?.comparer.findAll(entries.words, first * 4, end - first, rows);
      for (let place = first; place < end; place++) {
        const wish = entries.wish(place);
        if (wish === undefined) continue;
        visit(wish);
        const row = rows[place - first] as number;
        if (side !== undefined && this.#isRightAtFirst(side, place, row)) right++;
        else entries.doubt(place);
      }
    }
    return right;
  }

  #isRight(side: Side, place: number): boolean {
    return this.#arrived === undefined
      ? this.#isRightAtFirst(side, place, this.#row(side, place))
      : this.#isRightNow(side, place, this.#arrived);
  }

  #isRightAtFirst(side: Side, place: number, row: number): boolean {
    const { states, table } = side;
    if (states[place] !== 0) return states[place] === RIGHT;
    // Rows that need each other in a circle are left to the ordinary way.
    states[place] = TRIED;
    const wish = table.entries.wish(place);
    if (wish === undefined || !this.#isAsWanted(side, place, row, wish)) return false;
    states[place] = RIGHT;
    side.taken[row] = 1;
    table.matched++;
    return true;
  }

  #isRightNow(side: Side, place: number, arrived: ReadonlySet<Entry>): boolean {
    const { entries } = side.table;
    if (entries.wish(place) !== undefined) return true;
    const entry = entries.at(place);
    if (entry.isAssumed) return true;
    const { row } = entry;
    // The only row of ours with the key is the one that stands for it.
    if (!arrived.has(entry)) return entry.ours.length === 1 && row !== undefined;
    if (entry.pass === TRIED_PASS) return false;
    entry.pass = TRIED_PASS;
    if (row === undefined || entry.rivals !== undefined) return false;
    if (!this.#isAsWanted(side, place, this.#row(side, place), row)) return false;
    entry.attachMatch();
    return true;
  }

  /** The row of the database under the UUID of a place; 0 when there is none. */
  #row({ comparer, table }: Side, place: number): number {
    return comparer.find(table.entries.words, place * 4);
  }

  #isAsWanted(side: Side, place: number, row: number, wanted: DesiredRow): boolean {
    const { table, comparer } = side;
    if (row === 0 || wanted.partial === true || table.hasShared) return false;
    const { columns, containers } = wanted;
    if (!comparer.equals(row, columns) && !this.#equals(side, place, row, wanted)) return false;
    for (const container of containers) if (!this.#isIn(container, comparer, row)) return false;
    return true;
  }

  #isIn({ table, key, column }: Containment, comparer: RowComparer, row: number): boolean {
    const side = this.#side(table);
    const set = side?.sets.get(column);
    if (side === undefined || set === undefined) return false;
    const holder = this.#holder(side, key);
    if (holder.row === 0 || !set.members.includes(holder.row, comparer, row)) return false;
    if (this.#arrived === undefined) {
      set.expected[holder.place] = (set.expected[holder.place] as number) + 1;
    }
    return true;
  }

  /** Rows of one container come one after the other: the last one is asked for again and again. */
  #holder(side: Side, key: string): Holder {
    if (side.holder?.key === key) return side.holder;
    const place = side.table.knownPlace(key);
    const isRight = place !== 0 && this.#isRight(side, place);
    const row = isRight ? this.#row(side, place) : 0;
    side.holder = { key, place, row };
    return side.holder;
  }

  /** As `equals`, with UUIDs in place of references; false when no reference is given. */
  #equals(side: Side, place: number, row: number, wanted: DesiredRow): boolean {
    const { table, comparer } = side;
    const columns: Record<string, DesiredValue | undefined> = { ...wanted.columns };
    let refers = false;
    for (const column of table.references) {
      const value = columns[column.name];
      if (value === undefined) continue;
      refers = true;
      columns[column.name] = undefined;
      if (column.kind === 'members') {
        if (!this.#hasMembers(side, place, row, column.name, value)) return false;
      } else {
        const uuid = value instanceof RowReference ? this.#uuid(value) : undefined;
        if (uuid === undefined) return false;
        columns[column.name] = uuid;
      }
    }
    return refers && comparer.equals(row, columns);
  }

  /** The row that is referred to is looked at first: only then is the one that refers to it. */
  #target(reference: Place): readonly [Side, number] | undefined {
    const side = this.#side(reference.table);
    const place = side?.table.knownPlace(reference.key) ?? 0;
    return side !== undefined && place !== 0 && this.#isRight(side, place)
      ? [side, place]
      : undefined;
  }

  #uuid(reference: Place): string | undefined {
    const target = this.#target(reference);
    return target && uuidText(target[0].table.entries.words, target[1] * 4);
  }

  #hasMembers(
    side: Side,
    place: number,
    row: number,
    column: string,
    value: DesiredValue,
  ): boolean {
    const set = side.sets.get(column);
    if (set === undefined || !Array.isArray(value)) return false;
    for (const reference of value as readonly unknown[]) {
      const target = reference instanceof RowReference ? this.#target(reference) : undefined;
      if (target === undefined) return false;
      if (!set.members.includes(row, target[0].comparer, this.#row(...target))) return false;
    }
    if (this.#arrived === undefined) {
      set.expected[place] = (set.expected[place] as number) + value.length;
    }
    return true;
  }

  /** Rows of the database that were not found right. */
  *others(table: PlanTable): Generator<ReplicaRow> {
    const side = this.#side(table.name);
    if (side === undefined) return;
    const { comparer, taken } = side;
    for (let number = 1; number < comparer.top; number++) {
      const row = taken[number] === 0 ? comparer.row(number) : undefined;
      if (row !== undefined) yield row;
    }
  }

  /** Sets of right rows that hold more than what was found wanted in them, as far as rows of ours can be in them. */
  surplus(): readonly (readonly [PlanTable, readonly string[]])[] {
    const result: (readonly [PlanTable, readonly string[]])[] = [];
    for (const side of this.#sides.values()) {
      const { comparer, sets, states } = side;
      for (const { column, members, expected } of sets.values()) {
        const target = this.#tables.get(column.type.key.refTable ?? '');
        for (let place = 1; place < states.length; place++) {
          if (states[place] !== RIGHT) continue;
          const row = this.#row(side, place);
          if (members.size(row) === expected[place]) continue;
          const found = comparer.row(row)?.column(column.name);
          if (target !== undefined) result.push([target, found as readonly string[]]);
        }
      }
    }
    return result;
  }
}
