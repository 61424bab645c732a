import {
  END,
  FOUND_WORDS,
  mostRows,
  shapeScan,
  TEXT_HOLE,
  UUID_HOLE,
  type ShapePart,
} from '../storage/shape-scan.ts';
import { GUESSES } from '../storage/atom-codec.ts';
import type { ColumnCodec } from '../storage/column-codec.ts';
import type { Pools } from '../storage/pools.ts';
import { JsonCursor } from '../wire/json-cursor.ts';
import { MODIFY, type StagedTable } from './staging.ts';
import type { AtomPlace, RowText } from './row-text.ts';

/** Rows that are taken through each step together. */
const BATCH = 64;

/** A column of a shape, and how its cell comes about. */
interface ShapeColumn {
  readonly position: number;
  readonly codec: ColumnCodec;
  /** Where the value stands in the text of the shape. */
  readonly start: number;
  /** Members of the value, or the one atom that it is, in order; none when all of it is fixed. */
  readonly atoms: readonly AtomPlace[];
  /** Codes of the atoms: those in holes are filled in for each row. */
  readonly codes: Uint32Array;
  /** Which codes are filled in from which hole, in turns. */
  readonly filled: readonly number[];
  /** The codes are in canonical order whatever the holes have; undefined until they were looked up. */
  isOrdered: boolean | undefined;
  /** Of a fixed value. */
  cell: number;
}

/** Codes of what was found in the holes of a batch, row by row. */
let codes = new Uint32Array(1024);
const guesses = new Uint32Array(GUESSES);

/**
 * The text of a row of which some parts are the same in many rows, and what these parts mean. Rows that are of this shape are not parsed: only what
 * they have in the holes is looked up.
 */
export class RowShape {
  readonly #pools: Pools;
  readonly #row: RowText;
  /** For each atom that may be a hole, whether it is one, by its number. */
  readonly #isHole: readonly boolean[];
  readonly #holes: readonly AtomPlace[];
  readonly #columns: readonly ShapeColumn[];
  readonly #parts: readonly ShapePart[];
  /** Rows for which there is room in the scan, and that are taken through each step together. */
  readonly #most: number;
  /** Its number in the scan. */
  #number = -1;
  /** The sweeps of the pools at which codes and cells of fixed parts were looked up. */
  #knownAt = -1;

  constructor(row: RowText, isHole: readonly boolean[], pools: Pools) {
    this.#pools = pools;
    this.#row = row;
    this.#isHole = isHole;
    this.#holes = row.atoms.filter((_atom, i) => isHole[i]);
    this.#parts = this.#cut();
    this.#most = Math.min(BATCH, mostRows(this.#holes.length));
    this.#columns = row.columns.map(({ column, start, atoms }): ShapeColumn => {
      const filled = atoms.flatMap((atom, i) => {
        const hole = this.#holes.indexOf(atom);
        return hole === -1 ? [] : [i, hole];
      });
      return {
        position: column.position,
        codec: column.codec,
        start,
        atoms: filled.length === 0 ? [] : atoms,
        codes: new Uint32Array(filled.length === 0 ? 0 : atoms.length),
        filled,
        isOrdered: undefined,
        cell: 0,
      };
    });
  }

  #cut(): readonly ShapePart[] {
    const { text } = this.#row;
    let from = 0;
    const parts = this.#holes.map(({ start, end, hole }): ShapePart => {
      const fixed = text.subarray(from, start);
      from = end;
      return { fixed, hole };
    });
    return [...parts, { fixed: text.subarray(from), hole: END }];
  }

  /** Rows with the same skeleton differ in atoms alone. */
  get skeleton(): string {
    return this.#row.skeleton;
  }

  /** The shape of these rows and of one more with the same skeleton. */
  with(row: RowText): RowShape {
    const known = this.#row;
    const isHole = row.atoms.map(
      (atom, i) =>
        this.#isHole[i] === true ||
        !known.textOf(known.atoms[i] as AtomPlace).equals(row.textOf(atom)),
    );
    return new RowShape(row, isHole, this.#pools);
  }

  /** How many rows from `at` on are of this shape, as `ShapeScan.match`. */
  match(bytes: Buffer, at: number, end: number): number {
    const scan = shapeScan();
    if (!scan.has(this.#number)) {
      this.#number = scan.add(this.#parts);
      if (this.#number === -1) return 0;
    }
    return scan.match(this.#number, bytes, at, end, this.#most);
  }

  /** Stages the rows that were matched just now. `endRow` is called behind each with its UUID. */
  stage(rows: number, staged: StagedTable, endRow: (kind: number, uuid: number) => void): void {
    if (this.#knownAt !== this.#pools.sweeps) this.#lookUp();
    this.#intern(rows);
    const { kind } = this.#row;
    const holes = this.#holes.length;
    for (let row = 0; row < rows; row++) {
      const at = row * holes;
      staged.beginRow();
      for (const column of this.#columns) staged.addKnown(column.position, cellOf(column, at));
      endRow(kind, codes[at] as number);
    }
  }

  /** Looks up what was found in the holes: first one hole of all rows, then the next. */
  #intern(rows: number): void {
    const { bytes, found } = shapeScan();
    const { strings, uuids, numbers } = this.#pools;
    const holes = this.#holes.length;
    if (rows * holes > codes.length) codes = new Uint32Array(rows * holes * 2);
    for (let i = 0; i < holes; i++) {
      const { hole } = this.#holes[i] as AtomPlace;
      for (let row = 0; row < rows; row++) {
        const at = (row * holes + i) * FOUND_WORDS;
        codes[row * holes + i] =
          hole === TEXT_HOLE
            ? strings.internHashed(
                bytes,
                found[at] as number,
                found[at + 1] as number,
                found[at + 2] as number,
              )
            : hole === UUID_HOLE
              ? uuids.internWords(found, at)
              : numbers.intern(found[at] as number);
      }
    }
  }

  /** Looks up the fixed parts: codes may have been given to others since the last time. */
  #lookUp(): void {
    this.#knownAt = this.#pools.sweeps;
    const { text, kind } = this.#row;
    for (const column of this.#columns) {
      const { codec, codes: known, atoms } = column;
      if (atoms.length === 0) {
        column.cell = codec.read(new JsonCursor(text, column.start), kind === MODIFY);
        continue;
      }
      atoms.forEach((atom, i) => {
        if (this.#holes.includes(atom)) return;
        const atomCodec = codec.values !== undefined && i % 2 === 1 ? codec.values : codec.keys;
        known[i] = atomCodec.read(new JsonCursor(text, atom.value), guesses.fill(0), 0);
      });
      column.isOrdered ??=
        codec.kind === 'map' &&
        column.filled.every((word, i) => i % 2 === 1 || word % 2 === 1) &&
        codec.isOrdered(known);
    }
  }
}

function cellOf({ codec, codes: own, filled, isOrdered, cell }: ShapeColumn, at: number): number {
  if (filled.length === 0) return cell;
  if (codec.kind === 'scalar') return codes[at + (filled[1] as number)] as number;
  if (codec.kind === 'optional') return (codes[at + (filled[1] as number)] as number) + 1;
  for (let i = 0; i < filled.length; i += 2) {
    own[filled[i] as number] = codes[at + (filled[i + 1] as number)] as number;
  }
  return isOrdered === true ? codec.sequences.intern(own, own.length) : codec.sortedCell(own);
}
