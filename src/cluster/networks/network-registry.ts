/** The networks that the NADs declare, with ids and tunnel keys: what every controller of the manager reads. In memory. */
import type { TunnelKeyAllocator } from '../../allocators/tunnel-keys.ts';
import { NadRegistry } from '../../api/nad/nad-registry.ts';
import type { NetworkConfig, SubnetEntry } from '../../api/nad/network-config.ts';
import type { RegisteredNad } from '../../api/nad/registered-nad.ts';
import type { ClusterSettings } from '../../model/model.ts';
import { NetworkIdentities, type NetworkIdentity } from './network-identities.ts';

export interface RegistryOptions {
  readonly settings: ClusterSettings;
  /** Networks that may exist at a time. */
  readonly limit: number;
  /** A network that comes when there are so many is on demand. */
  readonly preallocated: number;
}

/** NADs as the manager sees them: those of the informer, and those that it has just written. */
export class NetworkRegistry extends NadRegistry {
  readonly #identities: NetworkIdentities;
  /** NADs that we wrote ourselves and that the informer has not shown yet. */
  readonly #ahead = new Set<string>();
  /** NADs that we are about to write. */
  readonly #reserved = new Set<string>();
  /** Networks whose NADs exist and can't be read, by NAD. */
  readonly #unreadable = new Map<string, string>();
  #onFreed: (namespace: string) => void = () => undefined;
  /** Ranges that networks may have, whether or not their NADs show them yet. */
  readonly #granted = new Map<string, readonly SubnetEntry[]>();

  constructor(options: RegistryOptions) {
    super();
    this.#identities = new NetworkIdentities(options);
  }

  /** Calls `listener` with the namespace when a NAD there is gone or another one, and whoever asks here is told so. */
  onFreed(listener: (namespace: string) => void): void {
    this.#onFreed = listener;
  }

  #replace(key: string, nad: RegisteredNad | 'other' | undefined): readonly string[] {
    const before = this.nad(key);
    const affected = this.set(key, nad);
    if (before !== undefined) this.#onFreed(before.namespace);
    return affected;
  }

  /** Keys that are shared with connect routers. */
  get tunnelKeys(): TunnelKeyAllocator {
    return this.#identities.tunnelKeys;
  }

  /**
   * Takes in what the informer shows of a NAD: `nad` undefined = gone or unreadable, `other` = of another plugin. Returns the networks that are
   * affected. An older life of a NAD that we have just written is left out.
   */
  observe(
    key: string,
    uid: string | undefined,
    nad: RegisteredNad | 'other' | undefined,
  ): readonly string[] {
    this.#reserved.delete(key);
    if (this.#ahead.has(key)) {
      if (uid !== this.nad(key)?.uid) return [];
      this.#ahead.delete(key);
    }
    return this.#replace(key, nad);
  }

  /** Takes in a NAD that we are about to create: what is decided meanwhile counts with it. */
  reserve(nad: RegisteredNad): void {
    this.set(nad.key, nad);
    this.#reserved.add(nad.key);
  }

  /** True for a NAD that is about to be created. */
  isReserved(key: string): boolean {
    return this.#reserved.has(key);
  }

  override isServed(nad: RegisteredNad): boolean {
    return super.isServed(nad) && !this.isReserved(nad.key);
  }

  /** Takes out a NAD that could not be created, unless it is there all the same; its network's id is free then. */
  unreserve(key: string): void {
    if (!this.#reserved.delete(key)) return;
    const name = this.nad(key)?.config.name;
    this.set(key, undefined);
    if (name !== undefined) this.release(name);
  }

  /** Takes in a NAD that we have just created, before the informer shows it. */
  created(nad: RegisteredNad): readonly string[] {
    // The informer may have shown it before the write was answered.
    if (this.nad(nad.key)?.uid !== nad.uid) this.#ahead.add(nad.key);
    this.#reserved.delete(nad.key);
    return this.set(nad.key, nad);
  }

  /** Takes out a NAD that we removed before the informer showed it. Returns the networks that are affected. */
  removed(key: string, uid: string | undefined): readonly string[] {
    if (!this.#ahead.has(key) || this.nad(key)?.uid !== uid) return [];
    this.#ahead.delete(key);
    return this.#replace(key, undefined);
  }

  /**
   * Remembers that a NAD which stood for `network` can't be read at the moment; undefined = it can, or is gone. Returns the networks
   * for which that is a change.
   */
  markUnreadable(key: string, network: string | undefined): readonly string[] {
    const before = this.#unreadable.get(key);
    if (before === network) return [];
    if (network === undefined) this.#unreadable.delete(key);
    else this.#unreadable.set(key, network);
    return [before, network].filter((name) => name !== undefined);
  }

  /** True when a NAD stood for the network and is broken now: its allocations are kept until that is settled. */
  isUnreadable(network: string): boolean {
    return [...this.#unreadable.values()].includes(network);
  }

  /** True when a NAD of the namespace stood for a network and is broken now: what the namespace's network is stays open until that is settled. */
  isUnreadableIn(namespace: string): boolean {
    return [...this.#unreadable.keys()].some((key) => key.startsWith(`${namespace}/`));
  }

  /** Id and tunnel keys that a network has; undefined while it has none. */
  identityOf(name: string): NetworkIdentity | undefined {
    return this.#identities.of(name);
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
    for (const nad of this.ofNetwork(name))
      if (this.#identities.of(name) === undefined) this.#identities.adopt(nad);
    return this.#identities.allocate(name, config);
  }

  /** Ranges that the network may have, as it was last decided; empty until then. */
  grantedTo(name: string): readonly SubnetEntry[] {
    return this.#granted.get(name) ?? [];
  }

  /** Lets the network have these ranges and no others: nobody beside it gets them from now on. */
  grant(name: string, subnets: readonly SubnetEntry[]): void {
    if (subnets.length === 0) this.#granted.delete(name);
    else this.#granted.set(name, subnets);
  }

  /** Gives id and keys of a network back unless a NAD stands for it. True if it did. */
  release(name: string): boolean {
    if (this.network(name) !== undefined || this.isUnreadable(name)) return false;
    this.#granted.delete(name);
    return this.#identities.release(name);
  }
}
