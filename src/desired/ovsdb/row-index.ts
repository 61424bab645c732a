/**
 * Which keys are wanted by whom and which rows of the database have them, kept up to date from both sides, with the owners
 * that either side touched since they were last found right.
 */
import type { DatabaseSchema, ReplicaView } from '../../ovsdb/index.ts';
import type { RowOwner } from '../engine.ts';
import type { DesiredRow, TableClaim } from '../rows.ts';
import { isSame } from '../same.ts';
import type { PlanProblem, ProblemKind } from './changes.ts';
import { ClaimedTable, type ClaimedTables } from './claimed-table.ts';
import { compareOwners, OwnedRows, type Entry } from './entry.ts';
import { FoundRows } from './found-rows.ts';

/** `Logical_Switch "blue"`. */
export const label = (row: { readonly table: string; readonly key: string }): string =>
  `${row.table} "${row.key}"`;

/** The owner of rows that no unit of this process ever wanted, by the object that they are marked with. */
const unwantedOwner = (mark: string): RowOwner => ({
  id: JSON.stringify(['unwanted', mark]),
  rank: 0,
  order: Infinity,
  rowsIn: () => [],
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
  #isSwept = false;

  constructor(replica: ReplicaView, claims: ReadonlyMap<string, TableClaim>) {
    this.schema = replica.schema;
    this.tables = new Map(
      [...claims].map(([name, claim]) => [name, new ClaimedTable(claim, replica)]),
    );
    for (const table of this.tables.values()) {
      for (const { type } of table.sets.values())
        if (this.tables.has(type.key.refTable ?? '')) table.noteHolder();
      for (const column of table.columns)
        if (column.isReference && column.kind !== 'members')
          for (const { refTable } of [column.type.key, column.type.value ?? column.type.key])
            if (refTable !== undefined) this.tables.get(refTable)?.noteReferred();
    }
    this.found = new FoundRows(replica, this.tables, {
      touched: (entry) => this.#touch(entry),
      affected: (entry) => {
        for (const owned of entry.owners) this.dirty.add(owned);
      },
      recheck: (table) => this.#noteUnwanted(table),
    });
  }

  /** False until the first plan. */
  get isSwept(): boolean {
    return this.#isSwept;
  }

  /** Notes what the database has and nobody wants, once: from then on changes tell. */
  sweep(): void {
    if (this.#isSwept) return;
    this.#isSwept = true;
    this.found.fill();
    for (const table of this.tables.values()) this.#noteUnwanted(table);
  }

  #noteUnwanted(table: ClaimedTable): void {
    for (const entry of table.entries.values())
      if (entry.isFound && !entry.isWanted && entry.droppedBy === undefined)
        this.unwanted.add(entry);
  }

  /** Replaces what an owner wants. A row that is wanted twice in the same way is one row in the places of both. */
  set(owner: RowOwner, wanted: readonly DesiredRow[]): OwnedRows {
    const owned = this.#ownedBy(owner);
    owned.conflict = undefined;
    const entries: Entry[] = [];
    const rows: DesiredRow[] = [];
    for (const row of wanted) {
      const entry = this.tables.get(row.table)?.entry(row.key);
      if (entry === undefined) {
        this.#conflict(owned, row, 'unclaimed-table', 'no feature claims this table');
        continue;
      }
      const place = entries.indexOf(entry);
      const twin = rows[place];
      if (twin === undefined) {
        entries.push(entry);
        rows.push(row);
      } else if (isSame(twin.columns, row.columns)) {
        const more = row.containers.filter(
          (one) => !twin.containers.some((two) => isSame(one, two)),
        );
        rows[place] = { ...twin, containers: [...twin.containers, ...more] };
      } else this.#conflict(owned, row, 'conflict', 'it is wanted in two ways');
    }
    // What was refused rests until something else is wanted.
    if (owned.rest !== undefined && !isSame(owned.rows, rows)) owned.rest = undefined;
    owned.rows = rows;
    this.#setEntries(owned, entries);
    return owned;
  }

  /** What the owner wanted of an index under another schema: its rows are asked for again when they are planned. */
  carryOver({ owner, entries }: OwnedRows): void {
    const same = entries.map(({ table, key }) =>
      (this.tables.get(table.name) as ClaimedTable).entry(key),
    );
    this.#setEntries(this.#ownedBy(owner), same);
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

  #setEntries(owned: OwnedRows, entries: readonly Entry[]): void {
    const before = new Set(owned.entries);
    for (const entry of entries) {
      if (before.delete(entry)) continue;
      this.unwanted.delete(entry);
      entry.droppedBy?.dropped?.delete(entry);
      entry.droppedBy = undefined;
      this.found.noteWanted(entry);
      entry.addOwner(owned);
      if (entry.isContested) this.#contested.add(entry);
    }
    // A list that grew has room for more, which most units never need.
    owned.entries = entries.slice();
    for (const entry of before) this.#drop(owned, entry);
    this.dirty.add(owned);
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
