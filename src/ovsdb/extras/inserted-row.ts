import { OvsdbError } from '../data/error.ts';
import type { Clause } from '../data/operation.ts';
import { NamedUuid, type Uuid } from '../data/value.ts';

/**
 * A row that the transaction will create. Use it as a value wherever a row is referred to, there and, once it was committed, in later
 * transactions.
 */
export class InsertedRow extends NamedUuid {
  readonly table: string;
  readonly position: number;
  #uuid: Uuid | undefined;

  constructor(table: string, name: string, position: number, uuid: Uuid | undefined) {
    super(name);
    this.table = table;
    this.position = position;
    this.#uuid = uuid;
  }

  /** Whether its UUID is known, by which it is then referred to. */
  get isKnown(): boolean {
    return this.#uuid !== undefined;
  }

  /** Its UUID: known beforehand when it was chosen, otherwise after the commit. Throws `bad argument` before. */
  get uuid(): Uuid {
    if (this.#uuid === undefined) {
      throw new OvsdbError(
        'bad argument',
        `the new row of table ${this.table} was not committed (yet)`,
      );
    }
    return this.#uuid;
  }

  /** For the transaction: the server chose this UUID. */
  settle(uuid: Uuid): void {
    this.#uuid = uuid;
  }
}

/** A row to change: one of the database by its UUID, or one that this transaction or a committed one inserted. */
export type RowToChange = string | InsertedRow;

/** A name for a row of a table within one transaction. */
export const keyOf = (table: string, row: RowToChange): string =>
  `${table} ${typeof row === 'string' ? row.toLowerCase() : row.name}`;

/** The clause that finds the row. */
export const whereIs = (row: RowToChange): readonly Clause[] => [
  ['_uuid', '==', typeof row === 'string' ? ['uuid', row] : ['named-uuid', row.name]],
];
