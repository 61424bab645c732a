/** How far networks and connections are in the zone: what of them is wrong or waited for, what is committed, and what the data plane has. */
import { MASQUERADE_NUMBERS } from '../api/annotations/node-annotations.ts';
import type { NetworkState, ZoneConnectStatus, ZoneNetworkStatus } from '../api/zone-status.ts';
import type { Engine } from '../desired/engine.ts';
import type { PlanProblem } from '../desired/ovsdb/changes.ts';
import { linkFailure } from '../model/read/connects.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import type { HostProblem } from '../node/reconcile/host-plan.ts';
import type { ReplicaView } from 'ovsdb-client-ts';
import { connectObject } from '../topology/connect/connect-rows.ts';
import { configurationSequence, type ConfigurationSequence } from './confirmation.ts';
import { AnswerWatch, unansweredText, type Unanswered } from './unanswered.ts';

/** What is wrong with something that a unit wants. */
export type UnitProblem = Pick<
  PlanProblem | HostProblem,
  'kind' | 'unit' | 'object' | 'table' | 'key' | 'message'
>;

export interface ZoneProgressOptions {
  readonly facts: ZoneFacts;
  readonly engine: Engine<ZoneFacts>;
  readonly northbound: { readonly replica: ReplicaView };
  /** False until something was built: before that nothing is known of networks. */
  readonly isStarted: () => boolean;
  /** Milliseconds on a clock that only goes forward, and the time of day. */
  readonly now: () => number;
  readonly wallClock: () => Date;
  /** That Open vSwitch of the node does not run, with what to do; undefined while it may be well. */
  readonly switchDown?: () => string | undefined;
  /** That ovn-northd does not work, with what to do; undefined while it may be well. */
  readonly northdDown?: () => string | undefined;
  /** That ovn-controller does not work, with what to do; undefined while it may be well. */
  readonly controllerDown?: () => string | undefined;
  /** That ovn-controller was told to follow another Southbound database, with what to do; undefined while it was not. */
  readonly southboundElsewhere?: () => string | undefined;
  /** What is wrong with rows, and with the host. */
  readonly problems: () => {
    readonly ofRows: readonly UnitProblem[];
    readonly ofHost: readonly UnitProblem[];
  };
}

const ENTERING = 'waits until OVN has taken in the networks that came before it';

const awaitedNumber = (node: string): string =>
  `waits for a masquerade number of the network on node ${node} (annotation ${MASQUERADE_NUMBERS} of the Node)`;

/** Reasons by what units count for: the name of a network, or a connection. */
interface Causes {
  readonly failed: ReadonlyMap<string, string>;
  readonly waiting: ReadonlyMap<string, string>;
  /** Which programs of the data plane have not answered for long. */
  readonly silent: readonly string[];
}

export class ZoneProgress {
  readonly #options: ZoneProgressOptions;
  /** By network or connection: the `nb_cfg` that its last change went out with. */
  readonly #sequenceOf = new Map<string, number>();
  readonly #answers = new AnswerWatch();
  /** `nb_cfg` when we began: what was there before went out with it at the latest. */
  #firstSequence: number | undefined;
  /** Networks and connections that were in the data plane by the last report of the process before us. */
  readonly #programmedBefore = new Set<string>();
  /** Those with changes that no raised `nb_cfg` stands for yet; '' for what belongs to none. */
  readonly #unannounced = new Set<string>();

  constructor(options: ZoneProgressOptions) {
    this.#options = options;
  }

  /** To be called once all that is right already is known to be. */
  begin(): void {
    this.#firstSequence ??= configurationSequence(this.#options.northbound.replica).configured;
  }

  /** Rows of a network or connection were sent. */
  changed(subject: string): void {
    this.#unannounced.add(subject);
  }

  isUnannounced(subject: string): boolean {
    return this.#unannounced.has(subject);
  }

