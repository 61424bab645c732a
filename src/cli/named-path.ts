/** Paths that a flag names. */
import { reasonOfPath } from '../api/without-errno.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import { isOfPath } from './user-errors.ts';

/** What `use` makes of a path. Throws ConfigurationError, which names the flag, where the path can't be used. */
export async function atPath<T>(flag: string, path: string, use: () => T | Promise<T>): Promise<T> {
  try {
    return await use();
  } catch (error) {
    if (!isOfPath(error)) throw error;
    throw new ConfigurationError(flag, `${path} can't be used: ${reasonOfPath(error)}`);
  }
}
