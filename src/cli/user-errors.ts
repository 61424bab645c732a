/** Errors that end a command, for people: what was wrong in plain words, and whose fault it was. Pure. */
import { CommanderError } from 'commander';
import { ConfigurationError } from '../process/configuration-error.ts';
import { StoreError } from '../store/store.ts';
import { EXIT } from './output.ts';

/** A path that somebody named, and that can't be used as it was meant. */
const OF_PATHS: ReadonlySet<unknown> = new Set([
  'EACCES',
  'EISDIR',
  'ELOOP',
  'ENAMETOOLONG',
  'ENOENT',
  'ENOTDIR',
  'EPERM',
  'EROFS',
]);

const MEANINGS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  ECONNREFUSED: 'nobody listens there',
  ECONNRESET: 'the connection was closed',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'no route to network',
  ENOENT: 'no such file or directory',
  ENOTFOUND: 'no such host',
  EPIPE: 'the connection was closed',
  ETIMEDOUT: 'no answer',
};

/** The text without names of error numbers: `open /x: no such file or directory` in place of `ENOENT: no such file or directory, open '/x'`. */
export const withoutErrno = (text: string): string =>
  text
    .replaceAll(
      /(?:\w*Error: )?\bE[A-Z]{3,}\b: ([^,\n]+), (\w+)(?: '([^'\n]*)')?/g,
      (_all, why: string, call: string, path?: string) =>
        path === undefined ? `${call}: ${why}` : `${call} ${path}: ${why}`,
    )
    .replaceAll(
      /\b(connect|getaddrinfo) (E[A-Z]{3,})\b(?: (\S+?))?(?=[\s);,]|$)/g,
      (all, call: string, code: string, where?: string) => {
        const meaning = MEANINGS[code];
        return meaning === undefined
          ? all
          : `${call}${where === undefined ? '' : ` ${where}`}: ${meaning}`;
      },
    );

const errnoOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined;

/** The exit code of a failure that its user can do something about; undefined for a fault of ours, which keeps its stack trace. */
export function exitCodeOf(error: unknown): number | undefined {
  if (error instanceof CommanderError || error instanceof ConfigurationError) return EXIT.usage;
  if (!(error instanceof Error) || errnoOf(error) === undefined) return undefined;
  if (error instanceof StoreError && error.code === 'invalid') return EXIT.data;
  const isOfPath = 'path' in error || errnoOf(error) === 'EISDIR';
  if (OF_PATHS.has(errnoOf(error)) && isOfPath && !isSocket(error)) return EXIT.usage;
  // A file that was named, such as a kubeconfig.
  if (error instanceof StoreError && OF_PATHS.has(errnoOf(error.cause)) && !isSocket(error.cause))
    return EXIT.usage;
  return EXIT.unavailable;
}

/** A server's socket may come. */
const isSocket = (error: unknown): boolean =>
  error instanceof Error && 'syscall' in error && error.syscall === 'connect';
