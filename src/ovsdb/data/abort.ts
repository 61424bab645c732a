/** Settles as the promise does, or rejects as soon as the signal is aborted: with what `why` gives, or the signal's reason. */
export async function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  why: () => unknown = () => signal?.reason,
): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => {
    aborted.reject(why());
  };
  signal?.addEventListener('abort', abort);
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}
