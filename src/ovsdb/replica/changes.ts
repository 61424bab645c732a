import type { RowChange, TableChanges } from './replica-view.ts';
import type { StoredColumn, TableStore } from '../storage/table-store.ts';
import { uuidText } from '../storage/uuid-pool.ts';
import type { Turn, Work } from '../turn.ts';
import type { Datum } from '../data/value.ts';

const NOTHING: ReadonlyMap<string, Datum> = new Map();

/** Old values by the position of their column: known already, or not held by the cells. */
export type KnownValues = ReadonlyMap<number, Datum>;

export interface CountedChanges extends TableChanges {
  readonly size: number;
}

/** What one message did to one table, row by row. */
export class CollectedChanges implements CountedChanges {
  readonly table: string;
  readonly #appeared: RowChange[] = [];
  readonly #others: RowChange[] = [];
  #rows: readonly RowChange[] | undefined;

  constructor(table: string) {
    this.table = table;
  }

  inserted(store: TableStore, uuid: number): void {
    this.#appeared.push({ kind: 'inserted', uuid: store.pools.uuids.text(uuid), old: NOTHING });
  }

  /** To be called before the change; `changed` are columns, each followed by its new cell. */
  modified(store: TableStore, slot: number, changed: readonly number[], known?: KnownValues): void {
    const old = new Map<string, Datum>();
    for (let i = 0; i < changed.length; i += 2) {
      const column = store.columns[changed[i] as number] as StoredColumn;
      old.set(column.name, valueOf(store, slot, column, known));
    }
    this.#others.push({ kind: 'modified', uuid: uuidOf(store, slot), old });
  }

  /** To be called before the row goes. */
  deleted(store: TableStore, slot: number, known?: KnownValues): void {
    const old = new Map<string, Datum>();
    for (const column of store.columns) old.set(column.name, valueOf(store, slot, column, known));
    this.#others.push({ kind: 'deleted', uuid: uuidOf(store, slot), old });
  }

  get size(): number {
    return this.#appeared.length + this.#others.length;
  }

  /** Rows that appeared, then those that changed or went. */
  get rows(): readonly RowChange[] {
    this.#rows ??= this.#appeared.concat(this.#others);
    return this.#rows;
  }
}

function valueOf(
  store: TableStore,
  slot: number,
  { position, codec }: StoredColumn,
  known: KnownValues | undefined,
): Datum {
  return known?.has(position) === true
    ? known.get(position)
    : codec.datum(store.cell(slot, position));
}

/**
 * The long values among a row's cells (of all columns when no positions are given), decoded in pieces, beside what is known already; undefined when
 * there is nothing to know.
 */
export function* longValues(
  store: TableStore,
  slot: number,
  positions: readonly number[] | undefined,
  known: KnownValues | undefined,
  turn: Turn,
): Work<KnownValues | undefined> {
  if (!store.pools.hasLong) return known;
  let result: Map<number, Datum> | undefined;
  for (const { position, codec } of store.columns) {
    const cell = store.cell(slot, position);
    if (!codec.isLong(cell) || known?.has(position) === true) continue;
    if (positions?.includes(position) === false) continue;
    result ??= new Map(known);
    result.set(position, yield* codec.datumInPieces(cell, turn));
  }
  return result ?? known;
}

const uuidOf = (store: TableStore, slot: number) =>
  store.pools.uuids.text(store.uuids[slot] as number);

/**
 * The rows of a table that was empty: kept as numbers until somebody asks for them, so that loading a large database costs
 * little to those who do not.
 */
export class FreshRows implements CountedChanges {
  readonly table: string;
  readonly #words: Uint32Array;
  #rows: readonly RowChange[] | undefined;

  private constructor(table: string, words: Uint32Array) {
    this.table = table;
    this.#words = words;
  }

  static *of(store: TableStore, turn: Turn): Work<FreshRows> {
    const words = new Uint32Array(store.size * 4);
    let at = 0;
    for (const slot of store.slots()) {
      store.pools.uuids.copyWords(store.uuids[slot] as number, words, at);
      at += 4;
      if (turn.isOver()) yield;
    }
    return new FreshRows(store.schema.name, words);
  }

  get size(): number {
    return this.#words.length / 4;
  }

  get rows(): readonly RowChange[] {
    if (this.#rows === undefined) {
      const rows: RowChange[] = [];
      for (let at = 0; at < this.#words.length; at += 4) {
        rows.push({ kind: 'inserted', uuid: uuidText(this.#words, at), old: NOTHING });
      }
      this.#rows = rows;
    }
    return this.#rows;
  }
}
