/** Which addresses a name is known by, from answers that differ from each other. */
import { MOST_ADDRESSES } from '../../model/zone/egress-firewalls.ts';

/** A record of an answer. */
export interface Answer {
  readonly address: string;
  /** Seconds for which who was given it may use it. */
  readonly ttl: number;
}

/**
 * Milliseconds beyond its TTL for which an address counts that answers no longer have. Servers of large services tell each client some of
 * many addresses in turn: what a pod was told is among those that a node was told within this time.
 */
const HOLD = 5 * 60_000;
/** Bounds of the time until a name is asked for again: as in ovn-kubernetes (reference/topology.md §18.2). */
const SOONEST = 5_000;
const LATEST = 30 * 60_000;
/** Where there is no address: as long as a CoreDNS keeps that at most, by default. */
const NEGATIVE = 30_000;

const bounded = (milliseconds: number): number => Math.min(LATEST, Math.max(SOONEST, milliseconds));

interface Held {
  /** Until when it counts, in milliseconds of a monotonic clock. */
  readonly until: number;
  /** The change that it came with (src/node/dns/installations.ts). */
  readonly change: number;
}

/** Of one name and family. */
export class HeldAnswers {
  /** In the order in which they were told last. */
  readonly #held = new Map<string, Held>();
  readonly #change: () => number;

  /** `change` numbers a change, which an address comes with. */
  constructor(change: () => number) {
    this.#change = change;
  }

  /** Takes what was held before the start: nobody knows how old it is. */
  keep(addresses: readonly string[], now: number): void {
    this.#put(
      addresses.map((address) => ({ address, ttl: 0 })),
      now,
    );
  }

  /** Takes what somebody else was told. Returns the newest of the changes that its addresses came with; 0 of none. */
  add(answers: readonly Answer[], now: number): number {
    this.#put(answers, now);
    return Math.max(0, ...answers.map(({ address }) => this.#held.get(address)?.change ?? 0));
  }

  /** Takes an answer, which may be empty. Returns the milliseconds after which the next one is due. */
  take(answers: readonly Answer[], now: number): number {
    this.#put(answers, now);
    const ttls = answers.length === 0 ? [NEGATIVE] : answers.map(({ ttl }) => ttl * 1000);
    return bounded(Math.min(...ttls, this.untilEnd(now)));
  }

  /** Forgets what counts no longer. */
  expire(now: number): void {
    for (const [address, { until }] of this.#held) if (until <= now) this.#held.delete(address);
  }

  /** Milliseconds until the first of them counts no longer. */
  untilEnd(now: number): number {
    return Math.min(Infinity, ...[...this.#held.values()].map(({ until }) => until - now));
  }

  /** Sorted. */
  get addresses(): readonly string[] {
    return [...this.#held.keys()].sort();
  }

  #put(answers: readonly Answer[], now: number): void {
    let change: number | undefined;
    for (const { address, ttl } of answers) {
      const known = this.#held.get(address);
      const until = Math.max(now + ttl * 1000 + HOLD, known?.until ?? 0);
      this.#held.delete(address);
      this.#held.set(address, { until, change: known?.change ?? (change ??= this.#change()) });
    }
    this.expire(now);
    for (const address of this.#held.keys()) {
      if (this.#held.size <= MOST_ADDRESSES) break;
      this.#held.delete(address);
    }
  }
}
