/** Answers who asks whether this node is well, and keeps the fact of whether it may have egress addresses (docs/decisions/egress-health.md). */
import { errorText } from '../../api/error-text.ts';
import type { EgressIP, Node } from '../../api/types.ts';
import type { ZoneProblem } from '../../api/zone-status.ts';
import {
  EGRESS_FENCE,
  egressHealthTimes,
  healthAddresses,
  keptAgainUntil,
  keptUntil,
  mayOpenFence,
  type EgressHealthTimes,
  type EgressNodeVotes,
  type NodeAge,
} from '../../model/rules/egress-health.ts';
import { egressNodeSelectors, isEgressNode } from '../../model/rules/egress-node-selectors.ts';
import type { EgressLeaseState } from '../../model/zone/egress-lease.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { HealthAnswer, HealthMetadata, HealthQuestion } from '../../process/grpc-health.ts';
import { pause, type Clock } from '../../store/clock.ts';
import type { ObjectView } from '../../store/informer.ts';
import type { Log } from '../../store/log.ts';
import type { FactSource } from '../fact-source.ts';
import type { FenceRight } from './egress-fence-source.ts';
import { EgressLease } from './egress-lease.ts';

/** One who is asked. */
interface Asked extends Disposable {
  check(question: HealthQuestion, timeout: number): Promise<HealthAnswer>;
}

export interface EgressLeaseSourceOptions {
  readonly node: string;
  readonly nodes: ObjectView<Node>;
  readonly egressIps: Pick<ObjectView<EgressIP>, 'list'>;
  /** Milliseconds that a node may be silent. */
  readonly timeout: number;
  /** Answers at an address; rejects when it can't be had. */
  readonly serve: (
    address: string,
    answer: (question: HealthQuestion) => HealthMetadata,
  ) => Promise<Disposable>;
  readonly connect: (addresses: readonly string[]) => Asked;
  /** Of this process alone. */
  readonly run: string;
  readonly log: Log;
  /** What opens the fence of egress addresses while this node may have them. */
  readonly fence?: {
    /** The node may have them from now on, or no more. */
    wake(): void;
    /** Milliseconds for which the data plane would have them without this daemon; undefined: for good. */
    lasts(now: number): number | undefined;
  };
  /** Called when facts or problems are others. */
  readonly onChange: () => void;
}

interface Peer {
  readonly addresses: string;
  readonly asked: Asked;
  seen: NodeAge | undefined;
}

/** Of the lease: others are asked when so much of it is over, and again after this much. */
const ASK_AT = 0.6;
const ASK_AGAIN = 0.25;
/** Milliseconds for which the address of a management port that comes up is not missed. */
const MISSED_AFTER = 10_000;

export class EgressLeaseSource implements FactSource {
  readonly #options: EgressLeaseSourceOptions;
  readonly #times: EgressHealthTimes;
  readonly #lease: EgressLease;
  readonly #servers = new Map<string, Disposable>();
  readonly #peers = new Map<string, Peer>();
  /** Aborted when there is something to look at. */
  #rest = new AbortController();
  #askedAt = -Infinity;
  #firstAskedAt: number | undefined;
  #mayMove = false;
  /** Until then nobody could be given what this node has, as far as it was known; of a node that a manager has heard since it started. */
  #keptUntil: number | undefined;
  #unserved: { readonly since: number; readonly why: string } | undefined;
  #problems: readonly ZoneProblem[] = [];

  constructor(options: EgressLeaseSourceOptions) {
    this.#options = options;
    this.#times = egressHealthTimes(options.timeout);
    this.#lease = new EgressLease(options.run);
  }

