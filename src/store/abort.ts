/** The task's result; rejects with the signal's reason when that aborts first, and nobody waits for the task any more. */
export async function orAborted<T>(task: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  try {
    if (signal.aborted) abort();
    return await Promise.race([task, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
