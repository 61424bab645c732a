/**
 * Gives the addresses of EgressIPs to nodes, and each EgressIP a mark (reference/egress.md §1). What is decided stands in the object: nodes go by its
 * status, and by its annotation that tells how addresses move (egress-moves.ts). One that can't move so is taken away first, and given to another node when
 * the one that had it answers for it no more, or is gone.
 */
import {
  assignEgressAddresses,
  balancingMove,
  nodesToMoveFrom,
  type BalancingMove,
  type EgressAssignment,
  type EgressItem,
  type EgressNode,
  type EgressRequest,
} from '../../allocators/egress-addresses.ts';
import { IdAllocator } from '../../allocators/ids.ts';
import { isExhausted } from '../../allocators/allocation-error.ts';
import { annotationOf, complaint } from '../../api/annotations/annotations.ts';
import {
  EGRESS_MARK,
  EGRESS_MOVES,
  egressMark,
  egressMoves,
  FIRST_EGRESS_MARK,
  formatEgressMoves,
  LAST_EGRESS_MARK,
} from '../../api/annotations/network-annotations.ts';
import { egressIPs } from '../../api/kinds.ts';
import {
  containsAddress,
  parseAddress,
  withinAny,
  type Address,
} from '../../allocators/addresses.ts';
import { objectKey } from '../../api/objects.ts';
import { oldestFirst } from '../../api/order.ts';
import { matchesSelector } from '../../api/selectors.ts';
import type { EgressIP, LabelSelector, Node } from '../../api/types.ts';
import {
  egressNodeSelector,
  egressNodeSelectors,
  isEgressNode,
} from '../../model/rules/egress-node-selectors.ts';
import { pause, type Clock } from '../../store/clock.ts';
import type { Log } from '../../store/log.ts';
import { StoreError, type Store } from '../../store/store.ts';
import { CONFLICT_DELAY, WorkQueue, type Again, type Failure } from '../../store/work-queue.ts';
import type { ClusterInformers } from '../informers.ts';
import type { AbsentDaemon } from '../nodes/node-heartbeats.ts';
import { WRITERS, type ClusterManagerSettings } from '../settings.ts';
import {
  EgressReachability,
  hasLetGo,
  isLost,
  type EgressProbing,
  type Reachability,
} from './egress-reachability.ts';
import { moveEgressAddresses, nextStepAt, type EgressMoveState } from './egress-moves.ts';
import {
  EGRESS_IPS_OFF,
  egressProblems,
  networkDownProblems,
  unheardNode,
  externalAddresses,
  whyUnread,
  requestedAddresses,
  type EgressProblem,
  type UnheardNode,
} from './egress-ip-outcome.ts';
import {
  egressNodeFacts,
  egressNodeTexts,
  ownersOf,
  whyDown,
  type EgressNodeFacts,
} from './egress-nodes.ts';
import { movePlaces, placesOf, type EgressPlaceEvent, type EgressPlaces } from './egress-places.ts';

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

/** Milliseconds from one look for an address that is to move for balance to the next. */
const BALANCING_INTERVAL = 10_000;

/** Milliseconds without a daemon after which owners of a node's addresses are told: a restart, or an update, takes less. */
const UNHEARD = 60_000;

/** What is decided for one object. */
interface Decision {
  readonly uid: string | undefined;
  readonly assignment: EgressAssignment;
  readonly moves: readonly EgressMoveState[];
  readonly problems: readonly EgressProblem[];
  readonly places: EgressPlaces;
}

const itemsOf = (egressIp: EgressIP): readonly EgressItem[] =>
  (egressIp.status?.items ?? []).map(({ node, egressIP }) => ({
    node,
    address: egressIP,
  }));

