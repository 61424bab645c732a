/**
 * Which NADs stand for a network, with which configuration, and why others do not: the one decision that the cluster manager and
 * the nodes share (reference/api.md §3.4, §8). Nodes put in only NADs that carry a network id; those come first for the manager, too, so
 * that both decide alike.
 */
import { parsePrefix } from '../../allocators/addresses.ts';
import { incompatibility } from './nad.ts';
import type { NetworkConfig } from './network-config.ts';
import { primaryConflict, type PrimaryNetwork } from './primary-networks.ts';
import { compareNads, type RegisteredNad } from './registered-nad.ts';

export interface RegisteredNetwork {
  readonly name: string;
  readonly config: NetworkConfig;
  /** Id that the first NAD carries. */
  readonly id: number | undefined;
  /** NADs that stand for the network; the first one decides what the network is. */
  readonly nads: readonly RegisteredNad[];
}

/** Why a NAD doesn't count, by NAD key. */
export type RefusedNads = ReadonlyMap<string, string>;

interface Verdict {
  readonly accepted: readonly RegisteredNad[];
  readonly refused: RefusedNads;
}

/** Called when a NAD is another one or gone, with the networks whose decision may change. */
type NadListener = (key: string, networks: readonly string[]) => void;

export class NadRegistry {
  readonly #nads = new Map<string, RegisteredNad>();
  readonly #byNetwork = new Map<string, Set<string>>();
  readonly #byNamespace = new Map<string, Set<string>>();
  /** Verdicts on networks and on the primary networks of namespaces, until one of their NADs changes. */
  readonly #verdicts = new Map<string, Verdict>();
  readonly #primaries = new Map<string, Verdict>();
  /** NADs of other plugins. */
  readonly #others = new Set<string>();
  readonly #listeners = new Set<NadListener>();

  /** The NAD of that key, whether or not it counts for its network. */
  nad(key: string): RegisteredNad | undefined {
    return this.#nads.get(key);
  }

  /** True for a NAD of another plugin. */
  isOther(key: string): boolean {
    return this.#others.has(key);
  }

  /** True for a NAD whose network has an id: pods may be on it if it counts. */
  isServed({ networkId }: RegisteredNad): boolean {
    return networkId !== undefined;
  }

  onChange(listener: NadListener): void {
    this.#listeners.add(listener);
  }

