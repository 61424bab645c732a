/** Which ranges may not overlap (reference/api.md §6.6), and the search for a free transit subnet (§6.5). */
import {
  containsPrefix,
  FAMILIES,
  familyOf,
  formatPrefix,
  nextPrefix,
  overlaps,
  parsePrefix,
  type Prefix,
} from '../../allocators/addresses.ts';
import type {
  ClusterAddressing,
  FamilyCidrs,
  NetworkTopology,
  SubnetEntry,
} from '../nad/network-config.ts';
import { type Result, fail, succeed } from '../result.ts';
import { familyCidrs, isRoutedLayer2 } from '../nad/network-config.ts';

type SubnetType =
  | 'cluster subnet'
  | 'service subnet'
  | 'built-in join subnet'
  | 'masquerade subnet'
  | 'transit switch subnet'
  | 'user defined subnet'
  | 'user defined join subnet';

export interface TypedSubnet {
  readonly type: SubnetType;
  readonly cidr: string;
}

export interface Overlap {
  readonly a: TypedSubnet;
  readonly b: TypedSubnet;
}

interface Range extends TypedSubnet {
  readonly range: Prefix;
}

const ranges = (type: SubnetType, cidrs: readonly string[]): Range[] =>
  cidrs.flatMap((cidr) => {
    const range = parsePrefix(cidr);
    return range === undefined ? [] : [{ type, cidr, range }];
  });

/** The first pair that overlaps: the later range of the list first. */
function firstOverlap(
  list: readonly Range[],
  concerns: (range: Range) => boolean,
): Overlap | undefined {
  for (const [index, a] of list.entries()) {
    for (const b of list.slice(0, index)) {
      if ((concerns(a) || concerns(b)) && overlaps(a.range, b.range)) {
        return { a: { type: a.type, cidr: a.cidr }, b: { type: b.type, cidr: b.cidr } };
      }
    }
  }
  return undefined;
}

export const formatOverlap = ({ a, b }: Overlap): string =>
  `${a.type} "${a.cidr}" overlaps ${b.type} "${b.cidr}"`;

/** Ranges that belong to the cluster itself; what networks add to them is not among them. */
export const rangesOfCluster = (settings: ClusterAddressing): readonly TypedSubnet[] => [
  ...settings.clusterSubnets.map(({ cidr }): TypedSubnet => ({ type: 'cluster subnet', cidr })),
  ...settings.serviceSubnets.map((cidr): TypedSubnet => ({ type: 'service subnet', cidr })),
  ...familyCidrs(settings.joinSubnets).map((cidr): TypedSubnet => ({
    type: 'built-in join subnet',
    cidr,
  })),
  ...familyCidrs(settings.udnJoinSubnets).map((cidr): TypedSubnet => ({
    type: 'user defined join subnet',
    cidr,
  })),
  ...familyCidrs(settings.masqueradeSubnets).map((cidr): TypedSubnet => ({
    type: 'masquerade subnet',
    cidr,
  })),
  ...familyCidrs(settings.transitSubnets).map((cidr): TypedSubnet => ({
    type: 'transit switch subnet',
    cidr,
  })),
];

const settingsRanges = (settings: ClusterAddressing): readonly Range[] => [
  ...ranges(
    'cluster subnet',
    settings.clusterSubnets.map(({ cidr }) => cidr),
  ),
  ...ranges('service subnet', settings.serviceSubnets),
  ...ranges('built-in join subnet', familyCidrs(settings.joinSubnets)),
  ...ranges('masquerade subnet', familyCidrs(settings.masqueradeSubnets)),
  ...ranges('transit switch subnet', familyCidrs(settings.transitSubnets)),
];

/** Two settings of the cluster that overlap each other; undefined when the configuration is sound. */
export function clusterOverlap(settings: ClusterAddressing): Overlap | undefined {
  return firstOverlap(settingsRanges(settings), () => true);
}

/** The ranges of a network that the check looks at. */
export interface NetworkRanges {
  readonly topology: NetworkTopology;
  readonly role: 'primary' | 'secondary';
  readonly subnets: readonly SubnetEntry[];
  readonly excludeSubnets: readonly string[];
  readonly joinSubnets: FamilyCidrs;
  /** Own transit subnets of a layer2 network with a router. */
  readonly transitSubnets: FamilyCidrs;
  readonly hasRouter?: true;
}

/**
 * A range of the network that overlaps another of its own or one of the cluster; undefined if none does. Localnet
 * networks are on the underlay and are not checked. Other networks may overlap by design.
 */
export function networkOverlap(
  network: NetworkRanges,
  settings: ClusterAddressing,
): Overlap | undefined {
  if (network.topology === 'localnet') return undefined;
  const excluded = network.excludeSubnets.map(parsePrefix).filter((cidr) => cidr !== undefined);
  const ownTransit = isRoutedLayer2(network);
  const transit =
    network.topology === 'layer3'
      ? settings.transitSubnets
      : ownTransit
        ? network.transitSubnets
        : {};
  const config = settingsRanges({ ...settings, transitSubnets: transit }).filter(
    ({ range }) => !excluded.some((outer) => containsPrefix(outer, range)),
  );
  const subnets = ranges(
    'user defined subnet',
    network.subnets.map(({ cidr }) => cidr),
  );
  // A secondary network has no join switch: ovn-kubernetes checks the default one all the same (reference/api.md §15 no. 4).
  const join =
    network.role === 'primary'
      ? ranges('user defined join subnet', familyCidrs(network.joinSubnets))
      : [];
  const list = [...config, ...subnets, ...join];
  const isOwn = ({ type }: Range): boolean =>
    type === 'user defined subnet' ||
    type === 'user defined join subnet' ||
    (ownTransit && type === 'transit switch subnet');
  return firstOverlap(list, isOwn);
}

