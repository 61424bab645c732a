/** docs/support.md says what works where; what it says is shown by tests that are there. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FEATURES, KINDS } from '../../../schemas/support-matrix.ts';

const TESTS = join(import.meta.dirname, '../..');
const textOf = (file: string): string => {
  const path = join(TESTS, `${file}.ts`);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
};

describe('the matrix of what is supported', () => {
  test.each(FEATURES.map((feature) => [feature.name, feature] as const))(
    '%s: says of each kind of network once whether it works',
    (_, { works, not }) => {
      const said = [...works, ...not].flatMap(({ on }) => on);
      expect(said.toSorted()).toEqual([...KINDS].sort());
    },
  );

  test('names tests that are there', () => {
    const named = FEATURES.flatMap(({ works }) => works.flatMap(({ by }) => by));
    const missing = named.filter(
      ([file, title]) => title === '' || !new RegExp(`['\`]${escaped(title)}`).test(textOf(file)),
    );
    expect(missing).toEqual([]);
  });

  test('says that packets were sent only where a test with a lab sends them', () => {
    const packets = FEATURES.flatMap(({ works }) =>
      works.filter(({ proof }) => proof === 'packets').flatMap(({ by }) => by),
    );
    expect(packets.filter(([file]) => !/^(e2e|support\/lab)\//.test(file))).toEqual([]);
  });
});

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
