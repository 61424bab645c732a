/** Errors that end a command, for people: what was wrong in plain words, and whose fault it was. Pure. */
import { CommanderError } from 'commander';
import { ConfigurationError } from '../process/configuration-error.ts';
import { StoreError } from '../store/store.ts';
import { EXIT } from './output.ts';
import { UnreadableFile } from './unreadable-file.ts';

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

/** True for a path that can't be used as it was meant, and not for a disk that is full, or a server that is away. */
export const isOfPath = (error: unknown): boolean => OF_PATHS.has(errnoOf(error));

const errnoOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined;

/** The exit code of a failure that its user can do something about; undefined for a fault of ours, which keeps its stack trace. */
export function exitCodeOf(error: unknown): number | undefined {
  const isUse = [CommanderError, ConfigurationError, UnreadableFile].some(
    (one) => error instanceof one,
  );
  if (isUse) return EXIT.usage;
  if (!(error instanceof Error) || errnoOf(error) === undefined) return undefined;
  // A ControlError: the daemon says that it can't be asked for.
  if ('isOfRequest' in error && error.isOfRequest === true) return EXIT.usage;
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
