import {
  datumEquals,
  datumToJson,
  defaultDatum,
  members,
  parseDatum,
  toDatum,
} from '../../../src/ovsdb/data/datum.ts';
import type { ColumnType } from '../../../src/ovsdb/data/column-type.ts';
import { OvsdbError } from '../../../src/ovsdb/data/error.ts';
import type {
  Clause,
  Mutation,
  Operation,
  OperationResult,
  Outcome,
  Transactor,
  WireRow,
} from '../../../src/ovsdb/data/operation.ts';
import type {
  ColumnAccess,
  Referrer,
  ReplicaChanges,
  ReplicaRow,
  ReplicaView,
  RowChange,
  TableChanges,
} from '../../../src/ovsdb/replica/replica-view.ts';
import type { DatabaseSchema } from '../../../src/ovsdb/data/schema.ts';
import type { Atom, Datum, Uuid, Writable } from '../../../src/ovsdb/data/value.ts';
import {
  enforceConstraints,
  references,
  type Columns,
  type Contents,
} from './memory-constraints.ts';

class MemoryRow implements ReplicaRow {
  readonly table: string;
  readonly uuid: Uuid;
  readonly #database: MemoryDatabase;

  constructor(database: MemoryDatabase, table: string, uuid: string) {
    this.#database = database;
    this.table = table;
    this.uuid = uuid as Uuid;
  }

  get exists(): boolean {
    return this.#database.columnsOf(this.table, this.uuid) !== undefined;
  }

