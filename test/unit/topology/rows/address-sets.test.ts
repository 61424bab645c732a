import { describe, expect, test } from 'vitest';
import {
  addAddressSet,
  addOpenAddressSet,
  adminPeers,
  blocksOfRule,
  nodeIps,
  podsWithPort,
  selectedPods,
} from '../../../../src/topology/rows/address-sets.ts';
import { builtTexts } from '../part-texts.ts';

describe('an address set', () => {
  test('is one per family, with a name that follows from its id', () => {
    expect(nodeIps('v4').name).toBe('a731532d7e5758ff700869a4c09b850fb');
    expect(nodeIps('v6').name).toBe('aab47b25333ce33994f3b869c680a379b');
    expect(nodeIps('v4').name).not.toBe(nodeIps('v6').name);
  });

  test('has its addresses, and says whose it is', () => {
    expect(
      builtTexts((rows) => {
        addAddressSet(rows, nodeIps('v4'), ['172.18.0.3']);
      }),
    ).toEqual([
      'Address_Set a731532d7e5758ff700869a4c09b850fb addresses=[172.18.0.3] external_ids={ip-family=v4 k/id=default-network-controller:ClusterNodeIPs:node-ips:v4 k/name=node-ips k/owner-controller=default-network-controller k/owner-type=ClusterNodeIPs}',
    ]);
  });

  test('that is open says nothing about its addresses: they may be another controller’s', () => {
    expect(
      builtTexts((rows) => {
        addOpenAddressSet(rows, nodeIps('v4'));
      })[0],
    ).not.toContain('addresses=');
  });

  test('of a selection, of its pods with a port, of a rule’s blocks and peers are four different ones', () => {
    const rule = { direction: 'Ingress', index: 0 };
    const names = [
      selectedPods('c', 's', 'v4'),
      podsWithPort('c', 's', { protocol: 'TCP', name: 'http', port: 80 }, 'v4'),
      blocksOfRule('c', { namespace: 'blue', name: 's' }, rule, 'v4'),
      adminPeers('c', 'AdminNetworkPolicy', 's', rule, 'v4'),
    ].map(({ name }) => name);
    expect(new Set(names).size).toBe(4);
  });
});
