/** Ids, tunnel keys and OVN prefixes of networks: adopted from NADs, given anew, given back. In memory. */
import { formatPrefix, parsePrefix, type Prefix } from '../../allocators/addresses.ts';
import { AllocationError } from '../../allocators/allocation-error.ts';
import { IdAllocator, LAST_FIXED_NETWORK_ID, MAX_NETWORK_ID } from '../../allocators/ids.ts';
import {
  LAST_NODE_MASQUERADE,
  masqueradeAddresses,
  maxMasqueradeNetworkId,
} from '../../allocators/node-addresses.ts';
import { TunnelKeyAllocator } from '../../allocators/tunnel-keys.ts';
import { tunnelKeyCount, type NetworkConfig } from '../../api/nad/network-config.ts';
import { ovnName } from '../../api/nad/network-name.ts';
import type { ClusterSettings } from '../../model/model.ts';
import type { RegisteredNad } from '../../api/nad/registered-nad.ts';

/** Id and tunnel keys: what distinguishes a network in OVN. */
export interface NetworkIdentity {
  readonly id: number;
  readonly tunnelKeys: readonly number[];
  /** Nodes get what is theirs of it once something there uses it; the others have it as soon as it comes. */
  readonly isOnDemand: boolean;
}

export interface NetworkIdentitiesOptions {
  readonly settings: Pick<ClusterSettings, 'masqueradeSubnets'>;
  /** Networks that may exist at a time. */
  readonly limit: number;
  /** A network that comes when there are so many is on demand. */
  readonly preallocated: number;
}

export class NetworkIdentities {
  readonly #options: NetworkIdentitiesOptions;
  readonly #ids = new IdAllocator(1, MAX_NETWORK_ID);
  /** Keys of networks and of connect routers. */
  readonly tunnelKeys = new TunnelKeyAllocator();
  /** Networks by OVN prefix. */
  readonly #prefixes = new Map<string, string>();
  readonly #onDemand = new Set<string>();

  constructor(options: NetworkIdentitiesOptions) {
    this.#options = options;
  }

