import { describe, expect, test } from 'vitest';
import type { PageData, PageProof } from '../../../src/page/page-data.ts';
import { passingBetween, Pairs } from '../../../src/page/pairs.ts';

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

  test('what leaves the cluster asks at node ports as somebody outside does, whatever network they lead to', () => {
    const exposed = { kind: 'exposed' as const, object: 'Service c/web', from: 'outside', to: 'c' };
    const open = new Pairs({ ...data, ways: [...data.ways, { ...exposed, what: 'node port' }] });
    expect(open.pair('a', 'c').by).toMatchObject([{ object: 'Service c/web' }]);
    expect(open.pair('outside', 'c').by).toMatchObject([{ object: 'Service c/web' }]);
    // It has no way out.
    expect(open.pair('b', 'c').by).toEqual([]);
    expect(open.pair('c', 'a').by).toEqual([]);
    expect([open.isReached('c', 'a'), open.isReached('a', 'c')]).toEqual([true, true]);
    expect(open.isReached('b', 'c')).toBe(false);
    // Nobody of the others is shown with it for that.
    expect([...open.linkedWith('c')]).toEqual(['outside']);
  });

  test('two networks on one wire are not a matter of a proof, and are not apart', () => {
    const joins = [{ kind: 'physical' as const, object: 'o', networks: ['a', 'c'], what: 'VLAN' }];
    const wired = new Pairs({ joins, ways: [], proof: { ...proof, joins: [] } });
    expect(wired.pair('c', 'a')).toMatchObject({ by: joins, proof: 'proved' });
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

test('what passes is of the edge of each of the two to the connection between them, and of edges from one to the other', () => {
  const ip = (to: string) => ({ destinations: [to], protocol: 'ip' });
  const edge = {
    where: 'row',
    object: 'ClusterNetworkConnect all',
    to: 'ClusterNetworkConnect all',
  };
  const edges = [
    { ...edge, from: 'a', passes: [ip('b')], enters: [ip('a')], unlisted: 2 },
    { ...edge, from: 'b', passes: [ip('a')], enters: [] },
    { ...edge, from: 'c', passes: [ip('d')], enters: [] },
    { ...edge, from: 'default', to: 'a', passes: [ip('web')] },
  ];
  expect(passingBetween('a', 'b', { ...proof, edges })).toEqual([
    { way: 'a to ClusterNetworkConnect all', headers: [ip('b')], unlisted: 2 },
    { way: 'ClusterNetworkConnect all to b', headers: [], unlisted: 0 },
  ]);
  expect(passingBetween('default', 'a', { ...proof, edges })).toEqual([
    { way: 'default to a', headers: [ip('web')], unlisted: 0 },
  ]);
  expect(passingBetween('a', 'c', { ...proof, edges })).toEqual([]);
});
