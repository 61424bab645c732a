import { describe, expect, test } from 'vitest';
import { namespaceMulticast } from '../../../../src/topology/multicast/namespaces.ts';
import { withMulticast } from '../../../support/zone/zone-variants.ts';
import { exampleZone } from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

describe('multicast of a namespace that asks for it (reference/topology.md §16.4)', () => {
  test('its pods send, and get what its pods send', () => {
    expect(
      featureTexts([namespaceMulticast], {
        ...withMulticast(exampleZone),
        multicastNamespaces: ['blue'],
      }),
    ).toEqual([
      'ACL blue_blue-network-controller:MulticastNS:blue:Egress action=allow direction=from-lport external_ids={direction=Egress k/id=blue_blue-network-controller:MulticastNS:blue:Egress k/name=blue k/owner-controller=blue_blue-network-controller k/owner-type=MulticastNS} match=inport == @a738b3352beeb1cf3c2db1b084d93357e && ip4.mcast options={apply-after-lb=true} priority=1012 tier=2 < Port_Group/a738b3352beeb1cf3c2db1b084d93357e.acls',
      'ACL blue_blue-network-controller:MulticastNS:blue:Ingress action=allow direction=to-lport external_ids={direction=Ingress k/id=blue_blue-network-controller:MulticastNS:blue:Ingress k/name=blue k/owner-controller=blue_blue-network-controller k/owner-type=MulticastNS} match=outport == @a738b3352beeb1cf3c2db1b084d93357e && (igmp || (ip4.src == $a3d1a30e54398458898d1c152e4deb642 && ip4.mcast)) priority=1012 tier=2 < Port_Group/a738b3352beeb1cf3c2db1b084d93357e.acls',
      'ACL default-network-controller:MulticastNS:blue:Egress action=allow direction=from-lport external_ids={direction=Egress k/id=default-network-controller:MulticastNS:blue:Egress k/name=blue k/owner-controller=default-network-controller k/owner-type=MulticastNS} match=inport == @a17f08d58bdf9dc5f3a76d3e7224b8469 && ip4.mcast options={apply-after-lb=true} priority=1012 tier=2 < Port_Group/a17f08d58bdf9dc5f3a76d3e7224b8469.acls',
      'ACL default-network-controller:MulticastNS:blue:Ingress action=allow direction=to-lport external_ids={direction=Ingress k/id=default-network-controller:MulticastNS:blue:Ingress k/name=blue k/owner-controller=default-network-controller k/owner-type=MulticastNS} match=outport == @a17f08d58bdf9dc5f3a76d3e7224b8469 && (igmp || (ip4.src == $a726f00d3861a1d283439fa0b24c639d4 && ip4.mcast)) priority=1012 tier=2 < Port_Group/a17f08d58bdf9dc5f3a76d3e7224b8469.acls',
    ]);
  });
  test('others have no rows', () => {
    expect(featureTexts([namespaceMulticast], withMulticast(exampleZone))).toEqual([]);
  });
});
