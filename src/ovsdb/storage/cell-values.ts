import { cardinality, type Cardinality, type ColumnType } from '../data/column-type.ts';
import { defaultDatum } from '../data/datum.ts';
import type { Turn, Work } from '../turn.ts';
import type { Atom, Datum } from '../data/value.ts';
import type { AtomCodec } from './atom-codec.ts';
import { grown } from './id-table.ts';
import { LONG, type SequencePool } from './sequence-pool.ts';
import type { SortKey } from './sort-slots.ts';

/** Codes of the members of a value that is looked up. */
let members: Uint32Array = new Uint32Array(1024);

function room(size: number): void {
  if (size > members.length) members = grown(members, size);
}

/** Members of a value that are decoded between two questions whether the turn is over. */
const MEMBERS_AT_ONCE = 1024;

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
  /** Cell of the column's default; held for ever. */
  readonly defaultCell: number;

  constructor(
    type: ColumnType,
    keys: AtomCodec,
    values: AtomCodec | undefined,
    sequences: SequencePool,
  ) {
    this.type = type;
    this.kind = cardinality(type);
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

  /** True for a set or map whose members are better gone through in pieces. */
  hasManyMembers(cell: number): boolean {
    return (this.kind === 'set' || this.kind === 'map') && this.sequences.length(cell) > LONG;
  }

  /** True for a value that is better decoded in pieces. */
  isLong(cell: number): boolean {
    return this.hasManyMembers(cell) || this.#hasLongAtom(cell);
  }

  #hasLongAtom(cell: number): boolean {
    const { keys, values, sequences } = this;
    if (cell === 0 || (keys.hasLong !== true && values?.hasLong !== true)) return false;
    if (this.kind === 'scalar') return keys.isLong?.(cell) === true;
    if (this.kind === 'optional') return keys.isLong?.(cell - 1) === true;
    const [words, offset] = [sequences.words(cell), sequences.offset(cell)];
    for (let i = sequences.length(cell) - 1; i >= 0; i--) {
      const codec = values !== undefined && i % 2 === 1 ? values : keys;
      if (codec.isLong?.(words[offset + i] as number) === true) return true;
    }
    return false;
  }

  /** As `datum`, in pieces. */
  *datumInPieces(cell: number, turn: Turn): Work<Datum> {
    const { keys, values } = this;
    if (this.kind === 'scalar') return yield* atomInPieces(keys, cell, turn);
    if (this.kind === 'optional')
      return cell === 0 ? undefined : yield* atomInPieces(keys, cell - 1, turn);
    const words = this.members(cell);
    const set: Atom[] = [];
    const map = new Map<Atom, Atom>();
    for (let i = 0; i < words.length; i += values === undefined ? 1 : 2) {
      const atom = yield* atomInPieces(keys, words[i] as number, turn);
      if (values === undefined) set.push(atom);
      else map.set(atom, yield* atomInPieces(values, words[i + 1] as number, turn));
      if (i % MEMBERS_AT_ONCE === 0 && turn.isOver()) yield;
    }
    return values === undefined ? set : map;
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

  /** What values are sorted by, as `SortKey`, by their cells; undefined: they have to be compared. */
  get sortKey(): SortKey | undefined {
    const { sortKey } = this.keys;
    if (this.kind === 'scalar') return sortKey;
    if (this.kind !== 'optional') return undefined;
    return {
      // First whether there is one.
      word: (cell, place) => (place === 0 ? Math.min(cell, 1) : sortKey.word(cell - 1, place - 1)),
      isEnd: (word, place) => (place === 0 ? word === 0 : sortKey.isEnd(word, place - 1)),
    };
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

/** An atom, decoded in pieces where it is long. */
function* atomInPieces(codec: AtomCodec, code: number, turn: Turn): Work<Atom> {
  if (codec.atomInPieces === undefined || codec.isLong?.(code) !== true) return codec.atom(code);
  return yield* codec.atomInPieces(code, turn);
}
