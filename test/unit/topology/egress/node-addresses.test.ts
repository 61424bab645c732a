import { describe, expect, test } from 'vitest';
import { egressAddresses } from '../../../../src/topology/egress/node-addresses.ts';
import { exampleZone, dualZone } from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

describe('addresses that egress rows refer to (reference/topology.md §5)', () => {
  test('are those of all nodes, and a set of pods that may be filled by others', () => {
    expect(featureTexts([egressAddresses], exampleZone)).toEqual([
      'Address_Set a1a8d236e35d0640d374f3550082a0e56 external_ids={ip-family=v4 k/id=default-network-controller:EgressService:egresssvc-served-pods:v4 k/name=egresssvc-served-pods k/owner-controller=default-network-controller k/owner-type=EgressService}',
      'Address_Set a731532d7e5758ff700869a4c09b850fb addresses=[172.18.0.3, 172.18.0.4] external_ids={ip-family=v4 k/id=default-network-controller:ClusterNodeIPs:node-ips:v4 k/name=node-ips k/owner-controller=default-network-controller k/owner-type=ClusterNodeIPs}',
    ]);
  });
  test('by family', () => {
    expect(featureTexts([egressAddresses], dualZone)).toEqual([
      'Address_Set a1a8d236e35d0640d374f3550082a0e56 external_ids={ip-family=v4 k/id=default-network-controller:EgressService:egresssvc-served-pods:v4 k/name=egresssvc-served-pods k/owner-controller=default-network-controller k/owner-type=EgressService}',
      'Address_Set a48640b774672deecefba153d2f71242d external_ids={ip-family=v6 k/id=default-network-controller:EgressService:egresssvc-served-pods:v6 k/name=egresssvc-served-pods k/owner-controller=default-network-controller k/owner-type=EgressService}',
      'Address_Set a731532d7e5758ff700869a4c09b850fb addresses=[172.18.0.3, 172.18.0.4] external_ids={ip-family=v4 k/id=default-network-controller:ClusterNodeIPs:node-ips:v4 k/name=node-ips k/owner-controller=default-network-controller k/owner-type=ClusterNodeIPs}',
      'Address_Set aab47b25333ce33994f3b869c680a379b addresses=[fc00:f853::3, fc00:f853::4] external_ids={ip-family=v6 k/id=default-network-controller:ClusterNodeIPs:node-ips:v6 k/name=node-ips k/owner-controller=default-network-controller k/owner-type=ClusterNodeIPs}',
    ]);
  });
});
