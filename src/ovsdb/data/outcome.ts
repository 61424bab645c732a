import { OvsdbError } from './error.ts';
import type { OperationResult, Outcome } from './operation.ts';

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
