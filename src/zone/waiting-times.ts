/** Since when objects wait: what is applied together comes together, and is nothing to act on for a while. */
import type { ZoneProblem } from '../api/zone-status.ts';

/** Milliseconds for which an object may wait before that counts as a problem of its node. */
export const WAITING_GRACE = 60_000;

export class WaitingTimes {
  #since: ReadonlyMap<string, number> = new Map();

  /** Of what waits now, what has not waited for long. `now` in milliseconds of a monotonic clock. */
  recent(waiting: readonly ZoneProblem[], now: number): readonly ZoneProblem[] {
    this.#since = new Map(waiting.map(({ object }) => [object, this.#since.get(object) ?? now]));
    return waiting.filter(({ object }) => now - (this.#since.get(object) ?? now) < WAITING_GRACE);
  }
}
