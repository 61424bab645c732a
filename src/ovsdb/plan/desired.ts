import type { FoundRow } from '../replica/replica-view.ts';

/** Rows as they should be, and how rows of a table are recognised. Pure data: no database is named here. */

/** Points at another desired row by table and key; the plan turns it into that row's UUID. */
export class RowReference {
  readonly table: string;
  readonly key: string;

  constructor(table: string, key: string) {
    this.table = table;
    this.key = key;
  }
}

export type DesiredAtom = string | number | bigint | boolean | RowReference;

/**
 * Value of a column: a scalar (also for an optional column), a set as an array, a map as a record
 * or a Map. A column left out has the schema's default (RFC 7047 §5.2.1).
 */
export type DesiredValue =
  | DesiredAtom
  | readonly DesiredAtom[]
  | Readonly<Record<string, string>>
  | ReadonlyMap<DesiredAtom, DesiredAtom>;

/** A row that contains another one: its set column `column` holds a reference to it. */
export interface Containment {
  readonly table: string;
  readonly key: string;
  readonly column: string;
}

/** One row as it should be. */
export interface DesiredRow {
  readonly table: string;
  /** Stable and unique in the table; equals `TableRules.keyOf` of the same row read back. */
  readonly key: string;
  readonly columns: Readonly<Record<string, DesiredValue>>;
  /** Every row whose set column must hold this row (switch → port, port group → port, router → NAT …). */
  readonly containers: readonly Containment[];
  /**
   * True for a row that another program makes (the local Chassis, NB_Global): it is neither inserted nor removed, only
   * the columns listed here are compared, and of their sets and maps only the members listed here.
   */
  readonly partial?: true;
}

/** How rows of one table are recognised and compared. */
export interface TableRules {
  /**
   * Key of a row found in the database; undefined if it can't be one of ours.
   * `container` is the row that holds it, for tables whose rows have no name of their own (routes, NAT …).
   */
  readonly keyOf: (row: FoundRow, container: RowReference | undefined) => string | undefined;
  /** True for a row that carries our mark: it is removed when nothing desires it. */
  readonly isOurs: (row: FoundRow, container: RowReference | undefined) => boolean;
  /** The container that identifies rows without a name: which column of which table holds them. */
  readonly container?: { readonly table: string; readonly column: string };
  /** Columns that ovn-northd or others write: never compared, never sent. */
  readonly foreignColumns?: readonly string[];
  /** Sets and maps in which others may have members of their own: only what we want is added, what we wanted is removed. */
  readonly sharedColumns?: readonly string[];
  /**
   * Tells which members of shared columns (keys of a map) are ours by their looks, so that what a former life
   * of this program wanted is removed too.
   */
  readonly ownsMember?: (column: string, member: string | number | bigint | boolean) => boolean;
  /** True for a row without our mark that we may take over when its key is desired. By itself it is never removed. */
  readonly mayAdopt?: (row: FoundRow, container: RowReference | undefined) => boolean;
  /** True for tables that keep networks apart (ACL, Port_Group …): written before connectivity, removed after it. */
  readonly isolates?: boolean;
}

/** Rules for every table of one database in which we have rows; other tables are never read or written. */
export type DatabaseRules = Readonly<Record<string, TableRules>>;
