import { describe, expect, test } from 'vitest';
import type { NodeTables } from '../../../../src/model/zone/nodes.ts';
import { zoneFacts } from '../../../../src/model/zone/zone.ts';
import { exampleZone, factsOf, furtherNode, worker2 } from '../../../support/zone/zones.ts';

const remote = ({ remoteNodes }: NodeTables): readonly string[] =>
  [...remoteNodes.entries()].map(([name]) => name);

describe('other nodes', () => {
  test('are all that claim nothing of each other', () => {
    expect(remote(factsOf({ ...exampleZone, remoteNodes: [worker2, furtherNode(9)] }))).toEqual([
      worker2.name,
      'node-9',
    ]);
  });

  test('of two with one identity only the one of the lower id is there, and the other one has a problem', () => {
    const facts = factsOf({
      ...exampleZone,
      remoteNodes: [worker2, { ...furtherNode(9), chassisId: worker2.chassisId }],
    });
    expect(remote(facts)).toEqual([worker2.name]);
    expect([...facts.nodeProblems()].map(({ object }) => object)).toEqual(['Node node-9']);
    facts.nodes.delete(worker2.name);
    facts.refresh(0);
    expect(remote(facts)).toEqual(['node-9']);
  });

  test('this node comes before every other one', () => {
    const facts = factsOf({
      ...exampleZone,
      remoteNodes: [{ ...furtherNode(1), chassisId: exampleZone.node.chassisId }],
    });
    expect(remote(facts)).toEqual([]);
  });
});

describe('what a build asks of nodes', () => {
  test('fails while this node is not known', () => {
    const facts = zoneFacts('nowhere', exampleZone.settings);
    expect(() => facts.own('chassisId')).toThrow('node nowhere is not known yet');
  });

  test('a node without a subnet has none; one whose subnets can not be read fails, for each of its networks', () => {
    const facts = factsOf(exampleZone);
    expect(facts.subnetsOn('blue_blue', 'ovn-worker')).toEqual(['103.103.0.0/24']);
    expect(facts.subnetsOn('blue_blue', 'node-9')).toEqual([]);
    facts.nodesWithoutSubnets.put('node-9', { reason: 'torn' });
    expect(() => facts.subnetsOn('blue_blue', 'node-9')).toThrow('torn');
    expect(facts.subnetsOn('blue_blue', 'ovn-worker')).toEqual(['103.103.0.0/24']);
  });

  test('an address is first of all that of a node, then its next hop, then one that a node has beside its own', () => {
    const facts = factsOf(exampleZone);
    const at = (name: string, own: string[], all: string[], nextHops: string[]): void =>
      void facts.nodeAddresses.put(name, { name, own, all, nextHops });
    at('a', [], ['192.0.2.1', '192.0.2.2'], ['192.0.2.2']);
    at('b', ['192.0.2.1'], [], []);
    expect(facts.nodeAt('192.0.2.1')).toEqual({ what: 'an address of node b', isExtra: false });
    expect(facts.nodeAt('192.0.2.2')).toEqual({ what: 'the next hop of node a', isExtra: false });
    facts.nodeAddresses.delete('b');
    expect(facts.nodeAt('192.0.2.1')).toMatchObject({ isExtra: true });
    expect(facts.nodeAt('192.0.2.9')).toBeUndefined();
  });
});
