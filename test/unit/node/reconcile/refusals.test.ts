import { array, asyncProperty, assert, boolean, uniqueArray, nat, tuple } from 'fast-check';
import { expect, test } from 'vitest';
import {
  problemOf,
  type HostProblem,
  type PlannedChange,
} from '../../../../src/node/reconcile/host-plan.ts';
import {
  refusedText,
  Refusals,
  tryHalves,
  type Halving,
} from '../../../../src/node/reconcile/refusals.ts';

const change = (key: string, after = key, unit = 'u'): PlannedChange => ({
  action: 'add',
  table: 't',
  key,
  before: undefined,
  after,
  unit,
  rule: undefined,
  object: undefined,
});

const refuse = (
  refusals: Refusals<PlannedChange>,
  changes: readonly PlannedChange[],
  now: number,
): readonly HostProblem[] =>
  refusals.add(
    changes.map((one) => ({ change: one, reason: 'no' })),
    now,
    ([one]) => problemOf('refused', one.change, refusedText(one, `t ${one.change.key}`)),
  );

test('of groups that are tried together exactly those at fault are refused, each as a whole, and the others done once', async () => {
  await assert(
    asyncProperty(
      array(tuple(boolean(), uniqueArray(nat(), { minLength: 1, maxLength: 3 }))),
      async (all) => {
        const groups = all.map(([, members], index) =>
          members.map((member) => `${index} ${member}`),
        );
        const bad = new Set(all.flatMap(([isBad], index) => (isBad ? groups[index] : [])));
        const done: string[] = [];
        const halving: Halving<string> = {
          attempt: (changes) => {
            const reason = changes.find((one) => bad.has(one));
            if (reason === undefined) done.push(...changes);
            return Promise.resolve(reason);
          },
          refusalsLeft: Infinity,
          applied: 0,
          refused: [],
        };
        await tryHalves(groups, halving);
        expect(halving.refused.map((one) => one.change)).toEqual([...bad]);
        expect(done).toEqual(groups.flat().filter((one) => !bad.has(one)));
        expect(halving.applied).toBe(done.length);
      },
    ),
  );
});

test('what was refused rests for half a minute, unless something else is wanted of it', () => {
  const refusals = new Refusals();
  const [problem] = refuse(refusals, [change('a')], 0);
  expect(problem?.message).toBe("t a can't be made (a): no");
  const again = [change('a'), change('b')];
  expect(refusals.resting(again, 29_999)).toEqual({
    changes: new Set([again[0]]),
    problems: [problem],
  });
  expect(refusals.resting([change('a', 'other')], 29_999).changes.size).toBe(0);
  expect(refusals.resting(again, 30_000).changes.size).toBe(0);
  expect(refusals.resting(again, 0).changes.size).toBe(0); // forgotten
});

test('changes of a group rest together, with one problem, and are tried again together', () => {
  const refusals = new Refusals(({ unit }: PlannedChange) => unit);
  const both = [change('a'), change('b')];
  expect(refuse(refusals, both, 0)).toHaveLength(1);
  const resting = refusals.resting([...both, change('c', 'c', 'v')], 1);
  expect([...resting.changes]).toEqual(both);
  expect(resting.problems).toHaveLength(1);
  expect(refusals.resting([change('a'), change('b', 'right')], 1).changes.size).toBe(0);
});
