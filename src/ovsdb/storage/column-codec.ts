import { cardinality, isSentWhole, type Cardinality, type ColumnType } from '../column-type.ts';
import { defaultDatum } from '../datum.ts';
import { OvsdbError, syntaxError } from '../error.ts';
import { CLOSE_BRACKET, COMMA, OPEN_BRACKET, QUOTE, type JsonCursor } from '../wire/json-cursor.ts';
import type { Atom, Datum } from '../value.ts';
import { GUESSES, lastIs, type AtomCodec } from './atom-codec.ts';
import type { SequencePool } from './sequence-pool.ts';

const SET = Buffer.from('set');
const MAP = Buffer.from('map');
const UUID = Buffer.from('uuid');

/** Members being collected, shared by all columns: one value is read at a time. */
let members = new Uint32Array(1024);

function room(size: number): void {
  if (size <= members.length) return;
  const larger = new Uint32Array(size * 2);
  larger.set(members);
  members = larger;
}

/**
 * Values of one column as cells of 32 bits: a scalar is its atom's code, an optional that plus one (0: none), a set or
 * map the id of its sequence. Equal values have equal cells.
 */
export class ColumnCodec {
  readonly type: ColumnType;
  readonly kind: Cardinality;
  readonly keys: AtomCodec;
  readonly values: AtomCodec | undefined;
  readonly sequences: SequencePool;
  /** Cell of the column's default; held for ever. */
  readonly defaultCell: number;
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
    this.type = type;
    this.kind = cardinality(type);
    this.isWhole = isSentWhole(type);
    this.keys = keys;
    this.values = values;
    this.sequences = sequences;
    this.defaultCell = this.cell(defaultDatum(type));
    this.retain(this.defaultCell);
  }

  retain(cell: number): void {
    if (cell === 0) return;
    if (this.kind === 'scalar') this.keys.retain(cell);
    else if (this.kind === 'optional') this.keys.retain(cell - 1);
    else this.sequences.retain(cell);
  }

  release(cell: number): void {
    if (cell === 0) return;
    if (this.kind === 'scalar') this.keys.release(cell);
    else if (this.kind === 'optional') this.keys.release(cell - 1);
    else this.sequences.release(cell);
  }

  /** The value in a cell. */
  datum(cell: number): Datum {
    switch (this.kind) {
      case 'scalar':
        return this.keys.atom(cell);
      case 'optional':
        return cell === 0 ? undefined : this.keys.atom(cell - 1);
      case 'set': {
        const length = this.sequences.length(cell);
        if (length === 0) return [];
        const [words, offset] = [this.sequences.words(cell), this.sequences.offset(cell)];
        const result: Atom[] = [];
        for (let i = 0; i < length; i++) result.push(this.keys.atom(words[offset + i] as number));
        return result;
      }
      case 'map': {
        const length = this.sequences.length(cell);
        const result = new Map<Atom, Atom>();
        if (length === 0) return result;
        const [words, offset] = [this.sequences.words(cell), this.sequences.offset(cell)];
        const values = this.values as AtomCodec;
        for (let i = 0; i < length; i += 2) {
          result.set(
            this.keys.atom(words[offset + i] as number),
            values.atom(words[offset + i + 1] as number),
          );
        }
        return result;
      }
    }
  }

  /** Cell of a value in canonical form; what is new is added to the pools. */
  cell(datum: Datum): number {
    switch (this.kind) {
      case 'scalar':
        return this.keys.intern(datum as Atom);
      case 'optional':
        return datum === undefined ? 0 : this.keys.intern(datum as Atom) + 1;
      case 'set': {
        const atoms = datum as readonly Atom[];
        room(atoms.length);
        atoms.forEach((atom, i) => {
          members[i] = this.keys.intern(atom);
        });
        return this.sequences.intern(members, atoms.length);
      }
      case 'map': {
        const values = this.values as AtomCodec;
        const map = datum as ReadonlyMap<Atom, Atom>;
        room(map.size * 2);
        let at = 0;
        for (const [key, value] of map) {
          members[at++] = this.keys.intern(key);
          members[at++] = values.intern(value);
        }
        return this.sequences.intern(members, at);
      }
    }
  }

  /** Cell of a value in canonical form, or -1 when no row can hold it. Adds nothing. */
  find(datum: Datum): number {
    switch (this.kind) {
      case 'scalar':
        return this.keys.find(datum as Atom);
      case 'optional': {
        if (datum === undefined) return 0;
        const code = this.keys.find(datum as Atom);
        return code === -1 ? -1 : code + 1;
      }
      case 'set': {
        const atoms = datum as readonly Atom[];
        room(atoms.length);
        for (let i = 0; i < atoms.length; i++) {
          const code = this.keys.find(atoms[i] as Atom);
          if (code === -1) return -1;
          members[i] = code;
        }
        return this.sequences.find(members, atoms.length);
      }
      case 'map': {
        const values = this.values as AtomCodec;
        const map = datum as ReadonlyMap<Atom, Atom>;
        room(map.size * 2);
        let at = 0;
        for (const [key, value] of map) {
          const [k, v] = [this.keys.find(key), values.find(value)];
          if (k === -1 || v === -1) return -1;
          members[at++] = k;
          members[at++] = v;
        }
        return this.sequences.find(members, at);
      }
    }
  }

  /** Whether a value may have so many members. */
  allows(size: number): boolean {
    return size >= this.type.min && size <= this.type.max;
  }

  /** A copy of the codes of a set or map, in order. */
  members(cell: number): Uint32Array {
    const length = this.sequences.length(cell);
    if (length === 0) return new Uint32Array();
    const offset = this.sequences.offset(cell);
    return this.sequences.words(cell).slice(offset, offset + length);
  }

  /** Number of members of a cell's value. */
  size(cell: number): number {
    switch (this.kind) {
      case 'scalar':
        return 1;
      case 'optional':
        return cell === 0 ? 0 : 1;
      case 'set':
        return this.sequences.length(cell);
      case 'map':
        return this.sequences.length(cell) / 2;
    }
  }

  /** Position of a member (or key) in the cell's sequence, or -1. For sets and maps. */
  position(cell: number, code: number): number {
    const step = this.kind === 'map' ? 2 : 1;
    const length = this.sequences.length(cell);
    if (length === 0) return -1;
    const [words, offset] = [this.sequences.words(cell), this.sequences.offset(cell)];
    for (let i = 0; i < length; i += step) if (words[offset + i] === code) return i;
    return -1;
  }

  /** Code of the value of a key of a map, or -1. */
  valueAt(cell: number, key: number): number {
    const at = this.position(cell, key);
    return at === -1
      ? -1
      : (this.sequences.words(cell)[this.sequences.offset(cell) + at + 1] as number);
  }

  /**
   * Reads a value in wire form into a cell. A difference of a set or map may have any number of members. Throws `syntax error` for
   * another type, `constraint violation` for a wrong number of members, `ovsdb error` for a member given twice.
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
    const count = this.#collectSet(cursor);
    const { min, max } = this.type;
    if ((!isDifference || this.isWhole) && (count < min || count > max)) this.#wrongSize(count);
    if (this.kind === 'set') {
      this.#sort(count, 1);
      return this.sequences.intern(members, count);
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
    let count = 0;
    if (!cursor.take(CLOSE_BRACKET)) {
      do {
        if (count >= members.length) room(count + 1);
        members[count] = this.keys.read(cursor, this.#guesses, count);
        count++;
      } while (cursor.take(COMMA));
      cursor.expect(CLOSE_BRACKET);
    }
    cursor.expect(CLOSE_BRACKET);
    return count;
  }

  #readMap(cursor: JsonCursor, isDifference: boolean): number {
    const values = this.values as AtomCodec;
    cursor.expect(OPEN_BRACKET);
    cursor.string();
    if (!lastIs(cursor, MAP)) throw syntaxError(`expected ["map", …], not "${cursor.lastText}"`);
    cursor.expect(COMMA);
    cursor.expect(OPEN_BRACKET);
    let count = 0;
    if (!cursor.take(CLOSE_BRACKET)) {
      do {
        if (count + 1 >= members.length) room(count + 2);
        cursor.expect(OPEN_BRACKET);
        members[count] = this.keys.read(cursor, this.#guesses, count);
        cursor.expect(COMMA);
        members[count + 1] = values.read(cursor, this.#guesses, count + 1);
        count += 2;
        cursor.expect(CLOSE_BRACKET);
      } while (cursor.take(COMMA));
      cursor.expect(CLOSE_BRACKET);
    }
    cursor.expect(CLOSE_BRACKET);
    const { min, max } = this.type;
    if ((!isDifference || this.isWhole) && (count / 2 < min || count / 2 > max))
      this.#wrongSize(count / 2);
    this.#sort(count, 2);
    return this.sequences.intern(members, count);
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
    this.#sort(codes.length, this.kind === 'map' ? 2 : 1);
    return this.sequences.intern(members, codes.length);
  }

  /** Puts `members` into canonical order; the server already sends them so. */
  #sort(count: number, step: 1 | 2): void {
    for (let i = step; i < count; i += step) {
      const order = this.keys.compare(members[i - step] as number, members[i] as number);
      if (order === 0) throw new OvsdbError('ovsdb error', 'a set or map has a member twice');
      if (order > 0) {
        this.#sortFully(count, step);
        return;
      }
    }
  }

  #sortFully(count: number, step: 1 | 2): void {
    const order = Array.from({ length: count / step }, (_, i) => i * step);
    const copy = members.slice(0, count);
    order.sort((a, b) => this.keys.compare(copy[a] as number, copy[b] as number));
    order.forEach((from, i) => {
      for (let k = 0; k < step; k++) members[i * step + k] = copy[from + k] as number;
      if (i > 0 && members[i * step] === members[(i - 1) * step]) {
        throw new OvsdbError('ovsdb error', 'a set or map has a member twice');
      }
    });
  }

  /** The cell that a difference makes of another. Throws `constraint violation` when the result has a wrong number of members. */
  apply(cell: number, difference: number): number {
    if (this.isWhole) return difference;
    const { sequences } = this;
    const step = this.kind === 'map' ? 2 : 1;
    const [n, m] = [sequences.length(cell), sequences.length(difference)];
    if (m === 0) return cell;
    room(n + m);
    const [a, b] = [n === 0 ? members : sequences.words(cell), sequences.words(difference)];
    const [ao, bo] = [n === 0 ? 0 : sequences.offset(cell), sequences.offset(difference)];
    let [i, j, out] = [0, 0, 0];
    while (i < n || j < m) {
      const order =
        i >= n ? 1 : j >= m ? -1 : this.keys.compare(a[ao + i] as number, b[bo + j] as number);
      if (order < 0) {
        for (let k = 0; k < step; k++) members[out++] = a[ao + i + k] as number;
        i += step;
      } else if (order > 0) {
        for (let k = 0; k < step; k++) members[out++] = b[bo + j + k] as number;
        j += step;
      } else {
        if (step === 2 && a[ao + i + 1] !== b[bo + j + 1]) {
          members[out++] = b[bo + j] as number;
          members[out++] = b[bo + j + 1] as number;
        }
        i += step;
        j += step;
      }
    }
    const size = out / step;
    if (size < this.type.min || size > this.type.max) this.#wrongSize(size);
    return sequences.intern(members, out);
  }

  /** Order of two cells' values: by size, then members, then a map's values. */
  compare(a: number, b: number): number {
    if (a === b) return 0;
    if (this.kind === 'scalar') return this.keys.compare(a, b);
    if (this.kind === 'optional')
      return a === 0 ? -1 : b === 0 ? 1 : this.keys.compare(a - 1, b - 1);
    const { sequences } = this;
    const length = sequences.length(a);
    if (length !== sequences.length(b)) return length - sequences.length(b);
    const [x, y] = [sequences.words(a), sequences.words(b)];
    const [i, j] = [sequences.offset(a), sequences.offset(b)];
    const step = this.kind === 'map' ? 2 : 1;
    for (let first = 0; first < step; first++) {
      const codec = first === 0 ? this.keys : (this.values as AtomCodec);
      for (let k = first; k < length; k += step) {
        const order = codec.compare(x[i + k] as number, y[j + k] as number);
        if (order !== 0) return order;
      }
    }
    return 0;
  }
}
