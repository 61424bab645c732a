import { describe, expect, test } from 'vitest';
import type { Attachment } from '../../../../src/model/model.ts';
import { localnetNetwork } from '../../../../src/topology/networks/localnet.ts';
import {
  bluePod,
  defaultNetwork,
  exampleZone,
  inLocalMode,
  localnet,
  type Zone,
  type ZoneNetwork,
} from '../../../support/zone/zones.ts';
import { rowsOf, textsOf } from '../unit-texts.ts';

const withNetwork = (network: ZoneNetwork, ...attachments: Attachment[]): Zone => ({
  ...exampleZone,
  networks: [defaultNetwork, network],
  attachments,
});

const pod: Attachment = {
  ...bluePod,
  network: localnet.name,
  nadKey: 'blue/ln',
  role: 'secondary',
  macAddress: '0a:58:0a:32:01:03',
  addresses: ['10.50.1.3/16'],
};

const UNITS = new RegExp(`^(${localnetNetwork.name}|pods/port) `);

describe('a localnet network (reference/topology.md §11)', () => {
  test('has a switch with a port to the physical network, in its VLAN, and the pods of this node', () => {
    expect(textsOf(withNetwork(localnet, pod), UNITS)).toEqual([
      'ACL blue_ln-network-controller:PodServers:blue_ln_ovn_localnet_switch:drop action=drop direction=from-lport external_ids={k/id=blue_ln-network-controller:PodServers:blue_ln_ovn_localnet_switch:drop k/name=blue_ln_ovn_localnet_switch k/owner-controller=blue_ln-network-controller k/owner-type=PodServers type=drop} match=udp.dst == {68, 546} options={apply-after-lb=true} priority=1050 tier=0 < Logical_Switch/blue_ln_ovn_localnet_switch.acls',
      'ACL blue_ln-network-controller:PodServers:blue_ln_ovn_localnet_switch:pass action=pass direction=from-lport external_ids={k/id=blue_ln-network-controller:PodServers:blue_ln_ovn_localnet_switch:pass k/name=blue_ln_ovn_localnet_switch k/owner-controller=blue_ln-network-controller k/owner-type=PodServers type=pass} match=inport == "blue_ln_ovn_localnet_port" && udp.dst == {68, 546} options={apply-after-lb=true} priority=1051 tier=0 < Logical_Switch/blue_ln_ovn_localnet_switch.acls',
      'Logical_Switch blue_ln_ovn_localnet_switch copp=Copp/heddle-pod-switches external_ids={k/network=blue_ln k/role=secondary k/topology=localnet} other_config={subnet=10.50.0.0/16}',
      'Logical_Switch_Port blue.ln_blue_pod1 addresses=[0a:58:0a:32:01:03 10.50.1.3] external_ids={k/nad=blue/ln k/network=blue_ln k/topology=localnet namespace=blue pod=true} options={iface-id-ver=b7a2d6c0-0000-4000-8000-000000000001 requested-chassis=C1} port_security=[0a:58:0a:32:01:03 10.50.1.3] < Logical_Switch/blue_ln_ovn_localnet_switch.ports',
      'Logical_Switch_Port blue_ln_ovn_localnet_port addresses=[unknown] options={network_name=tenants} tag_request=50 type=localnet up=false < Logical_Switch/blue_ln_ovn_localnet_switch.ports',
    ]);
  });

  test('without subnets, VLAN and physical name: its own name is that of the physical network, pods have a MAC', () => {
    const { vlan: _vlan, physicalNetworkName: _name, ...rest } = localnet;
    const zone = withNetwork(
      { ...rest, subnets: [], excludeSubnets: [] },
      { ...pod, addresses: [] },
    );
    expect(textsOf(zone, UNITS)).toEqual([
      'Logical_Switch blue_ln_ovn_localnet_switch copp=Copp/heddle-pod-switches external_ids={k/network=blue_ln k/role=secondary k/topology=localnet}',
      'Logical_Switch_Port blue.ln_blue_pod1 addresses=[0a:58:0a:32:01:03] external_ids={k/nad=blue/ln k/network=blue_ln k/topology=localnet namespace=blue pod=true} options={iface-id-ver=b7a2d6c0-0000-4000-8000-000000000001 requested-chassis=C1} port_security=[0a:58:0a:32:01:03] < Logical_Switch/blue_ln_ovn_localnet_switch.ports',
      'Logical_Switch_Port blue_ln_ovn_localnet_port addresses=[unknown] options={network_name=blue_ln} type=localnet up=false < Logical_Switch/blue_ln_ovn_localnet_switch.ports',
    ]);
  });

  test('is the same in both gateway modes, and has no ports for pods of other nodes', () => {
    const zone = withNetwork(localnet, pod);
    const remoteAttachments = [
      {
        ...pod,
        pod: 'far',
        node: 'ovn-worker2',
        macAddress: '0a:58:0a:32:01:04',
        addresses: ['10.50.1.4/16'],
      },
    ];
    expect(textsOf(inLocalMode({ ...zone, remoteAttachments }), UNITS)).toEqual(
      textsOf(zone, UNITS),
    );
    expect(rowsOf({ ...zone, remoteAttachments }, /^layer2\//)).toEqual([]);
  });
});
