import { compareUtf8 } from './utf8-order.ts';
import type { JsonObject, JsonValue } from './value.ts';

export const isObject = (json: JsonValue | undefined): json is JsonObject =>
  typeof json === 'object' && json !== null && !Array.isArray(json) && !isRounded(json);

/**
 * A number whose fraction a double can't hold, such as 0.99999999999999999: a real that looks like an integer and is none. It stands
 * among JSON values in place of a `number`, which it is in all arithmetic.
 */
export class RoundedReal extends Number {
  readonly text: string;

  constructor(text: string) {
    super(text);
    this.text = text;
  }

  override toString(): string {
    return this.text;
  }
}

const isRounded = (json: unknown): json is RoundedReal => json instanceof RoundedReal;

export type NumericKind = 'integer' | 'real';

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/**
 * The number as an integer of 64 bits (`number` when safe, else `bigint`) or as a real; undefined when it is neither.
 * `1e3` is the integer 1000, `0.5` is none. Negative zero reads as zero.
 */
export function numericValue(json: JsonValue, kind: 'integer'): number | bigint | undefined;
export function numericValue(json: JsonValue, kind: NumericKind): number | bigint | undefined;
export function numericValue(json: JsonValue, kind: NumericKind): number | bigint | undefined {
  if (typeof json === 'number') {
    if (kind === 'real') return Number.isFinite(json) ? json + 0 : undefined;
    if (!Number.isInteger(json)) return undefined;
    return Number.isSafeInteger(json) ? json + 0 : inRange(BigInt(json));
  }
  if (typeof json === 'bigint') return kind === 'real' ? Number(json) : inRange(json);
  return kind === 'real' && isRounded(json) ? Number(json) + 0 : undefined;
}

function inRange(value: bigint): number | bigint | undefined {
  if (value < INT64_MIN || value > INT64_MAX) return undefined;
  return normalInteger(value);
}

/** An integer in the form that this client uses: `number` when safe. */
export function normalInteger(value: bigint): number | bigint {
  return value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value;
}

/** JSON text of a value. Integers beyond 2^53 are written in full; members keep their order. */
export function stringify(json: JsonValue): string {
  try {
    return JSON.stringify(json);
  } catch (error) {
    // JSON.stringify refuses integers beyond 2^53, which are rare: nothing is searched for them beforehand.
    if (hasBigint(json)) return write(json);
    throw error;
  }
}

function hasBigint(json: JsonValue): boolean {
  if (typeof json === 'bigint') return true;
  if (typeof json !== 'object' || json === null) return false;
  return (Array.isArray(json) ? (json as readonly JsonValue[]) : Object.values(json)).some(
    hasBigint,
  );
}

type Entry = readonly [name: string, value: JsonValue];

/** JSON text, the members of an object as `order` has them, numbers as `number` writes them. */
function write(
  json: JsonValue,
  order: (entries: Entry[]) => Entry[] = (entries) => entries,
  number: (value: number) => string = JSON.stringify,
): string {
  if (typeof json === 'bigint') return json.toString();
  if (typeof json === 'number') return number(json);
  if (typeof json !== 'object' || json === null) return JSON.stringify(json);
  if (isRounded(json)) return number(Number(json));
  if (Array.isArray(json))
    return `[${(json as readonly JsonValue[]).map((member) => write(member, order, number)).join(',')}]`;
  const entries = Object.entries(json).filter(([, value]) => value !== undefined);
  return `{${order(entries)
    .map(([name, value]) => `${JSON.stringify(name)}:${write(value, order, number)}`)
    .join(',')}}`;
}

/** A number with all its digits, small ones with an exponent of two digits: `1e-05`. */
function canonicalNumber(value: number): string {
  const isSmall = value !== 0 && Math.abs(value) < 1e-4;
  return isSmall ? value.toExponential().replace(/-([0-9])$/, '-0$1') : JSON.stringify(value);
}

/**
 * JSON text in canonical form, as the server's tools print it: members of objects in the order of their names, small numbers with an exponent of
 * two digits. No digit is lost.
 */
export const canonicalText = (json: JsonValue): string =>
  write(json, (entries) => entries.toSorted(([a], [b]) => compareUtf8(a, b)), canonicalNumber);

/** Equality of JSON values; order of object members does not matter. */
export function jsonEquals(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return (
      a.length === b.length &&
      a.every((member, i) => jsonEquals(member as JsonValue, b[i] as JsonValue))
    );
  }
  if (isObject(a) && isObject(b)) {
    const keys = Object.keys(a);
    return (
      keys.length === Object.keys(b).length &&
      keys.every((key) => Object.hasOwn(b, key) && jsonEquals(a[key], b[key]))
    );
  }
  if (typeof a === 'bigint' || typeof b === 'bigint')
    return equalIntegers(a, b) || equalIntegers(b, a);
  return isRounded(a) || isRounded(b) ? equalNumbers(a, b) : false;
}

const equalIntegers = (a: unknown, b: unknown): boolean =>
  typeof a === 'bigint' && typeof b === 'number' && Number.isInteger(b) && a === BigInt(b);

const isNumber = (json: unknown): boolean => typeof json === 'number' || isRounded(json);

const equalNumbers = (a: unknown, b: unknown): boolean =>
  isNumber(a) && isNumber(b) && Number(a) === Number(b);
