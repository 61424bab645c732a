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

/** A number as it is kept: small ones take no memory of their own. */
type Kept = number | bigint;

const keptOf = (number: bigint): Kept =>
  number <= Number.MAX_SAFE_INTEGER ? Number(number) : number;

/** A range with what of it is in use. Of owners and networks there are hundreds of thousands: a subnet is made of its number when it is asked for. */
class RangeInUse {
  readonly range: SubnetRange;
  readonly #owners = new Map<Kept, string>();
  /** Numbers by owner; hardly any owner has several. */
  readonly #numbers = new Map<string, Kept | readonly Kept[]>();
  #next = 0n;

  constructor(range: SubnetRange) {
    this.range = range;
  }

  get used(): number {
    return this.#owners.size;
  }

  owners(): Iterable<string> {
    return this.#numbers.keys();
  }

  ownerOf(number: bigint): string | undefined {
    return this.#owners.get(keptOf(number));
  }

  subnetsOf(owner: string): readonly Prefix[] {
    return this.#numbersOf(owner).map((number) => this.range.subnetAt(BigInt(number)));
  }

  /** Gives the owner a free subnet; undefined where none is left. */
  take(owner: string): Prefix | undefined {
    const { count } = this.range;
    const limit = count < BigInt(MAX_CANDIDATES) ? Number(count) : MAX_CANDIDATES;
    for (let step = 0; step < limit; step += 1) {
      const number = (this.#next + BigInt(step)) % count;
      if (this.#owners.has(keptOf(number)) || this.range.isSkipped(number)) continue;
      this.mark(number, owner);
      this.#next = number + 1n;
      return this.range.subnetAt(number);
    }
    this.#next = 0n;
    return undefined;
  }

  mark(number: bigint, owner: string): void {
    const kept = keptOf(number);
    const before = this.#numbersOf(owner);
    this.#owners.set(kept, owner);
    this.#numbers.set(owner, before.length === 0 ? kept : [...before, kept]);
  }

  free(number: bigint, owner: string): void {
    const gone = keptOf(number);
    this.#owners.delete(gone);
    const rest = this.#numbersOf(owner).filter((kept) => kept !== gone);
    const [only] = rest;
    if (only === undefined) this.#numbers.delete(owner);
    else this.#numbers.set(owner, rest.length === 1 ? only : rest);
  }

  #numbersOf(owner: string): readonly Kept[] {
    const numbers = this.#numbers.get(owner) ?? [];
    return typeof numbers === 'object' ? numbers : [numbers];
  }
}

/** One subnet per address family and owner. Ranges of a family are tried in the order in which they were added. */
export class SubnetAllocator {
  readonly #ranges: RangeInUse[] = [];

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
    return FAMILIES.flatMap((family) =>
      this.#rangesOf(family).flatMap((range) => range.subnetsOf(owner)),
    );
  }

  ownerOf(subnet: Prefix): string | undefined {
    for (const range of this.#rangesOf(subnet.family)) {
      const number = range.range.numberOf(subnet);
      if (number !== undefined) return range.ownerOf(number);
    }
    return undefined;
  }

  owners(): readonly string[] {
    return [...new Set(this.#ranges.flatMap((range) => [...range.owners()]))];
  }

  /** The owner's subnet of a family: the one that it holds, else a free one. Throws `exhausted`. */
  allocate(owner: string, family: Family): Prefix {
    const ranges = this.#rangesOf(family);
    const [held] = ranges.flatMap((range) => range.subnetsOf(owner));
    if (held !== undefined) return held;
    for (const range of ranges) {
      const subnet = range.take(owner);
      if (subnet !== undefined) return subnet;
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
      return;
    }
    throw new AllocationError(
      'out-of-range',
      `network ${formatPrefix(subnet)} does not belong to any known range`,
    );
  }

  releaseSubnet(owner: string, subnet: Prefix): void {
    for (const range of this.#rangesOf(subnet.family)) {
      const number = range.range.numberOf(subnet);
      if (number !== undefined && range.ownerOf(number) === owner) range.free(number, owner);
    }
  }

  /** Returns what the owner held. */
  release(owner: string): readonly Prefix[] {
    const subnets = this.subnetsOf(owner);
    for (const subnet of subnets) this.releaseSubnet(owner, subnet);
    return subnets;
  }

  #rangesOf(family: Family): readonly RangeInUse[] {
    return this.#ranges.filter((range) => range.range.prefix.family === family);
  }

  #find(prefix: Prefix): RangeInUse | undefined {
    return this.#ranges.find((range) => samePrefix(range.range.prefix, prefix));
  }
}
