import type { Operation, Outcome } from '../operation.ts';
import type { JsonValue } from '../value.ts';
import type { Connection } from './connection.ts';
import { outcomeOf } from './outcome.ts';

/** Sends a transaction once. Rejects only with the signal's reason: it may then have been applied or not. */
export function transactOver(
  connection: Connection,
  database: string,
  operations: readonly Operation[],
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      connection.notify('cancel', [id]);
      reject(signal?.reason as Error);
    };
    const done = (outcome: Outcome): void => {
      signal?.removeEventListener('abort', abort);
      resolve(outcome);
    };
    const id = connection.request(
      'transact',
      [database, ...(operations as unknown as readonly JsonValue[])],
      ({ result, error }) => {
        done(outcomeOf(operations, result, error));
      },
      (error) => {
        done({ kind: 'unknown', reason: error.message });
      },
    );
    signal?.addEventListener('abort', abort);
  });
}
