import type { TableSchema } from '../schema.ts';
import type { ColumnCodec } from './column-codec.ts';
import { grown, IdTable } from './id-table.ts';
import type { Pools } from './pools.ts';

/** One column of a table: a cell for each slot, or nothing at all while every row has the default. */
export interface StoredColumn {
  readonly name: string;
  readonly position: number;
  readonly codec: ColumnCodec;
  cells: Uint32Array | undefined;
}

/** Something that follows the rows of a table: called before a row's cells change and after. */
export interface RowFollower {
  /** Positions of the columns it looks at. */
  readonly columns: ReadonlySet<number>;
  added(slot: number): void;
  removing(slot: number): void;
}

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
  readonly #slots: IdTable;
  readonly #followers: RowFollower[] = [];
  /** UUID of each slot; 0 when the slot is free. */
  uuids: Uint32Array = new Uint32Array(16);
  /** Counts how often a slot was given up, so that a view of a deleted row notices. */
  #generations: Uint32Array | undefined;
  #top = 1;
  #free: number[] = [];
  /** Grows with each change of the table. */
  sequence = 0;

  constructor(schema: TableSchema, pools: Pools) {
    this.schema = schema;
    this.pools = pools;
    this.columns = [...schema.columns.values()].map((column, position) => ({
      name: column.name,
      position,
      codec: pools.column(column.type),
      cells: undefined,
    }));
    this.#positions = new Map(this.columns.map((column) => [column.name, column.position]));
    this.#slots = new IdTable((slot) => hashId(this.uuids[slot] as number));
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
    for (let at = hashId(uuid) & mask; ; at = (at + 1) & mask) {
      const slot = slots[at] as number;
      if (slot === 0 || this.uuids[slot] === uuid) return slot;
    }
  }

  generation(slot: number): number {
    return this.#generations === undefined ? 0 : (this.#generations[slot] ?? 0);
  }

  cell(slot: number, position: number): number {
    const column = this.columns[position] as StoredColumn;
    return column.cells === undefined ? column.codec.defaultCell : (column.cells[slot] as number);
  }

  /** A new row with every column at its default. Followers are told by `finish`. */
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

  /** Overwrites a cell. Followers of the column must have been told by `begin`. */
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
    for (const column of this.columns) this.set(slot, column.position, column.codec.defaultCell);
    const uuid = this.uuids[slot] as number;
    this.#slots.remove(slot, hashId(uuid));
    this.uuids[slot] = 0;
    this.pools.uuids.release(uuid);
    this.#generations ??= new Uint32Array(this.uuids.length);
    this.#generations[slot] = (this.#generations[slot] as number) + 1;
    this.#free.push(slot);
  }

  /** Lets something follow the rows, beginning with those that are there. */
  follow(follower: RowFollower): void {
    this.#followers.push(follower);
    for (let slot = 1; slot < this.#top; slot++) {
      if (this.uuids[slot] !== 0) follower.added(slot);
    }
  }

  *slots(): Generator<number> {
    for (let slot = 1; slot < this.#top; slot++) {
      if (this.uuids[slot] !== 0) yield slot;
    }
  }

  /** Gives back everything that the rows hold. The store is not to be used afterwards. */
  dispose(): void {
    for (let slot = 1; slot < this.#top; slot++) {
      const uuid = this.uuids[slot] as number;
      if (uuid !== 0) this.pools.uuids.release(uuid);
    }
    for (const { cells, codec } of this.columns) {
      if (cells !== undefined) {
        for (let slot = 1; slot < this.#top; slot++) {
          const cell = cells[slot] as number;
          if (cell !== codec.defaultCell) codec.release(cell);
        }
      }
      codec.release(codec.defaultCell);
    }
  }
}
