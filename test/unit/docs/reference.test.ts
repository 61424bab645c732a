/**
 * What comments and rules cite is in docs/reference, under the number that they name: `reference/topology.md §7.4`. What is there is cited.
 * A page stands before its sections, in the same line; `§` without one is nobody's.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import * as ids from '../../../src/allocators/ids.ts';
import { DEFAULT_SETTINGS } from '../../../src/model/settings.ts';
import { hostFeatures } from '../../../src/node/features.ts';
import * as hostNumbers from '../../../src/node/numbers.ts';
import { COOKIE, COOKIE_PATH_MTU, PIPELINE, ZONES } from '../../../src/node/openflow/pipeline.ts';
import { zoneFeatures } from '../../../src/topology/features.ts';
import * as rowNumbers from '../../../src/topology/numbers.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const FOLDER = 'docs/reference';
const PAGES = readdirSync(join(ROOT, FOLDER));

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const filesOf = (folder: string): string[] =>
  readdirSync(join(ROOT, folder)).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(join(ROOT, path)).isDirectory()) return filesOf(path);
    return path.endsWith('.ts') ? [path] : [];
  });

interface Heading {
  readonly number: string;
  readonly depth: number;
}

const headingsOf = (page: string): readonly Heading[] =>
  [...read(join(FOLDER, page)).matchAll(/^(#{2,}) §(\d+(?:\.\d+)*) \S/gm)].map(
    ([, marks = '', number = '']) => ({ number, depth: marks.length }),
  );

const SECTIONS = new Map(
  PAGES.map((page) => [page, new Set(headingsOf(page).map(({ number }) => number))]),
);

/** A section that some text names; `page` is undefined where it names none. Sections of RFCs and other documents are left out. */
interface Citation {
  readonly where: string;
  readonly page: string | undefined;
  readonly number: string;
}

const NAMED = /reference\/([\w-]+\.md)|\b(RFC \d+|OpenFlow [\d.]+)|§ ?(\d+(?:\.\d+)*)/g;

/** Citations of one line, or of one comment whose lines are joined. */
function citationsIn(text: string, where: string): readonly Citation[] {
  const found: Citation[] = [];
  let page: string | undefined;
  let isElsewhere = false;
  for (const [, named, elsewhere, number] of text.matchAll(NAMED)) {
    if (number === undefined) {
      page = named;
      isElsewhere = elsewhere !== undefined;
    } else if (!isElsewhere) found.push({ where, page, number });
  }
  return found;
}

/** Lines of a file; a comment over several lines is one. */
const linesOf = (file: string): readonly string[] =>
  read(file)
    .replaceAll(/\n\s*\*(?!\/) ?/g, ' ')
    .split('\n');

const SOURCES = ['src', 'test']
  .flatMap(filesOf)
  .filter((file) => resolve(ROOT, file) !== import.meta.filename);

