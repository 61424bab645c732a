import { countOf, holds, intervalsWithout, nextIn, type Interval } from './intervals.ts';

/**
 * Numbers handed out in turn: the next one is the first free number after the last one handed out, so that a
 * released number rests until the scan has come round (reference/api.md §6.1).
 */
export class RoundRobin {
  readonly #first: number;
  readonly #last: number;
  /** What can be handed out, taken or not. */
  readonly #usable: readonly Interval[];
  readonly #taken = new Set<number>();
  /** How many of the usable numbers are not taken. */
  #left: number;
  #next: number;

  /** `first` and `last` are both part of the range; `last < first` is an empty range. What is `unusable` is never handed out. */
  constructor(first: number, last: number, unusable: readonly Interval[] = []) {
    this.#first = first;
    this.#last = last;
    this.#usable = intervalsWithout(first, last, unusable);
    this.#left = countOf(this.#usable);
    this.#next = first;
  }

  get taken(): number {
    return this.#taken.size;
  }

  /** Where the search for the next free number begins. */
  get next(): number {
    return this.#next;
  }

  /** Goes on where another one was: what was released there a moment ago rests here, too. */
  resumeAt(next: number): void {
    if (this.contains(next)) this.#next = next;
  }

  has(value: number): boolean {
    return this.#taken.has(value);
  }

  contains(value: number): boolean {
    return Number.isInteger(value) && value >= this.#first && value <= this.#last;
  }

  /** The next free number up to `atMost`, now taken; undefined when there is none. */
  take(atMost: number = this.#last): number | undefined {
    if (this.#left === 0) return undefined;
    const value =
      this.#free(this.#next, atMost) ?? this.#free(this.#first, Math.min(atMost, this.#next - 1));
    if (value === undefined) return undefined;
    this.#taken.add(value);
    this.#left -= 1;
    this.#next = value + 1;
    return value;
  }

  /** Takes a certain number, usable or not; false when it is taken or outside of the range. */
  mark(value: number): boolean {
    if (!this.contains(value) || this.#taken.has(value)) return false;
    this.#taken.add(value);
    if (holds(this.#usable, value)) this.#left -= 1;
    return true;
  }

  free(value: number): void {
    if (this.#taken.delete(value) && holds(this.#usable, value)) this.#left += 1;
  }

  /** The first one from `from` to `to` that is usable and not taken. Numbers that can't be used are leapt over. */
  #free(from: number, to: number): number | undefined {
    let value = nextIn(this.#usable, from);
    while (value !== undefined && value <= to) {
      if (!this.#taken.has(value)) return value;
      value = nextIn(this.#usable, value + 1);
    }
    return undefined;
  }
}
