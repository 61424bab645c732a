/** Which NetworkConnects count, and what two of them that name each other open (docs/decisions/tenant-connects.md). Pure. */
import {
  bitsOf,
  containsPrefix,
  lastOf,
  overlaps,
  type Prefix,
} from '../../allocators/addresses.ts';
import type { ConnectRange } from '../../allocators/connect-subnets.ts';
import { objectKey } from '../../api/objects.ts';
import { oldestFirst } from '../../api/order.ts';
import { matchesSelector } from '../../api/selectors.ts';
import type { NetworkConnect } from '../../api/types.ts';
import type { TenantConnectSettings, TenantConnectType } from '../settings.ts';

/** Two networks, as `<namespace>/<name>`, in order. */
export type NetworkPair = readonly [string, string];

interface TenantRefusal {
  readonly reason: string;
  readonly message: string;
}

export type PairOutcome =
  /** One side alone has asked, or none that counts. */
  | { readonly kind: 'one-sided' }
  | ({ readonly kind: 'refused' } & TenantRefusal)
  | {
      readonly kind: 'agreed';
      readonly types: readonly TenantConnectType[];
      readonly ranges: readonly ConnectRange[];
    };

export interface TenantConnectPlan {
  /** Why a NetworkConnect does not count, by its key. */
  readonly refusals: ReadonlyMap<string, TenantRefusal>;
  /** By `pairKey`; every pair that some NetworkConnect names. */
  readonly pairs: ReadonlyMap<string, PairOutcome>;
}

export interface TenantConnectContext {
  readonly requests: readonly NetworkConnect[];
  readonly settings: TenantConnectSettings | undefined;
  readonly labelsOf: (namespace: string) => Readonly<Record<string, string>> | undefined;
  /** True of a primary UserDefinedNetwork, `<namespace>/<name>`, that somebody declares. */
  readonly isDeclared: (network: string) => boolean;
  /**
   * Ranges that links between the two can't have; undefined while one of them has no addresses yet. What serves already (`isHeld`) does
   * not give way to addresses that nodes get later.
   */
  readonly rangesInTheWay: (pair: NetworkPair, isHeld: boolean) => readonly Prefix[] | undefined;
  /** Ranges of the connections that are there, by `pairKey`. */
  readonly held: ReadonlyMap<string, readonly ConnectRange[]>;
}

/** The network of a NetworkConnect's own namespace. */
export const ownNetwork = ({ metadata, spec }: NetworkConnect): string =>
  `${metadata.namespace ?? ''}/${spec.network}`;

export const peerNetwork = ({ spec }: NetworkConnect): string =>
  `${spec.peer.namespace}/${spec.peer.network}`;

const pairOf = (a: string, b: string): NetworkPair => (a < b ? [a, b] : [b, a]);

export const pairKey = (pair: NetworkPair): string => pair.join(' ');

export function pairOfKey(key: string): NetworkPair {
  const [a = '', b = ''] = key.split(' ');
  return [a, b];
}

/** The pair that a NetworkConnect is about, whichever side it is. */
export const requestedPair = (request: NetworkConnect): NetworkPair =>
  pairOf(ownNetwork(request), peerNetwork(request));

export function planTenantConnects(context: TenantConnectContext): TenantConnectPlan {
  // What is being deleted agrees to nothing any more, whatever keeps it.
  const requests = oldestFirst(
    context.requests.filter(({ metadata }) => metadata.deletionTimestamp === undefined),
  );
  const refusals = refusalsOf(requests, context);
  const pairs = new Map<string, PairOutcome>();
  const sides = new Map<string, NetworkConnect>();
  const agreed: (readonly [NetworkPair, readonly TenantConnectType[]])[] = [];
  for (const request of requests) {
    const pair = requestedPair(request);
    const key = pairKey(pair);
    if (!pairs.has(key)) pairs.set(key, { kind: 'one-sided' });
    if (refusals.has(objectKey(request.metadata))) continue;
    const other = sides.get(key);
    sides.set(key, request);
    if (other === undefined) continue;
    const types = request.spec.connectivity.filter((type) =>
      other.spec.connectivity.includes(type),
    );
    if (types.length > 0) agreed.push([pair, types]);
    else pairs.set(key, MISMATCH);
  }
  for (const [key, outcome] of withRanges(agreed, context)) pairs.set(key, outcome);
  return { refusals, pairs };
}

