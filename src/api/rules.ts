/** Evaluates the `x-kubernetes-validations` of a schema over a value, and over its stored version on an update. */
import { Optional } from '@marcbachmann/cel-js';
import { celProgram, isTransitionRule } from './cel.ts';
import type { FieldError, FieldPath } from './field-errors.ts';
import type { Schema, ValidationRule } from './schema.ts';
import { isPlainObject, own } from './schema.ts';

/** Schemas under which no rule is found, so that labels and statuses are not walked for nothing. */
const ruleFree = new WeakMap<Schema, boolean>();

function isRuleFree(schema: Schema): boolean {
  const known = ruleFree.get(schema);
  if (known !== undefined) return known;
  const children = [
    ...Object.values(schema.properties ?? {}),
    ...[schema.items, schema.additionalProperties].filter((child) => child !== undefined),
  ];
  const free = schema['x-kubernetes-validations'] === undefined && children.every(isRuleFree);
  ruleFree.set(schema, free);
  return free;
}

/** The value as CEL sees it: integers of the schema as bigint. */
function toCel(schema: Schema, value: unknown): unknown {
  if (schema.type === 'integer' && typeof value === 'number') return BigInt(value);
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? value : value.map((item: unknown) => toCel(items, item));
  }
  if (!isPlainObject(value)) return value;
  const entries = Object.entries(value).map(([key, child]): [string, unknown] => {
    const childSchema = schema.properties?.[key] ?? schema.additionalProperties;
    return [key, childSchema === undefined ? child : toCel(childSchema, child)];
  });
  return Object.fromEntries(entries);
}

/** `.layer3.subnets` and `['key']` after a rule's own field (apiextensions `fieldPath`). */
const pathOf = (fieldPath: string | undefined): string[] =>
  [...(fieldPath ?? '').matchAll(/\.([^.[\]]+)|\['([^']*)'\]/g)].map(
    ([, name, key]) => name ?? key ?? '',
  );

function messageOf(rule: ValidationRule, variables: { self: unknown; oldSelf?: unknown }): string {
  if (rule.messageExpression !== undefined) {
    try {
      const message = celProgram(rule.messageExpression)(variables);
      if (typeof message === 'string' && message.trim() !== '') return message;
    } catch {
      // As in the API server: an expression that fails leaves the fixed message.
    }
  }
  return rule.message ?? `failed rule: ${rule.rule}`;
}

interface Node {
  readonly schema: Schema;
  readonly self: unknown;
  /** The same value in the stored object; undefined if there is none. */
  readonly oldSelf: unknown;
  readonly path: FieldPath;
}

function checkRule(rule: ValidationRule, node: Node, isUpdate: boolean): FieldError | undefined {
  const optional = rule.optionalOldSelf === true;
  const transition = isTransitionRule(rule.rule);
  if (transition && !optional && (!isUpdate || node.oldSelf === undefined)) return undefined;
  const old = toCel(node.schema, node.oldSelf);
  const variables = {
    self: toCel(node.schema, node.self),
    ...(transition
      ? {
          oldSelf: optional
            ? node.oldSelf === undefined
              ? Optional.none()
              : Optional.of(old)
            : old,
        }
      : {}),
  };
  const error = (detail: string): FieldError => ({
    type: 'Invalid',
    path: [...node.path, ...pathOf(rule.fieldPath)],
    value: node.self,
    detail,
  });
  try {
    return celProgram(rule.rule)(variables) === true
      ? undefined
      : error(messageOf(rule, variables));
  } catch (cause) {
    const reason = cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : String(cause);
    return error(`${messageOf(rule, variables)} (the rule could not be evaluated: ${reason})`);
  }
}

/** The stored element that a list element is compared with: by key in a list-map, none in other lists. */
function correlated(schema: Schema, old: unknown, item: unknown): unknown {
  const keys = schema['x-kubernetes-list-map-keys'];
  if (schema['x-kubernetes-list-type'] !== 'map' || keys === undefined) return undefined;
  if (!Array.isArray(old) || !isPlainObject(item)) return undefined;
  return old.find(
    (candidate: unknown) =>
      isPlainObject(candidate) && keys.every((key) => own(candidate, key) === own(item, key)),
  );
}

function childNodes({ schema, self, oldSelf, path }: Node): Node[] {
  const { items } = schema;
  if (Array.isArray(self)) {
    if (items === undefined) return [];
    return self.map((item: unknown, index) => ({
      schema: items,
      self: item,
      oldSelf: correlated(schema, oldSelf, item),
      path: [...path, index],
    }));
  }
  if (!isPlainObject(self)) return [];
  return Object.keys(self).flatMap((key) => {
    const child = schema.properties?.[key] ?? schema.additionalProperties;
    if (child === undefined) return [];
    const old = isPlainObject(oldSelf) ? own(oldSelf, key) : undefined;
    return [{ schema: child, self: self[key], oldSelf: old, path: [...path, key] }];
  });
}

/**
 * Errors of every rule of `schema` that `value` breaks, parents before children. `old` is the stored value; with
 * undefined no transition rule is evaluated. The value must have the structure of the schema.
 */
export function checkRules(
  schema: Schema,
  value: unknown,
  old: unknown,
  path: FieldPath = [],
): FieldError[] {
  const isUpdate = old !== undefined;
  const visit = (node: Node): FieldError[] => {
    if (isRuleFree(node.schema)) return [];
    const found = (node.schema['x-kubernetes-validations'] ?? []).flatMap((rule) => {
      const error = checkRule(rule, node, isUpdate);
      return error === undefined ? [] : [error];
    });
    return [...found, ...childNodes(node).flatMap(visit)];
  };
  return visit({ schema, self: value, oldSelf: old, path });
}
