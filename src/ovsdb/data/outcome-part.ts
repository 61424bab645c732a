import type { Outcome } from './operation.ts';

/**
 * The outcome of the operations from `from` up to, without it, `end` of those that were sent: their results, and positions counted from `from` on.
 * The position of an operation before them is left as it is.
 */
export function outcomePart(outcome: Outcome, from: number, end?: number): Outcome {
  switch (outcome.kind) {
    case 'success':
    case 'aborted':
      return { ...outcome, results: outcome.results.slice(from, end) };
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
