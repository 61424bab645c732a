import { OvsdbError, syntaxError } from '../data/error.ts';
import type { NamedColumn, NameTable } from './name-table.ts';
import { takeCut, type CutValue } from '../storage/column-codec.ts';
import { beginText, shapeScan } from '../storage/shape-scan.ts';
import { ZERO_UUID } from '../data/uuid.ts';
import type { UuidPool } from '../storage/uuid-pool.ts';
import {
  CLOSE_BRACE,
  COLON,
  COMMA,
  JsonCursor,
  NEED_MORE,
  OPEN_BRACE,
} from '../wire/json-cursor.ts';
import type { Turn, Work } from '../turn.ts';
import type { ReplicaTable } from './replica-table.ts';
import type { TableShapes } from './table-shapes.ts';
import { DELETE, INSERT, MODIFY, REPLACE, StagedTable, type StagingMode } from './staging.ts';

/** `update`: old and new rows in full (RFC 7047 §4.1.6); `update2`: differences, as update3 too. */
export type UpdateFormat = 'update' | 'update2';

interface OpenTable {
  readonly staged: StagedTable;
  readonly names: NameTable;
  readonly shapes: TableShapes;
}

/** A row of which only the beginning has arrived, and a part of it is worth keeping. */
interface CutRow {
  readonly uuid: number;
  readonly kind: number;
  /** What was staged of it. */
  readonly cells: Uint32Array;
  /** The last column that was begun. */
  readonly column: NamedColumn;
  /** Its value as far as it was read; undefined: all of it. */
  readonly value: CutValue | undefined;
}

/**
 * Reads `<table-updates>` from the bytes of one message straight into columns. The bytes may come in pieces, cut behind
 * any row, or any member of a large set or map: `push` reads what is there, `finish` says that the object is complete.
 */
export class UpdateReader {
  readonly #tables: ReadonlyMap<string, ReplicaTable>;
  readonly #format: UpdateFormat;
  readonly #mode: StagingMode;
  readonly #uuids: UuidPool;
  readonly #cursor = new JsonCursor();
  readonly #staged = new Map<string, OpenTable>();
  #state: 'start' | 'table' | 'after-table' | 'row' | 'cut-row' | 'after-row' | 'done' = 'start';
  #current: OpenTable | undefined;
  #isFirst = true;
  #name = '';
  #cut: CutRow | undefined;

  constructor(
    tables: ReadonlyMap<string, ReplicaTable>,
    uuids: UuidPool,
    format: UpdateFormat,
    mode: StagingMode,
  ) {
    this.#tables = tables;
    this.#uuids = uuids;
    this.#format = format;
    this.#mode = mode;
    // Complete contents say by silence that a table is empty.
    if (mode === 'contents') for (const name of tables.keys()) this.#open(name);
  }

  get isDone(): boolean {
    return this.#state === 'done';
  }

  #open(name: string): OpenTable {
    let open = this.#staged.get(name);
    if (open === undefined) {
      const table = this.#tables.get(name);
      if (table === undefined) {
        throw new OvsdbError(
          'inconsistent',
          `an update is about table ${name}, which is not monitored`,
        );
      }
      const { names, shapes } = table;
      open = { staged: new StagedTable(table, this.#mode), names, shapes };
      this.#staged.set(name, open);
    }
    return open;
  }

  /** Braces of the updates that are open between two steps. */
  get depth(): number {
    switch (this.#state) {
      case 'start':
      case 'done':
        return 0;
      case 'table':
      case 'after-table':
        return 1;
      case 'row':
      case 'after-row':
        return 2;
      case 'cut-row':
        return 4;
    }
  }

  /** Brackets of the updates that are open between two steps. */
  get brackets(): number {
    return this.#cut?.value === undefined ? 0 : 2;
  }

  /**
   * Reads the bytes from `position` up to `end`, which may be anywhere; returns where it stopped: behind the closing brace when done, otherwise
   * behind the last row or name that was complete. Throws `syntax error` or `inconsistent`; the message is then of no use.
   */
  push(bytes: Buffer, position: number, end: number): number {
    const cursor = this.#cursor;
    cursor.reset(bytes, position, end);
    cursor.isPartial = true;
    beginText();
    let complete = position;
    const before = this.#cut;
    try {
      while (this.#state !== 'done' && cursor.peek() !== -1) {
        if (this.#state !== 'row' || !this.#shaped(cursor, this.#current as OpenTable))
          this.#step(cursor);
        complete = cursor.position;
      }
    } catch (error) {
      if (error !== NEED_MORE) throw error;
      if (this.#cut !== before && this.#cut?.value !== undefined) {
        complete = this.#cut.value.position;
        this.#state = 'cut-row';
      }
    }
    return complete;
  }

  #step(cursor: JsonCursor): void {
    switch (this.#state) {
      case 'start':
        cursor.expect(OPEN_BRACE);
        this.#state = 'table';
        this.#isFirst = true;
        break;
      case 'table':
        if (this.#isFirst && cursor.take(CLOSE_BRACE)) {
          this.#state = 'done';
          break;
        }
        cursor.string();
        this.#name = cursor.lastText;
        cursor.expect(COLON);
        cursor.expect(OPEN_BRACE);
        this.#current = this.#open(this.#name);
        this.#state = 'row';
        this.#isFirst = true;
        break;
      case 'row':
        if (this.#isFirst && cursor.take(CLOSE_BRACE)) {
          this.#state = 'after-table';
          break;
        }
        this.#row(cursor, this.#current as OpenTable);
        this.#state = 'after-row';
        break;
      case 'cut-row':
        this.#goOn(cursor, this.#current as OpenTable, this.#cut as CutRow);
        break;
      case 'after-row':
        if (cursor.take(COMMA)) {
          this.#state = 'row';
          this.#isFirst = false;
        } else {
          cursor.expect(CLOSE_BRACE);
          this.#state = 'after-table';
        }
        break;
      case 'after-table':
        if (cursor.take(COMMA)) {
          this.#state = 'table';
          this.#isFirst = false;
        } else {
          cursor.expect(CLOSE_BRACE);
          this.#state = 'done';
        }
        break;
      case 'done':
        break;
    }
  }

  /** Reads as many rows as are of a shape that is known. False when the next one is of none. */
  #shaped(cursor: JsonCursor, { shapes, staged }: OpenTable): boolean {
    if (this.#format !== 'update2') return false;
    const rows = shapes.match(cursor.bytes, cursor.position, cursor.end);
    const shape = shapes.first;
    if (rows === 0 || shape === undefined) return false;
    const { stopped } = shapeScan();
    shape.stage(rows, staged, (kind, uuid) => {
      this.#endRow(staged, kind, uuid);
    });
    cursor.position = stopped;
    if (cursor.bytes[stopped - 1] === COMMA) this.#isFirst = false;
    else this.#state = 'after-row';
    return true;
  }

  #row(cursor: JsonCursor, open: OpenTable): void {
    const from = cursor.position;
    cursor.string();
    const uuid = this.#uuids.internBytes(cursor.text, cursor.textStart, cursor.textEnd);
    if (uuid <= 0) throw notOfRow(cursor.lastText);
    cursor.expect(COLON);
    if (this.#format === 'update2') {
      const kind = this.#update2(cursor, open, uuid);
      open.shapes.learn(cursor.bytes, from, cursor.position, kind);
    } else this.#update(cursor, open, uuid);
  }

