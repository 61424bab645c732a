/** Subnets of one length out of larger ranges: node subnets, and blocks and slices of connect subnets. */
import { AllocationError } from './allocation-error.ts';
import {
  FAMILIES,
  bitsOf,
  containsPrefix,
  formatPrefix,
  samePrefix,
  type Family,
  type Prefix,
} from './addresses.ts';

/** Subnet numbers looked at in one range (reference/api.md §6.3). */
const MAX_CANDIDATES = 1 << 24;
/** IPv6 ranges with this many subnet bits or more skip numbers whose low 16 bits are 0 (reference/api.md §6.3). */
const SKIP_ZERO_FROM_BITS = 16;

/**
 * Where the n-th subnet of a range lies. IPv4 ranges whose subnets end inside an octet are numbered so that subnets
 * with zeroes in the shared octet come first: the number is rotated left (reference/api.md §6.3).
 */
export class SubnetRange {
  readonly prefix: Prefix;
  readonly hostLength: number;
  readonly #hostBits: number;
  readonly #subnetBits: number;
  readonly #rotation: number;

  /** Throws `invalid-range`. */
  constructor(prefix: Prefix, hostLength: number) {
    const bits = bitsOf(prefix.family);
    if (!Number.isInteger(hostLength) || hostLength >= bits)
      throw new AllocationError(
        'invalid-range',
        `host capacity cannot be zero: host length ${hostLength} of ${formatPrefix(prefix)}`,
      );
    if (hostLength < prefix.length)
      throw new AllocationError(
        'invalid-range',
        `subnet capacity cannot be larger than number of networks available: host length ${hostLength} of ${formatPrefix(prefix)}`,
      );
    this.prefix = prefix;
    this.hostLength = hostLength;
    this.#hostBits = bits - hostLength;
    this.#subnetBits = hostLength - prefix.length;
    const crossesOctet =
      Math.floor((this.#hostBits - 1) / 8) !==
      Math.floor((this.#hostBits + this.#subnetBits - 1) / 8);
    this.#rotation =
      prefix.family === 'v4' && this.#hostBits % 8 !== 0 && crossesOctet
        ? 8 - (this.#hostBits % 8)
        : 0;
  }

  /** Subnets in the range, skipped ones included. */
  get count(): bigint {
    return 1n << BigInt(this.#subnetBits);
  }

  isSkipped(number: bigint): boolean {
    return (
      this.prefix.family === 'v6' &&
      this.#subnetBits >= SKIP_ZERO_FROM_BITS &&
      (number & 0xffffn) === 0n
    );
  }

  subnetAt(number: bigint): Prefix {
    const place = this.#rotate(number, this.#rotation);
    return {
      family: this.prefix.family,
      base: this.prefix.base + (place << BigInt(this.#hostBits)),
      length: this.hostLength,
    };
  }

  /** The number of a subnet; undefined when it is no subnet of this range. */
  numberOf(subnet: Prefix): bigint | undefined {
    if (subnet.length !== this.hostLength || !containsPrefix(this.prefix, subnet)) return undefined;
    const place = (subnet.base - this.prefix.base) >> BigInt(this.#hostBits);
    return this.#rotate(place, this.#subnetBits - this.#rotation);
  }

  /** Rotates the low `subnetBits` of a number left. */
  #rotate(number: bigint, by: number): bigint {
    if (by <= 0 || by >= this.#subnetBits) return number;
    const mask = this.count - 1n;
    return ((number << BigInt(by)) & mask) | (number >> BigInt(this.#subnetBits - by));
  }
}

/** A range with what of it is in use. */
class RangeInUse {
  readonly range: SubnetRange;
  readonly #owners = new Map<bigint, string>();
  #next = 0n;

  constructor(range: SubnetRange) {
    this.range = range;
  }

  get used(): number {
    return this.#owners.size;
  }

  ownerOf(number: bigint): string | undefined {
    return this.#owners.get(number);
  }

  take(owner: string): bigint | undefined {
    const { count } = this.range;
    const limit = count < BigInt(MAX_CANDIDATES) ? Number(count) : MAX_CANDIDATES;
    for (let step = 0; step < limit; step += 1) {
      const number = (this.#next + BigInt(step)) % count;
      if (this.#owners.has(number) || this.range.isSkipped(number)) continue;
      this.#owners.set(number, owner);
      this.#next = number + 1n;
      return number;
    }
    this.#next = 0n;
    return undefined;
  }

  mark(number: bigint, owner: string): void {
    this.#owners.set(number, owner);
  }

  free(number: bigint): void {
    this.#owners.delete(number);
  }
}

interface Holding {
  readonly range: RangeInUse;
  readonly number: bigint;
  readonly subnet: Prefix;
}

/** One subnet per address family and owner. Ranges of a family are tried in the order in which they were added. */
export class SubnetAllocator {
  readonly #ranges: RangeInUse[] = [];
  readonly #holdings = new Map<string, Holding[]>();

  /** Adds a range; a range that is known already stays as it is. Throws `invalid-range`. */
  addRange(prefix: Prefix, hostLength: number): void {
    if (this.#find(prefix) === undefined)
      this.#ranges.push(new RangeInUse(new SubnetRange(prefix, hostLength)));
  }

  /** Removes a range that nothing is allocated from; false when something is, or when it is unknown. */
  removeRange(prefix: Prefix): boolean {
    const range = this.#find(prefix);
    if (range === undefined || range.used > 0) return false;
    this.#ranges.splice(this.#ranges.indexOf(range), 1);
    return true;
  }

  get families(): readonly Family[] {
    return FAMILIES.filter((family) => this.#rangesOf(family).length > 0);
  }

  ranges(family: Family): readonly Prefix[] {
    return this.#rangesOf(family).map((range) => range.range.prefix);
  }

  /** Subnets of a family that can be handed out, in use included; what the metrics report. */
  capacity(family: Family): number {
    return this.#rangesOf(family).reduce((sum, { range }) => sum + Number(range.count), 0);
  }

  used(family: Family): number {
    return this.#rangesOf(family).reduce((sum, range) => sum + range.used, 0);
  }

  /** What the owner holds, IPv4 first. */
  subnetsOf(owner: string): readonly Prefix[] {
    return (this.#holdings.get(owner) ?? [])
      .map((holding) => holding.subnet)
      .toSorted((a, b) => FAMILIES.indexOf(a.family) - FAMILIES.indexOf(b.family));
  }

  ownerOf(subnet: Prefix): string | undefined {
    for (const range of this.#rangesOf(subnet.family)) {
      const number = range.range.numberOf(subnet);
      if (number !== undefined) return range.ownerOf(number);
    }
    return undefined;
  }

  owners(): readonly string[] {
    return [...this.#holdings.keys()];
  }

  /** The owner's subnet of a family: the one that it holds, else a free one. Throws `exhausted`. */
  allocate(owner: string, family: Family): Prefix {
    const held = this.#holdings.get(owner)?.find((holding) => holding.subnet.family === family);
    if (held !== undefined) return held.subnet;
    for (const range of this.#rangesOf(family)) {
      const number = range.take(owner);
      if (number === undefined) continue;
      return this.#hold(owner, range, number);
    }
    throw new AllocationError('exhausted', 'no subnets available');
  }

  /** One subnet per family that has ranges: all or none. Throws `exhausted`. */
  allocateAll(owner: string): readonly Prefix[] {
    const before = this.subnetsOf(owner);
    try {
      return this.families.map((family) => this.allocate(owner, family));
    } catch (error) {
      for (const subnet of this.subnetsOf(owner))
        if (!before.some((kept) => samePrefix(kept, subnet))) this.releaseSubnet(owner, subnet);
      throw error;
    }
  }

  /**
   * Gives the owner a certain subnet, e.g. a stored one. An owner may hold several of a family, as stored state may.
   * Throws `out-of-range` or `taken`.
   */
  reserve(owner: string, subnet: Prefix): void {
    for (const range of this.#rangesOf(subnet.family)) {
      const number = range.range.numberOf(subnet);
      if (number === undefined) continue;
      const other = range.ownerOf(number);
      if (other === owner) return;
      if (other !== undefined)
        throw new AllocationError(
          'taken',
          `network ${formatPrefix(subnet)} already owned by ${other}`,
        );
      range.mark(number, owner);
      this.#hold(owner, range, number);
      return;
    }
    throw new AllocationError(
      'out-of-range',
      `network ${formatPrefix(subnet)} does not belong to any known range`,
    );
  }

  releaseSubnet(owner: string, subnet: Prefix): void {
    const holdings = this.#holdings.get(owner) ?? [];
    const kept = holdings.filter((holding) => !samePrefix(holding.subnet, subnet));
    for (const gone of holdings) if (!kept.includes(gone)) gone.range.free(gone.number);
    if (kept.length === 0) this.#holdings.delete(owner);
    else this.#holdings.set(owner, kept);
  }

  /** Returns what the owner held. */
  release(owner: string): readonly Prefix[] {
    const subnets = this.subnetsOf(owner);
    for (const subnet of subnets) this.releaseSubnet(owner, subnet);
    return subnets;
  }

  #hold(owner: string, range: RangeInUse, number: bigint): Prefix {
    const subnet = range.range.subnetAt(number);
    const holdings = this.#holdings.get(owner) ?? [];
    this.#holdings.set(owner, [...holdings, { range, number, subnet }]);
    return subnet;
  }

  #rangesOf(family: Family): readonly RangeInUse[] {
    return this.#ranges.filter((range) => range.range.prefix.family === family);
  }

  #find(prefix: Prefix): RangeInUse | undefined {
    return this.#ranges.find((range) => samePrefix(range.range.prefix, prefix));
  }
}
