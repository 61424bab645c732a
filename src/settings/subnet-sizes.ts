/** Subnets of the cluster that have no room for what must fit: found at start, before anything is built with them. */
import {
  bitsOf,
  FAMILIES,
  formatPrefix,
  parsePrefix,
  prefixOf,
  sizeOf,
  type Family,
  type Prefix,
} from '../allocators/addresses.ts';
import { FIRST_NODE_ID, LAST_FIXED_NETWORK_ID } from '../allocators/ids.ts';
import {
  LAST_NODE_MASQUERADE,
  MASQUERADE_OFFSETS,
  networkMasqueradeOffsets,
} from '../allocators/node-addresses.ts';
import type { ClusterSettings } from '../model/model.ts';
import type { OptionName } from './options.ts';

/** A setting that gives too small a subnet, and what to write instead. */
export interface SmallSubnet {
  readonly option: OptionName;
  readonly problem: string;
}

interface SizedSetting {
  readonly options: Readonly<Record<Family, OptionName>>;
  readonly subnets: Readonly<Partial<Record<Family, string>>>;
  /** Addresses from the subnet's base on. */
  readonly needed: number;
  readonly why: string;
}

/**
 * The first subnet that is too small. `maxNetworks` is the limit that the user set; without one there must be room for a
 * first network, and a later network that finds none is refused by name.
 */
export function smallSubnet(
  settings: ClusterSettings,
  maxNetworks?: number,
): SmallSubnet | undefined {
  const perNode = {
    needed: FIRST_NODE_ID + 1,
    why: `${FIRST_NODE_ID} for the subnet and its router and 1 for each node`,
  };
  const sized: readonly SizedSetting[] = [
    {
      options: { v4: 'gateway-v4-masquerade-subnet', v6: 'gateway-v6-masquerade-subnet' },
      subnets: settings.masqueradeSubnets,
      ...masqueradeNeeds(maxNetworks),
    },
    {
      options: { v4: 'gateway-v4-join-subnet', v6: 'gateway-v6-join-subnet' },
      subnets: settings.joinSubnets,
      ...perNode,
    },
    {
      options: { v4: 'cluster-manager-v4-transit-subnet', v6: 'cluster-manager-v6-transit-subnet' },
      subnets: settings.transitSubnets,
      ...perNode,
    },
  ];
  for (const { options, subnets, needed, why } of sized)
    for (const family of FAMILIES) {
      const subnet = parsePrefix(subnets[family] ?? '');
      if (subnet === undefined || sizeOf(subnet) >= needed) continue;
      const enough = formatPrefix(enlarged(subnet, needed));
      return {
        option: options[family],
        problem: `${formatPrefix(subnet)} is too small: ${needed} addresses are needed (${why}), write ${enough} or a larger subnet`,
      };
    }
  return undefined;
}

function masqueradeNeeds(maxNetworks: number | undefined): Pick<SizedSetting, 'needed' | 'why'> {
  if (maxNetworks === 0)
    return { needed: Math.max(...Object.values(MASQUERADE_OFFSETS)) + 1, why: 'for the node' };
  const reserved = networkMasqueradeOffsets(1).gatewayRouter;
  const networks =
    maxNetworks === undefined ? 'network' : `of the ${maxNetworks} networks of --max-networks`;
  // Beyond those ids networks have a number on each node that uses them.
  const isBeyond = maxNetworks !== undefined && maxNetworks > LAST_FIXED_NETWORK_ID;
  const last = isBeyond ? LAST_NODE_MASQUERADE : (maxNetworks ?? 1);
  return {
    needed: networkMasqueradeOffsets(last).managementPort + 1,
    why: isBeyond
      ? `${reserved} for the node and 2 for each of ${last} networks on a node`
      : `${reserved} for the node and 2 for each ${networks}`,
  };
}

/** The smallest subnet around `subnet` with so many addresses. */
const enlarged = ({ family, base }: Prefix, needed: number): Prefix =>
  prefixOf({ family, value: base, length: bitsOf(family) - Math.ceil(Math.log2(needed)) });
