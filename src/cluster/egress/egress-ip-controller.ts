/**
 * Gives the addresses of EgressIPs to nodes, and each EgressIP a mark (reference/egress.md §1). What is decided stands in the object: nodes go by its
 * status, and by its annotation that tells how addresses move (egress-moves.ts). One that can't move so is taken away first, and given to another node when
 * the one that had it answers for it no more, or is gone.
 */
import { annotationOf } from '../../api/annotations/annotations.ts';
import {
  EGRESS_MARK,
  EGRESS_MOVES,
  formatEgressMoves,
} from '../../api/annotations/network-annotations.ts';
import { egressIPs } from '../../api/kinds.ts';
import { oldestFirst } from '../../api/order.ts';
import type { EgressIP, LabelSelector, Node } from '../../api/types.ts';
import { egressNodeSelectors, isEgressNode } from '../../model/rules/egress-node-selectors.ts';
import type { Clock } from '../../store/clock.ts';
import type { Log } from '../../store/log.ts';
import { StoreError, type Store } from '../../store/store.ts';
import { CONFLICT_DELAY, WorkQueue, type Again, type Failure } from '../../store/work-queue.ts';
import type { ClusterInformers } from '../informers.ts';
import type { AbsentDaemon } from '../nodes/node-heartbeats.ts';
import { WRITERS, type ClusterManagerSettings } from '../settings.ts';
import { EgressBalance } from './egress-balance.ts';
import { EgressDecisions } from './egress-decisions.ts';
import { externalAddresses, type EgressProblem } from './egress-ip-outcome.ts';
import { EgressMarks } from './egress-marks.ts';
import { nextStepAt } from './egress-moves.ts';
import type { EgressPlaceEvent } from './egress-places.ts';
import {
  EgressReachability,
  type EgressProbing,
  type Reachability,
} from './egress-reachability.ts';
import { KnownEgressNodes } from './known-egress-nodes.ts';
import { UnheardEgressNodes } from './unheard-egress-nodes.ts';

export interface EgressIpOptions {
  readonly store: Pick<Store, 'patchStatus' | 'event'>;
  readonly informers: Pick<ClusterInformers, 'egressIps' | 'nodes' | 'services'>;
  readonly settings: Pick<ClusterManagerSettings, 'cluster'>;
  /** Whether nobody does what the manager asks of a node. */
  readonly absentDaemon: (node: string) => AbsentDaemon | undefined;
  /** Milliseconds since the daemon of a node was heard last. */
  readonly unheardFor: (node: string) => number | undefined;
  /** The process that was the daemon of a node last. */
  readonly daemonOf: (node: string) => string | undefined;
  /** How nodes are asked whether they are well; absent where they are taken for it. */
  readonly probing: EgressProbing | undefined;
  /** Nodes that are asked, too, though they have no egress addresses. */
  readonly isAskedToo: (node: Node) => boolean;
  /** Called when a node is reached, or is not any more. */
  readonly onReachability: () => void;
  /** False once another manager may lead. */
  readonly isLeading: () => boolean;
  readonly log: Log;
  readonly clock: Clock;
  readonly onFailure: (failure: Failure) => void;
}

const FIELD_MANAGER = 'cluster-manager';

/** What an object is to be told once its status says so; `uid`: another one may have its name by then. */
interface PlaceEvents {
  readonly uid: string | undefined;
  readonly events: EgressPlaceEvent[];
}

export class EgressIpController {
  readonly queue: WorkQueue;
  readonly #options: EgressIpOptions;
  readonly #marks = new EgressMarks();
  readonly #nodes: KnownEgressNodes;
  readonly #decisions: EgressDecisions;
  readonly #balance: EgressBalance;
  readonly #unheard: UnheardEgressNodes;
  readonly #reachability: EgressReachability | undefined;
  #isStale = true;
  /** What each object was told last. */
  readonly #told = new Map<string, ReadonlySet<string>>();
  /** What each object is to be told of its addresses, in order. */
  readonly #placeEvents = new Map<string, PlaceEvents>();
  /** By which objects select their nodes. */
  #selectors: readonly LabelSelector[] = [];

