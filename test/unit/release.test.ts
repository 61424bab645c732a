/** CHANGELOG.md, package.json and everything that names a version speak of one release. */
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { VERSION } from '../../src/process/version.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const { version } = JSON.parse(read('package.json')) as { version: string };

const CHANGELOGS = ['CHANGELOG.md', 'src/ovsdb/CHANGELOG.md', 'src/netlink/CHANGELOG.md'];
const headings = (path: string): readonly string[] =>
  [...read(path).matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);
/** Number by number: 0.10.0 comes behind 0.9.0. */
const inOrder = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true });

test.each(CHANGELOGS)(
  '%s has what is not released yet, then releases, the newest first',
  (path) => {
    const [first, ...releases] = headings(path);
    expect(first).toBe('Unreleased');
    const parsed = releases.map((heading) => {
      const [, number = '', date = ''] =
        /^(\d+\.\d+\.\d+) – (\d{4}-\d\d-\d\d)$/.exec(heading) ?? expect.unreachable(heading);
      expect(new Date(date).toISOString().slice(0, 10)).toBe(date);
      return { number, date };
    });
    expect(parsed[0]?.number).toBe(version);
    const numbers = parsed.map(({ number }) => number);
    expect(numbers).toEqual([...new Set(numbers)].toSorted(inOrder).toReversed());
    const dates = parsed.map(({ date }) => date);
    expect(dates).toEqual(dates.toSorted().toReversed());
  },
);

test('whoever names the version names that of package.json', () => {
  expect(VERSION).toBe(version);
  for (const path of ['src/ovsdb/package.json', 'src/netlink/package.json'])
    expect((JSON.parse(read(path)) as { version: string }).version).toBe(version);
  const named = [
    ['package-lock.json', /^ {2}"version": "(.+)"/m],
    ['deploy/helm/heddle/Chart.yaml', /^version: (\S+)$/m],
    ['deploy/helm/heddle/Chart.yaml', /^appVersion: (\S+)$/m],
    ['deploy/kustomization.yaml', /newTag: (\S+)/],
    ['deploy/cleanup/kustomization.yaml', /newTag: (\S+)/],
    ['deploy/Dockerfile', /heddle:(\d\S*)/],
    ['docs/install.md', /newTag: (\d[\d.]*)/],
  ] as const;
  for (const [path, pattern] of named) expect(pattern.exec(read(path))?.[1], path).toBe(version);
  const elsewhere = globSync('docs/**/*.md', { cwd: ROOT }).flatMap((page) =>
    [...read(page).matchAll(/\bheddle[:-](\d+\.\d+\.\d+)\b/g)].map(([, other]) => [page, other]),
  );
  expect(elsewhere.length).toBeGreaterThan(0);
  expect(elsewhere.filter(([, other]) => other !== version)).toEqual([]);
});
