/** The switch between a gateway router and the external bridge (reference/topology.md §7.3, §6). */

import { asHost, macOf } from '../../allocators/addresses.ts';
import { MASQUERADE_OFFSETS } from '../../allocators/node-addresses.ts';
import { RowReference, type TableClaim } from '../../desired/rows.ts';
import type { NodeGateway } from '../../model/model.ts';
import { bridgePort } from '../../model/rules/names.ts';
import { textOf } from '../rows/found.ts';
import { macBindingKey } from '../rows/row-keys.ts';
import { gatewayMasquerade, masqueradeAddresses, type NetworkOnNode } from './network-on-node.ts';
import type { NetworkPart } from './part.ts';
import { ROUTER_PORT_CLAIM } from '../rows/router-rows.ts';
import { holds, NORTHBOUND, type Rows } from '../rows/unit-rows.ts';
import { addRouterPeer, SWITCH_CLAIM, SWITCH_PORT_CLAIM } from '../rows/switch-rows.ts';

/** Physical network of the external bridge in `ovn-bridge-mappings`. */
const PHYSICAL_NETWORK = 'physnet';

/** The table has no `external_ids`: a binding belongs to the router port that it names. */
export const MAC_BINDING_CLAIM: TableClaim = {
  database: NORTHBOUND,
  table: 'Static_MAC_Binding',
  keyOf: (row) => macBindingKey(textOf(row, 'logical_port') ?? '', textOf(row, 'ip') ?? ''),
  markedBy: (row) => [new RowReference('Logical_Router_Port', textOf(row, 'logical_port') ?? '')],
};

export const externalSwitch: NetworkPart = {
  rules: {
    'external-switch': {
      text: 'A gateway router reaches the external bridge over a switch of its own, with the addresses and the MAC of the node.',
      source: 'reference/topology.md §7.3',
    },
    'masquerade-neighbours': {
      text: 'The masquerade addresses of the next hop and of the host are neighbours with fixed MACs, for nobody answers for them.',
      source: 'reference/topology.md §7.3',
    },
    'next-hop-neighbours': {
      text: "The gateway router of a user-defined network knows the MAC addresses of the node's next hops as the kernel of its host does: its first packet waits for no answer, whoever else asks for one.",
      source: 'reference/topology.md §7.3',
    },
  },
  claims: [ROUTER_PORT_CLAIM, SWITCH_CLAIM, SWITCH_PORT_CLAIM, MAC_BINDING_CLAIM],
  build(all, onNode) {
    const rows = all.by('external-switch');
    const { gateway, names, node } = onNode;
    if (gateway === undefined) return;
    rows.named(
      'Logical_Router_Port',
      names.gatewayToExternal,
      {
        mac: gateway.macAddress,
        networks: [...gateway.addresses, ...gatewayMasquerade(onNode).map(asHost)],
        external_ids: onNode.isDefault ? { 'gateway-physical-ip': 'yes' } : onNode.networkIds,
      },
      holds('Logical_Router', names.gatewayRouter, 'ports'),
    );
    rows.named('Logical_Switch', names.externalSwitch, { external_ids: onNode.networkRoleIds });
    rows.named(
      'Logical_Switch_Port',
      bridgePort(gateway.bridge, names.prefix, node.name),
      {
        type: 'localnet',
        up: false,
        addresses: ['unknown'],
        options: { network_name: PHYSICAL_NETWORK },
        tag_request: gateway.vlan === 0 ? undefined : gateway.vlan,
        external_ids: onNode.networkIds,
      },
      holds('Logical_Switch', names.externalSwitch, 'ports'),
    );
    addRouterPeer(rows, names.externalToGateway, names.gatewayToExternal, names.externalSwitch, {
      addresses: gateway.macAddress,
      // Only the default network announces itself: networks share the address and MAC of the bridge.
      options: onNode.isDefault
        ? { 'nat-addresses': 'router', 'exclude-lb-vips-from-garp': 'true' }
        : {},
      external_ids: onNode.networkIds,
    });
    addMasqueradeNeighbours(all.by('masquerade-neighbours'), onNode);
    // The default network gets every answer, whoever asked.
    if (!onNode.isDefault) addNextHops(all.by('next-hop-neighbours'), onNode, gateway);
  },
};

function addNeighbour(rows: Rows, { names }: NetworkOnNode, ip: string, mac: string): void {
  const port = names.gatewayToExternal;
  rows.keyed('Static_MAC_Binding', macBindingKey(port, ip), {
    logical_port: port,
    ip,
    mac,
    override_dynamic_mac: true,
  });
}

function addNextHops(rows: Rows, onNode: NetworkOnNode, gateway: NodeGateway): void {
  for (const ip of new Set(gateway.nextHops)) {
    const mac = onNode.facts.nextHops.part([gateway.bridge, ip], 'mac');
    if (mac !== undefined) addNeighbour(rows, onNode, ip, mac);
  }
}

function addMasqueradeNeighbours(rows: Rows, onNode: NetworkOnNode): void {
  const neighbours = [
    ...masqueradeAddresses(onNode, MASQUERADE_OFFSETS.dummyNextHop),
    ...(onNode.isDefault ? [] : masqueradeAddresses(onNode, MASQUERADE_OFFSETS.host)),
  ];
  for (const ip of neighbours) addNeighbour(rows, onNode, ip, macOf(ip));
}
