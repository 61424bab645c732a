/** Desired rows of an OVSDB database: what the rest of the program uses of it. */
export {
  DEFAULT_BATCH_LIMITS,
  type BatchLimits,
  type Plan,
  type PlannedChange,
  type PlannedGroup,
  type PlanProblem,
  type ProblemKind,
  type TableCounts,
} from './changes.ts';
export { creationCommands } from './commands.ts';
export { commitPlan, type PlanCommitOptions, type PlanCommitResult } from './commit.ts';
export { Reconciler, type PlanOptions, type UnmarkedRow } from './reconciler.ts';
export { planCounts, planToJson, renderPlan, type RenderOptions } from './render.ts';
export { claimedSelection } from './selection.ts';
