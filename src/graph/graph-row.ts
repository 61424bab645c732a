/** Rows as pictures are made of them. */

/** A row as a graph needs it. */
export interface GraphRow {
  readonly table: string;
  /** Its name, for switches, routers and their ports. */
  readonly key: string;
  /** A set is a list, a map a Map. */
  readonly columns: Readonly<Record<string, unknown>>;
  /** For which it is there: `Pod blue/web`. */
  readonly object: string;
  /** Rows whose set columns hold it. */
  readonly holders: readonly { readonly table: string; readonly key: string }[];
}
