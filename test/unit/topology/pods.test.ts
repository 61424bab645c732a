import { describe, expect, test } from 'vitest';
import type { Attachment, Network, Zone } from '../../../src/model/model.ts';
import { renderedZone } from '../../../src/topology/rendered-zone.ts';
import {
  blue,
  bluePod,
  bluePodDefault,
  defaultNetwork,
  dualZone,
  exampleZone,
  networkName,
} from '../../support/zones.ts';
import { heads, rowsOf, textsOf } from './unit-texts.ts';

const withPods = (...attachments: Attachment[]): Zone => ({ ...exampleZone, attachments });

const PORT_OF_POD1 =
  'Logical_Switch_Port blue.blue_blue_pod1 addresses=[0a:58:67:67:00:03 103.103.0.3] external_ids={k/nad=blue/blue X2 namespace=blue pod=true} options={iface-id-ver=b7a2d6c0-0000-4000-8000-000000000001 requested-chassis=C1} port_security=[0a:58:67:67:00:03 103.103.0.3] < Logical_Switch/blue_blue_ovn-worker.ports < Port_Group/a3611962815694738969.ports';
const DEFAULT_PORT_OF_POD1 =
  'Logical_Switch_Port blue_pod1 addresses=[0a:58:0a:f4:00:03 10.244.0.3] external_ids={namespace=blue pod=true} options={iface-id-ver=b7a2d6c0-0000-4000-8000-000000000001 requested-chassis=C1} port_security=[0a:58:0a:f4:00:03 10.244.0.3] < Logical_Switch/ovn-worker.ports < Port_Group/a5290398105912930473.ports < Port_Group/a8747502060113802905.ports';

