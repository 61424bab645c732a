/** Who waits with which signal. Each signal has one listener: adding one takes the longer the more it has. */
export class AbortListeners<T> {
  readonly #aborted: (waiting: T, reason: unknown) => void;
  readonly #waiting = new Map<AbortSignal, Set<T>>();
  readonly #listener = (event: Event): void => {
    const signal = event.target as AbortSignal;
    for (const waiting of this.#waiting.get(signal) ?? []) this.#aborted(waiting, signal.reason);
  };

  /** `aborted` is called for all who wait with a signal that is aborted. */
  constructor(aborted: (waiting: T, reason: unknown) => void) {
    this.#aborted = aborted;
  }

  add(signal: AbortSignal | undefined, waiting: T): void {
    if (signal === undefined) return;
    const others = this.#waiting.get(signal);
    if (others !== undefined) {
      others.add(waiting);
      return;
    }
    this.#waiting.set(signal, new Set([waiting]));
    signal.addEventListener('abort', this.#listener);
  }

  delete(signal: AbortSignal | undefined, waiting: T): void {
    if (signal === undefined) return;
    const others = this.#waiting.get(signal);
    others?.delete(waiting);
    if (others?.size !== 0) return;
    this.#waiting.delete(signal);
    signal.removeEventListener('abort', this.#listener);
  }
}
