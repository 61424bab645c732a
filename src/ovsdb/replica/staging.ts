import { OvsdbError, syntaxError } from '../data/error.ts';
import { grown } from '../storage/id-table.ts';
import type { StoredColumn, TableStore } from '../storage/table-store.ts';
import type { Turn, Work } from '../turn.ts';
import type { ReplicaTable } from './replica-table.ts';

/** Kinds of a staged row. */
export const INSERT = 1;
/** Cells are differences. */
export const MODIFY = 2;
export const DELETE = 3;
/** Cells are the new values; columns not named have their default. */
export const REPLACE = 4;

/** Words before the cells of a staged row. */
const ROW_HEAD = 3;

const NO_WORDS = new Uint32Array();

/** Column and cell pairs of the row that is being read, for all tables: one row is read at a time. */
let cells = new Uint32Array(256);

/** Room that earlier messages have given back: to allocate it anew takes longer than to read a small message. */
const spare: Uint32Array[] = [];
const SPARES = 8;
/** Words of the room that a message begins with, and of the largest that is kept for another. */
const FIRST_ROOM = 1024;
const LARGEST_SPARE = 64 * 1024;

function giveBack(words: Uint32Array): void {
  if (words.length > 0 && words.length <= LARGEST_SPARE && spare.length < SPARES) spare.push(words);
}

/** A staged row; its cells are `words[from]`, column first, then cell, up to `to`. */
export interface StagedRow {
  kind: number;
  uuid: number;
  readonly words: Uint32Array;
  from: number;
  to: number;
}

/** How a message's rows are to be taken. */
export type StagingMode =
  /** What changed. */
  | 'changes'
  /** Everything there is: rows not named are gone. */
  | 'contents';

/**
 * Rows of one table from one message, read but not yet shown: nobody sees them until the whole message is in.
 * Complete contents of a table that has rows are compared at once, and only what differs is kept.
 */
export class StagedTable {
  readonly table: ReplicaTable;
  readonly #mode: StagingMode;
  /** kind, uuid, number of cells, then column and cell of each. */
  #words: Uint32Array = NO_WORDS;
  #length = 0;
  #count = 0;
  /** Complete contents of a table that was empty: filled directly. */
  readonly fresh: TableStore | undefined;
  readonly #seen: Uint8Array | undefined;
  #rowLength = 0;
  readonly #defaults: Uint32Array;
  readonly #full: Uint32Array;
  /** Positions of this message's rows, to find one that is named twice; none before the second. */
  #byUuid: Map<number, number> | undefined;
  #firstUuid = 0;
  #isComplete = false;

  constructor(table: ReplicaTable, mode: StagingMode) {
    this.table = table;
    this.#mode = mode;
    const { store } = table;
    if (store.columns.length * 2 > cells.length) cells = new Uint32Array(store.columns.length * 4);
    if (mode === 'contents') {
      if (store.size === 0) this.fresh = store.draft();
      else this.#seen = new Uint8Array(store.top);
    }
    this.#defaults =
      mode === 'contents'
        ? Uint32Array.from(store.columns, (column) => column.codec.defaultCell)
        : NO_WORDS;
    this.#full = mode === 'contents' ? new Uint32Array(this.#defaults.length) : NO_WORDS;
  }

  get count(): number {
    return this.#count;
  }

  /** `from`: what there is of it already. */
  beginRow(from?: Uint32Array): void {
    this.#rowLength = 0;
    if (from === undefined) return;
    cells.set(from);
    this.#rowLength = from.length;
  }