  column(name: string): Datum {
    const columns = this.#database.columnsOf(this.table, this.uuid);
    if (columns === undefined) throw new OvsdbError('row deleted', `${this.table} ${this.uuid}`);
    if (this.#database.schema.tables.get(this.table)?.columns.has(name) !== true)
      throw new OvsdbError('unknown column', `table ${this.table} has no column ${name}`);
    if (!this.#database.hasColumn(this.table, name)) return undefined;
    return columns.has(name)
      ? columns.get(name)
      : defaultDatum(this.#database.type(this.table, name));
  }

  holds(column: string, value: Writable): boolean {
    return datumEquals(
      this.column(column),
      toDatum(this.#database.type(this.table, column), value ?? []),
    );
  }

  memberCount(column: string): number {
    return members(this.column(column)).length;
  }

  includes(column: string, member: Writable, value?: Writable): boolean {
    const found = this.column(column);
    if (found instanceof Map) {
      return found.has(member) && (value === undefined || found.get(member) === value);
    }
    return members(found).includes(member as Atom);
  }
}

/**
 * A double: an OVSDB database in memory that is server and replica in one. It carries out insert, update, mutate,
 * delete, select and assert as ovsdb-server does, with garbage collection, weak references, referential integrity and unique
 * indexes, and shows the result as a `ReplicaView`. For tests of what sits on top of the client; the client itself is tested
 * against real servers.
 */
export class MemoryDatabase implements ReplicaView, Transactor {
  readonly schema: DatabaseSchema;
  readonly ready = true;
  sequence = 0;
  /** Every transaction that was asked for. */
  readonly transactions: (readonly Operation[])[] = [];
  /** Lock that this client holds. */
  lock: string | undefined;
  /** Table columns that this server lacks, as `Table.column`. */
  readonly missing = new Set<string>();
  /** Called before each transaction: may change the database first, or answer in the server's place. */
  intercept: ((operations: readonly Operation[]) => Outcome | undefined) | undefined;
  #contents: Contents;
  readonly #listeners = new Set<(changes: ReplicaChanges) => void>();
  #referrers: { readonly sequence: number; readonly by: Map<string, Referrer[]> } | undefined;

  constructor(schema: DatabaseSchema) {
    this.schema = schema;
    this.#contents = new Map([...schema.tables.keys()].map((name) => [name, new Map()]));
  }

  hasTable(table: string): boolean {
    return this.schema.tables.has(table);
  }

  hasColumn(table: string, column: string): boolean {
    return (
      this.schema.tables.get(table)?.columns.has(column) === true &&
      !this.missing.has(`${table}.${column}`)
    );
  }

  access(table: string, column: string): ColumnAccess {
    return this.hasColumn(table, column) ? 'followed' : 'missing';
  }

  type(table: string, column: string): ColumnType {
    const type = this.schema.tables.get(table)?.columns.get(column)?.type;
    if (type === undefined) throw new OvsdbError('unknown column', `${table}.${column}`);
    return type;
  }

  columnsOf(table: string, uuid: string): Columns | undefined {
    return this.#contents.get(table)?.get(uuid);
  }

  size(table: string): number {
    return this.#contents.get(table)?.size ?? 0;
  }

  rows(table: string): readonly ReplicaRow[] {
    return [...(this.#contents.get(table)?.keys() ?? [])].map(
      (uuid) => new MemoryRow(this, table, uuid),
    );
  }

  row(table: string, uuid: string): ReplicaRow | undefined {
    return this.columnsOf(table, uuid) === undefined ? undefined : new MemoryRow(this, table, uuid);
  }

  find(): readonly ReplicaRow[] {
    throw new Error('the double has no indexes');
  }

  referrers(table: string, uuid: string): readonly Referrer[] {
    if (this.#referrers?.sequence !== this.sequence) {
      const by = new Map<string, Referrer[]>();
      for (const { from, to } of references(this.schema, this.#contents)) {
        const key = `${to.table} ${to.uuid}`;
        const list = by.get(key) ?? [];
        if (!list.some((r) => r.uuid === from.uuid && r.column === from.column)) {
          by.set(key, [...list, from]);
        }
      }
      this.#referrers = { sequence: this.sequence, by };
    }
    return this.#referrers.by.get(`${table} ${uuid}`) ?? [];
  }

  subscribe(listener: (changes: ReplicaChanges) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Changes the database as another client would; throws when it is refused. Returns UUIDs of inserted rows. */
  write(...operations: readonly Operation[]): readonly string[] {
    const outcome = this.#execute(operations);
    if (outcome.kind !== 'success') throw new Error(JSON.stringify(outcome));
    return outcome.results.flatMap((r) =>
      Array.isArray(r.uuid) ? [(r.uuid as readonly string[])[1] as string] : [],
    );
  }

  transact(operations: readonly Operation[]): Promise<Outcome> {
    this.transactions.push(operations);
    return Promise.resolve(this.intercept?.(operations) ?? this.#execute(operations));
  }

  #execute(operations: readonly Operation[]): Outcome {
    const before = this.#contents;
    this.#contents = new Map([...before].map(([name, rows]) => [name, new Map(rows)]));
    const results: OperationResult[] = [];
    for (const [i, operation] of operations.entries()) {
      try {
        if (operation.op === 'assert' && operation.lock !== this.lock) {
          this.#contents = before;
          return { kind: 'not-locked', lock: operation.lock };
        }
        results.push(this.#carryOut(operation));
      } catch (error) {
        this.#contents = before;
        if (!(error instanceof OvsdbError)) throw error;
        return { kind: 'error', error: error.code, details: error.details, operation: i };
      }
    }
    try {
      this.#finish(before);
    } catch (error) {
      this.#contents = before;
      if (!(error instanceof OvsdbError)) throw error;
      return { kind: 'error', error: error.code, details: error.details };
    }
    return { kind: 'success', results };
  }

  #carryOut(operation: Operation): OperationResult {
    switch (operation.op) {
      case 'insert':
        return this.#insert(operation.table, operation.row, operation.uuid);
      case 'update': {
        const found = this.#where(operation.table, operation.where);
        for (const uuid of found)
          this.#put(operation.table, uuid, this.#parse(operation.table, operation.row));
        return { count: found.length };
      }
      case 'mutate': {
        const found = this.#where(operation.table, operation.where);
        for (const uuid of found) this.#mutate(operation.table, uuid, operation.mutations);
        return { count: found.length };
      }
      case 'delete': {
        const found = this.#where(operation.table, operation.where);
        for (const uuid of found) this.#contents.get(operation.table)?.delete(uuid);
        return { count: found.length };
      }
      case 'assert':
      case 'comment':
        return {};
      case 'select': {
        const names = operation.columns ?? [];
        const found = this.#where(operation.table, operation.where);
        return {
          rows: found.map((uuid) =>
            Object.fromEntries(
              names.map((name) => {
                const type = this.type(operation.table, name);
                const value = this.columnsOf(operation.table, uuid)?.get(name);
                return [name, datumToJson(type, value ?? defaultDatum(type))];
              }),
            ),
          ),
        };
      }
      case 'wait': {
        const isThere = this.#where(operation.table, operation.where).length > 0;
        if (operation.rows.length > 0 || operation.until !== '==')
          throw new OvsdbError('syntax error', 'the double only waits until no row matches');
        if (isThere) throw new OvsdbError('timed out', `a row of ${operation.table} is there`);
        return {};
      }
      case 'commit':
      case 'abort':
        throw new OvsdbError('syntax error', `the double does not know ${operation.op}`);
    }
  }

  #parse(table: string, row: WireRow): Columns {
    return new Map(
      Object.entries(row).map(([name, value]) => [name, parseDatum(this.type(table, name), value)]),
    );
  }

  #insert(table: string, row: WireRow, given: string | undefined): OperationResult {
    const rows = this.#contents.get(table);
    const uuid = given ?? crypto.randomUUID();
    if (rows === undefined) throw new OvsdbError('unknown table', table);
    if (rows.has(uuid)) throw new OvsdbError('duplicate uuid', uuid);
    rows.set(uuid, this.#parse(table, row));
    return { uuid: ['uuid', uuid] };
  }

  #put(table: string, uuid: string, columns: Columns): void {
    const before = this.columnsOf(table, uuid) ?? new Map<string, Datum>();
    this.#contents.get(table)?.set(uuid, new Map([...before, ...columns]));
  }

  #where(table: string, where: readonly Clause[]): readonly string[] {
    return [...(this.#contents.get(table)?.entries() ?? [])]
      .filter(([uuid, columns]) =>
        where.every((clause) => {
          if (typeof clause === 'boolean') return clause;
          const [column, , value] = clause;
          if (column === '_uuid') return Array.isArray(value) && value[1] === uuid;
          const type = this.type(table, column);
          return datumEquals(columns.get(column) ?? defaultDatum(type), parseDatum(type, value));
        }),
      )
      .map(([uuid]) => uuid);
  }

  #mutate(table: string, uuid: string, mutations: readonly Mutation[]): void {
    for (const [name, mutator, value] of mutations) {
      const type = this.type(table, name);
      const any = { ...type, min: 0, max: Infinity } as const;
      const before = this.columnsOf(table, uuid)?.get(name) ?? defaultDatum(type);
      if (mutator === '+=') {
        this.#put(table, uuid, new Map([[name, Number(before) + Number(value)]]));
        continue;
      }
      if (mutator !== 'insert' && mutator !== 'delete')
        throw new OvsdbError('unknown mutator', mutator);
      const isKeySet = type.value !== undefined && Array.isArray(value) && value[0] === 'set';
      const isBareKey = type.value !== undefined && !Array.isArray(value);
      const keys = { key: type.key, min: 0, max: Infinity } as const;
      const argument = parseDatum(isKeySet || isBareKey ? keys : any, value);
      const after =
        type.value === undefined
          ? changedSet(before, argument, mutator)
          : changedMap(before, argument, mutator);
      this.#put(table, uuid, new Map([[name, toDatum(type, after)]]));
    }
  }

  /** Commits, then tells listeners. */
  #finish(before: Contents): void {
    enforceConstraints(this.schema, this.#contents);
    const tables = new Map<string, TableChanges>();
    for (const [table, rows] of this.#contents) {
      const changes = this.#changes(table, before.get(table) ?? new Map(), rows);
      if (changes.length > 0) tables.set(table, { table, rows: changes });
    }
    if (tables.size === 0) return;
    this.sequence += 1;
    for (const listener of this.#listeners) listener({ sequence: this.sequence, tables });
  }

  #changes(
    table: string,
    before: ReadonlyMap<string, Columns>,
    after: ReadonlyMap<string, Columns>,
  ): readonly RowChange[] {
    const names = [...(this.schema.tables.get(table)?.columns.keys() ?? [])];
    const value = (columns: Columns, name: string): Datum =>
      columns.has(name) ? columns.get(name) : defaultDatum(this.type(table, name));
    const result: RowChange[] = [];
    for (const [uuid, old] of before) {
      const now = after.get(uuid);
      if (now === old) continue;
      const changed = names.filter(
        (name) => now === undefined || !datumEquals(value(old, name), value(now, name)),
      );
      if (changed.length === 0) continue;
      result.push({
        kind: now === undefined ? 'deleted' : 'modified',
        uuid: uuid as Uuid,
        old: new Map(changed.map((name) => [name, value(old, name)])),
      });
    }
    for (const uuid of after.keys()) {
      if (!before.has(uuid)) result.push({ kind: 'inserted', uuid: uuid as Uuid, old: new Map() });
    }
    return result;
  }
}

function changedSet(before: Datum, argument: Datum, mutator: 'insert' | 'delete'): Writable {
  const [old, change] = [new Set(members(before)), new Set(members(argument))];
  return [...(mutator === 'insert' ? old.union(change) : old.difference(change))];
}

function changedMap(before: Datum, argument: Datum, mutator: 'insert' | 'delete'): Writable {
  const result = new Map(before instanceof Map ? (before as ReadonlyMap<Atom, Atom>) : []);
  if (mutator === 'insert') {
    if (!(argument instanceof Map)) throw new OvsdbError('syntax error', 'a map takes pairs');
    for (const [k, v] of argument as ReadonlyMap<Atom, Atom>) if (!result.has(k)) result.set(k, v);
  } else if (argument instanceof Map) {
    for (const [k, v] of argument as ReadonlyMap<Atom, Atom>)
      if (result.get(k) === v) result.delete(k);
  } else for (const key of members(argument)) result.delete(key);
  return result;
}
