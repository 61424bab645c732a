/** Which nodes use which networks: as their pods say at once, and as the nodes report for whatever other reason. In memory. */
import type { ZoneStatus } from '../../api/zone-status.ts';

/** A network on a node. */
export type NetworkOnNode = readonly [node: string, network: string];

/** Networks that a node reports to use; undefined: it has not told yet. */
export const networksInReport = (zone: ZoneStatus | undefined): readonly string[] | undefined =>
  zone?.status?.networks?.filter(({ state }) => state !== 'Unused').map(({ name }) => name);

const NONE: ReadonlySet<string> = new Set();

export class NetworkUses {
  /** Networks of each pod that is on a node. */
  readonly #pods = new Map<
    string,
    { readonly node: string; readonly networks: readonly string[] }
  >();
  /** How many pods of a node are on a network. */
  readonly #counts = new Map<string, Map<string, number>>();
  /** What the daemon of a node reported to use; nodes without a report are not here. */
  readonly #reported = new Map<string, readonly string[]>();
  /** Nodes by the networks that they reported. */
  readonly #reporters = new Map<string, Set<string>>();
  readonly #users = new Map<string, Set<string>>();
  #arePodsKnown = false;

  /** From now on every pod has been looked at: what no pod uses is not used by any. */
  podsKnown(): void {
    this.#arePodsKnown = true;
  }

  /** Networks of a pod, all of them; without a node none. Returns where that may have changed something. */
  setPod(pod: string, node: string | undefined, networks: readonly string[]): NetworkOnNode[] {
    const before = this.#pods.get(pod);
    const after = node === undefined || networks.length === 0 ? undefined : { node, networks };
    if (after === undefined) this.#pods.delete(pod);
    else this.#pods.set(pod, after);
    // Those that stay are counted first, so that they are never at none.
    return [...this.#count(after, 1), ...this.#count(before, -1)];
  }

  /** Networks that a node reported to use; undefined: nothing is known. Returns where that may have changed something. */
  setReport(node: string, networks: readonly string[] | undefined): NetworkOnNode[] {
    const before = new Set(this.#reported.get(node));
    const after = new Set(networks);
    if (networks === undefined) this.#reported.delete(node);
    else this.#reported.set(node, networks);
    const changed = before.symmetricDifference(after);
    for (const network of changed) {
      const reporters = this.#reporters.get(network) ?? new Set<string>();
      if (after.has(network)) reporters.add(node);
      else reporters.delete(node);
      if (reporters.size === 0) this.#reporters.delete(network);
      else this.#reporters.set(network, reporters);
    }
    return [...changed].map((network) => [node, network]);
  }

  /** True for a node that has told what it uses. */
  hasReport(node: string): boolean {
    return this.#reported.has(node);
  }

  has(node: string, network: string): boolean {
    return (
      this.#users.get(network)?.has(node) === true ||
      this.#reporters.get(network)?.has(node) === true
    );
  }

  /** True where the node itself says that nothing uses the network, and no pod does: what is not known is no reason to take anything away. */
  isUnused(node: string, network: string): boolean {
    return this.#arePodsKnown && this.#reported.has(node) && !this.has(node, network);
  }

  nodesOf(network: string): ReadonlySet<string> {
    return (this.#users.get(network) ?? NONE).union(this.#reporters.get(network) ?? NONE);
  }

  networksOf(node: string): ReadonlySet<string> {
    return new Set(this.#counts.get(node)?.keys()).union(new Set(this.#reported.get(node)));
  }

  *#count(
    pod: { readonly node: string; readonly networks: readonly string[] } | undefined,
    by: 1 | -1,
  ): Iterable<NetworkOnNode> {
    if (pod === undefined) return;
    const { node, networks } = pod;
    const counts = this.#counts.get(node) ?? new Map<string, number>();
    this.#counts.set(node, counts);
    for (const network of networks) {
      const count = (counts.get(network) ?? 0) + by;
      if (count > 0) counts.set(network, count);
      else counts.delete(network);
      const users = this.#users.get(network) ?? new Set<string>();
      if (count > 0) users.add(node);
      else users.delete(node);
      if (users.size === 0) this.#users.delete(network);
      else this.#users.set(network, users);
      if ((by === 1 && count === 1) || count === 0) yield [node, network];
    }
    if (counts.size === 0) this.#counts.delete(node);
  }
}
