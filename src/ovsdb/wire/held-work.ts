import type { Work } from '../turn.ts';

/** Work that has to be done before anything else is looked at. */
export class HeldWork {
  #work: Work[] = [];
  /** Work that nobody waits for: behind all other. */
  #later: Work[] = [];
  #isWorking = false;
  #isAbandoned = false;

  /** `canWait`: nobody sees what it does. */
  add(work: Work, canWait = false): void {
    (canWait ? this.#later : this.#work).push(work);
  }

  get isDone(): boolean {
    return this.canWait && this.#later.length === 0;
  }

  /** True when nothing is left that others wait for. */
  get canWait(): boolean {
    return this.#work.length === 0;
  }

  get #queue(): Work[] {
    return this.canWait ? this.#later : this.#work;
  }

  /** Works until all is done, or until it yields. */
  goOn(): void {
    for (let queue = this.#queue; queue.length > 0; queue = this.#queue) {
      const work = queue[0] as Work;
      this.#isWorking = true;
      try {
        if (work.next().done !== true && !this.#isAbandoned) return;
      } finally {
        this.#isWorking = false;
        if (this.#isAbandoned) this.abandon();
      }
      queue.shift();
    }
  }

  /** What is not done will not be. */
  abandon(): void {
    this.#isAbandoned = true;
    // Whoever is working notices when it is his turn.
    if (this.#isWorking) return;
    const given = [...this.#work, ...this.#later];
    this.#work = [];
    this.#later = [];
    for (const work of given) work.return();
  }
}
