// Writes docs/reference/fields.md from schemas/crds/*.yaml: every field of every kind that Heddle serves, as an API server judges it. With --check: exits 1
// when the page does not hold what the definitions say.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-validations'?: readonly { readonly rule: string; readonly message?: string }[];
}
interface Definition {
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: { readonly kind: string; readonly plural: string; readonly shortNames?: readonly string[] };
    readonly versions: readonly {
      readonly name: string;
      readonly storage: boolean;
      readonly additionalPrinterColumns?: readonly { readonly name: string; readonly priority?: number }[];
      readonly schema: { readonly openAPIV3Schema: Schema };
    }[];
  };
}

const FOLDER = join(import.meta.dirname, 'crds');
const TARGET = join(import.meta.dirname, '../docs/reference/fields.md');

/** As a cell of a table can have it. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ').trim();
const code = (value: unknown): string => `\`${cell(typeof value === 'string' ? value : JSON.stringify(value))}\``;
const list = (values: readonly unknown[]): string => values.map(code).join(', ');

const between = (least: number | undefined, most: number | undefined, what: string): string | undefined => {
  if (least === undefined && most === undefined) return undefined;
  if (least === most) return `${least}${what}`;
  if (most === undefined) return `at least ${least}${what}`;
  return least === undefined ? `at most ${most}${what}` : `${least}–${most}${what}`;
};

const namesOf = ({ properties = {} }: Schema): string => Object.keys(properties).sort().join();
/** Everybody's of Kubernetes: their fields are said once, at the top of the page. */
const isSelector = (schema: Schema): boolean => namesOf(schema) === 'matchExpressions,matchLabels';
const isCondition = (schema: Schema): boolean => ['message', 'reason', 'status', 'type'].every((name) => schema.properties?.[name] !== undefined);

function typeOf(schema: Schema): string {
  if (isSelector(schema)) return 'label selector';
  if (isCondition(schema)) return 'condition';
  if (schema['x-kubernetes-int-or-string'] === true) return 'integer or string';
  if (schema.type === 'array') return `list of ${schema.items === undefined ? 'anything' : plural(typeOf(schema.items))}`;
  const { additionalProperties: values } = schema;
  if (typeof values === 'object') return `map of ${plural(typeOf(values))}`;
  return schema.type ?? 'anything';
}
const plural = (type: string): string => (/^(?:list|map|any)/.test(type) ? type : `${type}s`);

function limitsOf(schema: Schema): readonly string[] {
  const { items } = schema;
  return [
    schema.enum === undefined ? undefined : list(schema.enum),
    between(schema.minimum, schema.maximum, ''),
    between(schema.minLength, schema.maxLength, ' characters'),
    between(schema.minItems, schema.maxItems, ' items'),
    between(schema.minProperties, schema.maxProperties, ' of its fields'),
    schema.pattern === undefined ? undefined : `matches ${code(schema.pattern)}`,
    schema.default === undefined ? undefined : `default ${code(schema.default)}`,
    schema['x-kubernetes-list-map-keys'] === undefined ? undefined : `one for each ${list(schema['x-kubernetes-list-map-keys'])}`,
    // Of plain members of a list nothing else is said anywhere.
    ...(items === undefined || items.properties !== undefined ? [] : limitsOf(items).map((limit) => `each ${limit}`)),
  ].filter((limit) => limit !== undefined);
}

const rulesOf = (schema: Schema): readonly string[] => [
  ...(schema['x-kubernetes-validations'] ?? []).map(({ rule, message }) => cell(message ?? code(rule))),
  ...(schema.items === undefined || schema.items.properties !== undefined ? [] : rulesOf(schema.items)),
];

/** A line for each field below a schema, and for what it holds. */
function fieldsOf(schema: Schema, path: string): readonly string[] {
  if (isSelector(schema) || isCondition(schema)) return [];
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties).flatMap(([name, field]) => {
    const own = `${path}${name}`;
    const rules = [...new Set(rulesOf(field))];
    const line = [
      code(own),
      [typeOf(field) + (required.includes(name) ? ', required' : ''), ...limitsOf(field)].join('; '),
      [cell(field.description ?? ''), ...rules.map((rule) => `*${rule}*`)].filter((text) => text !== '').join(' · '),
    ];
    const values = typeof field.additionalProperties === 'object' ? field.additionalProperties : undefined;
    return [
      `| ${line.join(' | ')} |`,
      ...fieldsOf(field, `${own}.`),
      ...(field.items === undefined ? [] : fieldsOf(field.items, `${own}[].`)),
      // Members of a list are judged together.
      ...(field.items?.properties === undefined || rulesOf(field.items).length === 0
        ? []
        : [`| ${code(`${own}[]`)} | each | ${[...new Set(rulesOf(field.items))].map((rule) => `*${rule}*`).join(' · ')} |`]),
      ...(values === undefined ? [] : fieldsOf(values, `${own}.*.`)),
    ];
  });
}

function kindPage({ spec: { group, scope, names, versions } }: Definition): readonly string[] {
  return versions.flatMap(({ name, storage, additionalPrinterColumns = [], schema: { openAPIV3Schema: schema } }) => {
    const { apiVersion: _version, kind: _kind, metadata: _metadata, ...own } = schema.properties ?? {};
    const rules = [...new Set([...rulesOf(schema), ...rulesOf(own['spec'] ?? {})])];
    const columns = additionalPrinterColumns.filter(({ priority = 0 }) => priority === 0).map((column) => column.name.toUpperCase());
    return [
      '',
      `## ${names.kind} ${group}/${name}`,
      '',
      [
        cell(schema.description ?? ''),
        `${scope}, \`kubectl get ${[...(names.shortNames ?? []), names.plural].join('`, `')}\``,
        ...(columns.length === 0 ? [] : [`columns ${columns.join(', ')}`]),
        ...(versions.length === 1 ? [] : [storage ? 'stored' : 'converted']),
      ]
        .filter((text) => text !== '')
        .join(' · '),
      ...(rules.length === 0 ? [] : ['', ...rules.map((rule) => `- *${rule}*`)]),
      '',
      '| Field | Value | Meaning |',
      '|---|---|---|',
      ...Object.entries(own).flatMap(([field, held]) => [
        ...(held.properties === undefined
          ? fieldsOf({ properties: { [field]: held }, required: schema.required ?? [] }, '')
          : fieldsOf(held, `${field}.`)),
      ]),
    ];
  });
}

const text = `${[
  '# Fields',
  '',
  'Written by `npm run generate` from `schemas/crds`, which an API server judges objects by, and `heddle validate` as well. What the kinds are for, and what fields mean together, is in [../api.md](../api.md). In *italics* is what is said to an object that breaks a rule; `[]` is a member of a list, `*` a key of a map. Label selectors (`matchLabels`, `matchExpressions` with `key`, `operator` and `values`) and conditions (`type`, `status`, `reason`, `message`, `lastTransitionTime`, `observedGeneration`) are those of Kubernetes.',
  ...readdirSync(FOLDER)
    .filter((name) => name.endsWith('.yaml'))
    .sort()
    .flatMap((name) => kindPage(parse(readFileSync(join(FOLDER, name), 'utf8')) as Definition)),
].join('\n')}\n`;

if (!process.argv.includes('--check')) writeFileSync(TARGET, text);
else if (readFileSync(TARGET, 'utf8') !== text) {
  console.error('docs/reference/fields.md is out of date: run `npm run generate`');
  process.exitCode = 1;
}
