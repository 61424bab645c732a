import { CountedSet } from '../../../src/facts/counted-set.ts';
import type { BatchLimits, Plan } from '../../../src/desired/ovsdb/changes.ts';
import { commitPlan, type PlanCommitResult } from '../../../src/desired/ovsdb/commit.ts';
import { Reconciler } from '../../../src/desired/ovsdb/reconciler.ts';
import { renderPlan } from '../../../src/views/plan-text.ts';
import type { DesiredRow } from '../../../src/desired/rows.ts';
import type { DatabaseSchema, ReplicaRow } from 'ovsdb-client-ts';
import { MemoryDatabase } from '../../support/ovsdb/memory-database.ts';
import { CLAIMS, northboundSchema, TestUnit } from './northbound.ts';

const schema = northboundSchema();

/** Every unit in a transaction of its own. */
export const EACH: BatchLimits = { rows: 1, bytes: 1 };

export interface WorldOptions {
  readonly limits?: BatchLimits;
  readonly database?: MemoryDatabase;
  readonly schema?: DatabaseSchema;
}

/** A database in memory, units whose rows the test decides, and the reconciler between them. */
export class World {
  readonly database: MemoryDatabase;
  reconciler: Reconciler;
  readonly units = new Map<string, TestUnit>();
  /** A set that facts would keep. */
  readonly members = new CountedSet();
  /** Milliseconds. */
  now = 0;
  /** False as long as the test has units to come that were never built. */
  isComplete = true;
  readonly #limits: BatchLimits | undefined;
  #stop: () => void = () => undefined;

  constructor(options: WorldOptions = {}) {
    this.database = options.database ?? new MemoryDatabase(options.schema ?? schema);
    this.#limits = options.limits;
    this.reconciler = this.#begin();
  }

  #begin(): Reconciler {
    const reconciler = this.fresh();
    this.#stop = reconciler.follow();
    return reconciler;
  }

  /** Another reconciler of the same rows and the same database, which has not planned yet. */
  fresh(): Reconciler {
    const limits = this.#limits === undefined ? {} : { limits: this.#limits };
    const reconciler = new Reconciler(this.database, CLAIMS, limits);
    for (const unit of this.units.values()) {
      if (unit.error === undefined) reconciler.set(unit, unit.wanted);
    }
    return reconciler;
  }

  /** As after a restart of the daemon. */
  restart(): void {
    this.#stop();
    this.reconciler = this.#begin();
  }

  unit(id: string): TestUnit {
    let unit = this.units.get(id);
    if (unit === undefined) this.units.set(id, (unit = new TestUnit(id)));
    return unit;
  }

  set(id: string, rows: readonly DesiredRow[]): void {
    const unit = this.unit(id);
    unit.wanted = rows;
    this.reconciler.set(unit, unit.wanted);
  }

  remove(id: string): void {
    const unit = this.units.get(id);
    if (unit === undefined) return;
    unit.wanted = [];
    if (this.reconciler.has(unit)) this.reconciler.set(unit, unit.wanted);
    this.units.delete(id);
  }

  plan(): Plan {
    return this.reconciler.plan({ now: this.now, isComplete: this.isComplete });
  }

  /** What a reconciler would plan that has just been started. */
  full(): Plan {
    return this.fresh().plan({ now: this.now, isComplete: this.isComplete });
  }

  /** Plans and commits once. */
  async settle(): Promise<{ readonly plan: Plan; readonly result: PlanCommitResult }> {
    const plan = this.plan();
    const result = await commitPlan(this.database, plan);
    this.reconciler.refused(result.refused, this.now);
    return { plan, result };
  }

  /** The same when nothing is to be refused. Returns what the plan said. */
  async apply(): Promise<string> {
    const { plan, result } = await this.settle();
    if (result.refused.length > 0 || (result.kind !== 'success' && result.kind !== 'unchanged'))
      throw new Error(JSON.stringify(result));
    return renderPlan(plan);
  }

  /** Row of a table by its name. */
  found(table: string, name: string): ReplicaRow {
    const row = this.database.rows(table).find((one) => one.column('name') === name);
    if (row === undefined) throw new Error(`no ${table} ${name}`);
    return row;
  }

  names(table: string): readonly string[] {
    return this.database
      .rows(table)
      .map((row) => row.column('name') as string)
      .toSorted();
  }
}

/** `kind key` of each problem. */
export const problemsOf = ({ problems }: Pick<Plan, 'problems'>): readonly string[] =>
  problems.map(({ kind, key }) => `${kind} ${key}`);

/** `action key` of each change. */
export const changesOf = ({ changes }: Pick<Plan, 'changes'>): readonly string[] =>
  changes.map(({ action, key }) => `${action} ${key}`);

/** Units of each transaction. */
export const batchesOf = ({ batches }: Pick<Plan, 'batches'>): readonly (readonly string[])[] =>
  batches.map((groups) => groups.flatMap(({ units }) => units));
