/** Events are written beside the work: a source that takes them slowly, or not at all, holds nothing up. */
import { objectKey } from '../api/objects.ts';
import { orAborted } from './abort.ts';
import type { Clock } from './clock.ts';
import { EventLimits, type EventLimit } from './event-limits.ts';
import { isRetryable, type ObjectEvent, type Store } from './store.ts';
import { WorkQueue, type Failure } from './work-queue.ts';
import type { Log } from './log.ts';

export interface EventWriterOptions {
  readonly store: Pick<Store, 'event'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly onFailure: (failure: Failure) => void;
  /** An event is not written, and never will be. */
  readonly onDropped: (limit: DropLimit) => void;
}

/** What an event was beyond; `waiting`: too many wait for a source that takes none. */
export type DropLimit = EventLimit | 'waiting';

/** More than these are not kept while none is taken. */
const MOST_WAITING = 10_000;

export class EventWriter {
  readonly queue: WorkQueue;
  readonly #options: EventWriterOptions;
  readonly #waiting = new Map<string, ObjectEvent>();
  readonly #limits = new EventLimits();
  /** Objects of which an event was dropped since one was written. */
  readonly #muted = new Set<string>();

  constructor(options: EventWriterOptions) {
    this.#options = options;
    this.queue = new WorkQueue({
      reconcile: (key, signal) => this.#write(key, signal),
      onFailure: options.onFailure,
      parallelism: 4,
      clock: options.clock,
    });
  }

  /** Takes an event to be written; what waits already is written once, and too many of one object, namespace or in all are dropped. */
  emit(emitted: ObjectEvent): void {
    if (this.#waiting.has(keyOf(emitted))) return;
    const event = this.#limits.admit(emitted, this.#options.clock.monotonic());
    const object = objectOfEvent(keyOf(emitted));
    if (typeof event === 'string') {
      this.#options.onDropped(event);
      const { message, reason } = emitted;
      if (!this.#muted.has(object) && this.#muted.size < MOST_WAITING) {
        this.#muted.add(object);
        this.#options.log.warn(
          { object, reason, error: message },
          'event dropped, as will be the next ones of it: too many',
        );
      }
      return;
    }
    this.#muted.delete(object);
    if (this.#waiting.size >= MOST_WAITING) {
      this.#options.onDropped('waiting');
      const { message, reason } = event;
      this.#options.log.warn({ reason, error: message }, 'event dropped: too many wait');
      return;
    }
    const key = keyOf(event);
    this.#waiting.set(key, event);
    this.queue.add(key);
  }

  async #write(key: string, signal: AbortSignal): Promise<void> {
    const event = this.#waiting.get(key);
    if (event === undefined) return;
    try {
      await orAborted(this.#options.store.event(event), signal);
    } catch (error) {
      if (isRetryable(error) || signal.aborted) throw error;
      this.#options.log.warn({ event: event.reason, error }, 'event could not be written');
    }
    this.#waiting.delete(key);
  }
}

const keyOf = ({ regarding, type, reason, message }: ObjectEvent): string =>
  [`${regarding.kind} ${objectKey(regarding.metadata)}`, type, reason, message].join('\n');

/** Object of a key of this queue. */
export const objectOfEvent = (key: string): string => key.slice(0, key.indexOf('\n'));
