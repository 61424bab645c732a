import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatManifestError, parseManifest } from '../../../src/api/validation/manifest.ts';

test('the examples of docs/api.md are valid, without a warning', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/api.md'), 'utf8');
  const examples = [...page.matchAll(/```yaml\n([^]*?)```/g)].map(([, yaml]) => yaml ?? '');
  const { documents, errors, warnings } = parseManifest(examples.join('---\n'), 'api.md');
  expect([...errors, ...warnings].map(formatManifestError)).toEqual([]);
  expect(documents.map(({ object }) => object.kind)).toEqual([
    'Namespace',
    'UserDefinedNetwork',
    'UserDefinedNetwork',
  ]);
});
