/** The switch of this node's pods and its router port (reference/topology.md §7.2). */

import { RowReference } from '../../desired/rows.ts';
import { ON_THIS_CHASSIS } from '../database/chassis-group.ts';
import { SWITCH_COPP } from '../database/protection.ts';
import { linkLocalOfMac, macOf } from '../../allocators/addresses.ts';
import { controllerOf } from '../../model/rules/names.ts';
import { clusterRouterPortGroup } from '../rows/port-groups.ts';
import { GATEWAY_CHASSIS_CLAIM, ROUTER_PORT_CLAIM } from '../rows/router-rows.ts';
import { holds } from '../rows/unit-rows.ts';
import {
  addRouterPeer,
  subnetConfig,
  SWITCH_CLAIM,
  SWITCH_PORT_CLAIM,
} from '../rows/switch-rows.ts';
import type { PodRange } from '../../model/rules/network-addresses.ts';
import { gatewayMtu, type NetworkOnNode } from './network-on-node.ts';
import type { NetworkPart } from './part.ts';

export const nodeSwitch: NetworkPart = {
  rules: {
    'node-switch': {
      text: "The pods of a Layer3 network on this node are on one switch with the node's subnet, whose gateway is the distributed router.",
      source: 'reference/topology.md §7.2',
    },
  },
  claims: [SWITCH_CLAIM, SWITCH_PORT_CLAIM, ROUTER_PORT_CLAIM, GATEWAY_CHASSIS_CLAIM],
  build(all, onNode) {
    const rows = all.by('node-switch');
    const { names, settings } = onNode;
    const [first] = onNode.podRanges;
    if (first === undefined) return;
    const mac = macOf(first.gateway);
    const multicast = settings.features.multicast && onNode.isPrimary;
    rows.named('Logical_Switch', names.nodeSwitch, {
      copp: new RowReference('Copp', SWITCH_COPP),
      other_config: {
        ...subnetConfig(onNode.podRanges.map(({ cidr }) => cidr)),
        ...(onNode.hasGateway ? {} : excludedAddresses(onNode.podRanges)),
        ...(multicast ? multicastConfig(onNode.podRanges, mac) : {}),
      },
      external_ids: onNode.networkRoleIds,
    });
    addRouterPeer(rows, names.switchToRouter, names.routerToSwitch, names.nodeSwitch, {
      ...(onNode.isDefault ? { options: { arp_proxy: arpProxy(onNode) } } : {}),
      ...(multicast
        ? { groups: [clusterRouterPortGroup(controllerOf(onNode.network.name)).name] }
        : {}),
    });
    rows.named(
      'Logical_Router_Port',
      names.routerToSwitch,
      {
        mac,
        networks: onNode.podRanges.map((range) => range.gatewayInterface),
        options: gatewayMtu(onNode),
        // Where addresses are translated for the host.
        ...(onNode.hasGateway ? ON_THIS_CHASSIS : {}),
      },
      holds('Logical_Router', names.clusterRouter, 'ports'),
    );
  },
};

/** Without a management port, its address is excluded from OVN's IPAM. */
function excludedAddresses(ranges: readonly PodRange[]): Record<string, string> {
  const v4 = ranges.find((range) => range.family === 'v4');
  return v4 === undefined ? {} : { exclude_ips: v4.management };
}

function multicastConfig(ranges: readonly PodRange[], mac: string): Record<string, string> {
  const v4 = ranges.find((range) => range.family === 'v4');
  const v6 = ranges.find((range) => range.family === 'v6');
  return {
    mcast_snoop: 'true',
    mcast_querier: 'true',
    mcast_eth_src: mac,
    ...(v4 === undefined ? {} : { mcast_ip4_src: v4.gateway }),
    ...(v6 === undefined ? {} : { mcast_ip6_src: linkLocalOfMac(mac) }),
  };
}

/** Addresses that the default network answers for: those of migrating virtual machines' gateways. */
const arpProxy = (onNode: NetworkOnNode): string =>
  [
    macOf('169.254.1.1'),
    '169.254.1.1',
    'fe80::1',
    ...onNode.settings.clusterSubnets.map((subnet) => subnet.cidr),
  ].join(' ');
