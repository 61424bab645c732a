import { describe, expect, test } from 'vitest';
import { podGroups } from '../../../../src/topology/parts/pod-groups.ts';
import { withNetwork } from '../../../support/zone/zone-variants.ts';
import { exampleZone, layer2Secondary } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

describe("port groups of a network's ACLs (reference/topology.md §5)", () => {
  test('are one of the management port and one of the ports to routers', () => {
    expect(partTexts(podGroups, exampleZone, 'blue_blue')).toEqual([
      'Port_Group a9b3a8be230d6c957406156cd5423f24e external_ids={k/id=blue_blue-network-controller:Cluster:clusterPortGroup k/name=clusterPortGroup k/owner-controller=blue_blue-network-controller k/owner-type=Cluster}',
      'Port_Group ab3f2ae2b376dec45615f7d08eef30f70 external_ids={k/id=blue_blue-network-controller:Cluster:clusterRtrPortGroup k/name=clusterRtrPortGroup k/owner-controller=blue_blue-network-controller k/owner-type=Cluster}',
    ]);
  });
  test('a secondary network has none', () => {
    expect(partTexts(podGroups, withNetwork(layer2Secondary), 'blue_l2')).toEqual([]);
  });
});
