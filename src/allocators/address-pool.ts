/** Addresses of pods: one per subnet and owner, in turn from the first host (reference/api.md §6.9). */
import { AllocationError } from './allocation-error.ts';
import {
  containsAddress,
  formatAddress,
  formatPrefix,
  lastOf,
  overlaps,
  sizeOf,
  type Address,
  type InterfaceAddress,
  type Prefix,
} from './addresses.ts';
import { RoundRobin } from './round-robin.ts';

/** IPv6 subnets hand out addresses of their first 65536 only (reference/api.md §6.9). */
const MAX_IPV6_ADDRESSES = 65_536n;

/** What there is for pods. */
export interface AddressSpace {
  readonly subnets: readonly Prefix[];
  /** Never handed out and refused when asked for: gateway, management port, excluded subnets. */
  readonly excluded: readonly Prefix[];
}

export interface AddressPoolOptions {
  readonly subnets: readonly Prefix[];
  readonly excluded?: readonly Prefix[];
  /** Only for owners who ask for an address of it: reserved subnets. */
  readonly onRequestOnly?: readonly Prefix[];
}

/** Network address and broadcast address (IPv4) belong to nobody. */
const isHost = (subnet: Prefix, address: Address): boolean =>
  containsAddress(subnet, address) &&
  address.value !== subnet.base &&
  (subnet.family === 'v6' || address.value !== lastOf(subnet));

/** Why no pod can have the address, whether or not somebody has it; undefined if one can. */
export function notForPods(
  address: Address,
  { subnets, excluded }: AddressSpace,
): AllocationError | undefined {
  const text = formatAddress(address);
  if (!subnets.some((subnet) => isHost(subnet, address)))
    return new AllocationError(
      'out-of-range',
      `${text} is no host address of ${subnets.map(formatPrefix).join(', ')}`,
    );
  const withheld = excluded.find((prefix) => containsAddress(prefix, address));
  return withheld === undefined
    ? undefined
    : new AllocationError(
        'taken',
        `${text} is not for pods: ${formatPrefix(withheld)} is kept free`,
      );
}

/** What of one subnet is in use. Offsets count from the base address. */
class SubnetInUse {
  readonly subnet: Prefix;
  readonly #offsets: RoundRobin;
  /** Owners by address; also holds addresses that are never handed out by themselves. */
  readonly owners = new Map<bigint, string>();

  /** Addresses of `withheld` are not handed out. */
  constructor(subnet: Prefix, withheld: readonly Prefix[]) {
    this.subnet = subnet;
    const size = sizeOf(subnet);
    const last = subnet.family === 'v4' ? size - 2n : min(size, MAX_IPV6_ADDRESSES) - 1n;
    const offset = (value: bigint): number => Number(min(max(value - subnet.base, -1n), last + 1n));
    const gaps = withheld
      .filter((prefix) => overlaps(prefix, subnet))
      .map((prefix) => ({ first: offset(prefix.base), last: offset(lastOf(prefix)) }));
    this.#offsets = new RoundRobin(1, Number(last), gaps);
  }

  /** Where the search for the next free address begins. */
  get next(): Address {
    return { family: this.subnet.family, value: this.subnet.base + BigInt(this.#offsets.next) };
  }

  resumeAt(address: Address): void {
    if (containsAddress(this.subnet, address)) this.#offsets.resumeAt(this.#offsetOf(address));
  }

  take(owner: string): Address | undefined {
    const offset = this.#offsets.take();
    if (offset === undefined) return undefined;
    const value = this.subnet.base + BigInt(offset);
    this.owners.set(value, owner);
    return { family: this.subnet.family, value };
  }

  mark(owner: string, address: Address): void {
    this.owners.set(address.value, owner);
    this.#offsets.mark(this.#offsetOf(address));
  }

  free(address: Address): void {
    this.owners.delete(address.value);
    this.#offsets.free(this.#offsetOf(address));
  }

  // Offsets beyond what is handed out need not be exact: the round robin does not contain them.
  #offsetOf(address: Address): number {
    return Number(address.value - this.subnet.base);
  }
}

const min = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const max = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** Addresses of one set of subnets: of a node of a Layer3 network, or of a whole Layer2 network. */
export class AddressPool {
  readonly #subnets: readonly SubnetInUse[];
  readonly #excluded: readonly Prefix[];
  readonly #byOwner = new Map<string, readonly Address[]>();

