/** Addresses, MAC addresses and port tunnel ids of one network, or of one network on one node. In memory. */
import { AllocationError, isExhausted } from '../allocators/allocation-error.ts';
import { AddressPool } from '../allocators/address-pool.ts';
import {
  bitsOf,
  formatInterfaceAddress,
  macOfAddress,
  parseAddress,
  parseInterfaceAddress,
  randomMac,
  type Address,
  type InterfaceAddress,
} from '../allocators/addresses.ts';
import { IdAllocator, MAX_PORT_TUNNEL_ID } from '../allocators/ids.ts';
import type { NetworkConfig } from '../api/nad/network-config.ts';
import type { PodNetwork } from '../api/annotations/pod-annotations.ts';
import {
  addressingProblem,
  nodeRanges,
  sharedRanges,
  type PodRanges,
} from '../model/rules/pod-ranges.ts';

/** What a pod holds of a network. */
export interface Lease {
  readonly addresses: readonly InterfaceAddress[];
  readonly macAddress: string;
  readonly tunnelId?: number;
}

/** Where a pool searches for what is free next. */
export interface PoolPosition {
  readonly addresses: readonly Address[];
  readonly tunnelId: number | undefined;
}

export interface PoolRequest {
  /** Addresses asked for, with or without prefix length; empty = any. */
  readonly ips: readonly string[];
  readonly mac?: string;
}

export class NetworkPool {
  readonly #ranges: PodRanges;
  readonly #network: string;
  readonly #addresses: AddressPool;
  readonly #tunnelIds: IdAllocator | undefined;
  readonly #macs = new Map<string, string>();
  readonly #macOf = new Map<string, string>();

  constructor(ranges: PodRanges) {
    const { network, firstTunnelId } = ranges;
    this.#ranges = ranges;
    this.#network = network;
    this.#addresses = new AddressPool(ranges);
    this.#tunnelIds =
      firstTunnelId === undefined ? undefined : new IdAllocator(firstTunnelId, MAX_PORT_TUNNEL_ID);
    for (const mac of ranges.reservedMacs) this.#macs.set(mac, 'the network itself');
  }

  get gateways(): readonly Address[] {
    return this.#ranges.gateways;
  }

  owners(): readonly string[] {
    return this.#addresses.owners();
  }

