import { containsAddress, type Address } from '../../allocators/addresses.ts';
import type { EgressNode } from '../../allocators/egress-addresses.ts';
import { matchesSelector } from '../../api/selectors.ts';
import type { LabelSelector, Node } from '../../api/types.ts';
import type { AbsentDaemon } from '../nodes/node-heartbeats.ts';
import { egressNodeFacts, egressNodeTexts, whyDown, type EgressNodeFacts } from './egress-nodes.ts';
import { hasLetGo, isLost, type Reachability } from './egress-reachability.ts';

export interface KnownEgressNodesOptions {
  /** False where EgressIPs are off: no node has addresses then. */
  readonly isOn: boolean;
  /** Whether nobody does what the manager asks of a node. */
  readonly absentDaemon: (node: string) => AbsentDaemon | undefined;
  /** The process that was the daemon of a node last. */
  readonly daemonOf: (node: string) => string | undefined;
  readonly reach: (node: string) => Reachability;
}

/** Nodes as places for the addresses of EgressIPs: what each says of itself, and whether it is well. */
export class KnownEgressNodes {
  readonly #options: KnownEgressNodesOptions;
  readonly #nodes = new Map<string, { readonly texts: string; readonly facts: EgressNodeFacts }>();

  constructor(options: KnownEgressNodesOptions) {
    this.#options = options;
  }

  /** True if it is another place to leave by than it was; undefined: it is gone. */
  take(name: string, node: Node | undefined): boolean {
    const texts = node && egressNodeTexts(node);
    if (texts === this.#nodes.get(name)?.texts) return false;
    if (node === undefined || texts === undefined) this.#nodes.delete(name);
    else this.#nodes.set(name, { texts, facts: egressNodeFacts(node) });
    return true;
  }

  factsOf(name: string): EgressNodeFacts | undefined {
    return this.#nodes.get(name)?.facts;
  }

  all(): readonly EgressNodeFacts[] {
    return [...this.#nodes.values()].map(({ facts }) => facts);
  }

  selectedBy(selector: LabelSelector): ReadonlySet<string> {
    const found = this.all().filter(({ labels }) => matchesSelector(selector, labels));
    return new Set(found.map(({ name }) => name));
  }

  /** Nodes that may have addresses. */
  places(): readonly EgressNode[] {
    return this.#options.isOn ? this.all().flatMap((facts) => this.#placeOf(facts) ?? []) : [];
  }

  #placeOf(facts: EgressNodeFacts): EgressNode | undefined {
    const { name, networks, isReady, isDraining } = facts;
    const reach = this.#options.reach(name);
    if (!isReady || !(reach === 'reached' || reach === 'unknown')) return undefined;
    return {
      name,
      networks,
      takesMore: reach === 'reached',
      isDraining,
      isDownFor: (address) => this.whyDown(name, address) !== undefined,
    };
  }

  /** Nodes that answer for each address. Who is not ready, and has nobody who would do what is asked, is not asked; nor who has let go by himself. */
  answering(): ReadonlyMap<string, readonly string[]> {
    const { absentDaemon, reach } = this.#options;
    const nodesOf = new Map<string, string[]>();
    for (const { name, isReady, answersFor } of this.all())
      if ((isReady || absentDaemon(name) === undefined) && !hasLetGo(reach(name)))
        for (const address of answersFor)
          nodesOf.set(address, [...(nodesOf.get(address) ?? []), name]);
    return nodesOf;
  }

  /** Whether a node does what it is asked. */
  workOf(name: string): 'working' | 'away' | 'lost' {
    const { absentDaemon, reach } = this.#options;
    if (!this.#nodes.has(name) || isLost(reach(name))) return 'lost';
    return reach(name) === 'reached' && absentDaemon(name) === undefined ? 'working' : 'away';
  }

  /** Why nothing with an address leaves a node. */
  whyDown(name: string, address: Address): string | undefined {
    const facts = this.factsOf(name);
    return facts && whyDown(facts, address, this.#options.daemonOf(name));
  }

  /** Why a node has an address no more; `selected`: the nodes of its EgressIP. */
  whyLeft(
    node: string,
    address: Address | undefined,
    selected: ReadonlySet<string>,
  ): string | undefined {
    const facts = this.factsOf(node);
    if (facts === undefined) return `node ${node} is deleted`;
    if (!facts.isReady) return `node ${node} is not ready`;
    const reach = this.#options.reach(node);
    if (reach === 'fenced') return `the daemon of node ${node} is away`;
    if (isLost(reach)) return `node ${node} is not reached`;
    if (!selected.has(node)) return `the EgressIP selects node ${node} no more`;
    if (address !== undefined && !facts.networks.some((one) => containsAddress(one, address)))
      return `node ${node} is in no network with it any more`;
    const down = address && this.whyDown(node, address);
    if (down !== undefined) return `node ${node}: ${down}`;
    return facts.isDraining ? `node ${node} is cordoned` : undefined;
  }
}
