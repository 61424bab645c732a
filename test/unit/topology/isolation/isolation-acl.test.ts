import { expect, test } from 'vitest';
import { addIsolationAcl } from '../../../../src/topology/isolation/isolation-acl.ts';
import { builtTexts } from '../part-texts.ts';

test('an ACL of isolated pods is in their group, and in the tier before all policies (reference/topology.md §17.1)', () => {
  expect(
    builtTexts((rows) => {
      addIsolationAcl(rows, 'some', {
        direction: 'Ingress',
        priority: 7,
        action: 'drop',
        match: '1',
      });
    }),
  ).toEqual([
    'ACL default-network-controller:UDNIsolation:some:Ingress action=drop direction=to-lport external_ids={direction=Ingress k/id=default-network-controller:UDNIsolation:some:Ingress k/name=some k/owner-controller=default-network-controller k/owner-type=UDNIsolation} match=1 priority=7 tier=0 < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.acls',
  ]);
});
