import { compareUtf8 } from './utf8-order.ts';
import { isUuid } from './uuid.ts';
import type { Atom, AtomicType } from './value.ts';

/** A real with 15 digits, as C's `%.15g` writes it: what ovsdb-server shows in messages. */
export function realText(value: number): string {
  if (value === 0) return '0';
  const [mantissa = '', exponent = ''] = value.toExponential(14).split('e');
  const power = Number(exponent);
  const trimmed = (digits: string): string =>
    digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits;
  if (power >= -4 && power < 15) return trimmed(value.toFixed(14 - power));
  const sign = power < 0 ? '-' : '+';
  return `${trimmed(mantissa)}e${sign}${String(Math.abs(power)).padStart(2, '0')}`;
}

const PLAIN = /^[A-Za-z_][A-Za-z0-9_.-]*$/;

/** An atom for people, as `ovs-vsctl` and ovsdb-server's messages have it: a string is quoted only when it must be. */
export function atomText(type: AtomicType, atom: Atom): string {
  if (type === 'real') return realText(Number(atom));
  if (type !== 'string') return String(atom);
  const text = String(atom);
  const isPlain = PLAIN.test(text) && text !== 'true' && text !== 'false' && !isUuid(text);
  return isPlain ? text : JSON.stringify(text);
}

/** Whether one of these atoms, which are in canonical order, is there twice. */
export const hasTwice = (sorted: readonly Atom[]): boolean =>
  sorted.some((atom, i) => i > 0 && compareAtoms(sorted[i - 1] as Atom, atom) === 0);

/** Canonical order of two atoms of one type: numbers ascending, false before true, strings and uuids by bytes. */
export function compareAtoms(a: Atom, b: Atom): number {
  if (typeof a === 'string' && typeof b === 'string') return a === b ? 0 : compareUtf8(a, b);
  return a < b ? -1 : a > b ? 1 : 0;
}
