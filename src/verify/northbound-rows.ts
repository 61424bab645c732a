/** Rows of Northbound as checks ask for them: by their UUID, and groups by their ports. */
import { list, member, rowsOf, text, uuidOf, type Row, type Tables } from './rows.ts';

export interface NorthboundRows {
  find(table: string, uuid: string): Row | undefined;
  /** All rows of a table, of which there are few. */
  all(table: string): readonly Row[];
  /** UUIDs of port groups that a port is in. */
  groupsOf(port: string): readonly string[];
  /** UUID of the port group that has that name in its `external_ids`. */
  groupCalled(id: string): string | undefined;
  /** The row of a table whose names are nobody's twice. */
  named(table: 'Address_Set' | 'Port_Group', name: string): Row | undefined;
}

/** By what objects' rows are found again (reference/topology.md §1). */
export const rowId = (row: Row): string | undefined =>
  member(row, 'external_ids', 'k8s.ovn.org/id');

/** Of tables as they were read. */
export class ReadRows implements NorthboundRows {
  readonly #tables: Tables;
  readonly #byUuid = new Map<string, ReadonlyMap<string, Row>>();
  readonly #byName = new Map<string, ReadonlyMap<string, Row>>();
  #groups: ReadonlyMap<string, readonly string[]> | undefined;

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

  groupsOf(port: string): readonly string[] {
    if (this.#groups === undefined) {
      const groups = new Map<string, string[]>();
      for (const row of this.all('Port_Group'))
        for (const port of list(row, 'ports')) {
          const known = groups.get(port);
          if (known === undefined) groups.set(port, [uuidOf(row)]);
          else known.push(uuidOf(row));
        }
      this.#groups = groups;
    }
    return this.#groups.get(port) ?? [];
  }

  named(table: 'Address_Set' | 'Port_Group', name: string): Row | undefined {
    let rows = this.#byName.get(table);
    if (rows === undefined) {
      rows = new Map(this.all(table).map((row) => [text(row, 'name'), row]));
      this.#byName.set(table, rows);
    }
    return rows.get(name);
  }

  groupCalled(id: string): string | undefined {
    const row = this.all('Port_Group').find((one) => rowId(one) === id);
    return row === undefined ? undefined : uuidOf(row);
  }
}
