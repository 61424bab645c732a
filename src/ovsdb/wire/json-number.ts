import { syntaxError } from '../data/error.ts';
import { normalInteger, RoundedReal } from '../data/json.ts';

/**
 * The number of a JSON text: an integer of 64 bits exactly, otherwise a double; a `RoundedReal` when that double is an integer. Throws
 * `syntax error` for one out of range.
 */
export function exactNumber(text: string): number | bigint {
  checkExponent(text);
  const exact = wholeNumber(text);
  if (exact !== undefined) return normalInteger(exact);
  const value = finite(text);
  // Just below the smallest integer: as a double it would be that integer.
  if (value === -(2 ** 63) && /^-[0-9]+$/.test(text)) return BigInt(text);
  if (!Number.isFinite(value)) throw syntaxError(`number ${text} is outside of the valid range`);
  if (Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63)
    return new RoundedReal(text) as unknown as number;
  return value + 0;
}

/** Throws when a number has an exponent of more than 31 bits, as ovsdb-server does, whatever its digits are. */
function checkExponent(text: string): void {
  const exponent = text.slice(text.search(/[eE]/) + 1);
  if (exponent.length < text.length && Math.abs(Number(exponent)) >= 2 ** 31)
    throw syntaxError(`exponent of ${text} is outside of the valid range`);
}

/** The number when it is an integer of 64 bits, however it is written: `1e3`, `9223372036854775807.0`. */
function wholeNumber(text: string): bigint | undefined {
  const match = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return 0n;
  const zeros = Number(exponent) - fraction.length + (digits.length - significant.length);
  if (zeros < 0 || significant.length + zeros > 19) return undefined;
  const value = BigInt(`${sign}${significant}${'0'.repeat(zeros)}`);
  return value >= -(2n ** 63n) && value < 2n ** 63n ? value : undefined;
}

/**
 * A double. ovsdb-server writes 15 digits, so its largest double reads back as slightly more than there is: that is taken
 * for the largest.
 */
function finite(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) || !/e\+?308$/i.test(text)) return value;
  const tenth = Number(text.replace(/308$/, '307'));
  return Math.abs(tenth) < 1.797693134862325e307 ? Math.sign(tenth) * Number.MAX_VALUE : value;
}
