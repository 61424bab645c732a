/** Desired rows of an OVSDB database: what the rest of the program uses of it. */
export {
  DEFAULT_BATCH_LIMITS,
  type BatchLimits,
  type Plan,
  type PlannedChange,
  type PlannedColumn,
  type PlannedGroup,
  type PlanProblem,
  type ProblemKind,
} from './changes.ts';
export { isMap, isSet, membersOf, without } from './column-values.ts';
export { commitPlan, type PlanCommitOptions, type PlanCommitResult } from './commit.ts';
export { Reconciler, type MayBeWanted, type PlanOptions, type UnmarkedRow } from './reconciler.ts';
export { claimedSelection, missingFor } from './selection.ts';
