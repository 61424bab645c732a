import { cardinality, type Cardinality, type ColumnType } from '../data/column-type.ts';
import { defaultDatum } from '../data/datum.ts';
import type { Atom, Datum } from '../data/value.ts';
import type { AtomCodec } from './atom-codec.ts';
import { grown } from './id-table.ts';
import type { SequencePool } from './sequence-pool.ts';

/** From so many members on a set is not decoded before somebody asks for it. */
const LARGE = 64;

/** Room for the codes of one set or map that is being read, compared or put together. */
export class Members {
  words: Uint32Array = new Uint32Array(1024);

  room(size: number): Uint32Array {
    if (size > this.words.length) this.words = grown(this.words, size);
    return this.words;
  }
}

/**
 * Values of one column as cells of 32 bits: a scalar is its atom's code, an optional that plus one (0: none), a set or
 * map the id of its sequence. Equal values have equal cells.
 */
export class CellValues {
  readonly type: ColumnType;
  readonly kind: Cardinality;
  readonly keys: AtomCodec;
  readonly values: AtomCodec | undefined;
  readonly sequences: SequencePool;
  protected readonly members: Members;
  /** Words of a member. */
  protected readonly width: 1 | 2;
  /** Cell of the column's default; held for ever. */
  readonly defaultCell: number;

  constructor(
    type: ColumnType,
    keys: AtomCodec,
    values: AtomCodec | undefined,
    sequences: SequencePool,
    members: Members,
  ) {
    this.type = type;
    this.kind = cardinality(type);
    this.keys = keys;
    this.values = values;
    this.sequences = sequences;
    this.members = members;
    this.width = this.kind === 'map' ? 2 : 1;
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

  /**
   * The value in a cell as it is now, for who may never look at it: of a large set of texts or UUIDs only the bytes are copied, and
   * the set is made when the function is called, whatever became of the cell by then.
   */
  later(cell: number): Datum | (() => Datum) {
    const { keys } = this;
    if (this.kind !== 'set' || keys.copies === undefined || this.sequences.length(cell) < LARGE)
      return this.datum(cell);
    return keys.copies(this.codes(cell));
  }

  /** Members that one of two sets has and the other has not. Equal members have equal codes, so only these are made. */
  moved(a: number, b: number): readonly Atom[] {
    const [left, right] = [this.codes(a), this.codes(b)];
    const result: Atom[] = [];
    for (let i = 0, k = 0; i < left.length || k < right.length;) {
      const x = i < left.length ? left[i] : undefined;
      const y = k < right.length ? right[k] : undefined;
      if (x === y) {
        i++;
        k++;
      } else if (y === undefined || (x !== undefined && this.keys.compare(x, y) < 0)) {
        result.push(this.keys.atom(x as number));
        i++;
      } else {
        result.push(this.keys.atom(y));
        k++;
      }
    }
    return result;
  }

  /** Cell of a value in canonical form; new atoms and sequences are interned. */
  cell(datum: Datum): number {
    switch (this.kind) {
      case 'scalar':
        return this.keys.intern(datum as Atom);
      case 'optional':
        return datum === undefined ? 0 : this.keys.intern(datum as Atom) + 1;
      case 'set':
      case 'map': {
        const count = this.#codes(datum, (codec, atom) => codec.intern(atom));
        return this.sequences.internWords(this.members.words, count);
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
      case 'set':
      case 'map': {
        const count = this.#codes(datum, (codec, atom) => codec.find(atom));
        return count === -1 ? -1 : this.sequences.findWords(this.members.words, count);
      }
    }
  }

  /** Puts the codes of a set's or map's members into `members`; returns how many, or -1 when one of them is -1. */
  #codes(datum: Datum, codeOf: (codec: AtomCodec, atom: Atom) => number): number {
    let count = 0;
    const add = (codec: AtomCodec, atom: Atom): boolean => {
      const code = codeOf(codec, atom);
      this.members.room(count + 1)[count++] = code;
      return code !== -1;
    };
    if (this.values === undefined) {
      for (const atom of datum as readonly Atom[]) if (!add(this.keys, atom)) return -1;
    } else {
      for (const [key, value] of datum as ReadonlyMap<Atom, Atom>)
        if (!add(this.keys, key) || !add(this.values, value)) return -1;
    }
    return count;
  }

  /** Whether a value may have so many members. */
  allows(size: number): boolean {
    return size >= this.type.min && size <= this.type.max;
  }

  /** A copy of the codes of a set or map, in order. */
  codes(cell: number): Uint32Array {
    const length = this.sequences.length(cell);
    if (length === 0) return new Uint32Array();
    const offset = this.sequences.offset(cell);
    return this.sequences.words(cell).slice(offset, offset + length);
  }

  /** Number of members of a cell's value. */
  size(cell: number): number {
    if (this.kind === 'scalar') return 1;
    if (this.kind === 'optional') return cell === 0 ? 0 : 1;
    return this.sequences.length(cell) / this.width;
  }

  /** Position of a member (or key) in the cell's sequence, or -1. For sets and maps. */
  position(cell: number, code: number): number {
    const length = this.sequences.length(cell);
    if (length === 0) return -1;
    const [words, offset] = [this.sequences.words(cell), this.sequences.offset(cell)];
    for (let i = 0; i < length; i += this.width) if (words[offset + i] === code) return i;
    return -1;
  }

  /** Code of the value of a key of a map, or -1. */
  valueAt(cell: number, key: number): number {
    const at = this.position(cell, key);
    return at === -1
      ? -1
      : (this.sequences.words(cell)[this.sequences.offset(cell) + at + 1] as number);
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
    for (let first = 0; first < this.width; first++) {
      const codec = first === 0 ? this.keys : (this.values as AtomCodec);
      for (let k = first; k < length; k += this.width) {
        const order = codec.compare(x[i + k] as number, y[j + k] as number);
        if (order !== 0) return order;
      }
    }
    return 0;
  }
}