  /** `{"initial": row}`, `{"insert": row}`, `{"modify": difference}` or `{"delete": null}`. */
  #update2(cursor: JsonCursor, open: OpenTable, uuid: number): number {
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
    return kind;
  }

  #endUpdate2(cursor: JsonCursor, { staged }: OpenTable, uuid: number, kind: number): void {
    if (cursor.peek() === COMMA) staged.fail('a row update must have exactly one member');
    cursor.expect(CLOSE_BRACE);
    this.#endRow(staged, kind, uuid);
  }

  #endRow(staged: StagedTable, kind: number, uuid: number): void {
    if (uuid === 0) throw notOfRow(ZERO_UUID);
    if (kind === INSERT && this.#mode === 'contents') staged.endContents(uuid);
    else staged.endRow(kind, uuid);
  }

  /** `{"new": row}`, `{"old": changed columns, "new": row}` or `{"old": row}`. */
  #update(cursor: JsonCursor, open: OpenTable, uuid: number): void {
    const { staged } = open;
    let hasOld = false;
    let hasNew = false;
    staged.beginRow();
    cursor.object(() => {
      const name = cursor.lastText;
      if (name === 'new') {
        hasNew = true;
        this.#cells(cursor, open, uuid, 0);
      } else if (name === 'old') {
        hasOld = true;
        cursor.skip();
      } else throw syntaxError(`"${name}" is no part of a row update`);
    });
    if (!hasNew && !hasOld) staged.fail('a row update is empty');
    if (this.#mode === 'contents') staged.endContents(uuid);
    else staged.endRow(hasNew ? (hasOld ? REPLACE : INSERT) : DELETE, uuid);
  }

  /** `kind`: 0 for a row that is read in one piece. */
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
        else staged.addCell(column.position, column.codec.read(cursor, kind === MODIFY));
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
    if (value !== undefined && column !== undefined && kind !== 0)
      this.#cut = { uuid, kind, cells: staged.cells, column, value };
  }

  /** Goes on with a row that was cut off: one step for the value, one for the rest. */
  #goOn(cursor: JsonCursor, open: OpenTable, cut: CutRow): void {
    const { uuid, kind, column, value } = cut;
    const { staged } = open;
    staged.beginRow(cut.cells);
    if (value !== undefined) {
      try {
        staged.addCell(column.position, column.codec.readOn(cursor, value, kind === MODIFY));
      } catch (error) {
        if (error === NEED_MORE) this.#keep(staged, uuid, kind, column);
        throw error;
      }
      this.#cut = { uuid, kind, cells: staged.cells, column, value: undefined };
      return;
    }
    if (cursor.take(COMMA)) this.#cellsAfter(cursor, open, uuid, kind, column);
    else cursor.expect(CLOSE_BRACE);
    this.#endUpdate2(cursor, open, uuid, kind);
    this.#cut = undefined;
    this.#state = 'after-row';
  }

  /** The staged tables. */
  get tables(): readonly StagedTable[] {
    return [...this.#staged.values()].map((open) => open.staged);
  }

  /** Ends every table, once the object is complete. */
  *finish(turn: Turn): Work {
    if (this.#state !== 'done') throw syntaxError('table updates end too early');
    for (const { staged } of this.#staged.values()) yield* staged.finish(turn);
  }
}

const notOfRow = (text: string): OvsdbError => syntaxError(`"${text}" is not the UUID of a row`);
