/** What one owner's rows need: all of it or, where something is in the way, nothing. */
import {
  OvsdbError,
  type Atom,
  type Referrer,
  type ReplicaRow,
  type Writable,
} from 'ovsdb-client-ts';
import { SetVersion } from '../../facts/counted-set.ts';
import { MARK, RowReference, type DesiredRow, type DesiredValue } from '../rows.ts';
import {
  label,
  problemOf,
  type PlannedChange,
  type PlannedColumn,
  type PlannedMembership,
  type PlanProblem,
  type ProblemKind,
} from './changes.ts';
import type { ClaimedColumn, Entry, OwnedRows } from './claimed-table.ts';
import { inserted, isTextSet, moved, replaced, shared } from './column-values.ts';
import type { Going, PlanPass } from './plan-pass.ts';
import { planRemovals } from './removals.ts';

/** A row that can't be as it is wanted: the owner's plan is blocked. */
class Obstacle extends Error {
  readonly kind: ProblemKind;

  constructor(kind: ProblemKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** A row that hangs on one of its own unit which has an obstacle: that one is reported, and blocks the unit. */
class Consequence extends Error {}

export class UnitPlan {
  readonly owned: OwnedRows;
  /** Rows that it removes from the database. */
  readonly going: readonly Going[];
  readonly changes: PlannedChange[] = [];
  readonly problems: PlanProblem[] = [];
  /** True when nothing of it may be sent. */
  isBlocked = false;
  /** True when rows that keep networks apart are not yet as it wants them. */
  changesIsolation = false;
  /** Rows of other owners that it refers to. */
  readonly refersTo: Entry[] = [];
  /** Rows that are there and get another name: what names them is changed with them. */
  readonly renamed = new Set<Entry>();
  /** Owners whose changes must come first: they take their rows out of rows that go. */
  readonly after: OwnedRows[] = [];
  readonly #pass: PlanPass;

  constructor(pass: PlanPass, owned: OwnedRows, going: readonly Going[] = []) {
    this.#pass = pass;
    this.owned = owned;
    this.going = going;
    const { lostTo, rows, entries } = owned;
    if (lostTo !== undefined) {
      const message = `${lostTo.owner?.owner.id} has this name already: rename one of the two`;
      this.#report(lostTo, 'name-taken', message, false);
    } else if (rows !== undefined)
      for (let i = 0; i < rows.length; i++)
        this.#planRow(entries[i] as Entry, rows[i] as DesiredRow);
    if (going.length > 0)
      planRemovals(pass, this, (entry, message) => this.#report(entry, 'still-referred', message));
    this.changesIsolation ||= this.changes.some((one) => one.isolates && one.action !== 'delete');
    if (this.isBlocked) this.changes.length = 0;
  }

  /**
   * All its rows are right, and none has to go: it is not looked at again until something touches it. A row that stands for a key
   * but does not have it yet, as what identifies it was renamed, is no such row.
   */
  get isRight(): boolean {
    const { owned, changes, problems, isBlocked } = this;
    return (
      changes.length === 0 &&
      problems.length === 0 &&
      !isBlocked &&
      (owned.dropped?.size ?? 0) === 0 &&
      owned.entries.every((entry) => entry.isFound || !entry.table.isPresent)
    );
  }

  #report(entry: Entry, kind: ProblemKind, message: string, isBlocking = true): void {
    const { table, key } = entry;
    const row = { table: table.name, key, object: this.owned.rowOf(entry)?.object };
    this.problems.push(problemOf(kind, row, this.owned.owner.id, message));
    if (!isBlocking) return;
    this.isBlocked = true;
    if (table.claim.isolates === true) this.changesIsolation = true;
  }

  #planRow(entry: Entry, row: DesiredRow): void {
    const { table } = entry;
    if (!table.isPresent) {
      this.#pass.noteUnsupported(table.name);
      return;
    }
    const target = this.#pass.resolve(entry);
    if (target.problem !== undefined) {
      // What another program makes comes in its time; nothing of ours hangs on it.
      this.#report(entry, target.problem, target.message, target.problem !== 'awaited');
      return;
    }
    const { uuid, row: found } = target;
    let columns: readonly PlannedColumn[];
    let memberships: readonly PlannedMembership[];
    try {
      columns = this.#planColumns(entry, row, found);
      memberships = this.#planMemberships(entry, row, found);
      for (const named of row.names ?? []) this.#target(entry, named, 'names');
    } catch (error) {
      if (error instanceof Obstacle) this.#report(entry, error.kind, error.message);
      else if (error instanceof Consequence)
        this.changesIsolation ||= table.claim.isolates === true;
      else throw error;
      return;
    }
    if (found !== undefined && columns.length === 0 && memberships.length === 0) return;
    if (found !== undefined && columns.some(({ name }) => name === 'name')) this.renamed.add(entry);
    this.changes.push({
      action: found === undefined ? 'insert' : 'update',
      table: table.name,
      key: entry.key,
      uuid,
      isRoot: table.isRoot,
      isolates: table.claim.isolates === true,
      unit: this.owned.owner.id,
      rule: row.rule,
      object: row.object,
      reason: undefined,
      columns,
      memberships,
    });
  }

  #planColumns(
    entry: Entry,
    row: DesiredRow,
    found: ReplicaRow | undefined,
  ): readonly PlannedColumn[] {
    const { table } = entry;
    const planned: PlannedColumn[] = [];
    for (const column of table.columns) {
      const change = this.#planColumn(entry, row, column, found);
      if (change === undefined) continue;
      if (found !== undefined && !column.mutable)
        throw new Obstacle(
          'immutable',
          `column ${column.name} can't be changed after the row was made: delete the row, it is made anew`,
        );
      planned.push(change);
    }
    for (const column of found === undefined ? table.foreign : []) {
      const value = row.columns[column.name];
      const begun =
        value === undefined ? undefined : this.#valued(entry, row, column, value, found);
      if (begun !== undefined) planned.push(begun);
    }
    for (const name in row.columns)
      if (row.columns[name] !== undefined && table.column(name) === undefined)
        if (table.claim.foreignColumns?.includes(name) !== true)
          this.#pass.noteUnsupported(table.name, name);
    return planned;
  }

