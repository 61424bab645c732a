/** What one pass knows: which row of the database stands for a key, which rows go. */
import type { ReplicaRow, ReplicaView, Uuid } from 'ovsdb-client-ts';
import type { DesiredRow } from '../rows.ts';
import type { ProblemKind } from './changes.ts';
import type { RowIndex } from './row-index.ts';
import type { ClaimedTable, Entry, OwnedRows } from './claimed-table.ts';

/** Which row stands for a key: one of the database, or one to be inserted, which has a UUID alone; or none, and why. */
export type Resolution =
  | { readonly uuid: Uuid; readonly row: ReplicaRow | undefined; readonly problem?: undefined }
  | { readonly uuid?: undefined; readonly problem: ProblemKind; readonly message: string };

/** A row that an owner removes from the database. */
export interface Going {
  readonly entry: Entry;
  readonly row: ReplicaRow;
  readonly owned: OwnedRows;
  readonly reason: 'unwanted' | 'duplicate';
}

export class PlanPass {
  readonly index: RowIndex;
  readonly replica: ReplicaView;
  /** Rows that go, by UUID. */
  readonly going = new Map<string, Going>();
  readonly #unsupported: Set<string>;
  readonly #resolved = new Map<Entry, Resolution>();
  /** Rows that somebody renamed and that get their key back, by UUID. */
  readonly #reclaimed = new Map<string, Entry>();

  constructor(index: RowIndex, replica: ReplicaView, unsupported: Set<string>) {
    this.index = index;
    this.replica = replica;
    this.#unsupported = unsupported;
  }

