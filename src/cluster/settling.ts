import type { Clock } from '../store/clock.ts';
import type { WorkQueue } from '../store/work-queue.ts';

export interface Settling {
  readonly queues: readonly WorkQueue[];
  /** False while something waits to be queued. */
  readonly isIdle: () => boolean;
  /** True when everything that the store holds has been seen. */
  readonly areCurrent: () => Promise<boolean>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Milliseconds between two looks. */
const POLL = 5;

/** Resolves when all queues are idle and nothing is left to be seen, or when the signal aborts. */
export async function settle({
  queues,
  isIdle,
  areCurrent,
  clock,
  signal,
}: Settling): Promise<void> {
  while (!signal.aborted) {
    for (const queue of queues) await queue.idle();
    if (isIdle() && (await areCurrent()) && isIdle()) return;
    await new Promise<void>((resolve) => {
      clock.after(POLL, resolve);
    });
  }
}

/** Milliseconds after which an object that somebody else wrote meanwhile is looked at again, unless its change comes earlier. */
export const CONFLICT_REST = 500;
