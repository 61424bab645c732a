import type { RowChange, TableChanges } from '../replica-view.ts';
import { uuidText } from '../storage/uuid-pool.ts';
import type { UuidPool } from '../storage/uuid-pool.ts';
import type { Datum, Uuid } from '../value.ts';

const NOTHING: ReadonlyMap<string, Datum> = new Map();

/**
 * What one message did to one table. Rows that appeared are kept as numbers until somebody asks for them: loading a
 * large database costs little to those who do not.
 */
export class CollectedChanges implements TableChanges {
  readonly table: string;
  readonly #uuids: UuidPool;
  readonly #inserted: number[] = [];
  #insertedWords: Uint32Array | undefined;
  readonly #others: RowChange[] = [];
  #rows: readonly RowChange[] | undefined;

  constructor(table: string, uuids: UuidPool) {
    this.table = table;
    this.#uuids = uuids;
  }

  inserted(uuid: number): void {
    this.#inserted.push(uuid);
  }

  modified(uuid: Uuid, old: ReadonlyMap<string, Datum>): void {
    this.#others.push({ kind: 'modified', uuid, old });
  }

  deleted(uuid: Uuid, old: ReadonlyMap<string, Datum>): void {
    this.#others.push({ kind: 'deleted', uuid, old });
  }

  /** Ends the collection: ids of rows may be given to others from now on. */
  settle(): void {
    this.#insertedWords = this.#uuids.words(this.#inserted);
    this.#inserted.length = 0;
  }

  get size(): number {
    return this.#inserted.length + (this.#insertedWords?.length ?? 0) / 4 + this.#others.length;
  }

  /** Rows that appeared, then those that changed or went. */
  get rows(): readonly RowChange[] {
    if (this.#rows === undefined) {
      const words = this.#insertedWords ?? new Uint32Array();
      const rows: RowChange[] = [];
      for (let at = 0; at < words.length; at += 4) {
        rows.push({ kind: 'inserted', uuid: uuidText(words, at), old: NOTHING });
      }
      this.#rows = rows.concat(this.#others);
    }
    return this.#rows;
  }
}