  #planColumn(
    entry: Entry,
    row: DesiredRow,
    column: ClaimedColumn,
    found: ReplicaRow | undefined,
  ): PlannedColumn | undefined {
    const { name, kind, defaultValue } = column;
    let value = row.columns[name];
    if (kind === 'members') {
      if (value === undefined) return undefined;
      throw new Obstacle(
        'conflict',
        `column ${name} lists rows: a row that belongs into a set says so itself, as one of its containers`,
      );
    }
    if (found !== undefined && row.unspecified?.includes(name) === true) return undefined;
    if (column === entry.table.ids && row.partial !== true)
      value = { ...(value as Readonly<Record<string, string>> | undefined), [MARK]: row.object };
    if (value !== undefined) return this.#valued(entry, row, column, value, found);
    // A column that the row does not name has the schema's default, unless it is not the row's to say.
    if (found === undefined || kind !== 'exact' || row.partial === true) return undefined;
    if (found.holds(name, defaultValue)) return undefined;
    return replaced(column, found.column(name), defaultValue);
  }

  #valued(
    entry: Entry,
    row: DesiredRow,
    column: ClaimedColumn,
    value: DesiredValue,
    found: ReplicaRow | undefined,
  ): PlannedColumn | undefined {
    const { name, type } = column;
    const isShared = column.kind === 'shared' || (row.partial === true && type.max > 1);
    try {
      if (value instanceof SetVersion && found !== undefined && !isShared && isTextSet(type)) {
        const difference = this.#pass.index.found.compared.difference(found, name, value);
        return moved(column, () => found.column(name), value, difference);
      }
      const plain = value instanceof SetVersion ? [...value] : value;
      const wanted = column.isReference ? this.#dereferenced(entry, plain) : (plain as Writable);
      if (found === undefined) return inserted(column, wanted);
      if (isShared) return shared(column, found.column(name), wanted);
      if (found.holds(name, wanted)) return undefined;
      return replaced(column, found.column(name), wanted);
    } catch (error) {
      if (!(error instanceof OvsdbError)) throw error;
      throw new Obstacle(
        'bad-value',
        `column ${column.name} can't hold ${shown(value)}: ${error.details}`,
      );
    }
  }

  /** The value with UUIDs in place of references. */
  #dereferenced(entry: Entry, value: DesiredValue): Writable {
    const uuidOf = (atom: unknown): Atom | undefined => {
      if (!(atom instanceof RowReference)) return atom as Atom;
      if (this.#isUnsupported(atom.table)) return undefined;
      return this.#target(entry, atom, 'refers to').uuid;
    };
    if (Array.isArray(value))
      return (value as readonly unknown[]).map(uuidOf).filter((atom) => atom !== undefined);
    if (value instanceof Map) {
      const pairs = [...(value as ReadonlyMap<unknown, unknown>)].map(
        ([k, v]) => [uuidOf(k), uuidOf(v)] as const,
      );
      return new Map(pairs.filter((pair): pair is [Atom, Atom] => !pair.includes(undefined)));
    }
    return uuidOf(value);
  }

  /** The row that a reference or a place means. Throws an Obstacle when there is none. */
  #target(
    entry: Entry,
    reference: { readonly table: string; readonly key: string },
    how: string,
  ): { readonly uuid: string; readonly row: ReplicaRow | undefined; readonly entry: Entry } {
    const target = this.#pass.index.tables.get(reference.table)?.entries.get(reference.key);
    const owner = target?.owner;
    const resolution = target === undefined ? undefined : this.#pass.resolveUuid(target);
    if (target === undefined || resolution?.uuid === undefined) {
      if (owner === this.owned && resolution?.problem !== 'awaited') throw new Consequence();
      const [kind, why] =
        owner === undefined
          ? ([
              'missing-row',
              'is neither wanted nor there: want that row too, or drop the reference',
            ] as const)
          : (['blocked', 'has a problem of its own'] as const);
      throw new Obstacle(kind, `${how} ${label(reference)}, which ${why}`);
    }
    if (owner !== undefined && owner !== this.owned) this.refersTo.push(target);
    return { uuid: resolution.uuid, row: resolution.row, entry: target };
  }

  /** Sets that must hold the row, and those that hold it and must not. */
  #planMemberships(
    entry: Entry,
    row: DesiredRow,
    found: ReplicaRow | undefined,
  ): readonly PlannedMembership[] {
    const homes: PlannedMembership[] = [];
    const changes: PlannedMembership[] = [];
    const places =
      found === undefined ? [] : this.#pass.replica.referrers(entry.table.name, found.uuid);
    for (const { table, key, column } of row.containers) {
      if (this.#isUnsupported(table, column)) continue;
      const holder = this.#target(entry, { table, key }, `belongs into ${column} of`);
      const home = { action: 'add', table, key, uuid: holder.uuid, column } as const;
      homes.push(home);
      if (places.some((place) => isPlace(home, place))) continue;
      // Who should want it could not be built since the start: what is others' is not changed in its place.
      if (
        holder.entry.owner === undefined &&
        holder.row !== undefined &&
        !this.#pass.isOurs(holder.entry, holder.row)
      )
        throw new Obstacle(
          'held-by-other',
          `belongs into ${column} of ${label({ table, key })}, which is not ours: ours is made as soon as that row is gone and its own unit could be built`,
        );
      changes.push(home);
    }
    if (found !== undefined) {
      if (row.partial !== true) this.#leaveWrongSets(places, homes, changes);
    } else if (!entry.table.isRoot && homes.length === 0 && row.containers.length > 0)
      // Without a place such a row would vanish at once.
      throw new Obstacle('missing-row', 'the server has no column that could hold the row');
    return changes;
  }

  #leaveWrongSets(
    places: readonly Referrer[],
    homes: readonly PlannedMembership[],
    changes: PlannedMembership[],
  ): void {
    for (const place of places) {
      if (homes.some((home) => isPlace(home, place))) continue;
      const { table, column, uuid } = place;
      const holders = this.#pass.index.tables.get(table);
      const set = holders?.sets.get(column);
      const holder = this.#pass.holder(holders, uuid);
      if (set === undefined || holder === undefined) continue;
      const resolution = holder.owner === undefined ? undefined : this.#pass.resolveUuid(holder);
      const isOurs = resolution?.uuid === uuid;
      // A set of others: ours leaves it only when it can't be in two places.
      const isRival =
        set.isStrong && homes.some((one) => one.table === table && one.column === column);
      if (isOurs || isRival)
        changes.push({ action: 'remove', table, key: holder.key, uuid, column });
    }
  }

  /** True for a table, or a column, that the server lacks: what is wanted of it is left out. */
  #isUnsupported(name: string, column?: string): boolean {
    const table = this.#pass.index.tables.get(name);
    if (table === undefined) return false;
    if (!table.isPresent) this.#pass.noteUnsupported(name);
    else if (column !== undefined && !table.sets.has(column))
      this.#pass.noteUnsupported(name, column);
    else return false;
    return true;
  }
}

const isPlace = (home: PlannedMembership, place: Referrer): boolean =>
  home.uuid === place.uuid && home.column === place.column;

const MAX_SHOWN = 100;

function shown(value: DesiredValue | undefined): string {
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
