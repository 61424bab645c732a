import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { eachOf, withMember, withoutMember, type Members } from '../../../src/facts/members.ts';

test('members are a set, however many they are, in the order in which they came', () => {
  const step = fc.record({ isMember: fc.boolean(), name: fc.integer({ min: 0, max: 14 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let members: Members<string>;
      const expected = new Set<string>();
      for (const { isMember, name } of steps) {
        const member = `m${name}`;
        members = (isMember ? withMember : withoutMember)(members, member);
        if (isMember) expected.add(member);
        else expected.delete(member);
        expect([...eachOf(members)]).toEqual([...expected]);
        expect(members === undefined).toBe(expected.size === 0);
      }
    }),
  );
});
