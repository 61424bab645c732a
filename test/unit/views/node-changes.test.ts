import { expect, test } from 'vitest';
import {
  chosenChanges,
  countsText,
  objectsText,
  type NodeChange,
} from '../../../src/views/node-changes.ts';

const change = (kind: NodeChange['kind'], ...objects: readonly string[]): NodeChange => ({
  at: '2026-01-01T00:00:00.000Z',
  kind,
  database: 'Northbound',
  added: 1,
  changed: 0,
  removed: 0,
  objects: objects.map((object) => ({ object, rows: 1 })),
  more: 0,
});

test('counts are signs and numbers, and nothing of what there is none', () => {
  expect(countsText({ added: 3, changed: 0, removed: 1 })).toBe('+3 -1');
  expect(countsText({ added: 0, changed: 2, removed: 0 })).toBe('~2');
});

test('objects are named in one line, with how many more there are', () => {
  expect(objectsText(change('wrote'))).toBe('-');
  expect(objectsText(change('wrote', 'Pod a/b', 'Pod a/c'))).toBe('Pod a/b, Pod a/c');
  expect(objectsText({ ...change('wrote', 'Pod a/b'), more: 4 })).toBe('Pod a/b and 4 more');
});

test('an object is found with its kind or without it, and never by a part of its name', () => {
  const all = [
    change('wrote', 'UserDefinedNetwork blue/net'),
    change('wrote', 'Pod blue/net-1'),
    change('drift', 'UserDefinedNetwork blue/net', 'Node n1'),
  ];
  const places = (choice: Parameters<typeof chosenChanges>[1]): readonly number[] =>
    chosenChanges(all, choice).map((one) => all.indexOf(one));
  expect(places({})).toEqual([0, 1, 2]);
  expect(places({ object: 'UserDefinedNetwork blue/net' })).toEqual([0, 2]);
  expect(places({ object: 'blue/net' })).toEqual([0, 2]);
  expect(places({ object: 'net' })).toEqual([]);
  expect(places({ object: 'n1' })).toEqual([2]);
  expect(places({ onlyDrift: true })).toEqual([2]);
});
