import { RowReference, type DesiredRow, type DesiredValue } from './desired.ts';
import { OvsdbError } from '../data/error.ts';
import type { PlannedColumn } from './plan-change.ts';
import type { ChangeDraft } from './plan-draft.ts';
import type { Entry } from './plan-entry.ts';
import type { RowIndex } from './plan-index.ts';
import type { LeftOut } from './plan-left-out.ts';
import { label, type Resolver } from './plan-resolve.ts';
import type { PlanColumn } from './plan-table.ts';
import { changedMembers, inserted, replaced, shared } from './plan-values.ts';
import type { ReplicaRow } from '../replica/replica-view.ts';
import type { Atom, Writable } from '../data/value.ts';

/** A value can't be written: a row that it refers to is not there. */
class Unresolved extends Error {
  readonly reference: RowReference;

  constructor(reference: RowReference) {
    super(`${label(reference)} is not there`);
    this.reference = reference;
  }
}

/** Which columns of a row differ from what is wanted of it. */
export class ColumnPlan {
  readonly #index: RowIndex;
  readonly #resolver: Resolver;
  readonly #leftOut: LeftOut;
  /** Column and value that are being looked at, for messages about values that don't fit. */
  #column: PlanColumn | undefined;
  #value: DesiredValue | undefined;

  constructor(index: RowIndex, resolver: Resolver, leftOut: LeftOut) {
    this.#index = index;
    this.#resolver = resolver;
    this.#leftOut = leftOut;
  }

  /**
   * Adds to the change what the row that stands for the entry lacks, or all columns of a new row. False when a value
   * can't be written, which is reported then.
   */
  plan(entry: Entry, row: DesiredRow, change: ChangeDraft): boolean {
    const { kept } = entry;
    try {
      if (kept === undefined) this.#fillNewRow(entry, row, change);
      else this.#compare(entry, row, kept, change);
      return true;
    } catch (error) {
      this.#reportRow(entry, error);
      return false;
    }
  }

  /** Adds the removal of what was put into a row of others that nobody wants any more. */
  planUnwanted(entry: Entry, kept: ReplicaRow, change: ChangeDraft): void {
    for (const column of entry.table.columns) {
      if (entry.unwanted?.has(column.name) !== true) continue;
      const planned = this.#sharedDifference(entry, kept, column, undefined);
      if (planned !== undefined) change.columns.push(planned);
    }
  }

  #reportRow(entry: Entry, error: unknown): void {
    if (error instanceof Unresolved) {
      this.#resolver.unresolved(entry, error.reference, 'refers to');
    } else if (error instanceof OvsdbError && this.#column !== undefined) {
      this.#resolver.problem(
        entry,
        'bad-value',
        `column ${this.#column.name} can't hold ${shown(this.#value)}: ${error.details}`,
      );
    } else {
      throw error;
    }
  }

  #fillNewRow(entry: Entry, row: DesiredRow, change: ChangeDraft): void {
    for (const name in row.columns) {
      const column = this.#writable(entry, row, name);
      if (column === undefined) continue;
      const value = row.columns[name] as DesiredValue;
      this.#column = column;
      this.#value = value;
      const planned = inserted(column, this.#resolved(entry, column, value, change));
      if (planned !== undefined) change.columns.push(planned);
    }
  }

  #compare(entry: Entry, row: DesiredRow, kept: ReplicaRow, change: ChangeDraft): void {
    for (const name in row.columns) {
      const column = this.#writable(entry, row, name);
      if (column === undefined) continue;
      const value = row.columns[name] as DesiredValue;
      this.#column = column;
      this.#value = value;
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
      this.#leftOut.column(entry.table.name, name);
    }
    return column;
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
        this.#resolver.unresolved(entry, error.reference, 'refers to');
      }
    }
    return result;
  }

  /** True for rows of a table that the server lacks. */
  #isLeftOut(reference: RowReference): boolean {
    const table = this.#index.tables.get(reference.table);
    if (table === undefined || table.isPresent) return false;
    this.#leftOut.table(table.name);
    return true;
  }
}

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
