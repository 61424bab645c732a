import type { TableSchema } from '../data/schema.ts';
import type { ColumnCodec } from './column-codec.ts';
import { grown, IdTable } from './id-table.ts';
import type { Pools } from './pools.ts';

/** One column of a table: a cell for each slot, or nothing at all while every row has the default. */
export interface StoredColumn {
  readonly name: string;
  readonly position: number;
  readonly codec: ColumnCodec;
  readonly followers: CellFollower[];
  cells: Uint32Array | undefined;
}

/** Something that follows the cells of one column: called before a cell becomes another one. A new row has the default. */
export interface CellFollower {
  changed(slot: number, before: number, after: number): void;
}

/** Something that follows the rows of a table: called before a row's cells change and after. */
export interface RowFollower {
  /** Positions of the columns it looks at. */
  readonly columns: ReadonlySet<number>;
  added(slot: number): void;
  removing(slot: number): void;
}

/** Where a row is: a slot, and how often that was freed before. */
interface RowPlace {
  readonly store: TableStore;
  readonly slot: number;
  readonly generation: number;
}

/** The generation of every slot of a store that was replaced. */
const REPLACED = 0xffff_ffff;

const hashId = (id: number): number => {
  const hash = Math.imul(id, 0x9e3779b1);
  return (hash ^ (hash >>> 15)) >>> 0;
};

/** Rows of one table, column by column. A row is a slot; slot 0 is none. */
export class TableStore {
  readonly schema: TableSchema;
  readonly pools: Pools;
  readonly columns: readonly StoredColumn[];
  readonly #positions: ReadonlyMap<string, number>;
  readonly #slots = new IdTable();
  readonly #followers: RowFollower[] = [];
  /** UUID of each slot; 0 when the slot is free. */
  uuids: Uint32Array = new Uint32Array(16);
  /** Counts how often a slot was freed, so that a view of a deleted row notices. */
  #generations: Uint32Array | undefined;
  /** What took its place when the schema changed (nothing: the table is gone), and the generations until then. */
  #replaced:
    | { readonly by: TableStore | undefined; readonly generations: Uint32Array | undefined }
    | undefined;
  #top = 1;
  readonly #free: number[] = [];

  constructor(schema: TableSchema, pools: Pools) {
    this.schema = schema;
    this.pools = pools;
    this.columns = [...schema.columns.values()].map((column, position) => ({
      name: column.name,
      position,
      codec: pools.column(column.type),
      followers: [],
      cells: undefined,
    }));
    this.#positions = new Map(this.columns.map((column) => [column.name, column.position]));
  }

  get size(): number {
    return this.#top - 1 - this.#free.length;
  }

  /** Slots are below this number. */
  get top(): number {
    return this.#top;
  }

  column(name: string): StoredColumn | undefined {
    const position = this.#positions.get(name);
    return position === undefined ? undefined : this.columns[position];
  }