const MISMATCH: PairOutcome = {
  kind: 'refused',
  reason: 'ConnectivityMismatch',
  message:
    'both sides ask for the connection, and what they name in connectivity is not the same: nothing is opened that both do not name',
};

function refusalsOf(
  requests: readonly NetworkConnect[],
  { settings, labelsOf, isDeclared }: TenantConnectContext,
): ReadonlyMap<string, TenantRefusal> {
  const refusals = new Map<string, TenantRefusal>();
  const counts = new Map<string, number>();
  const first = new Map<string, NetworkConnect>();
  for (const request of requests) {
    const { namespace = '' } = request.metadata;
    const count = (counts.get(namespace) ?? 0) + 1;
    counts.set(namespace, count);
    const refusal =
      settings === undefined
        ? DISABLED
        : (refusalOf(request, settings, { labels: labelsOf(namespace), isDeclared }) ??
          repeated(request, first) ??
          overLimit(namespace, count, settings));
    if (refusal !== undefined) refusals.set(objectKey(request.metadata), refusal);
  }
  return refusals;
}

const DISABLED: TenantRefusal = {
  reason: 'TenantConnectsDisabled',
  message:
    'tenants connect no networks in this cluster: ask an administrator for a ClusterNetworkConnect, or to set --tenant-connect-subnets',
};

function refusalOf(
  request: NetworkConnect,
  settings: TenantConnectSettings,
  {
    labels,
    isDeclared,
  }: {
    readonly labels: Readonly<Record<string, string>> | undefined;
    readonly isDeclared: (network: string) => boolean;
  },
): TenantRefusal | undefined {
  const { namespace = '' } = request.metadata;
  const { network, peer, connectivity } = request.spec;
  const { namespaces, types } = settings;
  if (labels === undefined || (namespaces !== undefined && !matchesSelector(namespaces, labels)))
    return {
      reason: 'NamespaceNotSelected',
      message: `namespace "${namespace}" may not connect networks (--tenant-connect-namespaces): ask an administrator`,
    };
  if (peer.namespace === namespace)
    return {
      reason: 'SameNamespace',
      message: `peer.namespace "${namespace}" is this namespace: its primary networks reach each other already; name a network of another namespace`,
    };
  const refused = connectivity.filter((type) => !types.includes(type));
  if (refused.length > 0)
    return {
      reason: 'ConnectivityNotAllowed',
      message: `connectivity ${refused.join(', ')} may not be opened by tenants (--tenant-connect-types): write ${types.join(', ')}, or ask an administrator`,
    };
  if (!isDeclared(ownNetwork(request)))
    return {
      reason: 'NetworkNotFound',
      message: `namespace "${namespace}" has no primary UserDefinedNetwork "${network}" of topology Layer3 or Layer2: make one, or name one that is there; networks of ClusterUserDefinedNetworks are connected by administrators`,
    };
  return undefined;
}

/** The oldest of a namespace that names a pair speaks for it. */
function repeated(
  request: NetworkConnect,
  first: Map<string, NetworkConnect>,
): TenantRefusal | undefined {
  const key = `${ownNetwork(request)} ${peerNetwork(request)}`;
  const known = first.get(key);
  if (known === undefined) {
    first.set(key, request);
    return undefined;
  }
  return {
    reason: 'DuplicateConnect',
    message: `NetworkConnect "${known.metadata.name}" is older and names the same two networks: change that one, or delete it`,
  };
}

const overLimit = (
  namespace: string,
  count: number,
  { perNamespace }: TenantConnectSettings,
): TenantRefusal | undefined =>
  count <= perNamespace
    ? undefined
    : {
        reason: 'ConnectLimitReached',
        message: `of the NetworkConnects of namespace "${namespace}" the oldest ${perNamespace} count (--max-connects-per-namespace): delete one, or have the limit raised`,
      };