  constructor({ subnets, excluded = [], onRequestOnly = [] }: AddressPoolOptions) {
    this.#excluded = excluded;
    const withheld = [...excluded, ...onRequestOnly];
    this.#subnets = subnets.map((subnet) => new SubnetInUse(subnet, withheld));
  }

  get subnets(): readonly Prefix[] {
    return this.#subnets.map(({ subnet }) => subnet);
  }

  /** Where the search for the next free address of each subnet begins. */
  next(): readonly Address[] {
    return this.#subnets.map(({ next }) => next);
  }

  /** Goes on at these addresses, as far as they are in the pool: those that were released a moment ago rest. */
  resumeAt(addresses: readonly Address[]): void {
    for (const address of addresses) this.#subnetOf(address)?.resumeAt(address);
  }

  addressesOf(owner: string): readonly InterfaceAddress[] {
    return (this.#byOwner.get(owner) ?? []).map((address) => this.#withLength(address));
  }

  ownerOf(address: Address): string | undefined {
    return this.#subnetOf(address)?.owners.get(address.value);
  }

  owners(): readonly string[] {
    return [...this.#byOwner.keys()];
  }

  /** One address of each subnet: those that the owner holds, else free ones. All or none; throws `exhausted`. */
  allocate(owner: string): readonly InterfaceAddress[] {
    if (this.#byOwner.has(owner)) return this.addressesOf(owner);
    const taken: Address[] = [];
    for (const subnet of this.#subnets) {
      const address = subnet.take(owner);
      if (address === undefined) {
        for (const undo of taken) this.#subnetOf(undo)?.free(undo);
        throw new AllocationError('exhausted', 'subnet address pool exhausted');
      }
      taken.push(address);
    }
    this.#byOwner.set(owner, taken);
    return this.addressesOf(owner);
  }

  /**
   * Gives the owner certain addresses, stored or asked for: all or none. Throws `out-of-range`, `taken` or
   * `conflict` (the owner holds others).
   */
  reserve(owner: string, addresses: readonly Address[]): void {
    const held = this.#byOwner.get(owner);
    if (held !== undefined) {
      if (sameAddresses(held, addresses)) return;
      throw new AllocationError(
        'conflict',
        `${owner} holds [${held.map(formatAddress).join(' ')}], not [${addresses.map(formatAddress).join(' ')}]`,
      );
    }
    const places = addresses.map((address) => ({
      address,
      subnet: this.#placeFor(owner, address),
    }));
    for (const { address, subnet } of places) subnet.mark(owner, address);
    this.#byOwner.set(owner, [...addresses]);
  }

  /** Throws as `exchange` does, and changes nothing. */
  check(owner: string, addresses: readonly Address[]): void {
    for (const address of addresses) this.#placeFor(owner, address);
  }

  /** Gives the owner certain addresses in place of those that it holds, which it keeps when that can't be. Throws as `reserve` does. */
  exchange(owner: string, addresses: readonly Address[]): void {
    this.check(owner, addresses);
    if (!sameAddresses(this.#byOwner.get(owner) ?? [], addresses)) this.release(owner);
    this.reserve(owner, addresses);
  }

  /** Returns the addresses that the owner held. */
  release(owner: string): readonly InterfaceAddress[] {
    const held = this.addressesOf(owner);
    for (const address of held) this.#subnetOf(address)?.free(address);
    this.#byOwner.delete(owner);
    return held;
  }

  #placeFor(owner: string, address: Address): SubnetInUse {
    const text = formatAddress(address);
    const space = { subnets: this.subnets, excluded: this.#excluded };
    const subnet = this.#subnetOf(address);
    const problem = notForPods(address, space);
    if (problem !== undefined || subnet === undefined) throw problem ?? new Error(text);
    const other = subnet.owners.get(address.value);
    if (other !== undefined && other !== owner)
      throw new AllocationError('taken', `${text} is already allocated to ${other}`);
    return subnet;
  }

  #subnetOf(address: Address): SubnetInUse | undefined {
    return this.#subnets.find(({ subnet }) => containsAddress(subnet, address));
  }

  #withLength(address: Address): InterfaceAddress {
    const length = this.#subnetOf(address)?.subnet.length ?? 0;
    return { ...address, length };
  }
}

const sameAddresses = (a: readonly Address[], b: readonly Address[]): boolean =>
  a.length === b.length &&
  a.every((one) => b.some((two) => one.family === two.family && one.value === two.value));
