import { OvsdbError } from '../data/error.ts';
import { InsertedRow, keyOf, whereIs, type RowToChange } from './inserted-row.ts';
import type { Clause, Mutation, Operation, OperationResult } from '../data/operation.ts';
import { parseUuid } from '../data/uuid.ts';
import { NamedUuid } from '../data/value.ts';
import type { Integer, JsonValue, Uuid, Writable, WritableAtom } from '../data/value.ts';

/** What is to be done to one row. */
export interface RowChanges {
  readonly table: string;
  readonly row: RowToChange;
  readonly columns: Map<string, JsonValue>;
  mutations: Mutation[];
  isDeleted: boolean;
}

/** Columns of one row that must be as they were read. */
interface Wait {
  readonly table: string;
  readonly uuid: string;
  readonly columns: Map<string, JsonValue>;
}

/** A counter to be raised, and what it became. */
export interface Increment {
  readonly table: string;
  readonly row: RowToChange;
  readonly column: string;
  position: number;
  value: Integer | undefined;
}

/** What a transaction is to do, as far as it was built: changes by row, checked already, from which the operations are composed. */
export class TransactionDraft {
  /** Guards, before everything else. */
  readonly before: Extract<Operation, { op: 'wait' }>[] = [];
  readonly #inserts: Operation[] = [];
  readonly #inserted: InsertedRow[] = [];
  readonly #rows = new Map<string, RowChanges>();
  readonly #waits = new Map<string, Wait>();
  readonly increments: Increment[] = [];
  /** Operations as they are, after all others. */
  readonly raw: Operation[] = [];
  readonly comments: string[] = [];
  isDryRun = false;
  isDurable = false;