  /** A copy of the row that is being read, to begin with when it is gone on with. */
  get cells(): Uint32Array {
    return cells.slice(0, this.#rowLength);
  }

  /** A column of the row being read; of one named twice the last counts. */
  addCell(position: number, cell: number): void {
    for (let i = 0; i < this.#rowLength; i += 2) {
      if (cells[i] === position) {
        cells[i + 1] = cell;
        return;
      }
    }
    cells[this.#rowLength++] = position;
    cells[this.#rowLength++] = cell;
  }

  /** Ends a row of complete contents. */
  endContents(uuid: number): void {
    if (this.fresh !== undefined) {
      this.#fill(this.fresh, uuid);
      return;
    }
    const { store } = this.table;
    const slot = store.slotOf(uuid);
    if (slot === 0) {
      this.endRow(INSERT, uuid);
      return;
    }
    const seen = this.#seen as Uint8Array;
    if (seen[slot] === 1) this.#forget(uuid);
    seen[slot] = 1;
    this.#full.set(this.#defaults);
    for (let i = 0; i < this.#rowLength; i += 2) {
      this.#full[cells[i] as number] = cells[i + 1] as number;
    }
    for (let position = 0; position < this.#full.length; position++) {
      if (store.cell(slot, position) !== this.#full[position]) {
        this.endRow(REPLACE, uuid);
        return;
      }
    }
    if (this.table.unexpressed.has(slot)) this.endRow(REPLACE, uuid);
  }

  #fill(store: TableStore, uuid: number): void {
    // Of members given twice the last one counts.
    const existing = store.slotOf(uuid);
    if (existing !== 0) store.delete(existing);
    const slot = store.insert(uuid);
    for (let i = 0; i < this.#rowLength; i += 2) {
      store.set(slot, cells[i] as number, cells[i + 1] as number);
    }
    store.finish(slot);
  }

  /** Ends a row that is staged as it is. */
  endRow(kind: number, uuid: number): void {
    const needed = this.#length + ROW_HEAD + this.#rowLength;
    if (needed > this.#words.length) this.#makeRoom(needed);
    if (!this.#isComplete) this.#note(uuid);
    this.#words[this.#length++] = kind;
    this.#words[this.#length++] = uuid;
    this.#words[this.#length++] = this.#rowLength / 2;
    for (let i = 0; i < this.#rowLength; i++) this.#words[this.#length++] = cells[i] as number;
    this.#count++;
  }

  #makeRoom(needed: number): void {
    const before = this.#words;
    if (before.length === 0 && needed <= FIRST_ROOM) {
      this.#words = spare.pop() ?? new Uint32Array(FIRST_ROOM);
    } else {
      this.#words = grown(before, Math.max(needed, before.length * 2));
      giveBack(before);
    }
  }

  /** Notes where the row is staged that comes next. */
  #note(uuid: number): void {
    if (this.#length === 0) {
      this.#firstUuid = uuid;
      return;
    }
    this.#forget(uuid);
    this.#byUuid?.set(uuid, this.#length);
  }

  /** Of members given twice the last one counts: what was staged of the first is no more. */
  #forget(uuid: number): void {
    if (this.#length === 0) return;
    const byUuid = (this.#byUuid ??= new Map([[this.#firstUuid, 0]]));
    const earlier = byUuid.get(uuid);
    if (earlier === undefined) return;
    this.#words[earlier] = 0;
    this.#count--;
    byUuid.delete(uuid);
  }

  /** The table is named again: nothing of what was staged counts. */
  restart(): void {
    for (const slot of this.fresh?.slots() ?? []) this.fresh?.delete(slot);
    this.#seen?.fill(0);
    this.#length = 0;
    this.#count = 0;
    this.#byUuid = undefined;
  }

  /** Gives the room back: the rows were applied. */
  release(): void {
    giveBack(this.#words);
    this.#words = NO_WORDS;
    this.#length = 0;
  }

  /** Ends the table: with complete contents, rows that were not named are to be deleted. */
  *finish(turn: Turn): Work {
    this.#byUuid = undefined;
    this.#isComplete = true;
    if (this.#mode === 'changes' || this.#seen === undefined) return;
    const { uuids, top } = this.table.store;
    this.#rowLength = 0;
    for (let slot = 1; slot < top; slot++) {
      if (this.#seen[slot] === 0 && uuids[slot] !== 0) this.endRow(DELETE, uuids[slot] as number);
      if (turn.isOver()) yield;
    }
  }

  /** Goes through the rows: `for (row = first(); row !== undefined; row = next(row))`. The one object is used for all of them. */
  first(): StagedRow | undefined {
    return this.next({ kind: 0, uuid: 0, words: this.#words, from: 0, to: 0 });
  }

  next(row: StagedRow): StagedRow | undefined {
    const words = this.#words;
    for (let at = row.to; at < this.#length; at = row.to) {
      row.kind = words[at] as number;
      row.uuid = words[at + 1] as number;
      row.from = at + ROW_HEAD;
      row.to = row.from + (words[at + 2] as number) * 2;
      if (row.kind !== 0) return row;
    }
    return undefined;
  }

  /** Throws `inconsistent` unless every row fits what the table holds; turns differences into new values. */
  *prepare(turn: Turn): Work {
    const { store, name } = this.table;
    const { uuids } = store.pools;
    for (let row = this.first(); row !== undefined; row = this.next(row)) {
      const slot = store.slotOf(row.uuid);
      if (row.kind === INSERT && slot !== 0) {
        throw new OvsdbError(
          'inconsistent',
          `${name} ${uuids.text(row.uuid)} is inserted but is already there`,
        );
      }
      if (row.kind !== INSERT && slot === 0) {
        throw new OvsdbError(
          'inconsistent',
          `${name} ${uuids.text(row.uuid)} changes but is not there`,
        );
      }
      // So that showing them can't fail any more.
      const end = row.kind === MODIFY ? row.to : 0;
      for (let i = row.from; i < end; i += 2) {
        const position = row.words[i] as number;
        const { codec } = store.columns[position] as StoredColumn;
        if (codec.isWhole) continue;
        const [cell, difference] = [store.cell(slot, position), row.words[i + 1] as number];
        row.words[i + 1] =
          codec.hasManyMembers(cell) || codec.hasManyMembers(difference)
            ? yield* codec.applying(cell, difference, turn)
            : codec.apply(cell, difference);
      }
      if (turn.isOver()) yield;
    }
  }

  fail(details: string): never {
    throw syntaxError(`table ${this.table.name}: ${details}`);
  }
}
