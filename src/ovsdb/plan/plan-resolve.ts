import type { DesiredRow, RowReference } from './desired.ts';
import type { PlanProblem, ProblemKind } from './plan-change.ts';
import type { Entry } from './plan-entry.ts';
import type { RowIndex } from './plan-index.ts';
import type { PlanTable } from './plan-table.ts';
import type { ReplicaRow, ReplicaView } from '../replica/replica-view.ts';
import { rowUuid } from './plan-uuid.ts';
import type { Uuid } from '../data/value.ts';

/** Decides, once per pass, which row of the database stands for a desired row, or which UUID a new one gets. */

/** `Logical_Switch "blue"`. */
export const label = (row: { readonly table: string; readonly key: string }): string =>
  `${row.table} "${row.key}"`;

export class Resolver {
  readonly problems: PlanProblem[] = [];
  /** Entries to be looked at again by each plan, because something is not as it should be. */
  readonly troubled = new Set<Entry>();
  /** Rows whose key others than their UUID's name changed: they get their key back instead of being removed. */
  readonly reclaimed = new Map<string, Entry>();
  /** Entries that other rows asked for. */
  readonly referred = new Set<Entry>();
  /** Wanted rows that turned out to be missing although nothing had touched them. */
  readonly surprises: Entry[] = [];
  /** Wanted rows that are made under another UUID than the one of their key, because that is taken. */
  readonly displaced = new Set<Entry>();
  readonly #index: RowIndex;
  readonly #replica: ReplicaView;
  readonly #pass: number;

  constructor(index: RowIndex, replica: ReplicaView, pass: number) {
    this.#index = index;
    this.#replica = replica;
    this.#pass = pass;
  }

  problem(entry: Entry, kind: ProblemKind, message: string): void {
    this.troubled.add(entry);
    this.problems.push({
      kind,
      table: entry.table.name,
      key: entry.key,
      unit: entry.claim?.unit ?? entry.unit,
      message: `${entry.table.name} "${entry.key}": ${message}`,
    });
  }

  /** Reports a row that refers to one, or belongs into one, that has no row to refer to. */
  unresolved(
    entry: Entry,
    reference: { readonly table: string; readonly key: string },
    how: string,
  ): void {
    if (this.target(reference)?.isBlocked === true) {
      this.problem(entry, 'blocked', `${how} ${label(reference)}, which has a problem of its own`);
    } else {
      this.problem(
        entry,
        'missing-row',
        `${how} ${label(reference)}, which is neither wanted nor there: want that row too, or drop the reference`,
      );
    }
  }

  /** The entry that a reference means, resolved; undefined when the server lacks the table. */
  target(
    reference: RowReference | { readonly table: string; readonly key: string },
  ): Entry | undefined {
    const table = this.#index.tables.get(reference.table);
    if (table === undefined || !table.isPresent) return undefined;
    const entry = table.entry(reference.key);
    this.resolve(entry);
    this.referred.add(entry);
    return entry;
  }

  /** The entry that a row of the database stands for, resolved; undefined for rows without a key. */
  holder(table: PlanTable, uuid: string): Entry | undefined {
    const entry = this.reclaimed.get(uuid) ?? table.holder(uuid);
    if (entry !== undefined) this.resolve(entry);
    return entry;
  }

  resolve(entry: Entry): void {
    if (entry.pass === this.#pass) return;
    entry.pass = this.#pass;
    entry.kept = undefined;
    entry.uuid = undefined;
    entry.change = undefined;
    entry.isBlocked = false;
    const { row } = entry;
    if (!entry.table.isPresent) {
      entry.isBlocked = true;
      return;
    }
    if (row === undefined) {
      // Nobody wants it: others may still refer to a row that is not ours.
      entry.kept = lowest(entry.others);
    } else if (row.partial === true) {
      this.#resolvePartial(entry);
    } else if (entry.hasOurs) {
      entry.kept = this.#best(entry, entry.ours);
    } else if (entry.others.length > 0) {
      this.#adopt(entry);
    } else {
      this.#reclaimOrInsert(entry, row);
    }
    entry.uuid = entry.kept?.uuid ?? entry.uuid;
    if (entry.kept === undefined && row !== undefined && !entry.isDirty) this.surprises.push(entry);
  }

  #resolvePartial(entry: Entry): void {
    entry.kept = lowest([...entry.ours, ...entry.others]);
    if (entry.kept !== undefined) return;
    entry.isBlocked = true;
    this.problem(
      entry,
      'awaited',
      'another program makes this row and has not made it yet; its columns are written as soon as it is there',
    );
  }

