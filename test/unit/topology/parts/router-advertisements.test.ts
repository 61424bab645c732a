import { describe, expect, test } from 'vitest';
import { routerAdvertisements } from '../../../../src/topology/parts/router-advertisements.ts';
import { withNetwork } from '../../../support/zone/zone-variants.ts';
import { overlay } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

describe('what tells pods of an OVNSecondaryNetwork subnet and MTU (reference/topology.md §22)', () => {
  test('is a router with the address that every router of a subnet answers to', () => {
    expect(partTexts(routerAdvertisements, withNetwork(overlay), 'secondary_blue_overlay')).toEqual(
      [
        'Logical_Router secondary_blue_overlay_transit_router copp=Copp/ovnkube-default external_ids={k/network=secondary_blue_overlay k/topology=layer2}',
        'Logical_Router_Port trtos-secondary_blue_overlay_ovn_layer2_switch external_ids={k/network=secondary_blue_overlay k/topology=layer2} ipv6_ra_configs={address_mode=dhcpv6_stateful max_interval=900 min_interval=300 mtu=1300 router_preference=LOW send_periodic=true} mac=0a:58:e9:69:5d:29 networks=[fd20:60::/64] < Logical_Router/secondary_blue_overlay_transit_router.ports',
        'Logical_Switch_Port stotr-secondary_blue_overlay_ovn_layer2_switch addresses=[router] external_ids={k/network=secondary_blue_overlay k/topology=layer2} options={requested-tnl-key=32767 router-port=trtos-secondary_blue_overlay_ovn_layer2_switch} type=router up=true < Logical_Switch/secondary_blue_overlay_ovn_layer2_switch.ports',
      ],
    );
  });
  test('is not there without IPv6', () => {
    expect(
      partTexts(
        routerAdvertisements,
        withNetwork({ ...overlay, subnets: [{ cidr: '10.60.0.0/16' }] }),
        'secondary_blue_overlay',
      ),
    ).toEqual([]);
  });
});
