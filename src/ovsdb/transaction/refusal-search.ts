/**
 * How many of those that wait in a row go together, so that one at fault among many is found with few requests: the halves of a refused request
 * are tried, in order, until one is left that is refused alone. After that requests grow with what is accepted, so that many at fault don't
 * have everything behind them sent again and again.
 */
export class RefusalSearch {
  /** Among the first ones one is at fault; 0: nothing is known against them. */
  #suspects = 0;
  /** How many of the suspects are tried next. */
  #trial = 0;
  /** How many go together while nothing is known against them. */
  #limit = Infinity;
  /** Accepted since one was blamed. */
  #accepted = 0;

  /** The most that should go together next. */
  get most(): number {
    return this.#suspects > 0 ? this.#trial : this.#limit;
  }

  /** The first ones are in the database. (`passed` is to be called besides.) */
  accepted(count: number): void {
    this.#accepted += count;
    this.#limit *= 2;
  }

  /** The first ones were refused together. `operationOf`: the one whose operation was refused, unless it was the commit as a whole. */
  refused(count: number, operationOf: number | undefined): void {
    this.#suspects = operationOf === undefined ? count : operationOf + 1;
    // What comes before a refused operation was carried out, but for the commit.
    this.#trial = operationOf === undefined ? half(count) : Math.max(1, operationOf);
  }

  /** The first one was refused alone. (`passed` is to be called besides.) */
  blamed(): void {
    this.#suspects = 0;
    this.#limit = Math.max(1, 2 * this.#accepted);
    this.#accepted = 0;
  }

  /** The first ones do not wait any more. */
  passed(count: number): void {
    this.#suspects = Math.max(0, this.#suspects - count);
    this.#trial = this.#trial > count ? this.#trial - count : half(this.#suspects);
  }
}

const half = (count: number): number => Math.max(1, Math.floor(count / 2));
