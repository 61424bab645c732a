import type { Turn } from '../turn.ts';

/** Largest number whose code is itself, doubled: most integers in a database are small. */
const INLINE_LIMIT = 2 ** 30;

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

  compare(a: number, b: number): number {
    if (a === b) return 0;
    return this.value(a) < this.value(b) ? -1 : 1;
  }
}
