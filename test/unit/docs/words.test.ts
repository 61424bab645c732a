/** The code has the field's words: these had other meanings, or none, for who knows OVN. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const SOURCE = join(import.meta.dirname, '../../../src');

/** What not to write, and what instead. */
const WORDS: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/\bwish(?:es)?\b/i, 'network requests, settings, desired rows'],
  [/\b(?:addresse?s?|route|rule|hop|machine|element)Words\b/, 'arguments, argv, text'],
  [/\bin the words of (?:nft|ip)\b/i, 'in the syntax of'],
  [/\bsaid\b/, 'reported, answered'],
  [/\bhears\b/, 'subscribes, is called with'],
  [/\bis nobody's\b/, 'unmanaged'],
  [/\bbeginAnew\b/, 're-exec'],
  [/\bgoOnIn\b/, 'resubmit'],
  [/\bchangeHands\b/, 'move addresses'],
  [/\bfate\b/, 'state'],
  [/misfit/i, 'schema mismatch'],
  [/newReferrers/i, 'new referrers'],
  // What people read: met in output without anything that explains it.
  [/which is none\b/, 'what it may be'],
  [/['"`]is needed\b/, 'is required'],
  [/tone\('(?:right|wrong)'/, 'in sync, out of sync, has problems'],
  [/'\(all\)'/, 'what it is all of'],
  [/instanceof Error\s*\?\s*\w+\.message\s*:\s*String\(/, 'errorText (src/api/error-text.ts)'],
];

/** Where the word is the right one, or the helper can't be imported. */
const ALLOWED = ['ovsdb/', 'allocators/node-addresses.ts', 'api/error-text.ts'];

const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter(
  (path) =>
    path.endsWith('.ts') &&
    !path.endsWith('.generated.ts') &&
    !ALLOWED.some((allowed) => path.startsWith(allowed)),
);

test.each(WORDS)('%s: write %s', (pattern) => {
  const found = files.filter((path) => pattern.test(readFileSync(join(SOURCE, path), 'utf8')));
  expect(found).toEqual([]);
});
