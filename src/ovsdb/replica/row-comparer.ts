import type { ReplicaRow, RowComparer, RowMembers } from './replica-view.ts';
import { CellMatcher } from '../storage/cell-match.ts';
import type { StoredColumn, TableStore } from '../storage/table-store.ts';
import type { Writable } from '../data/value.ts';
import type { ReplicaTable } from './replica-table.ts';
import { holdsInGeneral } from './row.ts';

interface ComparedColumn {
  readonly name: string;
  /** Undefined for a column that is passed over. */
  readonly matcher: CellMatcher | undefined;
  readonly stored: StoredColumn | undefined;
  /** Undefined while every row has the default. */
  readonly cells: Uint32Array | undefined;
  readonly defaultCell: number;
}

/** Compares stored rows with wanted ones where they are. A row's number is its slot. */
export class TableComparer implements RowComparer {
  readonly store: TableStore;
  readonly #table: ReplicaTable;
  readonly #byName: ReadonlyMap<string, ComparedColumn>;
  /** Compared columns in which some row has another value than the default. */
  readonly #used: readonly ComparedColumn[];
  readonly #members = new Map<string, TableMembers>();
  /** Columns in the order in which the last rows gave them: most rows of a table give the same ones. */
  readonly #guesses: ComparedColumn[] = [];

  constructor(table: ReplicaTable, compared: readonly string[], ignored: readonly string[]) {
    this.#table = table;
    this.store = table.store;
    const columns = compared.flatMap((name): ComparedColumn[] => {
      const stored = table.store.column(name);
      if (stored === undefined) return [];
      const { cells, codec } = stored;
      const matcher = new CellMatcher(codec);
      return [{ name, stored, matcher, cells, defaultCell: codec.defaultCell }];
    });
    this.#used = columns.filter((column) => column.cells !== undefined);
    this.#byName = new Map(
      [
        ...ignored.map((name): ComparedColumn => ({
          name,
          stored: undefined,
          matcher: undefined,
          cells: undefined,
          defaultCell: 0,
        })),
        ...columns,
      ].map((column) => [column.name, column]),
    );
  }

  get top(): number {
    return this.store.top;
  }

  find(words: Uint32Array, at: number): number {
    const id = this.store.pools.uuids.findWords(words, at, 4);
    return id <= 0 ? 0 : this.store.slotOf(id);
  }

  findAll(words: Uint32Array, at: number, count: number, rows: Uint32Array): void {
    const { pools } = this.store;
    for (let i = 0; i < count; i++)
      rows[i] = Math.max(0, pools.uuids.findWords(words, at + i * 4, 4));
    for (let i = 0; i < count; i++) {
      const id = rows[i] as number;
      if (id !== 0) rows[i] = this.store.slotOf(id);
    }
  }

  equals(row: number, wanted: Readonly<Record<string, unknown>>): boolean {
    let given = 0;
    /** Given columns that are not at their default. */
    let set = 0;
    for (const name in wanted) {
      const value = wanted[name];
      if (value === undefined) continue;
      const column = this.#column(name, given++);
      if (column === undefined) return false;
      const { matcher, cells, defaultCell } = column;
      if (matcher === undefined) continue;
      const cell = cells === undefined ? defaultCell : (cells[row] as number);
      const holds =
        matcher.holds(cell, value as Writable) ??
        holdsInGeneral(column.stored as StoredColumn, cell, value as Writable);
      if (!holds) return false;
      if (cell !== defaultCell) set++;
    }
    for (const { cells, defaultCell } of this.#used) {
      if ((cells as Uint32Array)[row] !== defaultCell) set--;
    }
    return set === 0;
  }

  #column(name: string, place: number): ComparedColumn | undefined {
    const guess = this.#guesses[place];
    if (guess?.name === name) return guess;
    const column = this.#byName.get(name);
    if (column !== undefined) this.#guesses[place] = column;
    return column;
  }

  members(column: string): RowMembers {
    let members = this.#members.get(column);
    if (members === undefined) {
      const stored = this.store.column(column);
      members = new TableMembers(this.store, stored);
      this.#members.set(column, members);
    }
    return members;
  }

  row(row: number): ReplicaRow | undefined {
    return this.store.uuids[row] === 0 ? undefined : this.#table.view(row);
  }
}

/**
 * So many questions are answered by looking through a set, more than one transaction gives rise to; then every member of
 * the whole column is marked with the row that holds it.
 */
const FEW = 4096;

/** The mark of a row that is in several sets. */
const SEVERAL = 0xffff_ffff;

class TableMembers implements RowMembers {
  readonly #store: TableStore;
  readonly #column: StoredColumn | undefined;
  #asked = 0;
  /** By the id of a member's UUID: the row in whose set it is. */
  #marks: Uint32Array | undefined;

  constructor(store: TableStore, column: StoredColumn | undefined) {
    this.#store = store;
    this.#column = column?.codec.kind === 'set' ? column : undefined;
  }

  includes(holder: number, members: RowComparer, member: number): boolean {
    const column = this.#column;
    if (column === undefined || !(members instanceof TableComparer)) return false;
    const id = members.store.uuids[member] as number;
    if (this.#marks === undefined && ++this.#asked > FEW) this.#marks = this.#markAll(column);
    const mark = this.#marks?.[id] ?? SEVERAL;
    if (mark !== SEVERAL) return mark === holder;
    return column.codec.position(this.#cell(column, holder), id) !== -1;
  }

  #markAll(column: StoredColumn): Uint32Array {
    const { sequences } = column.codec;
    const marks = new Uint32Array(this.#store.pools.uuids.top);
    for (let holder = 1; holder < this.#store.top; holder++) {
      const cell = this.#cell(column, holder);
      const length = sequences.length(cell);
      if (length === 0) continue;
      const words = sequences.words(cell);
      const offset = sequences.offset(cell);
      for (let i = 0; i < length; i++) {
        const id = words[offset + i] as number;
        marks[id] = marks[id] === 0 ? holder : SEVERAL;
      }
    }
    return marks;
  }

  #cell({ cells, codec }: StoredColumn, holder: number): number {
    return cells === undefined ? codec.defaultCell : (cells[holder] as number);
  }

  size(holder: number): number {
    const column = this.#column;
    return column === undefined ? 0 : column.codec.size(this.#cell(column, holder));
  }
}
