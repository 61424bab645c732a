import type { DatabaseRules, DesiredRow } from './desired.ts';
import type { Plan, PlanOptions } from './plan-change.ts';
import { Reconciler } from './reconciler.ts';
import type { ReplicaView } from '../replica/replica-view.ts';

/** Desired rows against the replica → the smallest set of changes, in the order in which they are sent. */

/** Desired rows by the unit that wants them. */
export type DesiredUnits = ReadonlyMap<string, readonly DesiredRow[]>;

/**
 * The full pass: every desired row, and the removal of every row of ours that nobody wants.
 * Looks at the whole replica; use a `Reconciler` to follow changes.
 */
export function plan(
  desired: DesiredUnits | readonly DesiredRow[],
  replica: ReplicaView,
  rules: DatabaseRules,
  options: PlanOptions = {},
): Plan {
  const reconciler = new Reconciler(replica, rules, options);
  const units: DesiredUnits =
    desired instanceof Map ? desired : new Map([['', desired as readonly DesiredRow[]]]);
  for (const [unit, rows] of units) reconciler.setUnit(unit, rows);
  return reconciler.plan();
}
