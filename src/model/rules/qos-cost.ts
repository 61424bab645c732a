/** What rules of EgressQoS and NetworkQoS cost a node in flows of OpenFlow, counted before anything is written. Pure. */
import { formatPrefix, parsePrefix } from '../../allocators/addresses.ts';
import { withoutPrefixes } from '../../allocators/prefix-subtraction.ts';
import type { AddressBlock } from '../read/policies.ts';
import type { QosRule } from '../read/qos.ts';

/** What exceptions leave of a block; not more than `most` prefixes and one more are worked out. */
export function prefixesOf({ cidr, except }: AddressBlock, most: number): readonly string[] {
  const block = parsePrefix(cidr);
  const exceptions = except.map(parsePrefix).filter((one) => one !== undefined);
  return block === undefined
    ? []
    : [...withoutPrefixes(block, exceptions).take(most + 1)].map(formatPrefix);
}

/**
 * Flows of a rule at most: OVN makes a conjunction of sources, destinations and ports, which costs their sum, one for each protocol. `sources` and
 * `destinations` are addresses of pods.
 */
export function ruleFlows(
  { to, ports }: Pick<QosRule, 'to' | 'ports'>,
  { sources, destinations }: { readonly sources: number; readonly destinations: number },
  most: number,
): number {
  const blocks = to.reduce(
    (sum, one) => sum + (one.kind === 'block' ? prefixesOf(one.block, most).length : 0),
    0,
  );
  const protocols = new Set(ports.map(({ protocol }) => protocol)).size;
  // Each port is there for both families.
  return Math.max(protocols, 1) * (sources + destinations + blocks) + 2 * ports.length;
}
