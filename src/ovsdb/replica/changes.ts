import type { Atom, Datum, Uuid } from '../data/value.ts';
import type { ColumnCodec } from '../storage/column-codec.ts';
import type { StoredColumn } from '../storage/table-store.ts';
import type { ReplicaTable } from './replica-table.ts';
import type { RowChange, TableChanges } from './replica-view.ts';

const NOTHING: ReadonlyMap<string, Datum> = new Map();

/** What one message does to one table, row by row. Each row is to be noted before it changes. */
export class CollectedChanges implements TableChanges {
  readonly #table: ReplicaTable;
  readonly #appeared: RowChange[] = [];
  readonly #others: RowChange[] = [];
  readonly #defaults = new Map<ColumnCodec, Datum>();
  /** By row and column. */
  readonly #moved = new Map<string, ReadonlyMap<string, readonly Atom[]>>();

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
    let moved: Map<string, readonly Atom[]> | undefined;
    for (let i = 0; i < changed.length; i += 2) {
      const column = store.columns[changed[i] as number] as StoredColumn;
      changing.push(column);
      if (column.codec.kind !== 'set' || this.#table.unexpressed.has(slot)) continue;
      const before = store.cell(slot, column.position);
      (moved ??= new Map()).set(column.name, column.codec.moved(before, changed[i + 1] as number));
    }
    if (moved !== undefined)
      this.#moved.set(store.pools.uuids.atom(store.uuids[slot] as number), moved);
    this.#note('modified', slot, changing);
  }

  moved(uuid: string, column: string): readonly Atom[] | undefined {
    return this.#moved.get(uuid)?.get(column);
  }

  deleted(slot: number): void {
    this.#note('deleted', slot, this.#table.followed);
  }

  #note(kind: 'modified' | 'deleted', slot: number, columns: readonly StoredColumn[]): void {
    const { store, unexpressed } = this.#table;
    const known = unexpressed.get(slot);
    const values = columns.map(({ position, codec }): Datum => {
      if (known?.has(position) === true) return known.get(position);
      const cell = store.cell(slot, position);
      // Most columns of most rows: one value for all of them.
      return cell === codec.defaultCell ? this.#default(codec) : codec.datum(cell);
    });
    const uuid = store.pools.uuids.atom(store.uuids[slot] as number);
    this.#others.push(changeOf(kind, uuid, columns, values));
  }

  #default(codec: ColumnCodec): Datum {
    let value = this.#defaults.get(codec);
    if (value === undefined) {
      value = codec.datum(codec.defaultCell);
      this.#defaults.set(codec, value);
    }
    return value;
  }

  get size(): number {
    return this.#appeared.length + this.#others.length;
  }

  /** Rows that appeared, then those that changed or went. */
  get rows(): readonly RowChange[] {
    return this.#appeared.concat(this.#others);
  }
}

/** A map for each of very many rows would take longer than all else: it is made on first use. */
function changeOf(
  kind: 'modified' | 'deleted',
  uuid: Uuid,
  columns: readonly StoredColumn[],
  values: readonly Datum[],
): RowChange {
  let old: ReadonlyMap<string, Datum> | undefined;
  return {
    kind,
    uuid,
    get old() {
      old ??= new Map(columns.map(({ name }, i) => [name, values[i]]));
      return old;
    },
  };
}
