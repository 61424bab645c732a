/** Links between pages lead somewhere, and every page is found from the start page. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../../..');
const inFolder = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
const pages = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...inFolder('docs'),
  ...inFolder('examples'),
  'src/ovsdb/README.md',
  'src/netlink/README.md',
];
const read = (page: string): string => readFileSync(join(ROOT, page), 'utf8');

/** As GitHub makes them of headings. */
const anchorsOf = (page: string): ReadonlySet<string> =>
  new Set(
    [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );

const linksOf = (page: string): readonly (readonly [path: string, anchor: string])[] =>
  [
    ...read(page)
      .replaceAll(/`[^`\n]*`/g, '')
      .matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)/g),
  ].map(([, path = '', anchor = '']) => [
    path === '' ? page : relative(ROOT, resolve(ROOT, dirname(page), path)),
    anchor,
  ]);

describe('links', () => {
  test.each(pages)('of %s lead to files and headings', (page) => {
    const broken = linksOf(page).filter(
      ([path, anchor]) =>
        !existsSync(join(ROOT, path)) ||
        (anchor !== '' && path.endsWith('.md') && !anchorsOf(path).has(anchor)),
    );
    expect(broken).toEqual([]);
  });

  test('from the start page lead to every page of docs/', () => {
    const found = new Set(linksOf('docs/README.md').map(([path]) => path));
    expect(
      inFolder('docs').filter((page) => page !== 'docs/README.md' && !found.has(page)),
    ).toEqual([]);
  });
});

test('the picture of README.md shows what its caption says', () => {
  const [, picture = ''] = /!\[[^\]]*\]\(([^)]+\.svg)\)/.exec(read('README.md')) ?? [];
  const texts = [...read(picture).matchAll(/<text[^>]*>([^<]*)</g)].map(([, text = '']) => text);
  for (const tenant of ['blue', 'green'])
    expect(texts.some((text) => text.includes(tenant))).toBe(true);
  expect(texts.filter((text) => text.includes('10.20.')).length).toBeGreaterThan(1);
});
