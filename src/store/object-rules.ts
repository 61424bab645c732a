import { formatFieldError } from '../api/validation/field-errors.ts';
import { resourceKindOf } from '../api/kinds.ts';
import { parseManifest, type ManifestError } from '../api/validation/manifest.ts';
import { validateObject } from '../api/validation/validate.ts';
import type { KubeObject } from '../api/objects.ts';
import { withNameLabel } from '../api/selectors.ts';
import type { ObjectRules, Problem } from './manifests/manifest-rules.ts';

const NAMELESS = '(without a name)';

function problem(severity: Problem['severity'], error: ManifestError): Omit<Problem, 'file'> {
  const { line, object, field, message } = error;
  return {
    severity,
    line,
    ...(object === undefined ? {} : { object }),
    ...(field === undefined ? {} : { field }),
    message,
  };
}

/** As an API server stores it, so that selectors can name namespaces. */
const admitted = (object: KubeObject): KubeObject =>
  object.apiVersion === 'v1' && object.kind === 'Namespace' ? withNameLabel(object) : object;

/** The rules of all kinds that we know: what an API server with our CRDs accepts. */
export const objectRules: ObjectRules = {
  read(text, file) {
    const { documents, errors, warnings, unknownKinds } = parseManifest(text, file);
    return {
      objects: documents.map(({ kind, object, position }) => ({
        kind,
        object: admitted(object),
        line: position.line,
      })),
      rejected: errors.flatMap(({ object = NAMELESS }) =>
        object.endsWith(NAMELESS) ? [] : [object],
      ),
      incomplete: errors.some(({ object = NAMELESS }) => object.endsWith(NAMELESS)),
      problems: [
        ...errors.map((error) => problem('error', error)),
        ...warnings.map((warning) => problem('warning', warning)),
      ],
      unknownKinds,
    };
  },
  validate(object, before) {
    const result = validateObject(object, before);
    switch (result.kind) {
      case 'valid':
        return [];
      case 'invalid':
        return result.errors.map(formatFieldError);
      case 'unknown-kind':
        // Events and leases are written by Heddle, and declared by nobody.
        return [];
    }
  },
  kindOf: resourceKindOf,
};
