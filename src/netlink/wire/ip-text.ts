/** Addresses between their bytes and their text (RFC 5952, as the kernel's tools print them). */
import { viewOf } from './layout.ts';
import { MalformedMessage } from './malformed.ts';

/** AF_INET, AF_INET6 (linux/socket.h). */
export const FAMILY = { unspecified: 0, v4: 2, v6: 10 } as const;
export type Family = 'v4' | 'v6';

const WIDTH = { v4: 4, v6: 16 } as const;

export const familyOf = (address: string): Family => (address.includes(':') ? 'v6' : 'v4');

export const lengthOf = (family: Family): number => 8 * WIDTH[family];

/** The family of a number of the kernel; undefined for others. */
export const familyOfNumber = (number: number): Family | undefined =>
  number === FAMILY.v4 ? 'v4' : number === FAMILY.v6 ? 'v6' : undefined;

const invalid = (text: string): RangeError =>
  new RangeError(`${JSON.stringify(text)} is no IP address`);

function parseV4(text: string, whole = text): number[] {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part)))
    throw invalid(whole);
  const bytes = parts.map(Number);
  if (bytes.some((byte) => byte > 255)) throw invalid(whole);
  return bytes;
}

function groups(text: string, whole: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group, index, all) => {
    if (group.includes('.') && index === all.length - 1) return parseV4(group, whole);
    if (!/^[0-9a-f]{1,4}$/i.test(group)) throw invalid(whole);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

/** The bytes of an address. Throws RangeError. */
export function parseIp(text: string): Uint8Array {
  if (familyOf(text) === 'v4') return Uint8Array.from(parseV4(text));
  const halves = text.split('::');
  const [head, tail] = [groups(halves[0] ?? '', text), groups(halves[1] ?? '', text)];
  const missing = WIDTH.v6 - head.length - tail.length;
  if (halves.length > 2 || (halves.length === 2 ? missing < 2 : missing !== 0)) throw invalid(text);
  return Uint8Array.from([...head, ...Array.from({ length: missing }, () => 0), ...tail]);
}

/** The text of an address of 4 or 16 bytes. Throws MalformedMessage. */
export function ipText(bytes: Uint8Array): string {
  if (bytes.length === WIDTH.v4) return bytes.join('.');
  if (bytes.length !== WIDTH.v6)
    throw new MalformedMessage(`an IP address has ${bytes.length} bytes`);
  const view = viewOf(bytes);
  const all = Array.from({ length: 8 }, (_, index) => view.getUint16(2 * index));
  if (all.slice(0, 5).every((group) => group === 0) && all[5] === 0xffff)
    return `::ffff:${bytes.subarray(12).join('.')}`;
  let [start, length] = [0, 1];
  for (let at = 0; at < 8; at += 1) {
    let end = at;
    while (all[end] === 0) end += 1;
    if (end - at > length) [start, length] = [at, end - at];
  }
  const hex = (part: readonly number[]): string => part.map((one) => one.toString(16)).join(':');
  if (length === 1) return hex(all);
  return `${hex(all.slice(0, start))}::${hex(all.slice(start + length))}`;
}

/** `10.0.0.0/24`, or an address alone for all its bits. */
export interface Prefix {
  readonly family: Family;
  readonly bytes: Uint8Array;
  readonly length: number;
}

/** Throws RangeError. */
export function parsePrefix(text: string): Prefix {
  const [address = '', bits, ...more] = text.split('/');
  const family = familyOf(address);
  const bytes = parseIp(address);
  if (more.length > 0 || (bits !== undefined && !/^(0|[1-9]\d{0,2})$/.test(bits)))
    throw new RangeError(`${JSON.stringify(text)} is no IP network`);
  const length = bits === undefined ? lengthOf(family) : Number(bits);
  if (length > lengthOf(family))
    throw new RangeError(`${JSON.stringify(text)}: the prefix is longer than the address`);
  return { family, bytes, length };
}

/** The text of a MAC address. */
export const macText = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(':');

/** The bytes of a MAC address of Ethernet. Throws RangeError. */
export function parseMac(text: string): Uint8Array {
  if (!/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i.test(text))
    throw new RangeError(`${JSON.stringify(text)} is no MAC address`);
  return Uint8Array.from(text.split(':'), (byte) => Number.parseInt(byte, 16));
}
