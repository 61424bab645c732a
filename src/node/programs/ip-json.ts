/** Values of what `ip -json` shows, which differs by version and device. */
import { isPlainObject, type PlainObject } from '../../api/plain-object.ts';

export const objects = (value: unknown): readonly PlainObject[] =>
  Array.isArray(value) ? value.filter(isPlainObject) : [];

export const text = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;

/** With `-Numeric` some numbers are texts. */
export const number = (value: unknown): number | undefined =>
  typeof value === 'number'
    ? value
    : typeof value === 'string' && value !== ''
      ? Number(value)
      : undefined;

/** RTN_UNICAST (linux/rtnetlink.h), as `-Numeric` shows it. */
export const UNICAST = '1';
