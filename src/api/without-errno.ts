/** Errors of the system in plain words. Pure. */
import { errorText } from './error-text.ts';

const MEANINGS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  ECONNREFUSED: 'nobody listens there',
  ECONNRESET: 'the connection was closed',
  EISDIR: 'it is a directory, not a file',
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

/** Why a path could not be used, for a sentence that names it already. */
export function reasonOfPath(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const [, why] = /^E[A-Z]{3,}: ([^,\n]+), \w+/.exec(errorText(error)) ?? [];
  return MEANINGS[code] ?? why ?? withoutErrno(errorText(error));
}
