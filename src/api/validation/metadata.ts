/** Checks `metadata` as an API server does, and gives it its type. */
import {
  unknownField,
  type FieldError,
  type FieldPath,
  type FieldWarning,
} from './field-errors.ts';
import type { ObjectMeta } from '../objects.ts';
import type { PlainObject } from '../plain-object.ts';
import { isPlainObject, own } from '../plain-object.ts';

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const NAME_PART = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

/** 256 KiB over all keys and values of annotations, as in the API server. */
const ANNOTATIONS_SIZE = 256 * 1024;

export const isDnsLabel = (text: string): boolean => text.length <= 63 && LABEL.test(text);
export const isDnsSubdomain = (text: string): boolean => text.length <= 253 && SUBDOMAIN.test(text);

const SUBDOMAIN_MESSAGE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
  "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_MESSAGE =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end " +
  "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED_MESSAGE =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
  "character (e.g. 'MyName',  or 'my.name',  or '123-abc'), after an optional DNS subdomain prefix and '/'";
const LABEL_KEY_MESSAGE =
  "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
  "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc'), after an optional DNS subdomain prefix and '/'";
const LABEL_VALUE_MESSAGE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and " +
  'end with an alphanumeric character (at most 63 characters)';

/** `[prefix/]name`, as in label and annotation keys. */
export function isQualifiedName(text: string): boolean {
  const parts = text.split('/');
  const name = parts.at(-1) ?? '';
  if (parts.length > 2 || name.length > 63 || !NAME_PART.test(name)) return false;
  return parts.length === 1 || isDnsSubdomain(parts[0] ?? '');
}

export const isLabelValue = (text: string): boolean =>
  text.length <= 63 && (text === '' || NAME_PART.test(text));

const invalid = (path: FieldPath, value: unknown, detail: string): FieldError => ({
  type: 'Invalid',
  path,
  value,
  detail,
});

const wrongType = (path: FieldPath, value: unknown, type: string): FieldError => ({
  type: 'TypeInvalid',
  path,
  value,
  detail: `must be a ${type}`,
});

function checkStringMap(
  meta: PlainObject,
  field: 'labels' | 'annotations',
): { readonly entries: [string, string][]; readonly errors: FieldError[] } {
  const path = ['metadata', field];
  const map = own(meta, field);
  if (map === undefined || map === null) return { entries: [], errors: [] };
  if (!isPlainObject(map)) return { entries: [], errors: [wrongType(path, map, 'map of strings')] };
  const entries: [string, string][] = [];
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries(map)) {
    // Annotation keys are compared in lower case; label keys as they are.
    if (!isQualifiedName(field === 'annotations' ? key.toLowerCase() : key)) {
      errors.push(invalid(path, key, field === 'labels' ? LABEL_KEY_MESSAGE : QUALIFIED_MESSAGE));
    } else if (value === null) {
      // As an API server decodes it.
      entries.push([key, '']);
    } else if (typeof value !== 'string') {
      errors.push(wrongType([...path, key], value, 'string (put the value in quotes)'));
    } else {
      entries.push([key, value]);
    }
  }
  return { entries, errors };
}

function checkLabels(entries: readonly (readonly [string, string])[]): FieldError[] {
  return entries
    .filter(([, value]) => !isLabelValue(value))
    .map(([, value]) => invalid(['metadata', 'labels'], value, LABEL_VALUE_MESSAGE));
}

function checkAnnotations(entries: readonly (readonly [string, string])[]): FieldError[] {
  const size = entries.reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  if (size <= ANNOTATIONS_SIZE) return [];
  const detail = `may not be more than ${ANNOTATIONS_SIZE} bytes`;
  return [{ type: 'TooLong', path: ['metadata', 'annotations'], detail }];
}

function checkName(meta: PlainObject, isLabel: boolean): FieldError[] {
  const path = ['metadata', 'name'];
  const name = own(meta, 'name');
  if (name === undefined || name === null || name === '') {
    const prefix = own(meta, 'generateName');
    const detail =
      typeof prefix === 'string' && prefix !== ''
        ? 'name is required: with generateName every time that the file is applied makes another object'
        : 'name or generateName is required';
    return [{ type: 'Required', path, detail }];
  }
  if (typeof name !== 'string') return [wrongType(path, name, 'string (put the value in quotes)')];
  if (isLabel ? isDnsLabel(name) : isDnsSubdomain(name)) return [];
  const limit = isLabel ? 63 : 253;
  const detail =
    name.length > limit
      ? `must be no more than ${limit} characters`
      : isLabel
        ? LABEL_MESSAGE
        : SUBDOMAIN_MESSAGE;
  return [invalid(path, name, detail)];
}

