/** Who changed our table: transactions are announced in their order, each with its program, and some of them are our own. */

/** Of more nobody needs to know. */
const MOST = 5;
/** Milliseconds for which the program of a transaction is waited for whose changes are announced already. */
const PATIENCE = 500;

export class NftChangers {
  #others = new Set<string>();
  /** Whose the next ones are; those beyond are others'. */
  #next: ('ours' | 'theirs')[] = [];
  #isOpen = false;
  #closed = Promise.withResolvers<void>();

  /** Programs of transactions that ended; `isOpen`: another one is announced in part. */
  heard(programs: readonly string[], isOpen: boolean): void {
    for (const program of programs)
      if (this.#next.shift() !== 'ours' && this.#others.size < MOST) this.#others.add(program);
    this.#isOpen = isOpen;
    if (isOpen) return;
    this.#closed.resolve();
    this.#closed = Promise.withResolvers();
  }

  /** We send a transaction. Returns what is to be called when it is refused: nothing is announced of it. */
  sending(): () => void {
    // What is announced in part was there before.
    if (this.#isOpen && this.#next.length === 0) this.#next.push('theirs');
    this.#next.push('ours');
    return () => {
      this.#next.splice(this.#next.lastIndexOf('ours'), 1);
    };
  }

  /** Programs of others since all was right. */
  async all(): Promise<readonly string[]> {
    if (this.#isOpen) {
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(late.resolve, PATIENCE);
      await Promise.race([this.#closed.promise, late.promise]);
      clearTimeout(timer);
    }
    return [...this.#others];
  }

  settled(): void {
    this.#others = new Set();
    this.#next = [];
  }
}