  async start(facts: ZoneFacts, clock: Clock, signal: AbortSignal): Promise<void> {
    const { onChange } = this.#options;
    const startedAt = clock.monotonic();
    this.#put(facts, 'unknown');
    try {
      while (!signal.aborted) {
        await this.#listen(clock);
        const now = clock.monotonic();
        const state = this.#stateNow(facts, clock, now - startedAt, now);
        const isNew = this.#put(facts, state);
        const saysMore = this.#say(facts, state, now);
        if (isNew || saysMore) onChange();
        this.#rest = new AbortController();
        const until = AbortSignal.any([signal, this.#rest.signal]);
        await pause(clock, this.#untilNextLook(facts, state, now), until);
      }
    } finally {
      for (const server of this.#servers.values()) server[Symbol.dispose]();
      for (const { asked } of this.#peers.values()) asked[Symbol.dispose]();
    }
  }

  problems(): readonly ZoneProblem[] {
    return this.#problems;
  }

  /** True while nobody else can have what this node has: at this moment, however long this process stood still before. */
  isHeld(facts: ZoneFacts, now: number): boolean {
    return (
      facts.egressLease.peek()?.state === 'held' &&
      this.#keptUntil !== undefined &&
      now < this.#keptUntil
    );
  }

  #put(facts: ZoneFacts, state: EgressLeaseState): boolean {
    if (!facts.egressLease.put([], { state })) return false;
    const { log, node, fence } = this.#options;
    fence?.wake();
    if (state === 'lost')
      log.warn({ node }, 'no cluster manager asks: egress addresses are let go');
    else log.info({ node, state }, 'egress addresses');
    return true;
  }

  async #listen(clock: Clock): Promise<void> {
    const { node, nodes, serve } = this.#options;
    const object = nodes.get(node);
    const wanted = object === undefined ? [] : healthAddresses(object);
    for (const [address, server] of this.#servers)
      if (!wanted.includes(address)) {
        this.#servers.delete(address);
        server[Symbol.dispose]();
      }
    let why: string | undefined;
    for (const address of wanted) {
      if (this.#servers.has(address)) continue;
      try {
        const server = await serve(address, (question) =>
          this.#answer(question, clock.monotonic()),
        );
        this.#servers.set(address, server);
      } catch (error) {
        why = errorText(error);
      }
    }
    this.#unserved =
      why === undefined ? undefined : { since: this.#unserved?.since ?? clock.monotonic(), why };
  }

  /** Milliseconds. What was heard holds for a while by itself, and a node that has nothing to keep is woken when it is heard. */
  #untilNextLook(facts: ZoneFacts, state: EgressLeaseState, now: number): number {
    const { interval, lease } = this.#times;
    const often = interval / 4;
    if (this.#servers.size === 0) return often;
    if (state !== 'held' && facts.egressIps.keysBy('here').length === 0) return lease;
    return Math.max(often, ASK_AT * lease - this.#lease.age(now));
  }

  #answer({ seen, mayMove = false }: HealthQuestion, now: number): HealthMetadata {
    const wasOver = this.#lease.age(now) >= this.#times.lease;
    if (this.#lease.acknowledge(seen, now) && mayMove !== this.#mayMove) {
      this.#mayMove = mayMove;
      this.#options.fence?.wake();
    }
    this.#firstAskedAt ??= now;
    if (wasOver && this.#lease.age(now) < this.#times.lease) this.#rest.abort();
    const fence = this.#options.fence?.lasts(now);
    const metadata = { token: this.#lease.token(now), age: this.#lease.age(now) };
    return fence === undefined ? metadata : { ...metadata, fence };
  }

  /** What a manager told last: another node could have an address that this one has. */
  get mayMove(): boolean {
    return this.#mayMove;
  }

  /** True if a manager is there that has heard all that was answered until then. */
  isHeardSince(at: number, now: number): boolean {
    const { lease } = this.#times;
    return now - at >= lease && this.#lease.age(now) < lease;
  }

  /** Whether the fence may be opened at this moment: however long this process stood still before. */
  fenceRight(facts: ZoneFacts, now: number): FenceRight {
    const state = facts.egressLease.peek()?.state;
    if (state === undefined || state === 'lost') return state === 'lost' ? 'closed' : 'unknown';
    if (state === 'held' && !this.isHeld(facts, now)) return 'unknown';
    const { others, isCounted } = this.#counted();
    const votes = this.#votesOf(others, isCounted);
    if (!mayOpenFence(this.#lease.age(now), now, votes, this.#times)) return 'unknown';
    return state === 'held' ? 'open' : 'left';
  }

  /** What others say lets a node keep what it has, and have it again where nobody can have been given it meanwhile. A manager alone gives it more. */
  #stateNow(facts: ZoneFacts, clock: Clock, running: number, now: number): EgressLeaseState {
    const before = facts.egressLease.peek()?.state ?? 'unknown';
    const age = this.#lease.age(now);
    const votes = this.#votes(facts, clock, now);
    if (before === 'lost' && age >= this.#times.lease) {
      if (this.#keptUntil === undefined) return 'lost';
      const until = keptAgainUntil(this.#keptUntil, now, votes, this.#times);
      this.#keptUntil = until ?? this.#keptUntil;
      return until === undefined ? 'lost' : 'held';
    }
    const until = keptUntil(age, now, votes, this.#times);
    const state = age < this.#times.lease ? 'held' : before;
    if (state === 'held') this.#keptUntil = until ?? this.#keptUntil;
    const isEarly = before === 'unknown' && this.#isEarly(running, now);
    return until !== undefined || isEarly ? state : 'lost';
  }

  /** A manager that is there has asked by then. Where none has, it waits for the fence, which ends by itself; one that has asked waits for no more than the lease. */
  #isEarly(running: number, now: number): boolean {
    if (running < 2 * this.#times.lease) return true;
    if (this.#options.fence === undefined) return false;
    return this.#firstAskedAt === undefined
      ? running < EGRESS_FENCE
      : now - this.#firstAskedAt < this.#times.lease;
  }

  #votes(facts: ZoneFacts, clock: Clock, now: number): EgressNodeVotes {
    if (this.#lease.age(now) < ASK_AT * this.#times.lease) return { isCounted: false, others: [] };
    const { others, isCounted } = this.#counted();
    // Without addresses there is nothing to keep.
    if (facts.egressIps.keysBy('here').length > 0) this.#ask(others, clock, now);
    return this.#votesOf(others, isCounted);
  }

  /** The egress nodes besides this one, and whether it is one. */
  #counted(): { readonly others: readonly Node[]; readonly isCounted: boolean } {
    const { node, nodes, egressIps } = this.#options;
    const selectors = egressNodeSelectors(egressIps.list());
    const counted = nodes.list().filter((one) => isEgressNode(one, selectors));
    const others = counted.filter(({ metadata }) => metadata.name !== node);
    return { others, isCounted: others.length < counted.length };
  }

  #votesOf(others: readonly Node[], isCounted: boolean): EgressNodeVotes {
    return {
      isCounted,
      others: others.map(({ metadata }) => this.#peers.get(metadata.name)?.seen),
    };
  }

  /** Asks all others how long they have not been heard; what they say is there at one of the next looks. */
  #ask(others: readonly Node[], clock: Clock, now: number): void {
    if (now - this.#askedAt < ASK_AGAIN * this.#times.lease) return;
    this.#askedAt = now;
    const names = new Set(others.map(({ metadata }) => metadata.name));
    for (const [name, { asked }] of this.#peers)
      if (!names.has(name)) {
        asked[Symbol.dispose]();
        this.#peers.delete(name);
      }
    for (const other of others) {
      const { name } = other.metadata;
      const addresses = healthAddresses(other);
      if (addresses.length === 0) continue;
      let peer = this.#peers.get(name);
      if (peer?.addresses !== addresses.join()) {
        peer?.asked[Symbol.dispose]();
        const asked = this.#options.connect(addresses);
        peer = { addresses: addresses.join(), asked, seen: undefined };
        this.#peers.set(name, peer);
      }
      void this.#askOne(peer, clock);
    }
  }

  async #askOne(peer: Peer, clock: Clock): Promise<void> {
    const at = clock.monotonic();
    const answer = await peer.asked.check({}, this.#times.recent);
    if (answer.kind === 'serving' && answer.metadata !== undefined)
      peer.seen = { age: answer.metadata.age, at, got: clock.monotonic() };
  }

  /** True if it is another than before. */
  #say(facts: ZoneFacts, state: EgressLeaseState, now: number): boolean {
    const object = `Node ${this.#options.node}`;
    const found: ZoneProblem[] = [];
    if (state === 'lost' && facts.egressIps.keysBy('here').length > 0)
      found.push({
        object,
        message:
          'no cluster manager asks this node for its health, and most other egress nodes are asked, or do not answer: it has let its egress addresses go, so that no other node has them at the same time; see that the node is reached at its management addresses (egressip-node-healthcheck-port)',
      });
    if (this.#unserved !== undefined && now - this.#unserved.since > MISSED_AFTER)
      found.push({
        object,
        message: `can't be asked for its health: ${this.#unserved.why}; end what has the port, or set egressip-node-healthcheck-port`,
      });
    const isNew = JSON.stringify(found) !== JSON.stringify(this.#problems);
    this.#problems = found;
    return isNew;
  }
}
