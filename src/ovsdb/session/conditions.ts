import { parseCondition, readClause } from '../data/condition.ts';
import { OvsdbError, shorten, syntaxError } from '../data/error.ts';
import { jsonEquals } from '../data/json.ts';
import type { TableSchema } from '../data/schema.ts';
import type { Clause } from '../data/operation.ts';
import type { JsonObject, JsonValue } from '../data/value.ts';

type Conditions = ReadonlyMap<string, readonly Clause[]>;

/** A monitor's conditions: those that are wanted, requested of the server, and acknowledged by it. One change is under way at a time. */
export class MonitorConditions {
  #wanted: Conditions;
  #requested: Conditions | undefined;
  #acknowledged: Conditions;

  constructor(initial: Conditions) {
    this.#wanted = initial;
    this.#acknowledged = initial;
  }

  set(table: string, where: readonly Clause[]): void {
    this.#wanted = new Map([...this.#wanted, [table, where]]);
  }

  /** Adds conditions of tables that have none yet, before the contents are asked for. */
  begin(initial: Conditions): void {
    if (initial.size === 0) return;
    this.#wanted = new Map([...this.#wanted, ...initial]);
    this.#acknowledged = new Map([...this.#acknowledged, ...initial]);
  }

  /** True when the server works with what is wanted. */
  get isSettled(): boolean {
    return this.#requested === undefined && same(this.#wanted, this.#acknowledged);
  }

  /** What became of a condition that was set: it is in effect, or a later one replaced it before the server had it; undefined: not yet known. */
  state(table: string, where: readonly Clause[]): 'in effect' | 'replaced' | undefined {
    if (this.#acknowledged.get(table) === where) return 'in effect';
    const isPending = this.#wanted.get(table) === where || this.#requested?.get(table) === where;
    return isPending ? undefined : 'replaced';
  }

  get wanted(): Conditions {
    return this.#wanted;
  }

  get acknowledged(): Conditions {
    return this.#acknowledged;
  }

  /**
   * Requests of a `monitor_cond_change`, if one may and must be sent now. `forServer` translates a condition for a server that lacks
   * columns; undefined: it lacks the table.
   */
  takeChange(
    forServer: (table: string, where: readonly Clause[]) => readonly Clause[] | undefined,
  ): JsonObject | undefined {
    if (this.#requested !== undefined) return undefined;
    const requests: { [table: string]: JsonValue } = {};
    for (const [table, wanted] of this.#wanted) {
      if (equal(wanted, this.#acknowledged.get(table))) continue;
      const where = forServer(table, wanted);
      if (where !== undefined) requests[table] = [{ where: plain(where) as JsonValue }];
    }
    if (Object.keys(requests).length === 0) {
      this.#acknowledged = this.#wanted;
      return undefined;
    }
    this.#requested = this.#wanted;
    return requests;
  }

  /** The change that was under way is in effect. */
  acknowledge(): void {
    if (this.#requested === undefined) return;
    this.#acknowledged = this.#requested;
    this.#requested = undefined;
  }

  /** The change that was under way was refused: it is not tried again, what is wanted since then is. Returns the refused conditions. */
  refuse(): Conditions {
    const acknowledged = this.#acknowledged;
    const refused = new Map(
      [...(this.#requested ?? [])].filter(
        ([table, where]) => !equal(where, acknowledged.get(table)),
      ),
    );
    this.#requested = undefined;
    this.#wanted = new Map(
      [...this.#wanted].map(([table, where]) =>
        where === refused.get(table) ? [table, acknowledged.get(table) ?? []] : [table, where],
      ),
    );
    return refused;
  }

  /**
   * The connection is new. Returns false when a change was under way: what the server last worked with is then unknown, so the contents
   * must be loaded anew, at once with what is wanted.
   */
  reconnect(): boolean {
    if (this.#requested === undefined) return true;
    this.#requested = undefined;
    this.#acknowledged = this.#wanted;
    return false;
  }

  /** The contents will be loaded anew, with what is wanted. */
  restart(): void {
    this.#requested = undefined;
    this.#acknowledged = this.#wanted;
  }
}

/**
 * The shortest condition with the same rows: ovsdb-server 3.5 takes `false` twice beside a `true` for no rows at all.
 */
export function plain(where: readonly Clause[]): readonly Clause[] {
  if (where.includes(true)) return [true];
  const clauses = where.filter((clause) => clause !== false);
  return clauses.length === 0 && where.length > 0 ? [false] : clauses;
}

const equal = (a: readonly Clause[] | undefined, b: readonly Clause[] | undefined): boolean =>
  jsonEquals(a ?? [], b ?? []);

const same = (a: Conditions, b: Conditions): boolean =>
  [...new Set([...a.keys(), ...b.keys()])].every((table) => equal(a.get(table), b.get(table)));

/**
 * Checks the rows that a program wants of a table, as the server will. Without a schema only the form of the clauses can be looked at.
 * Throws what `parseCondition` throws, with the names of table and column and the clause.
 */
export function checkCondition(
  table: string,
  where: JsonValue,
  schema: TableSchema | undefined,
): void {
  if (!Array.isArray(where)) {
    throw syntaxError(`the condition of table ${table} must be a list of clauses`, where);
  }
  for (const clause of where as readonly JsonValue[]) {
    try {
      if (schema !== undefined) parseCondition(schema, [clause]);
      else if (typeof clause !== 'boolean') readClause(clause);
    } catch (error) {
      if (!(error instanceof OvsdbError)) throw error;
      const column = Array.isArray(clause) && typeof clause[0] === 'string' ? clause[0] : undefined;
      const what = `condition of table ${table}${column === undefined ? '' : `, column ${column}`}`;
      throw new OvsdbError(error.code, `${what}: ${error.details}`, {
        syntax: shorten(clause),
        cause: error,
      });
    }
  }
}
