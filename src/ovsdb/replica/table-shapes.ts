import type { Pools } from '../storage/pools.ts';
import type { NameTable } from './name-table.ts';
import { RowShape } from './row-shape.ts';
import { LONGEST_ROW, RowText } from './row-text.ts';

/** Shapes that are kept of a table's rows. */
const MOST_SHAPES = 8;

/** A shape is worth as much as parsing some rows; where rows are too different for shapes, few are made in vain. */
const PRICE = 64;
const MOST_CREDIT = 4 * PRICE;

/** After so many rows in a row that are of no shape only one of some is compared. */
const MISSES = 16;
const SELDOM = 8;

/** Shapes that rows of one table had lately, the last one first. */
export class TableShapes {
  readonly #pools: Pools;
  readonly #names: NameTable;
  readonly #shapes: RowShape[] = [];
  #credit = MOST_CREDIT;
  /** Rows that were of no shape since one was. */
  #misses = 0;

  constructor(pools: Pools, names: NameTable) {
    this.#pools = pools;
    this.#names = names;
  }

  /** How many rows from `at` on are of the shape that is then `first`. */
  match(bytes: Buffer, at: number, end: number): number {
    const shapes = this.#shapes;
    if (this.#misses > MISSES && this.#misses % SELDOM !== 0) return 0;
    for (let i = 0; i < shapes.length; i++) {
      const shape = shapes[i] as RowShape;
      const rows = shape.match(bytes, at, end);
      if (rows === 0) continue;
      if (i > 0) shapes.unshift(...shapes.splice(i, 1));
      this.#misses = 0;
      this.#credit = Math.min(MOST_CREDIT, this.#credit + rows);
      return rows;
    }
    return 0;
  }

  get first(): RowShape | undefined {
    return this.#shapes[0];
  }

  /** A row that was of no shape: others may be like it. */
  learn(bytes: Buffer, from: number, to: number, kind: number): void {
    this.#credit++;
    this.#misses++;
    if (this.#credit < PRICE || to - from > LONGEST_ROW) return;
    this.#credit -= PRICE;
    const row = RowText.of(bytes, from, to, kind, this.#names);
    if (row === undefined) return;
    const shapes = this.#shapes;
    const like = shapes.findIndex(({ skeleton }) => skeleton === row.skeleton);
    const known = like === -1 ? undefined : shapes.splice(like, 1)[0];
    const isHole = row.atoms.map((_atom, i) => i === 0);
    shapes.unshift(known?.with(row) ?? new RowShape(row, isHole, this.#pools));
    if (shapes.length > MOST_SHAPES) shapes.pop();
  }
}
