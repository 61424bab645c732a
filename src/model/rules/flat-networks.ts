/** What an OVNSecondaryNetwork has beyond other secondary networks: OVN answers its pods that ask for addresses (reference/topology.md §22). */

import { familyOf, prefixLength, type Family } from '../../allocators/addresses.ts';
import { parseNetworkName } from '../../api/nad/network-name.ts';
import type { NetworkConfig } from '../../api/nad/network-config.ts';

/** True for the networks of OVNSecondaryNetworks. */
export const isServed = (name: string): boolean =>
  parseNetworkName(name)?.kind === 'OVNSecondaryNetwork';

/** A subnet whose addresses OVN tells pods that ask by DHCP. */
export interface ServedSubnet {
  readonly family: Family;
  readonly cidr: string;
}

/** At most one per family; none for networks of other objects. */
export const servedSubnets = ({
  name,
  subnets,
}: Pick<NetworkConfig, 'name' | 'subnets'>): readonly ServedSubnet[] =>
  isServed(name) ? subnets.map(({ cidr }) => ({ family: familyOf(cidr), cidr })) : [];

/** Of those the IPv6 ones that a router has to announce. On the underlay its own routers do. */
export const announcedSubnets = (
  network: Pick<NetworkConfig, 'name' | 'subnets' | 'topology'>,
): readonly string[] =>
  network.topology === 'layer2'
    ? servedSubnets(network)
        .filter(({ family, cidr }) => family === 'v6' && hasRouterAddress(cidr))
        .map(({ cidr }) => cidr)
    : [];

/** All addresses of smaller ones are for pods. */
const hasRouterAddress = (cidr: string): boolean => prefixLength(cidr) < 127;
