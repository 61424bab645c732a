/** A network's link to the connect router on this node, and what is sent over it (topology.md §19.1). */

import { FAMILIES, familyOf, ipOf } from '../../allocators/addresses.ts';
import type { Feature } from '../../desired/features.ts';
import { connectLink, type Connect, type RouterLink } from '../../model/connects.ts';
import type { ZoneFacts } from '../../model/facts.ts';
import type { Network } from '../../model/model.ts';
import { identifiedPolicyKey } from '../keys.ts';
import { POLICY_CONNECT } from '../numbers.ts';
import { OBJECT_ID, objectIds } from '../object-ids.ts';
import {
  addIdentifiedRoute,
  POLICY_CLAIM,
  ROUTE_CLAIM,
  ROUTER_PORT_CLAIM,
} from '../router-rows.ts';
import { holds, Rows } from '../rows.ts';
import {
  CONNECT_CONTROLLER,
  CONNECT_TYPE,
  connectObject,
  connectPorts,
  connectRouter,
  memberOf,
  nodeIdOf,
  portEnd,
  portIds,
  routeIds,
  routerOf,
  subnetsIn,
} from './connect-rows.ts';

export const connectedNetworks: Feature<ZoneFacts> = {
  name: 'connect/network',
  over: (facts) => facts.connects.distinct('member', 2),
  subject: (_facts, [connect = '']) => connectObject(connect),
  rules: {
    link: {
      text: 'The router of a connected network has a link to the connect router: of Layer3 networks one per node, of Layer2 networks one.',
      source: 'topology.md §19.1',
    },
    'pod-routes': {
      text: "The connect router reaches a network's pods of this node over that link.",
      source: 'topology.md §19.1',
    },
    policies: {
      text: 'What pods of a connected network have for a network of the same connection goes to the connect router; nothing else does.',
      source: 'topology.md §19.1',
    },
  },
  claims: [ROUTER_PORT_CLAIM, ROUTE_CLAIM, POLICY_CLAIM],
  build(facts, [name = '', id = ''], out) {
    const connect = facts.connects.get(name);
    const networkId = Number(id);
    const member = memberOf(connect, networkId);
    const known = facts.networkOfId(networkId);
    const network = known && facts.rendered.get(known.name);
    if (connect === undefined || member === undefined || network === undefined) return;
    const node = { name: facts.nodeName, id: facts.own('id') };
    const pods =
      member.topology === 'layer3'
        ? facts.subnetsOn(network.name, node.name)
        : network.subnets.map(({ cidr }) => cidr);
    if (pods.length === 0)
      return out.waitFor(`a subnet of network ${network.name} on node ${node.name}`);
    const link = connectLink(connect, member, node, network.name);
    if (typeof link === 'string') return out.reject(connectObject(name), link);
    const all = Rows.northbound(out, connectObject(name));
    const nodeId = nodeIdOf(member, node.id);
    const { router, portToPods } = routerOf(network, node.name);
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
    for (const other of connect.members) {
      const destination =
        other.networkId === networkId ? undefined : facts.networkOfId(other.networkId);
      if (destination !== undefined)
        addPolicies(
          all.by('policies'),
          connect,
          { network, router, portToPods, link },
          destination,
        );
    }
  },
};

interface Source {
  readonly network: Network;
  readonly router: string;
  readonly portToPods: string;
  readonly link: RouterLink;
}

function addPolicies(rows: Rows, { name }: Connect, source: Source, destination: Network): void {
  for (const family of FAMILIES) {
    const end = source.link.ends.find((one) => one.family === family);
    const subnets = subnetsIn(destination, family);
    const [first] = subnets;
    if (end === undefined || first === undefined) continue;
    const destinations = subnets.map((subnet) => `${ipOf(subnet)}.dst == ${subnet}`);
    const where = destinations.length === 1 ? destinations[0] : `(${destinations.join(' || ')})`;
    const match = `inport == "${source.portToPods}" && ${where}`;
    const ids = objectIds(CONNECT_CONTROLLER, CONNECT_TYPE, {
      name,
      'source-network-id': String(source.network.id),
      'destination-network-id': String(destination.id),
      'ip-family': family,
      'router-name': source.router,
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
      holds('Logical_Router', source.router, 'policies'),
    );
  }
}
