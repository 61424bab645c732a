/** Time as an argument: what waits or stamps takes one of these, so a test can move it. */
export interface Clock {
  /** Milliseconds since the epoch: for what is written and shown. It can be set, forwards and back. */
  now(): number;
  /** Milliseconds since some moment, that only go forward: for how long ago something was. */
  monotonic(): number;
  /** Calls `run` once after `milliseconds`; the returned function cancels. */
  after(milliseconds: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
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
