import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  keyOf,
  keyText,
  ONE,
  pairs,
  union,
  whileAny,
  written,
  type KeySource,
} from '../../../src/facts/keys.ts';
import { ReadRecorder } from '../../../src/facts/reads.ts';
import { FactTable } from '../../../src/facts/fact-table.ts';

interface Pod {
  readonly node: string;
  readonly labels: readonly string[];
}

type PodsByNode = FactTable<[name: string], Pod, { node: [string] }>;

const pod = (node: string, ...labels: string[]): Pod => ({ node, labels });

describe('keys', () => {
  test('have texts of their own, whatever their parts are, and are read back from them', () => {
    const key = fc.array(fc.oneof(fc.string(), fc.constantFrom('[', '["a"]', '')), {
      maxLength: 3,
    });
    fc.assert(
      fc.property(key, key, (a, b) => {
        expect(keyText(a) === keyText(b)).toBe(JSON.stringify(a) === JSON.stringify(b));
        expect(keyOf(keyText(a))).toEqual(a);
        expect(keyText(written(a))).toBe(keyText(a));
      }),
    );
  });

  test('those of a table, of an index and of pairs are announced as they come and go', () => {
    const recorder = new ReadRecorder();
    const table = new FactTable<
      [namespace: string, name: string],
      Pod,
      { node: [string]; pair: [node: string, label: string] }
    >('pods', recorder, {
      indexes: {
        node: ({ node }) => [node],
        pair: ({ node, labels }) => labels.map((label) => [node, label]),
      },
    });
    const other = new FactTable<[name: string], Pod>('other', recorder);
    const seen: string[] = [];
    const follow = (name: string, source: Pick<KeySource, 'onKeys'>): void =>
      source.onKeys((tuple, isPresent) =>
        seen.push(`${isPresent ? '+' : '-'}${name} ${tuple.join('.')}`),
      );
    follow('table', table);
    follow('node', table.distinct('node'));
    follow('of n1', table.bucket('node', 'n1'));
    follow('pair', table.distinct('pair'));
    follow('both', pairs(table.distinct('node'), other));
    other.put('o', pod('n'));
    table.put(['ns', 'a'], pod('n1', 'x'));
    table.put(['ns', 'b'], pod('n1'));
    table.put(['ns', 'a'], pod('n1', 'y'));
    expect([...table.bucket('node', 'n1').keys()]).toEqual([
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
    expect([...ONE.keys()]).toEqual([[]]);
  });

  test('of those buckets that another source has as keys', () => {
    const recorder = new ReadRecorder();
    const nodes = new FactTable<[name: string], Pod>('nodes', recorder);
    const pods = new FactTable<[namespace: string, name: string], Pod, { node: [string] }>(
      'pods',
      recorder,
      {
        indexes: { node: ({ node }) => [node] },
      },
    );
    nodes.put('n1', pod('n1'));
    pods.put(['ns', 'a'], pod('n1'));
    pods.put(['ns', 'b'], pod('n2'));
    const source = pods.buckets('node', nodes);
    expect([...source.keys()]).toEqual([['ns', 'a']]);
    const seen: string[] = [];
    source.onKeys((tuple, isPresent) => seen.push(`${isPresent ? '+' : '-'}${tuple.join('.')}`));
    nodes.put('n2', pod('n2'));
    pods.put(['ns', 'c'], pod('n2'));
    pods.put(['ns', 'd'], pod('n3'));
    pods.put(['ns', 'c'], pod('n3'));
    nodes.delete('n1');
    pods.delete(['ns', 'a']);
    expect(seen).toEqual(['+ns.b', '+ns.c', '-ns.c', '-ns.a']);
    expect([...source.keys()]).toEqual([['ns', 'b']]);
  });
});

test('keys of a union come with the first source that has them and go with the last one', () => {
  const recorder = new ReadRecorder();
  const tables = [
    new FactTable<[name: string], Pod>('one', recorder),
    new FactTable<[name: string], Pod>('two', recorder),
  ] as const;
  const [one, two] = tables;
  one.put('a', pod('n1'));
  two.put('a', pod('n1'));
  const both = union(one, two);
  const heard: string[] = [];
  both.onKeys(([key], isPresent) => heard.push(`${isPresent ? '+' : '-'}${key}`));
  expect([...both.keys()]).toEqual([['a']]);
  one.delete('a');
  two.put('b', pod('n1'));
  one.put('b', pod('n1'));
  expect(heard).toEqual(['+b']);
  two.delete('a');
  two.delete('b');
  one.delete('b');
  expect(heard).toEqual(['+b', '-a', '-b']);
  expect([...both.keys()]).toEqual([]);
});

describe('of a table and an index of it, whose keys come and go with one fact,', () => {
  const heardOf = (source: (table: PodsByNode) => KeySource): string[] => {
    const table = new FactTable<[name: string], Pod, { node: [string] }>(
      'pods',
      new ReadRecorder(),
      {
        indexes: { node: ({ node }) => [node] },
      },
    );
    table.put('b', pod('n2'));
    const heard: string[] = [];
    source(table).onKeys((tuple, isPresent) =>
      heard.push(`${isPresent ? '+' : '-'}${tuple.join('.')}`),
    );
    table.put('a', pod('n1'));
    table.delete('a');
    table.put('a', pod('n1'));
    return heard;
  };
  const comeAndGo = ['+b.n1', '+a.n2', '+a.n1'];

  test('pairs come once and go once', () => {
    const heard = heardOf((table) => pairs(table, table.distinct('node')));
    expect(heard).toHaveLength(9);
    expect(heard.slice(0, 3).toSorted()).toEqual(comeAndGo.toSorted());
    expect(
      heard
        .slice(3, 6)
        .map((text) => text.replace('-', '+'))
        .toSorted(),
    ).toEqual(comeAndGo.toSorted());
  });

  test('no pair stays in a union for ever', () => {
    const heard = heardOf((table) => union(pairs(table, table.distinct('node'))));
    expect(heard.filter((text) => text.endsWith('a.n1'))).toEqual(['+a.n1', '-a.n1', '+a.n1']);
  });
});

test('a key that a source announces twice goes from a union when the source says so', () => {
  const heard: string[] = [];
  let announce: Parameters<KeySource['onKeys']>[0] = () => undefined;
  const source: KeySource = {
    steps: [],
    keys: () => [],
    onKeys: (listener) => (announce = listener),
  };
  union(source).onKeys(([key], isPresent) => heard.push(`${isPresent ? '+' : '-'}${key}`));
  for (const isPresent of [true, true, false, false, true]) announce(['a'], isPresent, 'a');
  expect(heard).toEqual(['+a', '-a', '+a']);
});

test('keys that hold while another source has any come with its first key and go with its last one', () => {
  const recorder = new ReadRecorder();
  const gate = new FactTable<[name: string], Pod>('gate', recorder);
  const table = new FactTable<[name: string], Pod>('pods', recorder);
  table.put('a', pod('n1'));
  const source = whileAny(gate, table);
  const heard: string[] = [];
  source.onKeys(([key], isPresent) => heard.push(`${isPresent ? '+' : '-'}${key}`));
  const held = (): readonly string[] => [...source.keys()].map(([key]) => key);
  table.put('b', pod('n1'));
  expect([held(), heard]).toEqual([[], []]);
  gate.put('x', pod('n1'));
  gate.put('y', pod('n1'));
  expect([held(), heard]).toEqual([
    ['a', 'b'],
    ['+a', '+b'],
  ]);
  table.delete('a');
  table.put('c', pod('n1'));
  gate.delete('x');
  expect(held()).toEqual(['b', 'c']);
  gate.delete('y');
  table.delete('b');
  expect([held(), heard]).toEqual([[], ['+a', '+b', '-a', '+c', '-b', '-c']]);
});
