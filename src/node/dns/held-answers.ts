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

/** Of one name and family. */
export class HeldAnswers {
  /** Until when each counts, in milliseconds of a monotonic clock; the order is that in which they were told last. */
  readonly #until = new Map<string, number>();

  /** Takes an answer, which may be empty. Returns the milliseconds after which the next one is due. */
  take(answers: readonly Answer[], now: number): number {
    for (const { address, ttl } of answers) {
      this.#until.delete(address);
      this.#until.set(address, now + ttl * 1000 + HOLD);
    }
    for (const [address, until] of this.#until) if (until <= now) this.#until.delete(address);
    for (const address of this.#until.keys()) {
      if (this.#until.size <= MOST_ADDRESSES) break;
      this.#until.delete(address);
    }
    const ttls = answers.length === 0 ? [NEGATIVE] : answers.map(({ ttl }) => ttl * 1000);
    const ends = [...this.#until.values()].map((until) => until - now);
    return bounded(Math.min(...ttls, ...ends));
  }

  /** Sorted. */
  get addresses(): readonly string[] {
    return [...this.#until.keys()].sort();
  }
}
