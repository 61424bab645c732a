/** The gateway router of another node in a Layer2 network: the transit router's port to it, and the route (reference/topology.md §9.4). */

import { FAMILIES, familyOf, hasAddress, macOf } from '../../allocators/addresses.ts';
import { familyCidrs } from '../../api/nad/network-config.ts';
import { ovnPrefix } from '../../api/nad/network-name.ts';
import { pairs } from '../../facts/keys.ts';
import { feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { gatewayRouter, transitRouter, transitRouterToGateway } from '../../model/rules/names.ts';
import {
  hasTransitLink,
  joinAddresses,
  joinSubnets,
  transitLink,
} from '../../model/rules/network-addresses.ts';
import { networkOf, networkRank, networkObjects } from '../networks/network-feature.ts';
import { transitRouterGatewayPort } from '../numbers.ts';
import { networkIds } from '../rows/object-ids.ts';
import { addRoute, ROUTE_CLAIM, ROUTER_PORT_CLAIM } from '../rows/router-rows.ts';
import { holds, Rows } from '../rows/unit-rows.ts';

/** External id of rows for another node of a Layer2 network. */
export const REMOTE_NODE_ID = 'k8s.ovn.org/node';

export const remoteGateway = feature({
  name: 'layer2/remote-gateway',
  over: (facts: ZoneFacts) => pairs(facts.renderedWithGateway('layer2'), facts.remoteNodes),
  rank: networkRank,
  subject: networkOf,
  objects: networkObjects,
  rules: {
    'remote-port': {
      text: "The transit router has a port to every other node's gateway router, bound to that node's chassis.",
      source: 'reference/topology.md §9.4',
    },
    'remote-route': {
      text: "The transit router reaches another node's gateway router at that router's end of their link.",
      source: 'reference/topology.md §9.3',
    },
  },
  claims: [ROUTER_PORT_CLAIM, ROUTE_CLAIM],
  build(facts, [name, node], out) {
    const network = facts.rendered.get(name);
    const id = facts.remoteNodes.part(node, 'id');
    const chassisId = facts.remoteNodes.part(node, 'chassisId');
    if (network === undefined || id === undefined || chassisId === undefined) return;
    const tooSmall = [
      ...familyCidrs(network.transitSubnets).filter((subnet) => !hasTransitLink(subnet, { id })),
      ...joinSubnets(facts.settings, network).filter((subnet) => !hasAddress(subnet, id)),
    ];
    for (const subnet of tooSmall)
      out.problem(
        `Node ${node}`,
        `node "${node}": subnet ${subnet} of network "${name}" has no address for its id ${id}; give the network a larger one`,
      );
    const links = FAMILIES.map((family) => transitLink(network, { id }, family)).filter(
      (one) => one !== undefined,
    );
    const [link] = links;
    if (link === undefined) return;
    const rows = Rows.northbound(out, network.object);
    const prefix = ovnPrefix(name);
    const router = transitRouter(prefix);
    const externalIds = { ...networkIds(network), [REMOTE_NODE_ID]: node };
    rows.by('remote-port').named(
      'Logical_Router_Port',
      transitRouterToGateway(gatewayRouter(prefix, node)),
      {
        mac: macOf(link.router),
        networks: links.map((one) => one.routerInterface),
        options: {
          'requested-chassis': chassisId,
          'requested-tnl-key': String(transitRouterGatewayPort(id)),
        },
        external_ids: externalIds,
      },
      holds('Logical_Router', router, 'ports'),
    );
    for (const prefixOfRoute of joinAddresses(facts.settings, network, { id })) {
      const via = links.find(({ gateway }) => familyOf(gateway) === familyOf(prefixOfRoute));
      if (via === undefined) continue;
      addRoute(rows.by('remote-route'), router, {
        prefix: prefixOfRoute,
        nexthop: via.gateway,
        externalIds,
      });
    }
  },
});