  /** The slot of a row, or 0. */
  slotOf(uuid: number): number {
    const { slots, mask } = this.#slots;
    const hash = hashId(uuid);
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const slot = slots[at * 2] as number;
      if (slot === 0 || (slots[at * 2 + 1] === hash && this.uuids[slot] === uuid)) return slot;
    }
  }

  generation(slot: number): number {
    return this.#generations === undefined ? 0 : (this.#generations[slot] ?? 0);
  }

  /** The generation of what is in a slot; of a store that was replaced, until then. */
  lastGeneration(slot: number): number {
    const generations =
      this.#replaced === undefined ? this.#generations : this.#replaced.generations;
    return generations?.[slot] ?? 0;
  }

  /** Another store, with other pools, has the rows from now on; undefined: none. Views of rows notice by the generations. */
  replace(by: TableStore | undefined): void {
    this.#replaced = { by, generations: this.#generations };
    this.#generations = new Uint32Array(this.#top).fill(REPLACED);
  }

  /** Where a row of this generation of a slot is since the store was replaced; undefined when it is gone. */
  successor(slot: number, generation: number): RowPlace | undefined {
    if (this.#replaced === undefined) return undefined;
    const { by, generations } = this.#replaced;
    if (by === undefined || (generations?.[slot] ?? 0) !== generation) return undefined;
    const uuid = by.pools.uuids.find(this.pools.uuids.atom(this.uuids[slot] as number));
    const now = uuid > 0 ? by.slotOf(uuid) : 0;
    if (now === 0) return undefined;
    // Replaced in its turn: the generation that leads on from there.
    return { store: by, slot: now, generation: by.lastGeneration(now) };
  }

  cell(slot: number, position: number): number {
    const column = this.columns[position] as StoredColumn;
    return column.cells === undefined ? column.codec.defaultCell : (column.cells[slot] as number);
  }

  /** A new row with every column at its default. `finish` notifies followers. */
  insert(uuid: number): number {
    const slot = this.#free.pop() ?? this.#top++;
    if (slot >= this.uuids.length) this.#grow(slot + 1);
    this.uuids[slot] = uuid;
    this.pools.uuids.retain(uuid);
    this.#slots.add(slot, hashId(uuid));
    return slot;
  }

  #grow(atLeast: number): void {
    this.uuids = grown(this.uuids, atLeast);
    const { length } = this.uuids;
    for (const column of this.columns) {
      if (column.cells === undefined) continue;
      const from = column.cells.length;
      column.cells = grown(column.cells, length);
      if (column.codec.defaultCell !== 0) column.cells.fill(column.codec.defaultCell, from);
    }
    if (this.#generations !== undefined) this.#generations = grown(this.#generations, length);
  }

  /** Overwrites a cell. Followers of the column must have been notified by `begin`. */
  set(slot: number, position: number, cell: number): void {
    const column = this.columns[position] as StoredColumn;
    const { codec } = column;
    if (column.cells === undefined) {
      if (cell === codec.defaultCell) return;
      column.cells = new Uint32Array(this.uuids.length);
      if (codec.defaultCell !== 0) column.cells.fill(codec.defaultCell);
    }
    const before = column.cells[slot] as number;
    if (before === cell) return;
    for (const follower of column.followers) follower.changed(slot, before, cell);
    column.cells[slot] = cell;
    if (cell !== codec.defaultCell) codec.retain(cell);
    if (before !== codec.defaultCell) codec.release(before);
  }

  /** Before a row with these columns changes; all columns when it is to be deleted. */
  begin(slot: number, columns?: ReadonlySet<number>): void {
    for (const follower of this.#followers) {
      if (columns === undefined || !columns.isDisjointFrom(follower.columns))
        follower.removing(slot);
    }
  }

  /** After it did. */
  finish(slot: number, columns?: ReadonlySet<number>): void {
    for (const follower of this.#followers) {
      if (columns === undefined || !columns.isDisjointFrom(follower.columns)) follower.added(slot);
    }
  }

  get hasFollowers(): boolean {
    return this.#followers.length > 0;
  }

  delete(slot: number): void {
    this.begin(slot);
    for (const { cells, position, codec } of this.columns)
      if (cells !== undefined) this.set(slot, position, codec.defaultCell);
    const uuid = this.uuids[slot] as number;
    this.#slots.remove(slot, hashId(uuid));
    this.uuids[slot] = 0;
    this.pools.uuids.release(uuid);
    this.#generations ??= new Uint32Array(this.uuids.length);
    this.#generations[slot] = (this.#generations[slot] as number) + 1;
    this.#free.push(slot);
  }

  /** Releases what the rows refer to; the store must not be used afterwards. */
  dispose(): void {
    for (const { cells = new Uint32Array(), codec } of this.columns) {
      for (const slot of this.slots()) {
        const cell = cells[slot] ?? codec.defaultCell;
        if (cell !== codec.defaultCell) codec.release(cell);
      }
    }
    for (const slot of this.slots()) this.pools.uuids.release(this.uuids[slot] as number);
  }

  /** Lets something that is still empty follow the rows, beginning with those that are there. */
  follow(follower: RowFollower): void {
    this.#followers.push(follower);
    for (const slot of this.slots()) follower.added(slot);
  }

  /** Lets something that is still empty follow a column. */
  followCells({ position, followers }: StoredColumn, follower: CellFollower): void {
    followers.push(follower);
    for (const slot of this.slots()) follower.changed(slot, 0, this.cell(slot, position));
  }

  *slots(): Generator<number> {
    for (let slot = 1; slot < this.#top; slot++) {
      if (this.uuids[slot] !== 0) yield slot;
    }
  }
}
