import { describe, expect, test } from 'vitest';
import { addOpenPortAcls } from '../../../../src/topology/isolation/open-ports.ts';
import { opening } from '../../../support/zone/zone-variants.ts';
import { bluePodDefault } from '../../../support/zone/zones.ts';
import { builtTexts } from '../part-texts.ts';

describe('ports that a pod opens on the default network (reference/topology.md §17.1)', () => {
  test('can be reached, and its neighbours be found', () => {
    expect(
      builtTexts((rows) => {
        addOpenPortAcls(rows, opening);
      }).map((text) => text.replace(/ external_ids=\{[^}]*\}/, '')),
    ).toEqual([
      'ACL default-network-controller:UDNIsolation:OpenPort-blue/pod1:Egress action=allow direction=from-lport match=inport == "blue_pod1" && (arp || nd) priority=1001 tier=0 < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.acls',
      'ACL default-network-controller:UDNIsolation:OpenPort-blue/pod1:Ingress action=allow-related direction=to-lport match=outport == "blue_pod1" && (arp || nd || (tcp.dst == 80 || icmp)) priority=1001 tier=0 < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.acls',
    ]);
  });

  test('a pod that opens none has no rows for it', () => {
    expect(
      builtTexts((rows) => {
        addOpenPortAcls(rows, bluePodDefault);
      }),
    ).toEqual([]);
  });
});
