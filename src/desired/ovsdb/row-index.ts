/**
 * Which keys are wanted by whom and which rows of the database have them, kept up to date from both sides, with the owners
 * that either side touched since they were last found right.
 */
import type { DatabaseSchema, ReplicaView } from 'ovsdb-client-ts';
import type { RowOwner } from '../engine.ts';
import type { DesiredRow, TableClaim } from '../rows.ts';
import { isSame } from '../../facts/same.ts';
import { problemOf, type PlanProblem, type ProblemKind } from './changes.ts';
import {
  claimedTables,
  type ClaimedTable,
  type ClaimedTables,
  compareOwners,
  OwnedRows,
  type Entry,
} from './claimed-table.ts';
import { FoundRows, type FoundRowsListener } from './found-rows.ts';

/** The owner of rows that no unit of this process ever wanted, by the object that they are marked with. */
const unwantedOwner = (mark: string): RowOwner => ({
  id: JSON.stringify(['unwanted', mark]),
  rank: 0,
  order: Infinity,
  rowsIn: () => [],
});

export class RowIndex implements FoundRowsListener {
  readonly tables: ClaimedTables;
  readonly schema: DatabaseSchema;
  readonly found: FoundRows;
  /** By the owner's id. */
  readonly owners = new Map<string, OwnedRows>();
  /** Owners to be looked at. */
  readonly dirty = new Set<OwnedRows>();
  /** Keys that the database has and nobody wants, with the owner that is to remove them; undefined until it is known whether their rows are ours. */
  readonly unwanted = new Map<Entry, OwnedRows | undefined>();
  readonly #contested = new Set<Entry>();
  #isSwept = false;

  constructor(replica: ReplicaView, claims: ReadonlyMap<string, TableClaim>) {
    this.schema = replica.schema;
    this.tables = claimedTables(claims, replica);
    this.found = new FoundRows(replica, this.tables, this);
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
    for (const table of this.tables.values()) this.recheck(table);
  }

  /** Replaces what an owner wants. A row that is wanted twice in the same way is one row in the places of both. */
  set(owner: RowOwner, wanted: readonly DesiredRow[]): OwnedRows {
    const owned = this.#ownedBy(owner);
    const entries: Entry[] = [];
    const rows: DesiredRow[] = [];
    let conflict: PlanProblem | undefined;
    for (const row of wanted) {
      const entry = this.tables.get(row.table)?.entry(row.key);
      if (entry === undefined) {
        conflict ??= wrong(owner, row, 'unclaimed-table', 'no feature claims this table');
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
      } else conflict ??= wrong(owner, row, 'conflict', 'it is wanted in two ways');
    }
    if (conflict !== undefined) owned.rest = { until: Infinity, problem: conflict };
    // What was refused rests until something else is wanted.
    else if (owned.rest !== undefined && !isSame(owned.rows, rows)) owned.rest = undefined;
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
    const owned = this.#ownedBy(unwantedOwner(mark));
    owned.rows = [];
    this.#noteDropped(owned, entry);
    this.dirty.add(owned);
  }

  /** Nobody is to remove rows of this entry: it is wanted, or no row of ours is left. */
  release(entry: Entry): void {
    this.unwanted.get(entry)?.dropped?.delete(entry);
    this.unwanted.delete(entry);
  }

  /** Nothing is to be done for an owner: it is looked at again when something touches it. */
  settle(owned: OwnedRows): void {
    owned.rows = undefined;
    owned.wasRight = true;
    this.dirty.delete(owned);
    if (owned.entries.length === 0 && (owned.dropped?.size ?? 0) === 0)
      this.owners.delete(owned.owner.id);
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
          this.affected(entry);
          for (const uuid of entry.found) this.found.noteAffected(entry.table, uuid);
        }
      }
      owned.lostTo = lost;
    }
    for (const entry of this.#contested) if (!entry.isContested) this.#contested.delete(entry);
    return isChanged;
  }

  #ownedBy(owner: RowOwner): OwnedRows {
    let owned = this.owners.get(owner.id);
    if (owned === undefined) this.owners.set(owner.id, (owned = new OwnedRows(owner)));
    owned.owner = owner;
    return owned;
  }

  #setEntries(owned: OwnedRows, entries: readonly Entry[]): void {
    const before = new Set(owned.entries);
    for (const entry of entries) {
      if (before.delete(entry)) continue;
      this.release(entry);
      this.found.noteWanted(entry);
      entry.addOwner(owned);
      if (entry.isContested) this.#contested.add(entry);
    }
    // A list that grew has room for more, which most units never need.
    owned.entries = entries.slice();
    for (const entry of before) this.#drop(owned, entry);
    this.dirty.add(owned);
  }

  #drop(owned: OwnedRows, entry: Entry): void {
    entry.removeOwner(owned);
    if (entry.isWanted) {
      // Whoever comes next may have it now.
      this.affected(entry);
      this.#contested.add(entry);
    } else if (entry.isFound) this.#noteDropped(owned, entry);
    else entry.table.forget(entry);
  }

  #noteDropped(owned: OwnedRows, entry: Entry): void {
    this.release(entry);
    this.unwanted.set(entry, owned);
    (owned.dropped ??= new Set()).add(entry);
    for (const uuid of entry.found) this.found.noteAffected(entry.table, uuid);
  }

  recheck(table: ClaimedTable): void {
    for (const entry of table.entries.values())
      if (entry.isFound && !entry.isWanted && !this.unwanted.has(entry))
        this.unwanted.set(entry, undefined);
  }

  affected(entry: Entry): void {
    for (const owned of entry.owners) this.dirty.add(owned);
  }

  touched(entry: Entry): void {
    const remover = this.unwanted.get(entry);
    for (const owned of remover === undefined ? entry.owners : [remover]) {
      owned.endRest();
      this.dirty.add(owned);
    }
    if (entry.isWanted) return;
    if (entry.isFound) {
      if (remover === undefined) this.unwanted.set(entry, undefined);
      return;
    }
    this.release(entry);
    entry.table.forget(entry);
  }
}

/** What is wrong with what an owner wants, whatever the database holds. */
const wrong = (
  owner: RowOwner,
  { table, key }: DesiredRow,
  kind: ProblemKind,
  what: string,
): PlanProblem =>
  problemOf(kind, { table, key }, owner.id, `${what}: correct the feature that builds it`);
