import { setTimeout as delay } from 'node:timers/promises';

export interface Waiting {
  /** Milliseconds; 15000 by default. */
  readonly limit?: number;
  /** Milliseconds between two looks; 5 by default. */
  readonly pause?: number;
  /** Errors that only say that it is not true yet; any other ends the wait at once. */
  readonly isExpected?: (error: unknown) => boolean;
  /** What went on meanwhile, for the error. */
  readonly output?: () => string;
}

/** Waits until something is true. The error says for what was waited, and the last expected error. */
export async function until(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  waiting: number | Waiting = {},
): Promise<void> {
  const {
    limit = 15_000,
    pause = 5,
    isExpected = () => false,
    output = () => '',
  } = typeof waiting === 'number' ? { limit: waiting } : waiting;
  const end = performance.now() + limit;
  let last: Error | undefined;
  for (;;) {
    try {
      if (await isTrue()) return;
      last = undefined;
    } catch (error) {
      if (!(error instanceof Error) || !isExpected(error)) throw error;
      last = error;
    }
    if (performance.now() > end) {
      const reason = last === undefined ? '' : `, last: ${last.name}: ${last.message}`;
      const said = output();
      throw new Error(
        `waited ${limit} ms in vain for ${what}${reason}${said === '' ? '' : `\n${said}`}`,
        { cause: last },
      );
    }
    await delay(pause);
  }
}

/** The codes of a system error and of those that caused it. */
export const errorCodes = (error: unknown): readonly unknown[] =>
  error instanceof Error
    ? [
        (error as NodeJS.ErrnoException).code,
        ...errorCodes(error.cause),
        ...(error instanceof AggregateError ? error.errors.flatMap(errorCodes) : []),
      ]
    : [];
