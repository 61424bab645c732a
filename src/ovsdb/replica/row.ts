import { toAtom, toDatum } from '../data/datum.ts';
import { OvsdbError, unlessRefused } from '../data/error.ts';
import type { ReplicaRow } from './replica-view.ts';
import type { AtomCodec } from '../storage/atom-codec.ts';
import { hasKey, matches } from '../storage/cell-match.ts';
import type { StoredColumn, TableStore } from '../storage/table-store.ts';
import type { Atom, Datum, Uuid, Writable, WritableAtom } from '../data/value.ts';
import type { BaseType, ColumnType } from '../data/column-type.ts';

/** A light view of one row: remembers where it is, copies nothing. */
export class RowView implements ReplicaRow {
  // All three change when the schema does.
  #store: TableStore;
  #slot: number;
  #generation: number;
  #uuid: Uuid | undefined;

  constructor(store: TableStore, slot: number) {
    this.#store = store;
    this.#slot = slot;
    this.#generation = store.lastGeneration(slot);
  }

  get table(): string {
    return this.#store.schema.name;
  }

  get uuid(): Uuid {
    if (this.#uuid === undefined) {
      this.#check();
      this.#uuid = this.#store.pools.uuids.atom(this.#store.uuids[this.#slot] as number);
    }
    return this.#uuid;
  }

  get exists(): boolean {
    while (this.#store.generation(this.#slot) !== this.#generation) {
      const successor = this.#store.successor(this.#slot, this.#generation);
      if (successor === undefined) return false;
      this.#store = successor.store;
      this.#slot = successor.slot;
      this.#generation = successor.generation;
    }
    return true;
  }

  /** Sets the UUID that the row was found by, in lower case: it is known even when the row is gone. */
  identify(uuid: Uuid): this {
    this.#uuid = uuid;
    return this;
  }

  #check(): void {
    if (!this.exists) {
      throw new OvsdbError(
        'row deleted',
        `row ${this.#uuid ?? ''} of table ${this.table} is not in the database any more`,
      );
    }
  }

  /** The column as it is stored now: the row may have another store than before. */
  #column(name: string): StoredColumn {
    this.#check();
    const column = this.#store.column(name);
    if (column === undefined) {
      throw new OvsdbError('unknown column', `table ${this.table} has no column ${name}`);
    }
    return column;
  }

  #cell(column: StoredColumn): number {
    return this.#store.cell(this.#slot, column.position);
  }

  column(name: string): Datum {
    if (name === '_uuid') {
      this.#check();
      return this.uuid;
    }
    const column = this.#column(name);
    return column.codec.datum(this.#cell(column));
  }

  /** The column that was at this position when the row was first seen: what the typed properties of a row read. */
  at(position: number, name: string): Datum {
    this.#check();
    const there = this.#store.columns[position];
    const column = there?.name === name ? there : this.#column(name);
    return column.codec.datum(this.#cell(column));
  }

  holds(name: string, value: Writable): boolean {
    const column = this.#column(name);
    const cell = this.#cell(column);
    return matches(column.codec, cell, value) ?? holdsInGeneral(column, cell, value);
  }

  memberCount(name: string): number {
    const column = this.#column(name);
    return column.codec.size(this.#cell(column));
  }

  includes(name: string, member: WritableAtom, value?: WritableAtom): boolean {
    const column = this.#column(name);
    const { codec } = column;
    const cell = this.#cell(column);
    const isKey = value === undefined ? hasKey(codec, cell, member) : undefined;
    if (isKey !== undefined) return isKey;
    const key = findAtom(codec.keys, codec.type.key, member);
    if (key === -1) return false;
    if (codec.kind === 'scalar') return cell === key;
    if (codec.kind === 'optional') return cell === key + 1;
    if (value === undefined) return codec.position(cell, key) !== -1;
    if (codec.values === undefined || codec.type.value === undefined) return false;
    const code = findAtom(codec.values, codec.type.value, value);
    return code !== -1 && codec.valueAt(cell, key) === code;
  }

  /** Every column, as a plain object for `JSON.stringify`: maps as objects, integers of 64 bits in full. */
  toJSON(): { readonly [column: string]: unknown } {
    this.#check();
    const result: Record<string, unknown> = { _uuid: this.uuid };
    for (const column of this.#store.columns) {
      result[column.name] = plainJson(column.codec.datum(this.#cell(column)));
    }
    return result;
  }

  /** What `console.log` shows. */
  [Symbol.for('nodejs.util.inspect.custom')](): unknown {
    if (!this.exists) return `${this.table} ${this.#uuid ?? ''} (deleted)`;
    const columns = this.#store.columns.map(
      (column) => [column.name, column.codec.datum(this.#cell(column))] as const,
    );
    return { _uuid: this.uuid, ...Object.fromEntries(columns) };
  }
}

/** `JSON.rawJSON` of Node 22 and newer, which TypeScript does not know: a number that is written as it stands. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

function plainJson(value: Datum): unknown {
  if (typeof value === 'bigint') return rawJSON(value.toString());
  if (Array.isArray(value)) return (value as readonly Atom[]).map(plainJson);
  if (!(value instanceof Map)) return value;
  return Object.fromEntries(
    [...(value as ReadonlyMap<Atom, Atom>)].map(([key, member]) => [key, plainJson(member)]),
  );
}

/** True when a cell of a column holds a value, which is put into canonical form for that. */
function holdsInGeneral(column: StoredColumn, cell: number, value: Writable): boolean {
  const datum = expressible(column.codec.type, value);
  return datum !== undefined && column.codec.find(datum.datum) === cell;
}

function findAtom(codec: AtomCodec, base: BaseType, value: WritableAtom): number {
  // Most often a UUID is looked for: what is none is found nowhere.
  if (base.type === 'uuid' && typeof value === 'string') return codec.find(value);
  return unlessRefused(() => codec.find(toAtom(base, value)), -1);
}

/** The value in canonical form; undefined when no column of this type could ever hold it. */
export const expressible = (
  type: ColumnType,
  value: Writable,
): { readonly datum: Datum } | undefined =>
  unlessRefused(() => ({ datum: toDatum(type, value) }), undefined);

/** The type without limits of what a member may be. */
export const withoutLimits = ({ key, value, min, max }: ColumnType): ColumnType => ({
  key: { type: key.type },
  ...(value === undefined ? {} : { value: { type: value.type } }),
  min,
  max,
});

/** Rows of one table with a property for each column. */
export type RowClass = new (store: TableStore, slot: number) => RowView;

const OWN = new Set([
  'constructor',
  'table',
  'uuid',
  'exists',
  'identify',
  'column',
  'at',
  'holds',
  'memberCount',
  'includes',
  'toJSON',
]);

/**
 * A class of row views that reads each column as a property. Columns named as a method are read by `column(name)`. `before`: the class of the same
 * table until its schema changed, whose rows get the new columns, too; a column that is gone throws when it is read.
 */
export function rowClass(columns: readonly StoredColumn[], before?: RowClass): RowClass {
  const made = before ?? class TableRow extends RowView {};
  for (const { name, position } of columns) {
    if (OWN.has(name)) continue;
    Object.defineProperty(made.prototype, name, {
      enumerable: true,
      configurable: true,
      get(this: RowView) {
        return this.at(position, name);
      },
    });
  }
  return made;
}