describe('a pod with a primary network (topology.md §14, §24)', () => {
  test('has a port on it, and one on the default network among the isolated ones', () => {
    expect(textsOf(withPods(bluePod, bluePodDefault), /^pod\//)).toEqual([
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
    expect(textsOf(withPods(pod), /^pod\//).filter((text) => text.startsWith('ACL'))).toEqual([
      'ACL default-network-controller:UDNIsolation:OpenPort-blue/pod1:Egress action=allow direction=from-lport external_ids={direction=Egress k/id=default-network-controller:UDNIsolation:OpenPort-blue/pod1:Egress k/name=OpenPort-blue/pod1 k/owner-controller=default-network-controller k/owner-type=UDNIsolation} match=inport == "blue_pod1" && (arp || nd) meter=acl-logging priority=1001 tier=0 < Port_Group/a8747502060113802905.acls',
      'ACL default-network-controller:UDNIsolation:OpenPort-blue/pod1:Ingress action=allow-related direction=to-lport external_ids={direction=Ingress k/id=default-network-controller:UDNIsolation:OpenPort-blue/pod1:Ingress k/name=OpenPort-blue/pod1 k/owner-controller=default-network-controller k/owner-type=UDNIsolation} match=outport == "blue_pod1" && (arp || nd || (tcp.dst == 80 || udp.dst == 53 || icmp)) meter=acl-logging priority=1001 tier=0 < Port_Group/a8747502060113802905.acls',
    ]);
  });

  test('of both families has one string with both addresses', () => {
    const pod = { ...bluePod, addresses: ['103.103.0.3/24', 'fd20:103:0:1::3/64'] };
    const [row] = rowsOf({ ...dualZone, attachments: [pod] }, /^pod\//);
    expect(row?.columns).toMatchObject({
      addresses: ['0a:58:67:67:00:03 103.103.0.3 fd20:103:0:1::3'],
      port_security: ['0a:58:67:67:00:03 103.103.0.3 fd20:103:0:1::3'],
    });
  });
});

describe('a pod', () => {
  test('whose primary network is the default one is not isolated', () => {
    const pod: Attachment = { ...bluePodDefault, namespace: 'default', role: 'primary' };
    const [row] = rowsOf(withPods(pod), /^pod\//);
    expect(row?.containers.map(({ key }) => key)).toEqual(['ovn-worker', 'a5680351521869907322']);
  });

  test('on another node has no port here: Layer3 ports are local', () => {
    expect(rowsOf(withPods({ ...bluePod, node: 'ovn-worker2' }), /^pod\//)).toEqual([]);
  });

  test('of a network that is not here, or that this node has no subnet of, has no port', () => {
    expect(rowsOf(withPods({ ...bluePod, network: networkName('gone') }), /^pod\//)).toEqual([]);
    const network: Network = { ...blue, nodeSubnets: new Map() };
    const zone = { ...withPods(bluePod), networks: [defaultNetwork, network] };
    expect(rowsOf(zone, /^pod\//)).toEqual([]);
  });

  test('of a namespace that a network does not serve is in no group of it', () => {
    const pod: Attachment = { ...bluePod, namespace: 'green', nadKey: 'blue/blue-network/1' };
    expect(heads(rowsOf(withPods(pod), /^pod\//))).toEqual([
      'Logical_Switch_Port blue.blue.network.1_green_pod1',
    ]);
    expect(rowsOf(withPods(pod), /^pod\//)[0]?.containers.map(({ key }) => key)).toEqual([
      'blue_blue_ovn-worker',
    ]);
  });
});

describe('names that somebody has already', () => {
  const reasons = (zone: Zone): string[] => renderedZone(zone).refused.map(({ reason }) => reason);
  const keys = (zone: Zone): string[] => rowsOf(zone, /./).map((row) => `${row.table} ${row.key}`);
  const expectNoTwins = (zone: Zone): void => {
    expect(new Set(keys(zone)).size).toBe(keys(zone).length);
  };

  test('two networks of one prefix: the one of the lower id has rows', () => {
    const dashed = { ...blue, name: networkName('blue_a-b'), id: 5 };
    const dotted = { ...blue, name: networkName('blue_a.b'), id: 4 };
    const zone = { ...exampleZone, networks: [dashed, dotted, defaultNetwork] };
    expect(reasons(zone)).toEqual([
      'network "blue_a-b": its switch "blue_a.b_ovn-worker" would have the name of one of network "blue_a.b"; rename one of the two',
    ]);
    expect(keys(zone)).toContain('Logical_Switch blue_a.b_ovn-worker');
    expectNoTwins(zone);
  });

  test('a network called ext would have the external switch of the default network', () => {
    const zone = {
      ...exampleZone,
      networks: [defaultNetwork, { ...blue, name: networkName('ext'), role: 'secondary' as const }],
    };
    expect(reasons(zone)).toEqual([
      'network "ext": its switch "ext_ovn-worker" would have the name of one of network "default"; rename one of the two',
    ]);
    expectNoTwins(zone);
  });

  test('a node called join would have the join switch', () => {
    const zone = { ...exampleZone, node: { ...exampleZone.node, name: 'join' } };
    expect(reasons(zone)).toEqual([
      'network "default": node "join" has the name of a switch of every network; rename the node',
      'network "blue_blue": node "join" has the name of a switch of every network; rename the node',
    ]);
    expectNoTwins(zone);
  });

  test('a pod may not take the name of the port to the bridge', () => {
    const zone = withPods({ ...bluePodDefault, namespace: 'breth0', pod: 'ovn-worker' });
    expect(reasons(zone)).toEqual([
      'pod "breth0/ovn-worker": its port on "default" would be "breth0_ovn-worker", a name that another port has; rename the pod or its namespace',
    ]);
    expectNoTwins(zone);
  });

  test('a pod may not take the name of a transit port', () => {
    const network = { ...blue, name: networkName('a-b_c'), nads: ['c/x'] };
    const zone: Zone = {
      ...exampleZone,
      networks: [defaultNetwork, network],
      attachments: [
        {
          ...bluePod,
          network: network.name,
          namespace: 'c',
          pod: 'tstor-ovn-worker',
          nadKey: 'a/b',
        },
      ],
    };
    expect(reasons(zone)).toHaveLength(1);
    expectNoTwins(zone);
  });

  test('NADs that differ in a dash and a dot: the first attachment has the port', () => {
    const zone = withPods({ ...bluePod, nadKey: 'blue/a-b' }, { ...bluePod, nadKey: 'blue/a.b' });
    expect(reasons(zone)).toHaveLength(1);
    expectNoTwins(zone);
  });

  test('two nodes with one tunnel address, chassis or id: the one of the lower id has rows', () => {
    const [node] = exampleZone.remoteNodes;
    const twin = { ...node!, name: 'twin', id: 4, chassisId: 'c4' };
    const zone = { ...exampleZone, remoteNodes: [twin, node!] };
    expect(reasons(zone)).toEqual([
      'node "twin": tunnel address 172.18.0.4 is that of node "ovn-worker2" too; correct the annotations of the wrong one',
    ]);
    expectNoTwins(zone);
  });
});
