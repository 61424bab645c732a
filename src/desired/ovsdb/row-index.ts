/**
 * Which keys are wanted by whom and which rows of the database have them, kept up to date from both sides, with the owners
 * that either side touched since they were last found right.
 */
import type { DatabaseSchema, ReplicaView } from '../../ovsdb/index.ts';
import type { RowOwner, UnitRows } from '../engine.ts';
import type { DesiredRow, TableClaim } from '../rows.ts';
import { isSame } from '../same.ts';
import type { PlanProblem, ProblemKind } from './changes.ts';
import { ClaimedTable, type ClaimedTables } from './claimed-table.ts';
import { compareOwners, OwnedRows, type Entry } from './entry.ts';
import { FoundRows } from './found-rows.ts';

/** `Logical_Switch "blue"`. */
export const label = (row: { readonly table: string; readonly key: string }): string =>
  `${row.table} "${row.key}"`;

const NOTHING: UnitRows = { rows: [], reserved: [] };

/** The owner of rows that no unit of this process ever wanted, by the object that they are marked with. */
const unwantedOwner = (mark: string): RowOwner => ({
  id: JSON.stringify(['unwanted', mark]),
  rank: 0,
  order: Infinity,
  rowsIn: () => NOTHING,
});

export class RowIndex {
  readonly tables: ClaimedTables;
  readonly schema: DatabaseSchema;
  readonly found: FoundRows;
  readonly owners = new Map<RowOwner, OwnedRows>();
  /** Owners to be looked at. */
  readonly dirty = new Set<OwnedRows>();
  /** Keys that the database has and nobody wants, of rows that may be ours. */
  readonly unwanted = new Set<Entry>();
  readonly #unwantedOwners = new Map<string, OwnedRows>();
  readonly #contested = new Set<Entry>();

  constructor(replica: ReplicaView, claims: ReadonlyMap<string, TableClaim>) {
    this.schema = replica.schema;
    this.tables = new Map(
      [...claims].map(([name, claim]) => [name, new ClaimedTable(claim, replica)]),
    );
    for (const table of this.tables.values())
      for (const column of table.columns)
        if (column.isReference && column.kind !== 'members')
          for (const { refTable } of [column.type.key, column.type.value ?? column.type.key])
            if (refTable !== undefined) this.tables.get(refTable)?.noteReferred();
    this.found = new FoundRows(replica, this.tables, {
      touched: (entry) => this.#touch(entry),
      affected: (entry) => {
        for (const owned of entry.owners) this.dirty.add(owned);
      },
      recheck: (table) => {
        for (const entry of table.entries.values())
          if (entry.isFound && !entry.isWanted && entry.droppedBy === undefined)
            this.unwanted.add(entry);
      },
    });
  }

  /** Replaces what an owner wants. */
  set(owner: RowOwner, wanted: UnitRows): void {
    const owned = this.#ownedBy(owner);
    const { rows, reserved } = this.#merged(owned, wanted);
    // What was refused rests until something else is wanted.
    if (owned.rest !== undefined && !isSame(owned.rows, rows)) owned.rest = undefined;
    owned.rows = rows;
    this.#setKeys(owned, rows.length, rows, reserved);
  }

  /** What the owner wanted of an index under another schema: its rows are asked for again when they are planned. */
  carryOver(before: OwnedRows): void {
    const keys = before.entries.map(({ table, key }) => ({ table: table.name, key }));
    this.#setKeys(this.#ownedBy(before.owner), before.rowCount, keys, []);
  }

  /** What an owner wants, built again: rows that were found right are not kept. */
  reload(owned: OwnedRows): void {
    this.set(owned.owner, owned.owner.rowsIn(this.schema.name));
  }

  /** From now on rows of this entry, which nobody wants, are an owner's to remove: that of all such rows of one object. */
  giveUp(entry: Entry, mark: string): void {
    this.unwanted.delete(entry);
    let owned = this.#unwantedOwners.get(mark);
    if (owned === undefined) {
      owned = this.#ownedBy(unwantedOwner(mark));
      this.#unwantedOwners.set(mark, owned);
    }
    owned.rows = [];
    this.#noteDropped(owned, entry);
    this.dirty.add(owned);
  }

