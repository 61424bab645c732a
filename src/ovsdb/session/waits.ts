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
    let waiter: Waiter | undefined;
    let abort: (() => void) | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        waiter = { isDone, resolve, reject };
        this.#waiters.add(waiter);
        abort = () => {
          reject(
            new OvsdbError('timed out', `gave up waiting for ${what}${this.#why()}`, {
              cause: signal?.reason,
            }),
          );
        };
        signal?.addEventListener('abort', abort);
      });
    } finally {
      if (waiter !== undefined) this.#waiters.delete(waiter);
      if (abort !== undefined) signal?.removeEventListener('abort', abort);
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
