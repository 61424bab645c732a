import type { AnyTables, InsertColumns, TableName, UpdateColumns } from '../schema/column.ts';
import { checked, type CheckedOutcome } from '../data/outcome.ts';
import { anyKeys, anyPairs, anySize, argumentType } from './column-part.ts';
import type { ColumnType } from '../data/column-type.ts';
import { datumToJson, writableToJson } from '../data/datum.ts';
import { located, OvsdbError } from '../data/error.ts';
import type { InsertedRow, RowToChange } from './inserted-row.ts';
import type { Clause, Mutator, Operation, TransactOptions, Transactor } from '../data/operation.ts';
import type { ReplicaView } from '../replica/replica-view.ts';
import { columnOf, tableOf, VERSION_COLUMN, type ColumnSchema } from '../data/schema.ts';
import { TransactionDraft, type Increment } from './transaction-draft.ts';
import type { Integer, JsonValue, Uuid, Writable } from '../data/value.ts';

/**
 * Builds a transaction step by step against a replica, checks it as it is built, and sends as little as it can: columns that
 * already have the value are left out, and nothing at all is sent when nothing would change. Each can be committed once;
 * to try again, build it anew from the newer replica.
 *
 * Throws when a step is impossible: `unknown table`, `unknown column`, `constraint violation`, `syntax error` (another type),
 * `read-only` (the server lacks the table or column).
 */
export class Transaction<T = AnyTables> {
  readonly #replica: ReplicaView;
  readonly #draft = new TransactionDraft();
  /** Columns that were written so far and can be, by table. */
  readonly #columns = new Map<string, Map<string, ColumnSchema>>();
  #isSent = false;

  constructor(replica: ReplicaView) {
    this.#replica = replica;
  }

  /** Called before each step. */
  #write(): void {
    if (!this.#isSent) return;
    throw new OvsdbError(
      'bad argument',
      'the transaction was committed, so this would be lost: build a new one',
    );
  }

  #column(table: string, name: string): ColumnSchema {
    this.#write();
    let columns = this.#columns.get(table);
    if (columns === undefined) {
      columns = new Map();
      this.#columns.set(table, columns);
    }
    let column = columns.get(name);
    if (column === undefined) {
      column = columnOf(tableOf(this.#replica.schema, table), name);
      if (this.#replica.access(table, name) === 'missing') {
        throw new OvsdbError('read-only', `the server has no column ${name} in table ${table}`);
      }
      columns.set(name, column);
    }
    return column;
  }

  /** A value for a column, or for a part of it when `typeOf` names another type. */
  #json(
    table: string,
    name: string,
    value: Writable,
    typeOf = (type: ColumnType): ColumnType => type,
  ): JsonValue {
    const { type } = this.#column(table, name);
    const hasRows = type.key.type === 'uuid' || type.value?.type === 'uuid';
    const own = hasRows ? this.#draft.ownValue(value) : value;
    return located(
      (details) => `column ${name} of table ${table}: ${details}`,
      () => writableToJson(typeOf(type), own),
    );
  }

