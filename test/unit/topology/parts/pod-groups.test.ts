import { describe, expect, test } from 'vitest';
import { podGroups } from '../../../../src/topology/parts/pod-groups.ts';
import { withNetwork } from '../../../support/zone/zone-variants.ts';
import { exampleZone, layer2Secondary } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

describe("port groups of a network's ACLs (reference/topology.md §5)", () => {
  test('are one of the management port and one of the ports to routers', () => {
    expect(partTexts(podGroups, exampleZone, 'blue_blue')).toEqual([
      'Port_Group a15517656585142200826 external_ids={k/id=blue_blue-network-controller:Cluster:clusterRtrPortGroup k/name=clusterRtrPortGroup k/owner-controller=blue_blue-network-controller k/owner-type=Cluster}',
      'Port_Group a6305690735356339486 external_ids={k/id=blue_blue-network-controller:Cluster:clusterPortGroup k/name=clusterPortGroup k/owner-controller=blue_blue-network-controller k/owner-type=Cluster}',
    ]);
  });
  test('a secondary network has none', () => {
    expect(partTexts(podGroups, withNetwork(layer2Secondary), 'blue_l2')).toEqual([]);
  });
});
