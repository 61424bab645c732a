/** A network's link to the connect router on this node, and what is sent over it (reference/topology.md §19.1). */

import { FAMILIES, familyOf, ipOf } from '../../allocators/addresses.ts';
import { feature, type Sink } from '../../desired/features.ts';
import { connectLink, type ConnectMember, type RouterLink } from '../../model/read/connects.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { Network } from '../../model/model.ts';
import { identifiedPolicyKey } from '../rows/row-keys.ts';
import { POLICY_CONNECT } from '../numbers.ts';
import { OBJECT_ID, objectIds } from '../rows/object-ids.ts';
import {
  addIdentifiedRoute,
  POLICY_CLAIM,
  ROUTE_CLAIM,
  ROUTER_PORT_CLAIM,
} from '../rows/router-rows.ts';
import { holds, Rows } from '../rows/unit-rows.ts';
import {
  CONNECT_CONTROLLER,
  CONNECT_TYPE,
  connectObject,
  connectPorts,
  connectRouter,
  nodeIdOf,
  portEnd,
  portIds,
  routeIds,
  routerOf,
  subnetsBeyond,
} from './connect-rows.ts';

/** A network of a connection on this node, and its link to the connect router. */
interface Linked {
  readonly network: Network;
  readonly member: ConnectMember;
  readonly link: RouterLink;
  /** Subnets of its pods here. */
  readonly pods: readonly string[];
}

/** Undefined where the network has no rows here; the other members don't matter. Without a sink nobody is told why there is no link. */
function linkedNetwork(facts: ZoneFacts, name: string, id: string, out?: Sink): Linked | undefined {
  const ranges = facts.connects.part(name, 'ranges');
  const member = facts.connectMembers.get(name, id);
  const known = facts.networkOfId(Number(id));
  const network = known && facts.rendered.get(known.name);
  if (ranges === undefined || member === undefined || network === undefined) return undefined;
  const pods =
    member.topology === 'layer3'
      ? facts.subnetsOn(network.name, facts.nodeName)
      : network.subnets.map(({ cidr }) => cidr);
  if (pods.length === 0) {
    out?.waitFor(`a subnet of network ${network.name} on node ${facts.nodeName}`);
    return undefined;
  }
  const node = { name: facts.nodeName, id: facts.own('id') };
  const link = connectLink({ name, ranges }, member, node, network.name);
  if (typeof link === 'string') {
    out?.reject(connectObject(name), link);
    return undefined;
  }
  return { network, member, link, pods };
}

export const connectedNetworks = feature({
  name: 'connect/network',
  over: (facts: ZoneFacts) => facts.connects.distinct('member'),
  subject: (_facts, [connect]) => connectObject(connect),
  objects: (_facts, [connect]) => [connectObject(connect)],
  rules: {
    link: {
      text: 'The router of a connected network has a link to the connect router: of Layer3 networks one per node, of Layer2 networks one.',
      source: 'reference/topology.md §19.1',
    },
    'pod-routes': {
      text: "The connect router reaches a network's pods of this node over that link.",
      source: 'reference/topology.md §19.1',
    },
  },
  claims: [ROUTER_PORT_CLAIM, ROUTE_CLAIM],
  build(facts, [name, id], out) {
    const linked = linkedNetwork(facts, name, id, out);
    if (linked === undefined) return;
    const { network, member, link, pods } = linked;
    const networkId = Number(id);
    const node = { name: facts.nodeName, id: facts.own('id') };
    const all = Rows.northbound(out, connectObject(name));
    const nodeId = nodeIdOf(member, node.id);
    const { router } = routerOf(network, node.name);
    const ports = connectPorts(
      name,
      network.name,
      member.topology === 'layer3' ? node.name : undefined,
    );
    const joined = connectRouter(name);
    const rows = all.by('link');
    rows.named(
      'Logical_Router_Port',
      ports.onConnectRouter,
      {
        ...portEnd(link.ends, 'connectRouter'),
        peer: ports.onNetworkRouter,
        options: { 'requested-tnl-key': String(link.portKey) },
        external_ids: portIds(name, networkId, nodeId, joined),
      },
      holds('Logical_Router', joined, 'ports'),
    );
    rows.named(
      'Logical_Router_Port',
      ports.onNetworkRouter,
      {
        ...portEnd(link.ends, 'networkRouter'),
        peer: ports.onConnectRouter,
        external_ids: portIds(name, networkId, nodeId, router),
      },
      holds('Logical_Router', router, 'ports'),
    );
    for (const subnet of pods) {
      const family = familyOf(subnet);
      const end = link.ends.find((one) => one.family === family);
      if (end === undefined) continue;
      addIdentifiedRoute(all.by('pod-routes'), joined, {
        prefix: subnet,
        nexthop: end.networkRouter,
        externalIds: routeIds(name, networkId, nodeId, family),
      });
    }
  },
});

/** A unit per pair: a network that joins touches no pair of others. */
export const connectedWays = feature({
  name: 'connect/way',
  over: (facts: ZoneFacts) => facts.connects.distinct('way'),
  subject: (_facts, [connect]) => connectObject(connect),
  objects: (_facts, [connect]) => [connectObject(connect)],
  rules: {
    policies: {
      text: 'What pods of a connected network have for a network of the same connection goes to the connect router; nothing else does.',
      source: 'reference/topology.md §19.1',
    },
  },
  claims: [POLICY_CLAIM],
  build(facts, [name, from, to], out) {
    const destination = facts.networkOfId(Number(to));
    const source = destination && linkedNetwork(facts, name, from);
    if (source === undefined || destination === undefined) return;
    const { network, link } = source;
    const { router, portToPods } = routerOf(network, facts.nodeName);
    const rows = Rows.northbound(out, connectObject(name)).by('policies');
    for (const family of FAMILIES) {
      const end = link.ends.find((one) => one.family === family);
      const subnets = subnetsBeyond(network, destination, family);
      const [first] = subnets;
      if (end === undefined || first === undefined) continue;
      const destinations = subnets.map((subnet) => `${ipOf(subnet)}.dst == ${subnet}`);
      const where = destinations.length === 1 ? destinations[0] : `(${destinations.join(' || ')})`;
      const match = `inport == "${portToPods}" && ${where}`;
      const ids = objectIds(CONNECT_CONTROLLER, CONNECT_TYPE, {
        name,
        'source-network-id': String(network.id),
        'destination-network-id': String(destination.id),
        'ip-family': family,
        'router-name': router,
      });
      rows.keyed(
        'Logical_Router_Policy',
        identifiedPolicyKey(ids[OBJECT_ID], match),
        {
          priority: POLICY_CONNECT,
          match,
          action: 'reroute',
          nexthops: [end.connectRouter],
          external_ids: ids,
        },
        holds('Logical_Router', router, 'policies'),
      );
    }
  },
});
