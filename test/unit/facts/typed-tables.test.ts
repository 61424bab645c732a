/** What the compiler refuses of tables and features: `npm run check` fails when one of these lines compiles. */
import { expect, test } from 'vitest';
import { feature } from '../../../src/desired/features.ts';
import { DerivationGraph } from '../../../src/facts/derivation-graph.ts';
import { DerivedFacts } from '../../../src/facts/derived-facts.ts';
import { FactTable } from '../../../src/facts/fact-table.ts';
import { ReadRecorder } from '../../../src/facts/reads.ts';

interface Port {
  readonly node: string;
  readonly network: string;
}

const recorder = new ReadRecorder();
const ports = new FactTable<
  [namespace: string, pod: string],
  Port,
  { node: [string]; place: [node: string, network: string]; any: [] }
>('ports', recorder, {
  indexes: {
    node: ({ node }) => [node],
    place: ({ node, network }) => [[node, network]],
    any: () => [[]],
  },
});
const graph = new DerivationGraph(recorder);
const ofThree = (_namespace: string, _pod: string, other: string) => ({ other });
const about = { rules: {}, claims: [], build: () => undefined };

test('what names all parts of a key is read', () => {
  ports.put(['blue', 'web'], { node: 'n1', network: 'red' });
  expect(ports.get('blue', 'web')).toBe(ports.by('place', 'n1', 'red')[0]);
  expect(ports.by('any')).toHaveLength(1);
});

test.each<[string, () => unknown]>([
  // @ts-expect-error: a part of the key is missing.
  ['get', () => ports.get('blue')],
  // @ts-expect-error
  ['peek', () => ports.peek('blue')],
  // @ts-expect-error
  ['part', () => ports.part('blue', 'node')],
  // @ts-expect-error
  ['put', () => ports.put(['blue'], undefined)],
  // @ts-expect-error: there is no such index.
  ['by an index that is not there', () => ports.by('nodes', 'n1')],
  // @ts-expect-error: a part of the bucket is missing.
  ['by a bucket', () => ports.by('place', 'n1')],
  // @ts-expect-error
  ['keys of a bucket', () => ports.keysBy('any', 'n1')],
  // @ts-expect-error
  ['distinct', () => ports.distinct('nodes')],
  // @ts-expect-error: a table has no sets unless its type says so.
  ['sets', () => ports.setOf('addresses', 'n1')],
  [
    'an index whose buckets lack a part',
    () =>
      new FactTable<[name: string], Port, { place: [node: string, network: string] }>(
        '',
        recorder,
        {
          // @ts-expect-error
          indexes: { place: ({ node }) => [node] },
        },
      ),
  ],
  // @ts-expect-error: the key has two parts.
  ['a derivation that asks for three', () => new DerivedFacts('', graph, ports, ofThree)],
  [
    'a feature that asks for more than the keys that it is over have',
    () =>
      feature({
        ...about,
        name: 'place',
        over: (facts: typeof ports) => facts.distinct('place'),
        // @ts-expect-error
        subject: (_facts, [_node, _network, other]) => other,
      }),
  ],
])('%s is not compiled', (_what, wrong) => {
  expect(wrong).toBeTypeOf('function');
});
