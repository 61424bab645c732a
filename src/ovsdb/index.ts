/**
 * OVSDB client: a replica of a database kept true by the server's monitor, transactions, locks.
 * Everything that users of this folder need is exported here; what works on values without any connection by `values/index.ts`.
 */
import './node-floor.ts';
export { OvsdbClient } from './client.ts';
export type { ClientEvent, ClientOptions, ClientStatus, ClientTiming } from './client-options.ts';
export { OvsdbError, isRetryable, type OvsdbErrorCode } from './data/error.ts';
export type {
  Clause,
  ConditionFunction,
  Mutation,
  Mutator,
  Operation,
  OperationResult,
  Outcome,
  TransactOptions,
  Transactor,
  WireRow,
} from './data/operation.ts';
export { outcomeOf, OutcomeError, type CheckedOutcome } from './data/outcome.ts';
export {
  NamedUuid,
  type Atom,
  type Datum,
  type Integer,
  type JsonObject,
  type JsonValue,
  type Uuid,
  type Writable,
  type WritableAtom,
} from './data/value.ts';
export { ZERO_UUID, isUuid, parseUuid, uuidFromName } from './data/uuid.ts';
export type { BaseType, ColumnType } from './data/column-type.ts';
export {
  parseSchema,
  type ColumnSchema,
  type DatabaseSchema,
  type TableSchema,
} from './data/schema.ts';
export { datumEquals, datumToJson, defaultDatum, members, toDatum } from './data/datum.ts';
export { stringify } from './data/json.ts';
export type { AnyTables, Column, Row } from './schema/column.ts';
export type { FollowedColumns } from './replica/definition.ts';
export { Replica, type ReplicaOptions } from './replica/replica.ts';
export type {
  ColumnAccess,
  IndexColumn,
  OrderedColumn,
  OrderedRows,
  Referrer,
  ReplicaChanges,
  ReplicaRow,
  ReplicaView,
  RowChange,
  SubscribeOptions,
  TableChanges,
  TableIndexes,
} from './replica/replica-view.ts';
export type { TypedRow } from './replica/replica-reader.ts';
export type { UpdateFormat } from './replica/update-reader.ts';
export type { Traffic } from './session/connection.ts';
export type { Lock } from './session/locks.ts';
export type { Monitor, MonitorMethod } from './session/monitor.ts';
export { parseRemotes, remoteText, type Remote, type Remotes } from './session/remote.ts';
export type { Selection, SelectTables, TableSelection } from './session/selection.ts';
export type { DatabaseStatus } from './session/server-status.ts';
export type { TlsOptions } from './session/tls.ts';
export type { Attempt, OpenHandlers, OpenSocket } from './session/transport.ts';
