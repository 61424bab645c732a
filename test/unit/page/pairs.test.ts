import { describe, expect, test } from 'vitest';
import type { PageData, PageProof } from '../../../src/page/page-data.ts';
import { Pairs } from '../../../src/page/pairs.ts';

const proof: PageProof = {
  node: 'n1',
  time: '2026-01-01T00:00:00.000Z',
  verdict: 'apart',
  digest: 'd',
  networks: ['default', 'a', 'b', 'c'],
  joins: [{ object: 'ClusterNetworkConnect all', networks: ['a', 'b'] }],
  violations: [],
  edges: [],
  undecided: [],
  notProved: [],
};
const data: Pick<PageData, 'joins' | 'ways'> = {
  joins: [
    {
      kind: 'connection',
      object: 'ClusterNetworkConnect all',
      networks: ['a', 'b'],
      what: 'pods',
    },
  ],
  ways: [
    { kind: 'open port', object: 'Pod blue/web', from: 'default', to: 'a', what: 'tcp 80' },
    { kind: 'leaves', object: 'UserDefinedNetwork a/a', from: 'a', to: 'outside', what: 'all' },
  ],
};
const proofOf = (from: string, to: string, given: Partial<PageProof>): string | undefined =>
  new Pairs({ ...data, proof: { ...proof, ...given } }).pair(from, to).proof;

describe('who reaches whom', () => {
  const pairs = new Pairs(data);

  test('a connection leads both ways, and to nobody else', () => {
    const object = 'ClusterNetworkConnect all';
    expect(pairs.pair('a', 'b').by).toMatchObject([{ object }]);
    expect(pairs.pair('b', 'a').by).toMatchObject([{ object }]);
    expect(pairs.pair('a', 'c').by).toEqual([]);
    expect(pairs.pair('a', 'a').by).toEqual([]);
  });

  test('other ways lead one way alone', () => {
    expect(pairs.pair('default', 'a').by).toMatchObject([{ object: 'Pod blue/web' }]);
    expect(pairs.pair('a', 'default').by).toEqual([]);
    expect([...pairs.linkedWith('a')].toSorted()).toEqual(['b', 'default', 'outside']);
  });

  test('nothing is said of a proof where there is none', () => {
    expect(pairs.pair('a', 'c').proof).toBeUndefined();
  });
});

describe('a proof', () => {
  test('proves pairs that no object joins, and says nothing of others', () => {
    expect(proofOf('a', 'c', {})).toBe('proved');
    expect(proofOf('default', 'a', {})).toBe('proved');
    expect(proofOf('a', 'b', {})).toBe('joined');
    expect(proofOf('a', 'outside', {})).toBeUndefined();
    expect(proofOf('a', 'elsewhere', {})).toBeUndefined();
  });

  test('is never said to prove what a violation concerns, or what could not be read', () => {
    const violation = { where: 'w', what: 'x', object: 'o', networks: ['a', 'c'] };
    expect(proofOf('c', 'a', { violations: [violation] })).toBe('violated');
    expect(proofOf('c', 'default', { violations: [violation] })).toBe('undecided');
    expect(proofOf('b', 'default', { violations: [violation] })).toBe('proved');
    expect(proofOf('b', 'c', { violations: [{ ...violation, networks: [] }] })).toBe('undecided');
    expect(proofOf('b', 'c', { undecided: ['OVN_Southbound: it needs --sb'] })).toBe('undecided');
  });

  test('of other objects is said to be that, in both directions', () => {
    expect(proofOf('a', 'b', { joins: [] })).toBe('other objects');
    expect(proofOf('a', 'c', { joins: [{ object: 'o', networks: ['a', 'c'] }] })).toBe(
      'other objects',
    );
  });
});
