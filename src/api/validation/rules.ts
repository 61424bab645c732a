/** Evaluates the `x-kubernetes-validations` of a schema over a value, and over its stored version on an update. */
import { isDeepStrictEqual } from 'node:util';
import { Optional } from '@marcbachmann/cel-js';
import { celProgram, isTransitionRule } from './cel.ts';
import type { FieldError, FieldPath } from './field-errors.ts';
import { storedIndex, type JudgedErrors } from './ratcheting.ts';
import type { Schema, ValidationRule } from './schema.ts';
import { isPlainObject } from '../plain-object.ts';

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
  if (schema.type === 'integer' && Number.isInteger(value)) return BigInt(value as number);
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

/** A value and the same value as CEL sees it; converted once for all rules. */
interface Both {
  readonly plain: unknown;
  readonly cel: unknown;
}

interface Node {
  readonly schema: Schema;
  readonly self: Both;
  /** The same value in the stored object; undefined if there is none. */
  readonly oldSelf: Both | undefined;
  /** This value or the nearest around it that can be correlated with the stored object; undefined if there is no stored object. */
  readonly correlated: { readonly self: Both; readonly oldSelf: Both } | undefined;
  readonly path: FieldPath;
}

const childOf = ({ plain, cel }: Both, key: string | number): Both => ({
  plain: (plain as Record<string | number, unknown>)[key],
  cel: (cel as Record<string | number, unknown>)[key],
});

/** `oldSelf` of a rule; `optionalOldSelf` wraps it, so that the rule runs without a stored value, too. */
function oldVariable(old: Both | undefined, optional: boolean): unknown {
  if (!optional) return old?.cel;
  return old === undefined ? Optional.none() : Optional.of(old.cel);
}

function checkRule(rule: ValidationRule, node: Node): FieldError | undefined {
  const optional = rule.optionalOldSelf === true;
  const transition = isTransitionRule(rule.rule);
  if (transition && !optional && node.oldSelf === undefined) return undefined;
  const variables = {
    self: node.self.cel,
    ...(transition ? { oldSelf: oldVariable(node.oldSelf, optional) } : {}),
  };
  const error = (detail: string): FieldError => ({
    type: 'Invalid',
    path: [...node.path, ...pathOf(rule.fieldPath)],
    value: node.self.plain,
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

/** What of a node's stored value an element of a list is compared with. */
function oldElement(schema: Schema, old: Both | undefined, item: unknown): Both | undefined {
  const index = storedIndex(schema, old?.plain, item);
  return old === undefined || index === undefined ? undefined : childOf(old, index);
}

function childNodes({ schema, self, oldSelf, path, correlated }: Node): Node[] {
  const { items } = schema;
  const nodeOf = (
    child: Schema,
    value: Both,
    old: Both | undefined,
    part: string | number,
  ): Node => ({
    schema: child,
    self: value,
    oldSelf: old,
    path: [...path, part],
    correlated: old === undefined ? correlated : { self: value, oldSelf: old },
  });
  if (Array.isArray(self.plain)) {
    if (items === undefined) return [];
    return self.plain.map((item: unknown, index) =>
      nodeOf(items, childOf(self, index), oldElement(schema, oldSelf, item), index),
    );
  }
  if (!isPlainObject(self.plain)) return [];
  return Object.keys(self.plain).flatMap((key) => {
    const child = schema.properties?.[key] ?? schema.additionalProperties;
    if (child === undefined) return [];
    const hasOld = isPlainObject(oldSelf?.plain) && Object.hasOwn(oldSelf.plain, key);
    const old = oldSelf !== undefined && hasOld ? childOf(oldSelf, key) : undefined;
    return [nodeOf(child, childOf(self, key), old, key)];
  });
}

/** True if the value that a rule speaks of is as it was stored: the update can break only rules about the change itself. */
const isUnchanged = ({ correlated }: Node): boolean =>
  correlated !== undefined && isDeepStrictEqual(correlated.self.plain, correlated.oldSelf.plain);

/**
 * Errors of every rule of `schema` that `value` breaks, parents before children. `old` is the stored value; with
 * undefined no transition rule is evaluated. The value must have the structure of the schema.
 */
export function checkRules(
  schema: Schema,
  value: unknown,
  old: unknown,
  path: FieldPath = [],
): JudgedErrors {
  const errors: FieldError[] = [];
  const tolerated: FieldError[] = [];
  const both = (plain: unknown): Both => ({ plain, cel: toCel(schema, plain) });
  const visit = (node: Node): void => {
    if (isRuleFree(node.schema)) return;
    for (const rule of node.schema['x-kubernetes-validations'] ?? []) {
      const error = checkRule(rule, node);
      if (error === undefined) continue;
      const list = !isTransitionRule(rule.rule) && isUnchanged(node) ? tolerated : errors;
      list.push(error);
    }
    for (const child of childNodes(node)) visit(child);
  };
  if (!isRuleFree(schema)) {
    const self = both(value);
    const oldSelf = old === undefined ? undefined : both(old);
    const correlated = oldSelf === undefined ? undefined : { self, oldSelf };
    visit({ schema, self, oldSelf, path, correlated });
  }
  return { errors, tolerated };
}
