/** Time as an argument: what waits or stamps takes one of these, so a test can move it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `run` once after `milliseconds`; the returned function cancels. */
  after(milliseconds: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(milliseconds, run) {
    const timer = setTimeout(run, milliseconds);
    return () => {
      clearTimeout(timer);
    };
  },
};

/** RFC 3339 with seconds, as Kubernetes writes `metav1.Time`. */
export const timestamp = (milliseconds: number): string =>
  new Date(milliseconds).toISOString().replace(/\.\d{3}Z$/, 'Z');

/** RFC 3339 with milliseconds: tells which of two objects of one second is older. */
export const preciseTimestamp = (milliseconds: number): string =>
  new Date(milliseconds).toISOString();

/** Resolves after `milliseconds`, or at once when `signal` aborts; the caller asks the signal which it was. */
export function pause(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const done = (): void => {
      cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const cancel = clock.after(milliseconds, done);
    signal.addEventListener('abort', done, { once: true });
  });
}

export interface Backoff {
  /** Milliseconds before the first repetition. */
  readonly first: number;
  /** Milliseconds that no wait exceeds. */
  readonly longest: number;
}

/** Exponential wait before repetition number `attempt` (1, 2, …), shortened by up to a fifth so that many don't return together. */
export const backoffDelay = (
  { first, longest }: Backoff,
  attempt: number,
  random: () => number,
): number => Math.min(longest, first * 2 ** Math.min(attempt - 1, 40)) * (1 - random() / 5);
