/**
 * Runs `task` for every item, at most `limit` at a time, and waits for all of them. Returns the errors of those that failed, in the order in which they did.
 */
export async function inParallel<T>(
  limit: number,
  items: readonly T[],
  task: (item: T) => Promise<void>,
): Promise<readonly { readonly error: unknown }[]> {
  const failures: { readonly error: unknown }[] = [];
  const waiting = items.values();
  const work = async (): Promise<void> => {
    for (const item of waiting)
      try {
        await task(item);
      } catch (error) {
        failures.push({ error });
      }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, work));
  return failures;
}
