import { expect, test } from 'vitest';
import { distinctProblems } from '../../../src/views/distinct-problems.ts';

test('a problem that several parts report is shown once, with its object named once', () => {
  expect(
    distinctProblems([
      { object: 'Pod/blue/web', message: 'Pod blue/web: Pod blue/web: no address left' },
      { object: 'Pod blue/web', message: 'no address left' },
      { object: 'Node n1', message: 'broken' },
    ]),
  ).toEqual([
    { object: 'Node n1', message: 'broken' },
    { object: 'Pod blue/web', message: 'no address left' },
  ]);
});
