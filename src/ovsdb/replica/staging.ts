import { OvsdbError, syntaxError } from '../error.ts';
import { grown } from '../storage/id-table.ts';
import type { TableStore } from '../storage/table-store.ts';
import type { Turn, Work } from '../turn.ts';
import type { ReplicaTable } from './replica-table.ts';

/** Kinds of a staged row. */
export const INSERT = 1;
/** Cells are differences. */
export const MODIFY = 2;
export const DELETE = 3;
/** Cells are the new values; columns not named have their default. */
export const REPLACE = 4;

const NO_WORDS = new Uint32Array();

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
  /** Column and cell pairs of the row being read. */
  readonly #row: Uint32Array;
  #rowLength = 0;
  readonly #defaults: Uint32Array;
  readonly #full: Uint32Array;
  /** Positions of this message's rows, to find one that is named twice. */
  #byUuid: Map<number, number> | undefined = new Map();

  constructor(table: ReplicaTable, mode: StagingMode) {
    this.table = table;
    this.#mode = mode;
    const { store } = table;
    this.#row = new Uint32Array(store.columns.length * 2);
    if (mode === 'contents') {
      if (store.size === 0) this.fresh = store.draft();
      else this.#seen = new Uint8Array(store.top);
    }
    this.#defaults =
      mode === 'contents'
        ? Uint32Array.from(store.columns, (column) => column.codec.defaultCell)
        : NO_WORDS;
    this.#full = new Uint32Array(this.#defaults.length);
  }

  get count(): number {
    return this.#count;
  }

  beginRow(): void {
    this.#rowLength = 0;
  }

  /** A column of the row being read; of one named twice the last counts. */
  addCell(position: number, cell: number): void {
    for (let i = 0; i < this.#rowLength; i += 2) {
      if (this.#row[i] === position) {
        this.#row[i + 1] = cell;
        return;
      }
    }
    this.#row[this.#rowLength++] = position;
    this.#row[this.#rowLength++] = cell;
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
    (this.#seen as Uint8Array)[slot] = 1;
    this.#full.set(this.#defaults);
    for (let i = 0; i < this.#rowLength; i += 2) {
      this.#full[this.#row[i] as number] = this.#row[i + 1] as number;
    }
    for (let position = 0; position < this.#full.length; position++) {
      if (store.cell(slot, position) !== this.#full[position]) {
        this.endRow(REPLACE, uuid);
        return;
      }
    }
  }

  #fill(store: TableStore, uuid: number): void {
    // Of members given twice the last one counts.
    const existing = store.slotOf(uuid);
    if (existing !== 0) store.delete(existing);
    const slot = store.insert(uuid);
    for (let i = 0; i < this.#rowLength; i += 2) {
      store.set(slot, this.#row[i] as number, this.#row[i + 1] as number);
    }
    store.finish(slot);
  }

  /** Ends a row that is staged as it is. */
  endRow(kind: number, uuid: number): void {
    const needed = this.#length + 3 + this.#rowLength;
    if (needed > this.#words.length) this.#words = grown(this.#words, needed);
    const earlier = this.#byUuid?.get(uuid);
    if (earlier !== undefined) {
      // Of members given twice the last one counts.
      this.#words[earlier] = 0;
      this.#count--;
    }
    this.#byUuid?.set(uuid, this.#length);
    this.#words[this.#length++] = kind;
    this.#words[this.#length++] = uuid;
    this.#words[this.#length++] = this.#rowLength / 2;
    for (let i = 0; i < this.#rowLength; i++) this.#words[this.#length++] = this.#row[i] as number;
    this.#count++;
  }

  /** Ends the table: with complete contents, rows that were not named are to be deleted. */
  *finish(turn: Turn): Work {
    this.#byUuid = undefined;
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
      row.from = at + 3;
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
      if (row.kind === MODIFY) this.#applyDifferences(slot, row);
      if (turn.isOver()) yield;
    }
  }

  /** Turns differences into new values, so that showing them can't fail any more. */
  #applyDifferences(slot: number, { words, from, to }: StagedRow): void {
    const { store } = this.table;
    for (let i = from; i < to; i += 2) {
      const position = words[i] as number;
      const { codec } = store.columns[position] as (typeof store.columns)[number];
      words[i + 1] = codec.apply(store.cell(slot, position), words[i + 1] as number);
    }
  }

  fail(details: string): never {
    throw syntaxError(`table ${this.table.name}: ${details}`);
  }
}