/** Beginnings of other sources that anybody can open: RFCs, manual pages, Linux, the API of Kubernetes. */
const OPEN = /^(RFC \d|[\w.-]+\(\d\)|[Ll]inux[ /]|Kubernetes' )/;
/** Names of texts that the design began with. */
const ELSEWHERE = /\b([Ss]eeds? \d{3}|(design|ecosystem)\.md)\b/;

const CITATIONS = SOURCES.flatMap((file) =>
  linesOf(file).flatMap((line) => citationsIn(line, `${file}: ${line.trim()}`)),
);

const leadsNowhere = ({ page, number }: Citation): boolean =>
  page === undefined || SECTIONS.get(page)?.has(number) !== true;

describe('citations', () => {
  test('name a page and a section that is there: reference/topology.md §7.4', () => {
    expect(CITATIONS.length).toBeGreaterThan(400);
    expect(CITATIONS.filter(leadsNowhere)).toEqual([]);
  });

  test('of a rule lead to the section that it follows', () => {
    const rules = [
      ...zoneFeatures,
      ...hostFeatures({ hasVrfs: true, routingTables: 10_000 }),
    ].flatMap(({ name, rules }) =>
      Object.entries(rules).map(([rule, { source }]) => ({ where: `${name} ${rule}`, source })),
    );
    expect(rules.length).toBeGreaterThan(150);
    const cited = rules.flatMap(({ where, source }) => citationsIn(source, where));
    expect(cited.length).toBeGreaterThan(150);
    expect(cited.filter(leadsNowhere)).toEqual([]);
    const others = rules.filter(({ source }) => !source.startsWith('reference/'));
    expect(others.filter(({ source }) => !OPEN.test(source))).toEqual([]);
  });

  test('name no text that is not in the repository', () => {
    const elsewhere = SOURCES.flatMap((file) =>
      linesOf(file)
        .filter((line) => ELSEWHERE.test(line))
        .map((line) => `${file}: ${line.trim()}`),
    );
    expect(elsewhere).toEqual([]);
  });
});

describe.each(PAGES)('docs/reference/%s', (page) => {
  const headings = headingsOf(page);

  test('has its sections in order, each below the one that it is part of', () => {
    const numbers = headings.map(({ number }) => number);
    const inOrder = numbers.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));
    expect(numbers).toEqual(inOrder);
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(headings.filter(({ number, depth }) => number.split('.').length + 1 !== depth)).toEqual(
      [],
    );
    const parents = numbers.filter((number) => number.includes('.'));
    expect(parents.filter((number) => !numbers.includes(number.replace(/\.\d+$/, '')))).toEqual([]);
  });

  test('has no section that nobody cites', () => {
    const cited = new Set(
      CITATIONS.filter((citation) => citation.page === page).map(({ number }) => number),
    );
    const isCited = (number: string): boolean =>
      cited.has(number) || [...cited].some((other) => other.startsWith(`${number}.`));
    expect(headings.filter(({ number }) => !isCited(number))).toEqual([]);
  });

  test('names sections that are there, its own and those of other pages', () => {
    const named = [
      ...read(join(FOLDER, page)).matchAll(
        /(?:\[([\w-]+\.md)\]\([^)]*\) |(RFC \d+|OpenFlow [\d.]+) )?§(\d+(?:\.\d+)*)/g,
      ),
    ].filter(([, , elsewhere]) => elsewhere === undefined);
    expect(
      named
        .filter(([, other = page, , number = '']) => SECTIONS.get(other)?.has(number) !== true)
        .map(([text]) => text),
    ).toEqual([]);
  });
});

test('every page is linked from docs/architecture.md', () => {
  const linked = [...read('docs/architecture.md').matchAll(/\]\(reference\/([\w-]+\.md)\)/g)];
  expect(new Set(linked.map(([, page]) => page))).toEqual(new Set(PAGES));
});

/** What of these values is a number of three digits or more, a mark, or has a slash: ranges and names of services. Others are words. */
const figuresIn = (value: unknown): readonly string[] => {
  if (typeof value === 'number') return Math.abs(value) < 100 ? [] : [String(Math.abs(value))];
  if (typeof value === 'string') return /^0x|^\d{3,}$|\//.test(value) ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(figuresIn) : [];
};

const { serviceLimits: _service, policies: _policies, ...addressing } = DEFAULT_SETTINGS;

test.each([
  ['topology.md', 'src/topology/numbers.ts', rowNumbers],
  ['node.md', 'src/node/numbers.ts', hostNumbers],
  ['node.md', 'src/node/openflow/pipeline.ts', { COOKIE, COOKIE_PATH_MTU, PIPELINE, ZONES }],
  ['api.md', 'src/allocators/ids.ts', ids],
  ['api.md', 'src/model/settings.ts', addressing],
])('%s has the figures of %s', (page, _file, values) => {
  const text = read(join(FOLDER, page));
  const figures = figuresIn(values);
  expect(figures.length).toBeGreaterThan(2);
  expect(figures.filter((figure) => !new RegExp(`(?<![\\w.])${figure}(?!\\w)`).test(text))).toEqual(
    [],
  );
});
