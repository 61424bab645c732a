import { syntaxError, type OvsdbError } from '../data/error.ts';
import {
  BYTES_WORTH_KEEPING,
  takeCut,
  takeUnsorted,
  UNSORTED,
  type CutValue,
  type Unsorted,
} from '../storage/column-codec.ts';
import type { UuidPool } from '../storage/uuid-pool.ts';
import type { Turn, Work } from '../turn.ts';
import {
  CLOSE_BRACE,
  COLON,
  COMMA,
  NEED_MORE,
  OPEN_BRACE,
  type JsonCursor,
} from '../wire/json-cursor.ts';
import { JsonReader } from '../wire/json-reader.ts';
import type { NamedColumn, NameTable } from './name-table.ts';
import { DELETE, INSERT, MODIFY, REPLACE, type StagedTable, type StagingMode } from './staging.ts';

/** `update`: old and new rows in full (RFC 7047 §4.1.6); `update2`: differences, as update3 too. */
export type UpdateFormat = 'update' | 'update2';

/** Where rows of a table go, and what helps to read them. */
export interface OpenTable {
  readonly staged: StagedTable;
  readonly names: NameTable;
  /** Whether the updates have named it. */
  isNamed: boolean;
}

/** Parts that a row has in `update`. */
const OLD = 1;
const NEW = 2;

/** A row of which only the beginning was read, and a part of it is worth keeping. */
interface CutRow {
  readonly uuid: number;
  /** What happens to the row; 0 in `update`, where its parts tell. */
  readonly kind: number;
  /** What was staged of it. */
  readonly cells: Uint32Array;
  /** The last column that was begun; undefined in or behind a part that has none, or is over. */
  readonly column: NamedColumn | undefined;
  /** Its value as far as it was read; undefined: all of it. */
  readonly value: CutValue | undefined;
  /** Its members, which have to be sorted first. */
  readonly unsorted: Unsorted | undefined;
  /** Steps over the row as it was. */
  readonly skipper: JsonReader | undefined;
}

/** Reads the updates of rows into cells. A row may be cut off behind any member of a large set or map, and is then gone on with. */
export class RowReader {
  readonly #uuids: UuidPool;
  readonly #format: UpdateFormat;
  readonly #mode: StagingMode;
  #cut: CutRow | undefined;
  /** Where it was cut just now; -1: it was not. */
  #cutAt = -1;
  /** Parts that have begun of the row of `update` that is read. */
  #parts = 0;

  constructor(uuids: UuidPool, format: UpdateFormat, mode: StagingMode) {
    this.#uuids = uuids;
    this.#format = format;
    this.#mode = mode;
  }

  /** Whether there is a row to be gone on with. */
  get isCut(): boolean {
    return this.#cut !== undefined;
  }

  /** Where the row was cut off that the cursor could not read to its end; -1: it is to be read anew. */
  get cutAt(): number {
    return this.#cutAt;
  }

  /** Braces of the updates that are open where a row is cut. */
  get braces(): number {
    return this.#cut?.column === undefined ? 3 + (this.#cut?.skipper?.braces ?? 0) : 4;
  }

  /** Brackets that are open there; none when no row is cut. */
  get brackets(): number {
    return this.#cut?.value === undefined ? (this.#cut?.skipper?.brackets ?? 0) : 2;
  }

  /** Reads a row, which the cursor stands before. */
  read(cursor: JsonCursor, open: OpenTable): void {
    this.#cutAt = -1;
    cursor.string();
    const uuid = this.#uuids.internBytes(cursor.text, cursor.textStart, cursor.textEnd);
    if (uuid <= 0) throw notOfRow(cursor.lastText);
    cursor.expect(COLON);
    if (this.#format === 'update2') this.#update2(cursor, open, uuid);
    else this.#update(cursor, open, uuid);
  }

  /** `{"initial": row}`, `{"insert": row}`, `{"modify": difference}` or `{"delete": null}`. */
  #update2(cursor: JsonCursor, open: OpenTable, uuid: number): void {
    cursor.expect(OPEN_BRACE);
    cursor.string();
    const { text, textStart } = cursor;
    const length = cursor.textEnd - textStart;
    const letter = text[textStart];
    const second = text[textStart + 1];
    const { staged } = open;
    staged.beginRow();
    let kind = 0;
    if (letter === 0x64 && length === 6) {
      kind = DELETE;
      cursor.expect(COLON);
      cursor.skip();
    } else if (letter === 0x6d && length === 6) {
      kind = MODIFY;
      cursor.expect(COLON);
      this.#cells(cursor, open, uuid, kind);
    } else if (letter === 0x69 && second === 0x6e && (length === 6 || length === 7)) {
      kind = INSERT;
      cursor.expect(COLON);
      this.#cells(cursor, open, uuid, kind);
    } else {
      throw syntaxError(`"${cursor.lastText}" is no kind of row update`);
    }
    this.#endUpdate2(cursor, open, uuid, kind);
  }

