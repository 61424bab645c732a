/** The gateway of a network on the zone's node: router, external switch, routes, NAT (topology.md §7.3–7.6, §6). */

import { asHost, contains, familyOf, macOf, withoutPrefix } from '../allocators/addresses.ts';
import { MASQUERADE_OFFSETS } from '../allocators/node-addresses.ts';
import { RowReference } from '../ovsdb/plan/desired.ts';
import type { NodeGateway } from '../model/model.ts';
import { COPP } from './database.ts';
import { macBindingKey } from './keys.ts';
import { bridgePort } from './names.ts';
import {
  firstOf,
  gatewayMasquerade,
  masqueradeAddresses,
  type NetworkOnNode,
} from './network-on-node.ts';
import { NEIGHBOUR_AGE, POLICY_NODE_ADDRESS } from './numbers.ts';
import { MASQUERADE_ROUTE_ID } from './object-ids.ts';
import { addNat, addNodeAddressPolicy, addRoute, addRouterPeer } from './router-rows.ts';
import { holds, type Rows } from './rows.ts';

/** Physical network of the external bridge in `ovn-bridge-mappings`. */
const PHYSICAL_NETWORK = 'physnet';

/** Nothing for a secondary network, or while the node has no gateway or no subnet of the network. */
export function addGatewayRows(rows: Rows, on: NetworkOnNode): void {
  const { gateway } = on;
  if (gateway === undefined) return;
  addGatewayRouter(rows, on, gateway);
  addExternalSwitch(rows, on, gateway);
  addGatewayRoutes(rows, on, gateway);
  addClusterRouterRoutes(rows, on);
  addNodeAddressPolicies(rows, on, gateway);
  addGatewayNat(rows, on, gateway);
}

function addGatewayRouter(rows: Rows, on: NetworkOnNode, gateway: NodeGateway): void {
  const { names, node, settings } = on;
  const own = gateway.addresses.map(withoutPrefix);
  rows.named('Logical_Router', names.gatewayRouter, {
    copp: new RowReference('Copp', COPP),
    options: {
      always_learn_from_arp_request: 'false',
      dynamic_neigh_routers: 'false',
      chassis: node.chassisId,
      lb_force_snat_ip: 'router_ip',
      mac_binding_age_threshold: String(NEIGHBOUR_AGE),
      ...(on.isDefault ? { 'snat-ct-zone': '0' } : { disable_garp_rarp: 'true' }),
    },
    external_ids: {
      ...on.networkRoleIds,
      physical_ip: own[0] ?? '',
      physical_ips: [...own, ...gatewayMasquerade(on)].join(','),
    },
  });
  addRouterPeer(rows, names.joinToGateway, names.gatewayToJoin, names.joinSwitch, {
    external_ids: on.networkIds,
  });
  rows.named(
    'Logical_Router_Port',
    names.gatewayToJoin,
    {
      mac: macOf(on.joinLinks[0]?.gatewayRouter ?? ''),
      networks: on.joinLinks.map((link) => link.gatewayRouterInterface),
      options: node.gatewayMtuSupport ? { gateway_mtu: String(settings.mtu) } : undefined,
      external_ids: on.networkIds,
    },
    holds('Logical_Router', names.gatewayRouter, 'ports'),
  );
}

function addExternalSwitch(rows: Rows, on: NetworkOnNode, gateway: NodeGateway): void {
  const { names, node } = on;
  rows.named(
    'Logical_Router_Port',
    names.gatewayToExternal,
    {
      mac: gateway.macAddress,
      networks: [...gateway.addresses, ...gatewayMasquerade(on).map(asHost)],
      external_ids: on.isDefault ? { 'gateway-physical-ip': 'yes' } : on.networkIds,
    },
    holds('Logical_Router', names.gatewayRouter, 'ports'),
  );
  rows.named('Logical_Switch', names.externalSwitch, { external_ids: on.networkRoleIds });
  rows.named(
    'Logical_Switch_Port',
    bridgePort(gateway.bridge, names.prefix, node.name),
    {
      type: 'localnet',
      addresses: ['unknown'],
      options: { network_name: PHYSICAL_NETWORK },
      tag_request: gateway.vlan === 0 ? undefined : gateway.vlan,
      external_ids: on.networkIds,
    },
    holds('Logical_Switch', names.externalSwitch, 'ports'),
  );
  addRouterPeer(rows, names.externalToGateway, names.gatewayToExternal, names.externalSwitch, {
    addresses: gateway.macAddress,
    // Only the default network announces itself: networks share the address and MAC of the bridge.
    options: on.isDefault ? { 'nat-addresses': 'router', 'exclude-lb-vips-from-garp': 'true' } : {},
    external_ids: on.networkIds,
  });
  const neighbours = [
    ...masqueradeAddresses(on, MASQUERADE_OFFSETS.dummyNextHop),
    ...(on.isDefault ? [] : masqueradeAddresses(on, MASQUERADE_OFFSETS.host)),
  ];
  for (const ip of neighbours) {
    rows.keyed('Static_MAC_Binding', macBindingKey(names.gatewayToExternal, ip), {
      logical_port: names.gatewayToExternal,
      ip,
      mac: macOf(ip),
      override_dynamic_mac: true,
    });
  }
}

