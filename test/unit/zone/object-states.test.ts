/** One state for each object that is not as it should be, whatever says so. */
import { expect, test } from 'vitest';
import { objectStatesIn } from '../../../src/api/zone-objects.ts';
import { objectStates } from '../../../src/zone/object-states.ts';

const PORT = { object: 'Pod blue/web', message: 'address 10.0.0.1 is not one of its network' };
const WAITS = { object: 'Pod blue/web', message: 'waits for its addresses' };
const NOTHING = { problems: [], waiting: [], progress: [] };

test('an object that waits is pending; one with something else wrong failed, with that alone', () => {
  expect(objectStates({ ...NOTHING, problems: [WAITS], waiting: [WAITS] })).toEqual([
    { ...WAITS, state: 'Pending' },
  ]);
  expect(objectStates({ ...NOTHING, problems: [WAITS, PORT], waiting: [WAITS] })).toEqual([
    { ...PORT, state: 'Failed' },
  ]);
});

test('several problems of an object are one state', () => {
  const other = { ...PORT, message: 'it runs a virtual machine' };
  expect(objectStates({ ...NOTHING, problems: [PORT, other] })).toEqual([
    { ...PORT, state: 'Failed', message: `${PORT.message}; ${other.message}` },
  ]);
});

test('networks and connections are objects, too, unless they are as they should be', () => {
  const object = 'UserDefinedNetwork blue/net';
  const at = (state: string, message?: string): ReturnType<typeof objectStates> =>
    objectStates({
      ...NOTHING,
      progress: [{ object, state, ...(message === undefined ? {} : { message }) }],
    });
  for (const state of ['Programmed', 'Committed', 'Unused']) expect(at(state)).toEqual([]);
  expect(at('Pending', 'no subnet here')).toEqual([
    { object, state: 'Pending', message: 'no subnet here' },
  ]);
  expect(at('Failed', 'refused')).toEqual([{ object, state: 'Failed', message: 'refused' }]);
});

test('rows, units and databases are no objects', () => {
  const problems = ['Logical_Switch "blue"', 'unit port of blue', 'database Northbound', 'more'];
  expect(
    objectStates({ ...NOTHING, problems: problems.map((object) => ({ object, message: 'x' })) }),
  ).toEqual([]);
});

test('of a status of an earlier release what is wrong with objects has failed', () => {
  const problems = [PORT, { object: 'database Northbound', message: 'away' }];
  expect(objectStatesIn({ problems })).toEqual([{ ...PORT, state: 'Failed' }]);
  expect(objectStatesIn({ problems, objects: [] })).toEqual([]);
  expect(objectStatesIn(undefined)).toEqual([]);
});
