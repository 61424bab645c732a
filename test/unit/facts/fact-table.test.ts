import { describe, expect, test } from 'vitest';
import { CellMap, forgetReads, ReadRecorder, type Reader } from '../../../src/facts/reads.ts';
import { FactTable } from '../../../src/facts/fact-table.ts';

/** A reader that counts how often it was invalidated since it ran. */
class Counter implements Reader {
  reads: Reader['reads'] = [];
  invalidations = 0;

  invalidate(): void {
    this.invalidations += 1;
  }
}

interface Pod {
  readonly node: string;
  readonly labels: readonly string[];
}

class Pods extends FactTable<
  [name: string],
  Pod,
  { node: [string]; label: [string] },
  { labels: [node: string] }
> {}

const pod = (node: string, ...labels: string[]): Pod => ({ node, labels });

function podTable() {
  const recorder = new ReadRecorder();
  const pods = new Pods('pods', recorder, {
    indexes: { node: ({ node }) => [node], label: ({ labels }) => labels },
    sets: { labels: ({ node, labels }) => labels.map((label) => [[node], label]) },
  });
  pods.put('a', pod('n1', 'x'));
  pods.put('b', pod('n1', 'x', 'y'));
  pods.put('c', pod('n2'));
  /** What is invalidated by a change, of one who reads in this way. */
  const after = (read: () => unknown, change: () => unknown): number => {
    const reader = new Counter();
    recorder.run(reader, read);
    change();
    return reader.invalidations;
  };
  return { recorder, pods, after };
}

describe('who reads is invalidated by a change of what it read', () => {
  test.each<[string, read: (pods: Pods) => unknown, change: (pods: Pods) => unknown, number]>([
    ['a fact', (pods) => pods.get('a'), (pods) => pods.put('a', pod('n2', 'x')), 1],
    [
      'a fact that is equal to the one before',
      (pods) => pods.get('a'),
      (pods) => pods.put('a', pod('n1', 'x')),
      0,
    ],
    ['another fact', (pods) => pods.get('a'), (pods) => pods.delete('b'), 0],
    ['a fact that goes', (pods) => pods.get('a'), (pods) => pods.delete('a'), 1],
    ['a fact that comes', (pods) => pods.get('d'), (pods) => pods.put('d', pod('n1')), 1],
    ['a field', (pods) => pods.part('a', 'node'), (pods) => pods.put('a', pod('n2', 'x')), 1],
    ['another field', (pods) => pods.part('a', 'node'), (pods) => pods.put('a', pod('n1', 'z')), 0],
    [
      'a field of a fact that goes',
      (pods) => pods.part('a', 'node'),
      (pods) => pods.delete('a'),
      1,
    ],
    [
      'a bucket: a member comes',
      (pods) => pods.by('node', 'n1'),
      (pods) => pods.put('d', pod('n1')),
      1,
    ],
    [
      'a bucket: a member changes',
      (pods) => pods.by('node', 'n1'),
      (pods) => pods.put('a', pod('n1', 'z')),
      1,
    ],
    [
      'a bucket: a member leaves',
      (pods) => pods.by('node', 'n1'),
      (pods) => pods.put('a', pod('n2')),
      1,
    ],
    ['another bucket', (pods) => pods.by('node', 'n1'), (pods) => pods.put('c', pod('n2', 'z')), 0],
    [
      'an empty bucket: a member comes',
      (pods) => pods.by('node', 'n9'),
      (pods) => pods.put('c', pod('n9')),
      1,
    ],
    [
      'keys of a bucket: a member comes',
      (pods) => pods.keysBy('node', 'n1'),
      (pods) => pods.put('d', pod('n1')),
      1,
    ],
    [
      'keys of a bucket: a member changes',
      (pods) => pods.keysBy('node', 'n1'),
      (pods) => pods.put('a', pod('n1', 'z')),
      0,
    ],
    [
      'a kept set: a member comes',
      (pods) => pods.setOf('labels', 'n1'),
      (pods) => pods.put('d', pod('n1', 'z')),
      1,
    ],
    [
      'a kept set: a member comes a second time, or goes and is still there',
      (pods) => pods.setOf('labels', 'n1'),
      (pods) => [pods.put('d', pod('n1', 'y')), pods.delete('a')],
      0,
    ],
    [
      'a kept set: its last members leave',
      (pods) => pods.setOf('labels', 'n1'),
      (pods) => [pods.delete('a'), pods.delete('b')],
      1,
    ],
    [
      'another kept set',
      (pods) => pods.setOf('labels', 'n1'),
      (pods) => pods.put('c', pod('n2', 'z')),
      0,
    ],
    ['all', (pods) => pods.all(), (pods) => pods.put('c', pod('n3')), 1],
    [
      'nothing that is recorded',
      (pods) => [...pods.entries(), pods.peek('a')],
      (pods) => pods.delete('a'),
      0,
    ],
  ])('%s', (_what, read, change, times) => {
    const { pods, after } = podTable();
    expect(
      after(
        () => read(pods),
        () => change(pods),
      ),
    ).toBe(times);
  });

  test('of several buckets of one fact each has its own readers', () => {
    const { pods, after } = podTable();
    expect(
      after(
        () => pods.by('label', 'y'),
        () => pods.put('b', pod('n1', 'x')),
      ),
    ).toBe(1);
    expect(
      after(
        () => pods.by('label', 'x'),
        () => pods.put('c', pod('n2', 'z')),
      ),
    ).toBe(0);
    expect(pods.by('label', 'x').map(({ node }) => node)).toEqual(['n1', 'n1']);
    expect(pods.keysBy('label', 'x')).toEqual(['a', 'b']);
  });

  test('only what was read in the last run counts', () => {
    const { recorder, pods } = podTable();
    const reader = new Counter();
    recorder.run(reader, () => pods.get('a'));
    recorder.run(reader, () => pods.get('b'));
    pods.delete('a');
    expect(reader.invalidations).toBe(0);
    pods.delete('b');
    expect(reader.invalidations).toBe(1);
  });

  test('what was read before a throw counts: its change is another chance', () => {
    const { recorder, pods } = podTable();
    const reader = new Counter();
    const run = (): void =>
      recorder.run(reader, () => {
        pods.get('a');
        throw new Error('broken');
      });
    expect(run).toThrow('broken');
    pods.delete('a');
    expect(reader.invalidations).toBe(1);
  });

  test('reads aside, and those of a reader that is gone, do not count', () => {
    const { recorder, pods } = podTable();
    const [reader, gone] = [new Counter(), new Counter()];
    recorder.run(reader, () => recorder.aside(() => pods.get('a')));
    recorder.run(gone, () => pods.get('a'));
    forgetReads(gone);
    pods.delete('a');
    expect([reader.invalidations, gone.invalidations]).toEqual([0, 0]);
  });

  test('a fact is not changed while something is worked out from facts', () => {
    const { recorder, pods } = podTable();
    expect(() => recorder.run(new Counter(), () => pods.delete('a'))).toThrow(
      'facts pods are changed while something is worked out from facts',
    );
    expect(pods.peek('a')).toBeDefined();
  });

  test('an index that is not there is named', () => {
    const pods = new Pods('pods', new ReadRecorder());
    expect(() => pods.by('node', 'n1')).toThrow('facts pods have no index node');
    expect(() => pods.setOf('labels', 'n1')).toThrow('facts pods have no sets labels');
  });

  test('a kept set has what its facts say now', () => {
    const { pods } = podTable();
    const labels = (): string[] => [...pods.setOf('labels', 'n1')].sort();
    expect(labels()).toEqual(['x', 'y']);
    pods.put('b', pod('n1', 'z'));
    expect(labels()).toEqual(['x', 'z']);
    pods.delete('a');
    pods.put('b', pod('n2', 'z'));
    expect(labels()).toEqual([]);
  });
});

