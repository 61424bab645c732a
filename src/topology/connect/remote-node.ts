/** The way from a connect router to the pods that a Layer3 network has on another node (reference/topology.md §19.1). */

import { familyOf } from '../../allocators/addresses.ts';
import { pairs } from '../../facts/keys.ts';
import { feature } from '../../desired/features.ts';
import { connectLink } from '../../model/read/connects.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { addIdentifiedRoute, ROUTE_CLAIM, ROUTER_PORT_CLAIM } from '../rows/router-rows.ts';
import { holds, Rows } from '../rows/unit-rows.ts';
import {
  connectObject,
  connectPorts,
  connectRouter,
  portEnd,
  portIds,
  routeIds,
} from './connect-rows.ts';

export const connectedRemoteNodes = feature({
  name: 'connect/remote-node',
  over: (facts: ZoneFacts) => pairs(facts.connects.distinct('member'), facts.remoteNodes),
  subject: (_facts, [connect]) => connectObject(connect),
  objects: (_facts, [connect]) => [connectObject(connect)],
  rules: {
    'remote-link': {
      text: 'Another node with pods of a connected Layer3 network has a port on the connect router, bound to its chassis.',
      source: 'reference/topology.md §19.1',
    },
    'remote-pod-routes': {
      text: "The connect router reaches another node's pods over that port.",
      source: 'reference/topology.md §19.1',
    },
  },
  claims: [ROUTER_PORT_CLAIM, ROUTE_CLAIM],
  build(facts, [name, id, nodeName], out) {
    const ranges = facts.connects.part(name, 'ranges');
    const networkId = Number(id);
    const member = facts.connectMembers.get(name, id);
    if (ranges === undefined || member?.topology !== 'layer3' || !facts.isConnectRendered(name))
      return;
    const network = facts.networkOfId(networkId);
    const nodeId = facts.remoteNodes.part(nodeName, 'id');
    const chassisId = facts.remoteNodes.part(nodeName, 'chassisId');
    if (network === undefined || nodeId === undefined || chassisId === undefined) return;
    const subnets = facts.subnetsOn(network.name, nodeName);
    if (subnets.length === 0) return;
    const link = connectLink(
      { name, ranges },
      member,
      { name: nodeName, id: nodeId },
      network.name,
    );
    // That node says it itself.
    if (typeof link === 'string') return;
    const all = Rows.northbound(out, connectObject(name));
    const router = connectRouter(name);
    all.by('remote-link').named(
      'Logical_Router_Port',
      connectPorts(name, network.name, nodeName).onConnectRouter,
      {
        ...portEnd(link.ends, 'connectRouter'),
        options: { 'requested-chassis': chassisId, 'requested-tnl-key': String(link.portKey) },
        external_ids: portIds(name, networkId, nodeId, router),
      },
      holds('Logical_Router', router, 'ports'),
    );
    for (const subnet of subnets) {
      const family = familyOf(subnet);
      const end = link.ends.find((one) => one.family === family);
      if (end === undefined) continue;
      addIdentifiedRoute(all.by('remote-pod-routes'), router, {
        prefix: subnet,
        nexthop: end.networkRouter,
        externalIds: routeIds(name, networkId, nodeId, family),
      });
    }
  },
});
