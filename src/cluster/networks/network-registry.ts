/** The networks that the NADs declare, with ids and tunnel keys: what every controller of the manager reads. In memory. */
import { parsePrefix } from '../../allocators/addresses.ts';
import type { TunnelKeyAllocator } from '../../allocators/tunnel-keys.ts';
import type { NetworkConfig } from '../../api/nad/network-config.ts';
import type { ClusterSettings } from '../../model/model.ts';
import { NetworkIdentities, type NetworkIdentity } from './network-identities.ts';
import { primaryConflict, type PrimaryNetwork } from './primary-networks.ts';
import { compareNads, type RegisteredNad } from './registered-nad.ts';

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

export class NetworkRegistry {
  readonly #options: RegistryOptions;
  readonly #identities: NetworkIdentities;
  readonly #nads = new Map<string, RegisteredNad>();
  readonly #byNetwork = new Map<string, Set<string>>();
  readonly #byNamespace = new Map<string, Set<string>>();
  /** NADs that we wrote ourselves and that the informer has not shown yet. */
  readonly #ahead = new Set<string>();
  readonly #creating = new Map<string, number>();
  /** Networks whose NADs exist and can't be read, by NAD. */
  readonly #unreadable = new Map<string, string>();

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#identities = new NetworkIdentities(options);
  }

  /** Keys that are shared with connect routers. */
  get tunnelKeys(): TunnelKeyAllocator {
    return this.#identities.tunnelKeys;
  }

  /** The NAD of that key, whether or not it counts for its network. */
  nad(key: string): RegisteredNad | undefined {
    return this.#nads.get(key);
  }

  /** Every NAD that could be read: those that were served before come first, then the older ones. */
  nads(): readonly RegisteredNad[] {
    return [...this.#nads.values()].toSorted(compareNads);
  }

  /** Names of the networks that NADs ask for, whether or not one of them counts. */
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

  /** The networks that have a NAD that counts. */
  networks(): readonly RegisteredNetwork[] {
    return this.networkNames()
      .map((name) => this.network(name))
      .filter((network) => network !== undefined);
  }

  /** The NADs of a network that don't count, with the reason. */
  refusedNads(name: string): RefusedNads {
    return this.#judge(name).refused;
  }

  /** Id and tunnel keys that a network has; undefined while it has none. */
  identityOf(name: string): NetworkIdentity | undefined {
    return this.#identities.of(name);
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
      const problem = this.#identities.adopt(nad);
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
      if (this.#identities.of(name) === undefined) this.#identities.adopt(nad);
    return this.#identities.give(name, config);
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
    return this.#identities.release(name);
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
}

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
