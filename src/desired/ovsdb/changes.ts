import type { ColumnType, Datum, Mutation } from 'ovsdb-client-ts';

/** What a plan consists of. */

/** How one column of a row changes. */
export interface PlannedColumn {
  readonly name: string;
  readonly type: ColumnType;
  /** Value found in the database; of an inserted row the schema's default. */
  readonly before: Datum;
  readonly after: Datum;
  /** Members to add and remove, where that is smaller than the whole value or where others have members too. */
  readonly mutations: readonly Mutation[] | undefined;
}

/** A reference to the changed row that a set column of another row gains or loses. */
export interface PlannedMembership {
  readonly action: 'add' | 'remove';
  /** The row that holds the set. */
  readonly table: string;
  readonly key: string;
  readonly uuid: string;
  readonly column: string;
}

/** All that happens to one row. */
export interface PlannedChange {
  readonly action: 'insert' | 'update' | 'delete';
  readonly table: string;
  readonly key: string;
  readonly uuid: string;
  /** Rows of other tables live and die with the references to them: they are never deleted by an operation. */
  readonly isRoot: boolean;
  readonly isolates: boolean;
  /** The unit that wants the row, or wanted it last; of a row that no unit knows, `["unwanted",<mark>]`. */
  readonly unit: string;
  /** Rule of the unit's feature, and the object for which the row is there; undefined for rows that go. */
  readonly rule: string | undefined;
  readonly object: string | undefined;
  /** Why a row goes: `unwanted`, or `duplicate` of the one that stays. */
  readonly reason: 'unwanted' | 'duplicate' | undefined;
  readonly columns: readonly PlannedColumn[];
  readonly memberships: readonly PlannedMembership[];
}

export type ProblemKind =
  | 'held-by-other' //  a row that is not ours has the key
  | 'name-taken' //     another unit has the key
  | 'missing-row' //    a reference to a row that nobody wants and that does not exist
  | 'awaited' //        another program makes the row and has not yet: not wrong, only not there
  | 'blocked' //        a unit that it needs has a problem of its own
  | 'conflict' //       a unit wants one row in two ways
  | 'bad-value' //      a value does not fit the column
  | 'immutable' //      the column can't be changed after the row was made
  | 'still-referred' // a row of others refers to the row that is to go
  | 'unclaimed-table' // no feature claims the table
  | 'not-built' //      what the unit wants could not be built again
  | 'not-read' //       a fault of ours while the row was read: it is left alone
  | 'refused'; //       the server refused it

/** Why a unit is not as it should be: it stays as it is in the database, every other unit goes on. */
export interface PlanProblem {
  readonly kind: ProblemKind;
  readonly table: string;
  readonly key: string;
  readonly unit: string;
  /** The object for which the row is there; absent for a row that goes. */
  readonly object?: string | undefined;
  /** What is wrong, where, and what to do. */
  readonly message: string;
}

/** `Logical_Switch "blue"`. */
export const label = (row: { readonly table: string; readonly key: string }): string =>
  `${row.table} "${row.key}"`;

/** What is wrong with a row. */
export const problemOf = (
  kind: ProblemKind,
  { table, key, object }: Pick<PlanProblem, 'table' | 'key' | 'object'>,
  unit: string,
  what: string,
): PlanProblem => ({
  kind,
  table,
  key,
  unit,
  object,
  message: `${label({ table, key })}: ${what}`,
});

/** Changes of units that must be committed together; mostly those of one unit. */
export interface PlannedGroup {
  readonly units: readonly string[];
  readonly changes: readonly PlannedChange[];
  /** Groups without which this one must not be sent. */
  readonly needs: readonly PlannedGroup[];
}

export interface Plan {
  readonly database: string;
  /** True when the database is as it should be as far as it can be: nothing will be sent. */
  readonly isEmpty: boolean;
  /** In the order in which they are sent. */
  readonly changes: readonly PlannedChange[];
  /** The same, cut into transactions. A group is never cut. */
  readonly batches: readonly (readonly PlannedGroup[])[];
  readonly problems: readonly PlanProblem[];
  /** Tables and columns that the server's schema lacks, one sentence each: what is wanted of them is left out. */
  readonly unsupported: readonly string[];
  /** The key of a row that a value refers to. */
  readonly nameOf: (table: string, uuid: string) => string | undefined;
  /** Rows of ours that nobody wants and that stay because not every unit has been built yet. */
  readonly heldBack: number;
  /** Units of changes that want nothing else since their rows were right: somebody else changed these. */
  readonly drifted: ReadonlySet<string>;
  /** How many rows were looked at. */
  readonly examined: number;
}

/** What one transaction may hold. A group may exceed it. */
export interface BatchLimits {
  readonly rows: number;
  /** Estimated bytes of JSON. */
  readonly bytes: number;
}

/** Batches of this size cost the server least per row and stay far from its message buffers. */
export const DEFAULT_BATCH_LIMITS: BatchLimits = { rows: 1000, bytes: 1_000_000 };
