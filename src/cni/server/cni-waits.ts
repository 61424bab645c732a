/** How an ADD waits for what comes by itself: events, a limit, and the message for what did not come. */
import { CNI_CODE, CniError } from '../protocol/cni-error.ts';

/** What an ADD is told that a DEL overtook. */
export const OVERTAKEN = 'the runtime deletes the container meanwhile';

/** True for what may be otherwise later. */
export const isTemporary = (error: unknown): error is CniError =>
  error instanceof CniError && error.code === CNI_CODE.tryAgainLater;

/** Why the waiting ended, in words. */
export const reasonOf = ({ reason }: AbortSignal): string =>
  reason instanceof Error && reason.message === OVERTAKEN
    ? OVERTAKEN
    : reason instanceof Error && reason.name === 'TimeoutError'
      ? 'gave up waiting'
      : 'the request was ended';

/**
 * Looks again with each change until `look` does not say "try again later". When `signal` aborts first, the error has what was missing, and
 * what `problems` knows.
 */
export async function awaited<T>(
  look: () => T,
  follow: (listener: () => void) => readonly (() => void)[],
  problems: () => readonly string[],
  signal: AbortSignal,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  let missing: CniError | undefined;
  let isFollowing = false;
  const attempt = (): void => {
    if (!isFollowing) return;
    try {
      resolve(look());
    } catch (error) {
      if (isTemporary(error)) missing = error;
      else reject(error);
    }
  };
  const giveUp = (): void => {
    const causes = [...(missing === undefined ? [] : [missing.message]), ...problems()];
    reject(new CniError(`${reasonOf(signal)}: ${causes.join('; ')}`, CNI_CODE.tryAgainLater));
  };
  const ends = follow(attempt);
  isFollowing = true;
  attempt();
  if (signal.aborted) giveUp();
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', giveUp);
    for (const end of ends) end();
  }
}
