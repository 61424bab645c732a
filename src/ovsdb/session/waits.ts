import { unlessAborted } from '../data/abort.ts';
import { OvsdbError } from '../data/error.ts';

interface Waiter {
  readonly isDone: () => boolean;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Waits for a state of a client. */
export class Waits {
  readonly #waiters = new Set<Waiter>();
  readonly #why: () => string;
  #closed = false;

  /** `why`: the last error, to be added to that of a wait that its signal ends. */
  constructor(why: () => string) {
    this.#why = why;
  }

  /** Resolves when `isDone` holds after a `wake`. Rejects with `timed out` when the signal says so, or `closed`. */
  async until(isDone: () => boolean, signal: AbortSignal | undefined, what: string): Promise<void> {
    signal?.throwIfAborted();
    if (this.#closed)
      throw new OvsdbError('closed', `the client was closed while waiting for ${what}`);
    if (isDone()) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { isDone, resolve, reject };
    this.#waiters.add(waiter);
    try {
      await unlessAborted(promise, signal, () => {
        const details = `gave up waiting for ${what}${this.#why()}`;
        return new OvsdbError('timed out', details, { cause: signal?.reason });
      });
    } finally {
      this.#waiters.delete(waiter);
    }
  }

  wake(): void {
    for (const waiter of this.#waiters) if (waiter.isDone()) waiter.resolve();
  }

  /** The client was closed: every wait rejects. */
  close(): void {
    this.#closed = true;
    for (const waiter of this.#waiters)
      waiter.reject(new OvsdbError('closed', 'the client was closed'));
  }
}
