/** What is known of one key of one table: which rows of the database have it, and who wants it. */
import type { Uuid } from 'ovsdb-client-ts';
import type { RowOwner } from '../engine.ts';
import type { DesiredRow } from '../rows.ts';
import type { PlanProblem } from './changes.ts';
import type { ClaimedTable } from './claimed-table.ts';

const NO_UUIDS: readonly Uuid[] = [];
const NO_OWNERS: readonly OwnedRows[] = [];

export class Entry {
  readonly table: ClaimedTable;
  readonly key: string;
  // One row and one owner are the rule: a list for each would cost more than the rest of the entry.
  #found: Uuid | readonly Uuid[] | undefined;
  #owners: OwnedRows | readonly OwnedRows[] | undefined;

  constructor(table: ClaimedTable, key: string) {
    this.table = table;
    this.key = key;
  }

  /** Rows of the database with this key. */
  get found(): readonly Uuid[] {
    if (this.#found === undefined) return NO_UUIDS;
    return typeof this.#found === 'string' ? [this.#found] : this.#found;
  }

  get isFound(): boolean {
    return this.#found !== undefined;
  }

  get onlyFound(): Uuid | undefined {
    return typeof this.#found === 'string' ? this.#found : undefined;
  }

  get isFoundTwice(): boolean {
    return typeof this.#found === 'object';
  }

  attach(uuid: Uuid): void {
    this.#found = this.#found === undefined ? uuid : [...this.found, uuid];
  }

  detach(uuid: Uuid): void {
    const rest = this.found.filter((other) => other !== uuid);
    this.#found = rest.length > 1 ? rest : rest[0];
  }

  /** Whoever wants the key. */
  get owners(): readonly OwnedRows[] {
    if (this.#owners === undefined) return NO_OWNERS;
    return this.#owners instanceof OwnedRows ? [this.#owners] : this.#owners;
  }

  get isWanted(): boolean {
    return this.#owners !== undefined;
  }

  get isContested(): boolean {
    return this.#owners !== undefined && !(this.#owners instanceof OwnedRows);
  }

  /** The owner whose row counts. */
  get owner(): OwnedRows | undefined {
    if (this.#owners instanceof OwnedRows)
      return this.#owners.lostTo === undefined ? this.#owners : undefined;
    return this.#owners?.find((owner) => owner.lostTo === undefined);
  }

  addOwner(owner: OwnedRows): void {
    this.#owners = this.#owners === undefined ? owner : [...this.owners, owner];
  }

  removeOwner(owner: OwnedRows): void {
    const rest = this.owners.filter((other) => other !== owner);
    this.#owners = rest.length > 1 ? rest : rest[0];
  }

  get isVacant(): boolean {
    return this.#found === undefined && this.#owners === undefined;
  }
}

/** Milliseconds until what a server refused is sent again although nothing that concerns it changed. */
export const REFUSED_REST = 30_000;

/** What one owner wants of one database. */
export class OwnedRows {
  owner: RowOwner;
  /** Keys that it wants. */
  entries: readonly Entry[] = [];
  /** The rows of the entries; undefined after they were found right, until they are asked for again. */
  rows: readonly DesiredRow[] | undefined;
  /** Keys that nobody wants and whose rows are its to remove, as long as the database has rows of ours for them. */
  dropped: Set<Entry> | undefined;
  /** A key of its that an owner before it has: it gets nothing. */
  lostTo: Entry | undefined;
  /**
   * Why it is left as it is, and until when (milliseconds of the caller's clock): what the server refused is sent again after a while,
   * what contradicts itself is never sent.
   */
  rest: { readonly until: number; readonly problem: PlanProblem } | undefined;

  constructor(owner: RowOwner) {
    this.owner = owner;
  }

  /** Something that concerns it changed: what was refused may be accepted now. */
  endRest(): void {
    if (this.rest?.until !== Infinity) this.rest = undefined;
  }

  rowOf(entry: Entry): DesiredRow | undefined {
    return this.rows?.[this.entries.indexOf(entry)];
  }
}

/** Of two owners that want one key, the first in this order has it. */
export const compareOwners = (
  { owner: a }: Pick<OwnedRows, 'owner'>,
  { owner: b }: Pick<OwnedRows, 'owner'>,
): number => a.rank - b.rank || a.order - b.order || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
