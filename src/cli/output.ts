/** What people see: tables, colours on a terminal only, and the exit codes of every command. */
import { randomBytes } from 'node:crypto';
import { styleText } from 'node:util';
import { nearestName } from '../api/validation/nearest-name.ts';
import { visibleJson, visibleLines, visibleText } from '../api/visible-text.ts';
import { plainValue } from '../control/control-protocol.ts';

/** Exit codes; the same for every command. */
export const EXIT = {
  success: 0,
  /** Something is wrong with an object or a network, and the command says what. */
  problems: 1,
  /** `plan` and `diff`: there is something to change. */
  changes: 2,
  /** The command line or the configuration can't be used. */
  usage: 64,
  /** What a file holds can't be used: a kubeconfig that is none. */
  data: 65,
  /** A database, the lab or the API could not be reached in time. */
  unavailable: 69,
} as const;

export type Tone = 'good' | 'bad' | 'warning' | 'quiet' | 'strong';

const STYLES = {
  good: 'green',
  bad: 'red',
  warning: 'yellow',
  quiet: 'gray',
  strong: 'bold',
} as const satisfies Record<Tone, string>;

const CONTROL_SEQUENCE = `${String.fromCodePoint(27)}[`;
/** Stands for it until the text is printed: what others wrote may hold such sequences, and can't know this. */
const MARK = `<${randomBytes(12).toString('hex')}`;
const MARKED = new RegExp(`${MARK}(\\d+)m`, 'g');

/** `text` in colour when `stream` is a terminal and NO_COLOR is not set. */
export const tone = (
  text: string,
  kind: Tone,
  stream: NodeJS.WriteStream = process.stdout,
): string =>
  styleText(STYLES[kind], visibleText(text), { stream }).replaceAll(CONTROL_SEQUENCE, MARK);

/** Text for a stream: nothing in it acts on a terminal but our own colours. */
const coloured = (text: string): string =>
  text.replace(MARKED, (_mark, code: string) => `${CONTROL_SEQUENCE}${code}m`);

// A cell's colour must not count as width.
const widthOf = (text: string): number => text.replace(MARKED, '').length;

/** Rows in aligned columns under a header; two spaces between them, nothing behind the last. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows].map((row) => row.map(visibleText));
  const widths = header.map((_, column) =>
    Math.max(...all.map((row) => widthOf(row[column] ?? ''))),
  );
  return all
    .map((row) =>
      row
        .map((cell, column) =>
          column === row.length - 1
            ? cell
            : cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Begins at the top of an empty screen. */
export const clearScreen = (): void => {
  process.stdout.write(`${CONTROL_SEQUENCE}H${CONTROL_SEQUENCE}2J${CONTROL_SEQUENCE}3J`);
};

/** One line: line ends of what others wrote are shown. */
export const print = (line: string): void => {
  process.stdout.write(`${coloured(visibleText(line))}\n`);
};

/** Several lines, made of parts that have none of others' line ends: a table, a plan, a script. */
export const printLines = (text: string): void => {
  process.stdout.write(`${coloured(visibleLines(text))}\n`);
};

/** One line of progress or of a complaint, to standard error, so that standard output is the result alone. */
export const report = (line: string): void => {
  process.stderr.write(`${coloured(visibleText(line))}\n`);
};

export const printJson = (value: unknown): void => {
  process.stdout.write(`${visibleJson(JSON.stringify(value, plainValue, 2))}\n`);
};

/** Complaints about manifests, errors first, to standard error; true when one is an error. */
export function reportComplaints(
  complaints: readonly { readonly severity: 'error' | 'warning'; readonly text: string }[],
): boolean {
  const errors = complaints.filter(({ severity }) => severity === 'error');
  for (const { text } of errors) report(`${tone('error:', 'bad', process.stderr)} ${text}`);
  for (const { severity, text } of complaints)
    if (severity === 'warning') report(`${tone('warning:', 'warning', process.stderr)} ${text}`);
  return errors.length > 0;
}

/** What is wrong with objects and rows, one line each, to standard error; true when there is anything. */
export function reportProblems(lines: readonly string[]): boolean {
  for (const line of lines) report(`${tone('error:', 'bad', process.stderr)} ${line}`);
  return lines.length > 0;
}

/** What stands behind the error of a name that there is none of: the one that may have been meant, or `what` there is. */
export function didYouMean(written: string, names: readonly string[], what: string): string {
  const nearest = nearestName(written, names);
  return nearest === undefined
    ? `; ${what}: ${names.join(', ') || 'none'}`
    : `; did you mean "${nearest}"?`;
}
