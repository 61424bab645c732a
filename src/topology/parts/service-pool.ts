/** Addresses of a network's pool that services have: what of them no service answers goes nowhere (decisions/service-pools.md). */

import { familyOf } from '../../allocators/addresses.ts';
import { addRoute, ROUTE_CLAIM } from '../rows/router-rows.ts';
import type { NetworkPart } from './part.ts';

/** Next hop of a route that drops (ovn-nb(5)). */
const NOWHERE = 'discard';

export const servicePool: NetworkPart = {
  rules: {
    'service-pool': {
      text: "What is sent to an address of a network's pool, and to no port of its service, goes no further than the network's router: neither in circles nor out of the cluster.",
      source: 'reference/topology.md §15.4',
    },
  },
  claims: [ROUTE_CLAIM],
  build(rows, onNode) {
    if (onNode.isDefault || !onNode.hasGateway) return;
    for (const address of onNode.facts.poolAddresses.part(onNode.network.name, 'addresses') ?? []) {
      if (!onNode.podRanges.some(({ family }) => family === familyOf(address))) continue;
      addRoute(rows.by('service-pool'), onNode.names.clusterRouter, {
        prefix: address,
        nexthop: NOWHERE,
        policy: 'dst-ip',
        externalIds: onNode.networkIds,
      });
    }
  },
};
