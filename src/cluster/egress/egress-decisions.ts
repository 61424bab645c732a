/**
 * Which node each address of each EgressIP is to be at. What was decided last is what objects have, also while its write is under way; before that it is what
 * their statuses and annotations say, which another manager may have written.
 */
import { containsAddress, parseAddress, withinAny } from '../../allocators/addresses.ts';
import {
  assignEgressAddresses,
  nodesToMoveFrom,
  type BalancingMove,
  type EgressAssignment,
  type EgressItem,
  type EgressRequest,
} from '../../allocators/egress-addresses.ts';
import { egressMoves } from '../../api/annotations/network-annotations.ts';
import { objectKey } from '../../api/objects.ts';
import { oldestFirst } from '../../api/order.ts';
import { matchesSelector } from '../../api/selectors.ts';
import type { EgressIP } from '../../api/types.ts';
import { egressNodeSelector } from '../../model/rules/egress-node-selectors.ts';
import type { Clock } from '../../store/clock.ts';
import type { Log } from '../../store/log.ts';
import type { ClusterInformers } from '../informers.ts';
import type { ClusterManagerSettings } from '../settings.ts';
import { moveEgressAddresses, nextStepAt, type EgressMoveState } from './egress-moves.ts';
import {
  EGRESS_IPS_OFF,
  egressProblems,
  externalAddresses,
  networkDownProblems,
  requestedAddresses,
  whyUnread,
  type EgressProblem,
} from './egress-ip-outcome.ts';
import { ownersOf } from './egress-nodes.ts';
import { movePlaces, placesOf, type EgressPlaceEvent, type EgressPlaces } from './egress-places.ts';
import type { KnownEgressNodes } from './known-egress-nodes.ts';

/** What is decided for one object. */
export interface EgressDecision {
  readonly uid: string | undefined;
  readonly assignment: EgressAssignment;
  readonly moves: readonly EgressMoveState[];
  readonly problems: readonly EgressProblem[];
  readonly places: EgressPlaces;
}

export interface EgressDecisionsOptions {
  readonly informers: Pick<ClusterInformers, 'egressIps' | 'services'>;
  readonly cluster: ClusterManagerSettings['cluster'];
  readonly nodes: KnownEgressNodes;
  /** Whether a node has just become one that is asked, and has not been heard yet. */
  readonly isNew: (node: string) => boolean;
  readonly clock: Clock;
  readonly log: Log;
  /** What owners are to be told of addresses that left a node, in order, once the status says so. */
  readonly onPlaceEvents: (egressIp: EgressIP, events: readonly EgressPlaceEvent[]) => void;
}

const NOTHING: EgressAssignment = { items: [], unassigned: new Map() };

const itemsOf = (egressIp: EgressIP): readonly EgressItem[] =>
  (egressIp.status?.items ?? []).map(({ node, egressIP }) => ({ node, address: egressIP }));

type Moved = ReadonlyMap<string, Pick<EgressDecision, 'assignment' | 'moves'>>;

export class EgressDecisions {
  readonly #options: EgressDecisionsOptions;
  /** Services by their external addresses. */
  readonly #services;
  #decisions: ReadonlyMap<string, EgressDecision> = new Map();
  /** The node that has each address, as decided last. */
  #nodeOf: ReadonlyMap<string, string> = new Map();
  /** Nodes with an address that another one could have. */
  #movable: ReadonlySet<string> = new Set();
  #timesMoved = 0;
  #requested: ReadonlySet<string> = new Set();
  /** The object that had an address first, and keeps it whatever a service asks for later. */
  #grants: ReadonlyMap<string, string> = new Map();
  /** Moves under way, by address. */
  #moves: ReadonlyMap<string, EgressMoveState> = new Map();
  #due = Infinity;

  constructor(options: EgressDecisionsOptions) {
    this.#options = options;
    this.#services = options.informers.services.index(externalAddresses);
  }

  of(egressIp: string): EgressDecision | undefined {
    return this.#decisions.get(egressIp);
  }

  /** By name of the object. */
  all(): ReadonlyMap<string, EgressDecision> {
    return this.#decisions;
  }

  nodeOf(address: string): string | undefined {
    return this.#nodeOf.get(address);
  }

  moveOf(address: string): EgressMoveState | undefined {
    return this.#moves.get(address);
  }

  /** Whether another node could have an address of this one. */
  mayMove(node: string): boolean {
    return this.#movable.has(node);
  }

  isRequested(address: string): boolean {
    return this.#requested.has(address);
  }

  /** How often an address went from one node to another. */
  get timesMoved(): number {
    return this.#timesMoved;
  }

  /** When a move goes on by itself, on the clock that only goes forward. */
  get due(): number {
    return this.#due;
  }

