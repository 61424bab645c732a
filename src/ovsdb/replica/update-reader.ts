import { OvsdbError, syntaxError } from '../data/error.ts';
import type { UuidPool } from '../storage/uuid-pool.ts';
import {
  CLOSE_BRACE,
  COLON,
  COMMA,
  JsonCursor,
  OPEN_BRACE,
  TRUNCATED,
} from '../wire/json-cursor.ts';
import type { UpdateSink } from '../wire/message.ts';
import type { NamedColumn, ReplicaTable } from './replica-table.ts';
import { StagedTable, type RowKind, type StagingMode } from './staged-table.ts';

/** `update`: old and new rows in full (RFC 7047 §4.1.6); `update2`: differences, as update3 too. */
export type UpdateFormat = 'update' | 'update2';

/** Kinds of row updates in `update2` and `update3`. */
const KINDS: Readonly<Record<string, RowKind>> = {
  initial: 'insert',
  insert: 'insert',
  modify: 'modify',
  delete: 'delete',
};

/** A table that the message has named, or may name. */
interface OpenTable {
  readonly staged: StagedTable;
  /** False while nothing but the complete contents' silence says that it is empty. */
  isNamed: boolean;
}

/**
 * Reads `<table-updates>` from the bytes of one message straight into columns. The bytes may come in pieces, cut anywhere: a row that is cut off
 * is read again when there is more. `finish` says that the object is complete.
 */
