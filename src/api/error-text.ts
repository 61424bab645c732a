/** What an error says. */
export const errorText = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** Errors that only a fault of ours makes: where it is counts more than what it says. Those of the system, and of Node.js, have a code. */
const isOwnFault = (error: Error): boolean =>
  !('code' in error) &&
  (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError);

/** Where an error of ours was thrown, also one that another error has as its cause; undefined for errors that say what is wrong outside. For logs, not for users. */
export function faultStack(error: unknown): string | undefined {
  for (let one = error; one instanceof Error; one = one.cause)
    if (isOwnFault(one)) return one.stack;
  return undefined;
}