  get position(): PoolPosition {
    return { addresses: this.#addresses.next(), tunnelId: this.#tunnelIds?.next };
  }

  /** Goes on where another pool of the network was: what was released there a moment ago rests here, too. */
  resumeAt({ addresses, tunnelId }: PoolPosition): void {
    this.#addresses.resumeAt(addresses);
    if (tunnelId !== undefined) this.#tunnelIds?.resumeAt(tunnelId);
  }

  /** Goes on after what a pod carries. */
  resumeAfter({ addresses, tunnelId }: PodNetwork): void {
    this.resumeAt({
      addresses: addresses
        .map(parseInterfaceAddress)
        .filter((address) => address !== undefined)
        .map(({ family, value }) => ({ family, value: value + 1n })),
      tunnelId: tunnelId === undefined ? undefined : tunnelId + 1,
    });
  }

  /** Takes over what is given and not yet seen on pods, as far as it fits, from the pool in whose place this one comes. */
  takeOver(before: NetworkPool): void {
    this.resumeAt(before.position);
    for (const [owner, mac] of before.#macOf) {
      if (this.#macOf.has(owner)) continue;
      try {
        const held = before.#addresses.addressesOf(owner);
        if (held.length > 0) this.#addresses.reserve(owner, held);
      } catch (error) {
        if (!(error instanceof AllocationError)) throw error;
        continue;
      }
      this.#reserveMac(owner, mac);
    }
    for (const port of before.#tunnelIds?.owners() ?? []) {
      const id = before.#tunnelIds?.idOf(port);
      if (id === undefined || this.#tunnelIds === undefined) continue;
      if (this.#tunnelIds.idOf(port) === undefined && this.#tunnelIds.ownerOf(id) === undefined)
        this.#tunnelIds.reserve(port, id);
    }
  }

  /**
   * Takes over what a pod carries: all of it, or nothing with the reason. What the pod held before it keeps then, so that nobody else
   * gets it. `requested` are the addresses that it asks for. `port` owns the tunnel id, where somebody else than the pod owns the
   * addresses: each pod has a port of its own.
   */
  adopt(
    owner: string,
    entry: PodNetwork,
    requested: readonly string[] = [],
    port: string = owner,
  ): string | undefined {
    const { addresses, macAddress, tunnelId } = entry;
    const problem = addressingProblem(entry, this.#ranges, requested);
    if (problem !== undefined) return problem;
    const parsed = addresses.map(parseInterfaceAddress).filter((one) => one !== undefined);
    const hasAddresses = this.#addresses.subnets.length > 0;
    try {
      if (hasAddresses) this.#addresses.check(owner, parsed);
      const macOwner = this.#macs.get(macAddress);
      if (macOwner !== undefined && macOwner !== owner)
        return `MAC address ${macAddress} is already in use by ${macOwner}`;
      if (tunnelId !== undefined) this.#tunnelIds?.reserve(port, tunnelId);
      if (hasAddresses) this.#addresses.exchange(owner, parsed);
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      return error.message;
    }
    this.#reserveMac(owner, macAddress);
    return undefined;
  }

  /**
   * Takes over what somebody else has given a pod, to know how much room is left: who was only expected to get one of these
   * addresses is expected to get another one.
   */
  count(owner: string, entry: PodNetwork): void {
    const displaced = entry.addresses
      .map(parseInterfaceAddress)
      .filter((address) => address !== undefined)
      .map((address) => this.#addresses.ownerOf(address))
      .filter((other) => other !== undefined)
      .filter((other) => other !== owner);
    for (const other of displaced) this.release(other);
    this.adopt(owner, entry);
    for (const other of displaced)
      try {
        this.#addresses.allocate(other);
      } catch (error) {
        // The network is full without it.
        if (!isExhausted(error)) throw error;
      }
  }

  /** Takes over addresses that a claim holds, one per subnet; what is another owner's is not held. */
  adoptAddresses(owner: string, addresses: readonly string[]): void {
    const parsed = addresses.map(parseInterfaceAddress).filter((one) => one !== undefined);
    if (parsed.length > this.#addresses.subnets.length) return;
    try {
      this.#addresses.reserve(owner, parsed);
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
    }
  }

  /** Gives a pod what it needs: all or nothing. Throws AllocationError. `description` names the attachment in messages; `port` as in `adopt`. */
  allocate(
    owner: string,
    { ips, mac }: PoolRequest,
    description: string,
    randomBytes: (count: number) => Uint8Array,
    port: string = owner,
  ): Lease {
    const before = this.#addresses.addressesOf(owner);
    const heldMac = this.#macOf.get(owner);
    const heldId = this.#tunnelIds?.idOf(port);
    try {
      const addresses = this.#allocateAddresses(owner, ips, description);
      const macAddress = this.#allocateMac(owner, mac, addresses, description, randomBytes);
      const tunnelId = this.#allocateTunnelId(port, description);
      return { addresses, macAddress, ...(tunnelId === undefined ? {} : { tunnelId }) };
    } catch (error) {
      if (before.length === 0) this.#addresses.release(owner);
      if (heldMac === undefined) this.#releaseMac(owner);
      if (heldId === undefined) this.#tunnelIds?.release(port);
      throw error;
    }
  }

  release(owner: string): void {
    this.#addresses.release(owner);
    this.#tunnelIds?.release(owner);
    this.#releaseMac(owner);
  }

  #allocateAddresses(
    owner: string,
    ips: readonly string[],
    description: string,
  ): readonly InterfaceAddress[] {
    if (this.#addresses.subnets.length === 0)
      // Without address management a pod may say what it uses.
      return ips.map((text) => asInterfaceAddress(text, description));
    if (ips.length > 0) return this.#allocateRequested(owner, ips, description);
    try {
      return this.#addresses.allocate(owner);
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      throw new AllocationError(
        error.code,
        `failed to assign pod addresses for ${description}: failed to allocate new IPs for ${this.#network}: ${error.message}`,
        { cause: error },
      );
    }
  }

  #allocateRequested(
    owner: string,
    ips: readonly string[],
    description: string,
  ): readonly InterfaceAddress[] {
    const { subnets } = this.#addresses;
    const wanted = ips.map((text) => asInterfaceAddress(text, description));
    const fits =
      wanted.length === subnets.length &&
      subnets.every(
        (subnet) => wanted.filter(({ family }) => family === subnet.family).length === 1,
      );
    if (!fits)
      throw new AllocationError(
        'out-of-range',
        `failed to assign pod addresses for ${description}: network ${this.#network} expects ${subnets.length} IP(s), got ${wanted.length}: requested IPs family types must match network's IP family configuration`,
      );
    try {
      this.#addresses.reserve(owner, wanted);
      return this.#addresses.addressesOf(owner);
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      const what =
        error.code === 'taken' ? 'provided IP is already allocated' : 'provided IP can’t be used';
      throw new AllocationError(
        error.code,
        `failed to ensure requested or annotated IPs [${wanted.map(formatInterfaceAddress).join(' ')}] for ${description}: ${what}: ${error.message}`,
        { cause: error },
      );
    }
  }

  #allocateMac(
    owner: string,
    requested: string | undefined,
    [first]: readonly InterfaceAddress[],
    description: string,
    randomBytes: (count: number) => Uint8Array,
  ): string {
    const held = this.#macOf.get(owner);
    if (held !== undefined && (requested === undefined || requested === held)) return held;
    const mac = requested ?? (first === undefined ? randomMac(randomBytes) : macOfAddress(first));
    const other = this.#macs.get(mac);
    if (other !== undefined && other !== owner)
      throw new AllocationError(
        'taken',
        `failed to reserve MAC address "${mac}" for ${description}: MAC address already in use by ${other}`,
      );
    this.#reserveMac(owner, mac);
    return mac;
  }

  #allocateTunnelId(owner: string, description: string): number | undefined {
    try {
      return this.#tunnelIds?.allocate(owner);
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      throw new AllocationError(
        error.code,
        `failed to assign pod id for ${description}: ${error.message}`,
        { cause: error },
      );
    }
  }

  #reserveMac(owner: string, mac: string): void {
    if (this.#macs.has(mac) && this.#macs.get(mac) !== owner) return;
    this.#releaseMac(owner);
    this.#macs.set(mac, owner);
    this.#macOf.set(owner, mac);
  }

  #releaseMac(owner: string): void {
    const mac = this.#macOf.get(owner);
    if (mac === undefined) return;
    this.#macOf.delete(owner);
    this.#macs.delete(mac);
  }
}

function asInterfaceAddress(text: string, description: string): InterfaceAddress {
  const address = text.includes('/') ? parseInterfaceAddress(text) : hostAddress(text);
  if (address === undefined)
    throw new AllocationError(
      'out-of-range',
      `failed to assign pod addresses for ${description}: requested IP "${text}" is no IP address`,
    );
  return address;
}

function hostAddress(text: string): InterfaceAddress | undefined {
  const address = parseAddress(text);
  return address === undefined ? undefined : { ...address, length: bitsOf(address.family) };
}

/** Pool of a Layer3 or the default network on one node. */
export const nodePool = (network: string, nodeSubnets: readonly string[]): NetworkPool =>
  new NetworkPool(nodeRanges(network, nodeSubnets));

/** Pool of a network whose pods share its subnets on all nodes. */
export const sharedPool = (config: NetworkConfig): NetworkPool =>
  new NetworkPool(sharedRanges(config));
