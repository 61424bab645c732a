/** The way of a network's pods to services of connected networks over the external bridge, as far as OVN goes (reference/topology.md §19.3). */

import { familyOf, ipOf, nthAddress } from '../../allocators/addresses.ts';
import { MASQUERADE_OFFSETS } from '../../allocators/node-addresses.ts';
import { feature } from '../../desired/features.ts';
import { gatewayNames } from '../../model/rules/names.ts';
import { gatewayLinks } from '../../model/rules/network-addresses.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { MARK_OWN_POD, POLICY_BRIDGED_SERVICE } from '../numbers.ts';
import { networkIds, OBJECT_ID, objectIds } from '../rows/object-ids.ts';
import { identifiedPolicyKey } from '../rows/row-keys.ts';
import { addRoute, POLICY_CLAIM, ROUTE_CLAIM } from '../rows/router-rows.ts';
import { holds, Rows } from '../rows/unit-rows.ts';
import { CONNECT_CONTROLLER, CONNECT_TYPE, connectObject, routerOf } from './connect-rows.ts';

/** A unit for each client of a service: nobody else's are touched when one comes or goes. */
export const bridgedServices = feature({
  name: 'connect/bridged-service',
  over: (facts: ZoneFacts) => facts.bridgedServices.distinct('way'),
  subject: (_facts, [connect]) => connectObject(connect),
  objects: (_facts, [connect, , , service]) => [connectObject(connect), `Service ${service}`],
  rules: {
    'to-gateway': {
      text: 'What pods of a connected network send to a service that they reach over the external bridge goes to their gateway router, which gives it an address of the network; whatever egress they have.',
      source: 'reference/topology.md §19.3',
    },
    'to-bridge': {
      text: 'The gateway router sends it to the external bridge, and to no next hop of the node.',
      source: 'reference/topology.md §19.3',
    },
  },
  claims: [POLICY_CLAIM, ROUTE_CLAIM],
  build(facts, [connect, name, , key], out) {
    const network = facts.rendered.get(name);
    const service = facts.services.get(key);
    const { nodeName, settings } = facts;
    if (network === undefined || service === undefined) return;
    if ((facts.own('gateway')?.addresses.length ?? 0) === 0) return;
    // Without a subnet a Layer3 network has neither pods nor a gateway router here.
    if (network.topology === 'layer3' && facts.subnetsOn(name, nodeName).length === 0) return;
    const links = gatewayLinks(settings, network, { id: facts.own('id') });
    const { router, portToPods } = routerOf(network, nodeName);
    const gateway = gatewayNames(network.name, nodeName);
    const rows = Rows.northbound(out, connectObject(connect));
    for (const address of service.clusterIps) {
      const family = familyOf(address);
      const link = links.find((one) => familyOf(one) === family);
      const masquerade = settings.masqueradeSubnets[family];
      if (link === undefined || masquerade === undefined) continue;
      const match = `inport == "${portToPods}" && ${ipOf(address)}.dst == ${address}`;
      const ids = objectIds(CONNECT_CONTROLLER, CONNECT_TYPE, {
        name: connect,
        'source-network-id': String(network.id),
        service: key,
        'ip-family': family,
        'router-name': router,
      });
      rows.by('to-gateway').keyed(
        'Logical_Router_Policy',
        identifiedPolicyKey(ids[OBJECT_ID], match),
        {
          priority: POLICY_BRIDGED_SERVICE,
          match,
          action: 'reroute',
          nexthops: [link],
          // By that gateway routers of Layer2 networks know pods of their own node (parts/egress-ip-base.ts).
          options: network.topology === 'layer2' ? { pkt_mark: String(MARK_OWN_POD) } : {},
          external_ids: ids,
        },
        holds('Logical_Router', router, 'policies'),
      );
      addRoute(rows.by('to-bridge'), gateway.gatewayRouter, {
        prefix: address,
        nexthop: nthAddress(masquerade, MASQUERADE_OFFSETS.dummyNextHop),
        outputPort: gateway.gatewayToExternal,
        externalIds: networkIds(network),
      });
    }
  },
});
