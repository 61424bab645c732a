import type { CheckedOutcome } from '../data/outcome.ts';
import type { ReplicaView } from '../replica/replica-view.ts';
import type { AnyTables } from '../schema/column.ts';
import type { TransactOptions, Transactor } from '../data/operation.ts';
import { Transaction } from './transaction.ts';

/** A client, as far as retries need it. */
export interface ConnectedTransactor extends Transactor {
  readonly replica: ReplicaView;
  ready(signal?: AbortSignal): Promise<void>;
}

/** Milliseconds to wait for a change of the replica after a transaction that failed because of a change that is not in it yet. */
const PAUSE = 50;

/** See `OvsdbClient.transactWithRetry`. */
export async function commitWithRetry<T = AnyTables>(
  client: ConnectedTransactor,
  build: (transaction: Transaction<T>) => unknown,
  options: TransactOptions = {},
): Promise<CheckedOutcome> {
  for (;;) {
    await client.ready(options.signal);
    const { sequence } = client.replica;
    const transaction = new Transaction<T>(client.replica);
    await build(transaction);
    const outcome = await transaction.commit(client, options);
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
