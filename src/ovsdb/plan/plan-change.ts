import type { ColumnType } from '../data/column-type.ts';
import type { Mutation } from '../data/operation.ts';
import type { Datum } from '../data/value.ts';

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
  /** The unit that wants the row, or wanted it last. */
  readonly unit: string | undefined;
  /** Why a row goes: `unwanted`, or `duplicate` of the one that stays. */
  readonly reason: 'unwanted' | 'duplicate' | undefined;
  readonly columns: readonly PlannedColumn[];
  readonly memberships: readonly PlannedMembership[];
  /** Changes that must be committed before this one or with it. */
  readonly needs: readonly PlannedChange[];
}

export type ProblemKind =
  | 'held-by-other' //  a row that is not ours has the key
  | 'missing-row' //    a reference to a row that nobody wants and that does not exist
  | 'awaited' //        another program makes the row and has not yet: not wrong, only not there
  | 'blocked' //        a row that it needs has a problem of its own
  | 'conflict' //       two units want different things of one row
  | 'bad-value' //      a value does not fit the column
  | 'immutable' //      the column can't be changed after the row was made
  | 'still-referred' // a row of others refers to the row that is to go
  | 'no-rules' //       a table without rules
  | 'refused'; //       the server refused it

/** A row that could not be planned or was refused. Every other row goes on. */
export interface PlanProblem {
  readonly kind: ProblemKind;
  readonly table: string;
  readonly key: string;
  readonly unit: string | undefined;
  /** What is wrong, where, and what to do. */
  readonly message: string;
}

/** Number of rows per table. */
export interface TableCounts {
  readonly insert: number;
  readonly update: number;
  readonly delete: number;
}

export interface Plan {
  readonly database: string;
  /** True when the database is as it should be as far as it can be: nothing will be sent. */
  readonly isEmpty: boolean;
  /** In the order in which they are sent. */
  readonly changes: readonly PlannedChange[];
  /** The same, cut into transactions that are consistent by themselves. */
  readonly batches: readonly (readonly PlannedChange[])[];
  readonly problems: readonly PlanProblem[];
  /** Tables and columns that the server's schema lacks, one sentence each: what is wanted of them is left out. */
  readonly leftOut: readonly string[];
  /** Tables and keys of the rows that values refer to, by UUID. */
  readonly names: ReadonlyMap<string, { readonly table: string; readonly key: string }>;
  /** How many rows were looked at. */
  readonly examined: number;
}

/** What one transaction may hold. A unit, or rows that can't live without each other, may exceed it. */
export interface BatchLimits {
  readonly rows: number;
  /** Estimated bytes of JSON. */
  readonly bytes: number;
}

/** Batches of this size cost the server least per row and stay far from its message buffers. */
export const DEFAULT_BATCH_LIMITS: BatchLimits = { rows: 1000, bytes: 1_000_000 };

export interface PlanOptions {
  readonly limits?: BatchLimits;
}
