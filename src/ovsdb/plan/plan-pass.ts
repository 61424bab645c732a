import { RowReference, type DesiredRow, type DesiredValue } from './desired.ts';
import type { PlanProblem } from './plan-change.ts';
import { ColumnPlan } from './plan-columns.ts';
import { ChangeDraft } from './plan-draft.ts';
import { sameColumns, type Entry } from './plan-entry.ts';
import type { RowIndex } from './plan-index.ts';
import { LeftOut } from './plan-left-out.ts';
import { linkChanges } from './plan-link.ts';
import { MembershipPlan } from './plan-membership.ts';
import { Removals } from './plan-removal.ts';
import { Resolver } from './plan-resolve.ts';
import type { PlanTable } from './plan-table.ts';
import type { ReplicaView } from '../replica/replica-view.ts';

/** One pass over the dirty entries: pure, reads the replica and returns changes. */
export class PlanPass {
  readonly changes: ChangeDraft[] = [];
  /** Entries that are not yet as they should be. */
  readonly unsettled = new Set<Entry>();
  examined = 0;
  readonly #index: RowIndex;
  readonly #resolver: Resolver;
  readonly #removals: Removals;
  readonly #leftOut: LeftOut;
  readonly #columns: ColumnPlan;
  readonly #memberships: MembershipPlan;

  constructor(index: RowIndex, replica: ReplicaView, pass: number) {
    this.#index = index;
    this.#resolver = new Resolver(index, replica, pass);
    this.#removals = new Removals(index, replica, this.#resolver);
    this.#leftOut = new LeftOut(index.schema);
    this.#columns = new ColumnPlan(index, this.#resolver, this.#leftOut);
    this.#memberships = new MembershipPlan(
      index,
      replica,
      this.#resolver,
      this.#removals,
      this.#leftOut,
    );
  }

  get leftOut(): ReadonlySet<string> {
    return this.#leftOut.sentences;
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
    linkChanges(this.changes, this.#index.tables);
    this.#removals.link();
    for (const entry of this.#memberships.waiting) this.unsettled.add(entry);
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
    const moved = new Map<string, Set<string>>();
    for (const entry of dirty) entry.isDirty = true;
    for (const entry of shifted) {
      this.#resolver.resolve(entry);
      if (entry.lastUuid !== undefined && entry.lastUuid !== entry.uuid) {
        const keys = moved.get(entry.table.name);
        if (keys === undefined) moved.set(entry.table.name, new Set([entry.key]));
        else keys.add(entry.key);
      }
    }
    if (moved.size > 0) {
      for (const table of tables.values()) {
        const isTouched = (row: DesiredRow): boolean => refersTo(row, table, moved);
        for (const entry of [...table.entries, ...table.entries.enteredWhere(isTouched)]) {
          const { row, rivals } = entry;
          if (row === undefined) continue;
          if (!isTouched(row) && rivals?.some((rival) => isTouched(rival.row)) !== true) continue;
          entry.isDirty = true;
          dirty.add(entry);
        }
      }
    }
    return [...dirty];
  }

  #planWanted(entry: Entry, row: DesiredRow): void {
    this.#reportConflict(entry, row);
    if (!entry.table.isPresent) {
      this.#leftOut.table(entry.table.name);
      return;
    }
    if (entry.isBlocked || entry.uuid === undefined) return;
    const action = entry.kept === undefined ? 'insert' : 'update';
    const change = new ChangeDraft(action, entry, entry.uuid);
    if (!this.#columns.plan(entry, row, change)) return;
    if (!this.#memberships.plan(entry, change) || change.isEmpty) return;
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
      this.#columns.planUnwanted(entry, kept, change);
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
}

/** True if a row refers to one of these, or belongs into one: keys by table. */
function refersTo(
  row: DesiredRow,
  table: PlanTable,
  targets: ReadonlyMap<string, ReadonlySet<string>>,
): boolean {
  const isTarget = (place: { readonly table: string; readonly key: string }): boolean =>
    targets.get(place.table)?.has(place.key) === true;
  return (
    row.containers.some(isTarget) ||
    table.references.some(({ name }) => referencesIn(row.columns[name]).some(isTarget))
  );
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
