import type { TableSchema } from '../data/schema.ts';
import type { ColumnCodec } from './column-codec.ts';
import { grown, IdTable } from './id-table.ts';
import type { Turn, Work } from '../turn.ts';
import type { Pools } from './pools.ts';

/** One column of a table: a cell for each slot, or nothing at all while every row has the default. */
export interface StoredColumn {
  readonly name: string;
  readonly position: number;
  readonly codec: ColumnCodec;
  cells: Uint32Array | undefined;
  /** Of a draft: the cells that are shown meanwhile, and that `cells` are themselves until one of them changes. */
  readonly shown: Uint32Array | undefined;
}

/** Something that follows the rows of a table: called before a row's cells change and after. */
export interface RowFollower {
  /** Positions of the columns it looks at. */
  readonly columns: ReadonlySet<number>;
  added(slot: number): void;
  removing(slot: number): void;
  /** Does in pieces what was put off, when it is about so many rows. */
  settling?(turn: Turn, atLeast: number): Work;
  /** The same for a draft of the table. */
  draft(store: TableStore): FollowerDraft;
}

export interface FollowerDraft {
  readonly follower: RowFollower;
  /** Makes the one that was drafted as this one is, which is not to be used afterwards. */
  show(): void;
}

/** Where a row is: a slot, and how often it was given up before. */
interface RowPlace {
  readonly store: TableStore;
  readonly slot: number;
  readonly generation: number;
}

/** Slots looked at between two questions whether the turn is over. */
const SLOTS_AT_ONCE = 1024;

/** Rows from which on followers do what they put off without being asked. */
const MANY_ROWS = 1024;

/** The generation of every slot of a store that was replaced. */
const REPLACED = 0xffff_ffff;

const hashId = (id: number): number => {
  const hash = Math.imul(id, 0x9e3779b1);
  return (hash ^ (hash >>> 15)) >>> 0;
};

/**
 * Rows of one table, column by column. A row is a slot; slot 0 is none. A draft of a store is changed out of sight and
 * then shown at once; it shares with the store what it does not change.
 */
export class TableStore {
  readonly schema: TableSchema;
  readonly pools: Pools;
  readonly columns: readonly StoredColumn[];
  readonly #positions: ReadonlyMap<string, number>;
  #slots: IdTable;
  readonly #followers: RowFollower[] = [];
  /** The draft that is under way. */
  #draft: TableStore | undefined;
  /** Of a draft: UUIDs of the slots that are shown meanwhile. */
  readonly #shownUuids: Uint32Array | undefined;
  readonly #drafted: FollowerDraft[] = [];
  /** Of a draft: which rows there are is still what is shown. */
  #sharesRows: boolean;
  /** Where `settle` goes on. */
  #settled = { column: -1, slot: 1 };
  /** UUID of each slot; 0 when the slot is free. */
  uuids: Uint32Array = new Uint32Array(16);
  /** Counts how often a slot was given up, so that a view of a deleted row notices. */
  #generations: Uint32Array | undefined;
  /** What took its place when the schema changed (nothing: the table is gone), and the generations until then. */
  #replaced:
    | { readonly by: TableStore | undefined; readonly generations: Uint32Array | undefined }
    | undefined;
  #top = 1;
  #free: number[] = [];

  /** `shown`: the store that this is a draft of. */
  constructor(schema: TableSchema, pools: Pools, shown?: TableStore) {
    this.schema = schema;
    this.pools = pools;
    this.#sharesRows = shown !== undefined;
    if (shown === undefined) {
      this.columns = [...schema.columns.values()].map((column, position) => ({
        name: column.name,
        position,
        codec: pools.column(column.type),
        cells: undefined,
        shown: undefined,
      }));
      this.#positions = new Map(this.columns.map((column) => [column.name, column.position]));
      this.#slots = new IdTable();
      return;
    }
    this.columns = shown.columns.map((column) => ({ ...column, shown: column.cells }));
    this.#positions = shown.#positions;
    this.#slots = shown.#slots;
    this.uuids = shown.uuids;
    this.#shownUuids = shown.uuids;
    this.#generations = shown.#generations;
    this.#top = shown.#top;
    this.#free = shown.#free;
    for (const follower of shown.#followers) this.#join(follower.draft(this));
  }

  #join(drafted: FollowerDraft): void {
    this.#drafted.push(drafted);
    this.#followers.push(drafted.follower);
  }

  /** A copy to be changed out of sight. Then `show` it, or give it up (`undraft`), and in any case `settle` it. */
  draft(): TableStore {
    this.#draft = new TableStore(this.schema, this.pools, this);
    return this.#draft;
  }

  /** The draft will not be shown. */
  undraft(): void {
    this.#draft = undefined;
  }