export class EgressIpController {
  readonly queue: WorkQueue;
  readonly #options: EgressIpOptions;
  readonly #marks = new IdAllocator(FIRST_EGRESS_MARK, LAST_EGRESS_MARK);
  readonly #nodes = new Map<string, { readonly texts: string; readonly facts: EgressNodeFacts }>();
  /** By name. What was decided last is what objects have, also while its write is under way. */
  #decisions = new Map<string, Decision>();
  #isStale = true;
  /** What each object was told last. */
  readonly #told = new Map<string, ReadonlySet<string>>();
  /** What each object is to be told of its addresses, in order, once its status says so. */
  readonly #placeEvents = new Map<string, EgressPlaceEvent[]>();
  /** The node that has each address, as decided last. */
  #nodeOf: ReadonlyMap<string, string> = new Map();
  /** Nodes with an address that another one could have. */
  #movable: ReadonlySet<string> = new Set();
  readonly #reachability: EgressReachability | undefined;
  #moved = 0;
  /** Services by their external addresses. */
  readonly #services;
  /** The object that had an address first, and keeps it whatever a service asks for later. */
  #requested: ReadonlySet<string> = new Set();
  #grants: ReadonlyMap<string, string> = new Map();
  /** By which objects select their nodes. */
  #selectors: readonly LabelSelector[] = [];
  /** Since when each node has been well, without a break. */
  readonly #wellSince = new Map<string, number>();
  /** The one address that is on its way for balance. */
  #move: BalancingMove | undefined;
  /** Moves under way, by address. */
  #moves: ReadonlyMap<string, EgressMoveState> = new Map();
  /** When one of them goes on by itself. */
  #due = Infinity;