const TEXT_FIELDS = [
  'generateName',
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
] as const;

/** A prefix may end in "-"; as an API server checks it, that and the character before it count as one letter. */
function checkGenerateName(meta: PlainObject, isLabel: boolean): FieldError[] {
  const prefix = own(meta, 'generateName');
  if (typeof prefix !== 'string' || prefix === '') return [];
  const base = prefix.length > 1 && prefix.endsWith('-') ? `${prefix.slice(0, -2)}a` : prefix;
  return (isLabel ? isDnsLabel(base) : isDnsSubdomain(base))
    ? []
    : [invalid(['metadata', 'generateName'], prefix, isLabel ? LABEL_MESSAGE : SUBDOMAIN_MESSAGE)];
}

const isTime = (text: string): boolean =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) &&
  !Number.isNaN(Date.parse(text));

/** Fields that an API server fills in: it still decodes what is written there. */
function checkSystemFields(meta: PlainObject): FieldError[] {
  const check = (
    field: string,
    type: string,
    isRight: (value: unknown) => boolean,
  ): FieldError[] => {
    const value = own(meta, field);
    return value === undefined || value === null || isRight(value)
      ? []
      : [wrongType(['metadata', field], value, type)];
  };
  const isTimestamp = (value: unknown): boolean => typeof value !== 'string' || isTime(value);
  return [
    ...check('creationTimestamp', 'time such as 2026-01-31T12:00:00Z', isTimestamp),
    ...check('deletionTimestamp', 'time such as 2026-01-31T12:00:00Z', isTimestamp),
    ...check('generation', 'whole number', Number.isInteger),
    ...check('deletionGracePeriodSeconds', 'whole number', Number.isInteger),
    ...check('managedFields', 'list', Array.isArray),
    ...check('selfLink', 'string (put the value in quotes)', (value) => typeof value === 'string'),
  ];
}

function checkLists(meta: PlainObject): FieldError[] {
  const errors: FieldError[] = [];
  const finalizers = own(meta, 'finalizers');
  if (finalizers !== undefined && finalizers !== null) {
    const list: readonly unknown[] | undefined = Array.isArray(finalizers) ? finalizers : undefined;
    if (list === undefined || !list.every((item) => typeof item === 'string')) {
      errors.push(wrongType(['metadata', 'finalizers'], finalizers, 'list of strings'));
    }
    for (const name of list ?? [])
      if (typeof name === 'string' && !isQualifiedName(name))
        errors.push(invalid(['metadata', 'finalizers'], name, QUALIFIED_MESSAGE));
  }
  const owners = own(meta, 'ownerReferences');
  if (owners === undefined || owners === null) return errors;
  if (!Array.isArray(owners)) {
    return [...errors, wrongType(['metadata', 'ownerReferences'], owners, 'list')];
  }
  for (const [index, owner] of (owners as unknown[]).entries()) {
    for (const field of ['apiVersion', 'kind', 'name', 'uid']) {
      const value = isPlainObject(owner) ? own(owner, field) : undefined;
      if (typeof value !== 'string' || value === '') {
        const path = ['metadata', 'ownerReferences', index, field];
        errors.push(invalid(path, value, 'must not be empty'));
      }
    }
    if (
      isPlainObject(owner) &&
      own(owner, 'apiVersion') === 'v1' &&
      own(owner, 'kind') === 'Event'
    ) {
      const path = ['metadata', 'ownerReferences'];
      errors.push(invalid(path, owner, '/v1, Kind=Event is disallowed from being an owner'));
    }
  }
  const controllers = owners.filter(
    (owner: unknown) => isPlainObject(owner) && own(owner, 'controller') === true,
  );
  if (controllers.length > 1)
    errors.push(
      invalid(
        ['metadata', 'ownerReferences'],
        owners,
        'Only one reference can have Controller set to true',
      ),
    );
  return errors;
}

