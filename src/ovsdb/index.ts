/**
 * OVSDB client: a replica of a database kept true by the server's monitor, transactions, locks.
 * Everything that users of this folder need is exported here.
 */
export * from './data/value.ts';
export * from './data/operation.ts';
export * from './replica/replica-view.ts';
export { OvsdbError, isRetryable, type OvsdbErrorCode } from './data/error.ts';
export { ZERO_UUID, isUuid, parseUuid, uuidFromName } from './data/uuid.ts';
export * from './data/column-type.ts';
export * from './data/schema.ts';
export { canonicalText, jsonEquals, RoundedReal, stringify } from './data/json.ts';
export type { Change, Column, NewRow, Row, Tables } from './schema/column.ts';
export * from './data/datum.ts';
export { atomText, realText } from './data/atom-text.ts';
export { datumText, parseAtomRange, parseAtomText, parseDatumText } from './datum-text.ts';
export { parseRow, rowToJson } from './data/row-json.ts';
export * from './data/difference.ts';
export { parseJson, parseJsonText } from './wire/json-text.ts';
export { Framer, type FramerLimits } from './wire/framer.ts';
export { ChangeTracker, type TrackedChange } from './replica/change-tracker.ts';
export type { FollowedColumns, MonitoredColumns } from './replica/definition.ts';
export { Replica, type ReplicaOptions } from './replica/replica.ts';
export * from './plan/desired.ts';
export * from './plan/plan-change.ts';
export { plan } from './plan/plan.ts';
export { planSelection } from './plan/plan-selection.ts';
export { Reconciler } from './plan/reconciler.ts';
export { commitPlan, type CommitOptions, type CommitResult } from './plan/plan-commit.ts';
export { planCounts, planToJson, renderPlan, type RenderOptions } from './plan/plan-render.ts';
export { rowUuid } from './plan/plan-uuid.ts';
export { OvsdbClient } from './client.ts';
export { referredRows, rereferenced } from './replica/references.ts';
export { fetchColumns, type Fetcher } from './transaction/fetch.ts';
export * from './client-options.ts';
export { parseRemotes, remoteText, type Remote, type Remotes } from './session/remote.ts';
export type { TlsOptions } from './session/tls.ts';
export type { LinkTiming } from './session/link.ts';
export type { Lock } from './session/locks.ts';
export type { Monitor } from './session/monitor.ts';
export type { MonitorMethod } from './session/monitor-run.ts';
export type { Attempt, OpenHandlers, OpenSocket } from './session/transport.ts';
export type { Selection, SelectTables, TableSelection } from './session/selection.ts';
export type { DatabaseStatus } from './session/server-status.ts';
export {
  scriptedTransport,
  type ScriptedPeer,
  type ScriptedServer,
} from './session/scripted-transport.ts';
export { commitAnew, type AnewCommitter } from './transaction/commit-anew.ts';
export { outcomeOf } from './session/outcome.ts';
export * from './data/condition.ts';
export * from './data/mutation.ts';
export { InsertedRow, type RowToChange } from './transaction/inserted-row.ts';
export {
  Transaction,
  type AnyTables,
  type CommitOptions as TransactionOptions,
  type Committer,
} from './transaction/transaction.ts';
export {
  typedReplica,
  type TypedOrderedRows,
  type TypedReplica,
  type TypedRow,
} from './replica/typed-replica.ts';
