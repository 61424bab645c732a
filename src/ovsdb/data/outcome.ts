import { errorText, OvsdbError } from './error.ts';
import { isObject } from './json.ts';
import type { Operation, OperationResult, Outcome } from './operation.ts';
import { isUuid } from './uuid.ts';
import type { JsonValue } from './value.ts';

/** An outcome, for those to whom anything but success is an exception as well. */
export type CheckedOutcome = Outcome & {
  /** The results of the operations, none when there was nothing to do. Throws an `OutcomeError` when it was not committed, or that is unknown. */
  orThrow(): readonly OperationResult[];
};

/** A transaction that was not committed, or whose end is unknown. `isRetryable` tells whether the same intent may succeed later. */
export class OutcomeError extends OvsdbError {
  readonly outcome: Exclude<Outcome, { readonly kind: 'success' | 'unchanged' }>;

  constructor(outcome: OutcomeError['outcome']) {
    super(...codeAndDetails(outcome));
    this.outcome = outcome;
  }
}

function codeAndDetails(outcome: OutcomeError['outcome']): [OvsdbError['code'], string] {
  switch (outcome.kind) {
    case 'try-again':
      // An operation that did not hold in time, or a server that could not be asked.
      return [outcome.operation === undefined ? 'disconnected' : 'timed out', outcome.reason];
    case 'not-locked':
      return ['not owner', `the lock ${outcome.lock} is not held`];
    case 'aborted':
      return ['aborted', 'the transaction was aborted on request'];
    case 'unknown':
      return ['disconnected', `committed or not: ${outcome.reason}`];
    case 'error': {
      const { error, details, operation, table } = outcome;
      const where = operation === undefined ? '' : ` (operation ${operation}`;
      const of = where === '' ? '' : table === undefined ? ')' : `, table ${table})`;
      return ['rpc error', `${error}: ${details}${where}${of}`];
    }
  }
}

/** The results of a transaction; throws an `OutcomeError` when it was not committed, or that is unknown. */
export function resultsOf(outcome: Outcome): readonly OperationResult[] {
  if (outcome.kind === 'success') return outcome.results;
  if (outcome.kind === 'unchanged') return [];
  throw new OutcomeError(outcome);
}

export const checked = (outcome: Outcome): CheckedOutcome =>
  Object.defineProperty({ ...outcome }, 'orThrow', {
    value: () => resultsOf(outcome),
  }) as CheckedOutcome;

/**
 * The outcome of the operations from `from` on of those that were sent: their results, and positions counted from there.
 * The position of an operation before them is left as it is.
 */
export function outcomePart(outcome: Outcome, from: number): Outcome {
  switch (outcome.kind) {
    case 'success':
    case 'aborted':
      return { ...outcome, results: outcome.results.slice(from) };
    case 'try-again':
    case 'error':
      return outcome.operation === undefined || outcome.operation < from
        ? outcome
        : { ...outcome, operation: outcome.operation - from };
    case 'unchanged':
    case 'not-locked':
    case 'unknown':
      return outcome;
  }
}

/** Words of the server after which the same transaction may succeed later, or on another server. */
const TRY_AGAIN: readonly string[] = [
  'timed out',
  'canceled',
  'database not available',
  'unknown database',
  'cluster error',
];

interface Failure {
  readonly error: string;
  readonly details: string;
}

function failureOf(json: JsonValue | undefined): Failure | undefined {
  if (!isObject(json) || typeof json['error'] !== 'string') return undefined;
  const details = typeof json['details'] === 'string' ? json['details'] : '';
  // The operating system's message; beside the details of an `I/O error`.
  const cause = json['io-error'];
  return {
    error: json['error'],
    details: typeof cause === 'string' ? `${details}: ${cause}` : details,
  };
}

const lockOf = (operation: Operation | undefined): string =>
  operation?.op === 'assert' ? operation.lock : '';

