import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatManifestError, parseManifest } from '../../../src/api/validation/manifest.ts';

/** Networks that people have already are taken unchanged, without a warning. */
test('examples of every kind are valid as they are', () => {
  const file = join(import.meta.dirname, 'examples.yaml');
  const { documents, errors, warnings, unknownKinds } = parseManifest(
    readFileSync(file, 'utf8'),
    'examples.yaml',
  );
  expect([...errors, ...warnings].map(formatManifestError)).toEqual([]);
  expect(unknownKinds).toEqual([]);
  expect(new Set(documents.map(({ kind }) => kind.kind)).size).toBe(12);
});
