/** A claimed table: the claim joined with the server's schema, and what is known of each of its keys: which rows have it, and who wants it. */
import {
  defaultDatum,
  OvsdbError,
  uuidFromName,
  type ColumnType,
  type Datum,
  type ReplicaRow,
  type ReplicaView,
  type Uuid,
} from 'ovsdb-client-ts';
import type { RowOwner } from '../engine.ts';
import { MARK, type DesiredRow, type TableClaim } from '../rows.ts';
import type { PlanProblem } from './changes.ts';
import { isCompared, referencesOf } from './selection.ts';

/** Which differences of a column are ours to repair. */
type ColumnKind =
  | 'exact' //    the whole value
  | 'shared' //   members that we want
  | 'members'; // references: told by the rows that belong into the set, not by the row that holds it

export interface ClaimedColumn {
  readonly name: string;
  readonly type: ColumnType;
  readonly kind: ColumnKind;
  readonly mutable: boolean;
  /** Holds references to other rows, as set member, map key or map value. */
  readonly isReference: boolean;
  readonly isStrong: boolean;
  readonly defaultValue: Datum;
}

function kindOf(name: string, type: ColumnType, claim: TableClaim): ColumnKind {
  if (type.key.refTable !== undefined && type.value === undefined && type.max > 1) return 'members';
  return claim.sharedColumns?.includes(name) === true && type.max > 1 ? 'shared' : 'exact';
}

/** Namespace of the UUIDs of rows that we insert: two writers, or a retry, give the same row the same UUID. */
const ROW_NAMESPACE = '6f1d2f5e-7c0b-4f43-9d59-0d5a9c1c7a31' as Uuid;

export class ClaimedTable {
  readonly name: string;
  readonly claim: TableClaim;
  /** False when the server lacks the table: nothing of it is read or written. */
  readonly isPresent: boolean;
  readonly isRoot: boolean;
  /** The column in which its rows carry our mark themselves. */
  readonly ids: ClaimedColumn | undefined;
  /** Columns that are compared and written. */
  readonly columns: readonly ClaimedColumn[];
  /** Every set of references, those that others write included: where rows can be members. */
  readonly sets: ReadonlyMap<string, ClaimedColumn>;
  readonly entries = new Map<string, Entry>();
  /** Entries by the UUIDs of their rows. */
  readonly byUuid = new Map<string, Entry>();
  /** Columns that others write. */
  readonly foreign: readonly ClaimedColumn[];
  readonly #byName: ReadonlyMap<string, ClaimedColumn>;
  readonly database: string;
  /** True if rows of claimed tables refer to its rows in columns of their own, which are not sets. */
  isReferredTo = false;
  /** Its sets whose members are rows of claimed tables, with these tables. */
  holds: readonly (readonly [column: string, members: ClaimedTable])[] = [];

  constructor(claim: TableClaim, replica: ReplicaView) {
    const name = claim.table;
    this.name = name;
    this.claim = claim;
    this.database = replica.schema.name;
    const schema = replica.schema.tables.get(name);
    this.isPresent = schema !== undefined && replica.hasTable(name);
    this.isRoot = schema?.isRoot ?? true;
    const known = [...(schema?.columns.values() ?? [])];
    const unseen = known.find(
      (column) => isCompared(claim, column.name) && replica.access(name, column.name) === 'unseen',
    );
    // A plan that can't see a column would take it for right.
    if (unseen !== undefined)
      throw new OvsdbError(
        'bad argument',
        `column ${unseen.name} of table ${name} is not followed, so nobody knows whether it is right: follow what claimedSelection says, or name it in foreignColumns`,
      );
    const claimed = known.map(({ name: column, type, mutable }): ClaimedColumn => ({
      name: column,
      type,
      kind: kindOf(column, type, claim),
      mutable,
      isReference: referencesOf(type).length > 0,
      isStrong: referencesOf(type).some((one) => one.isStrong),
      defaultValue: defaultDatum(type),
    }));
    this.foreign = claimed.filter((column) => claim.foreignColumns?.includes(column.name));
    const all = claimed.filter((column) => replica.hasColumn(name, column.name));
    this.columns = all.filter((column) => isCompared(claim, column.name));
    this.ids = this.columns.find((column) => column.name === 'external_ids');
    this.sets = new Map(all.filter((c) => c.kind === 'members').map((c) => [c.name, c]));
    this.#byName = new Map(this.columns.map((column) => [column.name, column]));
  }

  /** Notes how its rows and those of the other tables refer to each other. */
  link(tables: ClaimedTables): void {
    this.holds = [...this.sets.values()].flatMap(({ name, type }) => {
      const members = tables.get(type.key.refTable ?? '');
      return members === undefined ? [] : [[name, members] as const];
    });
    for (const { kind, type } of this.columns)
      for (const { table } of kind === 'members' ? [] : referencesOf(type)) {
        const target = tables.get(table);
        if (target !== undefined) target.isReferredTo = true;
      }
  }

  column(name: string): ClaimedColumn | undefined {
    return this.#byName.get(name);
  }

  /** The entry of a key, made on first use. */
  entry(key: string): Entry {
    let entry = this.entries.get(key);
    if (entry !== undefined) return entry;
    // A text that was put together holds on to a second string: one of millions of keys is worth a copy in one piece.
    const text = JSON.parse(JSON.stringify(key)) as string;
    entry = new Entry(this, text);
    this.entries.set(text, entry);
    return entry;
  }

