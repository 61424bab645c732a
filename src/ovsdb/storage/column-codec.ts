import { isSentWhole, type ColumnType } from '../data/column-type.ts';
import { OvsdbError, syntaxError } from '../data/error.ts';
import { atOnce, ENDLESS, type Turn, type Work } from '../turn.ts';
import {
  CLOSE_BRACKET,
  COMMA,
  NEED_MORE,
  OPEN_BRACKET,
  QUOTE,
  type JsonCursor,
} from '../wire/json-cursor.ts';
import { GUESSES, lastIs, type AtomCodec } from './atom-codec.ts';
import { CellValues } from './cell-values.ts';
import { grown } from './id-table.ts';
import { MemberMerge } from './member-merge.ts';
import { LONG, type SequencePool } from './sequence-pool.ts';
import { sortedInPieces } from './sort-in-pieces.ts';

const SET = Buffer.from('set');
const MAP = Buffer.from('map');
const UUID = Buffer.from('uuid');

/** Members being collected, shared by all columns: one value is read at a time. */
let members: Uint32Array = new Uint32Array(1024);

/** A set or map of which only the beginning has arrived. */
export interface CutValue {
  /** Codes of the members, of which there are `count`. */
  readonly words: Uint32Array;
  readonly count: number;
  /** So many of these are known to be in canonical order. */
  readonly ordered: number;
  /** Where the next member begins. */
  readonly position: number;
}

/** Codes, or bytes, of a value that is worth keeping when it is cut off: shorter ones are read anew when more has arrived. */
const WORTH_KEEPING = 256;
export const BYTES_WORTH_KEEPING = 8 * 1024;

/** Members of a set or map in no order. */
export interface Unsorted {
  readonly words: Uint32Array;
  readonly count: number;
}

/** In place of a cell: the members have to be sorted first, for which `takeUnsorted` has them. */
export const UNSORTED = -1;

let unsorted: Unsorted | undefined;

/** The members that were read just now. */
export function takeUnsorted(): Unsorted | undefined {
  const taken = unsorted;
  unsorted = undefined;
  return taken;
}

let cut: CutValue | undefined;

/** What was read of the value in which a cursor has just come to its end; undefined when it is to be read anew. */
export function takeCut(): CutValue | undefined {
  const taken = cut;
  cut = undefined;
  return taken;
}

/** Apart from the reading, which is not to be compiled anew for what happens seldom. */
function keepMembers(count: number, ordered: number, position: number): void {
  cut = { words: members, count, ordered, position };
  members = new Uint32Array(1024);
}

/** As `keepMembers`. */
function putOff(count: number): number {
  unsorted = { words: members, count };
  members = new Uint32Array(1024);
  return UNSORTED;
}

const givenTwice = (): OvsdbError =>
  new OvsdbError('ovsdb error', 'a set or map has a member twice');

const merge = new MemberMerge();

