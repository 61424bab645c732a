import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { fail, succeed, type Result } from '../../../src/api/result.ts';

const SOURCE = resolve(import.meta.dirname, '../../../src');

test('a result is a value or what is wrong', () => {
  const half = (n: number): Result<number> => (n % 2 === 0 ? succeed(n / 2) : fail(`${n} is odd`));
  expect(half(4)).toEqual({ kind: 'value', value: 2 });
  expect(half(3)).toEqual({ kind: 'invalid', error: '3 is odd' });
});

test('results in all sources are told apart by `kind`', () => {
  const others = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) =>
      [
        ...readFileSync(join(SOURCE, name), 'utf8').matchAll(
          /readonly (?:ok|success|outcome|result|status): (?:true|false|'[^']*');/g,
        ),
      ].map(([member]) => `${name}: ${member}`),
    );
  expect(others).toEqual([]);
});