  /** Of several rows of ours: the one that any writer would have made, one in its place, the lowest UUID. */
  #best(entry: Entry, rows: readonly ReplicaRow[]): ReplicaRow | undefined {
    if (rows.length < 2) return rows[0];
    const own = this.#ownUuid(entry);
    return (
      rows.find((row) => row.uuid === own) ??
      lowest(rows.filter((row) => this.#isInPlace(entry, row))) ??
      lowest(rows)
    );
  }

  #ownUuid(entry: Entry, attempt = 1): Uuid {
    return attempt === 1
      ? entry.ownUuid
      : rowUuid(this.#index.schema.name, entry.table.name, entry.key, attempt);
  }

  /** True when a row of ours that should hold the row does hold it. */
  #isInPlace(entry: Entry, row: ReplicaRow): boolean {
    return entry.containers().some((place) => {
      const container = this.target(place);
      return (
        container?.claim !== undefined &&
        container.kept !== undefined &&
        this.#replica.hasColumn(place.table, place.column) &&
        container.kept.includes(place.column, row.uuid)
      );
    });
  }

  /** Rows with the key, none with our mark: one that we made, or in a place of ours, lost its mark; others stay. */
  #adopt(entry: Entry): void {
    const own = this.#ownUuid(entry);
    const { table } = entry;
    entry.kept = this.#best(
      entry,
      entry.others.filter(
        (row) =>
          row.uuid === own ||
          table.mayAdopt(row, this.#index.containerOf(table, row)) ||
          this.#isInPlace(entry, row),
      ),
    );
    if (entry.kept !== undefined) return;
    entry.isBlocked = true;
    this.problem(
      entry,
      'held-by-other',
      `${this.#describe(entry.table, lowest(entry.others) as ReplicaRow)} has this key and is not ours, so it is left alone: ` +
        'rename or delete it; ours is made as soon as it is gone',
    );
  }

  /** `row 0f… (in Logical_Switch "others" ports; external_ids owner=me)`: who holds a key. */
  #describe(table: PlanTable, row: ReplicaRow): string {
    const facts = this.#replica.referrers(table.name, row.uuid).map((r) => {
      const key = this.#index.tables.get(r.table)?.holder(r.uuid)?.key;
      return `in ${r.table} "${key ?? r.uuid}" ${r.column}`;
    });
    if (this.#replica.hasColumn(table.name, 'external_ids')) {
      const ids = row.column('external_ids');
      const marks = ids instanceof Map ? [...ids].map(([k, v]) => `${String(k)}=${String(v)}`) : [];
      facts.push(marks.length > 0 ? `external_ids ${marks.join(' ')}` : 'no external_ids');
    }
    return `row ${row.uuid}${facts.length > 0 ? ` (${facts.join('; ')})` : ''}`;
  }

  /** No row has the key. A row that we made under it and somebody renamed gets it back; otherwise a new one is made. */
  #reclaimOrInsert(entry: Entry, row: DesiredRow): void {
    for (let attempt = 1; ; attempt++) {
      const uuid = this.#ownUuid(entry, attempt);
      const found = this.#replica.row(entry.table.name, uuid);
      if (found === undefined) {
        entry.uuid = uuid;
        if (attempt > 1) this.displaced.add(entry);
        return;
      }
      if (attempt === 1 && this.#mayReclaim(entry, found, row)) {
        this.reclaimed.set(uuid, entry);
        // Until the row has its key back, both keys are to be seen together.
        this.troubled.add(entry);
        const holder = entry.table.holder(uuid);
        if (holder !== undefined) this.troubled.add(holder);
        entry.kept = found;
        return;
      }
    }
  }

  #mayReclaim(entry: Entry, found: ReplicaRow, row: DesiredRow): boolean {
    const holder = entry.table.holder(found.uuid);
    if (holder !== undefined) {
      this.resolve(holder);
      if (holder.claim !== undefined && holder.kept?.uuid === found.uuid) return false;
    }
    return entry.table.columns.every((column) => {
      const value = row.columns[column.name];
      return column.mutable || value === undefined || found.column(column.name) === value;
    });
  }
}

function lowest(rows: readonly ReplicaRow[]): ReplicaRow | undefined {
  let first = rows[0];
  for (const row of rows) if (first === undefined || row.uuid < first.uuid) first = row;
  return first;
}
