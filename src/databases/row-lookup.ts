/**
 * Rows of a database as its server has them now, whatever of them is followed: for a question of somebody, not for plans. Of a large table UUIDs alone are
 * read first, and then the rows that are meant.
 */
import {
  isUuid,
  type Clause,
  type JsonValue,
  type Operation,
  type OperationResult,
  type ReplicaView,
  type Transactor,
  type WireRow,
} from 'ovsdb-client-ts';

/** A row in plain values: texts, numbers, arrays for sets, objects for maps, UUIDs as texts. */
export interface LookedUpRow {
  readonly table: string;
  readonly uuid: string;
  readonly columns: Readonly<Record<string, unknown>>;
}

/** The server did not answer, or refused. */
class LookupError extends Error {
  readonly code = 'LOOKUP_FAILED';
}

export interface RowPlace {
  readonly table: string;
  readonly uuid: string;
}

/** Columns by which rows are called, in tables whose columns the server has told of. */
const NAME_COLUMNS: readonly string[] = ['name', 'logical_port', 'chassis_name', 'hostname'];
/** The same of tables of Southbound that nobody follows (ovn-sb(5)). */
const NAMES_NOT_FOLLOWED: Readonly<Record<string, string>> = {
  Address_Set: 'name',
  BFD: 'logical_port',
  Chassis_Private: 'name',
  Load_Balancer: 'name',
  MAC_Binding: 'logical_port',
  Meter: 'name',
  Multicast_Group: 'name',
  Port_Binding: 'logical_port',
  Port_Group: 'name',
  Static_MAC_Binding: 'logical_port',
};

/** One for each question: what it read once it does not read again. */
export class RowLookup {
  readonly name: string;
  readonly #database: { readonly replica: ReplicaView; readonly transactor: Transactor };
  readonly #signal: AbortSignal | undefined;
  /** Of every row, once it was asked for. */
  #all: Promise<readonly RowPlace[]> | undefined;

  constructor(
    database: { readonly replica: ReplicaView; readonly transactor: Transactor },
    signal?: AbortSignal,
  ) {
    this.name = database.replica.schema.name;
    this.#database = database;
    this.#signal = signal;
  }

  /** Tables of the server, those that nobody follows among them. */
  get tables(): readonly string[] {
    const { tables, notFollowed = [] } = this.#database.replica.schema;
    return [...tables.keys(), ...notFollowed];
  }

  /** The name of a table in the spelling of the schema; undefined where there is none. */
  tableNamed(name: string): string | undefined {
    return this.tables.find((table) => table.toLowerCase() === name.toLowerCase());
  }

