/** The networks that the NADs declare, with ids and tunnel keys: what every controller of the manager reads. In memory. */
import { AllocationError } from '../allocators/allocation-error.ts';
import { formatPrefix, parsePrefix, type Prefix } from '../allocators/addresses.ts';
import { IdAllocator, MAX_NETWORK_ID } from '../allocators/ids.ts';
import { masqueradeAddresses, maxMasqueradeNetworkId } from '../allocators/node-addresses.ts';
import { TunnelKeyAllocator } from '../allocators/tunnel-keys.ts';
import type { ClusterSettings } from '../model/model.ts';
import type { NetworkConfig } from '../api/network-config.ts';
import { compareAge } from './order.ts';
import { primaryConflict, type PrimaryNetwork } from './primary-networks.ts';

/** A NAD of ours that could be read. */
export interface RegisteredNad {
  /** `<namespace>/<name>`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly creationTimestamp: string;
  readonly ownerKind: string | undefined;
  readonly ownerUid: string | undefined;
  readonly config: NetworkConfig;
  /** What the NAD carries already. */
  readonly networkId: number | undefined;
  readonly tunnelKeys: readonly number[] | undefined;
}

export interface NetworkIdentity {
  readonly id: number;
  readonly tunnelKeys: readonly number[];
}

export interface RegisteredNetwork {
  readonly name: string;
  readonly config: NetworkConfig;
  /** NADs that stand for the network; the first one decides what the network is. */
  readonly nads: readonly RegisteredNad[];
}

/** Why a NAD doesn't count, by NAD key. */
export type RefusedNads = ReadonlyMap<string, string>;

export interface RegistryOptions {
  readonly settings: ClusterSettings;
  /** Networks that may exist at a time. */
  readonly limit: number;
  /** Why a second NAD of a network does not fit the first; undefined if it does. */
  readonly incompatibility: (first: NetworkConfig, other: NetworkConfig) => string | undefined;
}

/** OVN names hold neither `-` nor `/`: networks whose names differ only there would share objects (api.md §15, 24). */
const ovnPrefix = (network: string): string => network.replaceAll(/[-/]/g, '.');

/** NADs that carry an id come first: they were served before, whatever their timestamps say. */
export const compareNads = (a: RegisteredNad, b: RegisteredNad): number => {
  const [servedA, servedB] = [a.networkId !== undefined, b.networkId !== undefined];
  return servedA === servedB ? compareAge(a, b) : servedA ? -1 : 1;
};

export class NetworkRegistry {
  readonly #options: RegistryOptions;
  readonly #ids = new IdAllocator(1, MAX_NETWORK_ID);
  readonly #keys = new TunnelKeyAllocator();
  readonly #nads = new Map<string, RegisteredNad>();
  readonly #byNetwork = new Map<string, Set<string>>();
  readonly #byNamespace = new Map<string, Set<string>>();
  /** Networks by OVN prefix. */
  readonly #prefixes = new Map<string, string>();
  /** NADs that we wrote ourselves and that the informer has not shown yet. */
  readonly #ahead = new Set<string>();
  readonly #creating = new Map<string, number>();
  /** Networks whose NADs exist and can't be read, by NAD. */
  readonly #unreadable = new Map<string, string>();

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  /** Keys that are shared with connect routers. */
  get tunnelKeys(): TunnelKeyAllocator {
    return this.#keys;
  }

  nad(key: string): RegisteredNad | undefined {
    return this.#nads.get(key);
  }

