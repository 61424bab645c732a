import type {
  ColumnAccess,
  IndexColumn,
  OrderedColumn,
  Referrer,
  ReplicaRow,
  TableIndexes,
} from './replica-view.ts';
import { columnOf, type TableSchema } from '../data/schema.ts';
import { OvsdbError, unlessRefused } from '../data/error.ts';
import { stringify } from '../data/json.ts';
import type { ColumnCodec } from '../storage/column-codec.ts';
import { EdgeIndex } from '../storage/edge-index.ts';
import { HashIndex, type IndexPart } from '../storage/hash-index.ts';
import { OrderedIndex, type OrderedPart } from '../storage/ordered-index.ts';
import type { Pools } from '../storage/pools.ts';
import { TableStore, type StoredColumn } from '../storage/table-store.ts';
import { toAtom, toDatum } from '../data/datum.ts';
import type { BaseType } from '../data/column-type.ts';
import type { Atom, Datum, Uuid, Writable, WritableAtom } from '../data/value.ts';
import { expressible, rowClass, withoutLimits, type RowClass, type RowView } from './row.ts';

/** Where one column refers to: found through the column's own hash index or, for sets and maps, an index of edges. */
interface KeptEdges {
  readonly column: string;
  readonly sources: (target: number) => readonly number[];
}

interface KeptIndex {
  readonly columns: readonly IndexColumn[];
  readonly index: HashIndex;
}

interface KeptOrder {
  readonly columns: readonly OrderedColumn[];
  readonly index: OrderedIndex;
}

/** The same columns in the same order, each compared in the same way. */
const isSameOrder = (a: readonly OrderedColumn[], b: readonly OrderedColumn[]): boolean =>
  a === b ||
  (a.length === b.length &&
    a.every((spec, i) => {
      const [x, y] = [orderOf(spec), orderOf(b[i] as OrderedColumn)];
      return x.column === y.column && x.descending === y.descending && x.compare === y.compare;
    }));

function orderOf(spec: OrderedColumn) {
  const { column, descending, compare } =
    typeof spec === 'string' ? { column: spec, descending: false, compare: undefined } : spec;
  return { column, descending: descending === true, compare };
}

const nameOf = (columns: readonly IndexColumn[]): string => stringify(columns);

/** A column as the reader of updates needs it. */
export interface NamedColumn {
  readonly bytes: Buffer;
  readonly position: number;
  readonly codec: ColumnCodec;
  /** The column that came behind this one the last time: most likely it does again. */
  follower: NamedColumn | undefined;
}

interface ColumnNames {
  /** The column that a row began with the last time. */
  follower: NamedColumn | undefined;
  readonly byName: ReadonlyMap<string, NamedColumn>;
}

/** What is followed of a table. */
interface TableDefinition {
  /** Columns that the server has and that are monitored. */
  readonly monitored: ReadonlySet<string>;
  /** Columns that the server has and whose newest values are not here. */
  readonly unseen?: ReadonlySet<string> | undefined;
  /** Columns whose changes alone are no event. */
  readonly quiet?: ReadonlySet<string> | undefined;
}

/** One table of a replica: its rows and what is kept to find them. */
export class ReplicaTable {
  readonly schema: TableSchema;
  readonly #pools: Pools;
  readonly #definition: TableDefinition;
  /** Columns that the server has and that are monitored. */
  readonly monitored: ReadonlySet<string>;
  /** Columns that the server has and whose newest values are not here. */
  readonly unseen: ReadonlySet<string>;
  readonly #quiet: ReadonlySet<number>;
  readonly store: TableStore;
  /** Columns that are monitored. */
  readonly followed: readonly StoredColumn[];
  /**
   * Values of an earlier definition that the types can't express, by slot and position of the column: their cells have the default. Until new
   * contents are shown.
   */
  unexpressed: ReadonlyMap<number, ReadonlyMap<number, Datum>> = new Map();
  /** Columns that updates may bring. */
  readonly names: ColumnNames;
  #rowClass: RowClass;
  readonly #indexes = new Map<string, KeptIndex>();
  readonly #ordered: KeptOrder[] = [];
  readonly #edges = new Map<string, KeptEdges[]>();

