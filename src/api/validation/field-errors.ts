/** Errors about one field of an object, worded like the causes of an API server's Invalid status. */
import { clipped } from '../visible-text.ts';
import { nearestName } from './nearest-name.ts';

type FieldErrorType =
  | 'Required'
  | 'Invalid'
  | 'TypeInvalid'
  | 'NotSupported'
  | 'Duplicate'
  | 'TooLong'
  | 'TooMany'
  | 'Forbidden';

/** Keys and indexes from the root of the object. */
export type FieldPath = readonly (string | number)[];

export interface FieldError {
  readonly type: FieldErrorType;
  readonly path: FieldPath;
  /** The value that was refused; undefined where a value is missing. */
  readonly value?: unknown;
  readonly detail: string;
}

/** Something that is accepted, but probably not what was meant. */
export interface FieldWarning {
  readonly path: FieldPath;
  /** What may have been meant; empty where nobody knows. */
  readonly remedy: string;
}

/** A field that nobody knows beside `known` ones. */
export function unknownField(path: FieldPath, known: readonly string[]): FieldWarning {
  const nearest = nearestName(String(path.at(-1)), known);
  const few = known.length > 0 && known.length <= 12;
  return {
    path,
    remedy:
      nearest !== undefined
        ? `did you mean "${nearest}"?`
        : few
          ? `known here: ${known.join(', ')}`
          : '',
  };
}

/** A field that nobody knows, of an object that is not to be read without it: a newer release narrows by it what the others open. */
export const unknownFieldError = ({ path, remedy }: FieldWarning): FieldError => ({
  type: 'Forbidden',
  path,
  detail: `this release does not know the field, and does not read the rest as if it were not there: take it out, or update Heddle${remedy === '' ? '' : ` (${remedy})`}`,
});

/** `spec.layer3.subnets[0].cidr`; map keys that are no plain names are put in brackets. */
export function formatPath(path: FieldPath): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (/^[A-Za-z_$][A-Za-z0-9_$-]*$/.test(part)) text += text === '' ? part : `.${part}`;
    else text += `[${part}]`;
  }
  return text === '' ? '<nil>' : text;
}

const LONGEST_VALUE = 80;
const DEEPEST_VALUE = 8;

/** The value with what lies too deep left out: JSON of hostile nesting would run out of stack. */
function shallow(value: unknown, depth: number): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEEPEST_VALUE) return '…';
  if (Array.isArray(value)) {
    return value.slice(0, LONGEST_VALUE).map((item: unknown) => shallow(item, depth + 1));
  }
  const entries = Object.entries(value).slice(0, LONGEST_VALUE);
  return Object.fromEntries(entries.map(([key, item]) => [key, shallow(item, depth + 1)]));
}

/** A value as an error shows it: JSON, cut to a readable length. */
export function formatValue(value: unknown): string {
  const short = typeof value === 'string' ? value.slice(0, LONGEST_VALUE + 1) : shallow(value, 0);
  const text = JSON.stringify(short) as string | undefined;
  if (text === undefined) return 'null';
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}

const TITLES: Readonly<Record<FieldErrorType, string>> = {
  Required: 'Required value',
  Invalid: 'Invalid value',
  TypeInvalid: 'Invalid value',
  NotSupported: 'Unsupported value',
  Duplicate: 'Duplicate value',
  TooLong: 'Too long',
  TooMany: 'Too many',
  Forbidden: 'Forbidden',
};

/** What is wrong, without the field: `Invalid value: 100: …`. */
export function formatProblem({ type, value, detail }: FieldError): string {
  const showsValue = !['Required', 'TooLong', 'Forbidden'].includes(type);
  const parts = [TITLES[type], ...(showsValue ? [formatValue(value)] : []), detail];
  return cut(parts.filter((part) => part !== '').join(': '));
}

/** UTF-16 units. Details and paths may name what others wrote. */
const LONGEST_TEXT = 1024;
const LONGEST_PATH = 512;
const cut = (text: string, length = LONGEST_TEXT): string =>
  text.length <= length ? text : `${clipped(text, length)}…`;

/** A path as an error shows it, cut to a readable length. */
export const shownPath = (path: FieldPath): string => cut(formatPath(path), LONGEST_PATH);

/** `spec.layer3.mtu: Invalid value: 100: …`. */
export const formatFieldError = (error: FieldError): string =>
  `${shownPath(error.path)}: ${formatProblem(error)}`;