  constructor(options: EgressIpOptions) {
    this.#options = options;
    const { probing, informers, clock, log } = options;
    this.#services = informers.services.index(externalAddresses);
    this.#reachability =
      probing === undefined ||
      !(
        options.settings.cluster.features.egressIp ||
        options.settings.cluster.features.egressService
      )
        ? undefined
        : new EgressReachability({
            ...probing,
            nodes: informers.nodes,
            isEgressNode: (node) => isEgressNode(node, this.#selectors),
            isAskedToo: options.isAskedToo,
            mayAcknowledge: (name) => options.isLeading() && this.#hasNothingOfOthers(name),
            mayMove: (name) => this.#movable.has(name),
            daemonOf: options.daemonOf,
            clock,
            log,
            onChange: () => {
              this.#nodesChanged();
              options.onReachability();
            },
          });
    this.queue = new WorkQueue({
      reconcile: (name, signal) => this.#reconcile(name, signal),
      onFailure: options.onFailure,
      parallelism: WRITERS,
      clock: options.clock,
    });
  }

  /** Takes over the marks that objects have. Before anything is given out. */
  adopt(): void {
    for (const egressIp of oldestFirst(this.#options.informers.egressIps.list()))
      this.#adoptMark(egressIp);
  }

  follow(signal: AbortSignal): void {
    const { egressIps, nodes, services } = this.#options.informers;
    this.#selectors = egressNodeSelectors(egressIps.list());
    // Nothing is decided before all nodes are known, and who asks them has to decide.
    for (const node of nodes.list()) this.#takeNode(node.metadata.name, node);
    this.#reachability?.follow(signal);
    nodes.onChange(({ key, after }) => {
      if (this.#takeNode(key, after)) this.#nodesChanged();
    });
    egressIps.onChange(({ key, before, after }) => {
      if (after === undefined) {
        this.#marks.release(key);
        this.#told.delete(key);
        this.#placeEvents.delete(key);
      } else this.#adoptMark(after);
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
      if ([...(was ?? []), ...(is ?? [])].some((address) => this.#requested.has(address)))
        this.#decideAnew();
    });
    this.#noteWell();
    if (this.#options.settings.cluster.egressHealth.rebalanceDelay > 0) void this.#balance(signal);
  }

  /** Moves one address after the other, where nodes that have been well for long have fewer than others. */
  async #balance(signal: AbortSignal): Promise<void> {
    const { clock, settings, log, informers, absentDaemon, store } = this.#options;
    const { rebalanceDelay } = settings.cluster.egressHealth;
    for (;;) {
      await pause(clock, BALANCING_INTERVAL, signal);
      if (signal.aborted) return;
      if (this.#isStale) this.#decide();
      const assignments = new Map(
        [...this.#decisions].map(([name, one]) => [name, one.assignment]),
      );
      const isMoving = [...assignments.values()].some(({ unassigned }) =>
        unassigned.values().some(({ kind }) => kind === 'leaving'),
      );
      if (isMoving) continue;
      const now = clock.monotonic();
      const move = balancingMove(
        this.#requests(),
        // Where nobody lets go, or takes over, nothing moves.
        this.#egressNodes().filter(({ name }) => absentDaemon(name) === undefined),
        assignments,
        (node) => now - (this.#wellSince.get(node) ?? now) >= rebalanceDelay,
      );
      const egressIp = move && informers.egressIps.get(move.request);
      if (move === undefined || egressIp === undefined) continue;
      this.#move = move;
      log.info({ ...move }, 'an egress address moves for balance');
      this.#decideAnew();
      await store.event({
        regarding: egressIp,
        type: 'Normal',
        reason: 'Rebalancing',
        message: `egress IP ${move.address} moves from node ${move.from} to node ${move.to}, which has fewer (egressip-rebalance-delay)`,
      });
    }
  }

  #takeSelectors(): void {
    const selectors = egressNodeSelectors(this.#options.informers.egressIps.list());
    if (JSON.stringify(selectors) === JSON.stringify(this.#selectors)) return;
    this.#selectors = selectors;
    this.#reachability?.selectorsChanged();
    this.#noteWell();
  }

  /** Nodes that are not well begin anew. */
  #noteWell(): void {
    const now = this.#options.clock.monotonic();
    const { nodes } = this.#options.informers;
    const well = new Set(
      this.#egressNodes().flatMap(({ name, takesMore }) => {
        const node = nodes.get(name);
        const isWell = takesMore && !this.#isDownForAny(name);
        return isWell && node !== undefined && isEgressNode(node, this.#selectors) ? name : [];
      }),
    );
    for (const name of this.#wellSince.keys()) if (!well.has(name)) this.#wellSince.delete(name);
    for (const name of well) if (!this.#wellSince.has(name)) this.#wellSince.set(name, now);
    if (this.#move !== undefined && !well.has(this.#move.to)) this.#move = undefined;
  }

  /** Nothing leaves a node with one of the addresses that EgressIPs ask for. */
  #isDownForAny(name: string): boolean {
    const facts = this.#nodes.get(name)?.facts;
    if (facts?.down === undefined) return false;
    return this.#options.informers.egressIps.list().some((egressIp) =>
      requestedAddresses(egressIp)
        .addresses.values()
        .some((address) => this.#whyDown(facts, address) !== undefined),
    );
  }

  #nodesChanged(): void {
    this.#noteWell();
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
    for (const { assignment } of this.#decisions.values()) count += assignment.items.length;
    return count;
  }

  /** Nodes of which it was found that they are not reached, and addresses that went from one node to another. */
  get counts(): { readonly unreached: number; readonly moved: number } {
    return { unreached: this.#reachability?.lost ?? 0, moved: this.#moved };
  }

  /** Whether a node answers; it does where nobody asks. */
  reach(name: string): Reachability {
    return this.#reachability?.of(name) ?? 'reached';
  }

  /** False for a node that answers, or answered last, for an address that another one has: it must not have it once more. */
  #hasNothingOfOthers(name: string): boolean {
    if (this.#isStale) this.#decide();
    return (this.#nodes.get(name)?.facts.answersFor ?? []).every(
      (address) =>
        (this.#nodeOf.get(address) ?? name) === name ||
        // It is letting go, and nobody else answers before it says so.
        (this.#moves.get(address)?.from === name && this.#moves.get(address)?.step === 'switch'),
    );
  }

  /** True if it is another place to leave by than it was. */
  #takeNode(name: string, node: Node | undefined): boolean {
    const texts = node && egressNodeTexts(node);
    if (texts === this.#nodes.get(name)?.texts) return false;
    if (node === undefined || texts === undefined) this.#nodes.delete(name);
    else this.#nodes.set(name, { texts, facts: egressNodeFacts(node) });
    return true;
  }

  #adoptMark(egressIp: EgressIP): void {
    const { name } = egressIp.metadata;
    const mark = egressMark(egressIp).value;
    if (mark === undefined || this.#marks.idOf(name) === mark) return;
    // Of two with one mark the older one has it; the other one is told.
    if (this.#marks.ownerOf(mark) !== undefined) return;
    this.#marks.release(name);
    this.#marks.reserve(name, mark);
  }

  #decideAnew(): void {
    this.#isStale = true;
    for (const name of this.#options.informers.egressIps.keys()) this.queue.add(name);
  }

  #decide(): void {
    this.#isStale = false;
    this.#takeSelectors();
    const { informers, settings, absentDaemon } = this.#options;
    const nodes = [...this.#nodes.values()].map(({ facts }) => facts);
    const objects = oldestFirst(informers.egressIps.list());
    const requests = this.#requests();
    this.#noteGrants(requests);
    // Who is not ready, and has nobody who would do what is asked, is not asked; nor who has let go by himself.
    const answering = Map.groupBy(
      nodes
        .filter(
          ({ name, isReady }) =>
            (isReady || absentDaemon(name) === undefined) && !hasLetGo(this.reach(name)),
        )
        .flatMap(({ name, answersFor }) => answersFor.map((address) => ({ name, address }))),
      ({ address }) => address,
    );
    const owners = ownersOf(nodes);
    const assigned = assignEgressAddresses(requests, this.#egressNodes(), {
      ownerOf: (address, name) => owners.get(address) ?? this.#serviceWith(address, name),
      answeredBy: (address) => (answering.get(address) ?? []).map(({ name }) => name),
      movesTo: (address) => (this.#move?.address === address ? this.#move.to : undefined),
    });
    const moved = new Map(
      requests.map((request) => {
        const { name, held } = request;
        const assignment = assigned.get(name) ?? { items: [], unassigned: new Map() };
        const awaiting = this.#awaitNewNodes(request, assignment);
        const { items, moves } = moveEgressAddresses(awaiting, held, this.#movesOf(name), {
          workOf: (node) => this.#workOf(node),
          isPrepared: (node, address) =>
            this.#workOf(node) === 'working' &&
            this.#nodes.get(node)?.facts.preparedFor.includes(address) === true,
          isAnswering: (node, address) =>
            (answering.get(address) ?? []).some((one) => one.name === node),
          now: this.#options.clock.monotonic(),
        });
        return [name, { assignment: { ...assignment, items }, moves }] as const;
      }),
    );
    const moves = [...moved.values()].flatMap((one) => one.moves);
    for (const move of moves)
      if (this.#moves.get(move.address)?.step !== move.step) {
        const { address, from, to, step } = move;
        this.#options.log.info({ address, from, to, step }, 'egress address moves');
      }
    this.#moves = new Map(moves.map((move) => [move.address, move]));
    this.#due = nextStepAt(moves);
    const nodeOf = new Map(
      [...moved.values()].flatMap(({ assignment: { items } }) =>
        items.map(({ address, node }): [string, string] => [address, node]),
      ),
    );
    for (const [address, node] of this.#nodeOf)
      if (nodeOf.get(address) !== node && requests.some((one) => one.addresses.has(address)))
        this.#moved += 1;
    this.#nodeOf = nodeOf;
    const places = new Map(
      requests.map((request) => {
        const assignment = moved.get(request.name)?.assignment ?? {
          items: [],
          unassigned: new Map(),
        };
        return [request.name, this.#placesOf(request, assignment)];
      }),
    );
    if (this.#move !== undefined && nodeOf.get(this.#move.address) === this.#move.to)
      this.#move = undefined;
    this.#movable = nodesToMoveFrom(
      requests,
      this.#egressNodes(),
      new Map([...moved].map(([name, { assignment }]) => [name, assignment])),
    );
    this.#decisions = new Map(
      objects.map((egressIp): [string, Decision] => {
        const { name, uid } = egressIp.metadata;
        const { assignment, moves } = moved.get(name) ?? {
          assignment: { items: [], unassigned: new Map() },
          moves: [],
        };
        const problems = settings.cluster.features.egressIp
          ? [
              ...egressProblems(egressIp, assignment, settings.cluster, () =>
                nodes.filter(({ labels }) => matchesSelector(egressNodeSelector(egressIp), labels)),
              ),
              ...this.#downProblems(egressIp, assignment),
            ]
          : [EGRESS_IPS_OFF];
        return [name, { uid, assignment, moves, problems, places: places.get(name) ?? new Map() }];
      }),
    );
  }

  /** What is on its way elsewhere is told as it arrives. */
  #downProblems(egressIp: EgressIP, { items }: EgressAssignment): readonly EgressProblem[] {
    const staying = items.filter(({ address }) => this.#moves.get(address)?.step !== 'prepare');
    return networkDownProblems(egressIp, staying, (node, address) => {
      const [facts, parsed] = [this.#nodes.get(node)?.facts, parseAddress(address)];
      return facts && parsed && this.#whyDown(facts, parsed);
    });
  }

  /** Where the addresses of an object are; what its owner is to be told of that waits for its status. */
  #placesOf(request: EgressRequest, assignment: EgressAssignment): EgressPlaces {
    const { name, addresses, held, nodes: selected } = request;
    const uid = this.#options.informers.egressIps.get(name)?.metadata.uid;
    const before = this.#decisions.get(name);
    const isKnown = before !== undefined && before.uid === uid;
    if (!isKnown) this.#placeEvents.delete(name);
    const { places, events } = movePlaces(
      isKnown ? before.places : placesOf(held),
      addresses.keys(),
      assignment,
      {
        whyLeft: (node, address) => this.#whyLeft(node, addresses.get(address), selected),
        isTold: (address, to) => this.#move?.address === address && this.#move.to === to,
      },
    );
    // Where EgressIPs are off, that is what is told.
    if (events.length > 0 && this.#options.settings.cluster.features.egressIp) {
      this.#placeEvents.set(name, [...(this.#placeEvents.get(name) ?? []), ...events]);
      for (const { message } of events) this.#options.log.info({ egressIp: name }, message);
    }
    return places;
  }

  /** Why a node has an address no more; `selected`: the nodes of the object. */
  #whyLeft(
    node: string,
    address: Address | undefined,
    selected: ReadonlySet<string>,
  ): string | undefined {
    const facts = this.#nodes.get(node)?.facts;
    if (facts === undefined) return `node ${node} is deleted`;
    if (!facts.isReady) return `node ${node} is not ready`;
    const reach = this.reach(node);
    if (reach === 'fenced') return `the daemon of node ${node} is away`;
    if (isLost(reach)) return `node ${node} is not reached`;
    if (!selected.has(node)) return `the EgressIP selects node ${node} no more`;
    if (address !== undefined && !facts.networks.some((one) => containsAddress(one, address)))
      return `node ${node} is in no network with it any more`;
    const down = address && this.#whyDown(facts, address);
    if (down !== undefined) return `node ${node}: ${down}`;
    return facts.isDraining ? `node ${node} is cordoned` : undefined;
  }

  /** What an object had before a service asked for it stays its own. */
  #noteGrants(requests: readonly EgressRequest[]): void {
    const grants = new Map<string, string>();
    this.#requested = new Set(requests.flatMap(({ addresses }) => [...addresses.keys()]));
    for (const { name, addresses, held } of requests) {
      for (const { address } of held) if (addresses.has(address)) grants.set(address, name);
      for (const address of addresses.keys())
        if (this.#grants.get(address) === name) grants.set(address, name);
    }
    this.#grants = grants;
  }

  /** A service that has an address which the object never had, in words. */
  #serviceWith(address: string, egressIp: string): string | undefined {
    if (this.#grants.get(address) === egressIp) return undefined;
    const ranges = this.#options.settings.cluster.serviceExternalRanges;
    // What nodes give no service is free.
    if (ranges.length > 0 && !withinAny(ranges)(address)) return undefined;
    const [service] = oldestFirst(this.#services.get(address));
    return service && `an external address of Service ${objectKey(service.metadata)}`;
  }

  /** Objects, the oldest first, with what they have. */
  #requests(): readonly EgressRequest[] {
    const selected = new Map<string, ReadonlySet<string>>();
    return oldestFirst(this.#options.informers.egressIps.list()).map((egressIp) => {
      const { name, uid } = egressIp.metadata;
      const before = this.#decisions.get(name);
      const held =
        before?.uid === uid && before !== undefined ? before.assignment.items : itemsOf(egressIp);
      const selector = egressNodeSelector(egressIp);
      const text = JSON.stringify(selector);
      let nodes = selected.get(text);
      if (nodes === undefined) {
        nodes = this.#selectedBy(selector);
        selected.set(text, nodes);
      }
      // What can't be read moves nothing.
      if (whyUnread(egressIp) !== undefined) nodes = new Set(held.map(({ node }) => node));
      return { name, addresses: requestedAddresses(egressIp).addresses, nodes, held };
    });
  }

  #selectedBy(selector: LabelSelector): ReadonlySet<string> {
    const found = [...this.#nodes.values()].filter(({ facts }) =>
      matchesSelector(selector, facts.labels),
    );
    return new Set(found.map(({ facts }) => facts.name));
  }

  #egressNodes(): readonly EgressNode[] {
    return this.#options.settings.cluster.features.egressIp
      ? [...this.#nodes.values()].flatMap(({ facts }) => this.#egressNode(facts) ?? [])
      : [];
  }

  /** As a place for addresses; undefined for a node that is to have none. */
  #egressNode(facts: EgressNodeFacts): EgressNode | undefined {
    const { name, networks, isReady, isDraining } = facts;
    const reach = this.reach(name);
    if (!isReady || !(reach === 'reached' || reach === 'unknown')) return undefined;
    return {
      name,
      networks,
      takesMore: reach === 'reached',
      isDraining,
      isDownFor: (address) => this.#whyDown(facts, address) !== undefined,
    };
  }

  /** Why nothing with an address leaves a node. */
  #whyDown(facts: EgressNodeFacts, address: Address): string | undefined {
    return whyDown(facts, address, this.#options.daemonOf(facts.name));
  }

  /** An address for which there is a node that has not been heard yet, as it has just become one, stays where it is meanwhile: a label may go from one to the other. */
  #awaitNewNodes(request: EgressRequest, assignment: EgressAssignment): EgressAssignment {
    const unassigned = new Map(assignment.unassigned);
    for (const { node: from, address } of request.held) {
      const parsed = request.addresses.get(address);
      if (unassigned.get(address)?.kind !== 'no-node' || parsed === undefined) continue;
      const to = this.#egressNodes().find(
        ({ name, networks }) =>
          name !== from &&
          request.nodes.has(name) &&
          this.#reachability?.isNew(name) === true &&
          networks.some((network) => containsAddress(network, parsed)),
      );
      if (to !== undefined) unassigned.set(address, { kind: 'leaving', from, to: to.name });
    }
    return { ...assignment, unassigned };
  }

  /** Moves that were under way, also before this manager led. */
  #movesOf(name: string): readonly EgressMoveState[] {
    const egressIp = this.#options.informers.egressIps.get(name);
    const before = this.#decisions.get(name);
    if (egressIp === undefined) return [];
    if (before !== undefined && before.uid === egressIp.metadata.uid) return before.moves;
    const since = this.#options.clock.monotonic();
    return (egressMoves(egressIp).value ?? []).map((move) => ({ ...move, since }));
  }

  /** Whether a node does what it is asked. */
  #workOf(name: string): 'working' | 'away' | 'lost' {
    const reach = this.reach(name);
    if (!this.#nodes.has(name) || isLost(reach)) return 'lost';
    return reach === 'reached' && this.#options.absentDaemon(name) === undefined
      ? 'working'
      : 'away';
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<Again | void> {
    const { clock } = this.#options;
    if (clock.monotonic() >= this.#due) this.#decideAnew();
    if (this.#isStale) this.#decide();
    const egressIp = this.#options.informers.egressIps.get(name);
    const decision = this.#decisions.get(name);
    if (egressIp === undefined || decision === undefined) return undefined;
    const mark = this.#markFor(egressIp);
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
    const due = Math.min(nextStepAt(decision.moves), this.#unheardAt(decision));
    return again ?? (due === Infinity ? undefined : { after: due - clock.monotonic() });
  }

  /** The mark to write; undefined where the object has one, or there is none left. */
  #markFor(egressIp: EgressIP): number | undefined {
    const { value, errors } = egressMark(egressIp);
    if (value !== undefined || errors.length > 0) return undefined;
    try {
      return this.#marks.allocate(egressIp.metadata.name);
    } catch (error) {
      if (isExhausted(error)) return undefined;
      throw error;
    }
  }

  /** Addresses of an object that are at nodes without a daemon; `isLeaving`: it is to let go of one, and nobody can ask it. */
  #withoutDaemon({ assignment, moves }: Decision): readonly UnheardNode[] {
    const { items, unassigned } = assignment;
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
      const since = this.#options.absentDaemon(node)?.message;
      const addresses = [...new Set(all.map(({ address }) => address))];
      const isLeaving = leaving.some((one) => one.node === node);
      const isFenced = this.#reachability?.hasFence(node) === true;
      const mayMove = this.#movable.has(node);
      return since === undefined ? [] : { node, addresses, since, isLeaving, isFenced, mayMove };
    });
  }

  #isUnheard(node: string): boolean {
    return (this.#options.unheardFor(node) ?? 0) >= UNHEARD;
  }

  /** When a node that has addresses of an object, and no daemon, will have been without it for long enough to say so. */
  #unheardAt(decision: Decision): number {
    const { clock, unheardFor } = this.#options;
    const waits = this.#withoutDaemon(decision)
      .filter(({ node }) => !this.#isUnheard(node))
      .map(({ node }) => UNHEARD - (unheardFor(node) ?? 0));
    return clock.monotonic() + Math.min(...waits, Infinity);
  }

  /** How many addresses each node keeps whose daemon has not been heard for a minute. */
  withoutDaemon(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const decision of this.#decisions.values())
      for (const { node, addresses } of this.#withoutDaemon(decision))
        if (this.#isUnheard(node)) counts.set(node, (counts.get(node) ?? 0) + addresses.length);
    return counts;
  }

  /** What is wrong with an object for want of daemons. */
  #unheardProblems(egressIp: EgressIP): readonly EgressProblem[] {
    const decision = this.#decisions.get(egressIp.metadata.name);
    if (decision === undefined) return [];
    return this.#withoutDaemon(decision)
      .filter(({ node }) => this.#isUnheard(node))
      .map((one) => unheardNode(egressIp, one));
  }

  #problemsOf(egressIp: EgressIP): readonly EgressProblem[] {
    const { name } = egressIp.metadata;
    const found = [
      ...(this.#decisions.get(name)?.problems ?? []),
      ...this.#unheardProblems(egressIp),
    ];
    const marked = egressMark(egressIp);
    const ofMark = (message: string): EgressProblem => ({ reason: 'NoMark', message });
    const wrong = complaint(marked);
    if (wrong !== undefined) return [...found, ofMark(wrong)];
    if (marked.value === undefined)
      return this.#marks.size > LAST_EGRESS_MARK - FIRST_EGRESS_MARK &&
        this.#marks.idOf(name) === undefined
        ? [
            ...found,
            ofMark(
              `EgressIP ${name}: all ${this.#marks.size} marks are in use, and pods of user-defined networks do not leave without one; delete EgressIPs that nobody needs`,
            ),
          ]
        : found;
    const owner = this.#marks.ownerOf(marked.value);
    return owner === undefined || owner === name
      ? found
      : [
          ...found,
          ofMark(
            `EgressIP ${name}: its mark ${marked.value} (annotation ${EGRESS_MARK}) is that of EgressIP ${owner}, and its pods of user-defined networks do not leave; delete it and make it again`,
          ),
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
    const events = this.#placeEvents.get(name) ?? [];
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
