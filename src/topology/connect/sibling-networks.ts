/**
 * The way between primary networks of one namespace (reference/topology.md §20): their routers have a link on each node, so that a packet changes the
 * network on the node that it comes from, and goes to other nodes over the tunnels of the network that it is for.
 */

import {
  FAMILIES,
  familyOf,
  formatAddress,
  formatInterfaceAddress,
  ipOf,
  macOf,
  parsePrefix,
} from '../../allocators/addresses.ts';
import { siblingLink } from '../../allocators/node-addresses.ts';
import { feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { Network } from '../../model/model.ts';
import { policyKey } from '../rows/row-keys.ts';
import { networkOf, networkRank, networkObjects } from '../networks/network-feature.ts';
import { POLICY_SIBLING } from '../numbers.ts';
import { networkIds } from '../rows/object-ids.ts';
import { POLICY_CLAIM, ROUTER_PORT_CLAIM } from '../rows/router-rows.ts';
import { holds, Rows } from '../rows/unit-rows.ts';
import { routerOf, subnetsIn } from './connect-rows.ts';

/** One side of a link. */
interface End {
  readonly network: Network;
  readonly router: string;
  readonly port: string;
  /** Per family that both networks have, v4 first; without and with prefix length. */
  readonly addresses: readonly { readonly address: string; readonly interface: string }[];
}

export const siblingNetworks = feature({
  name: 'connect/sibling-networks',
  over: (facts: ZoneFacts) => facts.neighbours.distinct('pair'),
  rank: networkRank,
  subject: networkOf,
  objects(facts, names) {
    const objects = names.map((name) => networkObjects(facts, [name]));
    return objects.some((one) => one === undefined)
      ? undefined
      : objects.flatMap((one) => one ?? []);
  },
  rules: {
    link: {
      text: 'The routers of two primary networks of a namespace have a link of their own on each node.',
      source: 'reference/topology.md §20',
    },
    'to-sibling': {
      text: 'What comes to the router of one for pods of the other goes over that link.',
      source: 'reference/topology.md §20',
    },
  },
  claims: [ROUTER_PORT_CLAIM, POLICY_CLAIM],
  build(facts, names, out) {
    const networks = names
      .map((name) => facts.rendered.get(name))
      .filter((network) => network !== undefined)
      .toSorted((a, b) => a.id - b.id);
    const [lower, higher] = networks;
    if (lower === undefined || higher === undefined) return;
    for (const { name, topology } of networks)
      if (topology === 'layer3' && facts.subnetsOn(name, facts.nodeName).length === 0)
        return out.waitFor(`a subnet of network ${name} on node ${facts.nodeName}`);
    const pairs = FAMILIES.filter((family) =>
      networks.every((network) => subnetsIn(network, family).length > 0),
    ).flatMap((family) => {
      const subnet = parsePrefix(facts.settings.masqueradeSubnets[family] ?? '');
      const [one, other] = [lower.masqueradeNumber, higher.masqueradeNumber];
      const pair =
        subnet && one !== undefined && other !== undefined
          ? siblingLink(subnet, one, other)
          : undefined;
      if (pair === undefined)
        out.problem(
          lower.object,
          `the masquerade subnet (${facts.settings.masqueradeSubnets[family] ?? 'none'}) has no addresses for a link with network ${higher.name}, so that pods of one don't reach those of the other: make it larger (IPv4: /17)`,
        );
      return pair ?? [];
    });
    if (pairs.length === 0) return;
    const endOf = (network: Network, other: Network, side: 'first' | 'second'): End => {
      const { router } = routerOf(network, facts.nodeName);
      return {
        network,
        router,
        port: linkPort(router, other),
        addresses: pairs.map((pair) => ({
          address: formatAddress(pair[side]),
          interface: formatInterfaceAddress(pair[side]),
        })),
      };
    };
    const [first, second] = [endOf(lower, higher, 'first'), endOf(higher, lower, 'second')];
    addEnd(Rows.northbound(out, lower.object), first, second);
    addEnd(Rows.northbound(out, higher.object), second, first);
  },
});

/** Port of a router to that of another network; an id has no `_`, so that no two links have one name. */
const linkPort = (router: string, other: Network): string => `rtor-${router}_${other.id}`;

function addEnd(rows: Rows, own: End, other: End): void {
  rows.by('link').named(
    'Logical_Router_Port',
    own.port,
    {
      mac: macOf(own.addresses[0]?.address ?? ''),
      networks: own.addresses.map((one) => one.interface),
      peer: other.port,
      external_ids: networkIds(own.network),
    },
    holds('Logical_Router', own.router, 'ports'),
  );
  for (const { address } of other.addresses)
    for (const subnet of subnetsIn(other.network, familyOf(address))) {
      const match = `${ipOf(subnet)}.dst == ${subnet}`;
      rows.by('to-sibling').keyed(
        'Logical_Router_Policy',
        policyKey(own.router, POLICY_SIBLING, match),
        {
          priority: POLICY_SIBLING,
          match,
          action: 'reroute',
          nexthops: [address],
          external_ids: networkIds(own.network),
        },
        holds('Logical_Router', own.router, 'policies'),
      );
    }
}
