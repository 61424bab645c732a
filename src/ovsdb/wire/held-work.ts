import type { Work } from '../turn.ts';

/** Work that has to be done before anything else is looked at. */
export class HeldWork {
  #work: Work[] = [];
  #isWorking = false;
  #isAbandoned = false;

  add(work: Work): void {
    this.#work.push(work);
  }

  get isDone(): boolean {
    return this.#work.length === 0;
  }

  /** Works until all is done, or until it yields. */
  goOn(): void {
    for (let work = this.#work[0]; work !== undefined; work = this.#work[0]) {
      this.#isWorking = true;
      try {
        if (work.next().done !== true && !this.#isAbandoned) return;
      } finally {
        this.#isWorking = false;
        if (this.#isAbandoned) this.abandon();
      }
      this.#work.shift();
    }
  }

  /** What is not done will not be. */
  abandon(): void {
    this.#isAbandoned = true;
    // Whoever is working notices when it is his turn.
    if (this.#isWorking) return;
    const given = this.#work;
    this.#work = [];
    for (const work of given) work.return();
  }
}
