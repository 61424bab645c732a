import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  DerivedFacts,
  FactTable,
  ONE,
  pairs,
  union,
  tupleKey,
} from '../../../src/desired/facts.ts';
import { CellMap, forgetReads, ReadRecorder, type Reader } from '../../../src/desired/reads.ts';

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

const pod = (node: string, ...labels: string[]): Pod => ({ node, labels });

function podTable() {
  const recorder = new ReadRecorder();
  const pods = new FactTable<Pod>('pods', recorder, {
    indexes: { node: ({ node }) => [node], label: ({ labels }) => labels },
    sets: { labels: ({ node, labels }) => labels.map((label) => [node, label]) },
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
  test.each<
    [
      string,
      read: (pods: FactTable<Pod>) => unknown,
      change: (pods: FactTable<Pod>) => unknown,
      number,
    ]
  >([
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
    const { pods } = podTable();
    expect(() => pods.by('zone', 'z')).toThrow('facts pods have no index zone');
    expect(() => pods.setOf('zone', 'z')).toThrow('facts pods have no sets zone');
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

describe('keys', () => {
  test('tuples have texts of their own, whatever their parts are', () => {
    const part = fc.string();
    const tuple = fc.array(part, { minLength: 2, maxLength: 3 });
    fc.assert(
      fc.property(tuple, tuple, (a, b) => {
        expect(tupleKey(...a) === tupleKey(...b)).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
    );
  });

  test('those of a table, of an index and of pairs are announced as they come and go', () => {
    const recorder = new ReadRecorder();
    const table = new FactTable<Pod>('pods', recorder, {
      arity: 2,
      indexes: {
        node: ({ node }) => [node],
        pair: ({ node, labels }) => labels.map((label) => tupleKey(node, label)),
      },
    });
    const other = new FactTable<Pod>('other', recorder);
    const seen: string[] = [];
    const follow = (name: string, source: Pick<FactTable<Pod>, 'onKeys'>): void =>
      source.onKeys((tuple, isPresent) =>
        seen.push(`${isPresent ? '+' : '-'}${name} ${tuple.join('.')}`),
      );
    follow('table', table);
    follow('node', table.distinct('node'));
    follow('of n1', table.bucket('node', 'n1'));
    follow('pair', table.distinct('pair', 2));
    follow('both', pairs(table.distinct('node'), other));
    other.put('o', pod('n'));
    table.put(['ns', 'a'], pod('n1', 'x'));
    table.put(['ns', 'b'], pod('n1'));
    table.put(['ns', 'a'], pod('n1', 'y'));
    expect([...table.bucket('node', 'n1').tuples()]).toEqual([
      ['ns', 'a'],
      ['ns', 'b'],
    ]);
    table.delete(['ns', 'a']);
    table.delete(['ns', 'b']);
    expect(seen).toEqual([
      '+node n1',
      '+both n1.o',
      '+of n1 ns.a',
      '+pair n1.x',
      '+table ns.a',
      '+of n1 ns.b',
      '+table ns.b',
      '-pair n1.x',
      '+pair n1.y',
      '-of n1 ns.a',
      '-pair n1.y',
      '-table ns.a',
      '-node n1',
      '-both n1.o',
      '-of n1 ns.b',
      '-table ns.b',
    ]);
    expect([...ONE.tuples()]).toEqual([[]]);
  });

  test('of those buckets that another source has as keys', () => {
    const recorder = new ReadRecorder();
    const nodes = new FactTable<Pod>('nodes', recorder);
    const pods = new FactTable<Pod>('pods', recorder, {
      arity: 2,
      indexes: { node: ({ node }) => [node] },
    });
    nodes.put('n1', pod('n1'));
    pods.put(['ns', 'a'], pod('n1'));
    pods.put(['ns', 'b'], pod('n2'));
    const source = pods.buckets('node', nodes);
    expect([...source.tuples()]).toEqual([['ns', 'a']]);
    const seen: string[] = [];
    source.onKeys((tuple, isPresent) => seen.push(`${isPresent ? '+' : '-'}${tuple.join('.')}`));
    nodes.put('n2', pod('n2'));
    pods.put(['ns', 'c'], pod('n2'));
    pods.put(['ns', 'd'], pod('n3'));
    pods.put(['ns', 'c'], pod('n3'));
    nodes.delete('n1');
    pods.delete(['ns', 'a']);
    expect(seen).toEqual(['+ns.b', '+ns.c', '-ns.c', '-ns.a']);
    expect([...source.tuples()]).toEqual([['ns', 'b']]);
  });
});

describe('derived facts', () => {
  function derived(derive?: (name: string, pods: FactTable<Pod>) => Pod | undefined) {
    const recorder = new ReadRecorder();
    const pods = new FactTable<Pod>('pods', recorder);
    let runs = 0;
    const local = new DerivedFacts<Pod>('local', recorder, pods, (name = '') => {
      runs += 1;
      if (derive !== undefined) return derive(name, pods);
      const found = pods.get(name);
      return found?.node === 'n1' ? found : undefined;
    });
    return { recorder, pods, local, runs: () => runs };
  }

  test('follow what they are worked out from, and are worked out only then', () => {
    const { pods, local, runs } = derived();
    pods.put('a', pod('n1'));
    pods.put('b', pod('n2'));
    local.refresh();
    expect([...local.table.tuples()]).toEqual([['a']]);
    expect([local.isDirty, runs()]).toEqual([false, 2]);
    pods.put('b', pod('n1'));
    expect(local.isDirty).toBe(true);
    local.refresh();
    expect([[...local.table.tuples()].length, runs()]).toEqual([2, 3]);
    pods.delete('a');
    expect([...local.table.tuples()]).toEqual([['b']]);
    local.refresh();
    expect(runs()).toBe(3);
  });

  test('one that can not be worked out stays what it was, the others go on, and every refresh says so', () => {
    const { pods, local } = derived((name, table) => {
      const found = table.get(name);
      if (found?.node === 'bad') throw new Error('no such node');
      return found;
    });
    pods.put('a', pod('n1'));
    local.refresh();
    pods.put('a', pod('bad'));
    pods.put('b', pod('n1'));
    for (let i = 0; i < 2; i++)
      expect(() => local.refresh()).toThrow('facts local of a: no such node');
    expect(local.table.peek('a')).toEqual(pod('n1'));
    expect(local.table.peek('b')).toEqual(pod('n1'));
    pods.put('a', pod('n2'));
    local.refresh();
    expect(local.table.peek('a')).toEqual(pod('n2'));
  });

  test('are, after any history, what they would be if they were worked out from nothing', () => {
    const node = fc.constantFrom('n1', 'n2');
    const step = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.option(node, { nil: undefined }));
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        // The first pod of each node: depends on facts of other keys.
        const first = (name: string, table: FactTable<Pod>): Pod | undefined => {
          const own = table.get(name);
          return table.all().find((one) => one.node === own?.node) === own ? own : undefined;
        };
        const { pods, local } = derived(first);
        for (const [name, on] of steps) {
          pods.put(name, on === undefined ? undefined : pod(on));
          local.refresh();
          const recorder = new ReadRecorder();
          const again = new DerivedFacts<Pod>('again', recorder, pods, (key = '') =>
            first(key, pods),
          );
          again.refresh();
          expect(Object.fromEntries(local.table.entries())).toEqual(
            Object.fromEntries(again.table.entries()),
          );
        }
      }),
    );
  });
});

test('keys of a union come with the first source that has them and go with the last one', () => {
  const recorder = new ReadRecorder();
  const tables = [
    new FactTable<Pod>('one', recorder),
    new FactTable<Pod>('two', recorder),
  ] as const;
  const [one, two] = tables;
  one.put('a', pod('n1'));
  two.put('a', pod('n1'));
  const both = union(one, two);
  const heard: string[] = [];
  both.onKeys(([key = ''], isPresent) => heard.push(`${isPresent ? '+' : '-'}${key}`));
  expect([...both.tuples()]).toEqual([['a']]);
  one.delete('a');
  two.put('b', pod('n1'));
  one.put('b', pod('n1'));
  expect(heard).toEqual(['+b']);
  two.delete('a');
  two.delete('b');
  one.delete('b');
  expect(heard).toEqual(['+b', '-a', '-b']);
  expect([...both.tuples()]).toEqual([]);
});
