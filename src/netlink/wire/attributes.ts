/** Attributes of a message: type, length, value. No length is believed before it was compared with what there is. */
import { aligned, LITTLE_ENDIAN, viewOf } from './layout.ts';
import { MalformedMessage } from './malformed.ts';

const HEADER = 4;
/** The type without the flags NLA_F_NESTED and NLA_F_NET_BYTEORDER (linux/netlink.h). */
const TYPE_MASK = 0x3fff;

const decoder = new TextDecoder();

export class Attributes {
  readonly #what: string;
  readonly #values = new Map<number, Uint8Array>();

  /** Reads what lies in `bytes` from `offset` on. Of two of one type the last counts, as in the kernel. `what` names it in errors. Throws MalformedMessage. */
  constructor(bytes: Uint8Array, offset: number, what: string) {
    this.#what = what;
    eachAttribute(bytes, offset, what, (type, value) => this.#values.set(type, value));
  }

  get types(): readonly number[] {
    return [...this.#values.keys()];
  }

  bytes(type: number): Uint8Array | undefined {
    return this.#values.get(type);
  }

  u8(type: number): number | undefined {
    return this.#sized(type, 1)?.getUint8(0);
  }

  u16(type: number): number | undefined {
    return this.#sized(type, 2)?.getUint16(0, LITTLE_ENDIAN);
  }

  u32(type: number): number | undefined {
    return this.#sized(type, 4)?.getUint32(0, LITTLE_ENDIAN);
  }

  i32(type: number): number | undefined {
    return this.#sized(type, 4)?.getInt32(0, LITTLE_ENDIAN);
  }

  /** Highest byte first, as packets have it. */
  u16Network(type: number): number | undefined {
    return this.#sized(type, 2)?.getUint16(0);
  }

  /** Highest byte first, as packets have it. */
  u32Network(type: number): number | undefined {
    return this.#sized(type, 4)?.getUint32(0);
  }

  /** Up to its first zero, or to its end. */
  text(type: number): string | undefined {
    const value = this.#values.get(type);
    if (value === undefined) return undefined;
    const end = value.indexOf(0);
    return decoder.decode(end === -1 ? value : value.subarray(0, end));
  }

  nested(type: number): Attributes | undefined {
    const value = this.#values.get(type);
    return value === undefined
      ? undefined
      : new Attributes(value, 0, `${this.#what}, attribute ${type}`);
  }

  #sized(type: number, size: number): DataView | undefined {
    const value = this.#values.get(type);
    if (value === undefined) return undefined;
    if (value.length !== size)
      throw new MalformedMessage(
        `${this.#what}: attribute ${type} has ${value.length} bytes instead of ${size}`,
      );
    return viewOf(value);
  }
}

/** Gives types and values in their order. Throws MalformedMessage. */
export function eachAttribute(
  bytes: Uint8Array,
  offset: number,
  what: string,
  take: (type: number, value: Uint8Array) => void,
): void {
  const view = viewOf(bytes);
  let at = offset;
  while (at < bytes.length) {
    const left = bytes.length - at;
    if (left < HEADER)
      throw new MalformedMessage(`${what}: ${left} bytes at ${at} are no attribute`);
    const length = view.getUint16(at, LITTLE_ENDIAN);
    if (length < HEADER || length > left)
      throw new MalformedMessage(
        `${what}: the attribute at ${at} says that it has ${length} bytes, of ${left}`,
      );
    const type = view.getUint16(at + 2, LITTLE_ENDIAN) & TYPE_MASK;
    take(type, bytes.subarray(at + HEADER, at + length));
    at += aligned(length);
  }
}

/**
 * Whether some attribute between two offsets is so, looked at where it lies: `is` is given its type, where its value begins and where that ends. True, too, for
 * what is no attribute: who reads it says what is wrong.
 */
export function someAttribute(
  view: DataView,
  from: number,
  to: number,
  is: (type: number, start: number, end: number) => boolean,
): boolean {
  let at = from;
  while (at < to) {
    if (to - at < HEADER) return true;
    const length = view.getUint16(at, LITTLE_ENDIAN);
    if (length < HEADER || length > to - at) return true;
    const type = view.getUint16(at + 2, LITTLE_ENDIAN) & TYPE_MASK;
    if (is(type, at + HEADER, at + length)) return true;
    at += aligned(length);
  }
  return false;
}
