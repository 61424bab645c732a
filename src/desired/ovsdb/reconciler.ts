/**
 * Keeps the desired rows of one database by the unit that wants them, knows which units changed on either side, and plans
 * those alone. The plan of the changed units is the same as that of a full pass.
 */
import type { DesiredRow, FoundRow } from '../rows.ts';
import type { ReplicaChanges, ReplicaRow, ReplicaView } from 'ovsdb-client-ts';
import { errorText } from '../../api/error-text.ts';
import type { RowOwner, RowTarget } from '../engine.ts';
import type { TableClaim } from '../rows.ts';
import {
  DEFAULT_BATCH_LIMITS,
  problemOf,
  type BatchLimits,
  type Plan,
  type PlanProblem,
} from './changes.ts';
import { REFUSED_REST, type Entry, type OwnedRows } from './claimed-table.ts';
import { inBatches, inOrder } from './order.ts';
import { PlanPass } from './plan-pass.ts';
import type { UnreadRow } from './found-rows.ts';
import { isStrong } from './removals.ts';
import { RowIndex } from './row-index.ts';
import { UnitPlan } from './unit-plan.ts';

export interface ReconcilerOptions {
  readonly limits?: BatchLimits;
}

export interface PlanOptions {
  /** Milliseconds on a monotonic clock: what the server refused rests for a while. */
  readonly now: number;
  /** True when every unit that can be built has been: only then is it known which rows of ours nobody wants. */
  readonly isComplete: boolean;
  /** Of those rows, the ones that stay. Absent: none does. */
  readonly mayBeWanted?: MayBeWanted;
}

/**
 * Whether something that can't be known may want a row of ours that no unit wants. `object` is the row's mark; '' for a row that can't be marked
 * and whose marker is gone.
 */
export type MayBeWanted = (row: FoundRow, table: string, object: string) => boolean;

/** Who wants a row. */
export interface WantedBy {
  readonly key: string;
  readonly owner: Pick<RowOwner, 'id'>;
  /** As the owner wants it; undefined while that can't be built. */
  readonly row: DesiredRow | undefined;
}

/** A row of the database that carries no mark of ours. */
export interface UnmarkedRow {
  readonly table: string;
  readonly key: string;
  readonly uuid: string;
}

export class Reconciler implements RowTarget {
  readonly #replica: ReplicaView;
  readonly #claims: ReadonlyMap<string, TableClaim>;
  readonly #limits: BatchLimits;
  #index: RowIndex;
  /** What was thrown while a change of the replica was followed. */
  #fault: { readonly error: unknown } | undefined;
  /** Rows found right before the first plan, and what was unsupported among them. */
  #examined = 0;
  #unsupported = new Set<string>();

  constructor(
    replica: ReplicaView,
    claims: ReadonlyMap<string, TableClaim>,
    options: ReconcilerOptions = {},
  ) {
    this.#replica = replica;
    this.#claims = claims;
    this.#limits = options.limits ?? DEFAULT_BATCH_LIMITS;
    this.#index = new RowIndex(replica, claims);
  }

  get database(): string {
    return this.#replica.schema.name;
  }

  /** Number of units that the next plan will look at. */
  get dirtyCount(): number {
    return this.#index.dirty.size;
  }

