/** The part of a structural schema (apiextensions.k8s.io/v1) that our CRDs use, and what it does to an object's shape. */
import { isPlainObject, type PlainObject } from '../plain-object.ts';
import type { FieldPath, FieldWarning } from './field-errors.ts';
import { unknownField } from './field-errors.ts';

export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly fieldPath?: string;
  readonly reason?: string;
  readonly optionalOldSelf?: boolean;
}

export interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly description?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly nullable?: boolean;
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[];
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
}

function shapeObject(
  schema: Schema,
  value: PlainObject,
  path: FieldPath,
  warnings: FieldWarning[],
): PlainObject {
  const entries: [string, unknown][] = [];
  for (const key of Object.keys(value)) {
    const child = value[key];
    if (child === undefined) continue;
    const properties = schema.properties ?? {};
    const known = Object.hasOwn(properties, key) ? properties[key] : schema.additionalProperties;
    if (known === undefined) {
      warnings.push(unknownField([...path, key], Object.keys(properties)));
    } else if (child !== null || known.nullable === true) {
      const isPlain = typeof child !== 'object';
      entries.push([key, isPlain ? child : shape(known, child, [...path, key], warnings)]);
    }
  }
  const result = Object.fromEntries(entries);
  for (const [key, child] of Object.entries(schema.properties ?? {})) {
    if (child.default !== undefined && !Object.hasOwn(result, key)) {
      result[key] = structuredClone(child.default);
    }
  }
  return result;
}

/**
 * `value` with unknown fields and nulls removed and defaults filled in, as the API server stores it. Every removed
 * field is named in `warnings`. Values of a wrong type are kept, for validation to report.
 */
export function shape(
  schema: Schema,
  value: unknown,
  path: FieldPath,
  warnings: FieldWarning[],
): unknown {
  if (schema.type === 'object' && isPlainObject(value)) {
    return shapeObject(schema, value, path, warnings);
  }
  const { items } = schema;
  if (schema.type === 'array' && Array.isArray(value) && items !== undefined) {
    return value.map((item: unknown, index) => shape(items, item, [...path, index], warnings));
  }
  return value;
}
