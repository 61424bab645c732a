import type { ColumnType } from '../data/column-type.ts';
import { defaultDatum } from '../data/datum.ts';
import type { DatabaseRules, DesiredRow, RowReference, TableRules } from './desired.ts';
import { OvsdbError } from '../data/error.ts';
import { NameHash } from './name-hash.ts';
import { Entries } from './plan-entries.ts';
import type { Entry } from './plan-entry.ts';
import { isCompared } from './plan-selection.ts';
import { ROW_NAMESPACE, rowName } from './plan-uuid.ts';
import { WishQueue } from './plan-wishes.ts';
import type { FoundRow, ReplicaRow, ReplicaView } from '../replica/replica-view.ts';
import { uuidText } from '../storage/uuid-pool.ts';
import { uuidWords } from '../data/uuid.ts';
import type { Datum, Uuid } from '../data/value.ts';

/** A table as the plan sees it: the caller's rules joined with the server's schema, and the rows known by key. */

/** Which differences of a column are ours to repair. */
export type ColumnKind =
  | 'exact' //    the whole value
  | 'shared' //   members that we want
  | 'members'; // references: rows of ours that should be in the set, and those that should not

export interface PlanColumn {
  readonly name: string;
  readonly type: ColumnType;
  readonly kind: ColumnKind;
  readonly mutable: boolean;
  /** Holds references to other rows, as set member, map key or map value. */
  readonly isReference: boolean;
  readonly isStrong: boolean;
  readonly defaultValue: Datum;
}

const isReference = (type: ColumnType): boolean =>
  type.key.refTable !== undefined || type.value?.refTable !== undefined;

const isStrong = (type: ColumnType): boolean =>
  (type.key.refTable !== undefined && type.key.refType !== 'weak') ||
  (type.value?.refTable !== undefined && type.value.refType !== 'weak');

function kindOf(name: string, type: ColumnType, rules: TableRules): ColumnKind {
  if (type.key.refTable !== undefined && type.value === undefined && type.max > 1) return 'members';
  return rules.sharedColumns?.includes(name) === true && type.max > 1 ? 'shared' : 'exact';
}

export class PlanTable {
  readonly name: string;
  readonly rules: TableRules;
  /** False when the server lacks the table: nothing of it is read or written. */
  readonly isPresent: boolean;
  readonly isRoot: boolean;
  /** Columns that are compared and written. */
  readonly columns: readonly PlanColumn[];
  readonly references: readonly PlanColumn[];
  /** Others have members of their own in some column. */
  readonly hasShared: boolean;
  /** Names of the columns that must have the default unless the row gives a value. */
  readonly exact: readonly string[];
  /** Every set of references, those that others write included: where rows can be members. */
  readonly sets: ReadonlyMap<string, PlanColumn>;
  readonly entries: Entries = new Entries(this);
  /** Entries by the UUIDs of their rows, but for matched rows. */
  readonly byUuid = new Map<string, Entry>();
  /** Number of entries with a matched row. */
  matched = 0;
  readonly #replica: ReplicaView;
  readonly #hash: NameHash;
  /** Shows rows to the rules; undefined where every column is followed. */
  readonly #seen: SeenRow | undefined;
  readonly #byName: ReadonlyMap<string, PlanColumn>;
  #lastKey: string | undefined;
  #lastPlace = 0;

  constructor(name: string, rules: TableRules, replica: ReplicaView) {
    this.name = name;
    this.#replica = replica;
    this.#hash = new NameHash(ROW_NAMESPACE, rowName(replica.schema.name, name, ''));
    this.rules = rules;
    const schema = replica.schema.tables.get(name);
    this.isPresent = schema !== undefined && replica.hasTable(name);
    this.isRoot = schema?.isRoot ?? true;
    const all = [...(schema?.columns.values() ?? [])]
      .filter((column) => replica.hasColumn(name, column.name))
      .map(({ name: column, type, mutable }): PlanColumn => ({
        name: column,
        type,
        kind: kindOf(column, type, rules),
        mutable,
        isReference: isReference(type),
        isStrong: isStrong(type),
        defaultValue: defaultDatum(type),
      }));
    this.columns = all.filter((column) => isCompared(rules, column.name));
    const unseen = [...(schema?.columns.keys() ?? [])].filter(
      (column) => replica.access(name, column) === 'unseen',
    );
    this.#checkFollowed(unseen.filter((column) => isCompared(rules, column)));
    this.#seen = unseen.length === 0 ? undefined : new SeenRow(name, new Set(unseen));
    this.hasShared = this.columns.some((column) => column.kind === 'shared');
    this.exact = this.columns.filter((c) => c.kind === 'exact').map((column) => column.name);
    this.references = this.columns.filter((column) => column.isReference);
    this.sets = new Map(all.filter((c) => c.kind === 'members').map((c) => [c.name, c]));
    this.#byName = new Map(this.columns.map((column) => [column.name, column]));
  }

