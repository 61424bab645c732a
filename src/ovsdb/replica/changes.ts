import type { Atom, Datum, Uuid } from '../data/value.ts';
import type { StoredColumn } from '../storage/table-store.ts';
import type { ReplicaTable } from './replica-table.ts';
import type { RowChange, TableChanges } from './replica-view.ts';

const NOTHING: ReadonlyMap<string, Datum> = new Map();

const isSet = ({ codec }: StoredColumn): boolean => codec.kind === 'set';

/** What one message does to one table, row by row. Each row is to be noted before it changes. */
export class CollectedChanges implements TableChanges {
  readonly #table: ReplicaTable;
  readonly #appeared: RowChange[] = [];
  readonly #others: RowChange[] = [];
  /** Of rows whose sets changed: all columns that did, with the members that came or went. */
  readonly #moved = new Map<string, ReadonlyMap<string, readonly Atom[] | undefined>>();

  constructor(table: ReplicaTable) {
    this.#table = table;
  }

  get table(): string {
    return this.#table.name;
  }

  inserted(uuid: number): void {
    const { uuids } = this.#table.store.pools;
    this.#appeared.push({ kind: 'inserted', uuid: uuids.atom(uuid), old: NOTHING });
  }

  /** `changed` are columns, each followed by its new cell. */
  modified(slot: number, changed: readonly number[]): void {
    const { store } = this.#table;
    const changing: StoredColumn[] = [];
    for (let i = 0; i < changed.length; i += 2)
      changing.push(store.columns[changed[i] as number] as StoredColumn);
    if (changing.some(isSet) && !this.#table.unexpressed.has(slot)) {
      const moved = changing.map((column, i) => {
        const before = store.cell(slot, column.position);
        const now = changed[2 * i + 1] as number;
        return [column.name, isSet(column) ? column.codec.moved(before, now) : undefined] as const;
      });
      const uuid = store.pools.uuids.atom(store.uuids[slot] as number);
      this.#moved.set(uuid, new Map(moved));
    }
    this.#note('modified', slot, changing);
  }

  moved(uuid: string, column: string): readonly Atom[] | undefined {
    return this.#moved.get(uuid)?.get(column);
  }

  columns(uuid: string): readonly string[] | undefined {
    const moved = this.#moved.get(uuid);
    return moved === undefined ? undefined : [...moved.keys()];
  }

  deleted(slot: number): void {
    this.#note('deleted', slot, this.#table.followed);
  }

  #note(kind: 'modified' | 'deleted', slot: number, columns: readonly StoredColumn[]): void {
    const { store, unexpressed } = this.#table;
    const known = unexpressed.get(slot);
    const kept: unknown[] = [];
    // Most columns of most rows have their default.
    for (const column of columns) {
      const { position, codec, cells } = column;
      const cell = cells?.[slot] ?? codec.defaultCell;
      const isKnown = known?.has(position) === true;
      if (isKnown) kept.push(column, known.get(position));
      else if (cell !== codec.defaultCell) kept.push(column, codec.later(cell));
    }
    const uuid = store.pools.uuids.atom(store.uuids[slot] as number);
    this.#others.push(new NotedChange(kind, uuid, columns, kept));
  }

  get size(): number {
    return this.#appeared.length + this.#others.length;
  }

  /** Rows that appeared, then those that changed or went. */
  get rows(): readonly RowChange[] {
    return this.#appeared.concat(this.#others);
  }
}

/** A map for each of very many rows would take longer than all else: it is made when somebody looks. */
class NotedChange implements RowChange {
  readonly kind: 'modified' | 'deleted';
  readonly uuid: Uuid;
  readonly #columns: readonly StoredColumn[];
  /** Columns without the default, each followed by its value, or by what makes the value. */
  readonly #kept: readonly unknown[];
  #old: ReadonlyMap<string, Datum> | undefined;

  constructor(
    kind: 'modified' | 'deleted',
    uuid: Uuid,
    columns: readonly StoredColumn[],
    kept: readonly unknown[],
  ) {
    this.kind = kind;
    this.uuid = uuid;
    this.#columns = columns;
    this.#kept = kept;
  }

  get old(): ReadonlyMap<string, Datum> {
    if (this.#old !== undefined) return this.#old;
    const old = new Map(
      this.#columns.map(({ name, codec }) => [name, codec.datum(codec.defaultCell)]),
    );
    for (let i = 0; i < this.#kept.length; i += 2) {
      const value = this.#kept[i + 1] as Datum | (() => Datum);
      old.set((this.#kept[i] as StoredColumn).name, typeof value === 'function' ? value() : value);
    }
    return (this.#old = old);
  }
}
