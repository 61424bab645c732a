import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ReadRecorder } from '../../../src/facts/reads.ts';
import { DerivedFacts } from '../../../src/facts/derived-facts.ts';
import { FactTable } from '../../../src/facts/fact-table.ts';

interface Pod {
  readonly node: string;
  readonly labels: readonly string[];
}

const pod = (node: string, ...labels: string[]): Pod => ({ node, labels });

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