  /** False once the data plane has all that was sent. */
  isUnderWay(subject: string): boolean {
    const { reached } = configurationSequence(this.#options.northbound.replica);
    return this.isUnannounced(subject) || (this.#sequenceOf.get(subject) ?? 0) > reached;
  }

  get hasUnannounced(): boolean {
    return this.#unannounced.size > 0;
  }

  /** All changes so far go out with this `nb_cfg`. */
  announced(sequence: number): void {
    for (const subject of this.#unannounced) this.#sequenceOf.set(subject, sequence);
    this.#unannounced.clear();
  }

  /** A network or connection is not rendered any more. */
  forget(subject: string): void {
    this.#sequenceOf.delete(subject);
    this.#programmedBefore.delete(subject);
  }

  /**
   * Networks that the process before us reported in the data plane: they are, until we change them, however far behind the data plane is
   * with the changes of others.
   */
  rememberProgrammed(networks: Iterable<string>): void {
    for (const network of networks) this.#programmedBefore.add(network);
  }

  /** `nb_cfg` of the newest change, and what the data plane has reached. */
  get sequence(): ConfigurationSequence {
    const { reached, configured } = configurationSequence(this.#options.northbound.replica);
    return { configured: Math.max(0, ...this.#sequenceOf.values()) || configured, reached };
  }

  /** By how much the data plane is behind what was asked of it, by whomever. */
  get behind(): number {
    const { reached, configured } = configurationSequence(this.#options.northbound.replica);
    return Math.max(0, configured - reached);
  }

  /** Which programs of the data plane have not answered for long: what they are, since when, and what to look at. */
  silent(): readonly string[] {
    const { northbound, facts, now, wallClock, isStarted, switchDown } = this.#options;
    const elsewhere = this.#options.southboundElsewhere?.();
    const down = switchDown?.();
    // The database may not be loaded before.
    if (!isStarted()) return down === undefined ? [] : [down];
    const time = now();
    this.#answers.observe(configurationSequence(northbound.replica), time, wallClock());
    const chassis = facts.self.peek(facts.nodeName)?.chassisId;
    const northd = this.#options.northdDown?.();
    const controller = this.#options.controllerDown?.();
    const named = [down, northd, controller].filter((one) => one !== undefined);
    // It brings the answer of the chassis, too: nobody else is blamed meanwhile.
    if (northd !== undefined) return named;
    // What keeps ovn-controller from confirming is the cause, and named once.
    const isExplained = down !== undefined || controller !== undefined;
    const silent = this.#answers
      .silent(time)
      .filter(({ program }) => !isExplained || program !== 'ovn-controller');
    return [...named, ...silent.map((one) => unansweredText(one, chassis, elsewhere))];
  }

  /** Who has not reached this `nb_cfg` yet, whether it is silent for long or for a moment. */
  owed(configured: number): string {
    const { northd, chassis } = configurationSequence(this.#options.northbound.replica);
    return northd < configured
      ? `nb_cfg is ${configured}, and ovn-northd has reached ${northd}: see whether it runs, and its log`
      : `nb_cfg is ${configured}, ovn-northd has reached it, and ovn-controller ${chassis}: see whether it runs and is connected, and its log`;
  }

  /** True for a program that has owed an answer since before that time. */
  owedSince(program: Unanswered['program'], time: number): boolean {
    return this.#answers.owedSince(program, time);
  }

  /** Milliseconds until a program that owes an answer counts as silent; undefined when none does. */
  untilSilent(): number | undefined {
    return this.#answers.untilNext(this.#options.now());
  }

  /** How far each network is here. */
  networks(): readonly ZoneNetworkStatus[] {
    const networks = [...this.#options.facts.networks.entries()]
      .map(([, network]) => network)
      .sort((a, b) => a.id - b.id || (a.name < b.name ? -1 : 1));
    return this.networksOf(networks.map(({ name }) => name));
  }

  /** What is reported of networks: of those on demand nothing, where nothing uses them. */
  reported(): readonly ZoneNetworkStatus[] {
    const { registrations } = this.#options.facts;
    return this.networks().filter(
      ({ name, state }) => state !== 'Unused' || registrations.peek(name)?.isOnDemand !== true,
    );
  }

  /** How far these networks are here. */
  networksOf(names: readonly string[]): readonly ZoneNetworkStatus[] {
    const { facts } = this.#options;
    if (!this.#options.isStarted()) return [];
    const causes = this.#causes();
    const { reached } = this.sequence;
    return names.map((name): ZoneNetworkStatus => {
      const admission = facts.admissions.get(name);
      if (admission?.kind === 'problem')
        return { name, state: 'Failed', message: admission.message };
      if (admission?.kind === 'pending')
        return { name, state: 'Pending', message: admission.waitsFor };
      if (facts.usage.entering.has(name)) return { name, state: 'Pending', message: ENTERING };
      if (facts.rendered.peek(name) === undefined)
        return facts.isAwaitingNumber(name)
          ? { name, state: 'Pending', message: awaitedNumber(facts.nodeName) }
          : { name, state: 'Unused' };
      return { name, ...this.#progress(name, causes, reached) };
    });
  }

  /** How far each ClusterNetworkConnect is here that was accepted. */
  connects(): readonly ZoneConnectStatus[] {
    const { facts } = this.#options;
    const node = facts.self.peek(facts.nodeName);
    if (!this.#options.isStarted() || node === undefined) return [];
    const causes = this.#causes();
    const { reached } = this.sequence;
    return [...facts.connects.entries()]
      .map(([, connect]) => connect)
      .filter(({ isAccepted }) => isAccepted)
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((connect): ZoneConnectStatus => {
        const { name } = connect;
        const failure = linkFailure(connect, node, (id) => facts.networkOfId(id)?.name);
        if (failure !== undefined) return { name, state: 'Failed', message: failure };
        return facts.isConnectRendered(name)
          ? { name, ...this.#progress(connectObject(name), causes, reached) }
          : { name, state: 'Unused' };
      });
  }

  /** How far something is that has rows here, by what its units count for. */
  #progress(
    subject: string,
    { failed, waiting, silent }: Causes,
    reached: number,
  ): { readonly state: NetworkState; readonly message?: string } {
    const failure = failed.get(subject);
    if (failure !== undefined) return { state: 'Failed', message: failure };
    const waitsFor = waiting.get(subject);
    // What is waited for may be what a silent program would make, such as the port of a bridge: then that is the cause.
    const [cause] = silent;
    if (waitsFor !== undefined) return { state: 'Pending', message: cause ?? waitsFor };
    const ours = this.#sequenceOf.get(subject);
    const isReached = reached >= (ours ?? this.#firstSequence ?? Infinity);
    const wasReached = ours === undefined && this.#programmedBefore.has(subject);
    if (!this.#unannounced.has(subject) && (isReached || wasReached))
      return { state: 'Programmed' };
    return { state: 'Committed', ...(cause === undefined ? {} : { message: cause }) };
  }

  /** What is wrong with units, and what is waited for, by what they count for. */
  #causes(): Causes {
    const { facts, engine } = this.#options;
    const failed = new Map<string, string>();
    const waiting = new Map<string, string>();
    for (const { id, state } of engine.notable()) {
      const subject = engine.subjectOf(id);
      if (subject === undefined) continue;
      const object = facts.networks.peek(subject)?.object ?? subject;
      if (state.kind === 'failed') failed.set(subject, state.error);
      // A pod that is rejected harms itself alone.
      else if (state.kind === 'rejected' && state.object === object)
        failed.set(subject, state.reason);
      else if (state.kind === 'waiting') waiting.set(subject, state.for);
    }
    // The first cause counts; what is blocked by another row's problem comes behind it.
    const { ofRows, ofHost } = this.#options.problems();
    const found = [...ofRows, ...ofHost];
    for (const { kind, unit, message } of [
      ...found.filter((one) => one.kind !== 'blocked'),
      ...found.filter((one) => one.kind === 'blocked'),
    ]) {
      const subject = kind === 'awaited' ? undefined : engine.subjectOf(unit);
      if (subject !== undefined && !failed.has(subject)) failed.set(subject, message);
    }
    // The host waits for Open vSwitch.
    for (const { kind, unit, message } of ofHost) {
      const subject = kind === 'awaited' ? engine.subjectOf(unit) : undefined;
      if (subject !== undefined && !waiting.has(subject)) waiting.set(subject, message);
    }
    return { failed, waiting, silent: this.silent() };
  }
}
