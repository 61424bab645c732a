import { parseAllDocuments } from 'yaml';
import type { KubeObject, ResourceKind } from '../../../src/api/objects.ts';
import type { ObjectRules, ReadManifest } from '../../../src/store/manifests/manifest-rules.ts';

const kind = (
  apiVersion: string,
  name: string,
  plural: string,
  namespaced = true,
): ResourceKind => ({
  apiVersion,
  kind: name,
  plural,
  namespaced,
});

export const WIDGETS = kind('example.org/v1', 'Widget', 'widgets');
export const PARTS = kind('example.org/v1', 'Part', 'parts');
const SITES = kind('example.org/v1', 'Site', 'sites', false);
const KINDS = [WIDGETS, PARTS, SITES];

/**
 * Rules for tests of the store alone: three kinds, `spec.size` must be a positive number and `spec.colour` never changes.
 */
export const plainRules: ObjectRules = {
  kindOf: (apiVersion, name) =>
    KINDS.find((candidate) => candidate.apiVersion === apiVersion && candidate.kind === name),
  validate(object, before) {
    const spec = (object.spec ?? {}) as { size?: unknown; colour?: unknown };
    const old = (before?.spec ?? spec) as { colour?: unknown };
    return [
      ...(spec.size === undefined || (typeof spec.size === 'number' && spec.size > 0)
        ? []
        : [`spec.size: Invalid value: ${JSON.stringify(spec.size)}: must be positive`]),
      ...(spec.colour === old.colour ? [] : ['spec.colour: Invalid value: colour is immutable']),
    ];
  },
  read(text): ReadManifest {
    const objects: ReadManifest['objects'][number][] = [];
    const problems: ReadManifest['problems'][number][] = [];
    const unknownKinds: ReadManifest['unknownKinds'][number][] = [];
    const rejected: string[] = [];
    let incomplete = false;
    for (const document of parseAllDocuments(text)) {
      if (!('errors' in document)) continue;
      const line = text.slice(0, document.range[0]).split('\n').length;
      const [error] = document.errors;
      if (error !== undefined) {
        incomplete = true;
        problems.push({ severity: 'error', line, message: 'not valid YAML' });
        continue;
      }
      const object = document.toJS() as KubeObject | null;
      if (object === null) continue;
      const found = plainRules.kindOf(object.apiVersion, object.kind);
      if (found === undefined) {
        unknownKinds.push({ apiVersion: object.apiVersion, kind: object.kind, line });
        continue;
      }
      const { namespace, name } = object.metadata;
      const described = `${object.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
      const errors = plainRules.validate(object, undefined);
      if (errors.length === 0) objects.push({ object, kind: found, line });
      else {
        rejected.push(described);
        for (const message of errors)
          problems.push({ severity: 'error', line, object: described, message });
      }
    }
    return { objects, problems, unknownKinds, rejected, incomplete };
  },
};