  /** Nothing is to be done for an owner: it is looked at again when something touches it. */
  settle(owned: OwnedRows): void {
    owned.rows = undefined;
    this.dirty.delete(owned);
    if (owned.entries.length > 0 || (owned.dropped?.size ?? 0) > 0) return;
    this.owners.delete(owned.owner);
    for (const [mark, other] of this.#unwantedOwners)
      if (other === owned) this.#unwantedOwners.delete(mark);
  }

  /** Decides whose the keys are that several owners want: an owner that does not get one gets nothing. True if one was decided anew. */
  settleContests(): boolean {
    if (this.#contested.size === 0) return false;
    let isChanged = false;
    const rivals = new Set([...this.#contested].flatMap((entry) => entry.owners));
    const accepted = new Set<OwnedRows>();
    for (const owned of [...rivals].sort(compareOwners)) {
      const lost = owned.entries.find(
        (entry) => entry.isContested && entry.owners.some((other) => accepted.has(other)),
      );
      if (lost === undefined) accepted.add(owned);
      if ((lost === undefined) !== (owned.lostTo === undefined)) {
        isChanged = true;
        for (const entry of owned.entries) {
          for (const other of entry.owners) this.dirty.add(other);
          for (const uuid of entry.found) this.found.noteAffected(entry.table, uuid);
        }
      }
      owned.lostTo = lost;
    }
    for (const entry of this.#contested) if (!entry.isContested) this.#contested.delete(entry);
    return isChanged;
  }

  #ownedBy(owner: RowOwner): OwnedRows {
    let owned = this.owners.get(owner);
    if (owned === undefined) this.owners.set(owner, (owned = new OwnedRows(owner)));
    return owned;
  }

  #setKeys(
    owned: OwnedRows,
    rowCount: number,
    ...keys: readonly (readonly { readonly table: string; readonly key: string }[])[]
  ): void {
    const before = new Set(owned.entries);
    const entries: Entry[] = [];
    for (const { table, key } of keys.flat()) {
      const entry = (this.tables.get(table) as ClaimedTable).entry(key);
      entries.push(entry);
      if (before.delete(entry)) continue;
      this.unwanted.delete(entry);
      entry.droppedBy?.dropped?.delete(entry);
      entry.droppedBy = undefined;
      for (const uuid of entry.found) this.found.noteAffected(entry.table, uuid);
      entry.addOwner(owned);
      if (entry.isContested) this.#contested.add(entry);
    }
    owned.entries = entries;
    owned.rowCount = rowCount;
    for (const entry of before) this.#drop(owned, entry);
    this.dirty.add(owned);
  }

  /** The rows of a unit by key; one that is wanted twice in the same way is one row in the places of both. */
  #merged(owned: OwnedRows, wanted: UnitRows): UnitRows {
    owned.conflict = undefined;
    const rows = new Map<string, DesiredRow>();
    for (const row of wanted.rows) {
      const name = `${row.table} ${row.key}`;
      const twin = rows.get(name);
      const table = this.tables.get(row.table);
      if (table === undefined)
        this.#conflict(owned, row, 'unclaimed-table', 'no feature claims this table');
      else if (twin === undefined) rows.set(name, row);
      else if (isSame(twin.columns, row.columns))
        rows.set(name, {
          ...twin,
          containers: [
            ...twin.containers,
            ...row.containers.filter((place) => !twin.containers.some((one) => isSame(one, place))),
          ],
        });
      else this.#conflict(owned, row, 'conflict', 'it is wanted in two ways');
    }
    const reserved = new Map<string, UnitRows['reserved'][number]>();
    for (const one of wanted.reserved) {
      const name = `${one.table} ${one.key}`;
      if (this.tables.has(one.table) && !rows.has(name)) reserved.set(name, one);
    }
    return { rows: [...rows.values()], reserved: [...reserved.values()] };
  }

  #conflict(owned: OwnedRows, row: DesiredRow, kind: ProblemKind, what: string): void {
    owned.conflict ??= {
      kind,
      table: row.table,
      key: row.key,
      unit: owned.owner.id,
      message: `${label(row)}: ${what}: correct the feature that builds it`,
    } satisfies PlanProblem;
  }

  #drop(owned: OwnedRows, entry: Entry): void {
    entry.removeOwner(owned);
    if (entry.isWanted) {
      // Whoever comes next may have it now.
      for (const other of entry.owners) this.dirty.add(other);
      this.#contested.add(entry);
    } else if (entry.isFound) this.#noteDropped(owned, entry);
    else entry.table.forget(entry);
  }

  #noteDropped(owned: OwnedRows, entry: Entry): void {
    entry.droppedBy = owned;
    (owned.dropped ??= new Set()).add(entry);
    for (const uuid of entry.found) this.found.noteAffected(entry.table, uuid);
  }

  /** Of an entry that an owner dropped no row of ours is left. */
  forgetDropped(owned: OwnedRows, entry: Entry): void {
    owned.dropped?.delete(entry);
    entry.droppedBy = undefined;
  }

  #touch(entry: Entry): void {
    for (const owned of entry.owners) {
      owned.rest = undefined;
      this.dirty.add(owned);
    }
    if (entry.isWanted) return;
    const { droppedBy } = entry;
    if (droppedBy !== undefined) {
      droppedBy.rest = undefined;
      this.dirty.add(droppedBy);
    } else if (entry.isFound) this.unwanted.add(entry);
    if (entry.isFound) return;
    if (droppedBy !== undefined) this.forgetDropped(droppedBy, entry);
    this.unwanted.delete(entry);
    entry.table.forget(entry);
  }
}
