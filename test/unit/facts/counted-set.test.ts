import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CountedSet, EMPTY_SET, type SetVersion } from '../../../src/facts/counted-set.ts';
import { isSame } from '../../../src/facts/same.ts';

const sorted = (members: Iterable<string>): readonly string[] => [...members].sort();

test('a member is there as long as somebody adds it', () => {
  const set = new CountedSet();
  expect([set.add('a'), set.add('a'), set.remove('a')]).toEqual([true, false, false]);
  expect(sorted(set.version)).toEqual(['a']);
  expect([set.remove('a'), set.remove('a')]).toEqual([true, false]);
  expect(sorted(set.version)).toEqual([]);
});

describe('two versions', () => {
  const of = (...members: readonly string[]): CountedSet => {
    const set = new CountedSet();
    for (const member of members) set.add(member);
    return set;
  };

  test('of one set differ by what moved between them', () => {
    const set = of('a', 'b', 'c');
    const before = set.version;
    set.add('d');
    set.remove('a');
    expect(sorted(before.movedUntil(set.version) ?? [])).toEqual(['a', 'd']);
    expect(before.movedUntil(before)).toEqual(new Set());
  });

  test('tell nothing when the first is the later one, or of another set', () => {
    const set = of('a');
    const before = set.version;
    set.add('b');
    expect(set.version.movedUntil(before)).toBeUndefined();
    expect(before.movedUntil(of('a', 'b').version)).toBeUndefined();
  });

  test('tell nothing when more moved than there is', () => {
    const set = of('a', 'b');
    const before = set.version;
    for (let i = 0; i < 10; i += 1) set.add(`${i}`);
    for (let i = 0; i < 10; i += 1) set.remove(`${i}`);
    expect(before.movedUntil(set.version)).toBeUndefined();
  });

  test('are the same when they have the same members', () => {
    expect(isSame([of('a', 'b').version], [of('b', 'a').version])).toBe(true);
    expect(isSame(of('a', 'b').version, of('a', 'c').version)).toBe(false);
    expect(isSame(of('a').version, ['a'])).toBe(false);
    expect(isSame(of().version, EMPTY_SET)).toBe(true);
  });
});

test('after any history each version is what the set was then', () => {
  const move = fc.tuple(fc.boolean(), fc.constantFrom('a', 'b', 'c', 'd', 'e'));
  fc.assert(
    fc.property(fc.array(move, { maxLength: 40 }), (moves) => {
      const set = new CountedSet();
      const counts = new Map<string, number>();
      const known: { version: SetVersion; members: readonly string[] }[] = [];
      for (const [isAdded, member] of moves) {
        const count = counts.get(member) ?? 0;
        counts.set(member, isAdded ? count + 1 : Math.max(0, count - 1));
        if (isAdded) set.add(member);
        else set.remove(member);
        const members = sorted([...counts].filter(([, n]) => n > 0).map(([name]) => name));
        known.push({ version: set.version, members });
      }
      for (const [i, { version, members }] of known.entries()) {
        expect([sorted(version), version.size]).toEqual([members, members.length]);
        expect(members.every((member) => version.has(member))).toBe(true);
        for (const later of known.slice(i)) {
          const moved = version.movedUntil(later.version);
          if (moved === undefined) continue;
          const differing = new Set(members).symmetricDifference(new Set(later.members));
          expect(differing.isSubsetOf(moved)).toBe(true);
        }
      }
    }),
  );
});
