import { describe, expect, test } from 'vitest';
import { isOnNetwork, isPlaced, unknownOf } from '../../../../src/model/zone/unknown.ts';
import { readPolicy } from '../../../../src/model/read/policies.ts';
import { networkPolicy } from '../../../support/zone/policed-zone.ts';
import { exampleZone, factsOf } from '../../../support/zone/zones.ts';

const reading = readPolicy(networkPolicy('blue/open', { podSelector: {} }));
if (reading.kind !== 'value') throw new Error('the policy can not be read');

describe('what is not known of the cluster', () => {
  test('is nothing as long as every object was read and every fact worked out', () => {
    expect(unknownOf(factsOf(exampleZone), [])).toBeUndefined();
  });

  test('an unread node is one of the nodes, and concerns no object of others', () => {
    const unknown = unknownOf(factsOf(exampleZone), ['Node far']);
    expect([...(unknown?.nodes ?? [])]).toEqual(['far']);
    expect(unknown?.concerns('Service blue/web')).toBe(false);
    expect(unknown?.concernsNodes('UserDefinedNetwork blue/blue')).toBe(true);
  });

  test('an unread NAD concerns the objects that it may have been made from', () => {
    const unknown = unknownOf(factsOf(exampleZone), ['NetworkAttachmentDefinition red/net']);
    expect([...(unknown?.nads ?? [])]).toEqual(['red/net']);
    for (const object of ['UserDefinedNetwork red/net', 'ClusterUserDefinedNetwork net'])
      expect(unknown?.concerns(object)).toBe(true);
    expect(unknown?.concerns('UserDefinedNetwork red/other')).toBe(false);
  });

  test('an unread object in a namespace concerns itself, and nothing that is gone', () => {
    const unknown = unknownOf(factsOf(exampleZone), ['Service blue/web']);
    expect(unknown?.concerns('Service blue/web')).toBe(true);
    expect(unknown?.concerns('Service blue/deleted')).toBe(false);
    expect(unknown?.concerns('NetworkPolicy blue/deleted')).toBe(false);
  });

  test('pods of other nodes that are wanted and not there concern all pods', () => {
    const facts = factsOf(exampleZone);
    facts.otherPods.want('AdminNetworkPolicy p', true);
    expect(unknownOf(facts, [])?.concerns('Pod kube-system/dns')).toBe(true);
    facts.otherPods.known();
    expect(unknownOf(facts, [])).toBeUndefined();
  });
});

test('a policy is where it was placed, and what a namespace has depends on its own NADs', () => {
  const facts = factsOf({ ...exampleZone, policies: [reading.value] });
  expect(isPlaced(facts, 'NetworkPolicy blue/open', 'blue_blue')).toBe(true);
  expect(isPlaced(facts, 'NetworkPolicy blue/open', 'default')).toBe(false);
  expect(isPlaced(facts, 'NetworkPolicy blue/other', 'blue_blue')).toBe(false);
  expect(isOnNetwork(facts, 'Pod kube-system/dns', 'blue_blue')).toBe(false);
  expect(isOnNetwork(facts, 'Pod kube-system/dns', 'default')).toBe(true);
  expect(isOnNetwork(facts, 'Namespace blue', 'blue_blue')).toBe(true);
});
