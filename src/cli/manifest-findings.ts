/** What `heddle validate` says of objects of manifests, and where they are. */
import { objectKey } from '../api/objects.ts';
import { shownPath, type FieldPath } from '../api/validation/field-errors.ts';
import {
  describeObject,
  type ManifestDocument,
  type ManifestError,
} from '../api/validation/manifest.ts';

export const about = (
  { object, position }: ManifestDocument,
  message: string,
  place: ManifestDocument['position'] = position,
): ManifestError => ({ ...place, object: describeObject(object), message });

/** With the field that it is about. */
export const aboutField = (
  { object, positionOf }: ManifestDocument,
  field: FieldPath,
  message: string,
): ManifestError => ({
  ...positionOf(field),
  object: describeObject(object),
  field: shownPath(field),
  message,
});

export const REFUSED = 'the cluster manager would refuse it';

/** `net.yaml:12` */
export const placeOf = ({ position }: ManifestDocument): string =>
  `${position.file}:${position.line}`;

/** `Service shop/web (net.yaml:12)` */
export const objectAt = (document: ManifestDocument): string =>
  `${describeObject(document.object)} (${placeOf(document)})`;

const identityOf = ({ kind, object }: ManifestDocument): string =>
  `${kind.kind} ${objectKey(object.metadata)}`;

/** `documents`, and of `stored` what they don't have. */
export const withStored = (
  documents: readonly ManifestDocument[],
  stored: readonly ManifestDocument[],
): readonly ManifestDocument[] => [
  ...new Map(
    [...stored, ...documents].map((document) => [identityOf(document), document]),
  ).values(),
];

/** A document with its object as the type of its kind. */
export interface Declared<T> {
  readonly document: ManifestDocument;
  readonly object: T;
}

/** Objects of a kind, in order. */
export const declaredOf = <T>(
  documents: readonly ManifestDocument[],
  kind: string,
): readonly Declared<T>[] =>
  documents
    .filter(({ object }) => object.kind === kind)
    .map((document) => ({ document, object: document.object as unknown as T }));
