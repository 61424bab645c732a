/** Ways to services (topology.md §7.4). */

import type { AllowedDefaultService } from '../model/model.ts';
import { familyOf } from '../allocators/addresses.ts';
import type { NetworkOnNode } from './network-on-node.ts';
import { ENABLED_SERVICE_ID } from './object-ids.ts';
import { addRoute } from './router-rows.ts';
import type { Rows } from './rows.ts';

/**
 * Services of the default network that every primary network may use are reached through the host: in local gateway mode
 * everything goes there anyway.
 */
export function addEnabledServiceRoutes(
  rows: Rows,
  on: NetworkOnNode,
  services: readonly AllowedDefaultService[],
): void {
  if (on.isDefault || !on.isPrimary || on.mode === 'local') return;
  for (const service of services) {
    for (const address of service.clusterIps) {
      const range = on.podRanges.find((range) => range.family === familyOf(address));
      if (range === undefined) continue;
      addRoute(rows, on, on.names.clusterRouter, {
        prefix: address,
        nexthop: range.management,
        policy: 'dst-ip',
        externalIds: { ...on.networkIds, [ENABLED_SERVICE_ID]: service.key },
      });
    }
  }
}