function addGatewayRoutes(rows: Rows, on: NetworkOnNode, gateway: NodeGateway): void {
  const { names, network, settings } = on;
  for (const { cidr } of network.subnets) {
    const link = on.joinLinks.find((link) => link.family === familyOf(cidr));
    if (link === undefined) continue;
    addRoute(rows, on, names.gatewayRouter, { prefix: cidr, nexthop: link.clusterRouter });
  }
  for (const nexthop of masqueradeAddresses(on, MASQUERADE_OFFSETS.dummyNextHop)) {
    const prefix = settings.masqueradeSubnets[familyOf(nexthop)];
    if (prefix === undefined) continue;
    addRoute(rows, on, names.gatewayRouter, {
      prefix,
      nexthop,
      outputPort: names.gatewayToExternal,
      ...(on.isDefault ? { externalIds: { [MASQUERADE_ROUTE_ID]: '' } } : {}),
    });
  }
  for (const nexthop of new Set(gateway.nextHops)) {
    addRoute(rows, on, names.gatewayRouter, {
      prefix: familyOf(nexthop) === 'v4' ? '0.0.0.0/0' : '::/0',
      nexthop,
      outputPort: names.gatewayToExternal,
    });
  }
}

function addClusterRouterRoutes(rows: Rows, on: NetworkOnNode): void {
  const { clusterRouter } = on.names;
  for (const link of on.joinLinks) {
    addRoute(rows, on, clusterRouter, { prefix: link.gatewayRouter, nexthop: link.gatewayRouter });
  }
  if (on.mode === 'local') return; // Pods leave through the management port: layer3.ts has that route.
  for (const range of on.podRanges) {
    const link = on.joinLinks.find((link) => link.family === range.family);
    if (link === undefined) continue;
    addRoute(rows, on, clusterRouter, {
      prefix: range.cidr,
      nexthop: link.gatewayRouter,
      policy: 'src-ip',
    });
  }
}

function addNodeAddressPolicies(rows: Rows, on: NetworkOnNode, gateway: NodeGateway): void {
  for (const range of on.podRanges) {
    const nodeAddress = firstOf(gateway.addresses, range.family);
    const others = (on.isDefault ? hostAddresses(on) : gatewayMasquerade(on)).filter(
      (address) => familyOf(address) === range.family,
    );
    for (const address of new Set(nodeAddress === undefined ? others : [nodeAddress, ...others])) {
      addNodeAddressPolicy(rows, on, address, range.management, POLICY_NODE_ADDRESS);
    }
  }
}

/** Other addresses of the host that pods of the default network reach through it; masquerade addresses are not real. */
function hostAddresses(on: NetworkOnNode): string[] {
  if (on.mode === 'local') return [];
  const masquerade = Object.values(on.settings.masqueradeSubnets) as readonly string[];
  return on.node.hostAddresses
    .map(withoutPrefix)
    .filter((address) => !masquerade.some((subnet) => contains(subnet, address)));
}

/** What leaves gets the node's address; that of a user-defined network its own one, which the node translates. */
function addGatewayNat(rows: Rows, on: NetworkOnNode, gateway: NodeGateway): void {
  const externalAddresses = on.isDefault ? gateway.addresses : gatewayMasquerade(on);
  const sources = [
    ...on.joinLinks.map((link) => link.gatewayRouter),
    ...on.network.subnets.map((subnet) => subnet.cidr),
  ];
  for (const logicalIp of sources) {
    const externalIp = firstOf(externalAddresses, familyOf(logicalIp));
    if (externalIp === undefined) continue;
    addNat(rows, on, on.names.gatewayRouter, { logicalIp, externalIp });
  }
}
