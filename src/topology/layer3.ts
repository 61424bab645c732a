/** The distributed router, the pods' switch and the groups of a Layer3 network on the zone's node (topology.md §7.1, §7.2). */

import { ipOf, linkLocalOfMac, macOf, withoutPrefix } from '../allocators/addresses.ts';
import { MASQUERADE_OFFSETS } from '../allocators/node-addresses.ts';
import { RowReference } from '../ovsdb/plan/desired.ts';
import { addAcl, anyOf, DIRECTIONS } from './acls.ts';
import { COPP } from './database.ts';
import { controllerOf, gatewayChassis, loadBalancerGroups } from './names.ts';
import {
  managementMasquerade,
  masqueradeAddresses,
  type NetworkOnNode,
  type PodRange,
} from './network-on-node.ts';
import { ACL_DEFAULT_ALLOW, TIER_POLICY } from './numbers.ts';
import { clusterPortGroup, clusterRouterPortGroup, addPortGroup } from './port-groups.ts';
import { objectIds } from './object-ids.ts';
import { addNat, addRoute, addRouterPeer } from './router-rows.ts';
import { holds, type Rows } from './rows.ts';

/** Rows that exist once per network in the zone, wherever its pods are. */
export function addNetworkWideRows(rows: Rows, on: NetworkOnNode): void {
  const { names, settings } = on;
  rows.named('Logical_Router', names.clusterRouter, {
    copp: new RowReference('Copp', COPP),
    options: {
      always_learn_from_arp_request: 'false',
      ...(settings.features.multicast && on.isPrimary ? { mcast_relay: 'true' } : {}),
      ...(on.mode === 'local' && !on.isDefault ? { 'ct-commit-all': 'true' } : {}),
    },
    external_ids: { ...on.networkIds, 'k8s-cluster-router': 'yes' },
  });
  addLoadBalancerGroups(rows, on);
  if (!on.isPrimary) return;

  rows.named('Logical_Switch', names.joinSwitch, { external_ids: on.networkIds });
  const [firstLink] = on.joinLinks;
  if (firstLink !== undefined) {
    rows.named(
      'Logical_Router_Port',
      names.routerToJoin,
      {
        mac: macOf(firstLink.clusterRouter),
        networks: on.joinLinks.map((link) => link.clusterRouterInterface),
        external_ids: on.networkIds,
      },
      holds('Logical_Router', names.clusterRouter, 'ports'),
    );
    addRouterPeer(rows, names.joinToRouter, names.routerToJoin, names.joinSwitch, {});
  }
  const controller = controllerOf(on.network.name);
  addPortGroup(rows, clusterPortGroup(controller));
  addPortGroup(rows, clusterRouterPortGroup(controller));
  addHairpinAcls(rows, on);
}

/** Groups through which services reach the switches and gateway routers of a network. */
function addLoadBalancerGroups(rows: Rows, on: NetworkOnNode): void {
  const groups = loadBalancerGroups(on.names.prefix);
  const onSwitch =
    on.podRanges.length === 0
      ? []
      : [holds('Logical_Switch', on.names.nodeSwitch, 'load_balancer_group')];
  const onGateway =
    on.gateway === undefined
      ? []
      : [holds('Logical_Router', on.names.gatewayRouter, 'load_balancer_group')];
  rows.named('Load_Balancer_Group', groups.all, {}, ...onSwitch, ...onGateway);
  rows.named('Load_Balancer_Group', groups.switches, {}, ...onSwitch);
  rows.named(
    'Load_Balancer_Group',
    groups.routers,
    {},
    ...(on.gateway?.nodePortEnable === true ? onGateway : []),
  );
}

/** A pod that reaches itself through a service is let in whatever policies say (topology.md §16.1). */
function addHairpinAcls(rows: Rows, on: NetworkOnNode): void {
  const controller = controllerOf(on.network.name);
  const match = anyOf(
    masqueradeAddresses(on, MASQUERADE_OFFSETS.serviceHairpin).map(
      (address) => `${ipOf(address)}.src == ${address}`,
    ),
  );
  for (const direction of DIRECTIONS) {
    addAcl(
      rows,
      {
        ids: objectIds(controller, 'NetpolDefault', { name: 'allow-hairpinning', direction }),
        direction,
        priority: ACL_DEFAULT_ALLOW,
        tier: TIER_POLICY,
        action: 'allow-related',
        match,
        afterLoadBalancing: true,
      },
      holds('Port_Group', clusterPortGroup(controller).name, 'acls'),
    );
  }
}

