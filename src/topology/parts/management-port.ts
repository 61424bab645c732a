/** The host's own port on a network's switch, and the way to it (reference/topology.md §7.2). */

import { ipOf, macOf } from '../../allocators/addresses.ts';
import { controllerOf } from '../../model/rules/names.ts';
import { ACL_CLAIM, addAcl } from '../rows/acls.ts';
import { ACL_DEFAULT_ALLOW, LAYER2_HOST_PORT, TIER_POLICY } from '../numbers.ts';
import { objectIds } from '../rows/object-ids.ts';
import { clusterPortGroup } from '../rows/port-groups.ts';
import { addNat, addRoute, NAT_CLAIM, ROUTE_CLAIM } from '../rows/router-rows.ts';
import { holds, type Rows } from '../rows/unit-rows.ts';
import { SWITCH_PORT_CLAIM } from '../rows/switch-rows.ts';
import type { PodRange } from '../../model/rules/network-addresses.ts';
import { managementMasquerade, type NetworkOnNode } from './network-on-node.ts';
import type { NetworkPart } from './part.ts';

export const managementPort: NetworkPart = {
  rules: {
    'management-port': {
      text: "On a network with gateways the host has a port, with the second address of the node's subnet, or of the network's on Layer2.",
      source: 'reference/topology.md §7.2',
    },
    'allow-host': {
      text: 'What comes from the host of this node reaches its pods, whatever policies say.',
      source: 'reference/topology.md §7.2',
    },
    'host-snat': {
      text: "What the router sends to the host gets the network's own masquerade address, by which the host knows the network.",
      source: 'reference/topology.md §7.2',
    },
    'exit-through-host': {
      text: 'In local gateway mode pods leave the node through the host.',
      source: 'reference/topology.md §7.4',
    },
  },
  claims: [SWITCH_PORT_CLAIM, ACL_CLAIM, NAT_CLAIM, ROUTE_CLAIM],
  build(rows, onNode) {
    const { names } = onNode;
    const [first] = onNode.podRanges;
    if (!onNode.hasGateway || first === undefined) return;
    const controller = controllerOf(onNode.network.name);
    const mac = managementMac(onNode, first);
    rows.by('management-port').named(
      'Logical_Switch_Port',
      names.managementPort,
      {
        addresses: [[mac, ...onNode.podRanges.map((range) => range.management)].join(' ')],
        options:
          onNode.network.topology === 'layer2'
            ? { 'requested-tnl-key': String(LAYER2_HOST_PORT) }
            : undefined,
      },
      holds('Logical_Switch', names.nodeSwitch, 'ports'),
      holds('Port_Group', clusterPortGroup(controller).name, 'ports'),
    );
    for (const range of onNode.podRanges) {
      addHostAcl(rows.by('allow-host'), onNode, controller, range);
      const externalIp = managementMasquerade(onNode, range.family);
      if (externalIp !== undefined) {
        addNat(rows.by('host-snat'), onNode, names.clusterRouter, {
          logicalIp: range.cidr,
          externalIp,
          logicalPort: names.routerToSwitch,
          match: `eth.dst == ${mac}`,
        });
      }
      if (onNode.mode === 'local') {
        addRoute(rows.by('exit-through-host'), names.clusterRouter, {
          prefix: range.cidr,
          nexthop: range.management,
          policy: 'src-ip',
          externalIds: onNode.networkIds,
        });
      }
    }
  },
};

/** MAC of the host on this network: derived from its first address, unless the node announced another one. */
const managementMac = (onNode: NetworkOnNode, first: PodRange): string =>
  (onNode.isDefault ? onNode.facts.own('managementPortMac') : undefined) ?? macOf(first.management);

function addHostAcl(rows: Rows, onNode: NetworkOnNode, controller: string, range: PodRange): void {
  addAcl(
    rows,
    {
      ids: objectIds(controller, 'NetpolNode', {
        name: onNode.names.nodeSwitch,
        ip: range.management,
      }),
      direction: 'Ingress',
      priority: ACL_DEFAULT_ALLOW,
      tier: TIER_POLICY,
      action: 'allow-related',
      match: `${ipOf(range.management)}.src==${range.management}`,
    },
    holds('Logical_Switch', onNode.names.nodeSwitch, 'acls'),
  );
}
