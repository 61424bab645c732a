import { describe, expect, test } from 'vitest';
import type { Attachment } from '../../../../src/model/model.ts';
import {
  blue,
  bluePod,
  bluePodDefault,
  defaultNetwork,
  dualZone,
  exampleZone,
  networkName,
  type Zone,
  type ZoneNetwork,
} from '../../../support/zone/zones.ts';
import { heads, rowsOf, textsOf } from '../unit-texts.ts';

const withPods = (...attachments: Attachment[]): Zone => ({ ...exampleZone, attachments });

const PORT_OF_POD1 =
  'Logical_Switch_Port blue.blue_blue_pod1 addresses=[0a:58:67:67:00:03 103.103.0.3] external_ids={k/nad=blue/blue X2 namespace=blue pod=true} options={iface-id-ver=b7a2d6c0-0000-4000-8000-000000000001 requested-chassis=C1} port_security=[0a:58:67:67:00:03 103.103.0.3] < Logical_Switch/blue_blue_ovn-worker.ports < Port_Group/a738b3352beeb1cf3c2db1b084d93357e.ports';
const DEFAULT_PORT_OF_POD1 =
  'Logical_Switch_Port blue_pod1 addresses=[0a:58:0a:f4:00:03 10.244.0.3] external_ids={namespace=blue pod=true} options={iface-id-ver=b7a2d6c0-0000-4000-8000-000000000001 requested-chassis=C1} port_security=[0a:58:0a:f4:00:03 10.244.0.3] < Logical_Switch/ovn-worker.ports < Port_Group/a17f08d58bdf9dc5f3a76d3e7224b8469.ports < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.ports';

describe('a pod with a primary network (reference/topology.md §14, §24)', () => {
  test('has a port on it, and one on the default network among the isolated ones', () => {
    expect(textsOf(withPods(bluePod, bluePodDefault), /^pods\/port /)).toEqual([
      PORT_OF_POD1,
      DEFAULT_PORT_OF_POD1,
    ]);
  });

  test('opens ports of its default network one by one', () => {
    const pod: Attachment = {
      ...bluePodDefault,
      openDefaultPorts: [
        { protocol: 'tcp', port: 80 },
        { protocol: 'udp', port: 53 },
        { protocol: 'icmp' },
      ],
    };
    expect(textsOf(withPods(pod), /^pods\/port /).filter((text) => text.startsWith('ACL'))).toEqual(
      [
        'ACL default-network-controller:UDNIsolation:OpenPort-blue/pod1:Egress action=allow direction=from-lport external_ids={direction=Egress k/id=default-network-controller:UDNIsolation:OpenPort-blue/pod1:Egress k/name=OpenPort-blue/pod1 k/owner-controller=default-network-controller k/owner-type=UDNIsolation} match=inport == "blue_pod1" && (arp || nd) priority=1001 tier=0 < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.acls',
        'ACL default-network-controller:UDNIsolation:OpenPort-blue/pod1:Ingress action=allow-related direction=to-lport external_ids={direction=Ingress k/id=default-network-controller:UDNIsolation:OpenPort-blue/pod1:Ingress k/name=OpenPort-blue/pod1 k/owner-controller=default-network-controller k/owner-type=UDNIsolation} match=outport == "blue_pod1" && (arp || nd || (tcp.dst == 80 || udp.dst == 53 || icmp)) priority=1001 tier=0 < Port_Group/a3a4889fb3a1fe0b23514b7ae1188b05c.acls',
      ],
    );
  });

  test('of both families has one string with both addresses', () => {
    const pod = { ...bluePod, addresses: ['103.103.0.3/24', 'fd20:103:0:1::3/64'] };
    const [row] = rowsOf({ ...dualZone, attachments: [pod] }, /^pods\/port /);
    expect(row?.columns).toMatchObject({
      addresses: ['0a:58:67:67:00:03 103.103.0.3 fd20:103:0:1::3'],
      port_security: ['0a:58:67:67:00:03 103.103.0.3 fd20:103:0:1::3'],
    });
  });
});

describe('a pod', () => {
  test('whose primary network is the default one is not isolated', () => {
    const pod: Attachment = { ...bluePodDefault, namespace: 'default', role: 'primary' };
    const [row] = rowsOf(withPods(pod), /^pods\/port /);
    expect(row?.containers.map(({ key }) => key)).toEqual([
      'ovn-worker',
      'aec3d32141b870bbe686793a421651a23',
    ]);
  });

  test('of a network that is not here, or that this node has no subnet of, has no port', () => {
    const lost = { ...bluePod, network: networkName('gone'), nadKey: 'gone/gone' };
    expect(rowsOf(withPods(lost), /^pods\/port /)).toEqual([]);
    const network: ZoneNetwork = { ...blue, nodeSubnets: new Map() };
    const zone = { ...withPods(bluePod), networks: [defaultNetwork, network] };
    expect(rowsOf(zone, /^pods\/port /)).toEqual([]);
  });

  test('of a namespace that a network does not serve is in no group of it', () => {
    const pod: Attachment = {
      ...bluePod,
      namespace: 'default',
      nadKey: 'default/blue-network',
      role: 'secondary',
    };
    const networks = [defaultNetwork, { ...blue, role: 'secondary' as const }];
    const zone = { ...withPods(pod), networks };
    expect(heads(rowsOf(zone, /^pods\/port /))).toEqual([
      'Logical_Switch_Port default.blue.network_default_pod1',
    ]);
    expect(rowsOf(zone, /^pods\/port /)[0]?.containers.map(({ key }) => key)).toEqual([
      'blue_blue_ovn-worker',
    ]);
  });
});
