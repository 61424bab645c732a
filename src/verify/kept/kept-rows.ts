/** Rows of Northbound that change one by one, with who reads them. */
import { rowId, type NorthboundRows } from '../northbound-rows.ts';
import { list, member, text, type Row } from '../rows.ts';
import type { Readers } from './readers.ts';

/** Rows of a table by UUID; undefined where a row is gone. */
export type ChangedRows = ReadonlyMap<string, ReadonlyMap<string, Row | undefined>>;

/** Columns of a row that are asked of it when there is a newer one; all others are read of the newest alone, and need not be kept for each row. */
export const READ_OF_OLD_ROWS: Readonly<Record<string, readonly string[]>> = {
  NB_Global: ['options'],
  Logical_Switch: ['name', 'ports', 'other_config'],
  Logical_Router: ['name', 'ports', 'options'],
  Logical_Switch_Port: ['name'],
  Logical_Router_Port: ['name'],
  Port_Group: ['name', 'ports', 'external_ids'],
  Address_Set: ['name'],
};

/** What is asked of the row of NB_Global. */
const closesOf = (row: Row | undefined): string | undefined =>
  row && member(row, 'options', 'default_acl_drop');

export class KeptRows implements NorthboundRows {
  readonly #readers: Readers;
  readonly #tables = new Map<string, Map<string, Row>>();
  /** Groups by the UUIDs of their ports. */
  readonly #groups = new Map<string, Set<string>>();

  /** Address sets and groups by table and name. */
  readonly #byName = new Map<string, string>();

  /** Groups by what they are called. */
  readonly #called = new Map<string, Set<string>>();

  constructor(readers: Readers) {
    this.#readers = readers;
  }

  find(table: string, uuid: string): Row | undefined {
    this.#readers.note(table, uuid);
    return this.#tables.get(table)?.get(uuid);
  }

  all(table: string): readonly Row[] {
    this.#readers.note('table', table);
    return [...(this.#tables.get(table)?.values() ?? [])];
  }

  groupsOf(port: string): readonly string[] {
    this.#readers.note('groups', port);
    return [...(this.#groups.get(port) ?? [])];
  }

  groupCalled(id: string): string | undefined {
    this.#readers.note('group called', id);
    const [uuid] = this.#called.get(id) ?? [];
    return uuid;
  }

  named(table: 'Address_Set' | 'Port_Group', name: string): Row | undefined {
    this.#readers.note('named', `${table} ${name}`);
    const uuid = this.#byName.get(`${table} ${name}`);
    return uuid === undefined ? undefined : this.find(table, uuid);
  }

  /** Puts a row in its place, or takes it away; gives the one that was there. */
  set(table: string, uuid: string, row: Row | undefined): Row | undefined {
    const rows = this.#tables.get(table) ?? new Map<string, Row>();
    this.#tables.set(table, rows);
    const before = rows.get(uuid);
    if (row === undefined) rows.delete(uuid);
    else rows.set(uuid, row);
    if (table === 'Port_Group') this.#regroup(uuid, before, row);
    if (table === 'Port_Group' || table === 'Address_Set') this.#rename(table, uuid, before, row);
    // Its sequence numbers are others with each change.
    if (table === 'NB_Global' && closesOf(before) === closesOf(row)) return before;
    this.#readers.changed(table, uuid);
    this.#readers.changed('table', table);
    return before;
  }

  #rename(table: string, uuid: string, before: Row | undefined, after: Row | undefined): void {
    const [old, now] = [before, after].map((row) => row && `${table} ${text(row, 'name')}`);
    if (old === now) return;
    if (old !== undefined && this.#byName.get(old) === uuid) this.#byName.delete(old);
    if (now !== undefined) this.#byName.set(now, uuid);
    for (const one of [old, now]) if (one !== undefined) this.#readers.changed('named', one);
  }

  #regroup(uuid: string, before: Row | undefined, after: Row | undefined): void {
    const [old, now] = [before, after].map(
      (row) => new Set(row === undefined ? [] : list(row, 'ports')),
    ) as [Set<string>, Set<string>];
    for (const port of old)
      if (!now.has(port)) {
        this.#groups.get(port)?.delete(uuid);
        if (this.#groups.get(port)?.size === 0) this.#groups.delete(port);
      }
    for (const port of now) {
      const groups = this.#groups.get(port);
      if (groups === undefined) this.#groups.set(port, new Set([uuid]));
      else groups.add(uuid);
    }
    for (const port of old.symmetricDifference(now)) this.#readers.changed('groups', port);
    const [called, calls] = [before, after].map((row) => row && rowId(row));
    if (called === calls) return;
    if (called !== undefined) {
      this.#called.get(called)?.delete(uuid);
      this.#readers.changed('group called', called);
    }
    if (calls !== undefined) {
      this.#called.set(calls, (this.#called.get(calls) ?? new Set()).add(uuid));
      this.#readers.changed('group called', calls);
    }
  }
}