  #nameColumns(table: string): readonly string[] {
    const known = this.#database.replica.schema.tables.get(table);
    if (known !== undefined) return NAME_COLUMNS.filter((column) => known.columns.has(column));
    const name = NAMES_NOT_FOLLOWED[table];
    return name === undefined ? [] : [name];
  }

  /** Rows whose UUID begins so, of all tables or of some. Throws LookupError. */
  async startingWith(
    prefixes: ReadonlySet<string>,
    tables: readonly string[] = this.tables,
    where: readonly Clause[] = [],
  ): Promise<readonly RowPlace[]> {
    const lengths = new Set([...prefixes].map(({ length }) => length));
    const [only] = prefixes;
    if (only !== undefined && prefixes.size === 1 && isUuid(only))
      return this.#placesIn(tables, [['_uuid', '==', ['uuid', only]]]);
    // Asked for again and again while one question is answered.
    const isAll = tables.length === this.tables.length && where.length === 0;
    const all = isAll
      ? await (this.#all ??= this.#placesIn(tables, where))
      : await this.#placesIn(tables, where);
    return all.filter(({ uuid }) =>
      [...lengths].some((length) => prefixes.has(uuid.slice(0, length))),
    );
  }

  /** Rows that are called so. Throws LookupError. */
  async named(name: string, tables: readonly string[] = this.tables): Promise<readonly RowPlace[]> {
    const asked = tables.flatMap((table) =>
      this.#nameColumns(table).map((column) => ({
        table,
        where: [[column, '==', name] as const],
      })),
    );
    return this.#places(asked);
  }

  /** Rows that a condition holds for, with these columns. Throws LookupError. */
  async select(
    table: string,
    where: readonly Clause[],
    columns: readonly string[],
  ): Promise<readonly LookedUpRow[]> {
    const [result] = await this.#run([
      { op: 'select', table, where, columns: ['_uuid', ...columns] },
    ]);
    return (result?.rows ?? []).map((row) => rowOf(table, row));
  }

  /** Rows as a whole; those that are gone are left out. Throws LookupError. */
  async rows(places: readonly RowPlace[]): Promise<readonly LookedUpRow[]> {
    const results = await this.#run(
      places.map(({ table, uuid }) => ({
        op: 'select',
        table,
        where: [['_uuid', '==', ['uuid', uuid]]],
      })),
    );
    return results.flatMap(({ rows = [] }, index) =>
      rows.map((row) => rowOf(places[index]?.table ?? '', row)),
    );
  }

  #placesIn(tables: readonly string[], where: readonly Clause[]): Promise<readonly RowPlace[]> {
    return this.#places(tables.map((table) => ({ table, where })));
  }

  async #places(
    asked: readonly { readonly table: string; readonly where: readonly Clause[] }[],
  ): Promise<readonly RowPlace[]> {
    const results = await this.#run(
      asked.map(({ table, where }) => ({ op: 'select', table, where, columns: ['_uuid'] })),
    );
    const places = results.flatMap(({ rows = [] }, index) => {
      const table = asked[index]?.table ?? '';
      return rows.map((row) => ({ table, uuid: uuidIn(row) }));
    });
    return [...new Map(places.map((place) => [`${place.table} ${place.uuid}`, place])).values()];
  }

  async #run(operations: readonly Operation[]): Promise<readonly OperationResult[]> {
    if (operations.length === 0) return [];
    const signal = this.#signal === undefined ? {} : { signal: this.#signal };
    const outcome = await this.#database.transactor.transact(operations, signal);
    if (outcome.kind === 'success') return outcome.results;
    const why =
      'reason' in outcome ? outcome.reason : 'details' in outcome ? outcome.details : outcome.kind;
    throw new LookupError(`${this.name} can't be read: ${why}`);
  }
}

const uuidIn = (row: WireRow): string => String(plain(row['_uuid'] ?? ''));

function rowOf(table: string, row: WireRow): LookedUpRow {
  const { _uuid: uuid = '', _version: _unused, ...columns } = row;
  return {
    table,
    uuid: String(plain(uuid)),
    columns: Object.fromEntries(
      Object.entries(columns).map(([name, value]) => [name, plain(value)]),
    ),
  };
}

/** A value of RFC 7047 §5.1 without its notation. */
function plain(value: JsonValue): unknown {
  if (!Array.isArray(value)) return value;
  const [kind, content] = value as readonly JsonValue[];
  if (kind === 'uuid') return content;
  const list = Array.isArray(content) ? (content as readonly JsonValue[]) : [];
  if (kind === 'set') return list.map(plain);
  return Object.fromEntries(
    list.map((pair) => {
      const [key = '', one = ''] = pair as readonly JsonValue[];
      return [String(plain(key)), plain(one)];
    }),
  );
}

/** A map of a row; empty where the column is missing. */
export function mapIn({ columns }: LookedUpRow, column: string): Readonly<Record<string, string>> {
  const value = columns[column];
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, string>)
    : {};
}

/** A text of a row, or the number as one; '' where the column is missing or an empty set. */
export function textIn({ columns }: LookedUpRow, column: string): string {
  const value = columns[column];
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint'
    ? String(value)
    : '';
}
