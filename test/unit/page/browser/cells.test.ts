import { expect, test } from 'vitest';
import { KINDS, lookOf, PROOFS } from '../../../../src/page/browser/cells.ts';

const pair = { from: 'a', to: 'b', by: [] };
const way = { object: 'o', from: 'a', to: 'b', what: 'w' };

test('every kind and every proof has a sign of its own: colour never stands alone', () => {
  const signs = [...Object.values(KINDS), ...Object.values(PROOFS)]
    .map(({ sign }) => sign)
    .filter((sign) => sign !== '');
  expect(new Set(['·', ...signs]).size).toBe(signs.length + 1);
});

test('a cell reads as a sentence, with its proof', () => {
  expect(lookOf({ ...pair, proof: 'proved' })).toEqual({
    look: 'apart',
    sign: '✓',
    words: 'a to b: apart; proved',
  });
  expect(lookOf(pair)).toMatchObject({ look: 'apart', sign: '·' });
  expect(lookOf({ from: 'a', to: 'a', by: [] })).toMatchObject({ look: 'self' });
});

test('of several ways the widest decides the colour, and all are named', () => {
  const by = [
    { ...way, kind: 'exposed' as const },
    { ...way, kind: 'open port' as const },
  ];
  expect(lookOf({ ...pair, by })).toEqual({
    look: 'open-port',
    sign: 'P+',
    words: 'a to b: open ports of a pod, node port, external address or host port',
  });
});

test.each(['violated', 'undecided', 'other objects'] as const)(
  'a proof that is %s is the sign of the cell, whatever reaches there',
  (proof) => {
    const by = [{ ...way, kind: 'exposed' as const }];
    expect(lookOf({ ...pair, by, proof })).toMatchObject({ sign: PROOFS[proof].sign });
    expect(lookOf({ ...pair, proof })).toMatchObject({ sign: PROOFS[proof].sign });
  },
);