  /** `balancing`: the one address that is on its way for balance. */
  decide(balancing: BalancingMove | undefined): void {
    const requests = this.requests();
    this.#noteGrants(requests);
    const moved = this.#move(requests, balancing);
    this.#noteMoves(requests, moved);
    this.#decisions = new Map(
      requests.flatMap((request) => {
        const egressIp = this.#options.informers.egressIps.get(request.name);
        return egressIp === undefined
          ? []
          : [[request.name, this.#decisionOf(egressIp, request, moved, balancing)]];
      }),
    );
  }

  /** Objects, the oldest first, with what they have. */
  requests(): readonly EgressRequest[] {
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
        nodes = this.#options.nodes.selectedBy(selector);
        selected.set(text, nodes);
      }
      // What can't be read moves nothing.
      if (whyUnread(egressIp) !== undefined) nodes = new Set(held.map(({ node }) => node));
      return { name, addresses: requestedAddresses(egressIp).addresses, nodes, held };
    });
  }

  #move(requests: readonly EgressRequest[], balancing: BalancingMove | undefined): Moved {
    const { nodes, clock } = this.#options;
    const answering = nodes.answering();
    const owners = ownersOf(nodes.all());
    const assigned = assignEgressAddresses(requests, nodes.places(), {
      ownerOf: (address, name) => owners.get(address) ?? this.#serviceWith(address, name),
      answeredBy: (address) => answering.get(address) ?? [],
      movesTo: (address) => (balancing?.address === address ? balancing.to : undefined),
    });
    return new Map(
      requests.map((request) => {
        const { name, held } = request;
        const assignment = assigned.get(name) ?? NOTHING;
        const awaiting = this.#awaitNewNodes(request, assignment);
        const { items, moves } = moveEgressAddresses(awaiting, held, this.#movesOf(name), {
          workOf: (node) => nodes.workOf(node),
          isPrepared: (node, address) =>
            nodes.workOf(node) === 'working' &&
            nodes.factsOf(node)?.preparedFor.includes(address) === true,
          isAnswering: (node, address) => answering.get(address)?.includes(node) === true,
          now: clock.monotonic(),
        });
        return [name, { assignment: { ...assignment, items }, moves }];
      }),
    );
  }

  #noteMoves(requests: readonly EgressRequest[], moved: Moved): void {
    const moves = [...moved.values()].flatMap((one) => one.moves);
    for (const { address, from, to, step } of moves)
      if (this.#moves.get(address)?.step !== step)
        this.#options.log.info({ address, from, to, step }, 'egress address moves');
    this.#moves = new Map(moves.map((move) => [move.address, move]));
    this.#due = nextStepAt(moves);
    const nodeOf = new Map(
      [...moved.values()].flatMap(({ assignment: { items } }) =>
        items.map(({ address, node }): [string, string] => [address, node]),
      ),
    );
    for (const [address, node] of this.#nodeOf)
      if (nodeOf.get(address) !== node && this.#requested.has(address)) this.#timesMoved += 1;
    this.#nodeOf = nodeOf;
    this.#movable = nodesToMoveFrom(
      requests,
      this.#options.nodes.places(),
      new Map([...moved].map(([name, { assignment }]) => [name, assignment])),
    );
  }

  #decisionOf(
    egressIp: EgressIP,
    request: EgressRequest,
    moved: Moved,
    balancing: BalancingMove | undefined,
  ): EgressDecision {
    const { assignment, moves } = moved.get(request.name) ?? { assignment: NOTHING, moves: [] };
    return {
      uid: egressIp.metadata.uid,
      assignment,
      moves,
      problems: this.#problemsOf(egressIp, assignment),
      places: this.#placesOf(egressIp, request, assignment, balancing),
    };
  }

  #problemsOf(egressIp: EgressIP, assignment: EgressAssignment): readonly EgressProblem[] {
    const { cluster, nodes } = this.#options;
    if (!cluster.features.egressIp) return [EGRESS_IPS_OFF];
    const matching = egressProblems(egressIp, assignment, cluster, () =>
      nodes.all().filter(({ labels }) => matchesSelector(egressNodeSelector(egressIp), labels)),
    );
    return [...matching, ...this.#downProblems(egressIp, assignment)];
  }

  /** What is on its way elsewhere is told as it arrives. */
  #downProblems(egressIp: EgressIP, { items }: EgressAssignment): readonly EgressProblem[] {
    const staying = items.filter(({ address }) => this.#moves.get(address)?.step !== 'prepare');
    return networkDownProblems(egressIp, staying, (node, address) => {
      const parsed = parseAddress(address);
      return parsed && this.#options.nodes.whyDown(node, parsed);
    });
  }

  /** Where the addresses of an object are. */
  #placesOf(
    egressIp: EgressIP,
    { name, addresses, held, nodes: selected }: EgressRequest,
    assignment: EgressAssignment,
    balancing: BalancingMove | undefined,
  ): EgressPlaces {
    const before = this.#decisions.get(name);
    const isKnown = before !== undefined && before.uid === egressIp.metadata.uid;
    const { places, events } = movePlaces(
      isKnown ? before.places : placesOf(held),
      addresses.keys(),
      assignment,
      {
        whyLeft: (node, address) =>
          this.#options.nodes.whyLeft(node, addresses.get(address), selected),
        isTold: (address, to) => balancing?.address === address && balancing.to === to,
      },
    );
    // Where EgressIPs are off, that is what is told.
    if (events.length > 0 && this.#options.cluster.features.egressIp) {
      this.#options.onPlaceEvents(egressIp, events);
      for (const { message } of events) this.#options.log.info({ egressIp: name }, message);
    }
    return places;
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
    const ranges = this.#options.cluster.serviceExternalRanges;
    // What nodes give no service is free.
    if (ranges.length > 0 && !withinAny(ranges)(address)) return undefined;
    const [service] = oldestFirst(this.#services.get(address));
    return service && `an external address of Service ${objectKey(service.metadata)}`;
  }

  /** An address for which there is a node that has not been heard yet, as it has just become one, stays where it is meanwhile: a label may go from one to the other. */
  #awaitNewNodes(request: EgressRequest, assignment: EgressAssignment): EgressAssignment {
    const unassigned = new Map(assignment.unassigned);
    for (const { node: from, address } of request.held) {
      const parsed = request.addresses.get(address);
      if (unassigned.get(address)?.kind !== 'no-node' || parsed === undefined) continue;
      const to = this.#options.nodes
        .places()
        .find(
          ({ name, networks }) =>
            name !== from &&
            request.nodes.has(name) &&
            this.#options.isNew(name) &&
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
}
