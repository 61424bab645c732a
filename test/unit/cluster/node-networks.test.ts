import { expect, test } from 'vitest';
import { NODE_SUBNETS } from '../../../src/api/annotations/node-annotations.ts';
import { readNad } from '../../../src/api/nad/registered-nad.ts';
import type { Node } from '../../../src/api/types.ts';
import { NetworkRegistry } from '../../../src/cluster/networks/network-registry.ts';
import { NetworkUses } from '../../../src/cluster/nodes/network-uses.ts';
import { NodeNetworks } from '../../../src/cluster/nodes/node-networks.ts';
import { NodeRecord } from '../../../src/cluster/nodes/node-record.ts';
import { node, rawNad, silent, testSettings } from '../../support/cluster/cluster.ts';

const NODES = 200;

/** Nodes, and a network that nobody has a subnet of yet. */
function cluster(preallocated: number): {
  nodes: Map<string, Node>;
  uses: NetworkUses;
  networks: NodeNetworks;
} {
  const registry = new NetworkRegistry({ settings: testSettings.cluster, limit: 10, preallocated });
  const read = readNad(
    rawNad('a/x', {
      cniVersion: '1.1.0',
      type: 'ovn-k8s-cni-overlay',
      name: 'n',
      netAttachDefName: 'a/x',
      topology: 'layer3',
      subnets: '10.1.0.0/16',
    }),
    testSettings.cluster,
  );
  if (read.kind !== 'network') throw new Error('no network');
  registry.observe('a/x', 'u', read.nad);
  registry.identify('n', read.nad.config);
  const names = Array.from({ length: NODES }, (_, index) => `n${index}`);
  const nodes = new Map(names.map((name) => [name, node(name)]));
  const uses = new NetworkUses();
  const networks = new NodeNetworks({
    nodes: { get: (name) => nodes.get(name), list: () => [...nodes.values()] },
    registry,
    uses,
    settings: testSettings,
    log: silent,
    onChanged: () => undefined,
    onFailures: () => undefined,
    onTaken: () => undefined,
  });
  return { nodes, uses, networks };
}

const { signal } = new AbortController();

test('a node that goes while nodes are given subnets of a network holds none', async () => {
  const { nodes, networks } = cluster(10);
  await networks.adopt(signal);
  expect(networks.subnets.holdersOf('n')).toHaveLength(NODES);
  networks.subnets.removeNetwork('n');
  const given = networks.networkChanged('n');
  // It has gone, and what it had is given back, before its turn comes.
  nodes.delete('n199');
  networks.servedChanged();
  networks.forgetNode('n199');
  await given;
  expect(networks.subnets.holdersOf('n')).toHaveLength(NODES - 1);
  expect(networks.subnets.subnetsOf('n199', 'n')).toEqual([]);
});

test('what begins to use a network while nodes are read back is given a subnet once they are', async () => {
  const { uses, networks } = cluster(0);
  const adopted = networks.adopt(signal);
  networks.usesChanged(uses.setPod('a/p', 'n7', ['n']));
  expect(networks.subnets.subnetsOf('n7', 'n')).toEqual([]);
  await adopted;
  expect(networks.subnets.holdersOf('n')).toEqual(['n7']);
});

test('a manager that is stopped while it reads nodes back gives nothing away', async () => {
  const { networks } = cluster(10);
  await networks.adopt(AbortSignal.abort());
  expect(networks.subnets.holdersOf('n')).toEqual([]);
});

test('an annotation that was written before more was given is nobody else’s', () => {
  const record = new NodeRecord();
  record.set('a', ['10.1.0.0/24']);
  record.writing();
  const written = node('n1', { [NODE_SUBNETS]: record.text() ?? '' });
  record.set('b', ['10.2.0.0/24']);
  expect(record.read(written)).toBe(false);
  expect(record.read(node('n1', { [NODE_SUBNETS]: '{"a":["10.1.9.0/24"]}' }))).toBe(true);
});
