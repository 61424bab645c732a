import { OvsdbError } from './error.ts';
import { RowReference, type DesiredRow, type DesiredValue } from './desired.ts';
import type { PlannedColumn, PlanProblem } from './plan-change.ts';
import { ChangeDraft } from './plan-draft.ts';
import { sameColumns, type Entry } from './plan-entry.ts';
import type { RowIndex } from './plan-index.ts';
import { Removals } from './plan-removal.ts';
import { label, Resolver } from './plan-resolve.ts';
import type { PlanColumn, PlanTable } from './plan-table.ts';
import { changedMembers, inserted, replaced, shared } from './plan-values.ts';
import type { ReplicaRow, ReplicaView } from './replica-view.ts';
import type { Atom, Writable } from './value.ts';

/** A value can't be written: a row that it refers to is not there. */
class Unresolved extends Error {
  readonly reference: RowReference;

  constructor(reference: RowReference) {
    super(`${label(reference)} is not there`);
    this.reference = reference;
  }
}

/** One pass over the dirty entries: pure, reads the replica and returns changes. */
export class PlanPass {
  readonly changes: ChangeDraft[] = [];
  readonly leftOut = new Set<string>();
  /** Entries that are not yet as they should be. */
  readonly unsettled = new Set<Entry>();
  examined = 0;
  /** Column and value that are being looked at, for messages about values that don't fit. */
  #at: { readonly column: PlanColumn; readonly value: DesiredValue } | undefined;
  readonly #index: RowIndex;
  readonly #replica: ReplicaView;
  readonly #resolver: Resolver;
  readonly #removals: Removals;

  constructor(index: RowIndex, replica: ReplicaView, pass: number) {
    this.#index = index;
    this.#replica = replica;
    this.#resolver = new Resolver(index, replica, pass);
    this.#removals = new Removals(index, replica, this.#resolver);
  }

  get problems(): readonly PlanProblem[] {
    return this.#resolver.problems;
  }

