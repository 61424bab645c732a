#!/usr/bin/env node
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { OvsdbError } from '../data/error.ts';
import { cardinality, type BaseType } from '../data/column-type.ts';
import {
  parseSchema,
  type ColumnSchema,
  type DatabaseSchema,
  type TableSchema,
} from '../data/schema.ts';
import type { JsonValue } from '../data/value.ts';

/** Which schema gives which file of types. */
const SOURCES = [
  { schema: 'ovn-nb.ovsschema', file: 'northbound.generated.ts', name: 'Northbound' },
  { schema: 'ovn-sb.ovsschema', file: 'southbound.generated.ts', name: 'Southbound' },
  { schema: 'vswitch.ovsschema', file: 'vswitch.generated.ts', name: 'OpenVSwitch' },
] as const;

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

const references = (column: ColumnSchema): string => {
  const targets = [column.type.key, column.type.value].flatMap((base) =>
    base?.refTable === undefined
      ? []
      : [`${base.refType === 'weak' ? 'weak ' : ''}${base.refTable}`],
  );
  return targets.length === 0 ? '' : `  /** Refers to ${targets.join(' and ')}. */\n`;
};

/** Schema names such as `Open_vSwitch` and `NAT` are kept: they are the names in the database. */
function tableText(table: TableSchema): string {
  const columns = [...table.columns.values()].map(
    (column) =>
      `${references(column)}  readonly ${column.name}: Column<${readType(column)}${column.mutable ? '' : ', false'}>;\n`,
  );
  const root = table.isRoot ? '' : '/** Lives only while a strong reference points at it. */\n';
  return `${root}export interface ${table.name} {\n${columns.join('')}}\n`;
}

/** Where the parts of a generated file come from. */
interface GeneratedFile {
  /** First line. */
  readonly comment: string;
  /** Name of the interface of all tables. */
  readonly name: string;
  /** Modules that export `Column`, and `Integer` and `Uuid`. */
  readonly columns: string;
  readonly values: string;
}

/** Text of the generated file of one schema. */
function generatedText(schema: DatabaseSchema, file: GeneratedFile): string {
  const tables = [...schema.tables.values()];
  const body = tables.map(tableText).join('\n');
  const values = ['Integer', 'Uuid'].filter((type) => new RegExp(`\\b${type}\\b`).test(body));
  const modules =
    file.columns === file.values
      ? [[file.columns, ['Column', ...values]] as const]
      : [[file.columns, ['Column']] as const, [file.values, values] as const];
  return [
    `// ${file.comment}\n`,
    ...modules.map(([module, names]) =>
      names.length === 0 ? '' : `import type { ${names.join(', ')} } from '${module}';\n`,
    ),
    `\n${body}\n`,
    `/** Tables of ${schema.name} ${schema.version}. */\n`,
    `export interface ${file.name} {\n${tables.map((t) => `  readonly ${t.name}: ${t.name};\n`).join('')}}\n`,
  ].join('');
}

const read = (path: string): DatabaseSchema =>
  parseSchema(JSON.parse(readFileSync(path, 'utf8')) as JsonValue);

/** From sources the client is imported as in the documentation, from the package by its name. */
const CLIENT = import.meta.filename.endsWith('.ts') ? './src/ovsdb/index.ts' : 'heddle-ovsdb';

const USAGE = `usage: ${basename(import.meta.filename)} SCHEMA_FILE INTERFACE [MODULE]

Writes the types of the tables of a schema (.ovsschema, JSON) to standard output. INTERFACE names the type of all tables, MODULE is where
the program imports the client from (${CLIENT} by default).
`;

/** Types of any schema: its file, the name of the interface, and where to import the client from. Gives the exit code. */
function print(path: string, name: string, client: string): number {
  const refuse = (code: number, what: string): number => {
    process.stderr.write(`${what}\n`);
    return code;
  };
  if (!/^[A-Za-z_]\w*$/.test(name)) return refuse(2, `"${name}" is no name for an interface`);
  let schema: DatabaseSchema;
  try {
    schema = read(path);
  } catch (error) {
    const why =
      error instanceof OvsdbError
        ? error.details
        : error instanceof Error
          ? error.message
          : String(error);
    return refuse(1, `${path}: ${why}`);
  }
  if (schema.tables.has(name)) return refuse(2, `${name} is a table: choose another name`);
  const comment = `Types of the tables of ${schema.name} ${schema.version}, from ${basename(path)}.`;
  process.stdout.write(generatedText(schema, { comment, name, columns: client, values: client }));
  return 0;
}

const SCHEMAS = resolve(import.meta.dirname, '../../../schemas');

/** The types in this folder: written anew, or (`check`) compared. Gives the exit code. */
function ownTypes(check: boolean): number {
  let differing = 0;
  for (const { schema, file, name } of SOURCES) {
    const parsed = read(join(SCHEMAS, schema));
    const text = generatedText(parsed, {
      comment: `Written by \`npm run generate\` from schemas/${schema} ${parsed.version}. Edit the generator instead.`,
      name,
      columns: './column.ts',
      values: '../data/value.ts',
    });
    const path = join(import.meta.dirname, file);
    if (!check) {
      writeFileSync(path, text);
    } else if (readFileSync(path, 'utf8') !== text) {
      differing++;
      process.stderr.write(`${file} does not match schemas/${schema}: run \`npm run generate\`\n`);
    }
  }
  return differing === 0 ? 0 : 1;
}

function main(args: readonly string[]): number {
  const [first, name, client = CLIENT] = args;
  if (first === '--help') {
    process.stdout.write(USAGE);
    return 0;
  }
  // The schemas are not in the package.
  if (args.length === 0 && existsSync(SCHEMAS)) return ownTypes(false);
  if (first === '--check') return ownTypes(true);
  if (first !== undefined && !first.startsWith('-') && name !== undefined)
    return print(first, name, client);
  process.stderr.write(USAGE);
  return 2;
}

if (import.meta.main) process.exitCode = main(process.argv.slice(2));
