import { OvsdbError } from '../error.ts';
import type { ReplicaRow, RowCursor } from '../replica-view.ts';
import type { StoredColumn, TableStore } from '../storage/table-store.ts';
import type { Writable } from '../value.ts';
import type { ReplicaTable } from './replica-table.ts';
import { cellHolds, RowView } from './row.ts';

/** Goes from row to row of a table: for comparing very many rows without a view of each. */
export class TableCursor implements RowCursor {
  readonly #name: string;
  readonly #store: TableStore;
  #slot = 0;

  constructor(table: ReplicaTable) {
    this.#name = table.name;
    this.#store = table.store;
  }

  seek(uuid: Uint32Array): boolean {
    const id = this.#store.pools.uuids.findWords(uuid);
    this.#slot = id <= 0 ? 0 : this.#store.slotOf(id);
    return this.#slot !== 0;
  }

  holds(name: string, value: Writable): boolean {
    const column = this.#store.column(name);
    if (column === undefined || this.#slot === 0) return this.#refuse(column, name);
    return cellHolds(column, this.#store.cell(this.#slot, column.position), value);
  }

  countSet(columns: readonly string[]): number {
    return this.#store.countSet(this.#slot, columns);
  }

  isIn(row: ReplicaRow, column: string): boolean {
    return row instanceof RowView && row.includesId(column, this.#store.uuids[this.#slot] ?? 0);
  }

  #refuse(column: StoredColumn | undefined, name: string): never {
    throw column === undefined
      ? new OvsdbError('unknown column', `table ${this.#name} has no column ${name}`)
      : new OvsdbError('row deleted', `the cursor of table ${this.#name} is at no row`);
  }
}
