/** What docs/engine.md says of kinds is what they declare. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { objectKinds } from '../../../src/model/read/object-kinds.ts';

const PAGE = readFileSync(join(resolve(import.meta.dirname, '../../..'), 'docs/engine.md'), 'utf8');

test('the table of kinds has each declaration', () => {
  const rows = [...PAGE.matchAll(/^\| (\w+) \| (`.+`) \| (keep|closed) \|$/gm)].map(
    ([, kind, tables, onUnreadable]) => ({ kind, tables, onUnreadable }),
  );
  expect(rows).toEqual(
    objectKinds
      .map(({ kind, table, also = [], onUnreadable }) => ({
        kind: kind.kind,
        tables: [table, ...also.map((part) => part.table)].map((one) => `\`${one}\``).join(', '),
        onUnreadable,
      }))
      .sort((a, b) => (a.kind < b.kind ? -1 : 1)),
  );
});
