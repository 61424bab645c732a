/** The transit switch that joins the zones of a Layer3 network, and what leads to other nodes (topology.md §13.1). */

import { ovnPrefix } from '../api/nad/network-name.ts';
import { asHost, FAMILIES, familyOf, macOf, withoutPrefix } from '../allocators/addresses.ts';
import type { ClusterSettings, Network, NodeFacts } from '../model/model.ts';
import { routeKey } from './keys.ts';
import { clusterRouter, transitPort, transitSwitch } from './names.ts';
import { joinAddresses, type NetworkOnNode } from './network-on-node.ts';
import { transitSwitchKey } from './numbers.ts';
import { NETWORK_ID } from './object-ids.ts';
import { addRouterPeer } from './router-rows.ts';
import { holds, type Rows } from './rows.ts';

/** External id of interconnect routes: the node that they lead to. */
export const ROUTE_NODE_ID = 'ic-node';
/** External id of transit ports: the node that they stand for. */
export const PORT_NODE_ID = 'node';

/** A node's end of every transit switch: the same for all networks. */
interface TransitEnd {
  readonly mac: string;
  readonly interfaces: readonly string[];
}

const transitEnds = new WeakMap<NodeFacts, TransitEnd>();

/** Undefined for a node without transit addresses. */
function transitEnd(node: NodeFacts): TransitEnd | undefined {
  const known = transitEnds.get(node);
  if (known !== undefined) return known;
  const interfaces = FAMILIES.flatMap((family) => node.transitAddresses[family] ?? []);
  const [first] = interfaces;
  if (first === undefined) return undefined;
  const end = { mac: macOf(withoutPrefix(first)), interfaces };
  transitEnds.set(node, end);
  return end;
}

/** The transit switch and this node's own port on it. */
export function addTransitSwitchRows(rows: Rows, on: NetworkOnNode): void {
  const { names, node, network } = on;
  rows.named('Logical_Switch', names.transitSwitch, {
    other_config: {
      'interconn-ts': names.transitSwitch,
      'requested-tnl-key': String(transitSwitchKey(network.id)),
      mcast_snoop: 'true',
      mcast_querier: 'false',
      mcast_flood_unregistered: 'true',
    },
    external_ids: on.networkRoleIds,
  });
  const end = transitEnd(node);
  if (end === undefined) return;
  rows.named(
    'Logical_Router_Port',
    names.routerToTransit,
    {
      mac: end.mac,
      networks: end.interfaces,
      options: { mcast_flood: 'true' },
    },
    holds('Logical_Router', names.clusterRouter, 'ports'),
  );
  addRouterPeer(
    rows,
    transitPort(names.prefix, node.name),
    names.routerToTransit,
    names.transitSwitch,
    {
      options: { 'requested-tnl-key': String(node.id) },
      external_ids: { [PORT_NODE_ID]: node.name },
    },
  );
}

/** Another node's port on the transit switch, and the routes to its pods and its gateway router. */
export function addRemoteNodeRows(
  rows: Rows,
  settings: ClusterSettings,
  network: Network,
  node: NodeFacts,
): void {
  const end = transitEnd(node);
  const subnets = network.nodeSubnets.get(node.name) ?? [];
  // A node without subnet has no part in this network yet.
  if (end === undefined || subnets.length === 0) return;
  const prefix = ovnPrefix(network.name);
  const router = clusterRouter(prefix);
  rows.named(
    'Logical_Switch_Port',
    transitPort(prefix, node.name),
    {
      type: 'remote',
      addresses: [[end.mac, ...end.interfaces].join(' ')],
      options: {
        'requested-chassis': node.chassisId,
        'requested-tnl-key': String(node.id),
      },
      external_ids: { [PORT_NODE_ID]: node.name },
    },
    holds('Logical_Switch', transitSwitch(prefix), 'ports'),
  );
  const destinations = [...subnets, ...joinAddresses(settings, network, node).map(asHost)];
  for (const destination of destinations) {
    const via = node.transitAddresses[familyOf(destination)];
    if (via === undefined) continue;
    const nexthop = withoutPrefix(via);
    rows.keyed(
      'Logical_Router_Static_Route',
      routeKey(router, {
        prefix: destination,
        policy: undefined,
        outputPort: undefined,
        nexthop,
      }),
      {
        ip_prefix: destination,
        nexthop,
        external_ids: { [ROUTE_NODE_ID]: node.name, [NETWORK_ID]: network.name },
      },
      holds('Logical_Router', router, 'static_routes'),
    );
  }
}
