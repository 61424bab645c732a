import { OvsdbError, syntaxError } from '../data/error.ts';
import type { StoredColumn, TableStore } from '../storage/table-store.ts';
import { CollectedChanges } from './changes.ts';
import type { ReplicaTable } from './replica-table.ts';

/** What happens to a row. `modify`: its cells are differences; `replace`: they are the new values, columns that are not named have their default. */
export type RowKind = 'insert' | 'modify' | 'delete' | 'replace';

/** `contents`: everything there is, rows that are not named are gone. */
export type StagingMode = 'changes' | 'contents';

/** A row of a message. */
interface StagedRow {
  readonly kind: RowKind;
  readonly uuid: number;
  /** Columns, each followed by its cell. */
  readonly cells: number[];
}

const NO_CELLS: number[] = [];

/**
 * Rows of one table from one message, read but not yet applied: they are not visible until the whole message is in.
 * Complete contents of a table that has rows are compared at once, and only what differs is kept.
 */
export class StagedTable {
  readonly table: ReplicaTable;
  readonly #mode: StagingMode;
  /** By UUID: of a row that is named twice the last one counts. */
  readonly #rows = new Map<number, StagedRow>();
  /** Complete contents of a table that was empty: filled directly, and shown in its place. */
  readonly fresh: ReplicaTable | undefined;
  /** Rows that the contents have named, by slot. */
  readonly #seen: Uint8Array | undefined;
  /** The row that is being read. */
  #cells: number[] = [];

  constructor(table: ReplicaTable, mode: StagingMode) {
    this.table = table;
    this.#mode = mode;
    if (mode === 'changes') return;
    if (table.size === 0) this.fresh = table.empty();
    else this.#seen = new Uint8Array(table.store.top);
  }

  beginRow(): void {
    this.#cells.length = 0;
  }

  /** A column of the row being read; of one named twice the last counts. */
  addCell(position: number, cell: number): void {
    const cells = this.#cells;
    for (let i = 0; i < cells.length; i += 2) {
      if (cells[i] === position) {
        cells[i + 1] = cell;
        return;
      }
    }
    cells.push(position, cell);
  }

