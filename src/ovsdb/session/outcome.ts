import { isObject } from '../data/json.ts';
import type { Operation, OperationResult, Outcome } from '../data/operation.ts';
import { isUuid } from '../data/uuid.ts';
import type { JsonValue } from '../data/value.ts';
import { errorText } from './connection.ts';

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
  return {
    error: json['error'],
    details: typeof json['details'] === 'string' ? json['details'] : '',
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
