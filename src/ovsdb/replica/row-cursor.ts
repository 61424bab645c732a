import { OvsdbError } from '../error.ts';
import type { RowCursor } from '../replica-view.ts';
import type { StoredColumn, TableStore } from '../storage/table-store.ts';
import type { Writable } from '../value.ts';
import type { ReplicaTable } from './replica-table.ts';
import { cellHolds } from './row.ts';

/** Goes from row to row of a table: for comparing very many rows without a view of each. */
export class TableCursor implements RowCursor {
  readonly #table: ReplicaTable;
  #store: TableStore;
  #slot = 0;

  constructor(table: ReplicaTable) {
    this.#table = table;
    this.#store = table.store;
  }

  seek(uuid: Uint32Array): boolean {
    this.#store = this.#table.store;
    const id = this.#store.pools.uuids.findWords(uuid);
    this.#slot = id <= 0 ? 0 : this.#store.slotOf(id);
    return this.#slot !== 0;
  }

  holds(name: string, value: Writable): boolean {
    const column = this.#store.column(name);
    if (column === undefined || this.#slot === 0) this.#refuse(name, column);
    else return cellHolds(column, this.#store.cell(this.#slot, column.position), value);
  }

  countSet(columns: readonly string[]): number {
    return this.#store.countSet(this.#slot, columns);
  }

  #refuse(name: string, column: StoredColumn | undefined): never {
    throw column === undefined
      ? new OvsdbError('unknown column', `table ${this.#table.name} has no column ${name}`)
      : new OvsdbError('row deleted', `the cursor of table ${this.#table.name} is at no row`);
  }
}
