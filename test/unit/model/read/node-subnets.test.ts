import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { NODE_SUBNETS } from '../../../../src/api/annotations/node-annotations.ts';
import type { Node } from '../../../../src/api/types.ts';
import { readNodeSubnets, type SubnetsOfNode } from '../../../../src/model/read/node-subnets.ts';

const nodeWith = (text: string | undefined): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n1', annotations: text === undefined ? {} : { [NODE_SUBNETS]: text } },
});

const cidrs = fc.array(fc.constantFrom('10.0.0.0/24', '10.0.1.0/24', 'fd00::/64'), {
  minLength: 1,
  maxLength: 2,
});
const good = fc
  .dictionary(fc.constantFrom('a', 'aa', 'blue_blue', 'c-d', 'default'), cidrs, {
    noNullPrototype: true,
  })
  .map((object) => JSON.stringify(object));
const odd = fc.constantFrom(
  '{"a":["10.0.0.0/24"],"a":["10.0.1.0/24"]}',
  '{"a":["10.0.0.0/24"],"aa":["10.0.1.0/24"],"a":["10.0.1.0/24"]}',
  '{ "a": "10.0.0.0/24" }',
  '{"a":["10.0.0.7/24"]}',
  '{"a":["10.0.0.0/24"',
  '{"a":["nonsense"],"aa":["10.0.0.0/24"]}',
  '{}',
  '[]',
);

test('what a good annotation says does not depend on what was there before', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(good, good, odd, fc.constant(undefined))),
      good,
      (texts, last) => {
        let before: SubnetsOfNode | undefined;
        for (const text of [...texts, last]) {
          const now = readNodeSubnets(nodeWith(text), before);
          const afresh = readNodeSubnets(nodeWith(text), undefined);
          if (afresh.problem === undefined)
            expect(Object.fromEntries(now.byNetwork)).toEqual(Object.fromEntries(afresh.byNetwork));
          expect(now.problem).toBe(afresh.problem);
          before = now;
        }
        expect(before?.unreadable).toBeUndefined();
      },
    ),
    { numRuns: 1000 },
  );
});

test('facts that stay the same keep their identity', () => {
  const before = readNodeSubnets(nodeWith('{"a":["10.0.0.0/24"],"b":["10.0.1.0/24"]}'), undefined);
  const more = '{"a":["10.0.0.0/24"],"b":["10.0.1.0/24"],"c":["10.0.2.0/24"]}';
  const after = readNodeSubnets(nodeWith(more), before);
  expect(after.byNetwork.get('a')).toBe(before.byNetwork.get('a'));
  expect(after.byNetwork.get('c')).toEqual({ cidrs: ['10.0.2.0/24'] });
});
