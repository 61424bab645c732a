/** Files of manifests that a command line names. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { servedKindLike } from '../api/kinds.ts';
import {
  parseManifest,
  type Manifest,
  type ManifestError,
  type PreviousVersion,
} from '../api/validation/manifest.ts';
import { reasonOfPath } from '../api/without-errno.ts';
import { UnreadableFile } from './unreadable-file.ts';

export const STANDARD_INPUT = '-';
const MANIFEST_NAME = /^[^.].*\.(ya?ml|json)$/;

/** Of a flag that may be given several times. */
export const appended = (path: string, paths: readonly string[] | undefined): readonly string[] => [
  ...(paths ?? []),
  path,
];

/** Manifests at and below a path, in the order of their names. */
export function filesAt(path: string): string[] {
  if (path === STANDARD_INPUT) return [path];
  try {
    if (!statSync(path).isDirectory()) return [path];
    return readdirSync(path, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.split('/').every((part) => !part.startsWith('.')))
      .filter((name) => MANIFEST_NAME.test(name.split('/').at(-1) ?? ''))
      .sort()
      .map((name) => join(path, name))
      .filter((name) => statSync(name).isFile());
  } catch (error) {
    throw new UnreadableFile(`${path} can't be read: ${reasonOfPath(error)}`);
  }
}

export function readManifest(path: string, previous?: PreviousVersion): Manifest {
  let text: string;
  try {
    text = readFileSync(path === STANDARD_INPUT ? 0 : path, 'utf8');
  } catch (error) {
    throw new UnreadableFile(`${path} can't be read: ${reasonOfPath(error)}`);
  }
  return parseManifest(text, path === STANDARD_INPUT ? '<stdin>' : path, previous);
}

/** Kinds and versions of our groups that nobody serves, and that look like one that is. */
export const misspelt = ({ unknownKinds }: Manifest): readonly ManifestError[] =>
  unknownKinds.flatMap(({ apiVersion, kind, object, written: _written, ...position }) => {
    const nearest = servedKindLike(apiVersion, kind);
    return nearest === undefined
      ? []
      : [
          {
            ...position,
            object,
            message: `nobody serves kind ${kind} in ${apiVersion}: did you mean kind ${nearest.kind} in ${nearest.apiVersion}?`,
          },
        ];
  });

/** A file with nothing in it was meant to hold something. */
export const emptiness = (
  { documents, errors, refused, unknownKinds }: Manifest,
  path: string,
): readonly ManifestError[] =>
  documents.length + errors.length + refused.length + unknownKinds.length > 0
    ? []
    : [
        {
          file: path === STANDARD_INPUT ? '<stdin>' : path,
          line: 1,
          column: 1,
          message: 'holds no object',
        },
      ];
