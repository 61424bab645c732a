/** Who reads a reason in a condition or an event finds it in docs/runbooks.md, by that word. */
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const [, REASONS = ''] = read('docs/runbooks.md').split('\n# Reasons\n');
const SOURCES = globSync('src/{addresses,cluster,zone}/**/*.ts', { cwd: ROOT });

/** What says that all is well, or goes to programs alone. */
const WITHOUT_PAGE = [
  'NetworkAllocationSucceeded',
  'NetworkAttachmentDefinitionCreated',
  'NetworkInDataPlane',
  'NetworksAllocated',
  'NotDecided',
  'OVNSetupSucceeded',
  'Rebalancing',
  'SuccessfulAllocation',
  'ValidationSucceeded',
];

const written = new Set(
  SOURCES.flatMap((path) => [
    ...[...read(path).matchAll(/\breason(?: =|:) '([A-Z]\w+)'/g)].map(([, reason = '']) => reason),
    ...[...read(path).matchAll(/type \w*Reason =([^;]*);/g)].flatMap(([, union = '']) =>
      [...union.matchAll(/'(\w+)'/g)].map(([, reason = '']) => reason),
    ),
  ]),
);

test('there are reasons', () => {
  expect(written.size).toBeGreaterThan(30);
});

test('each reason has its section, or stands at the beginning of one: write what to do about it', () => {
  const explained = new Set(
    REASONS.split(/^### /m)
      .slice(1)
      .flatMap((section) => [
        /^\w+/.exec(section)?.[0],
        ...[...section.matchAll(/`([A-Z]\w+)`/g)].map(([, reason]) => reason),
      ]),
  );
  expect(
    [...written].filter((reason) => !explained.has(reason) && !WITHOUT_PAGE.includes(reason)),
  ).toEqual([]);
});

test('no section is about a reason that nobody writes', () => {
  const source = SOURCES.map(read).join('\n');
  const sections = [...REASONS.matchAll(/^### (\w+)$/gm)].map(([, title = '']) => title);
  expect(sections.length).toBeGreaterThan(20);
  expect(sections.filter((title) => !source.includes(`'${title}'`))).toEqual([]);
  expect(new Set(sections).size).toBe(sections.length);
});
