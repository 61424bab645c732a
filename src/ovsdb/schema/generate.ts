#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { OvsdbError } from '../data/error.ts';
import { cardinality, type BaseType } from '../data/column-type.ts';
import {
  parseSchema,
  type ColumnSchema,
  type DatabaseSchema,
  type TableSchema,
} from '../data/schema.ts';
import type { JsonValue } from '../data/value.ts';

const isSafe = (bound: number | bigint | undefined): boolean =>
  bound !== undefined && Number.isSafeInteger(Number(bound));

/** TypeScript type of one member of a column. */
function memberType(base: BaseType): string {
  if (base.enum !== undefined) {
    return base.enum
      .map((atom) => (typeof atom === 'string' ? quote(atom) : String(atom)))
      .join(' | ');
  }
  switch (base.type) {
    case 'integer':
      return isSafe(base.minInteger) && isSafe(base.maxInteger) ? 'number' : 'Integer';
    case 'real':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'string':
      return 'string';
    case 'uuid':
      return 'Uuid';
  }
}

const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** TypeScript type that reading a column gives. A scalar string with an enum is empty until it is first set. */
function readType(column: ColumnSchema): string {
  const { type } = column;
  const member = memberType(type.key);
  switch (cardinality(type)) {
    case 'scalar':
      return type.key.enum !== undefined &&
        type.key.type === 'string' &&
        !type.key.enum.includes('')
        ? `${member} | ''`
        : member;
    case 'optional':
      return `${member} | undefined`;
    case 'set':
      return `readonly ${member.includes('|') ? `(${member})` : member}[]`;
    case 'map':
      return `ReadonlyMap<${member}, ${type.value === undefined ? 'never' : memberType(type.value)}>`;
  }
}

/** The comment above a column that refers to rows. */
const references = (column: ColumnSchema, indent: string): string => {
  const targets = [column.type.key, column.type.value].flatMap((base) =>
    base?.refTable === undefined
      ? []
      : [`${base.refType === 'weak' ? 'weak ' : ''}${base.refTable}`],
  );
  return targets.length === 0 ? '' : `${indent}/** Refers to ${targets.join(' and ')}. */\n`;
};

/** Schema names such as `Open_vSwitch` and `NAT` are kept: they are the names in the database. */
function tableText(table: TableSchema): string {
  const columns = [...table.columns.values()].map(
    (column) =>
      `${references(column, '  ')}  readonly ${column.name}: Column<${readType(column)}${column.mutable ? '' : ', false'}>;\n`,
  );
  const root = table.isRoot ? '' : '/** Lives only while a strong reference points at it. */\n';
  return `${root}export interface ${table.name} {\n${columns.join('')}}\n`;
}

/** TypeScript type of one member of a column in a desired row: another desired row where the column refers to rows. */
const desiredMember = (base: BaseType): string =>
  base.refTable === undefined ? memberType(base) : 'Reference';

/** TypeScript type of a column in a desired row. */
function desiredType({ type }: ColumnSchema): string {
  const member = desiredMember(type.key);
  switch (cardinality(type)) {
    case 'scalar':
    case 'optional':
      return member;
    case 'set':
      return `readonly ${member.includes('|') ? `(${member})` : member}[]`;
    case 'map': {
      const value = type.value === undefined ? 'never' : desiredMember(type.value);
      return member === 'string' && value === 'string'
        ? 'StringMap'
        : `ReadonlyMap<${member}, ${value}>`;
    }
  }
}

/** Columns of a desired row. Immutable ones are among them: they are set when the row is inserted. */
function desiredText(table: TableSchema): string {
  const columns = [...table.columns.values()].map(
    (column) =>
      `${references(column, '    ')}    readonly ${column.name}?: ${desiredType(column)} | undefined;\n`,
  );
  return `  readonly ${table.name}: {\n${columns.join('')}  };\n`;
}

/** Where the parts of a generated file come from. */
interface GeneratedFile {
  /** First line. */
  readonly comment: string;
  /** Name of the interface of all tables. */
  readonly name: string;
  /** Module that exports `Column`, `Integer` and `Uuid`. */
  readonly client: string;
  /** Module that exports `Reference` and `StringMap`: the file has the types of desired rows. */
  readonly rows: string | undefined;
  /** Tables that it has; all by default. */
  readonly tables: readonly string[] | undefined;
}