const tableOf = (operation: Operation | undefined): string | undefined =>
  operation !== undefined && 'table' in operation ? operation.table : undefined;

/**
 * What the server's reply to a transaction means. `operations` are those that were sent. `passesOn`: the server forwards transactions, as
 * a relay or the member of a cluster does, and may have forwarded one that it then cancels.
 */
export function outcomeOf(
  operations: readonly Operation[],
  result: JsonValue | undefined,
  error: JsonValue | undefined,
  passesOn = false,
): Outcome {
  if (error !== undefined) {
    if (error === 'canceled' && passesOn) {
      return { kind: 'unknown', reason: 'the server canceled it, perhaps too late' };
    }
    const text = typeof error === 'string' ? error : (failureOf(error)?.error ?? '');
    if (TRY_AGAIN.includes(text)) return { kind: 'try-again', reason: errorText(error) };
    const failure = failureOf(error);
    return failure === undefined
      ? { kind: 'error', error: text === '' ? 'rpc error' : text, details: errorText(error) }
      : { kind: 'error', ...failure };
  }
  if (!Array.isArray(result)) {
    return {
      kind: 'error',
      error: 'protocol',
      details: 'the reply to a transaction is not an array',
    };
  }
  const results = result as readonly JsonValue[];
  const at = results.findIndex((member) => failureOf(member) !== undefined);
  if (at === -1) return succeeded(operations, results);
  // One member more than operations: the commit as a whole was refused.
  return refused(operations, results, at);
}

/** No member is an error. One that is null was not carried out all the same, as after an error. */
function succeeded(operations: readonly Operation[], results: readonly JsonValue[]): Outcome {
  const operation = results.findIndex((member) => !isObject(member));
  if (operation === -1) {
    const missing = whatIsMissing(operations, results as readonly OperationResult[]);
    return missing === undefined
      ? { kind: 'success', results: results as readonly OperationResult[] }
      : { kind: 'unknown', reason: `the server's answer can't be right: ${missing}` };
  }
  if (results[operation] === null)
    return { kind: 'try-again', reason: 'the server did not carry it out', operation };
  return {
    kind: 'error',
    error: 'protocol',
    details: 'the result of an operation is not an object',
    operation,
  };
}

/** What the reply of a server that carried out these operations would have besides (RFC 7047 §5.2). */
function whatIsMissing(
  operations: readonly Operation[],
  results: readonly OperationResult[],
): string | undefined {
  const [asked, given] = [operations.length, results.length];
  if (asked !== given) return `${counted(given, 'result')} for ${counted(asked, 'operation')}`;
  const insert = operations.findIndex(({ op }, n) => op === 'insert' && !hasUuid(results[n]));
  return insert === -1 ? undefined : `no UUID of the row that operation ${insert} inserts`;
}

const counted = (count: number, what: string): string =>
  `${count} ${what}${count === 1 ? '' : 's'}`;

function hasUuid(result: OperationResult | undefined): boolean {
  const uuid = result?.uuid;
  return Array.isArray(uuid) && uuid.length === 2 && uuid[0] === 'uuid' && isUuid(uuid[1]);
}

function refused(
  operations: readonly Operation[],
  results: readonly JsonValue[],
  at: number,
): Outcome {
  const failure = failureOf(results[at]) as Failure;
  const operation = operations[at];
  const position = operation === undefined ? {} : { operation: at };
  if (TRY_AGAIN.includes(failure.error)) {
    return { kind: 'try-again', reason: `${failure.error}: ${failure.details}`, ...position };
  }
  if (failure.error === 'not owner') return { kind: 'not-locked', lock: lockOf(operation) };
  if (failure.error === 'aborted') {
    return {
      kind: 'aborted',
      results: results.slice(0, at) as unknown as readonly OperationResult[],
    };
  }
  const table = tableOf(operation);
  return { kind: 'error', ...failure, ...position, ...(table === undefined ? {} : { table }) };
}
