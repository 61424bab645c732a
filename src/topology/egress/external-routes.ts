/** Next hops by which pods leave the cluster instead of by the default gateway of their node (reference/topology.md §18.3). */

import { asHost, FAMILIES, ipOf } from '../../allocators/addresses.ts';
import { feature } from '../../desired/features.ts';
import { RowReference, type TableClaim } from '../../desired/rows.ts';
import type { Network } from '../../model/model.ts';
import { DEFAULT_NETWORK } from '../../model/read/networks.ts';
import {
  controllerOf,
  gatewayNames,
  isDefault,
  layer2Names,
  layer3Names,
} from '../../model/rules/names.ts';
import { gatewayLinks, joinSubnets } from '../../model/rules/network-addresses.ts';
import { externalRouteObject } from '../../model/zone/external-routes.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { networkObjects, networkOf, networkRank } from '../networks/network-feature.ts';
import { MARK_OWN_POD, MARK_TO_NEXT_HOP, POLICY_EXTERNAL_ROUTE } from '../numbers.ts';
import { addAddressSet, ADDRESS_SET_CLAIM, routedPods } from '../rows/address-sets.ts';
import { textOf } from '../rows/found.ts';
import { bfdKey, policyKey } from '../rows/row-keys.ts';
import { addSymmetricRoute, POLICY_CLAIM, ROUTE_CLAIM } from '../rows/router-rows.ts';
import { holds, NORTHBOUND, Rows } from '../rows/unit-rows.ts';

const BFD_CLAIM: TableClaim = {
  database: NORTHBOUND,
  table: 'BFD',
  keyOf: (row) => bfdKey(textOf(row, 'logical_port') ?? '', textOf(row, 'dst_ip') ?? ''),
  // Written by ovn-northd.
  foreignColumns: ['status'],
};

/**
 * All networks of a node have its address: to a next hop the node is one neighbour, which can have one session with it. It is that of the default
 * network; routes of others follow it, too.
 */
const watchKey = (node: string, hop: string): string =>
  bfdKey(gatewayNames(DEFAULT_NETWORK, node).gatewayToExternal, hop);

export const hopWatches = feature({
  name: 'egress/hop-watch',
  over: (facts: ZoneFacts) => facts.watchedHops.distinct('hop'),
  objects: (facts) =>
    facts.externalRoutes
      .entries()
      .map(([name]) => externalRouteObject(name))
      .toArray(),
  rules: {
    watch: {
      text: 'BFD runs between a node and each next hop that is to be watched: what can not be reached is used by no route.',
      source: 'reference/topology.md §18.3',
    },
  },
  claims: [BFD_CLAIM],
  build(facts, [hop], out) {
    const [first] = facts.watchedHops.keysBy('hop', hop);
    if (first === undefined) return;
    Rows.northbound(out, externalRouteObject(first))
      .by('watch')
      .keyed('BFD', watchKey(facts.nodeName, hop), {
        logical_port: gatewayNames(DEFAULT_NETWORK, facts.nodeName).gatewayToExternal,
        dst_ip: hop,
      });
  },
});

export const externalRoutes = feature({
  name: 'egress/external-route',
  over: (facts: ZoneFacts) => facts.routedPods.distinct('unit'),
  rank: networkRank,
  subject: networkOf,
  objects(facts, [, ...pod]) {
    const policy = facts.routedPods.peek(...pod)?.policy;
    return policy === undefined ? undefined : [externalRouteObject(policy)];
  },
  rules: {
    route: {
      text: 'What a pod sends outside goes to one of the next hops of its policy; who comes by one of them is answered by it.',
      source: 'reference/topology.md §18.3',
    },
  },
  claims: [ROUTE_CLAIM],
  build(facts, [network, ...pod], out) {
    const routed = facts.routedPods.get(...pod);
    if (routed === undefined || facts.rendered.part(network, 'name') === undefined) return;
    if (!hasGateway(facts)) {
      out.waitFor(`a gateway of node ${facts.nodeName}`);
      return;
    }
    const rows = Rows.northbound(out, externalRouteObject(routed.policy)).by('route');
    const { gatewayRouter, gatewayToExternal } = gatewayNames(network, facts.nodeName);
    for (const { source, address, isWatched } of routed.routes)
      addSymmetricRoute(rows, gatewayRouter, {
        prefix: asHost(source),
        nexthop: address,
        outputPort: gatewayToExternal,
        bfd: isWatched ? new RowReference('BFD', watchKey(facts.nodeName, address)) : undefined,
      });
  },
});