  /** Inserts a row. `uuid`: the UUID that it shall have; otherwise the server chooses one. */
  insert<K extends TableName<T>>(
    table: K,
    columns: InsertColumns<T, K>,
    options: { readonly uuid?: Uuid } = {},
  ): InsertedRow {
    this.#write();
    tableOf(this.#replica.schema, table);
    const row: { [column: string]: JsonValue } = {};
    const values = columns as { readonly [column: string]: Writable };
    for (const name of Object.keys(values)) {
      const value = values[name];
      if (value === undefined) continue;
      if (name === VERSION_COLUMN.name) throw immutable(table, name);
      row[name] = this.#json(table, name, value);
    }
    return this.#draft.insert(table, row, options.uuid);
  }

  /** Overwrites columns of a row; those that have the value already are left out. */
  update<K extends TableName<T>>(
    table: K,
    reference: RowToChange,
    columns: UpdateColumns<T, K>,
  ): this {
    this.#write();
    const row = this.#draft.rowToChange(reference);
    const found = typeof row === 'string' ? this.#replica.row(table, row) : undefined;
    const values = Object.entries(columns as { readonly [column: string]: Writable });
    // First all values, then all changes: a value that is refused leaves the transaction as it is.
    const changed = values.map(([name, value]) => {
      const { mutable } = this.#column(table, name);
      const json = this.#json(table, name, value);
      const isKnown = this.#replica.access(table, name) === 'followed';
      const isSame = isKnown && found?.holds(name, value) === true;
      if (!isSame && !mutable) throw immutable(table, name);
      return { name, json, isSame };
    });
    for (const { name, json, isSame } of changed) {
      const changes = this.#draft.changes(table, row);
      // The last word counts: what was to be done to the column before is dropped.
      changes.mutations = changes.mutations.filter(([column]) => column !== name);
      if (isSame) changes.columns.delete(name);
      else changes.columns.set(name, json);
    }
    return this;
  }

  /** Deletes a row. One of a table that is not a root goes by itself when nothing refers to it any more. */
  delete(table: TableName<T>, row: RowToChange): this {
    this.#write();
    tableOf(this.#replica.schema, table);
    this.#draft.changes(table, this.#draft.rowToChange(row)).isDeleted = true;
    return this;
  }

  #mutation(
    table: string,
    row: RowToChange,
    column: string,
    mutator: Mutator,
    json: JsonValue,
  ): this {
    if (!this.#column(table, column).mutable) throw immutable(table, column);
    const { mutations } = this.#draft.changes(table, this.#draft.rowToChange(row));
    if (!isEmpty(json)) mutations.push([column, mutator, json]);
    return this;
  }

  /** Adds members to a set without sending the rest of it. */
  addToSet(table: TableName<T>, row: RowToChange, column: string, members: Writable): this {
    const json = this.#json(table, column, members, anySize);
    return this.#mutation(table, row, column, 'insert', json);
  }

  /** Removes members of a set. */
  removeFromSet(table: TableName<T>, row: RowToChange, column: string, members: Writable): this {
    const json = this.#json(table, column, members, anySize);
    return this.#mutation(table, row, column, 'delete', json);
  }

  /** Sets keys of a map, whatever they had before, without sending the rest of it. */
  setKeys(table: TableName<T>, row: RowToChange, column: string, pairs: Writable): this {
    const json = this.#json(table, column, pairs, anyPairs);
    const keys = (json as readonly [string, readonly (readonly [JsonValue, JsonValue])[]])[1].map(
      ([key]) => key,
    );
    // An insert leaves keys that are there as they are.
    this.#mutation(table, row, column, 'delete', ['set', keys]);
    return this.#mutation(table, row, column, 'insert', json);
  }

  /** Removes keys of a map. */
  removeKeys(
    table: TableName<T>,
    row: RowToChange,
    column: string,
    keys: readonly (string | number | bigint | boolean)[],
  ): this {
    return this.#mutation(table, row, column, 'delete', this.#json(table, column, keys, anyKeys));
  }

  /**
   * Any mutation: `+=`, `-=`, `*=`, `/=`, `%=` with a number; `insert` of members, or of pairs whose keys are not there; `delete` of
   * members, of keys, or of pairs that have this value.
   */
  mutate(
    table: TableName<T>,
    row: RowToChange,
    column: string,
    mutator: Mutator,
    value: Writable,
  ): this {
    const json = this.#json(table, column, value, argumentType(mutator, value));
    return this.#mutation(table, row, column, mutator, json);
  }

  /** Adds to a counter; `newValue` of the result is what it became, even when other clients add to it as well. */
  increment(
    table: TableName<T>,
    row: RowToChange,
    column: string,
    by = 1,
  ): { readonly newValue: Integer } {
    const { type } = this.#column(table, column);
    if (type.key.type !== 'integer')
      throw new OvsdbError('bad argument', `column ${column} of table ${table} is not an integer`);
    const own = this.#draft.rowToChange(row);
    const increment: Increment = { table, row: own, column, position: -1, value: undefined };
    this.mutate(table, own, column, '+=', by);
    this.#draft.increments.push(increment);
    return {
      get newValue(): Integer {
        if (increment.value === undefined)
          throw new OvsdbError('bad argument', `${column} was not incremented (yet)`);
        return increment.value;
      },
    };
  }

  /**
   * The commit fails with `try-again` unless these columns of a row are still as the replica has them. Of a row that this
   * transaction inserts nothing has to be verified.
   */
  verify(table: TableName<T>, reference: RowToChange, ...columns: readonly string[]): this {
    this.#write();
    const uuid = this.#draft.rowToChange(reference);
    if (typeof uuid !== 'string') return this;
    const row = this.#replica.row(table, uuid);
    if (row === undefined)
      throw new OvsdbError('row deleted', `row ${uuid} of table ${table} is not in the database`);
    const values = columns.map((column) => {
      if (this.#replica.access(table, column) === 'unseen') {
        throw new OvsdbError(
          'bad argument',
          `column ${column} of table ${table} is not followed: it can't be verified`,
        );
      }
      const { type } = this.#column(table, column);
      return [column, datumToJson(type, row.column(column))] as const;
    });
    const verified = this.#draft.verified(table, uuid);
    for (const [column, json] of values) verified.set(column, json);
    return this;
  }

  /**
   * The commit fails with `try-again` when the table has a row with these values that this transaction does not delete: it keeps two
   * writers from inserting the same thing where the schema has no index.
   */
  guardAbsent(table: TableName<T>, columns: { readonly [column: string]: Writable }): this {
    const row = Object.fromEntries(
      Object.entries(columns).map(([name, value]) => [name, this.#json(table, name, value)]),
    );
    this.#draft.before.push({
      op: 'wait',
      table,
      timeout: 0,
      where: Object.entries(row).map(([name, value]): Clause => [name, '==', value]),
      columns: Object.keys(row),
      until: '!=',
      rows: [row],
    });
    return this;
  }

  /** Inserts the only row of a table that has at most one, unless another is there by then. One that this transaction deletes does not count. */
  insertSingleton<K extends TableName<T>>(table: K, columns: InsertColumns<T, K>): InsertedRow {
    const row = this.insert(table, columns);
    this.#draft.before.push({
      op: 'wait',
      table,
      timeout: 0,
      where: [],
      columns: [],
      until: '==',
      rows: [],
    });
    return row;
  }

