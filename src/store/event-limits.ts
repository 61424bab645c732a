/** Which events are written of those that are emitted, as Kubernetes' own components have it: what goes wrong again and again fills no cluster. */
import { objectKey } from '../api/objects.ts';
import type { ObjectEvent } from './store.ts';

/** Of whom there are too many events: of one object, of the objects of its namespace, or of all. */
export type EventLimit = 'object' | 'namespace' | 'total';

/** Tokens that come back with time. */
interface Rate {
  readonly burst: number;
  /** Milliseconds in which one comes back. */
  readonly refill: number;
}

/** That of client-go for one object. */
const OF_OBJECT: Rate = { burst: 25, refill: 300_000 };
/** Objects of one namespace, or those without one, together: a tenant may make many that are wrong. */
const OF_NAMESPACE: Rate = { burst: 200, refill: 1000 };
const TOTAL: Rate = { burst: 2000, refill: 50 };

const LIMITS: readonly EventLimit[] = ['object', 'namespace', 'total'];

/** Different messages of one object with one reason that are written one by one within that time (milliseconds). */
const MOST_SIMILAR = 10;
const SIMILAR_WITHIN = 600_000;

/** Who has not been seen for long is forgotten when there are more. */
const MOST_KNOWN = 4096;

interface Bucket {
  tokens: number;
  at: number;
}

interface Similar {
  readonly messages: Set<string>;
  since: number;
}

const COMBINED =
  'more events with this reason and other messages, which are not written one by one';

/** What is seen again is the newest; of too many the oldest goes. */
function remember<T>(known: Map<string, T>, key: string, value: T): T {
  known.delete(key);
  known.set(key, value);
  const [oldest] = known.keys();
  if (known.size > MOST_KNOWN && oldest !== undefined) known.delete(oldest);
  return value;
}

export class EventLimits {
  readonly #buckets = new Map<string, Bucket>();
  readonly #similar = new Map<string, Similar>();

  /** The event to write for one that is emitted at `now` (milliseconds of a monotonic clock), or the limit that it is beyond. */
  admit(event: ObjectEvent, now: number): ObjectEvent | EventLimit {
    const { kind, metadata } = event.regarding;
    const object = `${kind} ${objectKey(metadata)} ${metadata.uid ?? ''}`;
    const buckets = {
      object: this.#refilled(object, OF_OBJECT, now),
      namespace: this.#refilled(`namespace ${metadata.namespace ?? ''}`, OF_NAMESPACE, now),
      total: this.#refilled('total', TOTAL, now),
    };
    const empty = LIMITS.find((limit) => buckets[limit].tokens < 1);
    if (empty !== undefined) return empty;
    for (const limit of LIMITS) buckets[limit].tokens -= 1;
    return this.#isOneOfMany(`${object} ${event.type} ${event.reason}`, event.message, now)
      ? { ...event, message: COMBINED }
      : event;
  }

  #refilled(name: string, { burst, refill }: Rate, now: number): Bucket {
    const { tokens, at } = this.#buckets.get(name) ?? { tokens: burst, at: now };
    return remember(this.#buckets, name, {
      tokens: Math.min(burst, tokens + (now - at) / refill),
      at: now,
    });
  }

  #isOneOfMany(key: string, message: string, now: number): boolean {
    const known = this.#similar.get(key);
    const similar = remember(
      this.#similar,
      key,
      known === undefined || now - known.since > SIMILAR_WITHIN
        ? { messages: new Set<string>(), since: now }
        : known,
    );
    if (similar.messages.has(message)) return false;
    if (similar.messages.size >= MOST_SIMILAR) return true;
    similar.messages.add(message);
    return false;
  }
}
