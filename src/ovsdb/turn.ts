/** Work in pieces: whenever it yields, others have their turn of the event loop before it goes on. */
export type Work<T = void> = Generator<undefined, T, undefined>;

/** Says how long work may go on before it has to yield. Asked after each small step. */
export interface Turn {
  isOver(): boolean;
}

/** For work that is to be done at once. */
export const ENDLESS: Turn = { isOver: () => false };

/** For work that can wait: stops after each step. */
export const LATER: Turn = { isOver: () => true };

/** Carries out work at once. */
export function atOnce<T>(work: Work<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** Steps between two looks at the clock: few, since a step may be a row with a very large set. */
const STEPS = 4;

/** A turn of some milliseconds from `begin` on. */
export class TimedTurn implements Turn {
  readonly #length: number;
  #end = 0;
  #steps = STEPS;

  constructor(milliseconds: number) {
    this.#length = milliseconds;
  }

  begin(): void {
    this.#end = performance.now() + this.#length;
    this.#steps = STEPS;
  }

  isOver(): boolean {
    if (--this.#steps > 0) return false;
    this.#steps = STEPS;
    return this.isPast();
  }

  /** As `isOver`, by the clock in any case. */
  isPast(): boolean {
    return performance.now() >= this.#end;
  }
}
