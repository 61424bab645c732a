/** What examples/ tells people to apply is valid, and each folder says what it is. */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { formatManifestError, parseManifest } from '../../../src/api/validation/manifest.ts';
import { checkTogether } from '../../../src/cli/validate-together.ts';
import { checkout } from '../../../src/lab/paths.ts';
import { DEFAULT_SETTINGS } from '../../../src/model/settings.ts';

const folders = globSync(join(checkout, 'examples/*'));

test('there are some', () => {
  expect(folders.map((folder) => basename(folder))).toContain('two-tenants');
});

describe.each(folders.map((folder) => [basename(folder), folder]))('%s', (_name, folder) => {
  test('its objects are valid, by themselves and together', () => {
    const files = globSync(join(folder, '*.yaml'));
    expect(files).not.toEqual([]);
    const parsed = files.map((file) => parseManifest(readFileSync(file, 'utf8'), basename(file)));
    const together = checkTogether(
      parsed.flatMap(({ documents }) => documents),
      { ...DEFAULT_SETTINGS, secondaryGateways: true },
    );
    const found = [
      ...parsed.flatMap(({ errors }) => errors),
      ...together.errors,
      ...together.warnings,
    ];
    expect(found.map(formatManifestError)).toEqual([]);
    expect(parsed.flatMap(({ unknownKinds }) => unknownKinds)).toEqual([]);
  });

  test('says in its README what it shows', () => {
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toMatch(/^# .+\n\n.{80}/);
  });
});

test('docs/tasks.md says what each is for', () => {
  const page = readFileSync(join(checkout, 'docs/tasks.md'), 'utf8');
  const linked = [...page.matchAll(/\]\(\.\.\/examples\/([\w-]+)\)/g)].map(([, name = '']) => name);
  expect([...new Set(linked)].sort()).toEqual(folders.map((folder) => basename(folder)).sort());
});

test('what docs/tasks.md tells people to apply is valid', () => {
  const page = readFileSync(join(checkout, 'docs/tasks.md'), 'utf8');
  const blocks = [...page.matchAll(/^```yaml\n(apiVersion:[^]*?)^```$/gm)].map(
    ([, text = '']) => text,
  );
  expect(blocks.length).toBeGreaterThan(2);
  const { errors, unknownKinds } = parseManifest(blocks.join('---\n'), 'tasks.md');
  expect(errors.map(formatManifestError)).toEqual([]);
  expect(unknownKinds).toEqual([]);
});
