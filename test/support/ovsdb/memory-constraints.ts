import { defaultDatum, members, toDatum } from '../../../src/ovsdb/data/datum.ts';
import { OvsdbError } from '../../../src/ovsdb/data/error.ts';
import type { Referrer } from '../../../src/ovsdb/replica/replica-view.ts';
import { columnOf, tableOf, type DatabaseSchema } from '../../../src/ovsdb/data/schema.ts';
import type { Datum, Uuid } from '../../../src/ovsdb/data/value.ts';

export type Columns = Map<string, Datum>;
/** Rows of each table by UUID; a column that is absent has its default. */
export type Contents = Map<string, Map<string, Columns>>;

/** What ovsdb-server does at commit: garbage collection, weak references, integrity, indexes. Throws what it answers. */
export function enforceConstraints(schema: DatabaseSchema, contents: Contents): void {
  collectGarbage(schema, contents);
  dropWeakReferences(schema, contents);
  checkReferences(schema, contents);
  checkIndexes(schema, contents);
}

function collectGarbage(schema: DatabaseSchema, contents: Contents): void {
  for (;;) {
    const alive = new Set<string>();
    for (const { from, to, isStrong } of references(schema, contents)) {
      if (isStrong && !(from.table === to.table && from.uuid === to.uuid)) alive.add(to.uuid);
    }
    let removed = 0;
    for (const [name, rows] of contents) {
      if (schema.tables.get(name)?.isRoot === true) continue;
      for (const uuid of rows.keys()) {
        if (alive.has(uuid)) continue;
        rows.delete(uuid);
        removed++;
      }
    }
    if (removed === 0) return;
  }
}

function dropWeakReferences(schema: DatabaseSchema, contents: Contents): void {
  for (const { from, to, isStrong } of references(schema, contents)) {
    if (isStrong || contents.get(to.table)?.get(to.uuid) !== undefined) continue;
    const type = columnOf(tableOf(schema, from.table), from.column).type;
    const row = contents.get(from.table)?.get(from.uuid);
    const rest = members(row?.get(from.column)).filter((member) => member !== to.uuid);
    contents
      .get(from.table)
      ?.set(from.uuid, new Map([...(row ?? []), [from.column, toDatum(type, rest)]]));
  }
}

function checkReferences(schema: DatabaseSchema, contents: Contents): void {
  for (const { from, to, isStrong } of references(schema, contents)) {
    if (!isStrong || contents.get(to.table)?.get(to.uuid) !== undefined) continue;
    throw new OvsdbError(
      'referential integrity violation',
      `Table ${from.table} column ${from.column} row ${from.uuid} references nonexistent row ${to.uuid} in table ${to.table}.`,
    );
  }
}

function checkIndexes(schema: DatabaseSchema, contents: Contents): void {
  for (const [name, rows] of contents) {
    for (const index of schema.tables.get(name)?.indexes ?? []) {
      const seen = new Set<string>();
      for (const columns of rows.values()) {
        const value = JSON.stringify(
          index.map((column) =>
            members(
              columns.get(column) ?? defaultDatum(columnOf(tableOf(schema, name), column).type),
            ),
          ),
        );
        if (seen.has(value)) {
          throw new OvsdbError(
            'constraint violation',
            `Transaction causes multiple rows in "${name}" table to have identical values (${value}) for index on column "${index.join(', ')}".`,
          );
        }
        seen.add(value);
      }
    }
  }
}

export interface Reference {
  readonly from: Referrer;
  readonly to: { readonly table: string; readonly uuid: string };
  readonly isStrong: boolean;
}

/** Every reference that there is, to rows that are not there, too. */
export function* references(schema: DatabaseSchema, contents: Contents): Iterable<Reference> {
  for (const [table, rows] of contents) {
    for (const column of schema.tables.get(table)?.columns.values() ?? []) {
      const { refTable, refType } = column.type.key;
      if (refTable === undefined) continue;
      for (const [uuid, columns] of rows) {
        for (const target of members(columns.get(column.name))) {
          yield {
            from: { table, column: column.name, uuid: uuid as Uuid },
            to: { table: refTable, uuid: String(target) },
            isStrong: refType !== 'weak',
          };
        }
      }
    }
  }
}
