/** Which columns a plan looks at: told by the claims alone, for the client that follows them and for the plan that checks it. */
import type { ColumnSchema, ColumnType, DatabaseSchema, Selection } from '../../ovsdb/index.ts';
import type { TableClaim } from '../rows.ts';

/** True for a column that the plan compares and writes. */
export const isCompared = (claim: Pick<TableClaim, 'foreignColumns'>, column: string): boolean =>
  column !== '_version' && claim.foreignColumns?.includes(column) !== true;

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
        (column) =>
          besides.includes(column.name) ||
          (claim === undefined
            ? refersTo(claims, column, isStrong)
            : isCompared(claim, column.name) || refersTo(claims, column, () => true)),
      )
      .map(({ name }) => name);
    if (names.length > 0) wanted.set(table, names);
  }
  return Object.fromEntries([...wanted].map(([table, columns]) => [table, { columns }]));
}

type BaseType = ColumnType['key'];

/** A weak reference keeps no row alive. */
const isStrong = ({ refType }: BaseType): boolean => refType !== 'weak';

const refersTo = (
  claims: ReadonlyMap<string, unknown>,
  { type }: ColumnSchema,
  counts: (base: BaseType) => boolean,
): boolean =>
  [type.key, type.value].some(
    (base) => base?.refTable !== undefined && claims.has(base.refTable) && counts(base),
  );
