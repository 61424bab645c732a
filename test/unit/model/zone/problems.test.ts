import { expect, test } from 'vitest';
import { ProblemList, problemOf } from '../../../../src/model/zone/problems.ts';

test('an object has a problem for each thing that was read of it, until that reads as a value or is gone', () => {
  const list = new ProblemList();
  list.note('Node a', 'subnets', { kind: 'problem', message: 'torn' });
  list.note('Node a', 'addresses', { kind: 'problem', message: 'missing' });
  list.note('Node b', 'id', { kind: 'pending', waitsFor: 'its id' });
  expect([...list.problems()].map(({ message }) => message)).toEqual(['torn', 'missing']);
  expect([...list.pending()]).toEqual([{ object: 'Node b', message: 'its id' }]);
  list.note('Node a', 'subnets', { kind: 'value', value: 1 });
  list.note('Node b', 'id', undefined);
  expect([...list.problems()]).toEqual([{ object: 'Node a', message: 'missing' }]);
  expect([...list.pending()]).toEqual([]);
});

test('what is read again replaces what was said before', () => {
  const list = new ProblemList();
  list.note('Pod a/b', 'networks', { kind: 'pending', waitsFor: 'an address' });
  list.note('Pod a/b', 'networks', { kind: 'problem', message: 'no room' });
  expect([[...list.pending()], [...list.problems()]]).toEqual([
    [],
    [{ object: 'Pod a/b', message: 'no room' }],
  ]);
});

test('a value and what is waited for are no problems of an object', () => {
  expect([...problemOf('Node a', { kind: 'value', value: 1 })]).toEqual([]);
  expect([...problemOf('Node a', { kind: 'pending', waitsFor: 'x' })]).toEqual([]);
  expect([...problemOf('Node a', undefined)]).toEqual([]);
});
