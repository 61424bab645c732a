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
      'ACL blue_blue-network-controller:MulticastNS:blue:Egress action=allow direction=from-lport external_ids={direction=Egress k/id=blue_blue-network-controller:MulticastNS:blue:Egress k/name=blue k/owner-controller=blue_blue-network-controller k/owner-type=MulticastNS} match=inport == @a3611962815694738969 && ip4.mcast options={apply-after-lb=true} priority=1012 tier=2 < Port_Group/a3611962815694738969.acls',
      'ACL blue_blue-network-controller:MulticastNS:blue:Ingress action=allow direction=to-lport external_ids={direction=Ingress k/id=blue_blue-network-controller:MulticastNS:blue:Ingress k/name=blue k/owner-controller=blue_blue-network-controller k/owner-type=MulticastNS} match=outport == @a3611962815694738969 && (igmp || (ip4.src == $a16319093458961709312 && ip4.mcast)) priority=1012 tier=2 < Port_Group/a3611962815694738969.acls',
      'ACL default-network-controller:MulticastNS:blue:Egress action=allow direction=from-lport external_ids={direction=Egress k/id=default-network-controller:MulticastNS:blue:Egress k/name=blue k/owner-controller=default-network-controller k/owner-type=MulticastNS} match=inport == @a5290398105912930473 && ip4.mcast options={apply-after-lb=true} priority=1012 tier=2 < Port_Group/a5290398105912930473.acls',
      'ACL default-network-controller:MulticastNS:blue:Ingress action=allow direction=to-lport external_ids={direction=Ingress k/id=default-network-controller:MulticastNS:blue:Ingress k/name=blue k/owner-controller=default-network-controller k/owner-type=MulticastNS} match=outport == @a5290398105912930473 && (igmp || (ip4.src == $a17332563852991404176 && ip4.mcast)) priority=1012 tier=2 < Port_Group/a5290398105912930473.acls',
    ]);
  });
  test('others have no rows', () => {
    expect(featureTexts([namespaceMulticast], withMulticast(exampleZone))).toEqual([]);
  });
});
