import { balancingMove, type BalancingMove } from '../../allocators/egress-addresses.ts';
import { pause, type Clock } from '../../store/clock.ts';
import type { Log } from '../../store/log.ts';
import type { Store } from '../../store/store.ts';
import type { ClusterInformers } from '../informers.ts';
import type { AbsentDaemon } from '../nodes/node-heartbeats.ts';
import type { EgressDecisions } from './egress-decisions.ts';
import { requestedAddresses } from './egress-ip-outcome.ts';
import type { KnownEgressNodes } from './known-egress-nodes.ts';

/** Milliseconds from one look for an address that is to move for balance to the next. */
const BALANCING_INTERVAL = 10_000;

export interface EgressBalanceOptions {
  readonly store: Pick<Store, 'event'>;
  readonly egressIps: ClusterInformers['egressIps'];
  readonly nodes: KnownEgressNodes;
  /** Whether an EgressIP selects a node. */
  readonly isEgressNode: (node: string) => boolean;
  readonly absentDaemon: (node: string) => AbsentDaemon | undefined;
  /** As they are now. */
  readonly decisions: () => EgressDecisions;
  readonly onMove: () => void;
  /** Milliseconds for which a node has to be well before an address moves there for balance; 0: none does. */
  readonly delay: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Moves one address after the other, where nodes that have been well for long have fewer than others. */
export class EgressBalance {
  readonly #options: EgressBalanceOptions;
  /** Since when each node has been well, without a break. */
  readonly #wellSince = new Map<string, number>();
  #move: BalancingMove | undefined;

  constructor(options: EgressBalanceOptions) {
    this.#options = options;
  }

  /** The one address that is on its way. */
  get move(): BalancingMove | undefined {
    return this.#move;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, delay, log, egressIps, nodes, absentDaemon, store } = this.#options;
    if (delay === 0) return;
    for (;;) {
      await pause(clock, BALANCING_INTERVAL, signal);
      if (signal.aborted) return;
      const decisions = this.#options.decisions();
      const assignments = new Map(
        [...decisions.all()].map(([name, { assignment }]) => [name, assignment]),
      );
      const isMoving = [...assignments.values()].some(({ unassigned }) =>
        unassigned.values().some(({ kind }) => kind === 'leaving'),
      );
      if (isMoving) continue;
      const now = clock.monotonic();
      const move = balancingMove(
        decisions.requests(),
        // Where nobody lets go, or takes over, nothing moves.
        nodes.places().filter(({ name }) => absentDaemon(name) === undefined),
        assignments,
        (node) => now - (this.#wellSince.get(node) ?? now) >= delay,
      );
      const egressIp = move && egressIps.get(move.request);
      if (move === undefined || egressIp === undefined) continue;
      this.#move = move;
      log.info({ ...move }, 'an egress address moves for balance');
      this.#options.onMove();
      await store.event({
        regarding: egressIp,
        type: 'Normal',
        reason: 'Rebalancing',
        message: `egress IP ${move.address} moves from node ${move.from} to node ${move.to}, which has fewer (egressip-rebalance-delay)`,
      });
    }
  }

  /** To be called as nodes change. Those that are not well begin anew. */
  noteWell(): void {
    const now = this.#options.clock.monotonic();
    const well = new Set(
      this.#options.nodes.places().flatMap(({ name, takesMore }) => {
        const isWell = takesMore && !this.#isDownForAny(name);
        return isWell && this.#options.isEgressNode(name) ? name : [];
      }),
    );
    for (const name of this.#wellSince.keys()) if (!well.has(name)) this.#wellSince.delete(name);
    for (const name of well) if (!this.#wellSince.has(name)) this.#wellSince.set(name, now);
    if (this.#move !== undefined && !well.has(this.#move.to)) this.#move = undefined;
  }

  /** To be called when it was decided where addresses are. */
  noteDecided(decisions: EgressDecisions): void {
    if (this.#move !== undefined && decisions.nodeOf(this.#move.address) === this.#move.to)
      this.#move = undefined;
  }

  /** Nothing leaves a node with one of the addresses that EgressIPs ask for. */
  #isDownForAny(name: string): boolean {
    const { nodes, egressIps } = this.#options;
    if (nodes.factsOf(name)?.down === undefined) return false;
    return egressIps.list().some((egressIp) =>
      requestedAddresses(egressIp)
        .addresses.values()
        .some((address) => nodes.whyDown(name, address) !== undefined),
    );
  }
}