  #endUpdate2(cursor: JsonCursor, { staged }: OpenTable, uuid: number, kind: number): void {
    if (cursor.peek() === COMMA) staged.fail('a row update must have exactly one member');
    cursor.expect(CLOSE_BRACE);
    if (kind === INSERT && this.#mode === 'contents') staged.endContents(uuid);
    else staged.endRow(kind, uuid);
  }

  /** `{"new": row}`, `{"old": changed columns, "new": row}` or `{"old": row}`. */
  #update(cursor: JsonCursor, open: OpenTable, uuid: number): void {
    open.staged.beginRow();
    this.#parts = 0;
    cursor.expect(OPEN_BRACE);
    if (cursor.take(CLOSE_BRACE)) open.staged.fail('a row update is empty');
    this.#partsAfter(cursor, open, uuid);
  }

  #partsAfter(cursor: JsonCursor, open: OpenTable, uuid: number): void {
    const { staged } = open;
    do {
      cursor.string();
      const name = cursor.lastText;
      cursor.expect(COLON);
      if (name === 'new') {
        this.#parts |= NEW;
        this.#cells(cursor, open, uuid, 0);
      } else if (name === 'old') {
        this.#parts |= OLD;
        this.#skipOld(cursor, staged, uuid);
      } else throw syntaxError(`"${name}" is no part of a row update`);
    } while (cursor.take(COMMA));
    this.#endUpdate(cursor, staged, uuid);
  }

  #endUpdate(cursor: JsonCursor, staged: StagedTable, uuid: number): void {
    cursor.expect(CLOSE_BRACE);
    const hasNew = (this.#parts & NEW) !== 0;
    if (this.#mode === 'contents') staged.endContents(uuid);
    else staged.endRow(hasNew ? ((this.#parts & OLD) === 0 ? INSERT : REPLACE) : DELETE, uuid);
  }

  /** Steps over the row as it was. */
  #skipOld(cursor: JsonCursor, staged: StagedTable, uuid: number): void {
    const from = cursor.position;
    try {
      cursor.skip();
    } catch (error) {
      if (error === NEED_MORE && cursor.end - from >= BYTES_WORTH_KEEPING) {
        const skipper = new JsonReader(false);
        const stopped = skipper.push(cursor.bytes, cursor.texts, from, cursor.end);
        this.#cutOff(stopped, { uuid, kind: 0, cells: staged.cells, skipper });
      }
      throw error;
    }
  }

  #cutOff(at: number, row: Pick<CutRow, 'uuid' | 'kind' | 'cells'> & Partial<CutRow>): void {
    this.#cutAt = at;
    this.#cut = {
      column: undefined,
      value: undefined,
      unsorted: undefined,
      skipper: undefined,
      ...row,
    };
  }

  /** `kind`: 0 in `update`. */
  #cells(cursor: JsonCursor, open: OpenTable, uuid: number, kind: number): void {
    cursor.expect(OPEN_BRACE);
    if (!cursor.take(CLOSE_BRACE)) this.#cellsAfter(cursor, open, uuid, kind, undefined);
  }

  #cellsAfter(
    cursor: JsonCursor,
    { staged, names }: OpenTable,
    uuid: number,
    kind: number,
    last: NamedColumn | undefined,
  ): void {
    let before = last;
    try {
      do {
        const guess = before === undefined ? names.first : before.follower;
        let column: NamedColumn | undefined;
        if (guess !== undefined && cursor.takeText(guess.name, 0, guess.name.length))
          column = guess;
        else {
          cursor.string();
          column = names.find(cursor.text, cursor.textStart, cursor.textEnd);
          // Only a name that is written without escapes can be recognised by its bytes.
          if (column !== undefined && cursor.text === cursor.bytes) {
            if (before === undefined) names.first = column;
            else before.follower = column;
          }
        }
        before = column;
        cursor.expect(COLON);
        // A column nobody asked for, of a newer server.
        if (column === undefined) cursor.skip();
        else {
          const cell = column.codec.read(cursor, kind === MODIFY);
          if (cell === UNSORTED) this.#waitForOrder(cursor, staged, uuid, kind, column);
          staged.addCell(column.position, cell);
        }
      } while (cursor.take(COMMA));
      cursor.expect(CLOSE_BRACE);
    } catch (error) {
      if (error === NEED_MORE) this.#keep(staged, uuid, kind, before);
      throw error;
    }
  }

  /** Keeps what was read of a row in whose large value the bytes have come to their end. */
  #keep(staged: StagedTable, uuid: number, kind: number, column: NamedColumn | undefined): void {
    const value = takeCut();
    if (value !== undefined && column !== undefined)
      this.#cutOff(value.position, { uuid, kind, cells: staged.cells, column, value });
  }

  /** Stops behind very many members that have to be sorted first. */
  #waitForOrder(
    cursor: JsonCursor,
    staged: StagedTable,
    uuid: number,
    kind: number,
    column: NamedColumn,
  ): never {
    const { cells } = staged;
    this.#cutOff(cursor.position, { uuid, kind, cells, column, unsorted: takeUnsorted() });
    throw NEED_MORE;
  }

  /** Sorting that has to be done before the row is gone on with; undefined: none. */
  takeWork(staged: StagedTable, turn: Turn): Work | undefined {
    const cut = this.#cut;
    if (cut?.unsorted === undefined || cut.column === undefined) return undefined;
    return this.#sorting(cut, cut.column, cut.unsorted, staged, turn);
  }

  *#sorting(
    cut: CutRow,
    { codec, position }: NamedColumn,
    members: Unsorted,
    staged: StagedTable,
    turn: Turn,
  ): Work {
    const cell = yield* codec.sorting(members, turn);
    staged.beginRow(cut.cells);
    staged.addCell(position, cell);
    this.#cut = { ...cut, cells: staged.cells, unsorted: undefined };
  }

  /** Goes on with a row that was cut off: one step for a value, or a part that is stepped over, and one for the rest. */
  goOn(cursor: JsonCursor, open: OpenTable): void {
    const cut = this.#cut as CutRow;
    this.#cutAt = -1;
    const { uuid, kind, column, value, skipper } = cut;
    const { staged } = open;
    staged.beginRow(cut.cells);
    if (skipper !== undefined) {
      cursor.position = skipper.push(cursor.bytes, cursor.texts, cursor.position, cursor.end);
      if (!skipper.isDone) {
        this.#cutAt = cursor.position;
        throw NEED_MORE;
      }
      this.#cut = { ...cut, skipper: undefined };
    } else if (value !== undefined && column !== undefined) this.#goOnValue(cursor, staged, cut);
    else {
      if (column !== undefined) {
        if (cursor.take(COMMA)) this.#cellsAfter(cursor, open, uuid, kind, column);
        else cursor.expect(CLOSE_BRACE);
      }
      if (kind !== 0) this.#endUpdate2(cursor, open, uuid, kind);
      else if (cursor.take(COMMA)) this.#partsAfter(cursor, open, uuid);
      else this.#endUpdate(cursor, staged, uuid);
      this.#cut = undefined;
    }
  }

  #goOnValue(cursor: JsonCursor, staged: StagedTable, cut: CutRow): void {
    const { uuid, kind } = cut;
    const [column, value] = [cut.column as NamedColumn, cut.value as CutValue];
    let cell: number;
    try {
      cell = column.codec.readOn(cursor, value, kind === MODIFY);
    } catch (error) {
      if (error === NEED_MORE) this.#keep(staged, uuid, kind, column);
      throw error;
    }
    if (cell === UNSORTED) this.#waitForOrder(cursor, staged, uuid, kind, column);
    staged.addCell(column.position, cell);
    this.#cut = { ...cut, cells: staged.cells, value: undefined };
  }
}

const notOfRow = (text: string): OvsdbError => syntaxError(`"${text}" is not the UUID of a row`);
