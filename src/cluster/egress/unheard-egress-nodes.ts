import type { EgressIP } from '../../api/types.ts';
import type { Clock } from '../../store/clock.ts';
import type { AbsentDaemon } from '../nodes/node-heartbeats.ts';
import type { EgressDecision, EgressDecisions } from './egress-decisions.ts';
import { unheardNode, type EgressProblem, type UnheardNode } from './egress-ip-outcome.ts';

/** Milliseconds without a daemon after which owners of a node's addresses are told: a restart, or an update, takes less. */
const UNHEARD = 60_000;

export interface UnheardEgressNodesOptions {
  readonly decisions: EgressDecisions;
  readonly absentDaemon: (node: string) => AbsentDaemon | undefined;
  /** Milliseconds since the daemon of a node was heard last. */
  readonly unheardFor: (node: string) => number | undefined;
  /** Whether what a node has at its bridge ends without its daemon. */
  readonly hasFence: (node: string) => boolean;
  readonly clock: Clock;
}

/** Addresses at nodes without a daemon: nobody there does what is decided. */
export class UnheardEgressNodes {
  readonly #options: UnheardEgressNodesOptions;

  constructor(options: UnheardEgressNodesOptions) {
    this.#options = options;
  }

  /** What is wrong with an object for want of daemons. */
  problemsOf(egressIp: EgressIP): readonly EgressProblem[] {
    const decision = this.#options.decisions.of(egressIp.metadata.name);
    if (decision === undefined) return [];
    return this.#of(decision)
      .filter(({ node }) => this.#isUnheard(node))
      .map((one) => unheardNode(egressIp, one));
  }

  /** When a node that has addresses of an object, and no daemon, will have been without it for long enough to say so. */
  toldAt(decision: EgressDecision): number {
    const { clock, unheardFor } = this.#options;
    const waits = this.#of(decision)
      .filter(({ node }) => !this.#isUnheard(node))
      .map(({ node }) => UNHEARD - (unheardFor(node) ?? 0));
    return clock.monotonic() + Math.min(...waits, Infinity);
  }

  /** How many addresses each node keeps whose daemon has not been heard for a minute. */
  counts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const decision of this.#options.decisions.all().values())
      for (const { node, addresses } of this.#of(decision))
        if (this.#isUnheard(node)) counts.set(node, (counts.get(node) ?? 0) + addresses.length);
    return counts;
  }

  #of({ assignment, moves }: EgressDecision): readonly UnheardNode[] {
    const { decisions, absentDaemon, hasFence } = this.#options;
    const { items, unassigned } = assignment;
    // A node is to let go of them, and nobody can ask it.
    const leaving = [
      ...moves.flatMap(({ from, address, step }) =>
        step === 'switch' ? { node: from, address } : [],
      ),
      ...[...unassigned].flatMap(([address, why]) =>
        why.kind === 'leaving' && !items.some((item) => item.address === address)
          ? { node: why.from, address }
          : [],
      ),
    ];
    return [...Map.groupBy([...items, ...leaving], ({ node }) => node)].flatMap(([node, all]) => {
      const since = absentDaemon(node)?.message;
      const addresses = [...new Set(all.map(({ address }) => address))];
      const isLeaving = leaving.some((one) => one.node === node);
      const isFenced = hasFence(node);
      const mayMove = decisions.mayMove(node);
      return since === undefined ? [] : { node, addresses, since, isLeaving, isFenced, mayMove };
    });
  }

  #isUnheard(node: string): boolean {
    return (this.#options.unheardFor(node) ?? 0) >= UNHEARD;
  }
}
