import { describe, expect, test } from 'vitest';
import { distributedRouter } from '../../../../src/topology/parts/distributed-router.ts';
import { withMulticast } from '../../../support/zone/zone-variants.ts';
import { exampleZone, inLocalMode } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

describe('the distributed router of a Layer3 network (reference/topology.md §7.1)', () => {
  test('is there for every network', () => {
    expect(partTexts(distributedRouter, exampleZone, 'blue_blue')).toEqual([
      'Logical_Router blue_blue_ovn_cluster_router copp=Copp/ovnkube-default external_ids={k8s-cluster-router=yes X2} options={always_learn_from_arp_request=false}',
    ]);
  });
  test('local mode: it tracks what it forwards, but for the default network', () => {
    expect(partTexts(distributedRouter, inLocalMode(exampleZone), 'blue_blue')).toEqual([
      'Logical_Router blue_blue_ovn_cluster_router copp=Copp/ovnkube-default external_ids={k8s-cluster-router=yes X2} options={always_learn_from_arp_request=false ct-commit-all=true}',
    ]);
  });
  test('the default one does not', () => {
    expect(partTexts(distributedRouter, inLocalMode(exampleZone), 'default')).toEqual([
      'Logical_Router ovn_cluster_router copp=Copp/ovnkube-default external_ids={k8s-cluster-router=yes} options={always_learn_from_arp_request=false}',
    ]);
  });
  test('with multicast it forwards groups', () => {
    expect(partTexts(distributedRouter, withMulticast(exampleZone), 'blue_blue')).toEqual([
      'Logical_Router blue_blue_ovn_cluster_router copp=Copp/ovnkube-default external_ids={k8s-cluster-router=yes X2} options={always_learn_from_arp_request=false mcast_relay=true}',
    ]);
  });
});
