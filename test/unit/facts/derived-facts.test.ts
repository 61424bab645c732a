import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ReadRecorder } from '../../../src/facts/reads.ts';
import { DerivationGraph } from '../../../src/facts/derivation-graph.ts';
import { DerivedFacts, isToBlame } from '../../../src/facts/derived-facts.ts';
import { FactTable } from '../../../src/facts/fact-table.ts';
import { FailedFact } from '../../../src/facts/unreadable.ts';

interface Pod {
  readonly node: string;
  readonly labels: readonly string[];
}

const pod = (node: string, ...labels: string[]): Pod => ({ node, labels });

describe('derived facts', () => {
  function derived(
    derive?: (name: string, pods: FactTable<[name: string], Pod>) => Pod | undefined,
  ) {
    const recorder = new ReadRecorder();
    const graph = new DerivationGraph(recorder);
    const pods = new FactTable<[name: string], Pod>('pods', recorder);
    let runs = 0;
    const local = new DerivedFacts<[name: string], Pod>('local', graph, pods, (name) => {
      runs += 1;
      if (derive !== undefined) return derive(name, pods);
      const found = pods.get(name);
      return found?.node === 'n1' ? found : undefined;
    });
    return { graph, pods, local, runs: () => runs };
  }

  test('follow what they are worked out from, and are worked out only then', () => {
    const { graph, pods, local, runs } = derived();
    pods.put('a', pod('n1'));
    pods.put('b', pod('n2'));
    graph.refresh();
    expect([...local.keys()]).toEqual([['a']]);
    expect(runs()).toBe(2);
    pods.put('b', pod('n1'));
    graph.refresh();
    expect([[...local.keys()].length, runs()]).toEqual([2, 3]);
    pods.delete('a');
    expect([...local.keys()]).toEqual([['b']]);
    graph.refresh();
    expect(runs()).toBe(3);
  });

  test('one that can not be worked out stays what it was, the others go on, and who asks for it by its key is told', () => {
    const { pods, graph, local } = derived((name, table) => {
      const found = table.get(name);
      if (found?.node === 'bad') throw new Error('no such node');
      return found;
    });
    const heard = new DerivedFacts<[name: string], Pod>('heard', graph, pods, (name) =>
      local.get(name),
    );
    const failed = (): unknown[] =>
      [...graph.failures()]
        .filter(isToBlame)
        .map(({ table, key, error }) => [table, ...key, (error as Error).message]);
    pods.put('a', pod('n1'));
    graph.refresh();
    pods.put('a', pod('bad'));
    pods.put('b', pod('n1'));
    for (let i = 0; i < 2; i++) {
      graph.refresh();
      expect(failed()).toEqual([['local', 'a', 'no such node']]);
      expect(local.peek('a')).toEqual(pod('n1'));
      expect(() => local.get('a')).toThrow('local of a: no such node');
      expect(() => local.part('a', 'node')).toThrow(FailedFact);
      expect(heard.peek('a')).toEqual(pod('n1'));
      expect(() => heard.get('a')).toThrow('heard of a: local of a: no such node');
      expect([local.get('b'), heard.get('b')]).toEqual([pod('n1'), pod('n1')]);
    }
    pods.put('a', pod('n1'));
    graph.refresh();
    expect([failed(), heard.get('a')]).toEqual([[], pod('n1')]);
    pods.put('a', pod('bad'));
    graph.refresh();
    pods.delete('a');
    graph.refresh();
    expect([failed(), heard.get('a')]).toEqual([[], undefined]);
  });

  test('one for which an index has no place is not taken in, and is a failure as well', () => {
    const { pods, graph } = derived();
    const odd = new DerivedFacts<[name: string], Pod, { node: [string] }>(
      'odd',
      graph,
      pods,
      (name) => pods.get(name),
      {
        indexes: {
          node: ({ node }) => {
            if (node === 'odd') throw new Error('no place');
            return [node];
          },
        },
      },
    );
    pods.put('a', pod('odd'));
    pods.put('b', pod('n1'));
    graph.refresh();
    expect([...odd.keys()]).toEqual([['b']]);
    expect(() => odd.get('a')).toThrow('odd of a: no place');
  });

  test('come behind what they read, whatever the order in which they were made', () => {
    const recorder = new ReadRecorder();
    const graph = new DerivationGraph(recorder);
    const pods = new FactTable<[name: string], Pod>('pods', recorder);
    const runs: string[] = [];
    let isDeep = false;
    const late: DerivedFacts<[name: string], Pod> = new DerivedFacts<[name: string], Pod>(
      'late',
      graph,
      pods,
      (name) => {
        runs.push(`late ${name}`);
        const found = middle.get(name);
        return found && isDeep ? last.get(name) : found;
      },
    );
    const middle: DerivedFacts<[name: string], Pod> = new DerivedFacts<[name: string], Pod>(
      'middle',
      graph,
      pods,
      (name) => {
        runs.push(`middle ${name}`);
        return first.get(name);
      },
    );
    const first = new DerivedFacts<[name: string], Pod>('first', graph, pods, (name) =>
      pods.get(name),
    );
    const last = new DerivedFacts<[name: string], Pod>('last', graph, pods, (name) => {
      runs.push(`last ${name}`);
      return pods.get(name);
    });
    pods.put('a', pod('n1'));
    graph.refresh();
    expect(late.get('a')).toEqual(pod('n1'));
    expect(graph.order.indexOf('late')).toBeGreaterThan(graph.order.indexOf('middle'));
    expect(graph.order.indexOf('middle')).toBeGreaterThan(graph.order.indexOf('first'));
    // From now on each is worked out once, and with what is true now.
    runs.length = 0;
    pods.put('a', pod('n2'));
    graph.refresh();
    expect(runs.toSorted()).toEqual(['last a', 'late a', 'middle a']);
    // What it reads now, it did not read before.
    isDeep = true;
    pods.put('a', pod('n3'));
    graph.refresh();
    expect([late.get('a'), graph.circles]).toEqual([pod('n3'), []]);
  });

  test('that follow from themselves are found out, and fail if they never come to rest', () => {
    const recorder = new ReadRecorder();
    const graph = new DerivationGraph(recorder);
    const pods = new FactTable<[name: string], Pod>('pods', recorder);
    const one: DerivedFacts<[name: string], Pod> = new DerivedFacts<[name: string], Pod>(
      'one',
      graph,
      pods,
      (name) => pod(`${two.get(name)?.node ?? ''}1`.slice(-5000)),
    );
    const two: DerivedFacts<[name: string], Pod> = new DerivedFacts<[name: string], Pod>(
      'two',
      graph,
      pods,
      (name) => one.get(name),
    );
    pods.put('a', pod('n1'));
    graph.refresh();
    expect(graph.circles).toHaveLength(1);
    expect(graph.circles[0]).toMatch(/^(one → two → one|two → one → two)$/);
    expect([...graph.failures()].filter(isToBlame).map(({ error }) => String(error))).toContain(
      'Error: it follows from itself',
    );
  });

  test('are, after any history, what they would be if they were worked out from nothing', () => {
    const node = fc.constantFrom('n1', 'n2');
    const step = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.option(node, { nil: undefined }));
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        // The first pod of each node: depends on facts of other keys.
        const first = (name: string, table: FactTable<[name: string], Pod>): Pod | undefined => {
          const own = table.get(name);
          return table.all().find((one) => one.node === own?.node) === own ? own : undefined;
        };
        const { graph, pods, local } = derived(first);
        for (const [name, on] of steps) {
          pods.put(name, on === undefined ? undefined : pod(on));
          graph.refresh();
          const other = new DerivationGraph(new ReadRecorder());
          const again = new DerivedFacts<[name: string], Pod>('again', other, pods, (key) =>
            first(key, pods),
          );
          other.refresh();
          expect(Object.fromEntries(local.entries())).toEqual(Object.fromEntries(again.entries()));
        }
      }),
    );
  });
});
