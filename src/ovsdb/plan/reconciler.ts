import type { DatabaseRules, DesiredRow } from './desired.ts';
import { DEFAULT_BATCH_LIMITS } from './plan-change.ts';
import type { BatchLimits, Plan, PlanOptions, PlanProblem } from './plan-change.ts';
import { sameDesiredRow } from './plan-entry.ts';
import { inBatches, inOrder } from './plan-order.ts';
import { namesIn } from './plan-names.ts';
import { PlanPass } from './plan-pass.ts';
import { RowIndex } from './plan-index.ts';
import type { ReplicaChanges, ReplicaView } from '../replica/replica-view.ts';

/**
 * Keeps the desired rows of one database by the unit that wants them, knows which rows changed on either side, and
 * plans those alone. The plan of the changed rows is the same as that of a full pass.
 */
export class Reconciler {
  readonly #replica: ReplicaView;
  readonly #rules: DatabaseRules;
  readonly #limits: BatchLimits;
  readonly #units = new Map<string, readonly DesiredRow[]>();
  #index: RowIndex;
  #pass = 0;

  constructor(replica: ReplicaView, rules: DatabaseRules, options: PlanOptions = {}) {
    this.#replica = replica;
    this.#rules = rules;
    this.#limits = options.limits ?? DEFAULT_BATCH_LIMITS;
    this.#index = new RowIndex(replica, rules);
  }

  get units(): ReadonlyMap<string, readonly DesiredRow[]> {
    return this.#units;
  }

  /** Number of rows that the next plan will look at. */
  get dirtyCount(): number {
    return this.#index.dirty.size;
  }

  /** Replaces what a unit wants. Rows that stay the same cost a comparison and are not planned again. */
  setUnit(unit: string, rows: readonly DesiredRow[]): void {
    this.#followSchema();
    if (this.#index.isFilled) this.#replace(unit, this.#units.get(unit) ?? [], rows);
    // The first plan takes all wishes at once.
    else this.#keep(unit, rows);
  }

  #keep(unit: string, rows: readonly DesiredRow[]): void {
    if (rows.length === 0) this.#units.delete(unit);
    else this.#units.set(unit, rows);
  }

  #replace(unit: string, before: readonly DesiredRow[], rows: readonly DesiredRow[]): void {
    const byKey = Map.groupBy(before.keys(), (i) => nameOf(before[i] as DesiredRow));
    const stays = new Set<number>();
    const fresh: DesiredRow[] = [];
    const after = rows.map((row) => {
      const old =
        byKey.size === 0
          ? undefined
          : byKey
              .get(nameOf(row))
              ?.find((i) => !stays.has(i) && sameDesiredRow(before[i] as DesiredRow, row));
      if (old === undefined) {
        fresh.push(row);
        return row;
      }
      stays.add(old);
      return before[old] as DesiredRow;
    });
    // New wishes first: a row that goes from one wish to another is never unwanted in between.
    this.#index.claim(unit, fresh);
    for (const [i, row] of before.entries()) if (!stays.has(i)) this.#index.unclaim(unit, row);
    this.#keep(unit, after);
  }

  removeUnit(unit: string): void {
    this.setUnit(unit, []);
  }

  /** Follows the replica's changes until the returned function is called. */
  follow(): () => void {
    return this.#replica.subscribe((changes) => this.observe(changes));
  }

  /** Takes note of one change of the replica: rows that it touched are looked at by the next plan. */
  observe(changes: ReplicaChanges): void {
    // Under another schema the next plan reads everything anew.
    if (this.#index.schema === this.#replica.schema) this.#index.observe(changes);
  }

  /** Under another schema nothing holds that is known of the database, and changes are no longer noted. */
  #followSchema(): void {
    if (this.#index.schema !== this.#replica.schema) this.resync();
  }

  /** Forgets what is known of the database: the next plan is a full pass. */
  resync(): void {
    this.#index = new RowIndex(this.#replica, this.#rules);
  }

  /**
   * What to do for the rows that changed since they were last found right. Calling it again without any change in
   * between gives the same plan: a row is looked at until the replica shows it as it should be.
   */
  plan(): Plan {
    this.#followSchema();
    const index = this.#index;
    const alreadyRight = index.fill(this.#units);
    this.#pass += 1;
    const pass = new PlanPass(index, this.#replica, this.#pass);
    pass.run();
    const groups = inOrder(pass.changes, index.tables);
    const changes = groups.flat(2);
    let names: Plan['names'] | undefined;
    const problems: readonly PlanProblem[] = [...index.strangers.values(), ...pass.problems];
    index.settle(pass.unsettled, pass.inserts());
    return {
      database: this.#replica.schema.name,
      isEmpty: changes.length === 0,
      changes,
      batches: inBatches(groups, this.#limits),
      problems,
      leftOut: [...pass.leftOut].sort(),
      get names() {
        names ??= namesIn(changes, index.tables);
        return names;
      },
      examined: alreadyRight + pass.examined,
    };
  }
}

const nameOf = (row: DesiredRow): string => `${row.table} ${row.key}`;