/** A node and its addresses with prefix length (annotation `k8s.ovn.org/host-cidrs`). */
export interface NodeAddresses {
  readonly name: string;
  readonly hostAddresses: readonly string[];
}

/**
 * What is wrong when a pod range of a network covers or lies in a network that a node is attached to: pods could not
 * reach that node. Undefined when nothing is.
 */
export function nodeOverlap(
  subnets: readonly SubnetEntry[],
  nodes: readonly NodeAddresses[],
): string | undefined {
  const own = ranges(
    'user defined subnet',
    subnets.map(({ cidr }) => cidr),
  );
  for (const { name, hostAddresses } of nodes) {
    for (const text of hostAddresses) {
      const host = parsePrefix(text);
      if (host === undefined) continue;
      const hit = own.find(({ range }) => overlaps(range, host));
      if (hit !== undefined) {
        return (
          `user defined subnet "${hit.cidr}" overlaps the network ${formatPrefix(host)} of node "${name}" ` +
          `(address ${text}): choose a range that no node has an address in`
        );
      }
    }
  }
  return undefined;
}

/**
 * What is wrong with the subnet of a network that is put on the underlay of the nodes (reference/api.md §2): it may not clash with
 * the pods and services of the cluster, with the networks of nodes, nor with another such network. Undefined when nothing is.
 */
export function externalOverlap(
  subnets: readonly SubnetEntry[],
  settings: Pick<ClusterAddressing, 'clusterSubnets' | 'serviceSubnets'>,
  nodes: readonly NodeAddresses[] = [],
  others: readonly { readonly name: string; readonly subnets: readonly SubnetEntry[] }[] = [],
): string | undefined {
  const config = [
    ...ranges(
      'cluster subnet',
      settings.clusterSubnets.map(({ cidr }) => cidr),
    ),
    ...ranges('service subnet', settings.serviceSubnets),
  ];
  const own = ranges(
    'user defined subnet',
    subnets.map(({ cidr }) => cidr),
  );
  const overlap = firstOverlap([...config, ...own], ({ type }) => type === 'user defined subnet');
  if (overlap !== undefined) {
    return `${formatOverlap(overlap)}: choose a range of the underlay that the cluster does not use`;
  }
  for (const other of others) {
    const theirs = ranges(
      'user defined subnet',
      other.subnets.map(({ cidr }) => cidr),
    );
    const hit = own.find(({ range }) => theirs.some((their) => overlaps(their.range, range)));
    if (hit !== undefined) {
      return `user defined subnet "${hit.cidr}" overlaps a subnet of ${other.name}: choose another range`;
    }
  }
  return nodeOverlap(subnets, nodes);
}

const ATTEMPTS = 10;

/**
 * Transit subnets of a primary layer2 network, one per family of its subnets: the configured ones, or the next ones
 * of the same size that overlap nothing (reference/api.md §6.5).
 */
export function findTransitSubnets(
  network: Omit<NetworkRanges, 'transitSubnets'>,
  settings: ClusterAddressing,
): Result<FamilyCidrs> {
  const failed = (reason: string): Result<FamilyCidrs> =>
    fail(`can't generate transit subnets: ${reason}`);
  const families = new Set(network.subnets.map(({ cidr }) => familyOf(cidr)));
  const found: { v4?: string; v6?: string } = {};
  for (const family of FAMILIES) {
    const start = settings.transitSubnets[family];
    if (!families.has(family) || start === undefined) continue;
    let candidate = start;
    for (let attempt = 0; found[family] === undefined; attempt++) {
      const overlap = networkOverlap(
        { ...network, transitSubnets: { [family]: candidate } },
        settings,
      );
      const sides = overlap === undefined ? [] : [overlap.a, overlap.b];
      if (overlap === undefined) {
        found[family] = candidate;
      } else if (
        !sides.some(({ type, cidr }) => type === 'transit switch subnet' && cidr === candidate)
      ) {
        return fail(formatOverlap(overlap));
      } else {
        const next = afterLarger(sides, candidate);
        if (attempt + 1 >= ATTEMPTS || next === undefined) {
          return failed('failed to find non-overlapping transit subnet after 10 attempts');
        }
        candidate = next;
      }
    }
  }
  return succeed(found);
}

/** The prefix of the candidate's length after the larger of two overlapping ranges. */
function afterLarger(sides: readonly TypedSubnet[], candidate: string): string | undefined {
  const length = parsePrefix(candidate)?.length;
  const larger = sides
    .map(({ cidr }) => parsePrefix(cidr))
    .filter((cidr) => cidr !== undefined)
    .sort((a, b) => a.length - b.length)[0];
  const next = larger === undefined ? undefined : nextPrefix(larger, length);
  return next === undefined ? undefined : formatPrefix(next);
}