  /** Id and keys that the network has; undefined while it has no id. */
  of(name: string): NetworkIdentity | undefined {
    const id = this.#ids.idOf(name);
    return id === undefined
      ? undefined
      : { id, tunnelKeys: this.tunnelKeys.keysOf(name), isOnDemand: this.#isOnDemand(name, id) };
  }

  /** Takes over the id and keys that a NAD carries. Returns why that can't be. */
  adopt({ config, networkId, tunnelKeys, isOnDemand }: RegisteredNad): string | undefined {
    if (networkId === undefined) return undefined;
    const { name } = config;
    try {
      this.#checkPrefix(name);
      this.#ids.reserve(name, networkId);
      this.#prefixes.set(ovnName(name), name);
      if (isOnDemand) this.#onDemand.add(name);
      const wanted = (tunnelKeys ?? []).slice(0, tunnelKeyCount(config, networkId));
      if (wanted.length > 0 && this.tunnelKeys.keysOf(name).length === 0)
        this.tunnelKeys.reserve(name, wanted);
      return undefined;
    } catch (error) {
      if (error instanceof AllocationError) return error.message;
      throw error;
    }
  }

  /** Id and keys that the network has, or free ones. Throws AllocationError with what to do about it. */
  allocate(name: string, config: NetworkConfig): NetworkIdentity {
    const known = this.#ids.idOf(name);
    if (known === undefined) {
      this.#checkPrefix(name);
      this.#checkLimit();
    }
    const isFull = this.#ids.size >= this.#options.preallocated;
    const id = this.#allocateId(name, config);
    try {
      const tunnelKeys = this.tunnelKeys.allocateForNetwork(name, id, tunnelKeyCount(config, id));
      this.#prefixes.set(ovnName(name), name);
      if (known === undefined && isFull) this.#onDemand.add(name);
      return { id, tunnelKeys, isOnDemand: this.#isOnDemand(name, id) };
    } catch (error) {
      if (known === undefined) this.#ids.release(name);
      throw error;
    }
  }

  /** Gives id and keys back. True if there were any. */
  release(name: string): boolean {
    if (this.#prefixes.get(ovnName(name)) === name) this.#prefixes.delete(ovnName(name));
    this.tunnelKeys.release(name);
    this.#onDemand.delete(name);
    return this.#ids.release(name) !== undefined;
  }

  /** What a network of such an id has on a node the node has to be given. */
  #isOnDemand(name: string, id: number): boolean {
    return id > LAST_FIXED_NETWORK_ID || this.#onDemand.has(name);
  }

  #checkPrefix(name: string): void {
    const other = this.#prefixes.get(ovnName(name));
    if (other !== undefined && other !== name)
      throw new AllocationError(
        'taken',
        `network ${name} would share its OVN objects with network ${other} (both become "${ovnName(name)}"): choose a name that differs in more than "-" and "."`,
      );
  }

  #checkLimit(): void {
    const { limit } = this.#options;
    if (this.#ids.size >= limit)
      throw new AllocationError(
        'exhausted',
        `there are ${this.#ids.size} networks, and no more than ${limit} are allowed: delete one, or have the limit raised`,
      );
  }

  /**
   * Ids by which a network has addresses in the masquerade subnets come first, and primary networks get others only where nodes have room for what
   * they are given instead: a subnet that is too small is found here, when the network comes, and not later on the nodes.
   */
  #allocateId(name: string, config: NetworkConfig): number {
    const subnets = config.role === 'primary' ? this.#masqueradeSubnets(config) : [];
    const [tightest] = subnets
      .map((subnet) => ({ subnet, room: maxMasqueradeNetworkId(subnet) }))
      .toSorted((a, b) => a.room - b.room);
    try {
      const id = this.#takeId(name, tightest?.room ?? MAX_NETWORK_ID);
      // An id that the network has brought along may be too large too.
      const number = id > LAST_FIXED_NETWORK_ID ? LAST_NODE_MASQUERADE : id;
      for (const subnet of subnets) masqueradeAddresses(subnet, number);
      return id;
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      const isFull = tightest === undefined || this.#ids.size >= MAX_NETWORK_ID;
      throw new AllocationError(
        error.code,
        isFull
          ? `${error.message}: all ${MAX_NETWORK_ID} network ids are in use, delete a network`
          : `${messageOfRoom(tightest.subnet, tightest.room)}: masquerade subnet ${formatPrefix(tightest.subnet)} has room for network ids up to ${tightest.room}, configure a larger one`,
        { cause: error },
      );
    }
  }

  #takeId(name: string, room: number): number {
    try {
      return this.#ids.allocate(name, Math.min(room, LAST_FIXED_NETWORK_ID));
    } catch (error) {
      if (!(error instanceof AllocationError) || room < LAST_NODE_MASQUERADE) throw error;
      return this.#ids.allocate(name);
    }
  }

  #masqueradeSubnets(config: NetworkConfig): readonly Prefix[] {
    const { masqueradeSubnets } = this.#options.settings;
    const families = new Set(config.subnets.map(({ cidr }) => parsePrefix(cidr)?.family));
    return [masqueradeSubnets.v4, masqueradeSubnets.v6]
      .map((cidr) => (cidr === undefined ? undefined : parsePrefix(cidr)))
      .filter((prefix) => prefix !== undefined)
      .filter(({ family }) => families.has(family));
  }
}

/** What the first id without addresses in the masquerade subnet runs into. */
function messageOfRoom(subnet: Prefix, room: number): string {
  try {
    masqueradeAddresses(subnet, room + 1);
  } catch (error) {
    if (error instanceof AllocationError) return error.message;
    throw error;
  }
  return `network id ${room + 1} has no masquerade addresses`;
}
