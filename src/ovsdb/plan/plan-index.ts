import { RowReference, type DatabaseRules, type DesiredRow } from './desired.ts';
import type { PlanProblem } from './plan-change.ts';
import { eachReference, type Entry } from './plan-entry.ts';
import { IdentifyQueue } from './plan-identify-queue.ts';
import { RowMatcher } from './plan-match.ts';
import { planTables, type PlanColumn, type PlanTable, type PlanTables } from './plan-table.ts';
import { rememberUnwanted } from './plan-unwanted.ts';
import type { WishQueue } from './plan-wishes.ts';
import type {
  ReplicaChanges,
  ReplicaRow,
  ReplicaView,
  RowChange,
} from '../replica/replica-view.ts';
import type { DatabaseSchema } from '../data/schema.ts';
import type { Datum } from '../data/value.ts';

/**
 * Which rows are wanted and which rows of the database have their keys, kept up to date from both sides, with the
 * entries that either side touched since they were last settled.
 */
export class RowIndex {
  readonly tables: PlanTables;
  readonly schema: DatabaseSchema;
  /** Entries to be looked at. */
  readonly dirty = new Set<Entry>();
  /** Entries that others refer to and whose row may have become another one. */
  readonly shifted = new Set<Entry>();
  /** Rows wanted in tables that have no rules. */
  readonly strangers = new Map<DesiredRow, PlanProblem>();
  readonly #replica: ReplicaView;
  #isFilled = false;
  /** Rows that the last plan inserts, by UUID. */
  #awaited = new Map<string, Entry>();

  constructor(replica: ReplicaView, rules: DatabaseRules) {
    this.#replica = replica;
    this.schema = replica.schema;
    this.tables = planTables(replica, rules);
  }

