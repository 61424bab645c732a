/**
 * What drivers of the host's state have in common: they take the rows of units as a reconciler of a database does, compare them with what
 * they found, apply the difference, and leave what was refused at that for a while.
 */
import type { RowOwner, RowTarget } from '../../desired/engine.ts';
import type { DesiredRow } from '../../desired/rows.ts';
import { Claims, type Contest } from './claims.ts';
import {
  withoutHeld,
  type HostPlan,
  type HostProblem,
  type MayBeWanted,
  type PlannedChange,
} from './host-plan.ts';
import type { Refusals } from './refusals.ts';

export interface AppliedPlan {
  /** Objects that were added, changed or removed. */
  readonly applied: number;
  readonly refused: readonly HostProblem[];
}

export const NOTHING_TO_DO: HostPlan<never> = {
  isEmpty: true,
  changes: [],
  problems: [],
  heldBack: 0,
};

export abstract class HostDriver<R extends DesiredRow, C extends PlannedChange>
  implements RowTarget, Disposable
{
  abstract readonly database: string;
  /** What units want. */
  readonly claims: Claims<R>;
  protected readonly refusals: Refusals<C>;
  #planned:
    | { readonly version: string; readonly isComplete: boolean; readonly plan: HostPlan<C> }
    | undefined;

  protected constructor(refusals: Refusals<C>, claims = new Claims<R>()) {
    this.refusals = refusals;
    this.claims = claims;
  }

  set(owner: RowOwner, wanted: readonly DesiredRow[]): void {
    this.claims.set(owner, wanted);
  }

  has(owner: RowOwner): boolean {
    return this.claims.has(owner);
  }

  /** Brings what is known of the state up to date. `now` in milliseconds of a monotonic clock. */
  abstract refresh(now: number): Promise<void>;

  /** Applies a plan. `signal` ends what takes long. */
  abstract apply(plan: HostPlan<C>, now: number, signal?: AbortSignal): Promise<AppliedPlan>;

  /** Hears of nothing any more; what there is stays. */
  abstract [Symbol.dispose](): void;

  /** What is to be done for what is known; `refresh` comes first. `mayBeWanted`: while something is not known. */
  plan(now: number, mayBeWanted?: MayBeWanted): HostPlan<C> {
    const { problems, changes: compared, heldBack } = this.#compared(mayBeWanted === undefined);
    const all = mayBeWanted === undefined ? compared : withoutHeld(compared, mayBeWanted);
    const resting = this.refusals.resting(all, now);
    const changes = this.possible(all, resting.changes, now);
    return {
      isEmpty: changes.length === 0,
      changes,
      problems: [...problems, ...resting.problems],
      heldBack: heldBack + compared.length - all.length,
    };
  }

  /** Another text after anything was found to be another than before; undefined where that is not known. */
  protected abstract get foundVersion(): string | undefined;

  /** What differs between what is wanted and what was found, without what is contested. */
  protected abstract compare(isComplete: boolean): HostPlan<C>;

  /** What a unit is told that wants an object which another one has. */
  protected abstract contestText(contest: Contest<R>): string;

  /** What is to be done of all changes while some of them rest. */
  protected possible(changes: readonly C[], resting: ReadonlySet<C>, _now: number): readonly C[] {
    return resting.size === 0 ? changes : changes.filter((change) => !resting.has(change));
  }

  /** Made again only when something is another than the last time. */
  #compared(isComplete: boolean): HostPlan<C> {
    const version =
      this.foundVersion === undefined ? undefined : `${this.claims.version} ${this.foundVersion}`;
    const known = this.#planned;
    if (known !== undefined && known.version === version && known.isComplete === isComplete)
      return known.plan;
    const compared = this.compare(isComplete);
    const plan = { ...compared, problems: [...this.#contests(), ...compared.problems] };
    this.#planned = version === undefined ? undefined : { version, isComplete, plan };
    return plan;
  }

  *#contests(): Iterable<HostProblem> {
    for (const contest of this.claims.contests()) {
      const { row, unit } = contest;
      const { table, key, object } = row;
      const message = this.contestText(contest);
      yield { kind: 'name-taken', table, key, unit, object, message };
    }
  }
}
