/** An argument that a POSIX shell reads as exactly `value`. */
export const shellQuoted = (value: string): string =>
  `'${value.replaceAll("'", String.raw`'\''`)}'`;
