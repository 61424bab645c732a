import type { OvsdbClient } from '../client.ts';
import type { CheckedOutcome } from '../data/outcome.ts';
import type { TransactOptions } from '../data/operation.ts';
import type { ReplicaView } from '../replica/replica-view.ts';
import { Transaction } from './transaction.ts';

/** Milliseconds to wait for a change of the replica after a transaction that failed because of a change that is not in it yet. */
const PAUSE = 50;

/** Builds a transaction, which may be asynchronous, and sends it once. Rejects with what `build` throws, or with the signal's reason. */
export async function transact<T>(
  client: OvsdbClient<T>,
  build: (transaction: Transaction<T>) => unknown,
  options?: TransactOptions,
): Promise<CheckedOutcome> {
  const transaction = new Transaction<T>(client.replica);
  await build(transaction);
  return transaction.commit(client, options);
}

/**
 * The same, and again from the newer replica as long as the outcome is `try-again`: while there is no connection, and when what was verified
 * or guarded has changed. Every other outcome is returned, `unknown` too: the transaction may then have been committed all the same. `build`
 * looks at the replica and may find that there is nothing to do. Rejects also as `ready` does when the signal is aborted.
 */
export async function transactWithRetry<T>(
  client: OvsdbClient<T>,
  build: (transaction: Transaction<T>) => unknown,
  options: TransactOptions = {},
): Promise<CheckedOutcome> {
  for (;;) {
    await client.ready(options.signal);
    const { sequence } = client.replica;
    const outcome = await transact(client, build, options);
    if (outcome.kind !== 'try-again') return outcome;
    options.signal?.throwIfAborted();
    if (client.replica.sequence === sequence) await changed(client.replica);
  }
}

/** Resolves at the next change of the replica, or after a pause. */
const changed = (replica: ReplicaView): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(pause);
      stop();
      resolve();
    };
    const pause = setTimeout(done, PAUSE);
    const stop = replica.subscribe(done);
  });
