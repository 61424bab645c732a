/** Subnets that link the routers of connected networks (reference/api.md §5.5, §5.6). */
import { AllocationError } from './allocation-error.ts';
import {
  bitsOf,
  containsPrefix,
  formatPrefix,
  prefixOf,
  type Family,
  type InterfaceAddress,
  type Prefix,
} from './addresses.ts';
import { pairAt } from './node-addresses.ts';
import { SubnetAllocator } from './subnets.ts';

/** One `connectSubnets` entry of a ClusterNetworkConnect. */
export interface ConnectRange {
  readonly cidr: Prefix;
  /** Length of the block of one Layer3 network; Layer2 networks share blocks. */
  readonly networkPrefix: number;
}

/** OVN's largest port tunnel key. */
const MAX_PORT_KEY = 32_767;
/** Nodes whose keys fit into one block (reference/api.md §5.6). */
const MAX_NODES_PER_BLOCK = 5000;

const layer2Length = (family: Family): number => bitsOf(family) - 1;

/**
 * Blocks of `networkPrefix` for Layer3 networks and /31 or /127 slices of shared blocks for Layer2 networks. Owners are
 * `layer3_<id>` and `layer2_<id>`; both families are given or neither.
 */
export class ConnectSubnetAllocator {
  readonly #ranges: readonly ConnectRange[];
  readonly #blocks = new SubnetAllocator();
  readonly #slices = new SubnetAllocator();
  #nextBlockOwner = 0;

  /** Throws `invalid-range`. */
  constructor(ranges: readonly ConnectRange[]) {
    this.#ranges = ranges;
    for (const { cidr, networkPrefix } of ranges) {
      if (networkPrefix <= cidr.length)
        throw new AllocationError(
          'invalid-range',
          `networkPrefix ${networkPrefix} must be larger than base CIDR prefix ${cidr.length}`,
        );
      if (networkPrefix >= bitsOf(cidr.family))
        throw new AllocationError(
          'invalid-range',
          `networkPrefix ${networkPrefix} must be smaller than address length ${bitsOf(cidr.family)}`,
        );
      this.#blocks.addRange(cidr, networkPrefix);
    }
  }

  owners(): readonly string[] {
    return [
      ...this.#blocks.owners().filter((owner) => !isBlockOwner(owner)),
      ...this.#slices.owners(),
    ];
  }

