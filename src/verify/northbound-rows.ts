/** Rows of Northbound as checks ask for them: by their UUID, and groups by their ports. */
import { list, rowsOf, uuidOf, type Row, type Tables } from './rows.ts';

export interface NorthboundRows {
  find(table: string, uuid: string): Row | undefined;
  /** All rows of a table, of which there are few. */
  all(table: string): readonly Row[];
  /** Port groups that a port is in. */
  groupsOf(port: string): readonly Row[];
}

/** Of tables as they were read. */
export class ReadRows implements NorthboundRows {
  readonly #tables: Tables;
  readonly #byUuid = new Map<string, ReadonlyMap<string, Row>>();
  #groups: ReadonlyMap<string, readonly Row[]> | undefined;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  find(table: string, uuid: string): Row | undefined {
    let rows = this.#byUuid.get(table);
    if (rows === undefined) {
      rows = new Map(this.all(table).map((row) => [uuidOf(row), row]));
      this.#byUuid.set(table, rows);
    }
    return rows.get(uuid);
  }

  all(table: string): readonly Row[] {
    return rowsOf(this.#tables, table);
  }

  groupsOf(port: string): readonly Row[] {
    if (this.#groups === undefined) {
      const groups = new Map<string, Row[]>();
      for (const row of this.all('Port_Group'))
        for (const member of list(row, 'ports')) {
          const known = groups.get(member);
          if (known === undefined) groups.set(member, [row]);
          else known.push(row);
        }
      this.#groups = groups;
    }
    return this.#groups.get(port) ?? [];
  }
}
