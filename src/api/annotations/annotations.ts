/** Shared by all readers of annotations: their results and errors, and the checks of single values. */
import {
  formatAddress,
  formatInterfaceAddress,
  parseAddress,
  parseInterfaceAddress,
  parseMac,
} from '../../allocators/addresses.ts';
import { formatValue } from '../validation/field-errors.ts';
import type { FamilyCidrs } from '../nad/network-config.ts';
import type { KubeObject } from '../objects.ts';
import { objectKey } from '../objects.ts';
import type { PlainObject } from '../plain-object.ts';
import { isPlainObject } from '../plain-object.ts';
import { errorText } from '../error-text.ts';

/** An annotation that can't be used, in words for the person who can repair it. */
export interface AnnotationError {
  /** `Node worker`. */
  readonly object: string;
  /** Key of the annotation. */
  readonly key: string;
  readonly problem: string;
  readonly remedy: string;
  /** All of the above in one line. */
  readonly message: string;
}

/**
 * A parsed annotation. `value` is undefined when the annotation is absent (no errors) or not usable at all; with
 * errors beside a value, the value is the part that could be read.
 */
export interface Reading<T> {
  readonly value: T | undefined;
  readonly errors: readonly AnnotationError[];
}

/** An annotation's error without the name of its object. */
export const explain = ({ key, problem, remedy }: AnnotationError): string =>
  `annotation ${key}: ${problem}; ${remedy}`;

/** What is wrong with an annotation, if anything. */
export const complaint = ({ errors: [first] }: Reading<unknown>): string | undefined =>
  first && explain(first);

/** What a reader needs of an object. */
export type Annotated = Pick<KubeObject, 'kind' | 'metadata'>;

/** Longest annotation that is looked at: the API server allows 256 KiB over all annotations of an object. */
const LONGEST_ANNOTATION = 256 * 1024;

/** Thrown by the checks below, caught by `readAnnotation` and `readEntries`; never leaves this package. */
class AnnotationProblem extends Error {}

export const problem = (text: string): never => {
  throw new AnnotationProblem(text);
};

/** What `read` makes of a part of the whole, which its problem then names. */
export function ofPart<T>(part: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof AnnotationProblem)) throw error;
    return problem(`${part}: ${error.message}`);
  }
}

function annotationError(
  object: Annotated,
  key: string,
  text: string,
  remedy: string,
): AnnotationError {
  const name = `${object.kind} ${objectKey(object.metadata)}`;
  const message = `${name}: annotation ${key}: ${text}; ${remedy}`;
  return { object: name, key, problem: text, remedy, message };
}

/** Text of an annotation; undefined if absent. */
export function annotationOf(object: Annotated, key: string): string | undefined {
  const { annotations } = object.metadata;
  return annotations !== undefined && Object.hasOwn(annotations, key)
    ? annotations[key]
    : undefined;
}

function caught<T>(read: () => T, object: Annotated, key: string, remedy: string): Reading<T> {
  try {
    return { value: read(), errors: [] };
  } catch (error) {
    if (!(error instanceof AnnotationProblem)) throw error;
    return { value: undefined, errors: [annotationError(object, key, error.message, remedy)] };
  }
}

/** Reads one annotation with `parse`, which may report with `problem`. */
export function readAnnotation<T>(
  object: Annotated,
  key: string,
  remedy: string,
  parse: (text: string) => T,
): Reading<T> {
  const text = annotationOf(object, key);
  if (text === undefined) return { value: undefined, errors: [] };
  return caught(
    () => {
      if (text.length > LONGEST_ANNOTATION)
        problem(`is longer than ${LONGEST_ANNOTATION} characters`);
      return parse(text);
    },
    object,
    key,
    remedy,
  );
}