  /** Every NAD: those that were served before come first, then the older ones. */
  nads(): readonly RegisteredNad[] {
    return [...this.#nads.values()].toSorted(compareNads);
  }

  /** Every NAD of a namespace in the same order. */
  inNamespace(namespace: string): readonly RegisteredNad[] {
    return this.#sorted(this.#byNamespace.get(namespace));
  }

  /** Every NAD that asks for a network in the same order, whether or not it counts. */
  ofNetwork(name: string): readonly RegisteredNad[] {
    return this.#sorted(this.#byNetwork.get(name));
  }

  /** Keys of the NADs that ask for a network, in no order. */
  keysOf(network: string): readonly string[] {
    return [...(this.#byNetwork.get(network) ?? [])];
  }

  /** Names of the networks that NADs ask for, whether or not one of them counts. */
  networkNames(): readonly string[] {
    return [...this.#byNetwork.keys()];
  }

  /** Puts in the NAD, or takes it out. Returns the names of the networks whose decision may change. */
  set(key: string, found: RegisteredNad | 'other' | undefined): readonly string[] {
    const nad = found === 'other' ? undefined : found;
    if (found === 'other') this.#others.add(key);
    else this.#others.delete(key);
    const before = this.#nads.get(key);
    const affected = new Set(this.#networksNear(before));
    if (before !== undefined) {
      remove(this.#byNetwork, before.config.name, key);
      remove(this.#byNamespace, before.namespace, key);
      this.#primaries.delete(before.namespace);
    }
    this.#nads.delete(key);
    if (nad !== undefined) {
      this.#nads.set(key, nad);
      insert(this.#byNetwork, nad.config.name, key);
      insert(this.#byNamespace, nad.namespace, key);
      this.#primaries.delete(nad.namespace);
    }
    for (const name of this.#networksNear(nad)) affected.add(name);
    for (const name of affected) this.#verdicts.delete(name);
    const networks = [...affected];
    for (const listener of this.#listeners) listener(key, networks);
    return networks;
  }

  /** The network of that name; undefined when no NAD counts for it. */
  network(name: string): RegisteredNetwork | undefined {
    const { accepted } = this.#verdictOn(name);
    const [first] = accepted;
    if (first === undefined) return undefined;
    return { name, config: longest(accepted, first), id: first.networkId, nads: accepted };
  }

  /** The networks that have a NAD that counts. */
  networks(): readonly RegisteredNetwork[] {
    return this.networkNames()
      .map((name) => this.network(name))
      .filter((network) => network !== undefined);
  }

  /** The NADs of a network that don't count, with the reason. */
  refusedNads(name: string): RefusedNads {
    return this.#verdictOn(name).refused;
  }

  /** True for a NAD that stands for its network. */
  counts(nad: RegisteredNad): boolean {
    return !this.refusedNads(nad.config.name).has(nad.key);
  }

  /** Primary networks of a namespace, the first one first. */
  primariesOf(namespace: string): readonly RegisteredNad[] {
    return this.#primariesIn(namespace).accepted;
  }

  /** NADs that want to be a primary network of the namespace and can't, beside those that are. */
  refusedPrimariesOf(namespace: string): readonly string[] {
    return [...this.#primariesIn(namespace).refused.keys()];
  }

  /** The NAD's network, and for a primary one the other primary networks of the namespace: they compete. */
  #networksNear(nad: RegisteredNad | undefined): readonly string[] {
    if (nad === undefined) return [];
    const names = [nad.config.name];
    if (nad.config.role !== 'primary') return names;
    for (const key of this.#byNamespace.get(nad.namespace) ?? []) {
      const config = this.#nads.get(key)?.config;
      if (config?.role === 'primary') names.push(config.name);
    }
    return names;
  }

  #verdictOn(name: string): Verdict {
    const known = this.#verdicts.get(name);
    if (known !== undefined) return known;
    const refused = new Map<string, string>();
    const accepted: RegisteredNad[] = [];
    for (const nad of this.ofNetwork(name)) {
      const why = this.#whyNot(nad, accepted);
      if (why === undefined) accepted.push(nad);
      else refused.set(nad.key, why);
    }
    const verdict = { accepted, refused };
    if (this.#byNetwork.has(name)) this.#verdicts.set(name, verdict);
    return verdict;
  }

  #whyNot(nad: RegisteredNad, accepted: readonly RegisteredNad[]): string | undefined {
    const [first] = accepted;
    if (first !== undefined) {
      const mismatch =
        incompatibility(first.config, nad.config) ??
        (isGrowth(longest(accepted, first), nad.config) ? undefined : 'subnets');
      if (mismatch !== undefined)
        return `NAD ${nad.key} CNI config does not match that of network ${nad.config.name}: ${mismatch}, which NAD ${first.key} has otherwise: make it equal, or give the network another name`;
    }
    return nad.config.role === 'primary'
      ? this.#primariesIn(nad.namespace).refused.get(nad.key)
      : undefined;
  }

  #primariesIn(namespace: string): Verdict {
    const known = this.#primaries.get(namespace);
    if (known !== undefined) return known;
    const refused = new Map<string, string>();
    const accepted: RegisteredNad[] = [];
    for (const nad of this.inNamespace(namespace)) {
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
    const verdict = { accepted, refused };
    if (this.#byNamespace.has(namespace)) this.#primaries.set(namespace, verdict);
    return verdict;
  }

  #sorted(keys: ReadonlySet<string> | undefined): readonly RegisteredNad[] {
    return [...(keys ?? [])]
      .map((key) => this.#nads.get(key))
      .filter((nad) => nad !== undefined)
      .toSorted(compareNads);
  }
}

/** Layer3 networks grow by appended subnets: the longest list is the newest. */
const longest = (nads: readonly RegisteredNad[], first: RegisteredNad): NetworkConfig =>
  nads.reduce(
    (most, { config }) => (config.subnets.length > most.subnets.length ? config : most),
    first.config,
  );

/** True when one of the two has all subnets of the other. */
function isGrowth(a: NetworkConfig, b: NetworkConfig): boolean {
  const texts = ({ subnets }: NetworkConfig): ReadonlySet<string> =>
    new Set(subnets.map(({ cidr, hostLength }) => `${cidr}/${hostLength ?? ''}`));
  const [ofA, ofB] = [texts(a), texts(b)];
  return ofA.isSubsetOf(ofB) || ofB.isSubsetOf(ofA);
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
