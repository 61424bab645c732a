/**
 * Pools of addresses that a network has for services (decisions/service-pools.md). The cluster manager gives addresses of them, nodes lead to no
 * others: both read a pool here. Pure.
 */
import {
  containsAddress,
  containsPrefix,
  formatPrefix,
  overlaps,
  parseAddress,
  parseInterfaceAddress,
  parsePrefix,
  prefixOf,
  type Address,
  type Prefix,
} from '../../allocators/addresses.ts';
import type { ServicePoolSpace } from '../../allocators/service-addresses.ts';
import { SERVICE_POOL } from '../../api/annotations/network-annotations.ts';
import { familyCidrs, type NetworkConfig } from '../../api/nad/network-config.ts';
import { fail, succeed, type Result } from '../../api/result.ts';
import { closedRanges, type NamedRange } from '../../api/validation/closed-ranges.ts';
import { formatValue } from '../../api/validation/field-errors.ts';
import type { ClusterSettings } from '../model.ts';
import { layer2Ranges } from './network-addresses.ts';

/** What a pool depends on of its network. */
export type PooledNetwork = Pick<
  NetworkConfig,
  | 'topology'
  | 'role'
  | 'subnets'
  | 'infrastructureSubnets'
  | 'defaultGatewayIPs'
  | 'joinSubnets'
  | 'transitSubnets'
>;

/** Ranges that one pool may have. */
const MOST_RANGES = 16;

const FIELD = `metadata.annotations[${SERVICE_POOL}]`;

/** The ranges of a pool as an annotation says them, in canonical form; or what is wrong, with field, value and remedy. */
export function readServicePool(
  text: string,
  network: PooledNetwork,
  settings: ClusterSettings,
): Result<readonly string[]> {
  const wrong = (value: string, why: string): Result<readonly string[]> =>
    fail(`${FIELD}: ${formatValue(value)} ${why}`);
  const hasServices = network.role === 'primary' || settings.secondaryGateways;
  if (!hasServices || network.topology === 'localnet')
    return wrong(
      text,
      'is a pool of a network that has no services, as networks of topology Layer3 and Layer2 have, primary ones and, with the setting secondary-gateways, secondary ones; remove the annotation',
    );
  const entries = text.split(',').map((entry) => entry.trim());
  if (entries.length > MOST_RANGES)
    return wrong(text, `has ${entries.length} ranges, a pool may have ${MOST_RANGES}; join them`);
  const ranges: Prefix[] = [];
  for (const entry of entries) {
    const address = parseInterfaceAddress(entry);
    if (address === undefined)
      return wrong(
        entry,
        'is no range of addresses; write ranges as 10.1.2.0/24 or fd00::/120, separated by commas',
      );
    const range = prefixOf(address);
    if (range.base !== address.value)
      return wrong(entry, `has bits behind its prefix length; write ${formatPrefix(range)}`);
    const other = ranges.find((one) => overlaps(one, range));
    if (other !== undefined)
      return wrong(
        entry,
        `overlaps ${formatPrefix(other)} of the same pool; leave one of them out`,
      );
    const why = rangeProblem(range, network, settings);
    if (why !== undefined) return wrong(entry, why);
    ranges.push(range);
  }
  return succeed(ranges.map(formatPrefix));
}

const prefixesOf = (cidrs: readonly string[]): readonly Prefix[] =>
  cidrs.map(parsePrefix).filter((prefix) => prefix !== undefined);

function rangeProblem(
  range: Prefix,
  network: PooledNetwork,
  settings: ClusterSettings,
): string | undefined {
  const subnets = prefixesOf(network.subnets.map(({ cidr }) => cidr));
  if (!subnets.some(({ family }) => family === range.family))
    return `is of a family of which the network has no subnet; leave it out`;
  const closed = [...closedRanges(settings), ...rangesOfNetwork(network)].find(({ cidr }) => {
    const prefix = parsePrefix(cidr);
    return prefix !== undefined && overlaps(prefix, range);
  });
  if (closed !== undefined)
    return `overlaps ${closed.name} ${closed.cidr}; choose a range that is free`;
  const subnet = subnets.find((one) => overlaps(one, range));
  if (subnet !== undefined)
    return network.topology === 'layer3'
      ? `overlaps subnet ${formatPrefix(subnet)} of the network, which nodes get parts of; choose a range outside of it`
      : prefixesOf(network.infrastructureSubnets).some((one) => containsPrefix(one, range))
        ? undefined
        : `is in subnet ${formatPrefix(subnet)} of the network, where pods get addresses; choose a range outside of it, or in spec.layer2.infrastructureSubnets, which a network has from its creation on`;
  const allowed = prefixesOf(settings.serviceExternalRanges);
  return allowed.length === 0 || allowed.some((one) => containsPrefix(one, range))
    ? undefined
    : `is neither in a subnet of the network nor in --service-external-ranges (${settings.serviceExternalRanges.join(', ')}); choose a range there`;
}

const rangesOfNetwork = ({ joinSubnets, transitSubnets }: PooledNetwork): readonly NamedRange[] => [
  ...familyCidrs(joinSubnets).map((cidr) => ({ cidr, name: "the network's join subnet" })),
  ...familyCidrs(transitSubnets).map((cidr) => ({ cidr, name: "the network's transit subnet" })),
];

/**
 * What the NADs of a network say of its pool together: ranges that all of them have, so that one that is behind opens nothing. What can't be used
 * has none, and the NAD has a problem that names it.
 */
export function sharedPool(
  texts: readonly (string | undefined)[],
  network: PooledNetwork,
  settings: ClusterSettings,
): readonly string[] {
  const [first, ...others] = [...new Set(texts)].map((text) => {
    const read = text === undefined ? undefined : readServicePool(text, network, settings);
    return prefixesOf(read?.kind === 'value' ? read.value : []);
  });
  return others
    .reduce(
      (common, ranges) =>
        common.flatMap((a) =>
          ranges.flatMap((b) => (containsPrefix(a, b) ? b : containsPrefix(b, a) ? a : [])),
        ),
      first ?? [],
    )
    .map(formatPrefix);
}

/** Where services get addresses: a Layer2 network's gateway and its nodes have theirs among those of the infrastructure. */
export function poolSpace(pool: readonly string[], network: PooledNetwork): ServicePoolSpace {
  const ranges = prefixesOf(pool);
  if (network.topology !== 'layer2') return { ranges, excluded: [] };
  const ends = layer2Ranges(network).flatMap(({ gateway, management }) => [gateway, management]);
  const subnets = prefixesOf(network.subnets.map(({ cidr }) => cidr));
  return {
    ranges,
    excluded: [
      ...ends.map(parseAddress).filter((address) => address !== undefined),
      ...subnets.flatMap(edgesOf),
    ],
  };
}

/** Addresses that stand for all of a subnet. */
const edgesOf = (subnet: Prefix): readonly Address[] => [
  { family: subnet.family, value: subnet.base },
  ...(subnet.family === 'v4'
    ? [{ family: subnet.family, value: subnet.base + (1n << BigInt(32 - subnet.length)) - 1n }]
    : []),
];

/** True for an address that services may have of the pool. */
export function isInPool(text: string, pool: readonly string[], network: PooledNetwork): boolean {
  const address = parseAddress(text);
  if (address === undefined || pool.length === 0) return false;
  const { ranges, excluded } = poolSpace(pool, network);
  return (
    ranges.some((range) => containsAddress(range, address)) &&
    !excluded.some(({ family, value }) => family === address.family && value === address.value)
  );
}
