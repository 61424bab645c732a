/** Routes of the host in the table of a network's VRF (reference/node.md §2.3): what its pods send leaves the node as what the host sends does. */
import { containsPrefix, parsePrefix, type Prefix } from '../../allocators/addresses.ts';
import { feature, type Feature } from '../../desired/features.ts';
import { Unreadable } from '../../facts/unreadable.ts';
import type { ClusterSettings, Network } from '../../model/model.ts';
import { infrastructureRanges } from '../../model/rules/infrastructure-ranges.ts';
import { hasGateway } from '../../model/rules/network-addresses.ts';
import { isDefault } from '../../model/rules/names.ts';
import { networkObject } from '../../model/zone/failed-facts.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { HostRows } from '../host-rows.ts';
import { hostNetwork, type HostSettings } from './host-network.ts';

/** Ranges inside of which a network's table has routes of its own, or none at all. */
function reservedRanges(settings: ClusterSettings, network: Network): readonly Prefix[] {
  const own = [network.joinSubnets, network.transitSubnets];
  return [
    ...infrastructureRanges(settings),
    ...network.subnets.map(({ cidr }) => cidr),
    ...own.flatMap(({ v4, v6 }) => [v4 ?? [], v6 ?? []].flat()),
  ].flatMap((cidr) => parsePrefix(cidr) ?? []);
}

/** A unit of its own: a route that the kernel refuses keeps nothing else from the network. */
export const hostRoutesOfNetwork = (settings: HostSettings): Feature<ZoneFacts> =>
  feature({
    name: 'host/routes',
    over: ({ rendered }: ZoneFacts) => rendered,
    objects: (facts, [network]) => [networkObject(facts, network)],
    rules: {
      'host-routes': {
        text: 'A network leaves the node as the host does: by its connected subnets and routes, but for those to ranges of the cluster.',
        source: 'reference/node.md §2.3',
      },
    },
    claims: [],
    subject: (_facts, [network]) => network,
    build(facts, [name], out) {
      const network = facts.rendered.get(name);
      if (network === undefined || !hasGateway(network) || network.topology === 'localnet') return;
      if (!settings.hasVrfs || isDefault(network)) return;
      const on = hostNetwork(facts, network, settings);
      if (on === undefined) return;
      const rows = new HostRows(out, network.object, 'host-routes');
      const reserved = reservedRanges(facts.settings, network);
      for (const family of new Set(on.ranges.map((range) => range.family))) {
        const { routes = [], unreadable } = facts.hostRoutes.get(family) ?? {};
        if (unreadable !== undefined) throw new Unreadable(`routes of the host: ${unreadable}`);
        for (const route of routes) {
          const to = parsePrefix(route.dst);
          if (to === undefined || reserved.some((range) => containsPrefix(range, to))) continue;
          const mtu = Math.min(route.mtu ?? Infinity, network.mtu);
          rows.route({
            family,
            table: on.table,
            ...route,
            ...(route.type === undefined ? { mtu } : {}),
          });
        }
      }
    },
  });
