import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { changedEntries, isPlainObjectText } from '../../../../src/model/read/entry-texts.ts';

const list = fc.array(fc.constantFrom('10.0.0.0/24', '10.0.1.0/24', 'fd00::/64'), { minLength: 1 });
const entries = fc
  .dictionary(fc.constantFrom('a', 'aa', 'b', 'blue_blue', 'c-d', 'c.d'), list, {
    noNullPrototype: true,
  })
  .map((object) => JSON.stringify(object));

/** `before` with the changes made; undefined where the texts do not tell them, or name something twice. */
function patched(before: string, after: string): Record<string, unknown> | undefined {
  const changes = changedEntries(before, after);
  if (changes === undefined) return undefined;
  const known = JSON.parse(before) as Record<string, unknown>;
  const gone = new Set(Object.keys(JSON.parse(changes.before) as object));
  const kept = Object.entries(known).filter(([name]) => !gone.has(name));
  const added = Object.entries(JSON.parse(changes.after) as object) as [string, unknown][];
  const result = Object.fromEntries([...kept, ...added]);
  return Object.keys(result).length === kept.length + added.length ? result : undefined;
}

describe('entries that changed in the text of an object', () => {
  test('are those, and a neighbour at most', () => {
    const before =
      '{"a":["10.0.0.0/24"],"b":["10.0.1.0/24"],"d":["10.0.2.0/24"],"e":["fd00::/64"]}';
    const after = before.replace('"d"', '"c":["10.0.3.0/24"],"d"');
    const [without, added] = ['{"d":["10.0.2.0/24"]}', '{"c":["10.0.3.0/24"],"d":["10.0.2.0/24"]}'];
    expect(changedEntries(before, after)).toEqual({ before: without, after: added });
    expect(changedEntries(after, before)).toEqual({ before: added, after: without });
  });

  test('make one plain text of another one', () => {
    fc.assert(
      fc.property(entries, entries, (before, after) => {
        expect(isPlainObjectText(before)).toBe(true);
        expect(patched(before, after)).toEqual(JSON.parse(after));
      }),
      { numRuns: 2000 },
    );
  });

  test('of a text that was cut or scribbled on are told rightly or not at all', () => {
    const scribble = fc.constantFrom('', '"', ',', ']', '],', '{', '}', ':', 'x', ' ', '\\', '""');
    fc.assert(
      fc.property(entries, fc.nat(), fc.nat(4), scribble, (before, at, cut, text) => {
        const place = at % (before.length + 1);
        const after = before.slice(0, place) + text + before.slice(place + cut);
        const result = patched(before, after);
        if (result !== undefined) expect(result).toEqual(JSON.parse(after));
      }),
      { numRuns: 5000 },
    );
  });

  test.each(['[]', '{"a":"x"}', '{ "a":["x"]}', '{"a":["x"],}', '{"a":[]}', '{"a\\"":["x"]}', '{'])(
    '%s is not plain',
    (text) => {
      expect(isPlainObjectText(text)).toBe(false);
    },
  );
});