export class UpdateReader implements UpdateSink {
  readonly #tables: ReadonlyMap<string, ReplicaTable>;
  readonly #uuids: UuidPool;
  readonly #format: UpdateFormat;
  readonly #mode: StagingMode;
  readonly #cursor = new JsonCursor();
  readonly #open = new Map<string, OpenTable>();
  #state: 'start' | 'table' | 'after-table' | 'row' | 'after-row' | 'done' = 'start';
  #current: OpenTable | undefined;
  #isFirst = true;

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
    this.#cursor.isPartial = true;
    // Complete contents say by silence that a table is empty.
    if (mode === 'contents') for (const name of tables.keys()) this.#table(name);
  }

  get isDone(): boolean {
    return this.#state === 'done';
  }

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
    }
  }

  /** The staged tables. */
  get tables(): readonly StagedTable[] {
    return [...this.#open.values()].map((open) => open.staged);
  }

  #table(name: string): OpenTable {
    let open = this.#open.get(name);
    if (open === undefined) {
      const table = this.#tables.get(name);
      if (table === undefined) {
        throw new OvsdbError(
          'inconsistent',
          `an update is about table ${name}, which is not monitored`,
        );
      }
      open = {
        staged: new StagedTable(table, this.#mode),
        isNamed: false,
      };
      this.#open.set(name, open);
    }
    return open;
  }

  /** As `UpdateSink`. Throws `syntax error` or `inconsistent`. */
  push(bytes: Buffer, position: number, end: number): number {
    const cursor = this.#cursor;
    cursor.reset(bytes, position, end);
    let complete = position;
    try {
      while (this.#state !== 'done' && cursor.peek() !== -1) {
        this.#step(cursor);
        complete = cursor.position;
      }
    } catch (error) {
      if (error !== TRUNCATED) throw error;
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
        if (this.#isFirst && cursor.take(CLOSE_BRACE)) this.#state = 'done';
        else this.#beginTable(cursor);
        break;
      case 'row':
        if (this.#isFirst && cursor.take(CLOSE_BRACE)) this.#state = 'after-table';
        else {
          this.#row(cursor, this.#current as OpenTable);
          this.#state = 'after-row';
        }
        break;
      case 'after-row':
        this.#state = this.#hasNext(cursor) ? 'row' : 'after-table';
        break;
      case 'after-table':
        this.#state = this.#hasNext(cursor) ? 'table' : 'done';
        break;
      case 'done':
        break;
    }
  }

  #hasNext(cursor: JsonCursor): boolean {
    this.#isFirst = false;
    if (cursor.take(COMMA)) return true;
    cursor.expect(CLOSE_BRACE);
    return false;
  }

  #beginTable(cursor: JsonCursor): void {
    cursor.string();
    const name = cursor.lastName;
    cursor.expect(COLON);
    cursor.expect(OPEN_BRACE);
    this.#current = this.#table(name);
    // Of members given twice the last one counts.
    if (this.#current.isNamed) this.#current.staged.restart();
    this.#current.isNamed = true;
    this.#state = 'row';
    this.#isFirst = true;
  }

  #row(cursor: JsonCursor, open: OpenTable): void {
    cursor.string();
    const uuid = this.#uuids.internBytes(cursor.text, cursor.textStart, cursor.textEnd);
    if (uuid <= 0) throw syntaxError(`"${cursor.lastText}" is not the UUID of a row`);
    cursor.expect(COLON);
    cursor.expect(OPEN_BRACE);
    open.staged.beginRow();
    if (this.#format === 'update2') this.#update2(cursor, open, uuid);
    else this.#update(cursor, open, uuid);
  }

  /** `{"initial": row}`, `{"insert": row}`, `{"modify": difference}` or `{"delete": null}`, behind the brace. */
  #update2(cursor: JsonCursor, open: OpenTable, uuid: number): void {
    cursor.string();
    const name = cursor.lastName;
    const kind = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
    if (kind === undefined) throw syntaxError(`"${name}" is no kind of row update`);
    cursor.expect(COLON);
    if (kind === 'delete') cursor.value();
    else this.#cells(cursor, open, kind === 'modify');
    if (cursor.peek() === COMMA) open.staged.fail('a row update must have exactly one member');
    cursor.expect(CLOSE_BRACE);
    open.staged.endRow(kind, uuid);
  }

  /** `{"new": row}`, `{"old": changed columns, "new": row}` or `{"old": row}`, behind the brace. */
  #update(cursor: JsonCursor, open: OpenTable, uuid: number): void {
    let hasOld = false;
    let hasNew = false;
    if (cursor.take(CLOSE_BRACE)) open.staged.fail('a row update is empty');
    do {
      cursor.string();
      const name = cursor.lastName;
      cursor.expect(COLON);
      if (name === 'new') {
        hasNew = true;
        this.#cells(cursor, open, false);
      } else if (name === 'old') {
        hasOld = true;
        cursor.value();
      } else throw syntaxError(`"${name}" is no part of a row update`);
    } while (cursor.take(COMMA));
    cursor.expect(CLOSE_BRACE);
    open.staged.endRow(hasNew ? (hasOld ? 'replace' : 'insert') : 'delete', uuid);
  }

  #cells(cursor: JsonCursor, { staged }: OpenTable, isDifference: boolean): void {
    const { names } = staged.table;
    cursor.expect(OPEN_BRACE);
    if (cursor.take(CLOSE_BRACE)) return;
    // What came behind this column in the row before comes there again.
    let before: { follower: NamedColumn | undefined } = names;
    do {
      const guess = before.follower;
      let column: NamedColumn | undefined;
      if (guess !== undefined && cursor.takeText(guess.bytes, 0, guess.bytes.length))
        column = guess;
      else {
        cursor.string();
        column = names.byName.get(cursor.lastName);
        // Only a name that is written without escapes can be recognised by its bytes.
        if (cursor.text === cursor.bytes) before.follower = column;
      }
      cursor.expect(COLON);
      // A column that was not asked for, of a newer server.
      if (column === undefined) cursor.value();
      else {
        staged.addCell(column.position, column.codec.read(cursor, isDifference));
        before = column;
      }
    } while (cursor.take(COMMA));
    cursor.expect(CLOSE_BRACE);
  }

  /** Ends every table, once the object is complete. */
  finish(): void {
    if (!this.isDone) throw syntaxError('table updates end too early');
    for (const { staged } of this.#open.values()) staged.finish();
  }

  /** The updates will not be applied: releases what was read of them. */
  dispose(): void {
    for (const { staged } of this.#open.values()) staged.fresh?.store.dispose();
    this.#open.clear();
  }
}
