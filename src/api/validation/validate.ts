/** The validation that an API server with our CRDs would do, as one function of values. */
import { checkAdminPolicy, isAdminKind } from './admin-policies.ts';
import { parseBuiltIn } from '../built-in-kinds.ts';
import { schemaOf } from './catalog.ts';
import { convertObject, flatPath, V1, V1ALPHA1 } from '../conversion/conversion.ts';
import { unknownField, type FieldError, type FieldWarning } from './field-errors.ts';
import { resourceKindOf, resourceKinds } from '../kinds.ts';
import { checkMetadata } from './metadata.ts';
import type { KubeObject, ResourceKind } from '../objects.ts';
import { nearestName } from './nearest-name.ts';
import { checkNetworkPolicy } from './network-policies.ts';
import { judgeStructure } from './ratcheting.ts';
import { checkRules } from './rules.ts';
import type { PlainObject } from '../plain-object.ts';
import type { Schema } from './schema.ts';
import { isPlainObject, own } from '../plain-object.ts';
import { shape } from './schema.ts';
import { blocksRules, checkStructure } from './structure.ts';

export type Validation =
  | {
      readonly kind: 'valid';
      readonly resource: ResourceKind;
      /** In the stored version, unknown fields removed, defaults filled in. */
      readonly object: KubeObject;
      /** Fields that nobody knows, and that were ignored. */
      readonly warnings: readonly FieldWarning[];
      /** What a new object would be refused for, and an update is not, since the stored object had it. */
      readonly tolerated: readonly FieldError[];
    }
  | {
      readonly kind: 'invalid';
      readonly resource?: ResourceKind;
      readonly errors: readonly FieldError[];
      readonly warnings: readonly FieldWarning[];
    }
  | { readonly kind: 'unknown-kind'; readonly apiVersion: string; readonly kindName: string };

interface Checked {
  readonly object: PlainObject;
  readonly errors: readonly FieldError[];
  readonly tolerated: readonly FieldError[];
  readonly warnings: readonly FieldWarning[];
}

export const RULES_SKIPPED =
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

const SKIPPED: FieldError = { type: 'Invalid', path: [], value: null, detail: RULES_SKIPPED };

const hasRules = (schema: Schema): boolean =>
  JSON.stringify(schema).includes('"x-kubernetes-validations"');

/** Everything but metadata, shaped by the schema; metadata as checkMetadata made it. */
function shaped(
  schema: Schema,
  value: PlainObject,
  metadata: unknown,
  warnings: FieldWarning[],
): PlainObject {
  const { metadata: _checkedApart, ...body } = value as Record<string, unknown>;
  return { ...(shape(schema, body, [], warnings) as PlainObject), metadata };
}

function checkCustomResource(
  schema: Schema,
  value: PlainObject,
  old: PlainObject | undefined,
  kind: ResourceKind,
): Checked {
  const {
    metadata,
    errors: metadataErrors,
    warnings,
  } = checkMetadata(own(value, 'metadata'), kind);
  const object = shaped(schema, value, metadata ?? {}, warnings);
  const structure = checkStructure(schema, object).filter(
    // Reported by the metadata check.
    ({ path }) => metadata !== undefined || path[0] !== 'metadata',
  );
  const oldShaped = old === undefined ? undefined : shaped(schema, old, own(old, 'metadata'), []);
  const judged = judgeStructure(schema, object, structure, oldShaped, () =>
    checkStructure(schema, oldShaped),
  );
  const errors = [...metadataErrors, ...judged.errors];
  const { tolerated } = judged;
  if (blocksRules(errors)) {
    return {
      object,
      errors: hasRules(schema) ? [...errors, SKIPPED] : errors,
      tolerated,
      warnings,
    };
  }
  const rules = checkRules(schema, object, oldShaped);
  return {
    object,
    errors: [...errors, ...rules.errors],
    tolerated: [...tolerated, ...rules.tolerated],
    warnings,
  };
}

/** The stored object in the version of the new one, for transition rules; undefined if it can't be had. */
function oldInVersion(old: unknown, apiVersion: string, kindName: string): PlainObject | undefined {
  if (!isPlainObject(old) || own(old, 'kind') !== kindName) return undefined;
  if (own(old, 'apiVersion') === apiVersion) return old;
  const converted = convertObject(old, apiVersion);
  return converted.kind === 'value' ? converted.value : undefined;
}

const isUpdateOfAnother = (value: PlainObject, old: unknown): boolean => {
  const [meta, oldMeta] = [own(value, 'metadata'), isPlainObject(old) ? own(old, 'metadata') : {}];
  if (!isPlainObject(meta) || !isPlainObject(oldMeta)) return false;
  return ['name', 'namespace'].some(
    (field) =>
      own(meta, field) !== undefined &&
      own(oldMeta, field) !== undefined &&
      own(meta, field) !== own(oldMeta, field),
  );
};

