/**
 * When nodes may have egress addresses, as the cluster manager and the nodes themselves judge it (docs/decisions/egress-health.md): the manager asks each
 * node again and again, and acknowledges each answer with its next question. Pure; times in milliseconds, each on the clock of who compares them.
 */
import { managementAddress } from '../../allocators/node-addresses.ts';
import { formatAddress, parsePrefix } from '../../allocators/addresses.ts';
import { nodeSubnetsOn } from '../../api/annotations/node-annotations.ts';
import type { Node } from '../../api/types.ts';
import type { ClusterSettings } from '../model.ts';

export interface EgressHealthTimes {
  /** A node is asked this often. */
  readonly interval: number;
  /** A node may have addresses this long after its last answer that was acknowledged. */
  readonly lease: number;
  /** After this time without an answer its addresses are given to others: it has let them go. */
  readonly gone: number;
  /** A node whose last answer that was acknowledged is older is asked by no manager. */
  readonly unasked: number;
  /** A node is steadily heard while its answers, and that of them which was acknowledged last, are no further apart: so no other node finds it unasked. */
  readonly gap: number;
  /** What a node learned of others counts this long. */
  readonly recent: number;
  /** Before a manager takes a node for gone it has heard each of the others that it counts on within this time: their answer acknowledged, the next one, and its way. */
  readonly heard: number;
}

/** `timeout`: how long a node may be silent (egressip-reachability-total-timeout). */
export const egressHealthTimes = (timeout: number): EgressHealthTimes => ({
  interval: 0.15 * timeout,
  lease: timeout,
  gone: timeout + LETTING_GO,
  unasked: 0.6 * timeout,
  gap: 0.3 * timeout,
  recent: 0.5 * timeout,
  heard: 0.9 * timeout,
});

/** A node that may have addresses no more has none of them after this time. */
const LETTING_GO = 300;

/** Milliseconds for which the data plane of a node has its egress addresses without its daemon: longer than a restart with its image takes, and less than 40 s. */
export const EGRESS_FENCE = 30_000;
/** Milliseconds by which it may let go later: Open vSwitch took up what the daemon sent last, and looks at what has expired, once it gets to that. */
const FENCE_LATE = 3000;

/** True where nodes have egress addresses for so long as their daemons say so (docs/decisions/egress-health.md). */
export const hasEgressFence = ({
  features,
  egressHealth,
}: Pick<ClusterSettings, 'features' | 'egressHealth'>): boolean =>
  features.egressIp && egressHealth.timeout > 0 && egressHealth.port > 0;

export interface EgressFenceTimes {
  /** Milliseconds after its last answer at which a node has no egress addresses, whatever became of its daemon. */
  readonly over: number;
  /** A node that is not heard opens its fence again only while most egress nodes have not been heard for so long. */
  readonly unasked: number;
  /** As `gap` of the lease, by which a manager that falters for a moment is still one that is there. */
  readonly gap: number;
}

/** Fences outlive what leases do not: so a manager may falter for longer. `fence`: how long a node's data plane waits, in milliseconds. */
export function egressFenceTimes(
  { lease, gone }: EgressHealthTimes,
  fence: number,
): EgressFenceTimes {
  // Before it is over what was opened at the end of a lease.
  const unasked = Math.min(5 * lease, lease + fence / 3);
  return { over: gone + fence + FENCE_LATE, unasked, gap: 0.4 * unasked };
}

const DEFAULT_NETWORK = 'default';

/** Of objects that were read: nodes are looked at all the time, and their annotations are long. */
const read = new WeakMap<Node, readonly string[]>();

/** Where a node is asked: its management addresses on the default network, v4 first. */
export function healthAddresses(node: Node): readonly string[] {
  const before = read.get(node);
  if (before !== undefined) return before;
  const addresses = (nodeSubnetsOn(node, DEFAULT_NETWORK).value ?? []).flatMap((cidr) => {
    const subnet = parsePrefix(cidr);
    return subnet === undefined ? [] : [formatAddress(managementAddress(subnet))];
  });
  read.set(node, addresses);
  return addresses;
}

/** What another node answered of itself. */
export interface NodeAge {
  /** Of its last answer that was acknowledged, when it answered. */
  readonly age: number;
  /** When it was asked. */
  readonly at: number;
  /** When its answer came. */
  readonly got: number;
}

/** The egress nodes, as one of them sees them. */
export interface EgressNodeVotes {
  /** It is one itself. */
  readonly isCounted: boolean;
  /** What others answered; undefined of one that never did. */
  readonly others: readonly (NodeAge | undefined)[];
}

/** When the oldest was asked of those by whom it is known that most egress nodes are not heard, itself among them; undefined where that is not known. */
function unheardSince(
  now: number,
  { isCounted, others }: EgressNodeVotes,
  { unasked, recent }: EgressHealthTimes,
  heardBefore: number,
): number | undefined {
  const own = isCounted ? 1 : 0;
  const unheard = others.filter(
    (other) =>
      other !== undefined &&
      other.age >= unasked &&
      now - other.at <= recent &&
      // One that started meanwhile does not know what was before.
      (other.age === Infinity ? Infinity : other.got - other.age) <= heardBefore,
  );
  if (2 * (own + unheard.length) <= own + others.length) return undefined;
  return Math.min(now, ...unheard.map((other) => other?.at ?? now));
}

/**
 * Until when nobody can be given a node's addresses, on its clock; undefined when that is over. One that a manager has heard keeps them. One that none has heard does
 * while most egress nodes are no more heard than it is: then there is no manager that could give the addresses to others, as one does so only while it
 * has heard at least half of them for as long as a lease lasts.
 */
export function keptUntil(
  age: number,
  now: number,
  votes: EgressNodeVotes,
  times: EgressHealthTimes,
): number | undefined {
  if (age < times.lease) return now - age + times.gone;
  const since = unheardSince(now, votes, times, Infinity);
  return since === undefined ? undefined : since + times.lease;
}

/**
 * Whether a node may open its fence: nobody who waits for it can have been given its addresses. Heard by no manager it does so only where there has been none for a
 * while: a manager that takes a node's daemon for dead has been there for as long as its fence may be open.
 */
export function mayOpenFence(
  age: number,
  now: number,
  votes: EgressNodeVotes,
  times: EgressHealthTimes,
): boolean {
  if (age < times.lease) return true;
  const { unasked } = egressFenceTimes(times, EGRESS_FENCE);
  return unheardSince(now, votes, { ...times, unasked }, Infinity) !== undefined;
}

/**
 * The same for a node that has let go, as it heard nothing for a while: it may have its addresses again where most egress nodes were heard by nobody from when it
 * could still keep them (`until`, of `keptUntil`) until now, and there was no manager in between.
 */
export function keptAgainUntil(
  until: number,
  now: number,
  votes: EgressNodeVotes,
  times: EgressHealthTimes,
): number | undefined {
  const since = unheardSince(now, votes, times, until - times.heard);
  return since === undefined ? undefined : since + times.lease;
}