  /** Adds a new row. */
  insert(
    table: string,
    row: { readonly [column: string]: JsonValue },
    uuid: Uuid | undefined,
  ): InsertedRow {
    const position = this.#inserts.length;
    const inserted = new InsertedRow(table, `row${position}`, position, uuid);
    this.#inserted.push(inserted);
    this.#inserts.push({
      op: 'insert',
      table,
      row,
      ...(uuid === undefined ? { 'uuid-name': inserted.name } : { uuid }),
    });
    return inserted;
  }

  /**
   * A row that an earlier transaction inserted, or that was given a UUID, as its UUID: names of new rows are known in their own transaction
   * alone. Throws `bad argument` for one of another transaction that was not committed.
   */
  own<A>(row: A): A | Uuid {
    if (!(row instanceof InsertedRow)) return row;
    return row.isKnown || this.#inserted[row.position] !== row ? row.uuid : row;
  }

  /** A value whose rows are given as their UUIDs where these are known. */
  ownValue(value: Writable): Writable {
    const isForeign = (member: unknown): boolean => this.own(member) !== member;
    if (value instanceof InsertedRow) return this.own(value);
    if (Array.isArray(value) || value instanceof Set) {
      const members = [...(value as Iterable<WritableAtom>)];
      return members.some(isForeign) ? members.map((member) => this.own(member)) : value;
    }
    if (value === null || typeof value !== 'object' || value instanceof NamedUuid) return value;
    const pairs: readonly (readonly [WritableAtom, WritableAtom])[] =
      value instanceof Map ? [...value] : Object.entries(value);
    return pairs.some((pair) => pair.some(isForeign))
      ? new Map(pairs.map(([key, member]) => [this.own(key), this.own(member)]))
      : value;
  }

  /** The row to change. Throws `bad argument` for what is none, such as a row of the replica: its `name` would be taken for that of a new row. */
  rowToChange(reference: RowToChange): RowToChange {
    const row: unknown = this.own(reference);
    if (row instanceof InsertedRow) return row;
    if (typeof row !== 'string')
      throw new OvsdbError(
        'bad argument',
        `a row to change is given by its UUID (row.uuid), or as what insert returned, not as ${row === null ? 'null' : Array.isArray(row) ? 'a list' : typeof row === 'object' ? 'an object' : `a value of type ${typeof row}`}`,
      );
    if (parseUuid(row) === undefined)
      throw new OvsdbError('bad argument', `"${row}" is not a UUID`);
    return row;
  }

  /** The changes of a row so far, to be added to. */
  changes(table: string, row: RowToChange): RowChanges {
    const key = keyOf(table, row);
    let changes = this.#rows.get(key);
    if (changes === undefined) {
      changes = { table, row, columns: new Map(), mutations: [], isDeleted: false };
      this.#rows.set(key, changes);
    }
    return changes;
  }

  /** The verified columns of a row so far, to be added to. */
  verified(table: string, uuid: string): Map<string, JsonValue> {
    const key = keyOf(table, uuid);
    let wait = this.#waits.get(key);
    if (wait === undefined) {
      wait = { table, uuid, columns: new Map() };
      this.#waits.set(key, wait);
    }
    return wait.columns;
  }

  #rowOperations(): Operation[] {
    return [...this.#rows.values()].flatMap((changes): Operation[] => {
      const { table, row, columns, mutations, isDeleted } = changes;
      const where = whereIs(row);
      if (isDeleted) return [{ op: 'delete', table, where }];
      return [
        ...(columns.size === 0
          ? []
          : [{ op: 'update', table, where, row: Object.fromEntries(columns) } as const]),
        ...(mutations.length === 0 ? [] : [{ op: 'mutate', table, where, mutations } as const]),
      ];
    });
  }

  /** Guards come before the deletes and must pass over their rows, which are still there. */
  #guards(): Operation[] {
    return this.before.map((guard) => ({
      ...guard,
      where: [
        ...guard.where,
        ...[...this.#rows.values()].flatMap(({ table, row, isDeleted }): Clause[] =>
          isDeleted && table === guard.table && typeof row === 'string'
            ? [['_uuid', '!=', ['uuid', row]]]
            : [],
        ),
      ],
    }));
  }

  #waitOperations(): Operation[] {
    return [...this.#waits.values()].map(({ table, uuid, columns }) => ({
      op: 'wait',
      table,
      timeout: 0,
      where: [['_uuid', '==', ['uuid', uuid]]],
      columns: [...columns.keys()],
      until: '==',
      rows: [Object.fromEntries(columns)],
    }));
  }

  /** True when nothing would be sent. */
  get isEmpty(): boolean {
    return (
      this.#inserts.length === 0 && this.raw.length === 0 && this.#rowOperations().length === 0
    );
  }

  /** The operations in order, and the position of the first insert among them. */
  compose(): { readonly operations: readonly Operation[]; readonly firstInsert: number } {
    const before = [...this.#guards(), ...this.#waitOperations()];
    const operations: Operation[] = [...before, ...this.#inserts, ...this.#rowOperations()];
    for (const increment of this.increments) {
      increment.position = operations.length;
      operations.push({
        op: 'select',
        table: increment.table,
        where: whereIs(increment.row),
        columns: [increment.column],
      });
    }
    operations.push(...this.raw);
    if (this.comments.length > 0)
      operations.push({ op: 'comment', comment: this.comments.join('\n') });
    if (this.isDurable) operations.push({ op: 'commit', durable: true });
    if (this.isDryRun) operations.push({ op: 'abort' });
    return { operations, firstInsert: before.length };
  }

  /** Takes from the results the UUIDs of new rows and the values of counters. */
  settle(results: readonly OperationResult[], firstInsert: number): void {
    for (const row of this.#inserted) {
      const uuid = (
        results[firstInsert + row.position]?.uuid as readonly [string, string] | undefined
      )?.[1];
      if (uuid !== undefined) row.settle(uuid as Uuid);
    }
    for (const increment of this.increments) {
      increment.value = results[increment.position]?.rows?.[0]?.[increment.column] as
        | Integer
        | undefined;
    }
  }
}