/** A flat object, checked in its own version and then, converted, in the stored one. */
function checkFlat(checked: Checked, old: unknown, kind: ResourceKind): Checked {
  if (checked.errors.length > 0) return checked;
  const converted = convertObject(checked.object, V1);
  if (converted.kind === 'invalid') return { ...checked, errors: converted.error };
  const stored = schemaOf(kind.apiVersion, kind.kind);
  if (stored === undefined) return { ...checked, object: converted.value };
  const oldStored = oldInVersion(old, V1, kind.kind);
  const result = checkCustomResource(stored, converted.value, oldStored, kind);
  const asWritten = (error: FieldError): FieldError => ({
    ...error,
    path: flatPath(checked.object, error.path),
  });
  return {
    object: result.object,
    warnings: checked.warnings,
    errors: result.errors.map(asWritten),
    tolerated: [...checked.tolerated, ...result.tolerated.map(asWritten)],
  };
}

const isPolicyKind = (kind: string): boolean =>
  isAdminKind(kind) || kind === 'NetworkPolicy' || kind === 'MultiNetworkPolicy';

function checkBuiltIn(value: PlainObject, kind: ResourceKind): Checked {
  const {
    metadata,
    errors: metadataErrors,
    warnings,
  } = checkMetadata(own(value, 'metadata'), {
    namespaced: kind.namespaced,
    nameIsLabel: kind.kind === 'Namespace' || kind.kind === 'Service',
  });
  if (isPolicyKind(kind.kind)) {
    const policy = isAdminKind(kind.kind)
      ? checkAdminPolicy(kind.kind, value)
      : checkNetworkPolicy(value);
    return {
      object: { ...value, metadata, spec: policy.spec },
      errors: [
        ...metadataErrors,
        ...policy.errors,
        ...(policy.skipsRules === true ? [SKIPPED] : []),
      ],
      tolerated: [],
      warnings: [...warnings, ...policy.warnings],
    };
  }
  const parsed = parseBuiltIn(value);
  return {
    object: { ...parsed.object, metadata },
    errors: [...metadataErrors, ...parsed.errors, ...parsed.unlisted],
    tolerated: [],
    warnings: [...warnings, ...misspeltMetadata(value), ...parsed.typos()],
  };
}

/** `metdata`, of which an API server says no more than that there is no name. */
const misspeltMetadata = (value: PlainObject): FieldWarning[] =>
  Object.hasOwn(value, 'metadata')
    ? []
    : Object.keys(value)
        .filter((key) => nearestName(key, ['metadata']) !== undefined)
        .map((key) => unknownField([key], ['metadata']));

function invalidType(object: PlainObject, field: 'apiVersion' | 'kind'): FieldError[] {
  const value = own(object, field);
  if (typeof value === 'string' && value !== '') return [];
  const known = resourceKinds.find(({ kind }) => kind === own(object, 'kind'));
  const detail =
    field === 'apiVersion'
      ? known === undefined || known.apiVersion === V1
        ? `for networks write ${V1}, or ${V1ALPHA1} for the flat shape`
        : `write ${known.apiVersion}`
      : 'say what the object is, for example UserDefinedNetwork';
  return value === undefined || value === null || value === ''
    ? [{ type: 'Required', path: [field], detail }]
    : [{ type: 'TypeInvalid', path: [field], value, detail: 'must be a string' }];
}

/**
 * Whether an API server with our CRDs would accept `value`, and what it would store. With `old`, the update of that
 * object is checked: transition rules apply, and errors in what the update leaves as it was are tolerated. `old` may be in
 * any served version, and need not be valid. Never throws, whatever `value` is.
 */
export function validateObject(value: unknown, old?: unknown): Validation {
  if (!isPlainObject(value)) {
    const detail = 'must be a map with apiVersion, kind and metadata';
    const error: FieldError = { type: 'TypeInvalid', path: [], value, detail };
    return { kind: 'invalid', errors: [error], warnings: [] };
  }
  const [apiVersion, kindName] = [own(value, 'apiVersion'), own(value, 'kind')];
  const missing = [...invalidType(value, 'apiVersion'), ...invalidType(value, 'kind')];
  if (typeof apiVersion !== 'string' || typeof kindName !== 'string' || missing.length > 0) {
    return { kind: 'invalid', errors: missing, warnings: [] };
  }
  const kind = resourceKindOf(apiVersion, kindName);
  if (kind === undefined) return { kind: 'unknown-kind', apiVersion, kindName };
  const schema = schemaOf(apiVersion, kindName);
  const previous = isUpdateOfAnother(value, old) ? undefined : old;
  const inVersion =
    schema === undefined
      ? checkBuiltIn(value, kind)
      : checkCustomResource(schema, value, oldInVersion(previous, apiVersion, kindName), kind);
  const checked = apiVersion === kind.apiVersion ? inVersion : checkFlat(inVersion, previous, kind);
  const { object, errors, tolerated, warnings } = checked;
  if (errors.length > 0) return { kind: 'invalid', resource: kind, errors, warnings };
  const valid = object as unknown as KubeObject;
  return { kind: 'valid', resource: kind, object: valid, warnings, tolerated };
}
