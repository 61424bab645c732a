import { jsonEquals } from '../data/json.ts';
import type { TableIndexes } from './replica-view.ts';
import { schemaToJson, type DatabaseSchema } from '../data/schema.ts';
import type { Pools } from '../storage/pools.ts';
import type { JsonValue } from '../data/value.ts';
import { ReplicaTable } from './replica-table.ts';

/** Which columns of which tables a replica holds: those that the server has and we monitor. */
export type MonitoredColumns = ReadonlyMap<string, ReadonlySet<string>>;

export interface FollowedColumns {
  readonly monitored: MonitoredColumns;
  /** Columns that the server has and whose newest values are not here. */
  readonly unseen?: MonitoredColumns;
  /** Columns whose changes alone are no event. */
  readonly quiet?: MonitoredColumns;
  /** Indexes that are kept from the first row on. */
  readonly indexes?: ReadonlyMap<string, TableIndexes>;
}

export interface DefinedTables {
  readonly schema: DatabaseSchema;
  readonly pools: Pools;
  readonly tables: Map<string, ReplicaTable>;
}

export const sameSchema = (a: DatabaseSchema, b: DatabaseSchema): boolean =>
  jsonEquals(schemaToJson(a), schemaToJson(b));

const NONE: ReadonlySet<string> = new Set();

/** Whether nothing would change: the same tables, columns, types and monitored columns, and the same ones that can be written unseen. */
export function sameDefinition(
  schema: DatabaseSchema,
  tables: ReadonlyMap<string, ReplicaTable>,
  next: DatabaseSchema,
  { monitored, unseen }: FollowedColumns,
): boolean {
  const shape = (given: DatabaseSchema): JsonValue => {
    const { tables: shapes } = schemaToJson(given) as { readonly tables: JsonValue };
    return shapes;
  };
  return (
    jsonEquals(shape(schema), shape(next)) &&
    [...tables.values()].every((table) => {
      const columns = monitored.get(table.name) ?? NONE;
      const others = unseen?.get(table.name) ?? NONE;
      return (
        columns.size === table.monitored.size &&
        columns.isSubsetOf(table.monitored) &&
        others.size === table.unseen.size &&
        others.isSubsetOf(table.unseen)
      );
    })
  );
}

export function defineTables(
  schema: DatabaseSchema,
  columns: Partial<FollowedColumns>,
  pools: Pools,
): Map<string, ReplicaTable> {
  const tables = new Map(
    [...schema.tables.values()].map((table) => [
      table.name,
      new ReplicaTable(table, pools, {
        monitored:
          columns.monitored === undefined
            ? new Set(table.columns.keys())
            : (columns.monitored.get(table.name) ?? NONE),
        unseen: columns.unseen?.get(table.name),
        quiet: columns.quiet?.get(table.name),
      }),
    ]),
  );
  keepIndexes(tables, columns.indexes);
  return tables;
}

export function keepIndexes(
  tables: ReadonlyMap<string, ReplicaTable>,
  wanted: ReadonlyMap<string, TableIndexes> | undefined,
): void {
  for (const [name, indexes] of wanted ?? []) {
    tables.get(name)?.keep(indexes);
    if (indexes.referrers === true)
      for (const table of tables.values()) table.keepReferrersTo(name);
  }
}
