/** Facts that come from neither objects nor rows: routes of the host, names that DNS knows, neighbours. */
import type { ZoneProblem } from '../api/zone-status.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import type { Clock } from '../store/clock.ts';

export interface FactSource {
  /**
   * Keeps facts until the signal aborts, then resolves; to be called once. What can be known at once is known when it returns. What can't be read
   * stays as it was, or is `unreadable` where it never was anything: what is built from it keeps its rows.
   */
  start(facts: ZoneFacts, clock: Clock, signal: AbortSignal): Promise<void>;
  /** What is wrong with what it reads, with what to do. */
  problems(): readonly ZoneProblem[];
}
