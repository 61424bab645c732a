/** When controllers have dealt with what is there. */
import type { Informers } from './informers.ts';
import { orAborted } from './abort.ts';
import type { WorkQueue } from './work-queue.ts';
import type { Batch } from './batch.ts';

export interface CaughtUpOptions {
  readonly informers: Informers;
  readonly queues: readonly WorkQueue[];
  readonly batches?: readonly Batch[];
  readonly signal: AbortSignal;
}

/**
 * No chain of controllers that wake each other is longer: an object's NAD, the network's identity, the nodes' annotations, the
 * addresses of pods, and their statuses and events.
 */
const ROUNDS = 10;

/**
 * Resolves when everything that is queued now has been reconciled, our own writes have come back through the watches, and so has
 * what they brought about. In a cluster that never rests the longest chain of controllers ends it: that nothing changes is not
 * waited for. Rejects when `signal` aborts first.
 */
export async function caughtUp({
  informers,
  queues,
  batches = [],
  signal,
}: CaughtUpOptions): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const batch of batches) await orAborted(batch.flushed(), signal);
    for (const queue of queues) await orAborted(queue.drained(), signal);
    await informers.readBack(signal);
    const isIdle =
      informers.isReadBack &&
      batches.every((batch) => batch.isEmpty) &&
      queues.every((queue) => queue.size === 0);
    if (isIdle) return;
  }
}
