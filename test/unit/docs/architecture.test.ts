/** What docs/architecture.md says of files and packages is true, and files that any page names are there. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../../..');
const PAGES = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const ARCHITECTURE = read('docs/architecture.md');

/** Text below a heading, up to the next one. */
const section = (heading: string): string =>
  ARCHITECTURE.split(/^## /m)
    .find((text) => text.startsWith(`${heading}\n`))
    ?.slice(heading.length) ?? '';

const sourceFiles = (folder: string): string[] =>
  readdirSync(join(ROOT, folder)).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(join(ROOT, path)).isDirectory()) return sourceFiles(path);
    return path.endsWith('.ts') ? [path] : [];
  });

/** Entries of packages of the repository. */
const OWN_PACKAGES: Readonly<Record<string, string>> = {
  'ovsdb-client-ts': 'src/ovsdb/index.ts',
  'rtnetlink-ts': 'src/netlink/index.ts',
};

/** Files that a file imports, or exports from; those of an `index.ts` count as its own. */
function importsOf(file: string): string[] {
  return [...read(file).matchAll(/(?:from|import\()\s*'(\.[^']+|ovsdb-client-ts|rtnetlink-ts)'/g)]
    .map(
      ([, path = '']) => OWN_PACKAGES[path] ?? relative(ROOT, resolve(ROOT, dirname(file), path)),
    )
    .flatMap((path) => (basename(path) === 'index.ts' ? [path, ...importsOf(path)] : [path]));
}

interface Step {
  readonly number: number;
  readonly file: string;
  readonly text: string;
}

const stepsOf = (heading: string): Step[] =>
  [...section(heading).matchAll(/^(\d+)\. `([^`]+)`: (.+)$/gm)].map(
    ([, number, file = '', text = '']) => ({ number: Number(number), file, text }),
  );

const THROUGH_OBJECTS = '(through the store) ';

describe.each(['A UserDefinedNetwork, file by file', 'A pod, file by file'])('%s', (heading) => {
  const steps = stepsOf(heading);

  test('has at most 25 files, each of which is there', () => {
    expect(steps.length).toBeGreaterThan(15);
    expect(steps.length).toBeLessThanOrEqual(25);
    expect(steps.map(({ number }) => number)).toEqual(steps.map((_, index) => index + 1));
    expect(new Set(steps.map(({ file }) => file)).size).toBe(steps.length);
    expect(steps.filter(({ file }) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  test('each file imports one of the steps before it, or is imported by one, unless objects lie between', () => {
    const unconnected = steps.filter(({ file, text }, index) => {
      if (index === 0 || text.startsWith(THROUGH_OBJECTS)) return false;
      return !steps
        .slice(0, index)
        .some(
          (earlier) =>
            importsOf(file).includes(earlier.file) || importsOf(earlier.file).includes(file),
        );
    });
    expect(unconnected).toEqual([]);
  });
});

test('the table of packages has every folder of src, and what it imports', () => {
  const documented = [
    ...section('Packages').matchAll(/^\| `src\/([\w-]+)` \| .* \| ([^|]+) \|$/gm),
  ].map(([, name = '', imports = '']) => [
    name,
    imports === '–' ? [] : imports.split(', ').toSorted(),
  ]);
  const packageOf = (file: string): string => file.split('/')[1] ?? '';
  const actual = readdirSync(join(ROOT, 'src')).map((name) => {
    const imported = sourceFiles(`src/${name}`).flatMap(importsOf).map(packageOf);
    return [name, [...new Set(imported)].filter((other) => other !== name).toSorted()];
  });
  expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(actual));
});

test.each(PAGES)('%s names files that are there', (page) => {
  const named = [
    ...read(page).matchAll(/`((?:src|test|docs|deploy|schemas|lab|examples)\/[\w./-]*)`/g),
  ].map(([, path = '']) => path);
  const prose = read(page).replaceAll(/`[^`\n]*`/g, '');
  const linked = [...prose.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, path = '']) =>
    join(dirname(page), path),
  );
  expect([...named, ...linked].filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});
