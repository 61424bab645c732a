/** Checks a value against the structural part of a schema with ajv, and words the result like an API server. */
import type { ErrorObject, ValidateFunction } from 'ajv';
import { Ajv } from 'ajv';
import { isCidrFormat } from './cidr-format.ts';
import type { FieldError, FieldPath } from './field-errors.ts';
import { formatPath, formatValue } from './field-errors.ts';
import type { Schema } from './schema.ts';
import { isPlainObject, own } from '../plain-object.ts';

const INT32 = 2 ** 31;

const isDateTime = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(text) &&
  !Number.isNaN(Date.parse(text));

let compiler: Ajv | undefined;
const compiled = new WeakMap<Schema, ValidateFunction>();

function validatorOf(schema: Schema): ValidateFunction {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  compiler ??= new Ajv({
    allErrors: true,
    strict: false,
    verbose: true,
    validateFormats: true,
    // ajv would compile `null` into the default; defaults are filled in by shape().
    useDefaults: false,
    formats: {
      int32: {
        type: 'number',
        validate: (value: number) => value >= -INT32 && value < INT32,
      },
      int64: { type: 'number', validate: Number.isInteger },
      'date-time': isDateTime,
      cidr: isCidrFormat,
    },
  });
  const validator = compiler.compile(schema);
  compiled.set(schema, validator);
  return validator;
}

/** A JSON pointer of ajv as path; array indexes become numbers. */
function pathOf(root: unknown, pointer: string): FieldPath {
  let at = root;
  return pointer
    .split('/')
    .slice(1)
    .map((part) => {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
      if (Array.isArray(at)) {
        at = at[Number(key)] as unknown;
        return Number(key);
      }
      at = isPlainObject(at) ? own(at, key) : undefined;
      return key;
    });
}

/** How the API server calls the type of a value. */
function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function fieldError(error: ErrorObject, root: unknown, base: FieldPath): FieldError {
  const path = [...base, ...pathOf(root, error.instancePath)];
  const value = error.data;
  const params = error.params as Readonly<Record<string, unknown>>;
  const limit = String(params['limit']);
  const invalid = (text: string): FieldError => ({
    type: 'Invalid',
    path,
    value,
    detail: `${formatPath(path)} in body ${text}`,
  });
  switch (error.keyword) {
    case 'required':
      return { type: 'Required', path: [...path, String(params['missingProperty'])], detail: '' };
    case 'type': {
      const actual = typeName(value);
      const detail = `${formatPath(path)} in body must be of type ${String(params['type'])}: "${actual}"`;
      return { type: 'TypeInvalid', path, value, detail };
    }
    case 'format': {
      const detail = `${formatPath(path)} in body must be of type ${String(params['format'])}: ${formatValue(value)}`;
      return { type: 'TypeInvalid', path, value, detail };
    }
    case 'enum': {
      const allowed = (params['allowedValues'] as unknown[]).map(formatValue).join(', ');
      return { type: 'NotSupported', path, value, detail: `supported values: ${allowed}` };
    }
    case 'maxLength':
      return { type: 'TooLong', path, value, detail: `may not be more than ${limit} bytes` };
    case 'maxItems':
    case 'maxProperties': {
      const count = Object.keys(value as object).length;
      const detail = `must have at most ${limit} item${limit === '1' ? '' : 's'}`;
      return { type: 'TooMany', path, value: count, detail };
    }
    case 'minItems':
      return invalid(`should have at least ${limit} items`);
    case 'minProperties':
      return invalid(`should have at least ${limit} properties`);
    case 'minLength':
      return invalid(`should be at least ${limit} chars long`);
    case 'minimum':
      return invalid(`should be greater than or equal to ${limit}`);
    case 'maximum':
      return invalid(`should be less than or equal to ${limit}`);
    case 'pattern':
      return invalid(`should match '${String(params['pattern'])}'`);
    default:
      return invalid(error.message ?? `breaks "${error.keyword}"`);
  }
}

/** Elements of sets and list-maps that occur twice. */
function duplicates(schema: Schema, value: unknown, path: FieldPath): FieldError[] {
  if (Array.isArray(value)) {
    const { items } = schema;
    const listType = schema['x-kubernetes-list-type'];
    const keys = schema['x-kubernetes-list-map-keys'] ?? [];
    const seen = new Set<string>();
    return value.flatMap((item: unknown, index) => {
      const found: FieldError[] = [];
      if (listType === 'set' || listType === 'map') {
        const identity =
          listType === 'map' && isPlainObject(item)
            ? Object.fromEntries(keys.map((key) => [key, own(item, key)]))
            : item;
        const text = JSON.stringify(identity);
        if (seen.has(text)) {
          found.push({ type: 'Duplicate', path: [...path, index], value: identity, detail: '' });
        }
        seen.add(text);
      }
      return [...found, ...(items === undefined ? [] : duplicates(items, item, [...path, index]))];
    });
  }
  if (!isPlainObject(value)) return [];
  return Object.keys(value).flatMap((key) => {
    const child = schema.properties?.[key] ?? schema.additionalProperties;
    return child === undefined || typeof value[key] !== 'object'
      ? []
      : duplicates(child, value[key], [...path, key]);
  });
}

/** Errors in types, bounds, patterns, required fields and list uniqueness. */
export function checkStructure(schema: Schema, value: unknown, path: FieldPath = []): FieldError[] {
  const validate = validatorOf(schema);
  validate(value);
  const errors = (validate.errors ?? []).map((error) => fieldError(error, value, path));
  return [...errors, ...duplicates(schema, value, path)];
}

/** Kinds of errors after which the API server does not evaluate rules, since their input has no known shape. */
export const blocksRules = (errors: readonly FieldError[]): boolean =>
  errors.some(({ type }) =>
    ['Required', 'TypeInvalid', 'NotSupported', 'TooLong', 'TooMany'].includes(type),
  );