  /** Shows a draft of this store, in a time that does not depend on its size. */
  show(draft: TableStore): void {
    this.#draft = undefined;
    if (!draft.#sharesRows) {
      this.#slots = draft.#slots;
      this.uuids = draft.uuids;
      this.#generations = draft.#generations;
      this.#top = draft.#top;
      this.#free = draft.#free;
    }
    for (const column of this.columns) column.cells = draft.columns[column.position]?.cells;
    for (const drafted of draft.#drafted) drafted.show();
  }

  /**
   * Of a draft that was shown: gives back what only the former rows held. Of one that was not: what only its own rows hold. The store that
   * it is a draft of must not have changed since. False when the turn ended first: call it again.
   */
  settle(isShown: boolean, turn: Turn): boolean {
    const at = this.#settled;
    for (; at.column < this.columns.length; at.column++) {
      const column = this.columns[at.column];
      const [drafted, shown] =
        column === undefined ? [this.uuids, this.#shownUuids] : [column.cells, column.shown];
      const [lost, kept] = isShown ? [shown, drafted] : [drafted, shown];
      if (lost !== undefined && lost !== kept) {
        const codec = column?.codec ?? this.pools.uuids;
        const unset = column?.codec.defaultCell ?? 0;
        while (at.slot < lost.length) {
          const end = Math.min(lost.length, at.slot + SLOTS_AT_ONCE);
          for (let slot = at.slot; slot < end; slot++) {
            const cell = lost[slot] as number;
            if (cell !== unset && cell !== kept?.[slot]) codec.release(cell);
          }
          at.slot = end;
          if (turn.isOver()) return false;
        }
      }
      at.slot = 1;
    }
    return true;
  }

  /** Before rows of a draft come or go. */
  #ownRows(): void {
    this.#sharesRows = false;
    this.uuids = this.uuids.slice();
    this.#slots = this.#slots.copy();
    this.#generations = this.#generations?.slice();
    this.#free = [...this.#free];
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
    const uuid = by.pools.uuids.find(this.pools.uuids.text(this.uuids[slot] as number));
    const now = uuid > 0 ? by.slotOf(uuid) : 0;
    if (now === 0) return undefined;
    // Replaced in its turn: the generation that leads on from there.
    return { store: by, slot: now, generation: by.lastGeneration(now) };
  }

  cell(slot: number, position: number): number {
    const column = this.columns[position] as StoredColumn;
    return column.cells === undefined ? column.codec.defaultCell : (column.cells[slot] as number);
  }

  /** A new row with every column at its default. Followers are told by `finish`. */
  insert(uuid: number): number {
    if (this.#sharesRows) this.#ownRows();
    const slot = this.#free.pop() ?? this.#top++;
    if (slot >= this.uuids.length) this.#grow(slot + 1);
    this.uuids[slot] = uuid;
    // What the shown rows hold is given back by `settle` alone, and then only what differs.
    if (uuid !== this.#shownUuids?.[slot]) this.pools.uuids.retain(uuid);
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
    const { codec, shown } = column;
    if (column.cells === undefined) {
      if (cell === codec.defaultCell) return;
      column.cells = new Uint32Array(this.uuids.length);
      if (codec.defaultCell !== 0) column.cells.fill(codec.defaultCell);
    }
    const before = column.cells[slot] as number;
    if (before === cell) return;
    let held = codec.defaultCell;
    if (shown !== undefined) {
      if (column.cells === shown) column.cells = shown.slice();
      held = shown[slot] ?? held;
    }
    column.cells[slot] = cell;
    // What the shown rows hold is given back by `settle` alone, and then only what differs.
    if (cell !== codec.defaultCell && cell !== held) codec.retain(cell);
    if (before !== codec.defaultCell && before !== held) codec.release(before);
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

  /** Lets followers do what they put off, when it is about very many rows. */
  *settleFollowers(turn: Turn): Work {
    for (const follower of this.#followers) {
      if (follower.settling !== undefined) yield* follower.settling(turn, MANY_ROWS);
    }
  }

  delete(slot: number): void {
    if (this.#sharesRows) this.#ownRows();
    this.begin(slot);
    for (const column of this.columns) this.set(slot, column.position, column.codec.defaultCell);
    const uuid = this.uuids[slot] as number;
    this.#slots.remove(slot, hashId(uuid));
    this.uuids[slot] = 0;
    if (uuid !== this.#shownUuids?.[slot]) this.pools.uuids.release(uuid);
    this.#generations ??= new Uint32Array(this.uuids.length);
    this.#generations[slot] = (this.#generations[slot] as number) + 1;
    this.#free.push(slot);
  }

  /** Lets something that is still empty follow the rows, beginning with those that are there. */
  follow(follower: RowFollower): void {
    if (this.#draft !== undefined) {
      const drafted = follower.draft(this.#draft);
      this.#draft.#join(drafted);
      this.#draft.#tellAll(drafted.follower);
    }
    this.#followers.push(follower);
    this.#tellAll(follower);
  }

  #tellAll(follower: RowFollower): void {
    for (let slot = 1; slot < this.#top; slot++) {
      if (this.uuids[slot] !== 0) follower.added(slot);
    }
  }

  *slots(): Generator<number> {
    for (let slot = 1; slot < this.#top; slot++) {
      if (this.uuids[slot] !== 0) yield slot;
    }
  }
}
