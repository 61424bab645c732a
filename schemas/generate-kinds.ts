// Writes src/api/kinds.generated.ts from schemas/crds/*.yaml: spec and status of each kind as the API server takes them, so that
// a value that a definition does not know does not compile. With --check: exits 1 when the file does not hold what the YAML says.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
}

interface Definition {
  readonly spec: {
    readonly names: { readonly kind: string };
    readonly versions: readonly {
      readonly name: string;
      readonly storage: boolean;
      readonly schema: { readonly openAPIV3Schema: Schema };
    }[];
  };
}

const SCALARS: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
};

const folder = join(import.meta.dirname, 'crds');
const file = 'src/api/kinds.generated.ts';
const target = join(import.meta.dirname, '..', file);

/** The TypeScript type of a schema. `at`: where it is, for errors; `indent`: of the line that it ends on. */
function typeOf(schema: Schema, at: string, indent: string): string {
  if (schema.enum !== undefined) return schema.enum.map((one) => `'${one}'`).join(' | ');
  if (schema.properties !== undefined)
    return ['{', ...fieldsOf(schema, at, `${indent}  `), `${indent}}`].join('\n');
  if (schema.additionalProperties !== undefined)
    return `Readonly<Record<string, ${typeOf(schema.additionalProperties, `${at}.*`, indent)}>>`;
  if (schema.items !== undefined) {
    const item = typeOf(schema.items, `${at}[]`, indent);
    return schema.items.enum === undefined ? `readonly ${item}[]` : `readonly (${item})[]`;
  }
  const scalar = SCALARS[schema.type ?? ''];
  if (scalar !== undefined) return scalar;
  if (schema.type === 'object') return 'object';
  throw new Error(`${at}: no type for ${JSON.stringify(schema)}`);
}

const fieldsOf = (
  { properties = {}, required = [] }: Schema,
  at: string,
  indent: string,
): readonly string[] =>
  Object.entries(properties).map(([name, schema]) => {
    const mark = required.includes(name) ? '' : '?';
    return `${indent}readonly ${name}${mark}: ${typeOf(schema, `${at}.${name}`, indent)};`;
  });

function interfaceOf({ spec }: Definition): string {
  const { kind } = spec.names;
  const stored = spec.versions.find(({ storage }) => storage);
  if (stored === undefined) throw new Error(`${kind}: no version is stored`);
  const { properties = {}, required = [] } = stored.schema.openAPIV3Schema;
  const own = Object.fromEntries(
    Object.entries(properties).filter(
      ([name]) => !['apiVersion', 'kind', 'metadata'].includes(name),
    ),
  );
  return [
    '',
    `/** Of ${kind}, as version ${stored.name} stores it. */`,
    `export interface ${kind}Fields {`,
    ...fieldsOf({ properties: own, required }, kind, '  '),
    '}',
  ].join('\n');
}

const definitions = readdirSync(folder)
  .filter((name) => name.endsWith('.yaml'))
  .sort()
  .map((name) => parse(readFileSync(join(folder, name), 'utf8')) as Definition);
const text = [
  '// Written by `npm run generate` from schemas/crds/*.yaml. Edit the YAML instead.',
  ...definitions.map(interfaceOf),
  '',
].join('\n');

if (!process.argv.includes('--check')) {
  writeFileSync(target, text);
} else if (readFileSync(target, 'utf8') !== text) {
  console.error(`${file} does not match schemas/crds: run \`npm run generate\``);
  process.exitCode = 1;
}