/** The switch of this node's pods, its router port and the port of the host. */
export function addNodeSwitchRows(rows: Rows, on: NetworkOnNode): void {
  const { names, node, settings } = on;
  const [first] = on.podRanges;
  if (first === undefined) return;
  const mac = macOf(first.gateway);
  const multicast = settings.features.multicast && on.isPrimary;
  rows.named('Logical_Switch', names.nodeSwitch, {
    other_config: {
      ...subnetConfig(on.podRanges),
      ...(on.isPrimary ? {} : excludedAddresses(on.podRanges)),
      ...(multicast ? multicastConfig(on.podRanges, mac) : {}),
    },
    external_ids: on.networkRoleIds,
  });
  addRouterPeer(rows, names.switchToRouter, names.routerToSwitch, names.nodeSwitch, {
    ...(on.isDefault ? { options: { arp_proxy: arpProxy(on) } } : {}),
    ...(multicast ? { groups: [clusterRouterPortGroup(controllerOf(on.network.name)).name] } : {}),
  });
  rows.named(
    'Logical_Router_Port',
    names.routerToSwitch,
    {
      mac,
      networks: on.podRanges.map((range) => range.gatewayInterface),
      options: node.gatewayMtuSupport ? { gateway_mtu: String(settings.mtu) } : undefined,
    },
    holds('Logical_Router', names.clusterRouter, 'ports'),
  );
  rows.named(
    'Gateway_Chassis',
    gatewayChassis(names.routerToSwitch, node.chassisId),
    { chassis_name: node.chassisId, priority: 1 },
    holds('Logical_Router_Port', names.routerToSwitch, 'gateway_chassis'),
  );
  if (on.isPrimary) addManagementPort(rows, on, first);
}

function subnetConfig(ranges: readonly PodRange[]): Record<string, string> {
  return Object.fromEntries(
    ranges.map((range) =>
      range.family === 'v4' ? ['subnet', range.cidr] : ['ipv6_prefix', withoutPrefix(range.cidr)],
    ),
  );
}

/** Without a management port, OVN is told to leave its address alone. */
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
const arpProxy = (on: NetworkOnNode): string =>
  [
    macOf('169.254.1.1'),
    '169.254.1.1',
    'fe80::1',
    ...on.settings.clusterSubnets.map((subnet) => subnet.cidr),
  ].join(' ');

/** MAC of the host on this network: derived from its first address, unless the node announced another one. */
const managementMac = (on: NetworkOnNode, first: PodRange): string =>
  (on.isDefault ? on.node.managementPortMac : undefined) ?? macOf(first.management);

function addManagementPort(rows: Rows, on: NetworkOnNode, first: PodRange): void {
  const { names, network } = on;
  const controller = controllerOf(network.name);
  const mac = managementMac(on, first);
  rows.named(
    'Logical_Switch_Port',
    names.managementPort,
    { addresses: [[mac, ...on.podRanges.map((range) => range.management)].join(' ')] },
    holds('Logical_Switch', names.nodeSwitch, 'ports'),
    holds('Port_Group', clusterPortGroup(controller).name, 'ports'),
  );
  for (const range of on.podRanges) {
    addAcl(
      rows,
      {
        ids: objectIds(controller, 'NetpolNode', {
          name: names.nodeSwitch,
          ip: range.management,
        }),
        direction: 'Ingress',
        priority: ACL_DEFAULT_ALLOW,
        tier: TIER_POLICY,
        action: 'allow-related',
        match: `${ipOf(range.management)}.src==${range.management}`,
      },
      holds('Logical_Switch', names.nodeSwitch, 'acls'),
    );
    const masquerade = managementMasquerade(on, range.family);
    if (masquerade !== undefined) {
      // What the router sends to the host gets the network's own address, by which the host knows it.
      addNat(rows, on, names.clusterRouter, {
        logicalIp: range.cidr,
        externalIp: masquerade,
        logicalPort: names.routerToSwitch,
        match: `eth.dst == ${mac}`,
      });
    }
    if (on.mode === 'local') {
      addRoute(rows, on, names.clusterRouter, {
        prefix: range.cidr,
        nexthop: range.management,
        policy: 'src-ip',
      });
    }
  }
}