function room(size: number): void {
  if (size > members.length) members = grown(members, size);
}

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
  ) {
    super(type, keys, values, sequences);
    this.isWhole = isSentWhole(type);
  }

  /**
   * Reads a value in wire form into a cell, or returns `UNSORTED` if the cursor `mayWait` for very many members to be sorted. A difference of a set
   * or map may have any number of members. Throws `syntax error` for another type, `constraint violation` for a wrong number of
   * members, `ovsdb error` for a member given twice.
   */
  read(cursor: JsonCursor, isDifference: boolean): number {
    const sweeps = this.keys.sweeps + (this.values?.sweeps ?? 0);
    if (sweeps !== this.#guessedAt) {
      this.#guesses.fill(0);
      this.#guessedAt = sweeps;
    }
    if (this.values !== undefined) return this.#readMap(cursor, isDifference);
    if (this.kind === 'scalar' && cursor.peek() !== OPEN_BRACKET) {
      return this.keys.read(cursor, this.#guesses, 0);
    }
    return this.#readSet(cursor, isDifference);
  }

  #readSet(cursor: JsonCursor, isDifference: boolean): number {
    return this.#ended(this.#collectSet(cursor), 0, isDifference, cursor.mayWait);
  }

  /** The cell of what is in `members`, of which so many are known to be in order. */
  #ended(count: number, ordered: number, isDifference: boolean, mayWait: boolean): number {
    const { min, max } = this.type;
    const width = this.values === undefined ? 1 : 2;
    const size = count / width;
    if ((!isDifference || this.isWhole) && (size < min || size > max)) this.#wrongSize(size);
    if (this.kind === 'set' || this.kind === 'map') {
      if (this.#ordered(ordered, count) === count) return this.sequences.intern(members, count);
      return mayWait && count > LONG ? putOff(count) : this.#sorted(count);
    }
    if (this.kind === 'optional') return count === 0 ? 0 : (members[0] as number) + 1;
    return members[0] as number;
  }

  #wrongSize(count: number): never {
    const { min, max } = this.type;
    throw new OvsdbError(
      'constraint violation',
      `a value has ${count} members, allowed are ${min} to ${max === Infinity ? 'unlimited' : max}`,
    );
  }

  /** A bare atom, or `["set", […]]`, into `members`. */
  #collectSet(cursor: JsonCursor): number {
    if (cursor.peek() !== OPEN_BRACKET) {
      members[0] = this.keys.read(cursor, this.#guesses, 0);
      return 1;
    }
    const before = cursor.position;
    cursor.position++;
    if (cursor.peek() !== QUOTE) cursor.fail('"set"');
    cursor.string();
    if (!lastIs(cursor, SET)) {
      if (!lastIs(cursor, UUID)) throw syntaxError(`expected ["set", …], not "${cursor.lastText}"`);
      cursor.position = before;
      members[0] = this.keys.read(cursor, this.#guesses, 0);
      return 1;
    }
    cursor.expect(COMMA);
    cursor.expect(OPEN_BRACKET);
    return this.#collect(cursor, 0, 0);
  }

  /** Members and the two brackets behind them into `members`, of which there are `from` already, and so many in order. */
  #collect(cursor: JsonCursor, from: number, ordered: number): number {
    const { values } = this;
    let count = from;
    let whole = from;
    let next = cursor.position;
    const worth = next + BYTES_WORTH_KEEPING;
    try {
      if (from > 0 || !cursor.take(CLOSE_BRACKET)) {
        for (;;) {
          if (count + 1 >= members.length) room(count + 2);
          if (values === undefined) {
            members[count] = this.keys.read(cursor, this.#guesses, count);
            count++;
          } else {
            cursor.expect(OPEN_BRACKET);
            members[count] = this.keys.read(cursor, this.#guesses, count);
            cursor.expect(COMMA);
            members[count + 1] = values.read(cursor, this.#guesses, count + 1);
            count += 2;
            cursor.expect(CLOSE_BRACKET);
          }
          if (!cursor.take(COMMA)) break;
          whole = count;
          next = cursor.position;
        }
        cursor.expect(CLOSE_BRACKET);
      }
      cursor.expect(CLOSE_BRACKET);
    } catch (error) {
      if (error === NEED_MORE && (whole >= WORTH_KEEPING || next >= worth))
        keepMembers(whole, this.#ordered(ordered, whole), next);
      throw error;
    }
    return count;
  }

  /** Goes on with a value that was cut off; the cursor stands where its next member begins. */
  readOn(cursor: JsonCursor, value: CutValue, isDifference: boolean): number {
    members = value.words;
    const count = this.#collect(cursor, value.count, value.ordered);
    return this.#ended(count, value.ordered, isDifference, cursor.mayWait);
  }

  #readMap(cursor: JsonCursor, isDifference: boolean): number {
    cursor.expect(OPEN_BRACKET);
    cursor.string();
    if (!lastIs(cursor, MAP)) throw syntaxError(`expected ["map", …], not "${cursor.lastText}"`);
    cursor.expect(COMMA);
    cursor.expect(OPEN_BRACKET);
    return this.#ended(this.#collect(cursor, 0, 0), 0, isDifference, cursor.mayWait);
  }

  /** True when these codes of a set or map are in canonical order. */
  isOrdered(codes: Uint32Array): boolean {
    const step = this.kind === 'map' ? 2 : 1;
    for (let i = step; i < codes.length; i += step) {
      if (this.keys.compare(codes[i - step] as number, codes[i] as number) >= 0) return false;
    }
    return true;
  }

  /** Cell of a set or map of these codes, in any order. Throws `ovsdb error` for a member given twice. */
  sortedCell(codes: Uint32Array): number {
    room(codes.length);
    members.set(codes);
    return this.#ordered(0, codes.length) === codes.length
      ? this.sequences.intern(members, codes.length)
      : this.#sorted(codes.length);
  }

  /** The cell of members in no order, which are sorted in pieces. Throws `ovsdb error` for a member given twice. */
  *sorting({ words, count }: Unsorted, turn: Turn): Work<number> {
    const step = this.kind === 'map' ? 2 : 1;
    const { keys } = this;
    const places = new Uint32Array(count / step);
    for (let i = 0; i < places.length; i++) places[i] = i * step;
    const order = yield* sortedInPieces(
      places,
      (a, b) => keys.compare(words[a] as number, words[b] as number),
      turn,
    );
    const sorted = new Uint32Array(count);
    for (let i = 0; i < order.length; i++) {
      const from = order[i] as number;
      for (let k = 0; k < step; k++) sorted[i * step + k] = words[from + k] as number;
      if (i > 0 && sorted[i * step] === sorted[(i - 1) * step]) throw givenTwice();
    }
    return this.sequences.intern(sorted, count);
  }

  /** The cell of what is in `members`, in no order. */
  #sorted(count: number): number {
    return atOnce(this.sorting({ words: members, count }, ENDLESS));
  }

  /** How many of `members` are in canonical order, in which servers send them; so many are known to be. */
  #ordered(known: number, count: number): number {
    const step = this.kind === 'map' ? 2 : 1;
    for (let i = Math.max(step, known); i < count; i += step) {
      const order = this.keys.compare(members[i - step] as number, members[i] as number);
      if (order === 0) throw givenTwice();
      if (order > 0) return i;
    }
    return count;
  }

  /** The cell that a difference makes of another. Throws `constraint violation` when the result has a wrong number of members. */
  apply(cell: number, difference: number): number {
    if (this.isWhole) return difference;
    if (this.sequences.length(difference) === 0) return cell;
    this.#begin(merge, cell, difference);
    merge.step(Infinity);
    return this.#merged(merge);
  }

  /** As `apply`, in pieces. */
  *applying(cell: number, difference: number, turn: Turn): Work<number> {
    if (this.isWhole || this.sequences.length(difference) === 0)
      return this.apply(cell, difference);
    const mine = new MemberMerge();
    this.#begin(mine, cell, difference);
    while (!mine.step()) if (turn.isOver()) yield;
    return this.#merged(mine);
  }

  #begin(into: MemberMerge, cell: number, difference: number): void {
    into.begin(this.keys, this.sequences, this.kind === 'map' ? 2 : 1, cell, difference);
  }

  #merged({ words, length }: MemberMerge): number {
    const size = length / (this.kind === 'map' ? 2 : 1);
    if (size < this.type.min || size > this.type.max) this.#wrongSize(size);
    return this.sequences.intern(words, length);
  }
}
