import { describe, expect, test } from 'vitest';
import { gatewayRouter } from '../../../../src/topology/parts/gateway-router.ts';
import { withNetwork, withoutGateway } from '../../../support/zone/zone-variants.ts';
import { exampleZone, yellow } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

describe('the gateway router of a network (reference/topology.md §7.3)', () => {
  test('is bound to the chassis of the node, and does not announce the address that networks share', () => {
    expect(partTexts(gatewayRouter, exampleZone, 'blue_blue')).toEqual([
      'Logical_Router GR_blue_blue_ovn-worker copp=Copp/ovnkube-default external_ids={X3 physical_ip=172.18.0.3 physical_ips=172.18.0.3,169.254.0.11} options={always_learn_from_arp_request=false chassis=C1 disable_garp_rarp=true dynamic_neigh_routers=false lb_force_snat_ip=router_ip mac_binding_age_threshold=300}',
    ]);
  });
  test('that of the default network tracks connections in zone 0, and announces', () => {
    expect(partTexts(gatewayRouter, exampleZone, 'default')).toEqual([
      'Logical_Router GR_ovn-worker copp=Copp/ovnkube-default external_ids={physical_ip=172.18.0.3 physical_ips=172.18.0.3} options={always_learn_from_arp_request=false chassis=C1 dynamic_neigh_routers=false lb_force_snat_ip=router_ip mac_binding_age_threshold=300 snat-ct-zone=0}',
    ]);
  });
  test("Layer2: clients of services get the join address, which the port's other networks are not", () => {
    expect(partTexts(gatewayRouter, withNetwork(yellow), 'cluster_udn_yellow-net')).toEqual([
      'Logical_Router GR_cluster_udn_yellow.net_ovn-worker copp=Copp/ovnkube-default external_ids={k/network=cluster_udn_yellow-net k/role=primary k/topology=layer2 physical_ip=172.18.0.3 physical_ips=172.18.0.3,169.254.0.15} options={always_learn_from_arp_request=false chassis=C1 disable_garp_rarp=true dynamic_neigh_routers=false lb_force_snat_ip=100.65.0.2 mac_binding_age_threshold=300}',
    ]);
  });
  test('a node without addresses for the outside has none', () => {
    expect(partTexts(gatewayRouter, withoutGateway(exampleZone), 'blue_blue')).toEqual([]);
  });
});