  run(): void {
    const entries = this.#entriesToLookAt();
    this.examined = entries.length;
    for (const entry of entries) this.#resolver.resolve(entry);
    for (const entry of entries) this.#removals.collect(entry);
    // Resolving what a row refers to may show that a row is missing of which nobody had heard.
    for (const entry of entries) {
      if (entry.row !== undefined) this.#planWanted(entry, entry.row);
      else if (entry.unwanted !== undefined) this.#planUnwantedMembers(entry);
    }
    for (const entry of this.#resolver.surprises) {
      if (entry.change === undefined && entry.row !== undefined) {
        this.#planWanted(entry, entry.row);
      }
    }
    for (const change of this.#removals.plan()) this.#add(change);
    this.#link();
    for (const entry of this.#resolver.troubled) this.unsettled.add(entry);
    for (const entry of this.#resolver.referred) entry.lastUuid = entry.uuid;
  }

  /** Rows to be inserted under the UUID of their key, by UUID. */
  inserts(): Map<string, Entry> {
    const inserts = new Map<string, Entry>();
    for (const { action, uuid, entry } of this.changes) {
      if (action === 'insert' && !this.#resolver.displaced.has(entry)) inserts.set(uuid, entry);
    }
    return inserts;
  }

  /** Dirty entries, and rows that refer to one whose UUID is another now. */
  #entriesToLookAt(): readonly Entry[] {
    const { dirty, shifted, tables } = this.#index;
    const moved = new Set<Entry>();
    for (const entry of dirty) entry.isDirty = true;
    for (const entry of shifted) {
      this.#resolver.resolve(entry);
      if (entry.lastUuid !== undefined && entry.lastUuid !== entry.uuid) moved.add(entry);
    }
    if (moved.size > 0) {
      for (const table of tables.values()) {
        for (const entry of table.entries) {
          if (entry.row === undefined || !this.#refersTo(entry, moved)) continue;
          entry.isDirty = true;
          dirty.add(entry);
        }
      }
    }
    return [...dirty];
  }

  #refersTo(entry: Entry, moved: ReadonlySet<Entry>): boolean {
    const isMoved = (table: string, key: string): boolean => {
      const target = this.#index.tables.get(table)?.known(key);
      return target !== undefined && moved.has(target);
    };
    return (
      entry.containers().some((c) => isMoved(c.table, c.key)) ||
      entry.table.references.some((column) =>
        referencesIn(entry.row?.columns[column.name]).some((r) => isMoved(r.table, r.key)),
      )
    );
  }

  #planWanted(entry: Entry, row: DesiredRow): void {
    this.#reportConflict(entry, row);
    if (!entry.table.isPresent) {
      this.leftOut.add(
        `the server's schema ${this.#version()} has no table ${entry.table.name}: its rows are left out`,
      );
      return;
    }
    if (entry.isBlocked || entry.uuid === undefined) return;
    const { kept } = entry;
    const change = new ChangeDraft(kept === undefined ? 'insert' : 'update', entry, entry.uuid);
    try {
      if (kept === undefined) this.#fillNewRow(entry, row, change);
      else this.#compare(entry, row, kept, change);
    } catch (error) {
      this.#reportRow(entry, error);
      return;
    }
    if (!this.#planMemberships(entry, kept, change) || change.isEmpty) return;
    entry.change = change;
    this.#add(change);
  }

  #add(change: ChangeDraft): void {
    this.unsettled.add(change.entry);
    this.changes.push(change);
  }

  /** Nobody wants anything of a row of others any more: what we had put into it goes. */
  #planUnwantedMembers(entry: Entry): void {
    const { kept, unwanted } = entry;
    if (kept !== undefined && unwanted !== undefined) {
      const change = new ChangeDraft('update', entry, kept.uuid);
      for (const column of entry.table.columns) {
        if (!unwanted.has(column.name)) continue;
        const planned = this.#sharedDifference(entry, kept, column, undefined);
        if (planned !== undefined) change.columns.push(planned);
      }
      if (!change.isEmpty) this.#add(change);
    }
    if (kept === undefined || unwanted?.size === 0) entry.unwanted = undefined;
  }

  #reportConflict(entry: Entry, row: DesiredRow): void {
    const rival = entry.rivals?.find((claim) => !sameColumns(claim.row, row));
    if (rival === undefined) return;
    this.#resolver.problem(
      entry,
      'conflict',
      `wanted by "${entry.unit ?? ''}" and differently by "${rival.unit}": the first one is followed; make them agree`,
    );
  }

  #reportRow(entry: Entry, error: unknown): void {
    if (error instanceof Unresolved) {
      this.#reportUnresolved(entry, error.reference, 'refers to');
    } else if (error instanceof OvsdbError && this.#at !== undefined) {
      const { column, value } = this.#at;
      this.#resolver.problem(
        entry,
        'bad-value',
        `column ${column.name} can't hold ${shown(value)}: ${error.details}`,
      );
    } else {
      throw error;
    }
  }

  #reportUnresolved(
    entry: Entry,
    reference: { readonly table: string; readonly key: string },
    how: string,
  ): void {
    const target = this.#resolver.target(reference);
    if (target?.isBlocked === true) {
      this.#resolver.problem(
        entry,
        'blocked',
        `${how} ${label(reference)}, which has a problem of its own`,
      );
    } else {
      this.#resolver.problem(
        entry,
        'missing-row',
        `${how} ${label(reference)}, which is neither wanted nor there: want that row too, or drop the reference`,
      );
    }
  }

  #fillNewRow(entry: Entry, row: DesiredRow, change: ChangeDraft): void {
    for (const name in row.columns) {
      const column = this.#writable(entry, row, name);
      if (column === undefined) continue;
      const value = row.columns[name] as DesiredValue;
      this.#at = { column, value };
      const planned = inserted(column, this.#resolved(entry, column, value, change));
      if (planned !== undefined) change.columns.push(planned);
    }
  }

  #compare(entry: Entry, row: DesiredRow, kept: ReplicaRow, change: ChangeDraft): void {
    for (const name in row.columns) {
      const column = this.#writable(entry, row, name);
      if (column === undefined) continue;
      const value = row.columns[name] as DesiredValue;
      this.#at = { column, value };
      const planned = this.#difference(entry, row, kept, column, value, change);
      if (planned === undefined) continue;
      if (column.mutable) change.columns.push(planned);
      else {
        this.#resolver.problem(
          entry,
          'immutable',
          `column ${column.name} can't be changed after the row was made: delete the row, it is made anew`,
        );
      }
    }
    for (const column of entry.table.columns) {
      const isGiven = row.columns[column.name] !== undefined;
      if (isGiven) continue;
      if (entry.unwanted?.has(column.name) === true || column.kind === 'shared') {
        const planned = this.#sharedDifference(entry, kept, column, undefined);
        if (planned !== undefined) change.columns.push(planned);
      } else if (column.kind === 'exact' && row.partial !== true) {
        if (kept.holds(column.name, column.defaultValue)) continue;
        const planned = replaced(column, kept.column(column.name), column.defaultValue);
        if (planned !== undefined) change.columns.push(planned);
      }
    }
    if (entry.unwanted?.size === 0) entry.unwanted = undefined;
  }

  #difference(
    entry: Entry,
    row: DesiredRow,
    kept: ReplicaRow,
    column: PlanColumn,
    value: DesiredValue,
    change: ChangeDraft,
  ): PlannedColumn | undefined {
    const wanted = this.#resolved(entry, column, value, change);
    if (column.kind === 'members') {
      return this.#memberDifference(entry, kept, column, wanted as readonly string[]);
    }
    if (column.kind === 'shared' || (row.partial === true && column.type.max > 1)) {
      return this.#sharedDifference(entry, kept, column, wanted);
    }
    if (kept.holds(column.name, wanted)) return undefined;
    return replaced(column, kept.column(column.name), wanted);
  }

  #sharedDifference(
    entry: Entry,
    kept: ReplicaRow,
    column: PlanColumn,
    wanted: Writable,
  ): PlannedColumn | undefined {
    const unwanted = entry.unwanted?.get(column.name);
    const { ownsMember } = entry.table.rules;
    const planned = shared(
      column,
      kept.column(column.name),
      wanted ?? (column.type.value === undefined ? [] : {}),
      (member) => unwanted?.has(member) === true || ownsMember?.(column.name, member) === true,
    );
    if (planned === undefined) entry.unwanted?.delete(column.name);
    return planned;
  }

  /** References that the row itself lists: others' members stay, ours that nobody puts there go. */
  #memberDifference(
    entry: Entry,
    kept: ReplicaRow,
    column: PlanColumn,
    wanted: readonly string[],
  ): PlannedColumn | undefined {
    const add = wanted.filter((uuid) => !kept.includes(column.name, uuid));
    const target = this.#index.tables.get(column.type.key.refTable ?? '');
    const found = kept.column(column.name);
    const listed = new Set(wanted);
    const remove = (Array.isArray(found) ? (found as readonly string[]) : []).filter((uuid) => {
      if (target === undefined || listed.has(uuid)) return false;
      const member = this.#resolver.holder(target, uuid);
      if (member === undefined) return false;
      const isWantedHere =
        member.row !== undefined && member.uuid === uuid && member.isIn(entry, column.name);
      return !isWantedHere && member.isOurs(uuid);
    });
    return changedMembers(column, found, add, remove);
  }

  /** The column of this name if the row gives it a value that can be written. */
  #writable(entry: Entry, row: DesiredRow, name: string): PlanColumn | undefined {
    if (row.columns[name] === undefined) return undefined;
    const column = entry.table.column(name);
    if (column === undefined && entry.table.rules.foreignColumns?.includes(name) !== true) {
      this.#leaveOut(entry.table, name);
    }
    return column;
  }

  #leaveOut(table: PlanTable, column: string): void {
    this.leftOut.add(
      `the server's schema ${this.#version()} has no column ${column} in table ${table.name}: its values are left out`,
    );
  }

  #version(): string {
    return `${this.#index.schema.name} ${this.#index.schema.version}`;
  }

  /** The value with UUIDs in place of references. */
  #resolved(entry: Entry, column: PlanColumn, value: DesiredValue, change: ChangeDraft): Writable {
    if (!column.isReference) return value as Writable;
    const uuidOf = (atom: unknown): Atom | undefined => {
      if (!(atom instanceof RowReference)) return atom as Atom;
      const target = this.#resolver.target(atom);
      if (target === undefined && this.#isLeftOut(atom)) return undefined;
      if (target?.uuid === undefined) throw new Unresolved(atom);
      if (target !== entry) change.leanOn(target);
      return target.uuid;
    };
    if (column.kind === 'members') return this.#resolvedMembers(entry, value, uuidOf);
    if (Array.isArray(value)) {
      return (value as readonly unknown[]).map(uuidOf).filter((atom) => atom !== undefined);
    }
    if (value instanceof Map) {
      const pairs = [...(value as ReadonlyMap<unknown, unknown>)].map(
        ([k, v]) => [uuidOf(k), uuidOf(v)] as const,
      );
      return new Map(pairs.filter((pair): pair is [Atom, Atom] => !pair.includes(undefined)));
    }
    return uuidOf(value);
  }

  /** Members that are there; each of the others is reported and comes when it is. */
  #resolvedMembers(
    entry: Entry,
    value: DesiredValue,
    uuidOf: (atom: unknown) => Atom | undefined,
  ): readonly Atom[] {
    const result: Atom[] = [];
    for (const member of Array.isArray(value) ? (value as readonly unknown[]) : [value]) {
      try {
        const uuid = uuidOf(member);
        if (uuid !== undefined) result.push(uuid);
      } catch (error) {
        if (!(error instanceof Unresolved)) throw error;
        this.#reportUnresolved(entry, error.reference, 'refers to');
      }
    }
    return result;
  }

  /** True for rows of a table that the server lacks. */
  #isLeftOut(reference: RowReference): boolean {
    const table = this.#index.tables.get(reference.table);
    if (table === undefined || table.isPresent) return false;
    this.leftOut.add(
      `the server's schema ${this.#version()} has no table ${table.name}: its rows are left out`,
    );
    return true;
  }

  /** Sets that must hold the row, and those that hold it and must not. False when the row can't be placed. */
  #planMemberships(entry: Entry, kept: ReplicaRow | undefined, change: ChangeDraft): boolean {
    const places = entry.containers();
    let missing = 0;
    /** Places in which the row lives: one of them is enough, without any it would vanish at once. */
    let homes = 0;
    let reachable = 0;
    for (const place of places) {
      const table = this.#index.tables.get(place.table);
      if (table !== undefined && (!table.isPresent || !table.sets.has(place.column))) {
        if (table.isPresent) this.#leaveOut(table, place.column);
        continue;
      }
      const isHome = table?.sets.get(place.column)?.isStrong === true;
      if (isHome) homes++;
      const container = this.#resolver.target(place);
      if (container?.uuid === undefined) {
        this.#reportUnresolved(entry, place, `belongs into ${place.column} of`);
        missing++;
        continue;
      }
      if (isHome) reachable++;
      const holder = container.kept;
      if (kept !== undefined && holder?.includes(place.column, kept.uuid) === true) continue;
      change.leanOn(container);
      change.memberships.push({
        action: 'add',
        table: place.table,
        key: place.key,
        uuid: container.uuid,
        column: place.column,
      });
    }
    if (kept !== undefined) {
      // A row that can't be put where it belongs stays where it is.
      if (missing === 0) this.#leaveWrongSets(entry, kept, change);
      return true;
    }
    return homes === 0 || reachable > 0;
  }

  #leaveWrongSets(entry: Entry, kept: ReplicaRow, change: ChangeDraft): void {
    const { container } = entry.table.rules;
    for (const { table, column, uuid } of this.#replica.referrers(entry.table.name, kept.uuid)) {
      const holders = this.#index.tables.get(table);
      const set = holders?.sets.get(column);
      const holder = holders && this.#resolver.holder(holders, uuid);
      if (set === undefined || holder === undefined) continue;
      if (this.#removals.goes(uuid)) {
        this.#removals.wait(uuid, entry);
        // The set goes with its row. Should the row be wanted again before that, this one is to be looked at again.
        this.unsettled.add(entry);
        continue;
      }
      const isKept = holder.kept?.uuid === uuid;
      if (isKept && entry.isIn(holder, column)) continue;
      if (isKept && holder.row !== undefined) {
        if (holder.row?.columns[column] !== undefined) continue;
      } else {
        // A set of others: ours leaves it only when it can't be in two places.
        const isPlace =
          (container?.table === table && container.column === column) ||
          entry.containers().some((c) => c.table === table && c.column === column);
        if (!set.isStrong || !isPlace) continue;
      }
      change.memberships.push({ action: 'remove', table, key: holder.key, uuid, column });
    }
  }

  /** Joins changes that must not be sent one without the other. */
  #link(): void {
    for (const change of this.changes) {
      for (const entry of change.leansOn) {
        const other = entry.change;
        if (other === undefined || other.action !== 'insert') continue;
        change.needs.push(other);
      }
    }
    for (const change of this.changes) {
      if (change.action !== 'delete') this.#linkMembers(change);
    }
    this.#removals.link();
  }

  /** A new row that lives only by our reference, or a set that must not be empty, goes with its other half. */
  #linkMembers(change: ChangeDraft): void {
    for (const column of change.columns) {
      const target = this.#index.tables.get(column.type.key.refTable ?? '');
      if (target === undefined || target.isRoot) continue;
      for (const entry of change.leansOn) {
        const other = entry.table === target ? entry.change : undefined;
        if (other instanceof ChangeDraft && other.action === 'insert') other.needs.push(change);
      }
    }
    for (const membership of change.memberships) {
      const table = this.#index.tables.get(membership.table);
      const other = table?.known(membership.key)?.change;
      if (!(other instanceof ChangeDraft) || other.action !== 'insert') continue;
      // What isolates is complete from the start: a port group comes with its ACLs.
      const isPart = change.isolates && other.isolates;
      if (isPart || table?.sets.get(membership.column)?.type.min === 1) other.needs.push(change);
    }
  }
}

function referencesIn(value: DesiredValue | undefined): readonly RowReference[] {
  if (value instanceof RowReference) return [value];
  if (Array.isArray(value)) {
    return (value as readonly unknown[]).filter((member) => member instanceof RowReference);
  }
  if (!(value instanceof Map)) return [];
  return [...(value as ReadonlyMap<unknown, unknown>)]
    .flat()
    .filter((member) => member instanceof RowReference);
}

const MAX_SHOWN = 100;

function shown(value: DesiredValue): string {
  const text =
    JSON.stringify(value, (_key, member: unknown) =>
      typeof member === 'bigint'
        ? member.toString()
        : member instanceof Map
          ? Object.fromEntries(member as ReadonlyMap<string, unknown>)
          : member,
    ) ?? 'nothing';
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