  subnetsOf(owner: string): readonly Prefix[] {
    return [...this.#blocks.subnetsOf(owner), ...this.#slices.subnetsOf(owner)];
  }

  /** The block of a Layer3 network, per family. Throws `exhausted`. */
  allocateLayer3(owner: string): readonly Prefix[] {
    return this.#blocks.allocateAll(owner);
  }

  /** The slice of a Layer2 network, per family. Throws `exhausted`. */
  allocateLayer2(owner: string): readonly Prefix[] {
    if (this.#slices.families.length > 0) {
      try {
        return this.#slices.allocateAll(owner);
      } catch (error) {
        if (!(error instanceof AllocationError) || error.code !== 'exhausted') throw error;
      }
    }
    for (const block of this.#blocks.allocateAll(this.#newBlockOwner()))
      this.#slices.addRange(block, sliceLengthOf(block));
    return this.#slices.allocateAll(owner);
  }

  /** Re-adopts stored subnets of a Layer3 network: all or none. Throws `out-of-range` or `taken`. */
  reserveLayer3(owner: string, subnets: readonly Prefix[]): void {
    this.#allOrNone(owner, this.#blocks, subnets, (subnet) => this.#blocks.reserve(owner, subnet));
  }

  /** Re-adopts stored slices of a Layer2 network, and the blocks that they are in. Throws as above. */
  reserveLayer2(owner: string, subnets: readonly Prefix[]): void {
    try {
      this.#allOrNone(owner, this.#slices, subnets, (subnet) => {
        const range = this.#ranges.find(({ cidr }) => containsPrefix(cidr, subnet));
        if (range === undefined || subnet.length !== layer2Length(subnet.family))
          throw new AllocationError(
            'out-of-range',
            `network ${formatPrefix(subnet)} does not belong to any known range`,
          );
        const block = blockOf(range, subnet);
        if (!isBlockOwner(this.#blocks.ownerOf(block) ?? '')) {
          this.#blocks.reserve(this.#newBlockOwner(), block);
          this.#slices.addRange(block, sliceLengthOf(block));
        }
        this.#slices.reserve(owner, subnet);
      });
    } finally {
      this.#returnEmptyBlocks();
    }
  }

  release(owner: string): void {
    this.#blocks.release(owner);
    if (this.#slices.release(owner).length > 0) this.#returnEmptyBlocks();
  }

  #allOrNone(
    owner: string,
    allocator: SubnetAllocator,
    subnets: readonly Prefix[],
    reserve: (subnet: Prefix) => void,
  ): void {
    const done: Prefix[] = [];
    try {
      for (const subnet of subnets) {
        const isNew = allocator.ownerOf(subnet) !== owner;
        reserve(subnet);
        if (isNew) done.push(subnet);
      }
    } catch (error) {
      for (const subnet of done) allocator.releaseSubnet(owner, subnet);
      throw error;
    }
  }

  #returnEmptyBlocks(): void {
    for (const owner of this.#blocks.owners().filter(isBlockOwner))
      for (const block of this.#blocks.subnetsOf(owner))
        if (this.#slices.removeRange(block)) this.#blocks.releaseSubnet(owner, block);
  }

  #newBlockOwner(): string {
    this.#nextBlockOwner += 1;
    return `${BLOCK_OWNER}${this.#nextBlockOwner}`;
  }
}

const BLOCK_OWNER = 'l2-block-';
const isBlockOwner = (owner: string): boolean => owner.startsWith(BLOCK_OWNER);

/** A block of one address pair can't be split further: the block is the slice. */
const sliceLengthOf = (block: Prefix): number => layer2Length(block.family);

const blockOf = ({ cidr, networkPrefix }: ConnectRange, subnet: Prefix): Prefix =>
  prefixOf({ family: cidr.family, value: subnet.base, length: networkPrefix });

/** Both ends of the link between the connect router and a network's router. */
export interface ConnectLink {
  readonly connectRouter: InterfaceAddress;
  readonly networkRouter: InterfaceAddress;
}

/** Link of a Layer3 network on one node. Throws `out-of-range` when the node id is too large for the block. */
export function layer3ConnectLink(block: Prefix, nodeId: number): ConnectLink {
  if (nodeId > maxConnectNodeId(block))
    throw new AllocationError(
      'out-of-range',
      `node id ${nodeId} does not fit into connect subnet ${formatPrefix(block)}: its largest node id is ${maxConnectNodeId(block)}`,
    );
  const { first, second } = pairAt(block, nodeId);
  return { connectRouter: first, networkRouter: second };
}

/** Link of a Layer2 network: its slice, on every node alike. */
export function layer2ConnectLink(slice: Prefix): ConnectLink {
  const { first, second } = pairAt(slice, 0);
  return { connectRouter: first, networkRouter: second };
}

/** Largest node id with an address pair in a block: 2^(bits - length - 1) - 1. */
function maxConnectNodeId(block: Prefix): number {
  const pairs = 1n << BigInt(bitsOf(block.family) - block.length - 1);
  return pairs > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(pairs) - 1;
}

/** Length of the longest block that has an address pair for a node id. */
export const sufficientConnectPrefix = (family: Family, nodeId: number): number =>
  bitsOf(family) - 1 - nodeId.toString(2).length;

/** Tunnel key of the connect router's port to a Layer3 network on a node. Throws `out-of-range`. */
export function layer3ConnectPortKey(range: ConnectRange, block: Prefix, nodeId: number): number {
  return checkedKey(blockIndex(range, block) * keysPerBlock(range) + BigInt(nodeId) + 1n, block);
}

/** Tunnel key of the connect router's port to a Layer2 network. Throws `out-of-range`. */
export function layer2ConnectPortKey(range: ConnectRange, slice: Prefix): number {
  const block = blockOf(range, slice);
  const within = (slice.base - block.base) >> 1n;
  return checkedKey(blockIndex(range, block) * keysPerBlock(range) + within + 1n, slice);
}

const blockIndex = ({ cidr, networkPrefix }: ConnectRange, block: Prefix): bigint =>
  (block.base - cidr.base) >> BigInt(bitsOf(cidr.family) - networkPrefix);

function keysPerBlock({ cidr, networkPrefix }: ConnectRange): bigint {
  const addresses = 1n << BigInt(bitsOf(cidr.family) - networkPrefix);
  return addresses < BigInt(MAX_NODES_PER_BLOCK) ? addresses : BigInt(MAX_NODES_PER_BLOCK);
}

function checkedKey(key: bigint, subnet: Prefix): number {
  if (key > BigInt(MAX_PORT_KEY))
    throw new AllocationError(
      'out-of-range',
      `port tunnel key ${key} of connect subnet ${formatPrefix(subnet)} is larger than ${MAX_PORT_KEY}: use a shorter list of networks or a longer networkPrefix`,
    );
  return Number(key);
}
