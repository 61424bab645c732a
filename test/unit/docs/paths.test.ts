/** Files and tests that pages name are there. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (page: string): string => readFileSync(join(ROOT, page), 'utf8');
const PAGES = globSync(['*.md', 'docs/**/*.md', 'examples/*/README.md', 'deploy/**/*.md'], {
  cwd: ROOT,
}).toSorted();

/** What a page names, once per page. */
const named = (pattern: RegExp): readonly (readonly [page: string, name: string])[] =>
  PAGES.flatMap((page) =>
    [...new Set([...read(page).matchAll(pattern)].map(([, name = '']) => name))].map(
      (name): readonly [string, string] => [page, name],
    ),
  );

/** `a/{b,c}.ts` and `a/…` stand for several. */
const isThere = (path: string): boolean =>
  /[*{]/.test(path)
    ? globSync(path, { cwd: ROOT }).length > 0
    : existsSync(join(ROOT, path.split('…')[0] ?? ''));

test('a path of the repository in backticks leads to a file or a folder', () => {
  const paths = named(
    /`(?:\.\/)?((?:src|test|docs|deploy|schemas|examples|\.ci)\/[^`\s:#]*)(?:[:#][^`\s]*)?`/g,
  );
  expect(paths.length).toBeGreaterThan(80);
  expect(paths.filter(([, path]) => !isThere(path))).toEqual([]);
});

test('a file of tests that is named is there', () => {
  const tests = new Set(
    globSync(['test/**/*.test.ts', 'src/**/*.test.ts'], { cwd: ROOT }).map((path) =>
      basename(path),
    ),
  );
  const mentioned = named(/([\w-]+\.test\.ts)\b/g);
  expect(mentioned.length).toBeGreaterThan(50);
  expect(mentioned.filter(([, name]) => !tests.has(name))).toEqual([]);
});