  /** The table of a wish; one without rules is reported. */
  #tableOf(unit: string, row: DesiredRow): PlanTable | undefined {
    const table = this.tables.get(row.table);
    if (table === undefined) {
      this.strangers.set(row, {
        kind: 'no-rules',
        table: row.table,
        key: row.key,
        unit,
        message: `${row.table} "${row.key}": there are no rules for this table, so its rows can't be told apart: add them to the database's rules`,
      });
    }
    return table;
  }

  /** Takes note of what a unit wants besides what it wants already. */
  claim(unit: string, rows: readonly DesiredRow[]): void {
    const byTable = new Map<PlanTable, DesiredRow[]>();
    for (const row of rows) {
      const table = this.#tableOf(unit, row);
      if (table === undefined) continue;
      const wanted = byTable.get(table);
      if (wanted === undefined) byTable.set(table, [row]);
      else wanted.push(row);
    }
    for (const [table, wanted] of byTable) {
      const entries = table.places(wanted.map((row) => row.key)).map((p) => table.entries.at(p));
      for (const [i, row] of wanted.entries()) this.#claim(table, entries[i] as Entry, unit, row);
    }
  }

  #claim(table: PlanTable, entry: Entry, unit: string, row: DesiredRow): void {
    const before = entry.row;
    entry.addClaim(unit, row);
    this.#countReferences(row, 1);
    this.#touch(entry);
    if (before === undefined) this.#touchFoundMembers(table, entry);
    else if (before !== entry.row) this.#touchListed(table, before);
  }

  unclaim(unit: string, row: DesiredRow): void {
    this.strangers.delete(row);
    const table = this.tables.get(row.table);
    const entry = table?.known(row.key);
    if (table === undefined || entry === undefined) return;
    // Whether the row is ours is asked of the rules when it comes to that.
    if (entry.isMatched) this.#identify(table, entry.ownUuid);
    else if (entry.isAssumed) for (const { uuid } of entry.ours) this.#identify(table, uuid);
    entry.dropClaim(unit, row);
    // What is ours goes as a whole; what is not is left as it was before we wanted anything of it.
    if (entry.row !== undefined || row.partial === true) rememberUnwanted(table, entry, row);
    else entry.unwanted = undefined;
    this.#touch(entry);
    this.#touchListed(table, row);
    this.#countReferences(row, -1);
  }

  get isFilled(): boolean {
    return this.#isFilled;
  }

  /**
   * Takes the first wishes and reads which rows of the database have which keys, once; returns how many rows were found
   * right. From then on `claim` and `unclaim` say what changes.
   */
  fill(units: ReadonlyMap<string, readonly DesiredRow[]>): number {
    if (this.#isFilled) return 0;
    this.#expect(units);
    const matcher = new RowMatcher(this.tables, this.#replica);
    const count = (row: DesiredRow): void => this.#countReferences(row, 1);
    let right = 0;
    for (const table of this.tables.values()) {
      for (const { row, rivals } of table.entries) {
        if (row !== undefined) count(row);
        for (const rival of rivals ?? []) count(rival.row);
      }
    }
    for (const table of this.tables.values()) right += matcher.matchAll(table, count);
    this.#isFilled = true;
    for (const table of this.tables.values()) this.#fillTable(table, matcher);
    for (const [table, uuids] of matcher.surplus()) {
      for (const uuid of uuids) this.#identify(table, uuid);
    }
    return right;
  }

  /** The wishes from before the database was read. */
  #expect(units: ReadonlyMap<string, readonly DesiredRow[]>): void {
    const queues = new Map<string, WishQueue>();
    for (const table of this.tables.values()) {
      const refuse = (unit: string, row: DesiredRow): void => {
        table.entries.doubt(table.place(row.key)).addClaim(unit, row);
      };
      queues.set(table.name, table.wishes(refuse));
    }
    for (const [unit, rows] of units) {
      for (const row of rows) {
        const queue = queues.get(row.table);
        if (queue !== undefined) queue.add(unit, row);
        else this.#tableOf(unit, row);
      }
    }
    for (const queue of queues.values()) queue.flush();
  }

  /** The other rows of the database, and the other rows that are wanted. */
  #fillTable(table: PlanTable, matcher: RowMatcher): void {
    if (table.isPresent && table.matched < this.#replica.size(table.name)) {
      for (const row of matcher.others(table)) {
        const entry = this.#attach(table, row, this.containerOf(table, row));
        // What such a row holds is looked at in that light.
        if (entry !== undefined) this.#touchMembers(table, row);
      }
    }
    for (const entry of table.entries) {
      if (!entry.isAssumed) this.#touch(entry);
    }
  }

  /** Takes note of rows that appeared, changed, vanished, and of rows that became or ceased to be members of a set. */
  observe(changes: ReplicaChanges): void {
    if (!this.#isFilled) return;
    const queue = new IdentifyQueue();
    const own = this.#arrivals(changes);
    for (const { table: name, rows } of changes.tables.values()) {
      const table = this.tables.get(name);
      if (table === undefined) continue;
      for (const change of rows) {
        if (!own.has(change.uuid)) queue.add(table, change.uuid);
        for (const column of table.sets.values()) {
          const target = this.tables.get(column.type.key.refTable ?? '');
          if (target === undefined) continue;
          const holder = table.holder(change.uuid);
          for (const uuid of this.#movedMembers(table, column, change)) {
            const isExpected =
              holder !== undefined && own.get(uuid)?.isIn(holder, column.name) === true;
            if (!isExpected) queue.add(target, uuid);
          }
        }
      }
    }
    for (let next = queue.take(); next !== undefined; next = queue.take()) {
      const [table, uuid] = next;
      if (!this.#identify(table, uuid)) continue;
      // The row has another key now: what it holds is in another place, and rows known by their place have other keys.
      const row = this.#replica.row(table.name, uuid);
      if (row === undefined) continue;
      this.#touchMembers(table, row);
      for (const dependent of this.tables.values()) {
        const { container } = dependent.rules;
        if (
          container?.table !== table.name ||
          !this.#replica.hasColumn(table.name, container.column)
        )
          continue;
        for (const member of asMembers(row.column(container.column))) queue.add(dependent, member);
      }
    }
  }

  /** Rows that the last plan inserts and that came as wanted, by UUID: there is nothing to be looked at. */
  #arrivals(changes: ReplicaChanges): ReadonlyMap<string, Entry> {
    const own = new Map<string, Entry>();
    if (this.#awaited.size === 0) return own;
    const arrived = new Set<Entry>();
    for (const { rows } of changes.tables.values()) {
      for (const { kind, uuid } of rows) {
        const entry = kind === 'inserted' ? this.#awaited.get(uuid) : undefined;
        if (entry?.expectMatch() !== true) continue;
        arrived.add(entry);
        own.set(uuid, entry);
      }
    }
    const matcher = new RowMatcher(this.tables, this.#replica, arrived);
    for (const [uuid, entry] of own) {
      this.#awaited.delete(uuid);
      if (matcher.matchArrival(entry)) {
        entry.isDirty = false;
        this.dirty.delete(entry);
        // With the change that made it, and all values in it, it would be kept for as long as the row.
        if (this.shifted.has(entry)) entry.change = undefined;
        else entry.table.entries.release(entry);
      } else own.delete(uuid);
    }
    return own;
  }

  /** UUIDs that entered or left a set of references. */
  #movedMembers(table: PlanTable, column: PlanColumn, change: RowChange): readonly string[] {
    const isNew = change.kind === 'inserted';
    if (!isNew && !change.old.has(column.name)) return [];
    const before = isNew ? [] : asMembers(change.old.get(column.name));
    const row = change.kind === 'deleted' ? undefined : this.#replica.row(table.name, change.uuid);
    const after = row === undefined ? [] : asMembers(row.column(column.name));
    if (before.length === 0) return after;
    if (after.length === 0) return before;
    return [...new Set(before).symmetricDifference(new Set(after))];
  }

  /** Finds a row's key and owner anew; true when they are others than before. */
  #identify(table: PlanTable, uuid: string): boolean {
    const before = table.holder(uuid);
    const wasOurs = before?.isOurs(uuid);
    if (before !== undefined) {
      before.isAssumed = false;
      before.detach(uuid);
      table.byUuid.delete(uuid);
      this.#touch(before);
    }
    const row = this.#replica.row(table.name, uuid);
    const after =
      row === undefined ? undefined : this.#attach(table, row, this.containerOf(table, row));
    return before !== after || wasOurs !== after?.isOurs(uuid);
  }

  #attach(
    table: PlanTable,
    row: ReplicaRow,
    container: RowReference | undefined,
  ): Entry | undefined {
    const key = table.keyOf(row, container);
    if (key === undefined) return undefined;
    const entry = table.entry(key);
    entry.attach(row, table.isOurs(row, container));
    table.byUuid.set(row.uuid, entry);
    this.#touch(entry);
    return entry;
  }

  #keyOf(name: string, row: ReplicaRow): string | undefined {
    const table = this.tables.get(name);
    return table?.keyOf(row, this.containerOf(table, row));
  }

  /** The row that identifies this one. Held by several, it belongs to one of ours, or to the first. */
  containerOf(table: PlanTable, row: ReplicaRow): RowReference | undefined {
    const { container } = table.rules;
    if (container === undefined) return undefined;
    const holders = this.#replica
      .referrers(table.name, row.uuid)
      .filter((r) => r.table === container.table && r.column === container.column)
      .map((r) => this.#replica.row(r.table, r.uuid))
      .filter((holder) => holder !== undefined)
      .sort((a, b) => (a.uuid < b.uuid ? -1 : 1));
    const holder =
      holders.length < 2 ? holders[0] : (holders.find((h) => this.#isOurs(h)) ?? holders[0]);
    if (holder === undefined) return undefined;
    const key = this.#keyOf(container.table, holder);
    return key === undefined ? undefined : new RowReference(container.table, key);
  }

  #isOurs(row: ReplicaRow): boolean {
    const table = this.tables.get(row.table);
    return table?.isOurs(row, this.containerOf(table, row)) === true;
  }

  #countReferences(row: DesiredRow, step: 1 | -1): void {
    for (const container of row.containers) this.#countReference(container, step);
    for (const { name } of this.tables.get(row.table)?.references ?? []) {
      const value = row.columns[name];
      if (typeof value !== 'object') continue;
      eachReference(value, (target) => this.#countReference(target, step));
    }
  }

  #countReference(reference: Reference, step: 1 | -1): void {
    const table = this.tables.get(reference.table);
    if (table === undefined) return;
    const place = table.place(reference.key);
    const count = table.entries.countReference(place, step);
    if (count === 0) {
      const target = table.entries.at(place);
      if (target.isVacant) this.#touch(target);
    }
  }

  /** Where a row lists the members of a set it decides about them; where it does no more, they decide themselves. */
  #touchListed(table: PlanTable, row: DesiredRow): void {
    for (const column of table.references) {
      if (column.kind !== 'members') continue;
      eachReference(row.columns[column.name], (reference) => {
        const target = this.tables.get(reference.table)?.known(reference.key);
        if (target !== undefined) this.#touch(target);
      });
    }
  }

  /** A row that was there before anybody wanted it: what it holds is to be seen in that light. */
  #touchFoundMembers(table: PlanTable, entry: Entry): void {
    for (const row of [...entry.ours, ...entry.others]) this.#touchMembers(table, row);
  }

  #touchMembers(table: PlanTable, row: ReplicaRow): void {
    for (const column of table.sets.values()) {
      const target = this.tables.get(column.type.key.refTable ?? '');
      if (target === undefined) continue;
      for (const uuid of asMembers(row.column(column.name))) {
        const member = target.holder(uuid);
        if (member !== undefined) this.#touch(member);
      }
    }
  }

  #touch(entry: Entry): void {
    // Before the database was read, nothing is known that could be looked at.
    if (!this.#isFilled && !entry.isVacant) return;
    if (entry.isVacant) {
      this.dirty.delete(entry);
      this.shifted.delete(entry);
      entry.table.forget(entry);
      return;
    }
    if (entry.referenceCount > 0) this.shifted.add(entry);
    if (entry.row !== undefined || entry.hasOurs || entry.unwanted !== undefined) {
      this.dirty.add(entry);
    } else {
      this.dirty.delete(entry);
    }
  }

  /** Ends a pass: what was found right, or is nothing of ours, is not looked at again until something touches it. */
  settle(unsettled: ReadonlySet<Entry>, inserts: Map<string, Entry>): void {
    this.#awaited = inserts;
    for (const entry of this.dirty) {
      if (unsettled.has(entry)) continue;
      this.dirty.delete(entry);
      entry.isDirty = false;
      if (entry.isVacant) entry.table.forget(entry);
    }
    for (const entry of unsettled) this.dirty.add(entry);
    this.shifted.clear();
  }
}

type Reference = { readonly table: string; readonly key: string };

const asMembers = (datum: Datum): readonly string[] =>
  Array.isArray(datum) ? (datum as readonly string[]) : [];
