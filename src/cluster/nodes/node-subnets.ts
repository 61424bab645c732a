/** Subnets of the nodes for every network that has some: what is given to whom, in memory. Pure. */
import {
  formatPrefix,
  parsePrefix,
  samePrefix,
  type Family,
  type Prefix,
} from '../../allocators/addresses.ts';
import { AllocationError } from '../../allocators/allocation-error.ts';
import { SubnetAllocator } from '../../allocators/subnets.ts';
import { DEFAULT_HOST_LENGTH } from '../../api/nad/subnet-lists.ts';
import type { NetworkSubnet } from '../../model/model.ts';

interface NetworkInUse {
  readonly subnets: SubnetAllocator;
  readonly ranges: Set<string | undefined>;
  /** Why a node has no or not all of its subnets. */
  readonly failures: Map<string, string>;
  /** What nodes gave back, as long as nobody was given it: a pod that came meanwhile may have an address of it. */
  readonly last: Map<string, readonly Prefix[]>;
}

/** Networks by the reason why a node has no subnet of it. */
export type SubnetFailures = ReadonlyMap<string, string>;

/** What a node carries in its annotation: subnets by network. */
export type AnnotatedSubnets = ReadonlyMap<string, readonly string[]>;

const failureOf = (node: string, network: string, reason: string): string =>
  `error allocating network for node ${node}, network name ${network}: ${reason}`;

export class NodeSubnets {
  readonly #networks = new Map<string, NetworkInUse>();

  networks(): readonly string[] {
    return [...this.#networks.keys()];
  }

  has(network: string): boolean {
    return this.#networks.has(network);
  }

  /**
   * Makes a network known, or adds the ranges that it has grown by. One that has a range no more which is not among `kept` either is
   * another network: nobody holds anything of it until it is adopted. True if anything changed. Throws `invalid-range`.
   */
  setNetwork(
    network: string,
    ranges: readonly NetworkSubnet[],
    kept: readonly NetworkSubnet[] = [],
  ): boolean {
    const known = this.#networks.get(network);
    const named = new Set([...ranges, ...kept].map(rangeText));
    const existing = known?.ranges.isSubsetOf(named) === true ? known : undefined;
    const inUse = existing ?? {
      subnets: new SubnetAllocator(),
      ranges: new Set(),
      failures: new Map(),
      last: new Map(),
    };
    const before = inUse.ranges.size;
    for (const range of ranges) {
      const prefix = parsePrefix(range.cidr);
      if (prefix === undefined)
        throw new AllocationError('invalid-range', `network ${network}: ${range.cidr} is no CIDR`);
      inUse.subnets.addRange(prefix, range.hostLength ?? DEFAULT_HOST_LENGTH[prefix.family]);
      inUse.ranges.add(rangeText(range));
    }
    this.#networks.set(network, inUse);
    return existing === undefined || inUse.ranges.size !== before;
  }

  /** Forgets a network and what nodes hold of it. */
  removeNetwork(network: string): boolean {
    return this.#networks.delete(network);
  }

  /**
   * Adopts what a node carries, as far as it fits: in a range of the network, of the right size, nobody else's, one per
   * family. The rest is not kept; `allocate` fills what is missing. Returns what is another node's, in words.
   */
  adopt(node: string, carried: AnnotatedSubnets): readonly string[] {
    const taken: string[] = [];
    for (const [network, texts] of carried) {
      const inUse = this.#networks.get(network);
      if (inUse === undefined) continue;
      const held = inUse.subnets.subnetsOf(node);
      if (held.length === texts.length && held.every((one, at) => formatPrefix(one) === texts[at]))
        continue;
      for (const prefix of texts.map(parsePrefix)) {
        if (prefix === undefined || this.#holds(inUse, node, prefix)) continue;
        try {
          inUse.subnets.reserve(node, prefix);
        } catch (error) {
          if (!(error instanceof AllocationError)) throw error;
          if (error.code === 'taken') taken.push(`of network ${network}: ${error.message}`);
        }
      }
    }
    return taken;
  }

  /** Gives the node one subnet per family of the network; a node that can't get one is in `failures`. */
  allocate(node: string, network: string): void {
    const inUse = this.#networks.get(network);
    if (inUse === undefined) return;
    this.#giveAgain(inUse, node);
    try {
      inUse.subnets.allocateAll(node);
      inUse.failures.delete(node);
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      inUse.failures.set(node, failureOf(node, network, error.message));
    }
  }

  releaseNode(node: string): void {
    for (const { subnets, failures, last } of this.#networks.values()) {
      subnets.release(node);
      failures.delete(node);
      last.delete(node);
    }
  }

  /** The node needs no subnet of the network any more. */
  releaseFrom(node: string, network: string): void {
    const inUse = this.#networks.get(network);
    const held = inUse?.subnets.release(node) ?? [];
    if (held.length > 0) inUse?.last.set(node, held);
    inUse?.failures.delete(node);
  }

  /** Nodes that hold something of a network. */
  holdersOf(network: string): readonly string[] {
    return this.#networks.get(network)?.subnets.owners() ?? [];
  }

  /** Takes back what the node was just given of a network, for a reason that lies elsewhere; it is in `failures` then. */
  refuse(node: string, network: string, reason: string): void {
    const inUse = this.#networks.get(network);
    inUse?.subnets.release(node);
    inUse?.failures.set(node, failureOf(node, network, reason));
  }

  /** What the node holds of a network, IPv4 first. */
  subnetsOf(node: string, network: string): readonly string[] {
    return this.#networks.get(network)?.subnets.subnetsOf(node).map(formatPrefix) ?? [];
  }

  failuresOf(network: string): SubnetFailures {
    return this.#networks.get(network)?.failures ?? new Map<string, string>();
  }

  /** Room of a network per family, for the metrics. */
  usage(network: string): readonly {
    readonly family: Family;
    readonly capacity: number;
    readonly used: number;
  }[] {
    const inUse = this.#networks.get(network);
    return (inUse?.subnets.families ?? []).map((family) => ({
      family,
      capacity: inUse?.subnets.capacity(family) ?? 0,
      used: inUse?.subnets.used(family) ?? 0,
    }));
  }

  /** A node that uses the network again gets what it gave back, unless another one has it now. */
  #giveAgain({ subnets, last }: NetworkInUse, node: string): void {
    for (const subnet of last.get(node) ?? [])
      try {
        subnets.reserve(node, subnet);
      } catch (error) {
        if (!(error instanceof AllocationError)) throw error;
      }
    last.delete(node);
  }

  #holds({ subnets }: NetworkInUse, node: string, prefix: Prefix): boolean {
    return subnets
      .subnetsOf(node)
      .some((held) => held.family === prefix.family || samePrefix(held, prefix));
  }
}

/** A range with the size of its nodes' subnets; undefined when it can't be read. */
function rangeText({ cidr, hostLength }: NetworkSubnet): string | undefined {
  const prefix = parsePrefix(cidr);
  return prefix && `${formatPrefix(prefix)}/${hostLength ?? DEFAULT_HOST_LENGTH[prefix.family]}`;
}
