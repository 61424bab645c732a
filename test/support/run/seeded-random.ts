import { SEED } from './seed.ts';

/** Random numbers that come again with the same seed. */
export class SeededRandom {
  readonly seed: number;
  #state: number;

  constructor(seed = SEED) {
    this.seed = seed;
    this.#state = seed >>> 0;
  }

  /** 0 ≤ x < 1. */
  readonly number = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4_294_967_296;
  };

  /** A whole number from 0 up to, without it, `end`. */
  below(end: number): number {
    return Math.floor(this.number() * end);
  }

  /** True so often, of 1. */
  is(probability: number): boolean {
    return this.number() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  list<T>(longest: number, make: () => T): T[] {
    return Array.from({ length: this.below(longest + 1) }, make);
  }
}
