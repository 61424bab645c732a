import type { Outcome } from './operation.ts';

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