/** Reads an annotation that is a JSON object, entry by entry: a bad entry is reported and does not spoil the others. */
export function readEntries<T>(
  object: Annotated,
  key: string,
  remedy: string,
  parse: (value: unknown, name: string) => T,
): Reading<ReadonlyMap<string, T>> {
  const whole = readAnnotation(object, key, remedy, (text) => asObject(parseJson(text)));
  if (whole.value === undefined) return { value: undefined, errors: whole.errors };
  const entries: [string, T][] = [];
  const errors: AnnotationError[] = [];
  for (const [name, value] of Object.entries(whole.value)) {
    const entry = caught(() => ({ parsed: parse(value, name) }), object, key, remedy);
    if (entry.value !== undefined) entries.push([name, entry.value.parsed]);
    for (const { problem: text } of entry.errors) {
      errors.push(annotationError(object, key, `${formatValue(name)}: ${text}`, remedy));
    }
  }
  return { value: new Map(entries), errors };
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    return problem(`is not valid JSON: ${errorText(error)}`);
  }
}

export const asObject = (value: unknown): PlainObject =>
  isPlainObject(value) ? value : problem(`must be a JSON object, is ${formatValue(value)}`);

export const asList = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : problem(`must be a JSON list, is ${formatValue(value)}`);

export const asText = (value: unknown): string =>
  typeof value === 'string' ? value : problem(`must be a string, is ${formatValue(value)}`);

/** A whole number, as JSON number or as decimal text. */
export function asInteger(value: unknown, least: number, most: number): number {
  const number =
    typeof value === 'string' && /^(0|[1-9][0-9]{0,15})$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number >= least && number <= most
    ? number
    : problem(`must be a whole number from ${least} to ${most}, is ${formatValue(value)}`);
}

export function asFlag(value: unknown): boolean {
  if (value === true || value === 'true') return true;
  if (value === false || value === 'false') return false;
  return problem(`must be "true" or "false", is ${formatValue(value)}`);
}

/** An address without prefix length, in canonical form. */
export function asAddress(value: unknown): string {
  const address = parseAddress(asText(value));
  return address === undefined
    ? problem(`must be an IP address, is ${formatValue(value)}`)
    : formatAddress(address);
}

/** An address or network with prefix length, in canonical form, host bits kept. */
export function asCidr(value: unknown): string {
  const cidr = parseInterfaceAddress(asText(value));
  return cidr === undefined
    ? problem(`must be an IP address with prefix length, is ${formatValue(value)}`)
    : formatInterfaceAddress(cidr);
}

/** A unicast MAC address in lower case. */
export function asMac(value: unknown): string {
  return parseMac(asText(value)) ?? problem(`must be a MAC address, is ${formatValue(value)}`);
}

/** A name that may reach a database, a flow or a command: letters, digits and `_ . : -`. */
export function asName(value: unknown): string {
  const text = asText(value);
  return /^[A-Za-z0-9_.:-]{1,253}$/.test(text)
    ? text
    : problem(`must be a name of letters, digits, "_", ".", ":" and "-", is ${formatValue(value)}`);
}

/** `{"ipv4": …, "ipv6": …}`. */
export function asFamilyCidrs(value: unknown): FamilyCidrs {
  const object = asObject(value);
  const result: { v4?: string; v6?: string } = {};
  for (const [key, family] of [
    ['ipv4', 'v4'],
    ['ipv6', 'v6'],
  ] as const) {
    if (!Object.hasOwn(object, key) || object[key] === '' || object[key] === null) continue;
    const cidr = asCidr(object[key]);
    if (cidr.includes(':') !== (family === 'v6')) {
      problem(`${key} must be of that family, is ${formatValue(object[key])}`);
    }
    result[family] = cidr;
  }
  return result;
}

/** The inverse of `asFamilyCidrs`. */
export const familyCidrsJson = ({ v4, v6 }: FamilyCidrs): object => ({
  ...(v4 === undefined ? {} : { ipv4: v4 }),
  ...(v6 === undefined ? {} : { ipv6: v6 }),
});

/** IPv4 first, otherwise as written. */
export const v4First = (values: readonly string[]): string[] => [
  ...values.filter((value) => !value.includes(':')),
  ...values.filter((value) => value.includes(':')),
];

/** A map as JSON with sorted keys; undefined for an empty one, whose annotation is removed. */
export function formatEntries<T>(
  entries: ReadonlyMap<string, T>,
  format: (value: T) => unknown,
): string | undefined {
  if (entries.size === 0) return undefined;
  const sorted = [...entries].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return JSON.stringify(Object.fromEntries(sorted.map(([key, value]) => [key, format(value)])));
}