test('a fact that was asked for and is not there is none, until it comes', () => {
  const { recorder, pods } = podTable();
  const readers = Array.from({ length: 500 }, () => new Counter());
  for (const [i, reader] of readers.entries()) recorder.run(reader, () => pods.get(`none-${i}`));
  const known = (): unknown => [
    pods.size,
    [...pods.keys()],
    [...pods.entries()].map(([key]) => key),
    pods.all(),
  ];
  const [a, b, c] = [pod('n1', 'x'), pod('n1', 'x', 'y'), pod('n2')];
  expect(known()).toEqual([3, [['a'], ['b'], ['c']], ['a', 'b', 'c'], [a, b, c]]);
  for (const reader of readers.slice(2)) forgetReads(reader);
  pods.put('none-0', a);
  pods.delete('a');
  expect(pods.size).toBe(3);
  expect(pods.all()).toEqual([b, c, a]);
  pods.put('none-1', c);
  expect(readers.map(({ invalidations }) => invalidations)).toEqual([
    1,
    1,
    ...readers.slice(2).map(() => 0),
  ]);
});

test('cells of keys that come and go do not pile up', () => {
  const recorder = new ReadRecorder();
  const cells = new CellMap();
  const stays = new Counter();
  recorder.run(stays, () => cells.note('stays', recorder));
  for (let i = 0; i < 10_000; i++) {
    const reader = new Counter();
    recorder.run(reader, () => cells.note(`k${i}`, recorder));
    forgetReads(reader);
    cells.invalidate(`k${i}`);
  }
  expect(cells.size).toBeLessThan(130);
  cells.invalidate('stays');
  expect(stays.invalidations).toBe(1);
});