/** Those of these types that a text uses. */
const used = (text: string, types: readonly string[]): readonly string[] =>
  types.filter((type) => new RegExp(`\\b${type}\\b`).test(text));

/** Text of the generated file of one schema. */
function generatedText(schema: DatabaseSchema, file: GeneratedFile): string {
  const tables = [...schema.tables.values()].filter(
    ({ name }) => file.tables?.includes(name) ?? true,
  );
  const about = `${schema.name} ${schema.version}`;
  const text =
    file.rows === undefined
      ? `${tables.map(tableText).join('\n')}
/** Tables of ${about}. */
export interface ${file.name} {
${tables.map((t) => `  readonly ${t.name}: ${t.name};\n`).join('')}}
`
      : `/** Desired rows of ${about}: what each column may be given. */
export interface ${file.name} {
${tables.map(desiredText).join('')}}
`;
  const imports = [
    [file.client, used(text, ['Column', 'Integer', 'Uuid'])] as const,
    [file.rows, used(text, ['Reference', 'StringMap'])] as const,
  ];
  return [
    `// ${file.comment}\n`,
    ...imports.map(([module, names]) =>
      names.length === 0 ? '' : `import type { ${names.join(', ')} } from '${module}';\n`,
    ),
    `\n${text}`,
  ].join('');
}

const CLIENT = 'ovsdb-client-ts';

const USAGE = `usage: ${basename(import.meta.filename)} SCHEMA_FILE INTERFACE [MODULE] [--rows MODULE] [--tables NAMES]

Writes the types of the tables of a schema (.ovsschema, JSON) to standard output. INTERFACE names the type of all tables, MODULE is where
the program imports the client from (${CLIENT} by default).

  --rows MODULE    the types of desired rows instead. MODULE is a file of the program's own that exports the types "Reference" (another
                   desired row) and "StringMap" (a map of strings)
  --tables NAMES   only these tables, with commas between them
`;

/** Writes the types of a schema; the message and the exit code of an error. */
function print(path: string, file: Omit<GeneratedFile, 'comment'>): readonly [string, number] {
  const { name } = file;
  if (!/^[A-Za-z_]\w*$/.test(name)) return [`"${name}" is no name for an interface`, 2];
  let schema: DatabaseSchema;
  try {
    schema = parseSchema(JSON.parse(readFileSync(path, 'utf8')) as JsonValue);
  } catch (error) {
    const why =
      error instanceof OvsdbError
        ? error.details
        : error instanceof Error
          ? error.message
          : String(error);
    return [`${path}: ${why}`, 1];
  }
  if (schema.tables.has(name)) return [`${name} is a table: choose another name`, 2];
  const unknown = file.tables?.find((table) => !schema.tables.has(table));
  if (unknown !== undefined) return [`${schema.name} has no table "${unknown}"`, 2];
  const comment = `Types of the tables of ${schema.name} ${schema.version}, from ${basename(path)}.`;
  process.stdout.write(generatedText(schema, { ...file, comment }));
  return ['', 0];
}

function main(args: readonly string[]): number {
  let parsed: ReturnType<typeof readArguments>;
  try {
    parsed = readArguments(args);
  } catch (error) {
    // Options that are not known.
    process.stderr.write(`${(error as Error).message}\n${USAGE}`);
    return 2;
  }
  const { values, positionals } = parsed;
  const [path, name, client = CLIENT] = positionals;
  if (values.help === true) {
    process.stdout.write(USAGE);
    return 0;
  }
  if (path === undefined || name === undefined || positionals.length > 3) {
    process.stderr.write(USAGE);
    return 2;
  }
  const tables = values.tables?.split(',');
  const [message, code] = print(path, { name, client, rows: values.rows, tables });
  if (message !== '') process.stderr.write(`${message}\n`);
  return code;
}

const readArguments = (args: readonly string[]) =>
  parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { help: { type: 'boolean' }, rows: { type: 'string' }, tables: { type: 'string' } },
  });

if (import.meta.main) process.exitCode = main(process.argv.slice(2));
