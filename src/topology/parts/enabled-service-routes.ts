/** Ways from user-defined networks to services that every primary network may use (reference/topology.md §7.4). */

import { familyOf } from '../../allocators/addresses.ts';
import type { NetworkPart } from './part.ts';
import { ENABLED_SERVICE_ID } from '../rows/object-ids.ts';
import { addRoute, ROUTE_CLAIM } from '../rows/router-rows.ts';

export const enabledServiceRoutes: NetworkPart = {
  rules: {
    'enabled-services': {
      text: 'Services that every primary network may use are reached through the host; in local gateway mode everything goes there anyway.',
      source: 'reference/topology.md §7.4',
    },
  },
  claims: [ROUTE_CLAIM],
  build(rows, onNode) {
    if (onNode.isDefault || !onNode.isPrimary || onNode.mode === 'local') return;
    for (const service of onNode.facts.enabledServices.all()) {
      for (const address of service.clusterIps) {
        const range = onNode.podRanges.find((range) => range.family === familyOf(address));
        if (range === undefined) continue;
        addRoute(rows.by('enabled-services'), onNode.names.clusterRouter, {
          prefix: address,
          nexthop: range.management,
          policy: 'dst-ip',
          externalIds: { ...onNode.networkIds, [ENABLED_SERVICE_ID]: service.key },
        });
      }
    }
  },
};
