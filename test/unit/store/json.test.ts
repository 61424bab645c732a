import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../../../src/api/canonical-json.ts';
import {
  applyMergePatch,
  mergePatchBetween,
  withoutNulls,
  type Json,
} from '../../../src/store/json.ts';

describe('JSON merge patch', () => {
  // The examples of RFC 7386, appendix A.
  test.each<[Json, Json, Json]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('%j patched with %j is %j', (target, patch, result) => {
    expect(applyMergePatch(target, patch)).toEqual(result);
  });

  const values = fc.jsonValue({ maxDepth: 4 }).map(withoutNulls);

  test('the difference of two values, applied to the first, gives the second', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), values),
        fc.dictionary(fc.string(), values),
        (a, b) => {
          const [from, to] = [withoutNulls(a), withoutNulls(b)];
          const patch = mergePatchBetween(from, to);
          const result = patch === undefined ? from : applyMergePatch(from, patch);
          expect(canonicalJson(result)).toBe(canonicalJson(to));
        },
      ),
    );
  });

  test('equal values have no difference, whatever the order of their keys', () => {
    expect(mergePatchBetween({ a: { x: 1, y: [2] } }, { a: { y: [2], x: 1 } })).toBeUndefined();
  });

  test('a key called __proto__ is only a key', () => {
    const hostile = JSON.parse('{"__proto__": {"polluted": true}}') as Json;
    const result = applyMergePatch({ a: 1 }, hostile);
    expect(Object.hasOwn(result as object, '__proto__')).toBe(true);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect((result as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
