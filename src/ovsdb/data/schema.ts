import { located, OvsdbError, shorten, syntaxError } from './error.ts';
import {
  columnTypeToJson,
  isId,
  parseColumnType,
  UINT_MAX,
  type ColumnType,
} from './column-type.ts';
import { isObject, numericValue } from './json.ts';
import { Members } from './members.ts';
import type { JsonValue } from './value.ts';

/** Schemas of databases (RFC 7047 §3.2), with ovsdb-server's rules about references. */

export interface ColumnSchema {
  readonly name: string;
  readonly type: ColumnType;
  readonly mutable: boolean;
  readonly ephemeral: boolean;
}

export interface TableSchema {
  readonly name: string;
  readonly columns: ReadonlyMap<string, ColumnSchema>;
  readonly maxRows: number;
  /** False: rows may be inserted and deleted but not changed. */
  readonly mutable: boolean;
  /** False: a row lives only while a strong reference points at it. */
  readonly isRoot: boolean;
  /** Column lists that are unique over the table. */
  readonly indexes: readonly (readonly string[])[];
}

export interface DatabaseSchema {
  readonly name: string;
  /** `x.y.z`; empty in old schemas that have none. */
  readonly version: string;
  readonly cksum: string;
  readonly tables: ReadonlyMap<string, TableSchema>;
  /** Tables that the database has besides, of a replica that does not follow them. */
  readonly notFollowed?: ReadonlySet<string>;
}

const VERSION = /^[0-9]+\.[0-9]+\.[0-9]+$/;

/** The implicit columns of each table. */
export const UUID_COLUMN: ColumnSchema = {
  name: '_uuid',
  type: { key: { type: 'uuid' }, min: 1, max: 1 },
  mutable: false,
  ephemeral: false,
};
export const VERSION_COLUMN: ColumnSchema = { ...UUID_COLUMN, name: '_version', ephemeral: true };

/** The column, the implicit ones included; throws `unknown column`, about `json` if that is what names it. */
export function columnOf(table: TableSchema, name: string, json?: JsonValue): ColumnSchema {
  const column = table.columns.get(name);
  if (column !== undefined) return column;
  if (name === '_uuid') return UUID_COLUMN;
  if (name === '_version') return VERSION_COLUMN;
  throw new OvsdbError(
    'unknown column',
    `No column ${name} in table ${table.name}.`,
    json === undefined ? undefined : { syntax: shorten(json) },
  );
}

/** The error about a table that is not there: `unknown table`. */
export const unknownTable = (schema: DatabaseSchema, name: string): OvsdbError =>
  new OvsdbError(
    'unknown table',
    schema.notFollowed?.has(name) === true
      ? `table ${name} is not among the tables that are followed: select it, with \`columns: []\` if it is only written`
      : `database ${schema.name} has no table ${name}`,
  );

/** Throws `unknown table`. */
export function tableOf(schema: DatabaseSchema, name: string): TableSchema {
  const table = schema.tables.get(name);
  if (table === undefined) throw unknownTable(schema, name);
  return table;
}

/** What is wrong in the server's words, then where. */
const within = <T>(where: string, read: () => T): T =>
  located((details) => `${details} (${where})`, read);

function checkName(name: string, json: JsonValue): void {
  if (name.startsWith('_')) throw syntaxError('names beginning with "_" are reserved', json);
  if (!isId(name))
    throw syntaxError('name must be a valid id (a letter or _, then letters, digits and _)', json);
}

/** `<column-schema>`. */
export function parseColumnSchema(json: JsonValue, name: string): ColumnSchema {
  const read = new Members(json, `schema for column ${name}`);
  const mutable = read.boolean('mutable', true);
  const ephemeral = read.boolean('ephemeral', false);
  const given = read.required('type');
  if (typeof given !== 'string' && !isObject(given)) read.mismatch('type');
  read.finish();
  const type = parseColumnType(given);
  const isWeak = type.key.refType === 'weak' || type.value?.refType === 'weak';
  return { name, type, mutable: mutable || isWeak, ephemeral };
}

function parseIndexes(
  json: JsonValue | undefined,
  table: string,
  columns: ReadonlyMap<string, ColumnSchema>,
): readonly (readonly string[])[] {
  if (json === undefined) return [];
  return (json as readonly JsonValue[]).map((index) => {
    if (!Array.isArray(index))
      throw syntaxError(`array of distinct column names expected (table ${table})`, index);
    if (index.length === 0)
      throw syntaxError(`index must have at least one column (table ${table})`, index);
    const names = index.map((name: unknown) => {
      if (typeof name !== 'string')
        throw syntaxError(`array of distinct column names expected (table ${table})`, index);
      const column = columns.get(name);
      if (column === undefined)
        throw syntaxError(`${name} is not a valid column name (table ${table})`, index);
      if (column.ephemeral) {
        throw syntaxError(
          `ephemeral columns (such as ${column.name}) may not be indexed (table ${table})`,
          index,
        );
      }
      return column.name;
    });
    if (new Set(names).size !== names.length) {
      throw syntaxError(
        `array of distinct column names expected (table ${table}: one is named twice)`,
        index,
      );
    }
    return names;
  });
}

