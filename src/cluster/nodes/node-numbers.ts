/** Which networks have a masquerade number on which nodes: those that need one, where something uses them. In memory. */
import { LAST_FIXED_NETWORK_ID } from '../../allocators/ids.ts';
import {
  formatMasqueradeNumbers,
  MASQUERADE_NUMBERS,
  masqueradeNumbers,
} from '../../api/annotations/node-annotations.ts';
import type { Node } from '../../api/types.ts';
import type { NetworkRegistry } from '../networks/network-registry.ts';
import { MasqueradeNumbers } from './masquerade-numbers.ts';
import type { NetworkUses } from './network-uses.ts';

export interface NodeNumbersOptions {
  readonly registry: NetworkRegistry;
  readonly uses: NetworkUses;
}

export class NodeNumbers {
  readonly #options: NodeNumbersOptions;
  readonly #numbers = new MasqueradeNumbers();

  constructor(options: NodeNumbersOptions) {
    this.#options = options;
  }

  /** Gives the network its number on a node, or takes back what nothing there uses; true when the node has to be written. */
  settle(node: string, network: string): boolean {
    const { registry, uses } = this.#options;
    if (registry.isUnreadable(network)) return false;
    if (!this.#isNeeded(network)) return this.#numbers.take(node, network);
    if (uses.has(node, network)) return this.#numbers.give(node, network);
    return uses.isUnused(node, network) && this.#numbers.take(node, network);
  }

  /** The same for a network on all nodes; returns those that have to be written. */
  settleOnNodes(network: string): readonly string[] {
    const nodes = this.#options.uses.nodesOf(network);
    return [...nodes.union(new Set(this.#numbers.nodesOf(network)))].filter((node) =>
      this.settle(node, network),
    );
  }

  /** Adopts what a node carries, and gives what is missing. */
  settleAll(node: Node): void {
    const { name } = node.metadata;
    const carried = masqueradeNumbers(node).value ?? new Map<string, number>();
    if (carried.size > 0) this.#numbers.adopt(name, carried);
    for (const network of this.#options.uses.networksOf(name).union(carried))
      this.settle(name, network);
  }

  forgetNode(node: string): void {
    this.#numbers.forgetNode(node);
  }

  networksOf(node: string): Iterable<string> {
    return this.#numbers.numbersOf(node)?.keys() ?? [];
  }

  /** The annotation as it should be. An empty one stays where there was one: a node that finds none keeps what it had. */
  text({ metadata: { name, annotations = {} } }: Node): string | null {
    const numbers = this.#numbers.numbersOf(name) ?? new Map<string, number>();
    return numbers.size === 0 && annotations[MASQUERADE_NUMBERS] === undefined
      ? null
      : formatMasqueradeNumbers(numbers);
  }

  /** Networks that find no number, with what to do, by node. */
  problems(): Iterable<readonly [node: string, message: string]> {
    return this.#numbers.problems();
  }

  /** True for a network that has no addresses of its own on a node by its id, and needs some there. */
  #isNeeded(name: string): boolean {
    const { registry } = this.#options;
    const network = registry.network(name);
    return (
      (registry.identityOf(name)?.id ?? 0) > LAST_FIXED_NETWORK_ID &&
      (network?.config.role === 'primary' ||
        network?.nads.some((nad) => nad.secondaryGateway !== undefined) === true)
    );
  }
}
