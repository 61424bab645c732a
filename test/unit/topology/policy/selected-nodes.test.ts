import { expect, test } from 'vitest';
import { selectedNodes } from '../../../../src/topology/policy/selected-nodes.ts';
import { dualZone, exampleZone, factsOf } from '../../../support/zone/zones.ts';

const facts = factsOf(exampleZone);
facts.nodeLabels.put('ovn-worker', { name: 'ovn-worker', labels: { role: 'worker' } });
facts.nodeLabels.put('ovn-worker2', {
  name: 'ovn-worker2',
  labels: { role: 'worker', disk: 'ssd' },
});
facts.nodeLabels.put('new', { name: 'new', labels: { role: 'new' } });

test('nodes that a selector means, with the addresses of their hosts', () => {
  const found = selectedNodes(facts, 'default', [
    { matchLabels: { disk: 'ssd' } },
    { matchLabels: { role: 'new' } },
  ]);
  expect(new Map(found.map(({ name, addresses }) => [name, addresses]))).toEqual(
    new Map([
      ['ovn-worker2', ['172.18.0.4']],
      ['new', []],
    ]),
  );
  const all = selectedNodes(facts, 'default', [{}]);
  expect(all.map(({ name }) => name).toSorted()).toEqual(['new', 'ovn-worker', 'ovn-worker2']);
  expect(all.find(({ name }) => name === 'ovn-worker')?.addresses).toEqual(['172.18.0.3']);
});

test('no selector means no node', () => {
  expect(selectedNodes(facts, 'default', [])).toEqual([]);
});

test('pods reach a node by its ports on their own network, too, and this one by the address by which OVN knows its host', () => {
  const dual = factsOf(dualZone);
  for (const name of ['ovn-worker', 'ovn-worker2']) dual.nodeLabels.put(name, { name, labels: {} });
  const inside = (network: string): unknown =>
    Object.fromEntries(selectedNodes(dual, network, [{}]).map((node) => [node.name, node.inside]));
  const host = ['169.254.0.2', 'fd69::2'];
  expect(inside('default')).toEqual({
    'ovn-worker': ['10.244.0.2', 'fd00:10:244::2', ...host],
    'ovn-worker2': ['10.244.1.2', 'fd00:10:244:1::2'],
  });
  expect(inside('blue_blue')).toEqual({
    'ovn-worker': ['103.103.0.2', 'fd20:103:0:1::2', ...host],
    'ovn-worker2': ['103.103.1.2', 'fd20:103:0:2::2'],
  });
});
