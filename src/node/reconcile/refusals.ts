/** What was refused is left at that for some time, unless something else is wanted. */
import { idOf } from './claims.ts';
import type { HostProblem, PlannedChange } from './host-plan.ts';

/** Milliseconds. */
const REST = 30_000;

/** A change that was refused, and why. */
export interface Refused<C> {
  readonly change: C;
  readonly reason: string;
}

interface Refusal {
  readonly until: number;
  /** What was tried. */
  readonly tried: ReadonlySet<string>;
  readonly problem: HostProblem;
}

const textOf = (change: PlannedChange): string => `${idOf(change)} ${change.after ?? ''}`;

export class Refusals<C extends PlannedChange> {
  readonly #groupOf: (change: C) => string;
  readonly #refusals = new Map<string, Refusal>();

  /** `groupOf`: changes of one group rest together, and are tried again together; by default each for itself. */
  constructor(groupOf: (change: C) => string = idOf) {
    this.#groupOf = groupOf;
  }

  /** `now` in milliseconds of a monotonic clock. Returns a problem for each group. */
  add(
    refused: readonly Refused<C>[],
    now: number,
    problemOf: (all: readonly [Refused<C>, ...Refused<C>[]]) => HostProblem,
  ): readonly HostProblem[] {
    const groups = Map.groupBy(refused, ({ change }) => this.#groupOf(change));
    return [...groups].map(([group, all]) => {
      const problem = problemOf(all as [Refused<C>, ...Refused<C>[]]);
      const tried = new Set(all.map(({ change }) => textOf(change)));
      this.#refusals.set(group, { until: now + REST, tried, problem });
      return problem;
    });
  }

  /** Everything may be tried again. */
  clear(): void {
    this.#refusals.clear();
  }

  /** Changes that rest, and the problems for which they do. */
  resting(
    changes: readonly C[],
    now: number,
  ): { readonly changes: ReadonlySet<C>; readonly problems: readonly HostProblem[] } {
    for (const [group, { until }] of this.#refusals) if (until <= now) this.#refusals.delete(group);
    const resting = new Set<C>();
    const problems: HostProblem[] = [];
    if (this.#refusals.size > 0)
      for (const [group, all] of Map.groupBy(changes, this.#groupOf)) {
        const refusal = this.#refusals.get(group);
        if (refusal === undefined || !all.every((change) => refusal.tried.has(textOf(change))))
          continue;
        for (const change of all) resting.add(change);
        problems.push(refusal.problem);
      }
    return { changes: resting, problems };
  }
}

/** Why an object is not as it should be: `what` names it. */
export const refusedText = ({ change, reason }: Refused<PlannedChange>, what: string): string => {
  const { before, after, action } = change;
  const how = action === 'remove' ? `can't be removed (${before})` : `can't be made (${after})`;
  return `${what} ${how}: ${reason}`;
};

/** What is tried at once, and what becomes of it. */
export interface Halving<C> {
  /** Tries all or nothing; returns why it was refused, if so. */
  readonly attempt: (changes: readonly C[]) => Promise<string | undefined>;
  /** After so many refusals the rest is not tried. */
  refusalsLeft: number;
  applied: number;
  readonly refused: Refused<C>[];
}

/**
 * Tries groups of changes together, in their order; of what is refused each half by itself, until those at fault are found: they harm
 * themselves alone.
 */
export async function tryHalves<C>(
  groups: readonly (readonly C[])[],
  halving: Halving<C>,
): Promise<void> {
  const changes = groups.flat();
  if (changes.length === 0 || halving.refusalsLeft <= 0) return;
  const reason = await halving.attempt(changes);
  if (reason === undefined) {
    halving.applied += changes.length;
    return;
  }
  halving.refusalsLeft -= 1;
  if (groups.length === 1) {
    for (const change of changes) halving.refused.push({ change, reason });
    return;
  }
  const half = groups.length >> 1;
  await tryHalves(groups.slice(0, half), halving);
  await tryHalves(groups.slice(half), halving);
}
