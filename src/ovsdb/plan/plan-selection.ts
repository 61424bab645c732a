import type { ColumnType } from '../data/column-type.ts';
import type { TableRules } from './desired.ts';
import { VERSION_COLUMN, type ColumnSchema, type DatabaseSchema } from '../data/schema.ts';
import type { Selection } from '../session/selection.ts';

/** Which columns a plan looks at: told by its rules alone, for the client that follows them and for the plan that checks it. */

/** What the rules of a table say about its columns. */
type ColumnRules = Pick<TableRules, 'foreignColumns'>;

/** True for a column that the plan compares and writes. */
export const isCompared = (rules: ColumnRules, column: string): boolean =>
  column !== VERSION_COLUMN.name && rules.foreignColumns?.includes(column) !== true;

/**
 * What a client has to follow for plans with these rules: of each of their tables all columns but foreign ones, and whatever else refers to rows
 * of these tables, as that tells where a row hangs and whether it can go. `more`: columns that the program reads besides, by table.
 */
export function planSelection(
  rules: Readonly<Record<string, ColumnRules>>,
  schema: DatabaseSchema,
  more: Readonly<Record<string, readonly string[]>> = {},
): Selection {
  const wanted = new Map<string, readonly string[]>();
  for (const { name: table, columns } of schema.tables.values()) {
    const ofTable = Object.hasOwn(rules, table) ? rules[table] : undefined;
    const besides = Object.hasOwn(more, table) ? (more[table] ?? []) : [];
    const names = [...columns.values()]
      .filter(
        (column) =>
          besides.includes(column.name) ||
          (ofTable === undefined
            ? refersTo(rules, column, isStrong)
            : isCompared(ofTable, column.name) || refersTo(rules, column, () => true)),
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
  rules: Readonly<Record<string, ColumnRules>>,
  { type }: ColumnSchema,
  counts: (base: BaseType) => boolean,
): boolean =>
  [type.key, type.value].some(
    (base) => base?.refTable !== undefined && Object.hasOwn(rules, base.refTable) && counts(base),
  );
