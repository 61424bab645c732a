/** Since when a server owes the answer to a transaction: on a socket of its own host nothing else tells of one that stands still. */
import type { Operation, Outcome, TransactOptions, Transactor } from 'ovsdb-client-ts';

/** Milliseconds: a transaction with the rows of many networks takes less. */
const TRANSACTION_GRACE = 15_000;

/** Milliseconds since the epoch, which can be set, and since some moment, which only go forward. */
export interface Times {
  now(): number;
  monotonic(): number;
}

const SYSTEM: Times = { now: () => Date.now(), monotonic: () => performance.now() };

interface Debt {
  /** On the clock that only goes forward, and the time of day. */
  readonly begin: number;
  readonly at: number;
}

export class WatchedTransactor implements Transactor {
  readonly #transactor: Transactor;
  readonly #clock: Times;
  /** The oldest first. */
  readonly #debts = new Set<Debt>();

  constructor(transactor: Transactor, clock: Times = SYSTEM) {
    this.#transactor = transactor;
    this.#clock = clock;
  }

  async transact(operations: readonly Operation[], options?: TransactOptions): Promise<Outcome> {
    const debt = { begin: this.#clock.monotonic(), at: this.#clock.now() };
    this.#debts.add(debt);
    try {
      return await this.#transactor.transact(operations, options);
    } finally {
      this.#debts.delete(debt);
    }
  }

  /** When a transaction was sent that has had no answer for long, in milliseconds since the epoch. */
  get silentSince(): number | undefined {
    const [oldest] = this.#debts;
    return oldest === undefined || this.#clock.monotonic() - oldest.begin < TRANSACTION_GRACE
      ? undefined
      : oldest.at;
  }
}
