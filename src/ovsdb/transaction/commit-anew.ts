import type { Outcome } from '../data/operation.ts';
import type { ReplicaView } from '../replica/replica-view.ts';
import type { AnyTables, CommitOptions, Committer } from './transaction.ts';
import { Transaction } from './transaction.ts';

/** Whoever has a replica, can commit, and can wait until it is connected: the client. */
export interface AnewCommitter extends Committer {
  readonly replica: ReplicaView;
  ready(signal?: AbortSignal): Promise<void>;
}

/** Milliseconds to wait for a change of the replica after a transaction that failed because of one that is not here yet. */
const PAUSE = 50;

/**
 * Builds a transaction and commits it, and again from the newer replica as long as the outcome is `try-again`: while there is no
 * connection, and when what was verified or guarded has changed. Every other outcome is returned, `unknown` too: `build` then may not have
 * been carried out once. `build` looks at the replica and may find that there is nothing to do; it may
 * be asynchronous. Rejects with what it throws, or as
 * `ready` does when the signal is aborted.
 */
export async function commitAnew<T = AnyTables>(
  client: AnewCommitter,
  build: (transaction: Transaction<T>) => unknown,
  options: CommitOptions = {},
): Promise<Outcome> {
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
