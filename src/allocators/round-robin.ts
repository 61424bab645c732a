/**
 * Numbers handed out in turn: the next one is the first free number after the last one handed out, so that a
 * released number rests until the scan has come round (api.md §6.1).
 */
export class RoundRobin {
  readonly #first: number;
  readonly #last: number;
  readonly #usable: (value: number) => boolean;
  readonly #taken = new Set<number>();
  #next: number;

  /** `first` and `last` are both part of the range; `last < first` is an empty range. */
  constructor(first: number, last: number, usable: (value: number) => boolean = () => true) {
    this.#first = first;
    this.#last = last;
    this.#usable = usable;
    this.#next = first;
  }

  get taken(): number {
    return this.#taken.size;
  }

  has(value: number): boolean {
    return this.#taken.has(value);
  }

  contains(value: number): boolean {
    return Number.isInteger(value) && value >= this.#first && value <= this.#last;
  }

  /** The next free number up to `atMost`, now taken; undefined when there is none. */
  take(atMost: number = this.#last): number | undefined {
    const last = Math.min(this.#last, atMost);
    const span = last - this.#first + 1;
    // Marked numbers that are not usable count too, so this only shortens the scan of a range that is surely full.
    if (span <= 0 || this.#taken.size >= this.#last - this.#first + 1) return undefined;
    const start = this.#next > last ? this.#first : this.#next;
    for (let step = 0; step < span; step += 1) {
      const value = this.#first + ((start - this.#first + step) % span);
      if (this.#taken.has(value) || !this.#usable(value)) continue;
      this.#taken.add(value);
      this.#next = value + 1;
      return value;
    }
    return undefined;
  }

  /** Takes a certain number, usable or not; false when it is taken or outside of the range. */
  mark(value: number): boolean {
    if (!this.contains(value) || this.#taken.has(value)) return false;
    this.#taken.add(value);
    return true;
  }

  free(value: number): void {
    this.#taken.delete(value);
  }
}
