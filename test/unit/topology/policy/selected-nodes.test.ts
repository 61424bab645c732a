import { expect, test } from 'vitest';
import { selectedNodes } from '../../../../src/topology/policy/selected-nodes.ts';
import { exampleZone, factsOf } from '../../../support/zone/zones.ts';

const facts = factsOf(exampleZone);
facts.nodeLabels.put('ovn-worker', { name: 'ovn-worker', labels: { role: 'worker' } });
facts.nodeLabels.put('ovn-worker2', {
  name: 'ovn-worker2',
  labels: { role: 'worker', disk: 'ssd' },
});
facts.nodeLabels.put('new', { name: 'new', labels: { role: 'new' } });

test('nodes that a selector means, with the addresses of their hosts', () => {
  const found = selectedNodes(facts, [
    { matchLabels: { disk: 'ssd' } },
    { matchLabels: { role: 'new' } },
  ]);
  expect(new Map(found.map(({ name, addresses }) => [name, addresses]))).toEqual(
    new Map([
      ['ovn-worker2', ['172.18.0.4']],
      ['new', []],
    ]),
  );
  const all = selectedNodes(facts, [{}]);
  expect(all.map(({ name }) => name).toSorted()).toEqual(['new', 'ovn-worker', 'ovn-worker2']);
  expect(all.find(({ name }) => name === 'ovn-worker')?.addresses).toEqual(['172.18.0.3']);
});

test('no selector means no node', () => {
  expect(selectedNodes(facts, [])).toEqual([]);
});
