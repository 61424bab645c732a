/** Rows as they should be, and how rows of a table are recognised. Pure data: no database is named here. */

import type { SetVersion } from '../facts/counted-set.ts';

/** Points at another desired row by table and key; the plan turns it into that row's UUID. */
export class RowReference {
  readonly table: string;
  readonly key: string;

  constructor(table: string, key: string) {
    this.table = table;
    this.key = key;
  }
}

type DesiredAtom = string | number | bigint | boolean | RowReference;

/**
 * Value of a column: a scalar (also for an optional column), a set as an array or, if it is large, as a version of a set that facts keep,
 * a map as a record or a Map. A column left out has the schema's default (RFC 7047 §5.2.1).
 */
export type DesiredValue =
  | DesiredAtom
  | readonly DesiredAtom[]
  | SetVersion
  | Readonly<Record<string, string>>
  | ReadonlyMap<DesiredAtom, DesiredAtom>;

/** A row that contains another one: its set column `column` holds a reference to it. */
export interface Containment {
  readonly table: string;
  readonly key: string;
  readonly column: string;
}

/** Object of rows that follow from settings. */
export const SETTINGS = 'cluster';

/** One row as it should be. */
export interface DesiredRow {
  /** Name of the database, e.g. `OVN_Northbound`. */
  readonly database: string;
  readonly table: string;
  /** Stable and unique in the table; equals `TableClaim.keyOf` of the same row read back. */
  readonly key: string;
  readonly columns: Readonly<Record<string, DesiredValue>>;
  /** Every row whose set column must hold this row (switch → port, port group → port, router → NAT …). */
  readonly containers: readonly Containment[];
  /** Rows that a text of this one names, such as a set in a match: they are in place before it. */
  readonly names?: readonly RowReference[];
  /** Rule of the feature by which the row is there. */
  readonly rule: string;
  /** For which object the row is there: `Kind namespace/name`, `Kind name`, or `SETTINGS`. It is the row's mark. */
  readonly object: string;
  /**
   * True for a row that another program makes (the local Chassis, NB_Global): it is neither inserted, marked nor removed, only
   * the columns listed here are compared, and of their sets and maps only the members listed here.
   */
  readonly partial?: true;
  /** Columns that the row says nothing about: they stay as they are found. */
  readonly unspecified?: readonly string[];
}

/** A row as a database holds it, as far as claims look at it. */
export interface FoundRow {
  readonly uuid: string;
  column(name: string): unknown;
}

/**
 * A table in which features have rows: how the key of a found row is read back, and what of it is whose. A row is ours when
 * its `external_ids` carry our mark. Declared beside what writes the rows.
 */
export interface TableClaim {
  readonly database: string;
  readonly table: string;
  /**
   * Key of a row found in the database; undefined if it can't be one of ours.
   * `container` is the row that holds it, for tables whose rows have no name of their own (routes, NAT …).
   */
  readonly keyOf: (row: FoundRow, container: RowReference | undefined) => string | undefined;
  /** The container that identifies rows without a name: which column of which table holds them. */
  readonly container?: { readonly table: string; readonly column: string };
  /** For tables without `external_ids`: the rows by the mark of one of which a row is ours. */
  readonly markedBy?: (
    row: FoundRow,
    container: RowReference | undefined,
  ) => readonly RowReference[];
  /** Columns that ovn-northd or others write: never compared; what a row says of them is what it begins with when it is new. */
  readonly foreignColumns?: readonly string[];
  /** Sets and maps in which others have members of their own: what we want is added, nothing is removed. */
  readonly sharedColumns?: readonly string[];
  /** True for tables that keep networks apart (ACL, Port_Group …): in place before what they isolate, and removed after it. */
  readonly isolates?: boolean;
  /** Columns that decide what its rows keep apart: without one of them a row would let through what it is there to hold back. */
  readonly needs?: readonly string[];
}

/** Key in `external_ids` of every row of ours; its value names the object for which the row is there. */
export const MARK = 'heddle';