/** Parts of the pool: connections that have a network in common get different ones, others may have the same. */
function* withRanges(
  agreed: readonly (readonly [NetworkPair, readonly TenantConnectType[]])[],
  { settings, held, rangesInTheWay }: TenantConnectContext,
): Generator<readonly [key: string, PairOutcome]> {
  const pool = settings?.pool ?? [];
  const used = new Map<string, Set<bigint>>();
  const take = (pair: NetworkPair, part: bigint): void => {
    for (const network of pair) used.set(network, (used.get(network) ?? new Set()).add(part));
  };
  const isUsed = (pair: NetworkPair, part: bigint): boolean =>
    pair.some((network) => used.get(network)?.has(part) === true);
  const isFree = (part: bigint, inTheWay: readonly Prefix[]): boolean =>
    rangesOfPart(pool, part).every(({ cidr }) => !inTheWay.some((other) => overlaps(cidr, other)));
  const parts = new Map<string, bigint>();
  for (const [pair] of agreed) {
    const part = partOf(pool, held.get(pairKey(pair)) ?? []);
    const isKept =
      part !== undefined && !isUsed(pair, part) && isFree(part, rangesInTheWay(pair, true) ?? []);
    if (!isKept) continue;
    parts.set(pairKey(pair), part);
    take(pair, part);
  }
  for (const [pair, types] of agreed) {
    const key = pairKey(pair);
    let part = parts.get(key);
    if (part === undefined) {
      const inTheWay = rangesInTheWay(pair, false);
      if (inTheWay === undefined) {
        yield [key, NOT_READY];
        continue;
      }
      part = freePart(pool, (one) => isUsed(pair, one), inTheWay);
      if (part === undefined) {
        yield [key, EXHAUSTED];
        continue;
      }
      take(pair, part);
    }
    yield [key, { kind: 'agreed', types, ranges: rangesOfPart(pool, part) }];
  }
}

const NOT_READY: PairOutcome = {
  kind: 'refused',
  reason: 'NetworkNotReady',
  message: 'one of the two networks has no addresses yet',
};

const EXHAUSTED: PairOutcome = {
  kind: 'refused',
  reason: 'ConnectSubnetExhausted',
  message:
    'the ranges of --tenant-connect-subnets have no part left that the two networks could use: ask an administrator, or delete a connection of one of them',
};

/** A connection has two networks, each with a block of its own at the most. */
const partLength = ({ networkPrefix }: ConnectRange): number => networkPrefix - 1;

const partSize = (range: ConnectRange): bigint =>
  1n << BigInt(bitsOf(range.cidr.family) - partLength(range));

const partCount = (range: ConnectRange): bigint =>
  1n << BigInt(partLength(range) - range.cidr.length);

const rangesOfPart = (pool: readonly ConnectRange[], part: bigint): readonly ConnectRange[] =>
  pool.map((range) => ({
    cidr: {
      family: range.cidr.family,
      base: range.cidr.base + part * partSize(range),
      length: partLength(range),
    },
    networkPrefix: range.networkPrefix,
  }));

/** The part that these ranges are; undefined if they are none of the pool as it is now. */
function partOf(
  pool: readonly ConnectRange[],
  ranges: readonly ConnectRange[],
): bigint | undefined {
  const [first] = pool;
  const [held] = ranges;
  if (first === undefined || held === undefined || !containsPrefix(first.cidr, held.cidr))
    return undefined;
  const part = (held.cidr.base - first.cidr.base) / partSize(first);
  return sameRanges(rangesOfPart(pool, part), ranges) ? part : undefined;
}

export const sameRanges = (a: readonly ConnectRange[], b: readonly ConnectRange[]): boolean =>
  a.length === b.length &&
  a.every((one, index) => {
    const other = b[index];
    return (
      other !== undefined &&
      one.networkPrefix === other.networkPrefix &&
      one.cidr.family === other.cidr.family &&
      one.cidr.base === other.cidr.base &&
      one.cidr.length === other.cidr.length
    );
  });

/** The first part that is free. What is in the way is jumped over: an IPv6 range has more parts than can be looked at. */
function freePart(
  pool: readonly ConnectRange[],
  isUsed: (part: bigint) => boolean,
  inTheWay: readonly Prefix[],
): bigint | undefined {
  const count = pool.map(partCount).reduce((least, one) => (one < least ? one : least));
  let part = 0n;
  while (part < count) {
    const next = afterObstacle(pool, part, inTheWay) ?? (isUsed(part) ? part + 1n : undefined);
    if (next === undefined) return part;
    part = next;
  }
  return undefined;
}

function afterObstacle(
  pool: readonly ConnectRange[],
  part: bigint,
  inTheWay: readonly Prefix[],
): bigint | undefined {
  for (const [index, { cidr }] of rangesOfPart(pool, part).entries()) {
    const range = pool[index];
    const other = inTheWay.find((prefix) => overlaps(cidr, prefix));
    if (range !== undefined && other !== undefined)
      return (lastOf(other) - range.cidr.base) / partSize(range) + 1n;
  }
  return undefined;
}
