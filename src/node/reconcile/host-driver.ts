/**
 * The driver of a kind of the host's state: takes the rows of units as a reconciler of a database does, compares them with what was found, applies the
 * difference, leaves what was refused at that for a while, and looks at everything again from time to time. A kind brings its rows, how they are read and
 * written, and the reports of those that can't be.
 */
import type { RowOwner, RowTarget } from '../../desired/engine.ts';
import type { DesiredRow } from '../../desired/rows.ts';
import { Claims, type Contest } from './claims.ts';
import {
  problemOf,
  withoutHeld,
  type Difference,
  type HostPlan,
  type HostProblem,
  type MayBeWanted,
  type PlannedChange,
} from './host-plan.ts';
import { refusedText, Refusals, type Refused } from './refusals.ts';

export interface AppliedPlan {
  /** Objects that were added, changed or removed. */
  readonly applied: number;
  readonly refused: readonly HostProblem[];
}

/** What became of changes. */
export interface Written<C> {
  readonly applied: number;
  readonly refused: readonly Refused<C>[];
  /** What is wrong with none of the changes. */
  readonly problems?: readonly HostProblem[];
}

export interface HostEvents {
  /** Called when something may be another than it should be. */
  readonly onDrift?: () => void;
  /** Called with what went wrong with noticing that, in words. */
  readonly onTrouble?: (text: string) => void;
}

interface HostDriverOptions<R extends DesiredRow, C extends PlannedChange> {
  /** Milliseconds; without any event everything is read again after this time. */
  readonly resync: number;
  readonly refusals?: Refusals<C>;
  readonly claims?: Claims<R>;
}

export abstract class HostDriver<R extends DesiredRow, C extends PlannedChange>
  implements RowTarget, Disposable
{
  abstract readonly database: string;
  /** What people call the kind of state. */
  abstract readonly title: string;
  /** What units want. */
  readonly claims: Claims<R>;
  protected readonly refusals: Refusals<C>;
  readonly #resync: number;
  #lastFull = -Infinity;
  #planned:
    | { readonly version: string; readonly isComplete: boolean; readonly plan: Difference<C> }
    | undefined;

  protected constructor({ resync, refusals, claims }: HostDriverOptions<R, C>) {
    this.#resync = resync;
    this.refusals = refusals ?? new Refusals();
    this.claims = claims ?? new Claims();
  }

  set(owner: RowOwner, wanted: readonly DesiredRow[]): void {
    this.claims.set(owner, wanted);
  }

  has(owner: RowOwner): boolean {
    return this.claims.has(owner);
  }

  /** Brings what is known of the state up to date. `now` in milliseconds of a monotonic clock. */
  async refresh(now: number): Promise<void> {
    if (now - this.#lastFull >= this.#resync) {
      this.#lastFull = now;
      this.staleAll();
    }
    await this.read();
  }

  /** Applies a plan. `signal` ends what takes long. */
  async apply({ changes }: HostPlan<C>, now: number, signal?: AbortSignal): Promise<AppliedPlan> {
    const { applied, refused, problems = [] } = await this.write(changes, now, signal);
    const rested = this.refusals.add(refused, now, (all) =>
      problemOf('refused', all[0].change, this.refusedText(all)),
    );
    return { applied, refused: [...problems, ...rested] };
  }

  /** Another one when something else is to be there, also for what is not a unit's: a cgroup that is there now. */
  get wantedVersion(): string {
    return String(this.claims.version);
  }

  /** Programs that changed something since all was right last, as far as that can be known. */
  async changedBy(): Promise<readonly string[]> {
    return [];
  }

  /** All is right: who changes something from now on is somebody else. */
  settled(): void {}

  /** Hears of nothing any more; what there is stays. */
  abstract [Symbol.dispose](): void;

  /** What is to be done for what is known; `refresh` comes first. `mayBeWanted`: while something is not known. */
  plan(now: number, mayBeWanted?: MayBeWanted): HostPlan<C> {
    const { problems, changes: compared } = this.#compared(mayBeWanted === undefined);
    const all = mayBeWanted === undefined ? compared : withoutHeld(compared, mayBeWanted);
    const resting = this.refusals.resting(all, now);
    const changes = this.possible(all, resting.changes, now);
    return {
      isEmpty: changes.length === 0,
      changes,
      problems: [...problems, ...resting.problems],
      heldBack: compared.length - all.length,
    };
  }

  /** What is known may be wrong. */
  protected abstract staleAll(): void;

  /** Reads what is not known, or may be wrong. */
  protected abstract read(): Promise<void>;

  /** Makes changes; what they touch is read again. */
  protected abstract write(
    changes: readonly C[],
    now: number,
    signal?: AbortSignal,
  ): Promise<Written<C>>;

  /** What is reported of changes that were refused, and rest together. */
  protected refusedText([one]: readonly [Refused<C>, ...Refused<C>[]]): string {
    return refusedText(one, `${one.change.table} ${one.change.key}`);
  }

  /** Another text after anything was found to be another than before; undefined where that is not known. */
  protected abstract get foundVersion(): string | undefined;

  /** What differs between what is wanted and what was found, without what is contested. */
  protected abstract compare(isComplete: boolean): Difference<C>;

  /** What a unit is told that wants an object which another one has. */
  protected abstract contestText(contest: Contest<R>): string;

  /** What is to be done of all changes while some of them rest. */
  protected possible(changes: readonly C[], resting: ReadonlySet<C>, _now: number): readonly C[] {
    return resting.size === 0 ? changes : changes.filter((change) => !resting.has(change));
  }

  /** Made again only when something is another than the last time. */
  #compared(isComplete: boolean): Difference<C> {
    const version =
      this.foundVersion === undefined ? undefined : `${this.claims.version} ${this.foundVersion}`;
    const known = this.#planned;
    if (known !== undefined && known.version === version && known.isComplete === isComplete)
      return known.plan;
    const compared = this.compare(isComplete);
    const plan = {
      changes: compared.changes,
      problems: [...this.#contests(), ...compared.problems],
    };
    this.#planned = version === undefined ? undefined : { version, isComplete, plan };
    return plan;
  }

  *#contests(): Iterable<HostProblem> {
    for (const contest of this.claims.contests()) {
      const { row, unit } = contest;
      yield problemOf('name-taken', { ...row, unit }, this.contestText(contest));
    }
  }
}
