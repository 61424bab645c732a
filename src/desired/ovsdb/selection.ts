/** Which columns a plan looks at: told by the claims alone, for the client that follows them and for the plan that checks it. */
import type { ColumnType, DatabaseSchema, Selection } from 'ovsdb-client-ts';
import type { TableClaim } from '../rows.ts';

/** True for a column that the plan compares and writes. */
export const isCompared = (claim: Pick<TableClaim, 'foreignColumns'>, column: string): boolean =>
  column !== '_version' && claim.foreignColumns?.includes(column) !== true;

/** A table whose rows a column refers to, as set members, map keys or map values. */
export interface ColumnReference {
  readonly table: string;
  readonly isStrong: boolean;
}

export const referencesOf = ({ key, value }: ColumnType): readonly ColumnReference[] =>
  [key, value].flatMap((base) =>
    base?.refTable === undefined
      ? []
      : [{ table: base.refTable, isStrong: base.refType !== 'weak' }],
  );

/**
 * Tables and columns that a server would have to have, and lacks, before rows of these claims keep apart what they are there to
 * keep apart; in words.
 */
export function missingFor(
  claims: ReadonlyMap<string, Pick<TableClaim, 'isolates' | 'needs'>>,
  schema: DatabaseSchema,
): readonly string[] {
  return [...claims].flatMap(([name, { isolates = false, needs = [] }]) => {
    const table = schema.tables.get(name);
    if (table === undefined) return isolates || needs.length > 0 ? [`table ${name}`] : [];
    return needs.filter((one) => !table.columns.has(one)).map((one) => `column ${one} of ${name}`);
  });
}

/**
 * What a client has to follow for plans of these claims: of each claimed table all columns but foreign ones, and whatever else refers to rows
 * of these tables, as that tells where a row hangs and whether it can go. `more`: columns that the program reads besides, by table.
 */
export function claimedSelection(
  claims: ReadonlyMap<string, Pick<TableClaim, 'foreignColumns'>>,
  schema: DatabaseSchema,
  more: Readonly<Record<string, readonly string[]>> = {},
): Selection {
  const wanted = new Map<string, readonly string[]>();
  for (const { name: table, columns } of schema.tables.values()) {
    const claim = claims.get(table);
    const besides = Object.hasOwn(more, table) ? (more[table] ?? []) : [];
    const names = [...columns.values()]
      .filter(
        ({ name, type }) =>
          besides.includes(name) ||
          (claim !== undefined && isCompared(claim, name)) ||
          // A weak reference keeps no row alive.
          referencesOf(type).some(
            (one) => claims.has(one.table) && (one.isStrong || claim !== undefined),
          ),
      )
      .map(({ name }) => name);
    if (names.length > 0) wanted.set(table, names);
  }
  return Object.fromEntries([...wanted].map(([table, columns]) => [table, { columns }]));
}
