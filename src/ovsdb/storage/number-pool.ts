import type { Turn } from '../turn.ts';

/** Largest number whose code is itself, doubled: most integers in a database are small. */
const INLINE_LIMIT = 2 ** 30;

/** A double as it is stored, and the halves of it. */
const double = new Float64Array(1);
const halves = new Uint32Array(double.buffer);
const HIGH = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 1 : 0;

/**
 * Codes of integers and reals. Small whole numbers are their own code (2n); every other one is kept once (2·index + 1).
 * Code 0 is zero.
 */
export class NumberPool {
  #values: (number | bigint)[] = [];
  #uses: number[] = [];
  #ids = new Map<number | bigint, number>();
  #free: number[] = [];
  #fresh: number[] = [];

  get count(): number {
    return this.#ids.size;
  }

  find(value: number | bigint): number {
    if (
      typeof value === 'number' &&
      value >= 0 &&
      value < INLINE_LIMIT &&
      Number.isInteger(value)
    ) {
      return value * 2;
    }
    const index = this.#ids.get(value);
    return index === undefined ? -1 : index * 2 + 1;
  }

  intern(value: number | bigint): number {
    const found = this.find(value);
    if (found !== -1) return found;
    const index = this.#free.pop() ?? this.#values.length;
    this.#values[index] = value;
    this.#uses[index] = 0;
    this.#ids.set(value, index);
    this.#fresh.push(index);
    return index * 2 + 1;
  }

  value(code: number): number | bigint {
    return code & 1 ? (this.#values[code >>> 1] as number | bigint) : code / 2;
  }

  retain(code: number): void {
    if (code & 1) this.#uses[code >>> 1] = (this.#uses[code >>> 1] as number) + 1;
  }

  release(code: number): void {
    if ((code & 1) === 0) return;
    const index = code >>> 1;
    const uses = (this.#uses[index] as number) - 1;
    this.#uses[index] = uses;
    if (uses === 0) this.#fresh.push(index);
  }

  /** False when the turn ended first: call it again. */
  sweep(turn: Turn): boolean {
    for (let index = this.#fresh.pop(); index !== undefined; index = this.#fresh.pop()) {
      const value = this.#values[index] as number | bigint;
      if (this.#uses[index] === 0 && this.#ids.get(value) === index) {
        this.#ids.delete(value);
        this.#free.push(index);
      }
      if (turn.isOver()) return false;
    }
    return true;
  }

  /** The higher half (`place` 0) or the lower one of 64 bits that are in the order of integers. */
  integerWord(code: number, place: number): number {
    const value = this.value(code);
    if (typeof value === 'number')
      return place === 1 ? value >>> 0 : Math.floor(value / 2 ** 32) + 2 ** 31;
    return place === 1 ? Number(BigInt.asUintN(32, value)) : Number(value >> 32n) + 2 ** 31;
  }

  /** The same for reals. */
  realWord(code: number, place: number): number {
    double[0] = Number(this.value(code));
    const half = halves[place === 0 ? HIGH : 1 - HIGH] as number;
    // The larger the bits of a negative number, the smaller it is.
    if ((halves[HIGH] as number) >>> 31 === 1) return ~half >>> 0;
    return place === 0 ? half + 2 ** 31 : half;
  }

  compare(a: number, b: number): number {
    if (a === b) return 0;
    return this.value(a) < this.value(b) ? -1 : 1;
  }
}
