import { setTimeout as pause } from 'node:timers/promises';

/** Between polls of a condition that nothing announces. */
const POLL = 20;

/** Something that was not there in time; the message names what was waited for. */
export class TimedOutError extends Error {
  readonly code = 'TIMED_OUT';

  constructor(what: string, options?: ErrorOptions) {
    super(`gave up waiting for ${what}`, options);
    this.name = 'TimedOutError';
  }
}

/** Resolves when the condition holds; rejects with a TimedOutError that names `what` when `signal` aborts first. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  signal: AbortSignal,
  what: string | (() => string),
): Promise<void> {
  while (!(await condition())) {
    if (signal.aborted)
      throw new TimedOutError(typeof what === 'string' ? what : what(), { cause: signal.reason });
    await pause(POLL);
  }
}

/** The task's result; rejects with a TimedOutError that names `what` when `signal` aborts first. */
export async function orGiveUp<T>(task: Promise<T>, signal: AbortSignal, what: string): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(new TimedOutError(what, { cause: signal.reason }));
  if (signal.aborted) giveUp();
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([task, promise]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

/** Runs `task` with a signal that aborts after `limit` milliseconds, or when `outer` does. */
export async function within<T>(
  limit: number,
  task: (signal: AbortSignal) => Promise<T>,
  outer?: AbortSignal,
): Promise<T> {
  const timeout = AbortSignal.timeout(limit);
  return task(outer === undefined ? timeout : AbortSignal.any([timeout, outer]));
}

/** Silence after which a person wants to know what is waited for. */
const SILENCE = 5000;

/** The task's result; `tell` is called with `what` is waited for whenever another 5 s are over. */
export async function telling<T>(
  what: string | (() => string),
  tell: (line: string) => void,
  task: Promise<T>,
): Promise<T> {
  let seconds = 0;
  const timer = setInterval(() => {
    seconds += SILENCE / 1000;
    tell(`still waiting after ${seconds} s: ${typeof what === 'string' ? what : what()}`);
  }, SILENCE);
  try {
    return await task;
  } finally {
    clearInterval(timer);
  }
}
