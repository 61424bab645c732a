import { describe, expect, test } from 'vitest';
import { hairpin } from '../../../../src/topology/parts/hairpin.ts';
import { withNetwork } from '../../../support/zone/zone-variants.ts';
import { exampleZone, dualZone, layer2Secondary } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

describe('a pod that reaches itself through a service (reference/topology.md §16.1)', () => {
  test('is let in by the address that OVN gives it', () => {
    expect(partTexts(hairpin, exampleZone, 'blue_blue')).toEqual([
      'ACL blue_blue-network-controller:HairpinSource:drop action=drop direction=from-lport external_ids={k/id=blue_blue-network-controller:HairpinSource:drop k/owner-controller=blue_blue-network-controller k/owner-type=HairpinSource type=drop} match=inport == @a9b3a8be230d6c957406156cd5423f24e && ip4.src == 169.254.0.5 priority=1053 tier=0 < Port_Group/a9b3a8be230d6c957406156cd5423f24e.acls',
      'ACL blue_blue-network-controller:NetpolDefault:allow-hairpinning:Egress action=allow-related direction=from-lport external_ids={direction=Egress k/id=blue_blue-network-controller:NetpolDefault:allow-hairpinning:Egress k/name=allow-hairpinning k/owner-controller=blue_blue-network-controller k/owner-type=NetpolDefault} match=ip4.src == 169.254.0.5 options={apply-after-lb=true} priority=1001 tier=2 < Port_Group/a9b3a8be230d6c957406156cd5423f24e.acls',
      'ACL blue_blue-network-controller:NetpolDefault:allow-hairpinning:Ingress action=allow-related direction=to-lport external_ids={direction=Ingress k/id=blue_blue-network-controller:NetpolDefault:allow-hairpinning:Ingress k/name=allow-hairpinning k/owner-controller=blue_blue-network-controller k/owner-type=NetpolDefault} match=ip4.src == 169.254.0.5 priority=1001 tier=2 < Port_Group/a9b3a8be230d6c957406156cd5423f24e.acls',
    ]);
  });
  test('of either family', () => {
    expect(partTexts(hairpin, dualZone, 'blue_blue')).toEqual([
      'ACL blue_blue-network-controller:HairpinSource:drop action=drop direction=from-lport external_ids={k/id=blue_blue-network-controller:HairpinSource:drop k/owner-controller=blue_blue-network-controller k/owner-type=HairpinSource type=drop} match=inport == @a9b3a8be230d6c957406156cd5423f24e && (ip4.src == 169.254.0.5 || ip6.src == fd69::5) priority=1053 tier=0 < Port_Group/a9b3a8be230d6c957406156cd5423f24e.acls',
      'ACL blue_blue-network-controller:NetpolDefault:allow-hairpinning:Egress action=allow-related direction=from-lport external_ids={direction=Egress k/id=blue_blue-network-controller:NetpolDefault:allow-hairpinning:Egress k/name=allow-hairpinning k/owner-controller=blue_blue-network-controller k/owner-type=NetpolDefault} match=(ip4.src == 169.254.0.5 || ip6.src == fd69::5) options={apply-after-lb=true} priority=1001 tier=2 < Port_Group/a9b3a8be230d6c957406156cd5423f24e.acls',
      'ACL blue_blue-network-controller:NetpolDefault:allow-hairpinning:Ingress action=allow-related direction=to-lport external_ids={direction=Ingress k/id=blue_blue-network-controller:NetpolDefault:allow-hairpinning:Ingress k/name=allow-hairpinning k/owner-controller=blue_blue-network-controller k/owner-type=NetpolDefault} match=(ip4.src == 169.254.0.5 || ip6.src == fd69::5) priority=1001 tier=2 < Port_Group/a9b3a8be230d6c957406156cd5423f24e.acls',
    ]);
  });
  test('a secondary network has no services', () => {
    expect(partTexts(hairpin, withNetwork(layer2Secondary), 'blue_l2')).toEqual([]);
  });
});
