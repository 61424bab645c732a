import { describe, expect, test } from 'vitest';
import { gatewayLink } from '../../../../src/topology/parts/gateway-link.ts';
import { withNetwork, withoutMtu, withoutGateway } from '../../../support/zone/zone-variants.ts';
import { yellow, dualYellow, dualZone, exampleZone } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

describe('the link of a Layer2 network to its gateway router (reference/topology.md §9.2)', () => {
  test('is a pair of peers with transit addresses; the gateway router has its join address there, too', () => {
    expect(partTexts(gatewayLink, withNetwork(yellow), 'cluster_udn_yellow-net')).toEqual([
      'Logical_Router_Port rtotr-GR_cluster_udn_yellow.net_ovn-worker external_ids={k/network=cluster_udn_yellow-net k/topology=layer2} mac=0a:58:64:41:00:02 networks=[100.65.0.2/16, 100.88.0.5/31] options={gateway_mtu=1400} peer=trtor-GR_cluster_udn_yellow.net_ovn-worker < Logical_Router/GR_cluster_udn_yellow.net_ovn-worker.ports',
      'Logical_Router_Port trtor-GR_cluster_udn_yellow.net_ovn-worker external_ids={k/network=cluster_udn_yellow-net k/topology=layer2} mac=0a:58:64:58:00:04 networks=[100.88.0.4/31] options={requested-tnl-key=12} peer=rtotr-GR_cluster_udn_yellow.net_ovn-worker < Logical_Router/cluster_udn_yellow.net_transit_router.ports',
    ]);
  });
  test('has addresses of both families', () => {
    expect(
      partTexts(gatewayLink, withNetwork(dualYellow, dualZone), 'cluster_udn_yellow-net'),
    ).toEqual([
      'Logical_Router_Port rtotr-GR_cluster_udn_yellow.net_ovn-worker external_ids={k/network=cluster_udn_yellow-net k/topology=layer2} mac=0a:58:64:41:00:02 networks=[100.65.0.2/16, fd99::2/64, 100.88.0.5/31, fd97::5/127] options={gateway_mtu=1400} peer=trtor-GR_cluster_udn_yellow.net_ovn-worker < Logical_Router/GR_cluster_udn_yellow.net_ovn-worker.ports',
      'Logical_Router_Port trtor-GR_cluster_udn_yellow.net_ovn-worker external_ids={k/network=cluster_udn_yellow-net k/topology=layer2} mac=0a:58:64:58:00:04 networks=[100.88.0.4/31, fd97::4/127] options={requested-tnl-key=12} peer=rtotr-GR_cluster_udn_yellow.net_ovn-worker < Logical_Router/cluster_udn_yellow.net_transit_router.ports',
    ]);
  });
  test('says no MTU where OVN must not check sizes', () => {
    expect(
      partTexts(gatewayLink, withNetwork(yellow, withoutMtu), 'cluster_udn_yellow-net'),
    ).toEqual([
      'Logical_Router_Port rtotr-GR_cluster_udn_yellow.net_ovn-worker external_ids={k/network=cluster_udn_yellow-net k/topology=layer2} mac=0a:58:64:41:00:02 networks=[100.65.0.2/16, 100.88.0.5/31] peer=trtor-GR_cluster_udn_yellow.net_ovn-worker < Logical_Router/GR_cluster_udn_yellow.net_ovn-worker.ports',
      'Logical_Router_Port trtor-GR_cluster_udn_yellow.net_ovn-worker external_ids={k/network=cluster_udn_yellow-net k/topology=layer2} mac=0a:58:64:58:00:04 networks=[100.88.0.4/31] options={requested-tnl-key=12} peer=rtotr-GR_cluster_udn_yellow.net_ovn-worker < Logical_Router/cluster_udn_yellow.net_transit_router.ports',
    ]);
  });
  test('a node without addresses for the outside has none', () => {
    expect(
      partTexts(
        gatewayLink,
        withNetwork(yellow, withoutGateway(exampleZone)),
        'cluster_udn_yellow-net',
      ),
    ).toEqual([]);
  });
});