  /** Drops an entry of which nothing is known any more. */
  forget(entry: Entry): void {
    if (entry.isVacant && this.entries.get(entry.key) === entry) this.entries.delete(entry.key);
  }

  /** UUID of a new row of a key. `attempt` counts up from 1 when another row has the UUID already. */
  rowUuid(key: string, attempt = 1): Uuid {
    const name = `${this.database}/${this.name}/${key}`;
    return uuidFromName(ROW_NAMESPACE, attempt === 1 ? name : `${name}#${attempt}`);
  }

  /** True if the row carries our mark itself. */
  isMarked(row: ReplicaRow): boolean {
    return this.ids !== undefined && row.includes('external_ids', MARK);
  }

  /** The mark that a row carries itself. */
  markOf(row: ReplicaRow): string | undefined {
    if (!this.isMarked(row)) return undefined;
    const ids = row.column('external_ids') as ReadonlyMap<string, string>;
    return ids.get(MARK);
  }
}

export type ClaimedTables = ReadonlyMap<string, ClaimedTable>;

/** The claimed tables by name, as a server has them. */
export function claimedTables(
  claims: ReadonlyMap<string, TableClaim>,
  replica: ReplicaView,
): ClaimedTables {
  const tables = new Map(
    [...claims].map(([name, claim]) => [name, new ClaimedTable(claim, replica)]),
  );
  for (const table of tables.values()) table.link(tables);
  return tables;
}

const NO_UUIDS: readonly Uuid[] = [];
const NO_OWNERS: readonly OwnedRows[] = [];

/** What is known of one key. */
export class Entry {
  readonly table: ClaimedTable;
  readonly key: string;
  // One row and one owner are the rule: a list for each would cost more than the rest of the entry.
  #found: Uuid | readonly Uuid[] | undefined;
  #owners: OwnedRows | readonly OwnedRows[] | undefined;

  constructor(table: ClaimedTable, key: string) {
    this.table = table;
    this.key = key;
  }

  /** Rows of the database with this key. */
  get found(): readonly Uuid[] {
    if (this.#found === undefined) return NO_UUIDS;
    return typeof this.#found === 'string' ? [this.#found] : this.#found;
  }

  get isFound(): boolean {
    return this.#found !== undefined;
  }

  get onlyFound(): Uuid | undefined {
    return typeof this.#found === 'string' ? this.#found : undefined;
  }

  get isFoundTwice(): boolean {
    return typeof this.#found === 'object';
  }

  attach(uuid: Uuid): void {
    this.#found = this.#found === undefined ? uuid : [...this.found, uuid];
  }

  detach(uuid: Uuid): void {
    const rest = this.found.filter((other) => other !== uuid);
    this.#found = rest.length > 1 ? rest : rest[0];
  }

  /** Whoever wants the key. */
  get owners(): readonly OwnedRows[] {
    if (this.#owners === undefined) return NO_OWNERS;
    return this.#owners instanceof OwnedRows ? [this.#owners] : this.#owners;
  }

  get isWanted(): boolean {
    return this.#owners !== undefined;
  }

  get isContested(): boolean {
    return this.#owners !== undefined && !(this.#owners instanceof OwnedRows);
  }

  /** The owner whose row counts. */
  get owner(): OwnedRows | undefined {
    if (this.#owners instanceof OwnedRows)
      return this.#owners.lostTo === undefined ? this.#owners : undefined;
    return this.#owners?.find((owner) => owner.lostTo === undefined);
  }

  addOwner(owner: OwnedRows): void {
    this.#owners = this.#owners === undefined ? owner : [...this.owners, owner];
  }

  removeOwner(owner: OwnedRows): void {
    const rest = this.owners.filter((other) => other !== owner);
    this.#owners = rest.length > 1 ? rest : rest[0];
  }

  get isVacant(): boolean {
    return this.#found === undefined && this.#owners === undefined;
  }
}

/** Milliseconds until what a server refused is sent again although nothing that concerns it changed. */
export const REFUSED_REST = 30_000;

/** What one owner wants of one database. */
export class OwnedRows {
  owner: RowOwner;
  /** Keys that it wants. */
  entries: readonly Entry[] = [];
  /** The rows of the entries; undefined after they were found right, until they are asked for again. */
  rows: readonly DesiredRow[] | undefined;
  /** Keys that nobody wants and whose rows are its to remove, as long as the database has rows of ours for them. */
  dropped: Set<Entry> | undefined;
  /** A key of its that an owner before it has: it gets nothing. */
  lostTo: Entry | undefined;
  /**
   * Why it is left as it is, and until when (milliseconds of the caller's clock): what the server refused is sent again after a while,
   * what contradicts itself is never sent.
   */
  rest: { readonly until: number; readonly problem: PlanProblem } | undefined;

  /** Its rows were right since it wants what it wants. */
  wasRight = false;

  constructor(owner: RowOwner) {
    this.owner = owner;
  }

  /** Something that concerns it changed: what was refused may be accepted now. */
  endRest(): void {
    if (this.rest?.until !== Infinity) this.rest = undefined;
  }

  rowOf(entry: Entry): DesiredRow | undefined {
    return this.rows?.[this.entries.indexOf(entry)];
  }
}

/** Of two owners that want one key, the first in this order has it. */
export const compareOwners = (
  { owner: a }: Pick<OwnedRows, 'owner'>,
  { owner: b }: Pick<OwnedRows, 'owner'>,
): number => a.rank - b.rank || a.order - b.order || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