  noteUnsupported(table: string, column?: string): void {
    const { name, version } = this.replica.schema;
    const [what, left] =
      column === undefined
        ? [`table ${table}`, 'rows']
        : [`column ${column} in table ${table}`, 'values'];
    this.#unsupported.add(
      `the server's schema ${name} ${version} has no ${what}: its ${left} are left out`,
    );
  }

  /** The entry that a row of the database stands for. */
  holder(table: ClaimedTable | undefined, uuid: string): Entry | undefined {
    return this.#reclaimed.get(uuid) ?? table?.byUuid.get(uuid);
  }

  /** Finds rows that somebody renamed, before it is decided which rows go. */
  reclaim(owned: OwnedRows): void {
    if (owned.lostTo !== undefined) return;
    for (const entry of owned.entries) if (!entry.isFound) this.resolve(entry);
  }

  resolve(entry: Entry): Resolution {
    const only = this.#onlyRow(entry);
    if (only !== undefined) return found(only);
    let resolution = this.#resolved.get(entry);
    if (resolution === undefined) this.#resolved.set(entry, (resolution = this.#resolve(entry)));
    return resolution;
  }

  /** The same for who needs no more than the UUID: where the owner's rows were all found right, the row itself need not be read. */
  resolveUuid(entry: Entry): Resolution {
    const { owner, onlyFound } = entry;
    const isRight = owner !== undefined && !this.index.dirty.has(owner);
    return isRight && onlyFound !== undefined
      ? { uuid: onlyFound, row: undefined }
      : this.resolve(entry);
  }

  /** The row of a wanted entry that has only one, which is ours: no more is to be found out about it. */
  #onlyRow({ table, owner, onlyFound }: Entry): ReplicaRow | undefined {
    if (owner === undefined || onlyFound === undefined) return undefined;
    const row = this.replica.row(table.name, onlyFound);
    // Of an owner whose rows were all found right they are ours.
    const isOurs =
      row !== undefined &&
      (!this.index.dirty.has(owner) || this.index.found.isOurs(table.name, row));
    return isOurs ? row : undefined;
  }

  isOurs(entry: Entry, row: ReplicaRow): boolean {
    return this.index.found.isOurs(entry.table.name, row);
  }

  #resolve(entry: Entry): Resolution {
    const { table, owner } = entry;
    if (!table.isPresent) return none('missing-row', 'the server has no such table');
    const rows = this.index.found.rowsOf(entry);
    if (owner === undefined) {
      // Nobody wants it: others may still refer to a row that is not ours.
      const row = lowest(rows.filter((one) => !this.going.has(one.uuid)));
      return row === undefined
        ? none('missing-row', 'neither wanted nor there: want that row too, or drop the reference')
        : found(row);
    }
    const row = owner.rowOf(entry);
    if (row?.partial === true) {
      const made = lowest(rows);
      return made === undefined
        ? none(
            'awaited',
            'another program makes this row and has not made it yet; its columns are written as soon as it is there',
          )
        : found(made);
    }
    const ours = rows.filter((one) => this.isOurs(entry, one));
    if (ours.length > 0) return found(this.#best(entry, ours));
    return rows.length > 0 ? this.#adopt(entry, row, rows) : this.#reclaimOrInsert(entry, row);
  }

  /** Of several rows: the one that any writer would have made, one in its place, the lowest UUID. */
  #best(entry: Entry, rows: readonly ReplicaRow[]): ReplicaRow {
    const [first] = rows;
    if (rows.length === 1 && first !== undefined) return first;
    const own = entry.table.rowUuid(entry.key);
    return (rows.find((row) => row.uuid === own) ??
      lowest(rows.filter((row) => this.#isInPlace(entry, row))) ??
      lowest(rows)) as ReplicaRow;
  }

  /** True when a row of ours that should hold the row does hold it. */
  #isInPlace(entry: Entry, row: ReplicaRow): boolean {
    return (entry.owner?.rowOf(entry)?.containers ?? []).some(({ table, key, column }) => {
      const container = this.index.tables.get(table)?.entries.get(key);
      if (container === undefined || !this.replica.hasColumn(table, column)) return false;
      return this.index.found.rowsOf(container).some((one) => one.includes(column, row.uuid));
    });
  }

  /** Rows with the key, none with our mark: one that says nothing that we would not say is taken over; others stay. */
  #adopt(entry: Entry, row: DesiredRow | undefined, rows: readonly ReplicaRow[]): Resolution {
    const adoptable = rows.filter((one) => isAdoptable(entry.table, one, row));
    if (adoptable.length > 0) return found(this.#best(entry, adoptable));
    return none(
      'held-by-other',
      `${this.#describe(entry.table, lowest(rows) as ReplicaRow)} has this key and is not ours, so it is left alone: ` +
        'rename or delete it; ours is made as soon as it is gone',
    );
  }

  /** `row 0f… (in Logical_Switch "others" ports; external_ids owner=me)`: who holds a key. */
  #describe(table: ClaimedTable, row: ReplicaRow): string {
    const facts = this.replica.referrers(table.name, row.uuid).map((r) => {
      const key = this.index.tables.get(r.table)?.byUuid.get(r.uuid)?.key;
      return `in ${r.table} "${key ?? r.uuid}" ${r.column}`;
    });
    if (table.ids !== undefined) {
      const ids = [...idsOf(row)].map(([k, v]) => `${k}=${v}`);
      facts.push(ids.length > 0 ? `external_ids ${ids.join(' ')}` : 'no external_ids');
    }
    return `row ${row.uuid}${facts.length > 0 ? ` (${facts.join('; ')})` : ''}`;
  }

  /** No row has the key. A row that we made under it and somebody renamed gets it back; otherwise a new one is made. */
  #reclaimOrInsert(entry: Entry, row: DesiredRow | undefined): Resolution {
    const { table } = entry;
    for (let attempt = 1; ; attempt++) {
      const uuid = table.rowUuid(entry.key, attempt);
      const taken = this.replica.row(table.name, uuid);
      if (taken === undefined) return { uuid, row: undefined };
      if (attempt === 1 && row !== undefined && this.#mayReclaim(table, taken, row)) {
        this.#reclaimed.set(uuid, entry);
        return found(taken);
      }
    }
  }

  #mayReclaim(table: ClaimedTable, taken: ReplicaRow, row: DesiredRow): boolean {
    if (table.byUuid.get(taken.uuid)?.owner !== undefined) return false;
    // The UUID itself says that a row is ours which can't be marked.
    const isOurs = table.claim.markedBy !== undefined || this.index.found.isOurs(table.name, taken);
    if (!isOurs) return false;
    return table.columns.every((column) => {
      const value = row.columns[column.name];
      return column.mutable || value === undefined || taken.column(column.name) === value;
    });
  }

  /** Notes the rows of ours that an owner no longer wants, and further rows with the key of one that it wants. */
  collectGoing(owned: OwnedRows): readonly Going[] {
    const result: Going[] = [];
    const note = (entry: Entry, reason: Going['reason'], kept?: Uuid): boolean => {
      const ours = this.index.found.rowsOf(entry).filter((row) => this.isOurs(entry, row));
      for (const row of ours) {
        if (row.uuid === kept || this.#reclaimed.has(row.uuid) || this.going.has(row.uuid))
          continue;
        const going = { entry, row, owned, reason };
        this.going.set(row.uuid, going);
        result.push(going);
      }
      return ours.length > 0;
    };
    for (const [i, entry] of owned.entries.entries()) {
      if (!entry.isFound) continue;
      const { owner } = entry;
      if (owner === undefined) note(entry, 'unwanted');
      else if (owner === owned && entry.isFoundTwice && owned.rows?.[i]?.partial !== true) {
        const kept = this.resolve(entry);
        if (kept.uuid !== undefined) note(entry, 'duplicate', kept.uuid);
      }
    }
    if (owned.dropped !== undefined)
      for (const entry of owned.dropped) if (!note(entry, 'unwanted')) this.index.release(entry);
    return result;
  }
}

const found = (row: ReplicaRow): Resolution => ({ uuid: row.uuid, row });
const none = (problem: ProblemKind, message: string): Resolution => ({ problem, message });

const idsOf = (row: ReplicaRow): ReadonlyMap<string, string> => {
  const ids = row.column('external_ids');
  return ids instanceof Map ? (ids as ReadonlyMap<string, string>) : new Map();
};

/** An unmarked row that carries no ids but those that ours carries, with the same values where they name an owner. */
function isAdoptable(
  table: ClaimedTable,
  row: ReplicaRow,
  wanted: DesiredRow | undefined,
): boolean {
  if (table.ids === undefined) return true;
  const ours = (wanted?.columns['external_ids'] ?? {}) as Readonly<Record<string, string>>;
  return [...idsOf(row)].every(
    ([key, value]) =>
      Object.hasOwn(ours, key) && (ours[key] === value || !key.startsWith('k8s.ovn.org/')),
  );
}

function lowest(rows: readonly ReplicaRow[]): ReplicaRow | undefined {
  let first = rows[0];
  for (const row of rows) if (first === undefined || row.uuid < first.uuid) first = row;
  return first;
}
