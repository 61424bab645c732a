/** A claimed table: the claim joined with the server's schema, and the rows known by key. */
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
import { MARK, type TableClaim } from '../rows.ts';
import { Entry } from './entry.ts';
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
  readonly #byName: ReadonlyMap<string, ClaimedColumn>;
  readonly #database: string;
  /** True if rows of claimed tables refer to its rows in columns of their own, which are not sets. */
  isReferredTo = false;
  /** Its sets whose members are rows of claimed tables, with these tables. */
  holds: readonly (readonly [column: string, members: ClaimedTable])[] = [];

  constructor(claim: TableClaim, replica: ReplicaView) {
    const name = claim.table;
    this.name = name;
    this.claim = claim;
    this.#database = replica.schema.name;
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
    const all = known
      .filter((column) => replica.hasColumn(name, column.name))
      .map(({ name: column, type, mutable }): ClaimedColumn => ({
        name: column,
        type,
        kind: kindOf(column, type, claim),
        mutable,
        isReference: referencesOf(type).length > 0,
        isStrong: referencesOf(type).some((one) => one.isStrong),
        defaultValue: defaultDatum(type),
      }));
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
    const name = `${this.#database}/${this.name}/${key}`;
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
