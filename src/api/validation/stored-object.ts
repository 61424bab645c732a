/** Objects as an API server has them: checked as far as anything of ours reads them, before anything does. */
import { parseBuiltIn } from '../built-in-kinds.ts';
import { withoutNulls } from '../field-reader.ts';
import type { KubeObject, ObjectMeta, ResourceKind } from '../objects.ts';
import { objectKey } from '../objects.ts';
import type { PlainObject } from '../plain-object.ts';
import { isPlainObject, own } from '../plain-object.ts';
import { fail, succeed, type Result } from '../result.ts';
import { schemaOf } from './catalog.ts';
import type { FieldError } from './field-errors.ts';
import { formatFieldError } from './field-errors.ts';
import { checkStoredMetadata } from './metadata.ts';
import { checkStructure } from './structure.ts';
import { clipped } from '../visible-text.ts';

/** The configuration of a NAD is read where networks are: one that is wrong is its network's problem, and there may be one to mend it. */
const READ_ELSEWHERE = 'NetworkAttachmentDefinition';

function checkContent(object: PlainObject, kind: ResourceKind): readonly FieldError[] {
  if (kind.kind === READ_ELSEWHERE) return [];
  const schema = schemaOf(kind.apiVersion, kind.kind);
  if (schema !== undefined)
    return checkStructure(schema, object).filter(({ path }) => path[0] !== 'metadata');
  const needsSpec = kind.kind === 'Pod' || kind.kind === 'Service';
  return needsSpec && !isPlainObject(own(object, 'spec'))
    ? [{ type: 'Required', path: ['spec'], detail: '' }]
    : [];
}

/** The object if all that is read of it has the right form, normalised where two spellings mean the same; or what is wrong, with the object's name and what to do. Never throws. */
export function readStored<T extends KubeObject>(kind: ResourceKind<T>, value: unknown): Result<T> {
  const metadata = isPlainObject(value) ? own(value, 'metadata') : undefined;
  const object: PlainObject = isPlainObject(value) ? value : {};
  const errors = [...checkStoredMetadata(metadata, kind.namespaced), ...checkContent(object, kind)];
  const parsed = parseBuiltIn({ ...object, kind: kind.kind });
  const [error, ...others] = [...errors, ...parsed.errors];
  if (error === undefined)
    return succeed({
      ...parsed.object,
      apiVersion: kind.apiVersion,
      metadata: withoutNulls(metadata as PlainObject),
    } as unknown as T);
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  return fail(
    `${kind.kind} ${nameOf(metadata)}: ${formatFieldError(error)}${more}: what was read of it before stays; correct the object, or whoever writes it`,
  );
}

/** No key of a valid object is longer. */
const LONGEST_KEY = 317;

function nameOf(metadata: unknown): string {
  if (!isPlainObject(metadata)) return '(without a name)';
  const { name, namespace } = metadata as Partial<ObjectMeta>;
  return typeof name === 'string'
    ? clipped(
        objectKey({ name, namespace: typeof namespace === 'string' ? namespace : undefined }),
        LONGEST_KEY,
      )
    : '(without a name)';
}
