import { OvsdbError, syntaxError } from '../data/error.ts';
import type { UuidPool } from '../storage/uuid-pool.ts';
import type { Turn, Work } from '../turn.ts';
import {
  CLOSE_BRACE,
  COLON,
  COMMA,
  JsonCursor,
  NEED_MORE,
  OPEN_BRACE,
} from '../wire/json-cursor.ts';
import type { UpdateSink } from '../wire/message.ts';
import type { ReplicaTable } from './replica-table.ts';
import { RowReader, type OpenTable, type UpdateFormat } from './row-reader.ts';
import { StagedTable, type StagingMode } from './staging.ts';
import type { TextsElsewhere } from '../wire/text-elsewhere.ts';

export type { UpdateFormat } from './row-reader.ts';

/**
 * Reads `<table-updates>` from the bytes of one message straight into columns. The bytes may come in pieces, cut behind
 * any row, or any member of a large set or map: `push` reads what is there, `finish` says that the object is complete.
 */
export class UpdateReader implements UpdateSink {
  readonly #tables: ReadonlyMap<string, ReplicaTable>;
  readonly #mode: StagingMode;
  readonly #rows: RowReader;
  readonly #cursor = new JsonCursor();
  readonly #staged = new Map<string, OpenTable>();
  #state: 'start' | 'table' | 'after-table' | 'row' | 'cut-row' | 'after-row' | 'done' = 'start';
  #current: OpenTable | undefined;
  #isFirst = true;
  #name = '';

  constructor(
    tables: ReadonlyMap<string, ReplicaTable>,
    uuids: UuidPool,
    format: UpdateFormat,
    mode: StagingMode,
  ) {
    this.#tables = tables;
    this.#rows = new RowReader(uuids, format, mode);
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
      const { names } = table;
      open = { staged: new StagedTable(table, this.#mode), names, isNamed: false };
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
        return this.#rows.braces;
    }
  }

  /** Brackets of the updates that are open between two steps. */
  get brackets(): number {
    return this.#rows.brackets;
  }

  /**
   * Reads the bytes from `position` up to `end`, which may be anywhere; returns where it stopped: behind the closing brace when done, otherwise
   * behind the last thing that was complete. Throws `syntax error` or `inconsistent`; the message is then of no use. As in `UpdateSink`.
   */
  push(bytes: Buffer, position: number, end: number, texts?: TextsElsewhere): number {
    const cursor = this.#cursor;
    cursor.reset(bytes, position, end);
    cursor.isPartial = true;
    cursor.texts = texts;
    cursor.mayWait = texts !== undefined;
    let complete = position;
    try {
      while (this.#state !== 'done' && cursor.peek() !== -1) {
        this.#step(cursor);
        complete = cursor.position;
      }
    } catch (error) {
      if (error !== NEED_MORE) throw error;
      if ((this.#state === 'row' || this.#state === 'cut-row') && this.#rows.cutAt !== -1) {
        complete = this.#rows.cutAt;
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
        // Of members given twice the last one counts.
        if (this.#current.isNamed) this.#current.staged.restart();
        this.#current.isNamed = true;
        this.#state = 'row';
        this.#isFirst = true;
        break;
      case 'row':
        if (this.#isFirst && cursor.take(CLOSE_BRACE)) {
          this.#state = 'after-table';
          break;
        }
        this.#rows.read(cursor, this.#current as OpenTable);
        this.#state = 'after-row';
        break;
      case 'cut-row':
        this.#rows.goOn(cursor, this.#current as OpenTable);
        if (!this.#rows.isCut) this.#state = 'after-row';
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

  takeWork(turn: Turn): Work | undefined {
    const open = this.#current;
    return open === undefined ? undefined : this.#rows.takeWork(open.staged, turn);
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