/** `<table-schema>`. */
export function parseTableSchema(json: JsonValue, name: string): TableSchema {
  const what = `table ${name}`;
  const read = new Members(json, `table schema for table ${name}`);
  const given = read.required('columns');
  if (!isObject(given)) return read.mismatch('columns');
  const mutable = read.boolean('mutable', true);
  const limit = read.optional('maxRows');
  const rows = limit === undefined ? Infinity : numericValue(limit, 'integer');
  if (rows === undefined) return read.mismatch('maxRows');
  const isRoot = read.boolean('isRoot', false);
  const indexes = read.optional('indexes');
  if (indexes !== undefined && !Array.isArray(indexes)) return read.mismatch('indexes');
  read.finish();
  if (rows <= 0) throw syntaxError(`maxRows must be at least 1 (${what})`, json);
  if (Object.keys(given).length === 0)
    throw syntaxError(`table must have at least one column (${what})`, json);
  const columns = new Map<string, ColumnSchema>();
  for (const [column, schema] of Object.entries(given)) {
    within(`column ${column} of ${what}`, () => {
      checkName(column, json);
      columns.set(column, parseColumnSchema(schema, column));
    });
  }
  return {
    name,
    columns,
    maxRows: rows >= UINT_MAX ? Infinity : Number(rows),
    mutable,
    isRoot,
    indexes: parseIndexes(indexes, name, columns),
  };
}

function checkReferences(
  table: TableSchema,
  tables: ReadonlyMap<string, TableSchema>,
): TableSchema {
  const columns = new Map(table.columns);
  for (const column of table.columns.values()) {
    let { ephemeral } = column;
    for (const base of [column.type.key, column.type.value]) {
      if (base?.refTable === undefined) continue;
      const target = tables.get(base.refTable);
      if (target === undefined) {
        throw syntaxError(
          `column ${column.name} ${base === column.type.key ? 'key' : 'value'} refers to undefined table ${base.refTable} (table ${table.name})`,
        );
      }
      // A strong reference that is not stored could not keep a garbage-collected row alive.
      if (base.refType !== 'weak' && ephemeral && !target.isRoot) ephemeral = false;
    }
    columns.set(column.name, { ...column, ephemeral });
  }
  return { ...table, columns };
}

/** `<database-schema>`, from JSON (`get_schema`, an .ovsschema file, `_Server`). Throws `syntax error`. */
export function parseSchema(json: JsonValue): DatabaseSchema {
  const read = new Members(json, 'database schema');
  const name = read.required('name');
  if (typeof name !== 'string' || !isId(name)) return read.mismatch('name');
  const version = read.string('version', '');
  const cksum = read.string('cksum', '');
  const given = read.required('tables');
  if (!isObject(given)) return read.mismatch('tables');
  // The name of a schema of schemas, which ovsdb-server passes over.
  read.optional('$schema');
  read.finish();
  if (version !== '' && !VERSION.test(version))
    throw syntaxError(`schema version "${version}" not in format x.y.z`, json);
  const tables = new Map<string, TableSchema>();
  for (const [table, schema] of Object.entries(given)) {
    within(`table ${table} of schema ${name}`, () => {
      checkName(table, json);
    });
    tables.set(table, parseTableSchema(schema, table));
  }
  // Without any root table every table is one: nothing is collected (schemas older than isRoot).
  if (![...tables.values()].some((table) => table.isRoot)) {
    for (const [key, table] of tables) tables.set(key, { ...table, isRoot: true });
  }
  for (const [key, table] of tables) tables.set(key, checkReferences(table, tables));
  return { name, version, cksum, tables };
}

export function columnSchemaToJson(column: ColumnSchema): JsonValue {
  return {
    type: columnTypeToJson(column.type),
    ...(column.mutable ? {} : { mutable: false }),
    ...(column.ephemeral ? { ephemeral: true } : {}),
  };
}

/** The table in canonical form; `isRoot` is written where it is not `rootByDefault`. */
export function tableSchemaToJson(table: TableSchema, rootByDefault = false): JsonValue {
  return {
    columns: Object.fromEntries(
      // `_version` is one that each table has, and none of a schema.
      [...table.columns].flatMap(([name, c]) =>
        c === VERSION_COLUMN ? [] : [[name, columnSchemaToJson(c)]],
      ),
    ),
    ...(table.maxRows === Infinity ? {} : { maxRows: table.maxRows }),
    ...(table.mutable ? {} : { mutable: false }),
    ...(table.isRoot === rootByDefault ? {} : { isRoot: table.isRoot }),
    ...(table.indexes.length === 0 ? {} : { indexes: table.indexes }),
  };
}

/** The schema in canonical form. When every table is a root, none says so. */
export function schemaToJson(schema: DatabaseSchema): JsonValue {
  const allRoot = [...schema.tables.values()].every((table) => table.isRoot);
  return {
    name: schema.name,
    ...(schema.version === '' ? {} : { version: schema.version }),
    ...(schema.cksum === '' ? {} : { cksum: schema.cksum }),
    tables: Object.fromEntries(
      [...schema.tables].map(([name, t]) => [name, tableSchemaToJson(t, allRoot)]),
    ),
  };
}
