import { describe, expect, test } from 'vitest';
import type { Reading } from '../../../../src/api/annotations/annotations.ts';
import {
  awaited,
  found,
  isProblem,
  optional,
  reading,
  required,
  valueOf,
} from '../../../../src/model/read/reading.ts';

const says = (value: number): Reading<number> => ({ value, errors: [] });
const absent: Reading<number> = { value: undefined, errors: [] };

describe('an object that is read', () => {
  test('is a value', () => {
    expect(reading(() => awaited(says(1), 'an id') + (optional(says(2)) ?? 0))).toEqual({
      kind: 'value',
      value: 3,
    });
    expect(reading(() => optional(absent))).toEqual({ kind: 'value', value: undefined });
  });

  test('waits for what others still give it', () => {
    expect(reading(() => awaited(absent, 'an id'))).toEqual({
      kind: 'pending',
      waitsFor: 'an id',
    });
  });

  test('has a problem where something is missing that somebody has to write', () => {
    expect(reading(() => required(absent, 'k8s.ovn.org/x', 'the node writes it'))).toEqual({
      kind: 'problem',
      message: 'annotation k8s.ovn.org/x is missing; the node writes it',
    });
  });

  test('that makes the reader throw is no reading: an error of ours is not put down to the object', () => {
    expect(() =>
      reading(() => {
        throw new TypeError('ours');
      }),
    ).toThrow('ours');
  });
});

test('what is told of a reading', () => {
  expect(valueOf({ kind: 'value', value: 1 })).toBe(1);
  expect(valueOf({ kind: 'pending', waitsFor: 'x' })).toBeUndefined();
  expect(isProblem({ kind: 'problem', message: 'x' })).toHaveLength(1);
  expect(isProblem({ kind: 'value', value: 1 })).toHaveLength(0);
  expect([found(undefined), found(1)]).toEqual([undefined, { kind: 'value', value: 1 }]);
});