  /** A note for people: in the database's log, shown by `ovsdb-tool show-log`. */
  comment(text: string): this {
    this.#write();
    this.#draft.comments.push(text);
    return this;
  }

  /** Any operation as it is, after all others. */
  operation(operation: Operation): this {
    this.#write();
    this.#draft.raw.push(operation);
    return this;
  }

  /** The server checks everything and then drops it: the outcome is `aborted` when it would have succeeded. */
  dryRun(): this {
    this.#write();
    this.#draft.isDryRun = true;
    return this;
  }

  /** The reply comes only after the change is safely on disk. */
  durable(): this {
    this.#write();
    this.#draft.isDurable = true;
    return this;
  }

  /** True when nothing would be sent. */
  get isEmpty(): boolean {
    return this.#draft.isEmpty;
  }

  /** What will be sent, in order: guards and verifications, inserts, changes, increments' selects, raw operations, comment. */
  operations(): readonly Operation[] {
    return this.#draft.compose().operations;
  }

  /** Sends it; `unchanged` without a round trip when there is nothing to do. */
  async commit(transactor: Transactor, options: TransactOptions = {}): Promise<CheckedOutcome> {
    if (this.#isSent)
      throw new OvsdbError('bad argument', 'a transaction can be committed once: build a new one');
    this.#isSent = true;
    if (this.isEmpty) return checked({ kind: 'unchanged' });
    const { operations, firstInsert } = this.#draft.compose();
    const outcome = await transactor.transact(operations, options);
    if (outcome.kind === 'success') this.#draft.settle(outcome.results, firstInsert);
    return checked(outcome);
  }
}

/** Whether a mutation with this argument would do nothing. */
const isEmpty = (json: JsonValue): boolean =>
  Array.isArray(json) &&
  (json[0] === 'set' || json[0] === 'map') &&
  (json[1] as readonly JsonValue[]).length === 0;

const immutable = (table: string, column: string): OvsdbError =>
  new OvsdbError('constraint violation', `column ${column} of table ${table} is immutable`);