  /** False while the next plan would find nothing but what the last one did: no row that is wanted, or ours, was touched. */
  get mayDiffer(): boolean {
    const { schema, isSwept, unwanted, dirty } = this.#index;
    if (schema !== this.#replica.schema || this.#fault !== undefined || !isSwept) return true;
    for (const [entry, remover] of unwanted)
      if (remover === undefined && this.#markedUnwanted(entry).length > 0) return true;
    return dirty.size > 0;
  }

  set(owner: RowOwner, wanted: readonly DesiredRow[]): void {
    this.#followSchema();
    const owned = this.#index.set(owner, wanted);
    owned.wasRight = false;
    if (!this.#index.isSwept && this.#replica.ready) this.#settleAtStart(owned);
  }

  /** At a start most units are right: seen at once, their rows need not be kept until the first plan. */
  #settleAtStart(owned: OwnedRows): void {
    this.#index.found.fill();
    if (owned.rest !== undefined) return;
    for (const entry of owned.entries)
      if (entry.onlyFound === undefined || entry.isContested) return;
    const pass = new PlanPass(this.#index, this.#replica, this.#unsupported);
    if (!new UnitPlan(pass, owned).isRight) return;
    this.#examined += owned.entries.length;
    this.#index.settle(owned);
  }

  has(owner: RowOwner): boolean {
    return this.#index.owners.has(owner.id);
  }

  /** Follows the replica's changes until the returned function is called. */
  follow(): () => void {
    return this.#replica.subscribe((changes) => this.observe(changes));
  }

  /** Takes note of one change of the replica: units whose rows it touched are looked at by the next plan. */
  observe(changes: ReplicaChanges): void {
    // Under another schema, or after a fault of ours, the next plan reads everything anew.
    if (this.#index.schema !== this.#replica.schema || this.#fault !== undefined) return;
    try {
      this.#index.found.observe(changes);
    } catch (error) {
      this.#fault = { error };
    }
  }

  /** Rows that a fault of ours keeps from being read, with what was thrown. */
  get unread(): readonly UnreadRow[] {
    return this.#index.found.unread;
  }

  /** What the server refused is left at that for a while, unless something about it changes. */
  refused(problems: readonly PlanProblem[], now: number): void {
    const byUnit = new Map(problems.map((problem) => [problem.unit, problem]));
    for (const owned of this.#index.dirty) {
      const problem = byUnit.get(owned.owner.id);
      if (problem?.kind === 'refused') owned.rest = { until: now + REFUSED_REST, problem };
    }
  }

  /** Under another schema, or when a change could not be followed, nothing holds that is known of the database; what is wanted is asked for again. */
  #followSchema(): void {
    if (this.#index.schema === this.#replica.schema && this.#fault === undefined) return;
    const { owners } = this.#index;
    this.#fault = undefined;
    this.#index = new RowIndex(this.#replica, this.#claims);
    for (const owned of owners.values()) if (owned.entries.length > 0) this.#index.carryOver(owned);
  }

  /**
   * What to do for the units that changed since they were last found right. Calling it again without any change in
   * between gives the same plan: a unit is looked at until the replica shows its rows as they should be.
   */
  plan(options: PlanOptions): Plan {
    this.#followSchema();
    const index = this.#index;
    index.found.retry(options.now);
    index.sweep();
    const heldBack = this.#collectUnwanted(options);
    const left = this.#loadUnits(options.now);
    const pass = new PlanPass(index, this.#replica, this.#unsupported);
    for (const owned of index.dirty) if (!left.has(owned)) pass.reclaim(owned);
    const going = new Map([...index.dirty].map((owned) => [owned, pass.collectGoing(owned)]));
    const plans = new Map<OwnedRows, UnitPlan>();
    let examined = this.#examined;
    const right: OwnedRows[] = [];
    for (const [owned, rows] of going) {
      if (left.has(owned)) continue;
      const plan = new UnitPlan(pass, owned, rows);
      if (plan.isRight) right.push(owned);
      else plans.set(owned, plan);
      examined += owned.entries.length + rows.length;
    }
    const groups = inOrder(plans, left);
    const problems = [
      ...index.found.unread.map(notRead),
      ...left.values(),
      ...[...plans.values()].flatMap((plan) => plan.problems),
    ];
    const changes = groups.flatMap((group) => group.changes);
    for (const owned of right) index.settle(owned);
    const drifted = new Set<string>();
    for (const [owned, { changes: own, problems: wrong }] of plans) {
      // What is in its way is another unit's: that its rows come later is no drift.
      if (wrong.length > 0) owned.wasRight = false;
      if (owned.wasRight && own.length > 0) drifted.add(owned.owner.id);
    }
    let made: ReadonlyMap<string, string> | undefined;
    const unsupported = [...this.#unsupported].sort();
    this.#examined = 0;
    this.#unsupported = new Set();
    return {
      database: this.database,
      isEmpty: changes.length === 0,
      changes,
      batches: inBatches(groups, this.#limits),
      problems,
      unsupported,
      nameOf: (table, uuid) => {
        // A row is called by the key that it is to have, whatever key it has now.
        made ??= new Map(changes.map((change) => [change.uuid, change.key]));
        return made.get(uuid) ?? index.tables.get(table)?.byUuid.get(uuid)?.key;
      },
      heldBack,
      drifted,
      examined,
    };
  }

  /**
   * Rows without our mark that nobody wants and that `isMatch` recognises, by table and key. Of a table without `external_ids`
   * it is asked about the rows that they are known by.
   */
  unmarked(isMatch: (row: FoundRow, table: string) => boolean): readonly UnmarkedRow[] {
    this.#followSchema();
    const { found, tables } = this.#index;
    found.fill();
    const result: UnmarkedRow[] = [];
    for (const table of tables.values()) {
      for (const entry of table.entries.values()) {
        if (entry.isWanted) continue;
        for (const row of found.rowsOf(entry)) {
          if (found.isOurs(table.name, row)) continue;
          if (!found.knownBy(table, row).some((one) => isMatch(one, one.table))) continue;
          result.push({ table: table.name, key: entry.key, uuid: row.uuid });
        }
      }
    }
    return result;
  }

  /** Who wants a row of the database; undefined where nobody does, or the table is none of ours. */
  wantedBy(table: string, uuid: string): WantedBy | undefined {
    this.#followSchema();
    const { found, tables } = this.#index;
    found.fill();
    const entry = tables.get(table)?.byUuid.get(uuid);
    const owned = entry?.owner;
    if (entry === undefined || owned === undefined) return undefined;
    return { key: entry.key, owner: owned.owner, row: owned.rowOf(entry) ?? rebuilt(owned, entry) };
  }

  /** The object that a row is marked with, by itself or by the row that it is known by; undefined for one that is not ours. */
  markOf(table: string, uuid: string): string | undefined {
    this.#followSchema();
    const { found } = this.#index;
    found.fill();
    const row = this.#replica.hasTable(table) ? this.#replica.row(table, uuid) : undefined;
    return row === undefined ? undefined : found.markOf(table, row);
  }

  /** UUIDs of the rows that have a key, by table: keys are of one table each, but any table may be asked for. */
  *rowsWithKey(key: string): Iterable<{ readonly table: string; readonly uuid: string }> {
    this.#followSchema();
    const { found, tables } = this.#index;
    found.fill();
    for (const { name, entries } of tables.values())
      for (const uuid of entries.get(key)?.found ?? []) yield { table: name, uuid };
  }

  /** From now on these rows are ours to remove. */
  takeOver(rows: readonly UnmarkedRow[]): void {
    for (const { table, key, uuid } of rows) {
      const entry = this.#index.tables.get(table)?.entries.get(key);
      if (entry === undefined || entry.isWanted) continue;
      this.#index.found.takenOver.add(uuid);
      this.#index.giveUp(entry, '');
    }
  }

  /** Rows of ours that no unit wants get an owner that wants nothing. Returns how many have to stay for now. */
  #collectUnwanted({ isComplete, mayBeWanted }: PlanOptions): number {
    const index = this.#index;
    const staying = new Set<Entry>();
    const going = new Map<Entry, string>();
    for (const [entry, remover] of index.unwanted) {
      if (remover !== undefined) continue;
      const marked = this.#markedUnwanted(entry);
      const [first] = marked;
      if (first === undefined) continue;
      if (
        !isComplete ||
        marked.some(({ row, mark }) => mayBeWanted?.(row, entry.table.name, mark) === true)
      )
        staying.add(entry);
      else going.set(entry, first.mark);
    }
    // A row that goes takes with it what lives in it.
    if (going.size > 0)
      for (const entry of staying)
        for (const home of this.#homesOf(entry)) if (going.delete(home)) staying.add(home);
    for (const [entry, mark] of going) index.giveUp(entry, mark);
    return staying.size;
  }

  /** Rows of ours of an entry that nobody wants, with their marks. Without any it is nothing to us until it is touched again. */
  #markedUnwanted(entry: Entry): readonly { readonly row: ReplicaRow; readonly mark: string }[] {
    const { found, unwanted } = this.#index;
    const marked = found.rowsOf(entry).flatMap((row) => {
      const mark = found.markOf(entry.table.name, row);
      return mark === undefined ? [] : [{ row, mark }];
    });
    if (marked.length === 0) unwanted.delete(entry);
    return marked;
  }

  /** Whatever holds rows that can't be without a row that holds them. */
  *#homesOf(entry: Entry): Iterable<Entry> {
    const { found, tables } = this.#index;
    if (entry.table.isRoot) return;
    for (const row of found.rowsOf(entry))
      for (const referrer of this.#replica.referrers(row.table, row.uuid)) {
        const home = tables.get(referrer.table)?.byUuid.get(referrer.uuid);
        if (home !== undefined && isStrong(this.#replica, row, referrer)) yield home;
      }
  }

  /**
   * Loads the rows of the units that are to be planned. Returns those that stay as they are for now, and why: what the server
   * refused rests, and what can't be built again is not known.
   */
  #loadUnits(now: number): ReadonlyMap<OwnedRows, PlanProblem> {
    const index = this.#index;
    const left = new Map<OwnedRows, PlanProblem>();
    do {
      for (const owned of index.dirty) {
        if (left.has(owned)) continue;
        if (owned.rest !== undefined && owned.rest.until > now) left.set(owned, owned.rest.problem);
        else if (owned.rows === undefined) {
          try {
            index.reload(owned);
          } catch (error) {
            left.set(owned, notBuilt(owned, error));
          }
        }
      }
    } while (index.settleContests());
    return left;
  }
}

/** Of a unit that was found right its rows are not kept. */
function rebuilt({ owner }: OwnedRows, { table, key }: Entry): DesiredRow | undefined {
  try {
    return owner.rowsIn(table.database).find((row) => row.table === table.name && row.key === key);
  } catch {
    return undefined; // a builder that throws is reported as a problem of its unit
  }
}

function notRead({ table, uuid, error }: UnreadRow): PlanProblem {
  const what = `a fault of Heddle's own keeps it from being read, so it is left alone and tried again: ${errorText(error)}`;
  return problemOf('not-read', { table: table.name, key: uuid, object: undefined }, '', what);
}

function notBuilt({ owner, entries }: OwnedRows, error: unknown): PlanProblem {
  const row = { table: entries[0]?.table.name ?? '', key: entries[0]?.key ?? '' };
  const what = `what it should be can't be built again: ${errorText(error)}`;
  return problemOf('not-built', row, owner.id, what);
}