  constructor(schema: TableSchema, pools: Pools, definition: TableDefinition) {
    const { monitored, quiet } = definition;
    this.schema = schema;
    this.#pools = pools;
    this.#definition = definition;
    this.monitored = monitored;
    this.unseen = definition.unseen ?? new Set();
    this.store = new TableStore(schema, pools);
    this.followed = this.store.columns.filter(({ name }) => monitored.has(name));
    this.names = {
      follower: undefined,
      byName: new Map(
        this.followed.map(({ name, position, codec }) => [
          name,
          { bytes: Buffer.from(name), position, codec, follower: undefined },
        ]),
      ),
    };
    this.#rowClass = rowClass(this.store.columns);
    this.#quiet = new Set(
      this.store.columns
        .filter(({ name }) => quiet?.has(name) === true)
        .map(({ position }) => position),
    );
  }

  access(column: string): ColumnAccess {
    if (this.unseen.has(column)) return 'unseen';
    return this.monitored.has(column) ? 'followed' : 'missing';
  }

  /** True when a change of just these columns, each followed by its new cell, is no event. */
  isQuiet(changed: readonly number[]): boolean {
    if (this.#quiet.size === 0) return false;
    for (let i = 0; i < changed.length; i += 2) {
      if (!this.#quiet.has(changed[i] as number)) return false;
    }
    return true;
  }

  get name(): string {
    return this.schema.name;
  }

  get size(): number {
    return this.store.size;
  }

  /** A table of the same definition without rows, for contents that are read out of sight. */
  empty(): ReplicaTable {
    const table = new ReplicaTable(this.schema, this.#pools, this.#definition);
    table.succeed(this);
    table.inherit(this);
    return table;
  }

  /** Takes the place of a table of an earlier schema: views of its rows read the columns of this one. */
  succeed(before: ReplicaTable): void {
    this.#rowClass = rowClass(this.store.columns, before.#rowClass);
  }

  view(slot: number): RowView {
    return new this.#rowClass(this.store, slot);
  }

  *rows(): Generator<ReplicaRow> {
    for (const slot of this.store.slots()) {
      const row = this.view(slot);
      // The schema may change between two rows, when the caller waits.
      if (row.exists) yield row;
    }
  }

  row(uuid: string): ReplicaRow | undefined {
    const id = this.#pools.uuids.find(uuid);
    if (id <= 0) return undefined;
    const slot = this.store.slotOf(id);
    return slot === 0 ? undefined : this.view(slot).identify(uuid.toLowerCase() as Uuid);
  }

  #column(name: string): StoredColumn {
    const column = this.store.column(name);
    if (column !== undefined) return column;
    columnOf(this.schema, name);
    throw new OvsdbError('bad argument', `column ${name} can't be indexed`);
  }

  /** Makes indexes now, if they are not there. Throws for columns that no index can be made of. */
  keep({ find = [], ordered = [] }: TableIndexes): void {
    for (const columns of find) this.#index(columns);
    for (const columns of ordered) this.#order(columns);
  }

  /** Makes it quick to say which rows of this table refer to rows of `target`. */
  keepReferrersTo(target: string): void {
    this.#edgesTo(target);
  }

  /** Makes the indexes that the table before it has, as far as this one has what they are made of. */
  inherit(before: ReplicaTable): void {
    const wanted: TableIndexes[] = [
      ...[...before.#indexes.values()].map(({ columns }) => ({ find: [columns] })),
      ...before.#ordered.map(({ columns }) => ({ ordered: [columns] })),
    ];
    // The next query that needs one that can't be made throws the reason.
    for (const indexes of wanted)
      unlessRefused(() => {
        this.keep(indexes);
      }, undefined);
    for (const target of before.#edges.keys()) this.#edgesTo(target);
  }

  #index(columns: readonly IndexColumn[]): HashIndex {
    const name = nameOf(columns);
    let kept = this.#indexes.get(name);
    if (kept === undefined) {
      kept = { columns, index: this.#build(columns) };
      this.#indexes.set(name, kept);
    }
    return kept.index;
  }

  #order(columns: readonly OrderedColumn[]): OrderedIndex {
    let kept = this.#ordered.find((other) => isSameOrder(other.columns, columns));
    if (kept === undefined) {
      kept = { columns, index: this.#sort(columns) };
      this.#ordered.push(kept);
    }
    return kept.index;
  }

  #build(columns: readonly IndexColumn[]): HashIndex {
    const parts = columns.map((spec): IndexPart => {
      if (typeof spec === 'string') return { column: this.#column(spec) };
      const column = this.#column(spec.column);
      const { keys, type } = column.codec;
      if (type.value === undefined) {
        throw new OvsdbError(
          'bad argument',
          `column ${spec.column} of table ${this.name} is not a map`,
        );
      }
      const key = keys.intern(this.#key(spec.column, type.key, spec.key));
      keys.retain(key);
      return { column, key };
    });
    const index = new HashIndex(this.store, parts);
    this.store.follow(index);
    return index;
  }

  #key(column: string, base: BaseType, key: Atom): Atom {
    try {
      return toAtom(base, key);
    } catch (error) {
      if (!(error instanceof OvsdbError)) throw error;
      throw new OvsdbError(
        'bad argument',
        `no key of column ${column} of table ${this.name}, a map from ${base.type}: ${error.details}`,
        { cause: error },
      );
    }
  }

  find(columns: readonly IndexColumn[], values: readonly Writable[]): readonly ReplicaRow[] {
    if (columns.length === 0 || columns.length !== values.length) {
      throw new OvsdbError(
        'bad argument',
        'as many values as columns are needed, and at least one',
      );
    }
    const index = this.#index(columns);
    const codes: number[] = [];
    for (let i = 0; i < columns.length; i++) {
      const code = this.#code(columns[i] as IndexColumn, values[i]);
      if (code === -1) return [];
      codes.push(code);
    }
    return index.find(codes).map((slot) => this.view(slot));
  }

  #code(spec: IndexColumn, value: Writable): number {
    if (typeof spec === 'string') {
      const column = this.#column(spec);
      const datum = expressible(column.codec.type, value);
      return datum === undefined ? -1 : column.codec.find(datum.datum);
    }
    const { codec } = this.#column(spec.column);
    if (codec.values === undefined || codec.type.value === undefined) return -1;
    const { values, type } = codec;
    return unlessRefused(
      () => values.find(toAtom(type.value as BaseType, value as WritableAtom)),
      -1,
    );
  }

  #sort(columns: readonly OrderedColumn[]): OrderedIndex {
    const index = new OrderedIndex(
      this.store,
      columns.map((spec): OrderedPart => {
        const { column, descending, compare } = orderOf(spec);
        return { column: this.#column(column), descending, compare };
      }),
    );
    this.store.follow(index);
    return index;
  }

  /** Rows in the order of these columns. */
  range(
    columns: readonly OrderedColumn[],
    from: readonly Writable[] | undefined,
    to: readonly Writable[] | undefined,
  ): readonly ReplicaRow[] {
    const index = this.#order(columns);
    const key = (values: readonly Writable[] | undefined): readonly Datum[] | undefined =>
      values?.map((value, i) => {
        const spec = columns[i];
        if (spec === undefined)
          throw new OvsdbError('bad argument', 'the key is longer than the index');
        // Limits of the column's type do not apply to a bound.
        return toDatum(withoutLimits(this.#column(orderOf(spec).column).codec.type), value);
      });
    const rows: RowView[] = [];
    for (const slot of index.range(key(from), key(to))) rows.push(this.view(slot));
    return rows;
  }

  /** Columns of this table that refer to rows of `target`, made findable. */
  #edgesTo(target: string): readonly KeptEdges[] {
    let kept = this.#edges.get(target);
    if (kept === undefined) {
      kept = this.store.columns.flatMap((column) => this.#edgesOf(column, target));
      this.#edges.set(target, kept);
    }
    return kept;
  }

  #edgesOf(column: StoredColumn, target: string): readonly KeptEdges[] {
    const { kind, type } = column.codec;
    const result: KeptEdges[] = [];
    if (type.key.refTable === target) {
      if (kind === 'scalar' || kind === 'optional') {
        const index = new HashIndex(this.store, [{ column }]);
        this.store.follow(index);
        const shift = kind === 'optional' ? 1 : 0;
        result.push({ column: column.name, sources: (id) => index.find([id + shift]) });
      } else {
        result.push(this.#edgeIndex(column, 'key'));
      }
    }
    if (type.value?.refTable === target) result.push(this.#edgeIndex(column, 'value'));
    return result;
  }

  #edgeIndex(column: StoredColumn, part: 'key' | 'value'): KeptEdges {
    const index = new EdgeIndex(column, part);
    this.store.followCells(column, index);
    const sources = (id: number): readonly number[] => {
      const slots = index.sources(id);
      return slots.length < 2 ? slots : [...new Set(slots)];
    };
    return { column: column.name, sources };
  }

  /** True if rows of this table can refer to those of another. */
  canReferTo(target: string): boolean {
    return this.#edgesTo(target).length > 0;
  }

  /** Adds rows of this table that refer to a row of another. */
  addReferrers(target: string, id: number, result: Referrer[]): void {
    for (const { column, sources } of this.#edgesTo(target)) {
      for (const slot of sources(id)) {
        const uuid = this.#pools.uuids.atom(this.store.uuids[slot] as number);
        result.push({ table: this.name, column, uuid });
      }
    }
  }
}