  /** Ends the row being read. */
  endRow(kind: RowKind, uuid: number): void {
    if (this.#mode === 'changes' || kind === 'modify' || kind === 'delete') this.#stage(kind, uuid);
    else if (this.fresh !== undefined) fill(this.fresh.store, uuid, this.#cells);
    else this.#compare(uuid);
  }

  #stage(kind: RowKind, uuid: number): void {
    this.#rows.delete(uuid);
    const cells = this.#cells;
    if (cells.length > 0) this.#cells = [];
    this.#rows.set(uuid, { kind, uuid, cells: cells.length > 0 ? cells : NO_CELLS });
  }

  /** Stages a row of complete contents, unless it is there as it is. */
  #compare(uuid: number): void {
    const { store } = this.table;
    const slot = store.slotOf(uuid);
    this.#rows.delete(uuid);
    if (slot === 0) {
      this.#stage('insert', uuid);
      return;
    }
    (this.#seen as Uint8Array)[slot] = 1;
    if (this.table.unexpressed.has(slot) || differs(store, slot, this.#cells))
      this.#stage('replace', uuid);
  }

  /** The table is named again: nothing of what was staged counts. */
  restart(): void {
    if (this.fresh !== undefined)
      for (const slot of this.fresh.store.slots()) this.fresh.store.delete(slot);
    this.#seen?.fill(0);
    this.#rows.clear();
  }

  /** Ends the table: with complete contents, rows that were not named are to be deleted. */
  finish(): void {
    if (this.#seen === undefined) return;
    const { store } = this.table;
    for (const slot of store.slots()) {
      const uuid = store.uuids[slot] as number;
      if (this.#seen[slot] === 0) this.#rows.set(uuid, { kind: 'delete', uuid, cells: NO_CELLS });
    }
  }

  /** Throws `inconsistent` unless every row fits what the table holds; turns differences into new values, so that `apply` can't fail. */
  prepare(): void {
    const { store, name } = this.table;
    for (const { kind, uuid, cells } of this.#rows.values()) {
      const slot = store.slotOf(uuid);
      if ((kind === 'insert') === (slot === 0)) {
        if (kind === 'modify') prepareRow(store, slot, cells);
        continue;
      }
      const what =
        kind === 'insert' ? 'is inserted but is already there' : 'changes but is not there';
      throw new OvsdbError('inconsistent', `${name} ${store.pools.uuids.atom(uuid)} ${what}`);
    }
  }

  /** Applies the rows. Returns what changed, with the rows when there are subscribers; undefined when nothing changed. */
  apply(isWanted: boolean): CollectedChanges | undefined {
    const { table } = this;
    const collected = new CollectedChanges(table);
    if (this.fresh !== undefined) {
      const { store, size } = this.fresh;
      if (isWanted)
        for (const slot of store.slots()) collected.inserted(store.uuids[slot] as number);
      return size === 0 ? undefined : collected;
    }
    let isChanged = false;
    for (const row of this.#rows.values()) {
      const changed = changedCells(table, row);
      if (changed === undefined) continue;
      isChanged = true;
      if (isWanted) collect(collected, table, row, changed);
      applyRow(table.store, row, changed);
    }
    return isChanged ? collected : undefined;
  }

  fail(details: string): never {
    throw syntaxError(`table ${this.table.name}: ${details}`);
  }
}

/** Puts a row of complete contents into a table that was empty. Of a row that is named twice the last one counts. */
function fill(store: TableStore, uuid: number, cells: readonly number[]): void {
  const existing = store.slotOf(uuid);
  if (existing !== 0) store.delete(existing);
  insert(store, uuid, cells);
}

function insert(store: TableStore, uuid: number, cells: readonly number[]): void {
  const slot = store.insert(uuid);
  for (let i = 0; i < cells.length; i += 2)
    store.set(slot, cells[i] as number, cells[i + 1] as number);
  store.finish(slot);
}

/** Whether a row is not as these cells say; columns that are not named have their default. */
function differs(store: TableStore, slot: number, cells: readonly number[]): boolean {
  let set = 0;
  for (let i = 0; i < cells.length; i += 2) {
    const [position, cell] = [cells[i] as number, cells[i + 1] as number];
    if (store.cell(slot, position) !== cell) return true;
    if (cell !== store.columns[position]?.codec.defaultCell) set++;
  }
  for (const { cells: stored, codec } of store.columns)
    if (stored !== undefined && stored[slot] !== codec.defaultCell) set--;
  return set !== 0;
}

/** Turns the differences of a row into its new values. */
function prepareRow(store: TableStore, slot: number, cells: number[]): void {
  for (let i = 0; i < cells.length; i += 2) {
    const position = cells[i] as number;
    const { codec } = store.columns[position] as StoredColumn;
    cells[i + 1] = codec.apply(store.cell(slot, position), cells[i + 1] as number);
  }
}

const NONE: readonly number[] = [];

/** Columns that a staged row changes, each followed by its new cell; undefined when it changes nothing. */
function changedCells(
  { store, unexpressed }: ReplicaTable,
  { kind, uuid, cells }: StagedRow,
): readonly number[] | undefined {
  if (kind === 'insert' || kind === 'delete') return NONE;
  const slot = store.slotOf(uuid);
  const changed: number[] = [];
  for (let i = 0; i < cells.length; i += 2) {
    const [position, cell] = [cells[i] as number, cells[i + 1] as number];
    if (store.cell(slot, position) !== cell) changed.push(position, cell);
  }
  if (kind === 'replace') {
    const named = new Set(cells.filter((_word, i) => i % 2 === 0));
    for (const { position, codec } of store.columns) {
      if (!named.has(position) && store.cell(slot, position) !== codec.defaultCell)
        changed.push(position, codec.defaultCell);
    }
    // What could not be kept differs from whatever there is now.
    for (const position of unexpressed.get(slot)?.keys() ?? []) {
      if (!changed.some((word, i) => i % 2 === 0 && word === position))
        changed.push(position, store.cell(slot, position));
    }
  }
  return changed.length === 0 ? undefined : changed;
}

function applyRow(
  store: TableStore,
  { kind, uuid, cells }: StagedRow,
  changed: readonly number[],
): void {
  if (kind === 'insert') {
    insert(store, uuid, cells);
    return;
  }
  const slot = store.slotOf(uuid);
  if (kind === 'delete') {
    store.delete(slot);
    return;
  }
  const columns = store.hasFollowers
    ? new Set(changed.filter((_word, i) => i % 2 === 0))
    : undefined;
  store.begin(slot, columns);
  for (let i = 0; i < changed.length; i += 2)
    store.set(slot, changed[i] as number, changed[i + 1] as number);
  store.finish(slot, columns);
}

/** Notes what a staged row is about to change. */
function collect(
  collected: CollectedChanges,
  table: ReplicaTable,
  { kind, uuid }: StagedRow,
  changed: readonly number[],
): void {
  if (kind === 'insert') collected.inserted(uuid);
  else {
    const slot = table.store.slotOf(uuid);
    if (kind === 'delete') collected.deleted(slot);
    else if (!table.isQuiet(changed)) collected.modified(slot, changed);
  }
}
