import { describe, expect, test } from 'vitest';
import { dhcpOptions } from '../../../../src/topology/parts/dhcp.ts';
import { withNetwork } from '../../../support/zone/zone-variants.ts';
import { overlay, underlay, layer2Secondary } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

describe('DHCP on an OVNSecondaryNetwork (reference/topology.md §22)', () => {
  test('over IPv6 tells who serves, no more', () => {
    expect(partTexts(dhcpOptions, withNetwork(overlay), 'secondary_blue_overlay')).toEqual([
      expect.stringMatching(/^ACL .*:DhcpClients:.* action=allow /),
      'DHCP_Options secondary_blue_overlay-network-controller:OVNSecondaryNetwork:secondary_blue_overlay:fd20.60../64 cidr=fd20:60::/64 external_ids={k/cidr=fd20.60../64 k/id=secondary_blue_overlay-network-controller:OVNSecondaryNetwork:secondary_blue_overlay:fd20.60../64 k/name=secondary_blue_overlay k/owner-controller=secondary_blue_overlay-network-controller k/owner-type=OVNSecondaryNetwork} options={server_id=0a:58:a9:fe:01:01}',
    ]);
  });
  test('over IPv4 gives MTU and lease', () => {
    expect(partTexts(dhcpOptions, withNetwork(underlay), 'secondary_blue_underlay')).toEqual([
      expect.stringMatching(/^ACL .*:DhcpClients:.* action=allow /),
      'DHCP_Options secondary_blue_underlay-network-controller:OVNSecondaryNetwork:secondary_blue_underlay:10.70.0.0/16 cidr=10.70.0.0/16 external_ids={k/cidr=10.70.0.0/16 k/id=secondary_blue_underlay-network-controller:OVNSecondaryNetwork:secondary_blue_underlay:10.70.0.0/16 k/name=secondary_blue_underlay k/owner-controller=secondary_blue_underlay-network-controller k/owner-type=OVNSecondaryNetwork} options={lease_time=3500 mtu=1300 server_id=169.254.1.1 server_mac=0a:58:a9:fe:01:01}',
    ]);
  });
  test('other networks answer nobody', () => {
    expect(partTexts(dhcpOptions, withNetwork(layer2Secondary), 'blue_l2')).toEqual([]);
  });
});