/** Fields that are handled apart, or that an API server adds and nobody needs to keep. */
const DROPPED_FIELDS: readonly string[] = [
  'namespace',
  'labels',
  'annotations',
  'managedFields',
  'selfLink',
  'deletionGracePeriodSeconds',
];
/** Fields of metadata that are kept as they are; unknown ones are dropped with a warning. */
const KEPT_FIELDS: readonly string[] = [
  'name',
  ...TEXT_FIELDS,
  'generation',
  'finalizers',
  'ownerReferences',
];

export interface MetadataRules {
  readonly namespaced: boolean;
  /** Names of namespaces are labels; those of custom resources, nodes and pods are subdomains. */
  readonly nameIsLabel?: boolean;
}

/**
 * `metadata` of an object, or what is wrong with it. A namespaced object without a namespace belongs to `default`; the
 * namespace of a cluster-scoped object is dropped (both as kubectl and the API server do).
 */
export function checkMetadata(
  value: unknown,
  { namespaced, nameIsLabel = false }: MetadataRules,
): {
  readonly metadata?: ObjectMeta;
  readonly errors: readonly FieldError[];
  readonly warnings: FieldWarning[];
} {
  if (!isPlainObject(value)) {
    const error: FieldError =
      value === undefined || value === null
        ? {
            type: 'Required',
            path: ['metadata', 'name'],
            detail: 'name or generateName is required',
          }
        : wrongType(['metadata'], value, 'map');
    return { errors: [error], warnings: [] };
  }
  const labels = checkStringMap(value, 'labels');
  const annotations = checkStringMap(value, 'annotations');
  const given = own(value, 'namespace');
  const namespace = given === undefined || given === null || given === '' ? 'default' : given;
  const errors = [
    ...checkName(value, nameIsLabel),
    ...checkGenerateName(value, nameIsLabel),
    ...(!namespaced || (typeof namespace === 'string' && isDnsLabel(namespace))
      ? []
      : [invalid(['metadata', 'namespace'], namespace, LABEL_MESSAGE)]),
    ...TEXT_FIELDS.flatMap((field) => {
      const text = own(value, field);
      if (text === undefined || text === null || typeof text === 'string') return [];
      return [wrongType(['metadata', field], text, 'string (put the value in quotes)')];
    }),
    ...labels.errors,
    ...checkLabels(labels.entries),
    ...annotations.errors,
    ...checkAnnotations(annotations.entries),
    ...checkSystemFields(value),
    ...checkLists(value),
  ];
  const warnings = Object.keys(value)
    .filter((key) => !KEPT_FIELDS.includes(key) && !DROPPED_FIELDS.includes(key))
    .map((key) =>
      unknownField(['metadata', key], [...KEPT_FIELDS, 'labels', 'annotations', 'namespace']),
    );
  if (errors.length > 0) return { errors, warnings };
  const kept = Object.entries(value).filter(
    ([key, child]) => child !== null && KEPT_FIELDS.includes(key),
  );
  const metadata = {
    ...Object.fromEntries(kept),
    ...(namespaced ? { namespace } : {}),
    ...(own(value, 'labels') ? { labels: Object.fromEntries(labels.entries) } : {}),
    ...(own(value, 'annotations') ? { annotations: Object.fromEntries(annotations.entries) } : {}),
  } as unknown as ObjectMeta;
  return { metadata, errors: [], warnings };
}

/**
 * What is wrong with the form of metadata that a server has stored: only what is read is looked at, and what values mean is the
 * server's concern.
 */
export function checkStoredMetadata(value: unknown, namespaced: boolean): readonly FieldError[] {
  if (!isPlainObject(value)) return [wrongType(['metadata'], value, 'map')];
  const errors: FieldError[] = [];
  const required = namespaced ? ['name', 'namespace'] : ['name'];
  for (const field of [...required, ...TEXT_FIELDS]) {
    const text = own(value, field);
    if (typeof text === 'string' && (text !== '' || !required.includes(field))) continue;
    if (!required.includes(field) && (text === undefined || text === null)) continue;
    errors.push(wrongType(['metadata', field], text, 'string'));
  }
  for (const field of ['labels', 'annotations']) {
    const map = own(value, field);
    if (map === undefined || map === null) continue;
    if (!isPlainObject(map)) errors.push(wrongType(['metadata', field], map, 'map of strings'));
    else
      for (const key of Object.keys(map))
        if (typeof map[key] !== 'string')
          errors.push(wrongType(['metadata', field, key], map[key], 'string'));
  }
  return [...errors, ...checkLists(value)];
}