  nads(): readonly RegisteredNad[] {
    return [...this.#nads.values()].toSorted(compareNads);
  }

  networkNames(): readonly string[] {
    return [...this.#byNetwork.keys()];
  }

  /**
   * Takes in what the informer shows of a NAD: `nad` undefined = gone or unreadable. Returns the networks that are
   * affected. An older life of a NAD that we have just written is left out.
   */
  observe(key: string, uid: string | undefined, nad: RegisteredNad | undefined): readonly string[] {
    const before = this.#nads.get(key);
    if (this.#ahead.has(key)) {
      if (uid !== before?.uid) return [];
      this.#ahead.delete(key);
    }
    return this.#set(key, nad);
  }

  /** Remembers that a NAD which stood for `network` can't be read at the moment; undefined = it can, or is gone. */
  markUnreadable(key: string, network: string | undefined): void {
    if (network === undefined) this.#unreadable.delete(key);
    else this.#unreadable.set(key, network);
  }

  /** True when a NAD stood for the network and is broken now: its allocations are kept until that is settled. */
  isUnreadable(network: string): boolean {
    return [...this.#unreadable.values()].includes(network);
  }

  /** Takes in a NAD that we have just created, before the informer shows it. */
  created(nad: RegisteredNad): readonly string[] {
    const affected = this.#set(nad.key, nad);
    this.#ahead.add(nad.key);
    return affected;
  }

  /** The network of that name; undefined when no NAD counts for it. */
  network(name: string): RegisteredNetwork | undefined {
    const { accepted } = this.#judge(name);
    const [first] = accepted;
    if (first === undefined) return undefined;
    // Layer3 networks grow by appended subnets: the longest list is the newest.
    const config = accepted.reduce(
      (longest, { config: one }) => (one.subnets.length > longest.subnets.length ? one : longest),
      first.config,
    );
    return { name, config, nads: accepted };
  }

  networks(): readonly RegisteredNetwork[] {
    return this.networkNames()
      .map((name) => this.network(name))
      .filter((network) => network !== undefined);
  }

  refusedNads(name: string): RefusedNads {
    return this.#judge(name).refused;
  }

  identityOf(name: string): NetworkIdentity | undefined {
    const id = this.#ids.idOf(name);
    return id === undefined ? undefined : { id, tunnelKeys: this.#keys.keysOf(name) };
  }

  /** Primary networks of a namespace, the first one first. */
  primariesOf(namespace: string): readonly RegisteredNad[] {
    return this.#primaries(namespace).accepted;
  }

  /** NADs that want to be a primary network of the namespace and can't, beside those that are. */
  refusedPrimariesOf(namespace: string): readonly string[] {
    return [...this.#primaries(namespace).refused.keys()];
  }

  /** Adopts the ids and keys that NADs carry. Returns what could not be adopted, by NAD key. */
  adopt(): ReadonlyMap<string, string> {
    const problems = new Map<string, string>();
    for (const nad of this.nads()) {
      const problem = this.#adoptNad(nad);
      if (problem !== undefined) problems.set(nad.key, problem);
    }
    return problems;
  }

  /**
   * Id and tunnel keys of a network: those that it has, those that its NADs carry, or free ones. Throws AllocationError
   * with what to do about it.
   */
  identify(name: string, config: NetworkConfig): NetworkIdentity {
    for (const nad of this.#nadsOf(name))
      if (this.#ids.idOf(name) === undefined) this.#adoptNad(nad);
    const known = this.#ids.idOf(name);
    if (known === undefined) {
      this.#checkPrefix(name);
      this.#checkLimit();
    }
    const id = this.#allocateId(name, config);
    try {
      const tunnelKeys = this.#keys.allocateForNetwork(name, id, tunnelKeyCount(config));
      this.#prefixes.set(ovnPrefix(name), name);
      return { id, tunnelKeys };
    } catch (error) {
      if (known === undefined) this.#ids.release(name);
      throw error;
    }
  }

  /** Keeps a network's id while a NAD of it is being created. */
  holdWhile<T>(name: string, create: () => Promise<T>): Promise<T> {
    this.#creating.set(name, (this.#creating.get(name) ?? 0) + 1);
    return create().finally(() => {
      const left = (this.#creating.get(name) ?? 1) - 1;
      if (left === 0) this.#creating.delete(name);
      else this.#creating.set(name, left);
    });
  }

  /** Gives id and keys of a network back unless a NAD stands for it. True if it did. */
  release(name: string): boolean {
    if (this.#creating.has(name) || this.network(name) !== undefined || this.isUnreadable(name))
      return false;
    if (this.#prefixes.get(ovnPrefix(name)) === name) this.#prefixes.delete(ovnPrefix(name));
    this.#keys.release(name);
    return this.#ids.release(name) !== undefined;
  }

  #set(key: string, nad: RegisteredNad | undefined): readonly string[] {
    const before = this.#nads.get(key);
    const affected = new Set(this.#networksNear(before));
    if (before !== undefined) {
      remove(this.#byNetwork, before.config.name, key);
      remove(this.#byNamespace, before.namespace, key);
    }
    this.#nads.delete(key);
    if (nad !== undefined) {
      this.#nads.set(key, nad);
      insert(this.#byNetwork, nad.config.name, key);
      insert(this.#byNamespace, nad.namespace, key);
    }
    for (const name of this.#networksNear(nad)) affected.add(name);
    return [...affected];
  }

  /** The NAD's network, and for a primary one the other primary networks of the namespace: they compete. */
  #networksNear(nad: RegisteredNad | undefined): readonly string[] {
    if (nad === undefined) return [];
    if (nad.config.role !== 'primary') return [nad.config.name];
    const near = this.#inNamespace(nad.namespace).filter(({ config }) => config.role === 'primary');
    return [nad.config.name, ...near.map(({ config }) => config.name)];
  }

  #judge(name: string): {
    readonly accepted: readonly RegisteredNad[];
    readonly refused: RefusedNads;
  } {
    const refused = new Map<string, string>();
    const accepted: RegisteredNad[] = [];
    for (const nad of this.#nadsOf(name)) {
      const why = this.#whyNot(nad, accepted[0]);
      if (why === undefined) accepted.push(nad);
      else refused.set(nad.key, why);
    }
    return { accepted, refused };
  }

  #whyNot(nad: RegisteredNad, first: RegisteredNad | undefined): string | undefined {
    const mismatch =
      first === undefined ? undefined : this.#options.incompatibility(first.config, nad.config);
    if (mismatch !== undefined)
      return `NAD ${nad.key} CNI config does not match that of network ${nad.config.name}: ${mismatch}`;
    return nad.config.role === 'primary'
      ? this.#primaries(nad.namespace).refused.get(nad.key)
      : undefined;
  }

  #primaries(namespace: string): {
    readonly accepted: readonly RegisteredNad[];
    readonly refused: RefusedNads;
  } {
    const refused = new Map<string, string>();
    const accepted: RegisteredNad[] = [];
    for (const nad of this.#inNamespace(namespace)) {
      if (nad.config.role !== 'primary') continue;
      const conflict = primaryConflict(
        namespace,
        accepted.map(primaryNetworkOf),
        primaryNetworkOf(nad),
      );
      if (conflict === undefined) accepted.push(nad);
      else
        refused.set(
          nad.key,
          `NAD ${accepted[0]?.key ?? ''} is primary for the namespace, NAD ${nad.key} can't be primary: ${conflict.message}`,
        );
    }
    return { accepted, refused };
  }

  #nadsOf(name: string): readonly RegisteredNad[] {
    return this.#sorted(this.#byNetwork.get(name));
  }

  #inNamespace(namespace: string): readonly RegisteredNad[] {
    return this.#sorted(this.#byNamespace.get(namespace));
  }

  #sorted(keys: ReadonlySet<string> | undefined): readonly RegisteredNad[] {
    return [...(keys ?? [])]
      .map((key) => this.#nads.get(key))
      .filter((nad) => nad !== undefined)
      .toSorted(compareNads);
  }

  #adoptNad({ config, networkId, tunnelKeys }: RegisteredNad): string | undefined {
    if (networkId === undefined) return undefined;
    const { name } = config;
    try {
      const holder = this.#prefixes.get(ovnPrefix(name));
      if (holder !== undefined && holder !== name) this.#checkPrefix(name);
      this.#ids.reserve(name, networkId);
      this.#prefixes.set(ovnPrefix(name), name);
      const wanted = (tunnelKeys ?? []).slice(0, tunnelKeyCount(config));
      if (wanted.length > 0 && this.#keys.keysOf(name).length === 0)
        this.#keys.reserve(name, wanted);
      return undefined;
    } catch (error) {
      if (error instanceof AllocationError) return error.message;
      throw error;
    }
  }

  #checkPrefix(name: string): void {
    const other = this.#prefixes.get(ovnPrefix(name));
    if (other !== undefined && other !== name)
      throw new AllocationError(
        'taken',
        `network ${name} would share its OVN objects with network ${other} (both become "${ovnPrefix(name)}"): choose a name that differs in more than "-" and "."`,
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
   * Primary networks get ids that the masquerade subnets have room for: a subnet that is too small is found here, when the
   * network comes, and not later on the nodes.
   */
  #allocateId(name: string, config: NetworkConfig): number {
    const subnets = config.role === 'primary' ? this.#masqueradeSubnets(config) : [];
    const [tightest] = subnets
      .map((subnet) => ({ subnet, room: maxMasqueradeNetworkId(subnet) }))
      .toSorted((a, b) => a.room - b.room);
    try {
      const id = this.#ids.allocate(name, tightest?.room);
      // An id that the network has brought along may be too large too.
      for (const subnet of subnets) masqueradeAddresses(subnet, id);
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

  #masqueradeSubnets(config: NetworkConfig): readonly Prefix[] {
    const { masqueradeSubnets } = this.#options.settings;
    const families = new Set(config.subnets.map(({ cidr }) => parsePrefix(cidr)?.family));
    return [masqueradeSubnets.v4, masqueradeSubnets.v6]
      .map((cidr) => (cidr === undefined ? undefined : parsePrefix(cidr)))
      .filter((prefix) => prefix !== undefined && families.has(prefix.family))
      .filter((prefix) => prefix !== undefined);
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

/** Keys that are stored for a network: the transit switch's follows from the id (api.md §6.7). */
const tunnelKeyCount = ({ topology, role }: Pick<NetworkConfig, 'topology' | 'role'>): number =>
  topology === 'layer2' && role === 'primary' ? 2 : 0;

// Networks that exist are not judged by selectors again: those may change while pods use the networks.
const primaryNetworkOf = ({ key, config, ownerKind }: RegisteredNad): PrimaryNetwork => ({
  nad: key,
  network: config.name,
  ownerKind:
    ownerKind === 'UserDefinedNetwork' || ownerKind === 'ClusterUserDefinedNetwork'
      ? ownerKind
      : undefined,
  subnets: config.subnets
    .map(({ cidr }) => parsePrefix(cidr))
    .filter((prefix) => prefix !== undefined),
  namespaceSelector: {},
});

function insert(index: Map<string, Set<string>>, value: string, key: string): void {
  const keys = index.get(value) ?? new Set<string>();
  index.set(value, keys.add(key));
}

function remove(index: Map<string, Set<string>>, value: string, key: string): void {
  const keys = index.get(value);
  keys?.delete(key);
  if (keys?.size === 0) index.delete(value);
}
