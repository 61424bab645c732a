import { isSentWhole, type ColumnType } from '../data/column-type.ts';
import { OvsdbError, syntaxError } from '../data/error.ts';
import { CLOSE_BRACKET, COMMA, OPEN_BRACKET, QUOTE, type JsonCursor } from '../wire/json-cursor.ts';
import { GUESSES, lastIs, TAG, type AtomCodec } from './atom-codec.ts';
import { CellValues, type Members } from './cell-values.ts';
import type { SequencePool } from './sequence-pool.ts';

const SET = Buffer.from('set');
const MAP = Buffer.from('map');

const givenTwice = (): OvsdbError =>
  new OvsdbError('ovsdb error', 'a set or map has a member twice');

/** Reads values of one column in wire form into cells, and applies differences to them. */
export class ColumnCodec extends CellValues {
  readonly isWhole: boolean;
  /** Atoms that the last value read had in each place. */
  readonly #guesses = new Uint32Array(GUESSES);
  #guessedAt = 0;

  constructor(
    type: ColumnType,
    keys: AtomCodec,
    values: AtomCodec | undefined,
    sequences: SequencePool,
    members: Members,
  ) {
    super(type, keys, values, sequences, members);
    this.isWhole = isSentWhole(type);
  }

  /**
   * Reads a value in wire form into a cell. A difference of a set or map may have any number of members. Throws `syntax error` for another
   * type, `constraint violation` for a wrong number of members, `ovsdb error` for a member given twice.
   */
  read(cursor: JsonCursor, isDifference: boolean): number {
    const sweeps = this.keys.sweeps + (this.values?.sweeps ?? 0);
    if (sweeps !== this.#guessedAt) {
      this.#guesses.fill(0);
      this.#guessedAt = sweeps;
    }
    if (this.kind === 'scalar' && cursor.peek() !== OPEN_BRACKET)
      return this.keys.read(cursor, this.#guesses, 0);
    const count = this.values === undefined ? this.#readSet(cursor) : this.#readMap(cursor);
    if (!isDifference || this.isWhole) this.#checkSize(count);
    const { words } = this.members;
    if (this.kind === 'set' || this.kind === 'map') return this.#interned(words, count);
    if (this.kind === 'optional') return count === 0 ? 0 : (words[0] as number) + 1;
    return words[0] as number;
  }

  #checkSize(count: number): void {
    const { min, max } = this.type;
    const size = count / this.width;
    if (size >= min && size <= max) return;
    throw new OvsdbError(
      'constraint violation',
      `a value has ${size} members, allowed are ${min} to ${max === Infinity ? 'unlimited' : max}`,
    );
  }

  /** A bare atom, or `["set", […]]`, into `members`; returns the number of words. */
  #readSet(cursor: JsonCursor): number {
    const before = cursor.position;
    if (cursor.peek() === OPEN_BRACKET) {
      cursor.position++;
      if (cursor.peek() !== QUOTE) cursor.fail('"set"');
      cursor.string();
      if (lastIs(cursor, SET)) return this.#readMembers(cursor);
      if (!lastIs(cursor, TAG)) throw syntaxError(`expected ["set", …], not "${cursor.lastText}"`);
      cursor.position = before;
      cursor.peek();
    }
    this.members.words[0] = this.keys.read(cursor, this.#guesses, 0);
    return 1;
  }

  #readMap(cursor: JsonCursor): number {
    cursor.expect(OPEN_BRACKET);
    cursor.string();
    if (!lastIs(cursor, MAP)) throw syntaxError(`expected ["map", …], not "${cursor.lastText}"`);
    return this.#readMembers(cursor);
  }

  /** Behind the tag: a comma, the members, and two brackets. */
  #readMembers(cursor: JsonCursor): number {
    const { values, members } = this;
    let count = 0;
    cursor.expect(COMMA);
    cursor.expect(OPEN_BRACKET);
    if (!cursor.take(CLOSE_BRACKET)) {
      do {
        const words = members.room(count + 2);
        if (values === undefined) {
          words[count] = this.keys.read(cursor, this.#guesses, count);
          count++;
        } else {
          cursor.expect(OPEN_BRACKET);
          words[count] = this.keys.read(cursor, this.#guesses, count);
          cursor.expect(COMMA);
          words[count + 1] = values.read(cursor, this.#guesses, count + 1);
          count += 2;
          cursor.expect(CLOSE_BRACKET);
        }
      } while (cursor.take(COMMA));
      cursor.expect(CLOSE_BRACKET);
    }
    cursor.expect(CLOSE_BRACKET);
    return count;
  }

  /** The cell of members in any order. Servers send them in canonical order. Throws `ovsdb error` for one given twice. */
  #interned(words: Uint32Array, count: number): number {
    const { keys, width } = this;
    for (let i = width; i < count; i += width) {
      const order = keys.compare(words[i - width] as number, words[i] as number);
      if (order === 0) throw givenTwice();
      if (order > 0) return this.#sorted(words, count);
    }
    return this.sequences.internWords(words, count);
  }

  #sorted(words: Uint32Array, count: number): number {
    const { keys, width } = this;
    const order = Uint32Array.from({ length: count / width }, (_, i) => i * width).sort((a, b) =>
      keys.compare(words[a] as number, words[b] as number),
    );
    const sorted = new Uint32Array(count);
    order.forEach((from, i) => {
      for (let k = 0; k < width; k++) sorted[i * width + k] = words[from + k] as number;
      if (i > 0 && sorted[i * width] === sorted[(i - 1) * width]) throw givenTwice();
    });
    return this.sequences.internWords(sorted, count);
  }

  /** The cell that a difference makes of another. Throws `constraint violation` when the result has a wrong number of members. */
  apply(cell: number, difference: number): number {
    if (this.isWhole) return difference;
    const { sequences, width } = this;
    const length = sequences.length(difference);
    if (length === 0) return cell;
    const before = this.codes(cell);
    const changes = this.codes(difference);
    const words = this.members.room(before.length + length);
    let count = 0;
    let from = 0;
    for (let i = 0; i < length; i += width) {
      const member = changes[i] as number;
      const at = this.#place(before, member);
      words.set(before.subarray(from, at), count);
      count += at - from;
      // A member that is there goes, unless it is a key with another value.
      const isThere = before[at] === member;
      if (!isThere || (width === 2 && before[at + 1] !== changes[i + 1])) {
        words.set(changes.subarray(i, i + width), count);
        count += width;
      }
      from = isThere ? at + width : at;
    }
    words.set(before.subarray(from), count);
    count += before.length - from;
    this.#checkSize(count);
    return sequences.internWords(words, count);
  }

  /** Where a member stands among these, or would stand. */
  #place(words: Uint32Array, member: number): number {
    const { keys, width } = this;
    let [low, high] = [0, words.length / width];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (keys.compare(words[middle * width] as number, member) < 0) low = middle + 1;
      else high = middle;
    }
    return low * width;
  }
}
