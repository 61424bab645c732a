import { describe, expect, test } from 'vitest';
import { secondaryPods } from '../../../../src/topology/isolation/secondary-pods.ts';
import { withoutSubnets } from '../../../support/zone/zone-variants.ts';
import { exampleZone, dualZone } from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

describe('pods with a primary network of their own, on the default network (reference/topology.md §17.1)', () => {
  test("are closed both ways but to the host's probes", () => {
    expect(featureTexts([secondaryPods], exampleZone)).toEqual([
      'ACL default-network-controller:UDNIsolation:AllowHostARPPrimaryUDN:Egress action=allow direction=from-lport external_ids={direction=Egress k/id=default-network-controller:UDNIsolation:AllowHostARPPrimaryUDN:Egress k/name=AllowHostARPPrimaryUDN k/owner-controller=default-network-controller k/owner-type=UDNIsolation} match=inport == @a3a4889fb3a1fe0b23514b7ae1188b05c && (( arp && arp.tpa == 10.244.0.2 )) priority=1001 tier=0 < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.acls',
      'ACL default-network-controller:UDNIsolation:AllowHostARPPrimaryUDN:Ingress action=allow direction=to-lport external_ids={direction=Ingress k/id=default-network-controller:UDNIsolation:AllowHostARPPrimaryUDN:Ingress k/name=AllowHostARPPrimaryUDN k/owner-controller=default-network-controller k/owner-type=UDNIsolation} match=outport == @a3a4889fb3a1fe0b23514b7ae1188b05c && (( arp && arp.spa == 10.244.0.2 )) priority=1001 tier=0 < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.acls',
      'ACL default-network-controller:UDNIsolation:AllowHostPrimaryUDN:Ingress action=allow-related direction=to-lport external_ids={direction=Ingress k/id=default-network-controller:UDNIsolation:AllowHostPrimaryUDN:Ingress k/name=AllowHostPrimaryUDN k/owner-controller=default-network-controller k/owner-type=UDNIsolation} match=outport == @a3a4889fb3a1fe0b23514b7ae1188b05c && (ip4.src==10.244.0.2) priority=1001 tier=0 < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.acls',
      'ACL default-network-controller:UDNIsolation:DenyPrimaryUDN:Egress action=drop direction=from-lport external_ids={direction=Egress k/id=default-network-controller:UDNIsolation:DenyPrimaryUDN:Egress k/name=DenyPrimaryUDN k/owner-controller=default-network-controller k/owner-type=UDNIsolation} match=inport == @a3a4889fb3a1fe0b23514b7ae1188b05c priority=1000 tier=0 < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.acls',
      'ACL default-network-controller:UDNIsolation:DenyPrimaryUDN:Ingress action=drop direction=to-lport external_ids={direction=Ingress k/id=default-network-controller:UDNIsolation:DenyPrimaryUDN:Ingress k/name=DenyPrimaryUDN k/owner-controller=default-network-controller k/owner-type=UDNIsolation} match=outport == @a3a4889fb3a1fe0b23514b7ae1188b05c priority=1000 tier=0 < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.acls',
      'Port_Group a3a4889fb3a1fe0b23514b7ae1188b05c external_ids={k/id=default-network-controller:UDNIsolation:SecondaryPods k/name=SecondaryPods k/owner-controller=default-network-controller k/owner-type=UDNIsolation}',
    ]);
  });
  test('of both families', () => {
    expect(
      featureTexts([secondaryPods], dualZone).filter((text) => /AllowHost/.test(text)),
    ).toEqual([
      'ACL default-network-controller:UDNIsolation:AllowHostARPPrimaryUDN:Egress action=allow direction=from-lport external_ids={direction=Egress k/id=default-network-controller:UDNIsolation:AllowHostARPPrimaryUDN:Egress k/name=AllowHostARPPrimaryUDN k/owner-controller=default-network-controller k/owner-type=UDNIsolation} match=inport == @a3a4889fb3a1fe0b23514b7ae1188b05c && (( arp && arp.tpa == 10.244.0.2 ) || ( nd && nd.target == fd00:10:244::2 )) priority=1001 tier=0 < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.acls',
      'ACL default-network-controller:UDNIsolation:AllowHostARPPrimaryUDN:Ingress action=allow direction=to-lport external_ids={direction=Ingress k/id=default-network-controller:UDNIsolation:AllowHostARPPrimaryUDN:Ingress k/name=AllowHostARPPrimaryUDN k/owner-controller=default-network-controller k/owner-type=UDNIsolation} match=outport == @a3a4889fb3a1fe0b23514b7ae1188b05c && (( arp && arp.spa == 10.244.0.2 ) || ( nd && nd.target == fd00:10:244::2 )) priority=1001 tier=0 < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.acls',
      'ACL default-network-controller:UDNIsolation:AllowHostPrimaryUDN:Ingress action=allow-related direction=to-lport external_ids={direction=Ingress k/id=default-network-controller:UDNIsolation:AllowHostPrimaryUDN:Ingress k/name=AllowHostPrimaryUDN k/owner-controller=default-network-controller k/owner-type=UDNIsolation} match=outport == @a3a4889fb3a1fe0b23514b7ae1188b05c && (ip4.src==10.244.0.2 || ip6.src==fd00:10:244::2) priority=1001 tier=0 < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.acls',
    ]);
  });
  test('before the node has a subnet nothing is let in', () => {
    expect(featureTexts([secondaryPods], withoutSubnets)).toEqual([
      'ACL default-network-controller:UDNIsolation:DenyPrimaryUDN:Egress action=drop direction=from-lport external_ids={direction=Egress k/id=default-network-controller:UDNIsolation:DenyPrimaryUDN:Egress k/name=DenyPrimaryUDN k/owner-controller=default-network-controller k/owner-type=UDNIsolation} match=inport == @a3a4889fb3a1fe0b23514b7ae1188b05c priority=1000 tier=0 < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.acls',
      'ACL default-network-controller:UDNIsolation:DenyPrimaryUDN:Ingress action=drop direction=to-lport external_ids={direction=Ingress k/id=default-network-controller:UDNIsolation:DenyPrimaryUDN:Ingress k/name=DenyPrimaryUDN k/owner-controller=default-network-controller k/owner-type=UDNIsolation} match=outport == @a3a4889fb3a1fe0b23514b7ae1188b05c priority=1000 tier=0 < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.acls',
      'Port_Group a3a4889fb3a1fe0b23514b7ae1188b05c external_ids={k/id=default-network-controller:UDNIsolation:SecondaryPods k/name=SecondaryPods k/owner-controller=default-network-controller k/owner-type=UDNIsolation}',
    ]);
  });
});