  constructor(options: EgressIpOptions) {
    this.#options = options;
    const { informers, absentDaemon, daemonOf, unheardFor, clock, log, store } = options;
    const { cluster } = options.settings;
    this.#reachability = this.#asking();
    this.#nodes = new KnownEgressNodes({
      isOn: cluster.features.egressIp,
      absentDaemon,
      daemonOf,
      reach: (name) => this.reach(name),
    });
    this.#decisions = new EgressDecisions({
      informers,
      cluster,
      nodes: this.#nodes,
      isNew: (name) => this.#reachability?.isNew(name) === true,
      clock,
      log,
      onPlaceEvents: (egressIp, events) => {
        this.#keepPlaceEvents(egressIp, events);
      },
    });
    this.#unheard = new UnheardEgressNodes({
      decisions: this.#decisions,
      absentDaemon,
      unheardFor,
      hasFence: (name) => this.#reachability?.hasFence(name) === true,
      clock,
    });
    this.#balance = new EgressBalance({
      store,
      egressIps: informers.egressIps,
      nodes: this.#nodes,
      isEgressNode: (name) => {
        const node = informers.nodes.get(name);
        return node !== undefined && isEgressNode(node, this.#selectors);
      },
      absentDaemon,
      decisions: () => this.#decided(),
      onMove: () => {
        this.#decideAnew();
      },
      delay: cluster.egressHealth.rebalanceDelay,
      clock,
      log,
    });
    this.queue = new WorkQueue({
      reconcile: (name, signal) => this.#reconcile(name, signal),
      onFailure: options.onFailure,
      parallelism: WRITERS,
      clock,
    });
  }

  /** Who asks nodes whether they are well; undefined where nobody has an address that could move. */
  #asking(): EgressReachability | undefined {
    const { probing, informers, settings, isAskedToo, isLeading, daemonOf, clock, log } =
      this.#options;
    const { egressIp, egressService } = settings.cluster.features;
    if (probing === undefined || !(egressIp || egressService)) return undefined;
    return new EgressReachability({
      ...probing,
      nodes: informers.nodes,
      isEgressNode: (node) => isEgressNode(node, this.#selectors),
      isAskedToo,
      mayAcknowledge: (name) => isLeading() && this.#hasNothingOfOthers(name),
      mayMove: (name) => this.#decisions.mayMove(name),
      daemonOf,
      clock,
      log,
      onChange: () => {
        this.#nodesChanged();
        this.#options.onReachability();
      },
    });
  }

  /** Takes over the marks that objects have. Before anything is given out. */
  adopt(): void {
    for (const egressIp of oldestFirst(this.#options.informers.egressIps.list()))
      this.#marks.adopt(egressIp);
  }

  follow(signal: AbortSignal): void {
    const { egressIps, nodes, services } = this.#options.informers;
    this.#selectors = egressNodeSelectors(egressIps.list());
    // Nothing is decided before all nodes are known, and who asks them has to decide.
    for (const node of nodes.list()) this.#nodes.take(node.metadata.name, node);
    this.#reachability?.follow(signal);
    nodes.onChange(({ key, after }) => {
      if (this.#nodes.take(key, after)) this.#nodesChanged();
    });
    egressIps.onChange(({ key, before, after }) => {
      if (after === undefined) {
        this.#marks.release(key);
        this.#told.delete(key);
        this.#placeEvents.delete(key);
      } else this.#marks.adopt(after);
      const same =
        before?.metadata.uid === after?.metadata.uid &&
        JSON.stringify(before?.spec) === JSON.stringify(after?.spec);
      if (!same) this.#decideAnew();
      else this.queue.add(key);
    });
    services.onChange(({ before, after }) => {
      const [was, is] = [before, after].map((one) =>
        one === undefined ? [] : externalAddresses(one),
      );
      if (was?.join() === is?.join()) return;
      if ([...(was ?? []), ...(is ?? [])].some((address) => this.#decisions.isRequested(address)))
        this.#decideAnew();
    });
    this.#balance.noteWell();
    void this.#balance.run(signal);
  }

  #nodesChanged(): void {
    this.#balance.noteWell();
    this.#decideAnew();
  }

  /** A node's daemon is gone, or there again. */
  daemonChanged(): void {
    this.#decideAnew();
  }

  /** What is wrong with objects, by name. */
  *problems(): Iterable<readonly [egressIp: string, message: string]> {
    for (const egressIp of this.#options.informers.egressIps.list()) {
      const { name } = egressIp.metadata;
      for (const { message } of this.#problemsOf(egressIp)) yield [name, message];
    }
  }

  /** Addresses that nodes have. */
  get assigned(): number {
    let count = 0;
    for (const { assignment } of this.#decisions.all().values()) count += assignment.items.length;
    return count;
  }

  /** Nodes of which it was found that they are not reached, and addresses that went from one node to another. */
  get counts(): { readonly unreached: number; readonly moved: number } {
    return { unreached: this.#reachability?.lost ?? 0, moved: this.#decisions.timesMoved };
  }

  /** Whether a node answers; it does where nobody asks. */
  reach(name: string): Reachability {
    return this.#reachability?.of(name) ?? 'reached';
  }

  /** How many addresses each node keeps whose daemon has not been heard for a minute. */
  withoutDaemon(): ReadonlyMap<string, number> {
    return this.#unheard.counts();
  }

  /** False for a node that answers, or answered last, for an address that another one has: it must not have it once more. */
  #hasNothingOfOthers(name: string): boolean {
    const decisions = this.#decided();
    return (this.#nodes.factsOf(name)?.answersFor ?? []).every((address) => {
      if ((decisions.nodeOf(address) ?? name) === name) return true;
      // It is letting go, and nobody else answers before it says so.
      const move = decisions.moveOf(address);
      return move?.from === name && move.step === 'switch';
    });
  }

  #decideAnew(): void {
    this.#isStale = true;
    for (const name of this.#options.informers.egressIps.keys()) this.queue.add(name);
  }

  /** What is decided of objects and nodes as they are now. */
  #decided(): EgressDecisions {
    if (!this.#isStale) return this.#decisions;
    this.#isStale = false;
    this.#takeSelectors();
    this.#decisions.decide(this.#balance.move);
    this.#balance.noteDecided(this.#decisions);
    return this.#decisions;
  }

  #takeSelectors(): void {
    const selectors = egressNodeSelectors(this.#options.informers.egressIps.list());
    if (JSON.stringify(selectors) === JSON.stringify(this.#selectors)) return;
    this.#selectors = selectors;
    this.#reachability?.selectorsChanged();
    this.#balance.noteWell();
  }

  #keepPlaceEvents(
    { metadata: { name, uid } }: EgressIP,
    events: readonly EgressPlaceEvent[],
  ): void {
    const kept = this.#placeEvents.get(name);
    if (kept !== undefined && kept.uid === uid) kept.events.push(...events);
    else this.#placeEvents.set(name, { uid, events: [...events] });
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<Again | void> {
    const { clock } = this.#options;
    if (clock.monotonic() >= this.#decisions.due) this.#decideAnew();
    const decision = this.#decided().of(name);
    const egressIp = this.#options.informers.egressIps.get(name);
    if (egressIp === undefined || decision === undefined) return undefined;
    const mark = this.#marks.markFor(egressIp);
    const items = decision.assignment.items.map(({ node, address }) => ({
      node,
      egressIP: address,
    }));
    const moves = formatEgressMoves(decision.moves);
    const isRight =
      JSON.stringify(items) === JSON.stringify(egressIp.status?.items ?? []) &&
      moves === annotationOf(egressIp, EGRESS_MOVES);
    const annotations = {
      ...(mark === undefined ? {} : { [EGRESS_MARK]: String(mark) }),
      ...(moves === annotationOf(egressIp, EGRESS_MOVES) ? {} : { [EGRESS_MOVES]: moves ?? null }),
    };
    const again =
      isRight && mark === undefined
        ? undefined
        : await this.#write(egressIp, items, annotations, signal);
    if (again === undefined) await this.#tell(egressIp);
    const due = Math.min(nextStepAt(decision.moves), this.#unheard.toldAt(decision));
    return again ?? (due === Infinity ? undefined : { after: due - clock.monotonic() });
  }

  #problemsOf(egressIp: EgressIP): readonly EgressProblem[] {
    const ofMark = this.#marks.problemOf(egressIp);
    return [
      ...(this.#decisions.of(egressIp.metadata.name)?.problems ?? []),
      ...this.#unheard.problemsOf(egressIp),
      ...(ofMark === undefined ? [] : [ofMark]),
    ];
  }

  async #write(
    egressIp: EgressIP,
    items: readonly { readonly node: string; readonly egressIP: string }[],
    annotations: Readonly<Record<string, string | null>>,
    signal: AbortSignal,
  ): Promise<Again | undefined> {
    const { name, resourceVersion } = egressIp.metadata;
    try {
      await this.#options.store.patchStatus(
        egressIPs,
        name,
        {
          ...(Object.keys(annotations).length === 0 ? {} : { metadata: { annotations } }),
          status: { items },
        },
        {
          fieldManager: FIELD_MANAGER,
          signal,
          ...(resourceVersion === undefined ? {} : { resourceVersion }),
        },
      );
    } catch (error) {
      // Somebody wrote meanwhile, or the object went.
      if (!(error instanceof StoreError) || !['conflict', 'not-found'].includes(error.code))
        throw error;
      if (error.code === 'conflict') return { after: CONFLICT_DELAY };
    }
    return undefined;
  }

  /** What it was not told yet. */
  async #tell(egressIp: EgressIP): Promise<void> {
    const { name, uid = '' } = egressIp.metadata;
    const kept = this.#placeEvents.get(name);
    const events = kept === undefined || kept.uid !== egressIp.metadata.uid ? [] : kept.events;
    for (let event = events.shift(); event !== undefined; event = events.shift())
      await this.#options.store.event({ regarding: egressIp, ...event });
    const told = this.#told.get(name) ?? new Set();
    const problems = this.#problemsOf(egressIp);
    const textOf = ({ reason, message }: EgressProblem): string => `${uid} ${reason} ${message}`;
    for (const problem of problems)
      if (!told.has(textOf(problem)))
        await this.#options.store.event({ regarding: egressIp, type: 'Warning', ...problem });
    this.#told.set(name, new Set(problems.map(textOf)));
  }
}
