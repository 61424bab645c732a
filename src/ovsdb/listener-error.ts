/** Throws a listener's error where it can't stop whoever called the listener: as an uncaught exception. */
export const rethrowLater = (error: unknown): void => {
  queueMicrotask(() => {
    throw error;
  });
};
