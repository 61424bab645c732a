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
  build(rows, on) {
    if (on.isDefault || !on.isPrimary || on.mode === 'local') return;
    for (const service of on.facts.enabledServices.all()) {
      for (const address of service.clusterIps) {
        const range = on.podRanges.find((range) => range.family === familyOf(address));
        if (range === undefined) continue;
        addRoute(rows.by('enabled-services'), on.names.clusterRouter, {
          prefix: address,
          nexthop: range.management,
          policy: 'dst-ip',
          externalIds: { ...on.networkIds, [ENABLED_SERVICE_ID]: service.key },
        });
      }
    }
  },
};