  /** A plan that can't see a column would take it for right: throws `bad argument`. */
  #checkFollowed(unseen: readonly string[]): void {
    const [first] = unseen;
    if (first === undefined) return;
    throw new OvsdbError(
      'bad argument',
      `column ${first} of table ${this.name} is not followed, so nobody knows whether it is right: follow what planSelection tells, or name it in foreignColumns`,
    );
  }

  /** What the rules say of a row. Throws `bad argument` when they read a column that is not followed. */
  keyOf(row: ReplicaRow, container: RowReference | undefined): string | undefined {
    return this.rules.keyOf(this.#shown(row), container);
  }

  isOurs(row: ReplicaRow, container: RowReference | undefined): boolean {
    return this.rules.isOurs(this.#shown(row), container);
  }

  mayAdopt(row: ReplicaRow, container: RowReference | undefined): boolean {
    return this.rules.mayAdopt?.(this.#shown(row), container) === true;
  }

  #shown(row: ReplicaRow): FoundRow {
    return this.#seen?.of(row) ?? row;
  }

  column(name: string): PlanColumn | undefined {
    return this.#byName.get(name);
  }

  /** The entry of a key, made on first use. */
  entry(key: string): Entry {
    return this.entries.at(this.place(key));
  }

  /** The entry of a key, if there is one. */
  known(key: string): Entry | undefined {
    const place = this.knownPlace(key);
    return place === 0 ? undefined : this.entries.at(place);
  }

  /** Where a key is kept; an entry is made for it on first use. */
  place(key: string): number {
    const known = this.knownPlace(key);
    if (known !== 0) return known;
    // The words are those of the key that was just asked for.
    const { place } = this.entries.add(key, this.#hash.words, 0);
    this.#lastPlace = place;
    return place;
  }

  /** Where a key is kept; 0 when it is nowhere. */
  knownPlace(key: string): number {
    // Rows of one container come one after the other: the last one is asked for again and again.
    if (this.#lastKey === key && this.#lastPlace !== 0) return this.#lastPlace;
    this.#lastPlace = this.entries.find(this.#hash.make(key), 0, key);
    this.#lastKey = key;
    return this.#lastPlace;
  }

  /** Where these keys are kept; entries are made for those that are nowhere yet. */
  places(keys: readonly string[]): readonly number[] {
    const words = new Uint32Array(keys.length * 4);
    this.#hash.makeAll(keys, keys.length, words);
    return keys.map((key, i) => {
      const known = this.entries.find(words, i * 4, key);
      return known === 0 ? this.entries.add(key, words, i * 4).place : known;
    });
  }

  /** Takes the first wishes, many at a time. `refuse` gets those for a key that is wanted already. */
  wishes(refuse: (unit: string, row: DesiredRow) => void): WishQueue {
    if (this.isPresent) this.entries.reserve(this.#replica.size(this.name));
    return new WishQueue(this.entries, this.#hash, refuse);
  }

  forget(entry: Entry): void {
    if (entry.place === 0) return;
    this.entries.delete(entry.place);
    entry.place = 0;
    this.#lastPlace = 0;
  }

  /** Four words of the UUID made from an entry's key; good until the next call. */
  ownWords(entry: Entry): Uint32Array {
    if (entry.place === 0) return this.#hash.make(entry.key);
    this.entries.read(entry.place, this.#hash.words);
    return this.#hash.words;
  }

  ownUuid(entry: Entry): Uuid {
    return uuidText(this.ownWords(entry), 0);
  }

  /** The row of the database with this UUID. */
  found(uuid: Uuid): ReplicaRow | undefined {
    return this.#replica.row(this.name, uuid);
  }

  /** The entry that a row of the database belongs to. */
  holder(uuid: string): Entry | undefined {
    const entry = this.byUuid.get(uuid);
    if (entry !== undefined || this.matched === 0) return entry;
    const place = this.entries.find(uuidWords(uuid), 0);
    const own = place === 0 ? undefined : this.entries.at(place);
    return own?.isMatched === true ? own : undefined;
  }
}

/** One row after the other as the rules may read it: a column that is not followed would read as its default. */
class SeenRow implements FoundRow {
  readonly #table: string;
  readonly #unseen: ReadonlySet<string>;
  #row: ReplicaRow | undefined;

  constructor(table: string, unseen: ReadonlySet<string>) {
    this.#table = table;
    this.#unseen = unseen;
  }

  of(row: ReplicaRow): this {
    this.#row = row;
    return this;
  }

  get uuid(): string {
    return this.#row?.uuid ?? '';
  }

  column(name: string): unknown {
    if (this.#unseen.has(name)) {
      throw new OvsdbError(
        'bad argument',
        `the rules of table ${this.#table} read column ${name}, which is not followed: take it out of foreignColumns, or name it to planSelection`,
      );
    }
    return this.#row?.column(name);
  }
}

export type PlanTables = ReadonlyMap<string, PlanTable>;

export const planTables = (replica: ReplicaView, rules: DatabaseRules): PlanTables =>
  new Map(
    Object.entries(rules).map(([name, table]) => [name, new PlanTable(name, table, replica)]),
  );
