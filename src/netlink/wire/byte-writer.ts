/** Puts a message together: fields in the machine's byte order, attributes behind them. */
import { aligned, LITTLE_ENDIAN, viewOf } from './layout.ts';

/** Flag of an attribute's type: it holds attributes (linux/netlink.h). */
const NLA_F_NESTED = 0x8000;
const ATTRIBUTE_HEADER = 4;
/** An attribute's length is a number of 16 bits. */
const LONGEST_ATTRIBUTE = 0xffff;
const U32_MAX = 0xffff_ffff;

/** Throws RangeError for what is no whole number of so many bits: written anyway, it would become another one. */
function checked(value: number, max: number): number {
  if (!Number.isInteger(value) || value < 0 || value > max)
    throw new RangeError(`${value} is no whole number from 0 to ${max}`);
  return value;
}

/** Throws RangeError: the kernel would take the text up to its zero. */
function encoded(text: string): Uint8Array {
  if (text.includes('\0')) throw new RangeError(`${JSON.stringify(text)} has a zero in it`);
  return new TextEncoder().encode(text);
}

export class ByteWriter {
  #bytes = new Uint8Array(256);
  #view = viewOf(this.#bytes);
  #length = 0;

  get bytes(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  u8(value: number): this {
    const at = this.#grow(1);
    this.#view.setUint8(at, checked(value, 0xff));
    return this;
  }

  u16(value: number): this {
    const at = this.#grow(2);
    this.#view.setUint16(at, checked(value, 0xffff), LITTLE_ENDIAN);
    return this;
  }

  u32(value: number): this {
    const at = this.#grow(4);
    this.#view.setUint32(at, checked(value, U32_MAX), LITTLE_ENDIAN);
    return this;
  }

  i32(value: number): this {
    const at = this.#grow(4);
    this.#view.setInt32(at, value, LITTLE_ENDIAN);
    return this;
  }

  /** Highest byte first, as packets have it. */
  u16Network(value: number): this {
    const at = this.#grow(2);
    this.#view.setUint16(at, checked(value, 0xffff));
    return this;
  }

  /** Highest byte first, as packets have it. */
  u32Network(value: number): this {
    const at = this.#grow(4);
    this.#view.setUint32(at, checked(value, U32_MAX));
    return this;
  }

  put(bytes: Uint8Array): this {
    const at = this.#grow(bytes.length);
    this.#bytes.set(bytes, at);
    return this;
  }

  /** An attribute with what `value` writes. */
  attribute(type: number, value: (writer: this) => void): this {
    const start = this.#grow(ATTRIBUTE_HEADER);
    this.#view.setUint16(start + 2, type, LITTLE_ENDIAN);
    value(this);
    const length = this.#length - start;
    if (length > LONGEST_ATTRIBUTE)
      throw new RangeError(`an attribute of ${length} bytes is longer than ${LONGEST_ATTRIBUTE}`);
    this.#view.setUint16(start, length, LITTLE_ENDIAN);
    this.#grow(aligned(this.#length) - this.#length);
    return this;
  }

  /** An attribute that holds attributes. */
  nested(type: number, value: (writer: this) => void): this {
    return this.attribute(type | NLA_F_NESTED, value);
  }

  /** Text with the zero at its end. */
  text(type: number, text: string): this {
    return this.attribute(type, (writer) => writer.put(encoded(text)).u8(0));
  }

  /** Text without a zero at its end. */
  word(type: number, text: string): this {
    return this.attribute(type, (writer) => writer.put(encoded(text)));
  }

  /** Writes something whose first two bytes are its length, as `rtnexthop` has it. */
  measured(value: (writer: this) => void): this {
    const start = this.#length;
    value(this);
    this.#view.setUint16(start, this.#length - start, LITTLE_ENDIAN);
    return this;
  }

  /** The place of so many new bytes, which are zero. The memory may be another one afterwards. */
  #grow(count: number): number {
    const start = this.#length;
    this.#length += count;
    if (this.#length > this.#bytes.length) {
      const larger = new Uint8Array(2 * this.#length);
      larger.set(this.#bytes);
      this.#bytes = larger;
      this.#view = viewOf(larger);
    }
    return start;
  }
}