const hasGateway = (facts: ZoneFacts): boolean => (facts.own('gateway')?.addresses.length ?? 0) > 0;

export const externalRoutePolicies = feature({
  name: 'egress/external-route-policy',
  over: (facts: ZoneFacts) => facts.routedPods.distinct('network'),
  rank: networkRank,
  subject: networkOf,
  objects: networkObjects,
  rules: {
    'routed-pods': {
      text: 'In local gateway mode pods that leave by next hops are in one address set per network and family.',
      source: 'reference/topology.md §18.3',
    },
    'through-gateway': {
      text: 'In local gateway mode what those send outside goes to the gateway router, which knows the next hops, and not through the host.',
      source: 'reference/topology.md §18.3',
    },
  },
  claims: [ADDRESS_SET_CLAIM, POLICY_CLAIM],
  build(facts, [name], out) {
    const network = facts.rendered.get(name);
    if (network === undefined || facts.own('gateway')?.mode !== 'local' || !hasGateway(facts))
      return;
    const rows = Rows.northbound(out, network.object);
    const { clusterRouter, routerToSwitch } =
      network.topology === 'layer2'
        ? layer2Names(network.name, facts.nodeName)
        : layer3Names(network.name, facts.nodeName);
    for (const family of FAMILIES) {
      const sources = facts.routedPods.setOf('sources', network.name, family);
      const nexthop = gatewayLinks(facts.settings, network, { id: facts.own('id') }).find(
        (link) => ipOf(link) === IP[family],
      );
      if (sources.size === 0 || nexthop === undefined) continue;
      const set = routedPods(controllerOf(network.name), facts.nodeName, family);
      addAddressSet(rows.by('routed-pods'), set, sources);
      const ip = IP[family];
      const match = [
        `inport == "${routerToSwitch}"`,
        `${ip}.src == $${set.name}`,
        ...insideOf(facts, network)
          .filter((subnet) => ipOf(subnet) === ip)
          .map((subnet) => `${ip}.dst != ${subnet}`),
      ].join(' && ');
      rows.by('through-gateway').keyed(
        'Logical_Router_Policy',
        policyKey(clusterRouter, POLICY_EXTERNAL_ROUTE, match),
        {
          priority: POLICY_EXTERNAL_ROUTE,
          match,
          action: 'reroute',
          nexthops: [nexthop],
          options: marksOf(network),
        },
        holds('Logical_Router', clusterRouter, 'policies'),
      );
    }
  },
});

/**
 * What the default network sends with the node's address the bridge hands to the host, unless it is marked (reference/node.md §4.3, 175); what gateway
 * routers of Layer2 networks let out is of their own pods, or marked for an EgressIP (parts/egress-ip-base.ts).
 */
function marksOf(network: Network): Readonly<Record<string, string>> {
  if (isDefault(network)) return { pkt_mark: String(MARK_TO_NEXT_HOP) };
  return network.topology === 'layer2' ? { pkt_mark: String(MARK_OWN_POD) } : {};
}

const IP = { v4: 'ip4', v6: 'ip6' } as const;

/** What is no way out: the network itself and, of a network of a user, gateway routers that asked for a service, services of others and what stands for the host. */
function insideOf({ settings }: ZoneFacts, network: Network): readonly string[] {
  const subnets = network.subnets.map(({ cidr }) => cidr);
  if (isDefault(network)) return subnets;
  const { v4, v6 } = settings.masqueradeSubnets;
  return [
    ...subnets,
    ...joinSubnets(settings, network),
    ...settings.serviceSubnets,
    ...[v4, v6].filter((one) => one !== undefined),
  ];
}
