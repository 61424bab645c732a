import { isObject } from '../data/json.ts';
import type { Clause, Operation } from '../data/operation.ts';
import type { JsonValue } from '../data/value.ts';

/** What is to be known of a transaction before it goes in one request with others, whatever the schema. */
export interface Traits {
  /** At least one. */
  readonly operations: number;
  /** Characters of their text, more or less. */
  readonly size: number;
  /**
   * `alone`: in a request of its own. It aborts or asserts, which is for the whole request, or does what is not known here. `unawaited`: the same,
   * and nobody waits for its answer: the server may hold it back for long.
   */
  readonly company: 'any' | 'alone' | 'unawaited';
  /** It is to be on disk before the answer. */
  readonly isDurable: boolean;
  /** It names rows of its own, which are known by their names in the whole request. */
  readonly hasNames: boolean;
}

/** Looks once at each value of a transaction. */
class Survey {
  size = 0;
  company: Traits['company'] = 'any';
  isDurable = false;
  hasNames = false;

  #value(json: JsonValue | undefined): void {
    if (typeof json === 'string') this.size += json.length + 3;
    else if (Array.isArray(json)) {
      if (json[0] === 'named-uuid') this.hasNames = true;
      this.size += 2;
      for (const member of json as readonly JsonValue[]) this.#value(member);
    } else if (typeof json === 'object' && json !== null) {
      this.size += 2;
      for (const name of Object.keys(json)) {
        this.size += name.length + 4;
        this.#value((json as { readonly [name: string]: JsonValue })[name]);
      }
    } else this.size += typeof json === 'bigint' ? 20 : 8;
  }

  operation(operation: Operation): void {
    this.#value(operation);
    if (!isWellFormed(operation)) {
      this.#alone();
      return;
    }
    switch (operation.op) {
      case 'insert':
        if (operation['uuid-name'] !== undefined) this.hasNames = true;
        return;
      case 'wait':
        if (operation.timeout !== 0) this.company = 'unawaited';
        return;
      case 'commit':
        if (operation.durable) this.isDurable = true;
        return;
      case 'abort':
      case 'assert':
        this.#alone();
        return;
      case 'select':
      case 'update':
      case 'mutate':
      case 'delete':
      case 'comment':
    }
  }

  #alone(): void {
    if (this.company === 'any') this.company = 'alone';
  }
}

/** True when the operation is one that is known here, and its members are such that they can be looked into. */
function isWellFormed(operation: Operation): boolean {
  if (!isObject(operation)) return false;
  switch (operation.op) {
    case 'insert': {
      const name: unknown = operation['uuid-name'];
      return isObject(operation.row) && (name === undefined || typeof name === 'string');
    }
    case 'update':
      return hasClauses(operation) && isObject(operation.row);
    case 'mutate':
      return hasClauses(operation) && areTriples(operation.mutations);
    case 'wait':
      return (
        hasClauses(operation) && Array.isArray(operation.rows) && operation.rows.every(isObject)
      );
    case 'select':
    case 'delete':
      return hasClauses(operation);
    case 'comment':
    case 'commit':
    case 'abort':
    case 'assert':
      return true;
    default:
      return false;
  }
}

const hasClauses = ({ where }: { readonly where: readonly Clause[] }): boolean =>
  areTriples(where, 'boolean');

const areTriples = (json: unknown, beside?: string): boolean =>
  Array.isArray(json) &&
  json.every((member) => (Array.isArray(member) ? member.length === 3 : typeof member === beside));

/** Throws a `RangeError` for a value that contains itself. */
export function traitsOf(operations: readonly Operation[]): Traits {
  const survey = new Survey();
  for (const operation of operations) survey.operation(operation);
  const { size, company, isDurable, hasNames } = survey;
  return { operations: Math.max(1, operations.length), size, company, isDurable, hasNames };
}
