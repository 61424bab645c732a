import { expect, test } from 'vitest';
import { nodes } from '../../../src/api/kinds.ts';
import { hostNetworksOf } from '../../../src/cluster/nodes/host-networks.ts';
import {
  apply,
  clusterLayer3,
  conditions,
  inNamespaces,
  layer3,
  namespace,
  node,
  startManager,
} from '../../support/cluster/cluster.ts';
import { MemoryStore } from '../../support/cluster/memory-store.ts';

const saying = (...cidrs: readonly string[]): ReturnType<typeof node> =>
  node('n1', { 'k8s.ovn.org/host-cidrs': JSON.stringify(cidrs) });

test.each([
  ['172.18.0.3/16', '172.18.0.3/16'],
  ['10.0.0.1/24', '10.0.0.1/24'],
  ['10.0.0.1/12', '10.0.0.1/32'],
  ['fd00:1::5/64', 'fd00:1::5/64'],
  ['fd00:1::5/32', 'fd00:1::5/128'],
])('%s counts as %s, and nothing is wrong with it', (said, counts) => {
  expect(hostNetworksOf(saying(said))).toEqual({ addresses: [counts] });
});

test.each([
  [['10.0.0.1/1'], ['10.0.0.1/32'], /10\.0\.0\.1\/1: no host is in a network of that size/],
  [['fd00::1/8'], ['fd00::1/128'], /fd00::1\/8: no host/],
  [
    Array.from({ length: 300 }, (_, index) => `10.${index % 256}.${index >> 8}.1/32`),
    undefined,
    /300 addresses, of which the first 64 count/,
  ],
])('what can not be is a problem of the node', (said, counts, problem) => {
  const networks = hostNetworksOf(saying(...said));
  expect(networks.problem).toMatch(problem);
  expect(networks.addresses.length).toBeLessThanOrEqual(64);
  if (counts !== undefined) expect(networks.addresses).toEqual(counts);
});

test('no more than eight networks of a node count as a whole', () => {
  const said = Array.from({ length: 20 }, (_, index) => `10.${index}.0.1/16`);
  const { addresses } = hostNetworksOf(saying(...said));
  expect(addresses.filter((text) => text.endsWith('/16'))).toHaveLength(8);
  expect(addresses[19]).toBe('10.19.0.1/32');
});

test('a node that says it is in half of all addresses refuses no network, and is told itself', async () => {
  const store = new MemoryStore();
  await using running = startManager(store);
  await apply(store, saying('10.0.0.1/1', '172.18.0.3/16'), namespace('blue'));
  await apply(store, namespace('red'), layer3('blue/blue', '103.103.0.0/16'));
  await apply(store, clusterLayer3('red', inNamespaces('red'), '10.50.0.0/16'));
  await running.settled();
  expect((await conditions(store, 'blue/blue')).join()).toContain('NetworkCreated=True');
  expect((await conditions(store, 'red')).join()).toContain('NetworkCreated=True');
  expect(running.manager.problems().map(({ object, message }) => `${object}: ${message}`)).toEqual([
    expect.stringMatching(/^Node n1: .*10\.0\.0\.1\/1/),
  ]);
  expect(store.events.filter(({ regarding }) => regarding.kind === 'Node')).toEqual([
    expect.objectContaining({ reason: 'InvalidAnnotation', type: 'Warning' }),
  ]);
  // An address of its own still counts.
  await apply(store, namespace('green'), layer3('green/green', '172.18.0.0/16'));
  await running.settled();
  expect((await conditions(store, 'green/green')).join()).toContain('node "n1"');

  const { annotations } = saying('172.18.0.3/16').metadata;
  await store.patch(nodes, 'n1', { metadata: { annotations } }, { fieldManager: 'test' });
  await running.settled();
  expect(
    running.manager
      .problems()
      .map(({ object, message }) => `${object}: ${message}`)
      .filter((text) => text.startsWith('Node')),
  ).toEqual([]);
});
