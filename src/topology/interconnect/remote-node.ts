/** The way from a Layer3 network to another node: its transit port, and routes to its pods and gateway router (reference/topology.md §13.1). */

import { asHost, familyOf, hasAddress, withoutPrefix } from '../../allocators/addresses.ts';
import { ovnPrefix } from '../../api/nad/network-name.ts';
import { pairs } from '../../facts/keys.ts';
import { feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { DEFAULT_NETWORK } from '../../model/read/networks.ts';
import { clusterRouter, isDefault, transitPort, transitSwitch } from '../../model/rules/names.ts';
import { joinAddresses, joinSubnets } from '../../model/rules/network-addresses.ts';
import { networkOf, networkRank, networkObjects } from '../networks/network-feature.ts';
import { NETWORK_ID } from '../rows/object-ids.ts';
import { addRoute, ROUTE_CLAIM } from '../rows/router-rows.ts';
import { holds, Rows } from '../rows/unit-rows.ts';
import { SWITCH_PORT_CLAIM } from '../rows/switch-rows.ts';
import { PORT_NODE_ID, transitEnd } from './transit-end.ts';

/** External id of interconnect routes: the node that they lead to. */
export const ROUTE_NODE_ID = 'ic-node';

export const remoteNode = feature({
  name: 'interconnect/remote-node',
  over: (facts: ZoneFacts) => pairs(facts.renderedOf('layer3'), facts.remoteNodes),
  rank: networkRank,
  subject: networkOf,
  objects: (facts, [name, node]) =>
    name === DEFAULT_NETWORK ? [`Node ${node}`] : networkObjects(facts, [name]),
  rules: {
    'transit-port': {
      text: 'Another node with a subnet of the network has a remote port on the transit switch, bound to its chassis.',
      source: 'reference/topology.md §13.1',
    },
    'node-routes': {
      text: "The distributed router reaches another node's pods and its gateway router at the node's transit address.",
      source: 'reference/topology.md §13.1',
    },
  },
  claims: [SWITCH_PORT_CLAIM, ROUTE_CLAIM],
  build(facts, [name, node], out) {
    const network = facts.rendered.get(name);
    const id = facts.remoteNodes.part(node, 'id');
    const transitAddresses = facts.remoteNodes.part(node, 'transitAddresses');
    const chassisId = facts.remoteNodes.part(node, 'chassisId');
    if (network === undefined || id === undefined || chassisId === undefined) return;
    const end = transitEnd(transitAddresses ?? {});
    const subnets = facts.subnetsOn(name, node);
    // A node without subnet has no part in this network yet.
    if (end === undefined || subnets.length === 0) return;
    const rows = Rows.northbound(out, isDefault(network) ? `Node ${node}` : network.object);
    const prefix = ovnPrefix(name);
    rows.by('transit-port').named(
      'Logical_Switch_Port',
      transitPort(prefix, node),
      {
        type: 'remote',
        up: true,
        addresses: [[end.mac, ...end.interfaces].join(' ')],
        options: { 'requested-chassis': chassisId, 'requested-tnl-key': String(id) },
        external_ids: { [PORT_NODE_ID]: node },
      },
      holds('Logical_Switch', transitSwitch(prefix), 'ports'),
    );
    for (const join of joinSubnets(facts.settings, network)) {
      if (hasAddress(join, id)) continue;
      out.problem(
        `Node ${node}`,
        `node "${node}": join subnet ${join} of network "${name}" has no address for its id ${id}; give the network a larger one`,
      );
    }
    const destinations = [
      ...subnets,
      ...joinAddresses(facts.settings, network, { id }).map(asHost),
    ];
    for (const destination of destinations) {
      const via = transitAddresses?.[familyOf(destination)];
      if (via === undefined) continue;
      addRoute(rows.by('node-routes'), clusterRouter(prefix), {
        prefix: destination,
        nexthop: withoutPrefix(via),
        externalIds: { [ROUTE_NODE_ID]: node, [NETWORK_ID]: name },
      });
    }
  },
});
