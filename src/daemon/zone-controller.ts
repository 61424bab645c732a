/**
 * Keeps one zone's databases as facts and features say: facts → units → rows → plan → commit → confirmation by the data plane.
 * Opens nothing; databases and logger come from outside.
 */
import type {
  NetworkState,
  ZoneConnectStatus,
  ZoneNetworkStatus,
  ZoneProblem,
} from '../api/zone-status.ts';
import { claimsOf, Engine, type RowTarget, type WantedUnit } from '../desired/engine.ts';
import type { Feature } from '../desired/features.ts';
import { linkFailure } from '../model/connects.ts';
import { connectObject } from '../topology/connect/connect-rows.ts';
import {
  commitPlan,
  Reconciler,
  type Plan,
  type PlanProblem,
  type UnmarkedRow,
} from '../desired/ovsdb/index.ts';
import type { FoundRow } from '../desired/rows.ts';
import type { ZoneFacts } from '../model/facts.ts';
import type { Topology } from '../model/model.ts';
import type { FlowProblem } from '../node/drivers/flow-plan.ts';
import type { LinuxProblem } from '../node/drivers/linux-change.ts';
import type { NftProblem } from '../node/drivers/nft-plan.ts';
import type { ReplicaView, Transactor } from '../ovsdb/index.ts';
import { zoneFeatures } from '../topology/features.ts';
import { CLUSTER } from '../topology/rows.ts';
import { isReferenceRow, networkOfReferenceRow } from '../topology/reference-rows.ts';
import {
  configurationSequence,
  createGlobalRow,
  raiseConfiguration,
  type ConfigurationSequence,
} from './confirmation.ts';
import type { Logger } from './logger.ts';

export type Database = 'Northbound' | 'Southbound';

/** One database of the zone as the controller needs it. */
export interface ZoneDatabase {
  readonly replica: ReplicaView;
  readonly transactor: Transactor;
  /** Lock to assert in every transaction; absent for a database that others write too. */
  readonly lock?: string;
  /** Why nothing can be written now, in words, or undefined. */
  readonly unavailable: () => string | undefined;
}

export interface ZoneControllerOptions {
  readonly facts: ZoneFacts;
  readonly northbound: ZoneDatabase;
  /** Without it the chassis of remote nodes are not managed. */
  readonly southbound?: ZoneDatabase;
  /** Without it the host is left alone. */
  readonly host?: ZoneHost;
  readonly log: Logger;
  /** Milliseconds on a monotonic clock. */
  readonly now?: () => number;
  /** Rows that an ovn-kubernetes left and that nobody wants are removed, once every unit was built. */
  readonly takeOver?: boolean;
  /** Called after each plan that was sent, for metrics. */
  readonly onCommit?: (commit: CommitRecord) => void;
  /** Called once for each network that came into use after the start, when all its rows are in the Northbound database. */
  readonly onNetworkWritten?: (written: NetworkWritten) => void;
}

/** Reasons by what units count for: the name of a network, or a connection. */
interface Causes {
  readonly failed: ReadonlyMap<string, string>;
  readonly waiting: ReadonlyMap<string, string>;
}

export interface NetworkWritten {
  readonly network: string;
  readonly topology: Topology;
  /** Milliseconds since the network was first used here. */
  readonly duration: number;
}

export interface CommitRecord {
  readonly database: Database;
  /** `success`, `retry`, `not-locked`, `unknown`. */
  readonly outcome: string;
  readonly rows: number;
  /** Units that the server refused, or that could not go without one of those. */
  readonly refused: number;
  /** Rows that the plan looked at. */
  readonly examined: number;
  /** Milliseconds from the plan to the last answer. */
  readonly duration: number;
}

/** How a pass over the databases ended. */
export type FlushResult =
  | { readonly kind: 'settled'; readonly committed: number }
  /** Not everything could be written now; a later pass may do it. */
  | { readonly kind: 'again'; readonly reason: string };

/** What is kept beside the databases of the zone: the host of its node. */
export interface ZoneHost {
  readonly features: readonly Feature<ZoneFacts>[];
  readonly targets: readonly RowTarget[];
  /** What is wrong with units there. */
  problems(): readonly Pick<
    PlanProblem | LinuxProblem | NftProblem | FlowProblem,
    'kind' | 'unit' | 'object' | 'table' | 'key' | 'message'
  >[];
}

interface Target {
  readonly name: Database;
  readonly database: ZoneDatabase;
  readonly reconciler: Reconciler;
  problems: readonly PlanProblem[];
  /** Rows of ours that nobody wants and that stay, because not every unit could be built. */
  heldBack: number;
  readonly unsupported: Set<string>;
}

/** A plan made on a replica that moved meanwhile is made again this often before the pass is given up. */
const MAX_ATTEMPTS = 10;

export class ZoneController {
  readonly #options: ZoneControllerOptions;
  readonly #engine: Engine<ZoneFacts>;
  #targets: readonly Target[] = [];
  /** By network: the `nb_cfg` that its last change went out with. */
  readonly #sequenceOf = new Map<string, number>();
  /** `nb_cfg` when we began: what was there before went out with it at the latest. */
  #firstSequence: number | undefined;
  /** Networks that were in the data plane when the process before us said so last. */
  readonly #programmedBefore = new Set<string>();
  #hasWritten = false;
  /** Networks with changes that no raised `nb_cfg` stands for yet; '' for what belongs to none. */
  readonly #unannounced = new Set<string>();
  /** Networks that came into use after the start and are not all written, by when that was. */
  readonly #firstUsed = new Map<string, number>();
  #stopFollowing: (() => void)[] = [];
  /** Nothing is left to be taken over, or nothing is to be. */
  #isTakenOver: boolean;
  readonly #now: () => number;

  constructor(options: ZoneControllerOptions) {
    const { facts } = options;
    this.#options = options;
    this.#isTakenOver = options.takeOver !== true;
    this.#now = options.now ?? ((): number => performance.now());
    this.#engine = new Engine({
      facts,
      recorder: facts.recorder,
      refresh: () => facts.refresh(this.#now()),
      features: [...zoneFeatures, ...(options.host?.features ?? [])],
    });
    facts.rendered.onKeys(([network = ''], isPresent) => {
      if (!isPresent) {
        this.#firstUsed.delete(network);
        this.#sequenceOf.delete(network);
        this.#programmedBefore.delete(network);
      } else if (this.isStarted) this.#firstUsed.set(network, this.#now());
    });
    facts.connects.onKeys(([connect = ''], isPresent) => {
      if (isPresent) return;
      this.#sequenceOf.delete(connectObject(connect));
      this.#programmedBefore.delete(connectObject(connect));
    });
  }

  /**
   * Builds what the facts changed; the next pass writes what differs. Returns why nothing was built: as long as this node is
   * not known, nothing is right and nothing wrong.
   */
  update(): string | undefined {
    const { facts } = this.#options;
    if (facts.self.peek(facts.nodeName) === undefined) {
      facts.refresh(this.#now());
      if (facts.self.peek(facts.nodeName) === undefined)
        return `node ${facts.nodeName} is not known yet`;
    }
    if (!this.isStarted) this.#start();
    this.#engine.build();
    return undefined;
  }

  /** True once something was built: before that there is nothing to plan. */
  get isStarted(): boolean {
    return this.#targets.length > 0;
  }

  /** What units want of the host, built anew. */
  hostUnits(): Iterable<WantedUnit> {
    return this.#engine.wanted(this.#options.host?.features ?? []);
  }

  /** What a pass would change now, Northbound first. */
  plans(): readonly Plan[] {
    return this.#targets.map((target) => this.#plan(target));
  }

  /** Rows that an ovn-kubernetes left, that nobody wants and that stay unless they are taken over, by database. */
  left(): readonly (UnmarkedRow & { readonly database: Database })[] {
    // Before every unit was built nobody knows what is not wanted.
    if (!this.isComplete) return [];
    return this.#targets.flatMap(({ name, reconciler }) =>
      reconciler.unmarked(this.#isLeft).map((row) => ({ ...row, database: name })),
    );
  }

  /** True once all that could be written was: before that nothing is known of how far networks are. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /**
   * Networks that the process before us reported in the data plane: they are, until we change them, however far behind the data plane is
   * with the changes of others.
   */
  rememberProgrammed(networks: Iterable<string>): void {
    for (const network of networks) this.#programmedBefore.add(network);
  }

  /** True when rows may differ from what they should be. */
  get isDirty(): boolean {
    return (
      this.#engine.isDirty || this.#targets.some(({ reconciler }) => reconciler.dirtyCount > 0)
    );
  }

  /** Number of units, and of those that are to be built or planned, for metrics. */
  get units(): number {
    return this.#engine.unitCount;
  }

  /** Writes what differs, and raises `nb_cfg` after a change so that the data plane confirms it. */
  async flush(signal: AbortSignal): Promise<FlushResult> {
    const { replica, transactor, unavailable } = this.#options.northbound;
    if (unavailable() === undefined && replica.size('NB_Global') === 0)
      await transactor.transact(createGlobalRow, { signal });
    let committed = 0;
    // Chassis of remote nodes come before the ports that ask for them.
    for (const target of this.#targets.toReversed()) {
      const result = await this.#flushTarget(target, signal);
      if (result.kind === 'again') return result;
      committed += result.committed;
    }
    this.#firstSequence ??= configurationSequence(replica).configured;
    this.#reportWritten();
    if (this.#unannounced.size > 0) {
      const sequence = await raiseConfiguration(transactor, signal);
      if (sequence === undefined) return { kind: 'again', reason: 'nb_cfg could not be raised' };
      for (const network of this.#unannounced) this.#sequenceOf.set(network, sequence);
      this.#unannounced.clear();
    }
    this.#hasWritten = true;
    return { kind: 'settled', committed };
  }

  /** `nb_cfg` of the newest change, and what the data plane has reached. */
  get sequence(): ConfigurationSequence {
    const { reached, configured } = configurationSequence(this.#options.northbound.replica);
    return { configured: Math.max(0, ...this.#sequenceOf.values()) || configured, reached };
  }

  /** What is wrong with units and their rows, with what to do. */
  problems(): readonly ZoneProblem[] {
    const problems: ZoneProblem[] = [];
    const { factsError } = this.#engine;
    if (factsError !== undefined)
      problems.push({
        object: `Node ${this.#options.facts.nodeName}`,
        message: `what follows from the objects stays as it was until it can be worked out again: ${factsError}`,
      });
    for (const { id, state, problems: own } of this.#engine.notable()) {
      problems.push(...own);
      if (state.kind === 'rejected') problems.push({ object: state.object, message: state.reason });
      else if (state.kind === 'failed')
        problems.push({
          object: `unit ${unitText(id)}`,
          message: `could not be built, its rows stay as they are: ${state.error}`,
        });
    }
    const ofRows = [
      ...this.#targets.flatMap((target) => target.problems),
      ...(this.#options.host?.problems() ?? []),
    ];
    for (const { kind, table, key, object, message } of ofRows) {
      if (kind === 'awaited') continue;
      // What settings want has no object but the row.
      const isOfObject = object !== undefined && object !== CLUSTER;
      problems.push({ object: isOfObject ? object : `${table} "${key}"`, message });
    }
    for (const { name, heldBack } of this.#targets) {
      if (heldBack > 0)
        problems.push({
          object: `database ${name}`,
          message: `${heldBack} rows that nobody may want any more stay until everything could be built`,
        });
    }
    return problems;
  }

  /** Tables and columns that the servers lack. */
  get unsupported(): readonly string[] {
    return this.#targets.flatMap(({ unsupported }) => [...unsupported]);
  }

  /** What is wrong with units, and what is waited for, by what they count for. */
  #causes(): Causes {
    const { facts } = this.#options;
    const failed = new Map<string, string>();
    const waiting = new Map<string, string>();
    for (const { id, state } of this.#engine.notable()) {
      const subject = this.#engine.subjectOf(id);
      if (subject === undefined) continue;
      const object = facts.networks.peek(subject)?.object ?? subject;
      if (state.kind === 'failed') failed.set(subject, state.error);
      // A pod that is rejected harms itself alone.
      else if (state.kind === 'rejected' && state.object === object)
        failed.set(subject, state.reason);
      else if (state.kind === 'waiting') waiting.set(subject, state.for);
    }
    // The first cause counts; what is blocked by another row's problem comes behind it.
    const ofHost = this.#options.host?.problems() ?? [];
    const found = [...this.#targets.flatMap(({ problems }) => problems), ...ofHost];
    for (const { kind, unit, message } of [
      ...found.filter((one) => one.kind !== 'blocked'),
      ...found.filter((one) => one.kind === 'blocked'),
    ]) {
      const subject = kind === 'awaited' ? undefined : this.#engine.subjectOf(unit);
      if (subject !== undefined && !failed.has(subject)) failed.set(subject, message);
    }
    // The host waits for Open vSwitch.
    for (const { kind, unit, message } of ofHost) {
      const subject = kind === 'awaited' ? this.#engine.subjectOf(unit) : undefined;
      if (subject !== undefined && !waiting.has(subject)) waiting.set(subject, message);
    }
    return { failed, waiting };
  }

  /** How far something is that has rows here, by what its units count for. */
  #progress(
    subject: string,
    { failed, waiting }: Causes,
    reached: number,
  ): { readonly state: NetworkState; readonly message?: string } {
    const failure = failed.get(subject);
    if (failure !== undefined) return { state: 'Failed', message: failure };
    const waitsFor = waiting.get(subject);
    if (waitsFor !== undefined) return { state: 'Pending', message: waitsFor };
    if (this.#unannounced.has(subject)) return { state: 'Committed' };
    const ours = this.#sequenceOf.get(subject);
    const isReached = reached >= (ours ?? this.#firstSequence ?? Infinity);
    const wasReached = ours === undefined && this.#programmedBefore.has(subject);
    return { state: isReached || wasReached ? 'Programmed' : 'Committed' };
  }

  /** How far each ClusterNetworkConnect is here that was accepted. */
  connects(): readonly ZoneConnectStatus[] {
    const { facts } = this.#options;
    const node = facts.self.peek(facts.nodeName);
    if (!this.isStarted || node === undefined) return [];
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

  /** How far each network is here. */
  networks(): readonly ZoneNetworkStatus[] {
    const networks = [...this.#options.facts.networks.entries()]
      .map(([, network]) => network)
      .sort((a, b) => a.id - b.id || (a.name < b.name ? -1 : 1));
    return this.#networkStatuses(networks.map(({ name }) => name));
  }

  #networkStatuses(names: readonly string[]): readonly ZoneNetworkStatus[] {
    const { facts } = this.#options;
    if (!this.isStarted) return [];
    const causes = this.#causes();
    const { reached } = this.sequence;
    return names.map((name): ZoneNetworkStatus => {
      const admission = facts.admission(name);
      if (admission?.kind === 'problem')
        return { name, state: 'Failed', message: admission.message };
      if (admission?.kind === 'pending')
        return { name, state: 'Pending', message: admission.waitsFor };
      if (facts.rendered.peek(name) === undefined) return { name, state: 'Unused' };
      return { name, ...this.#progress(name, causes, reached) };
    });
  }

  /** When facts change by themselves, on the controller's clock: a network's time after its last use is over. */
  get nextExpiry(): number | undefined {
    return this.#options.facts.usage.nextExpiry;
  }

  close(): void {
    for (const stop of this.#stopFollowing) stop();
    this.#stopFollowing = [];
  }

  #start(): void {
    const { northbound, southbound } = this.#options;
    const target = (name: Database, database: ZoneDatabase): Target => {
      const claims = claimsOf(zoneFeatures, database.replica.schema.name);
      const reconciler = new Reconciler(database.replica, claims);
      this.#stopFollowing.push(reconciler.follow());
      return { name, database, reconciler, problems: [], heldBack: 0, unsupported: new Set() };
    };
    this.#targets = [
      target('Northbound', northbound),
      ...(southbound === undefined ? [] : [target('Southbound', southbound)]),
    ];
    this.#engine.connect([
      ...this.#targets.map(({ reconciler }) => reconciler),
      ...(this.#options.host?.targets ?? []),
    ]);
  }

  /** True when every unit was built: only then is it known what nobody wants. */
  get isComplete(): boolean {
    return this.#options.facts.isComplete && this.#engine.isComplete && !this.#engine.isDirty;
  }

  /**
   * True for a row of an ovn-kubernetes that no object asks for. What belongs to a network that is declared and not rendered here may carry
   * its pods: it is not Heddle's to end.
   */
  readonly #isLeft = (row: FoundRow, table: string): boolean => {
    const { networks, rendered } = this.#options.facts;
    const network = networkOfReferenceRow(row);
    const isDeclared = network !== undefined && networks.peek(network) !== undefined;
    return isReferenceRow(row, table) && !(isDeclared && rendered.peek(network) === undefined);
  };

  /** Not before every unit was built: until then nobody knows what an ovn-kubernetes left that is not wanted. */
  #takeOverOnce(): void {
    if (this.#isTakenOver) return;
    this.#isTakenOver = true;
    for (const { reconciler } of this.#targets)
      reconciler.takeOver(reconciler.unmarked(this.#isLeft));
  }

  /** All that could be written is: networks that are in use and in order are complete. */
  #reportWritten(): void {
    const { facts, onNetworkWritten } = this.#options;
    for (const { name, state } of this.#networkStatuses([...this.#firstUsed.keys()])) {
      const since = this.#firstUsed.get(name);
      const topology = facts.rendered.peek(name)?.topology;
      if (since === undefined || topology === undefined) continue;
      if (state !== 'Committed' && state !== 'Programmed') continue;
      this.#firstUsed.delete(name);
      // Rows that were there already say nothing about how long it takes.
      if (this.#unannounced.has(name))
        onNetworkWritten?.({ network: name, topology, duration: this.#now() - since });
    }
  }

  #plan(target: Target): Plan {
    const isComplete = this.isComplete;
    if (isComplete) this.#takeOverOnce();
    const plan = target.reconciler.plan({ now: this.#now(), isComplete });
    target.problems = plan.problems;
    target.heldBack = plan.heldBack;
    for (const sentence of plan.unsupported) {
      if (target.unsupported.has(sentence)) continue;
      target.unsupported.add(sentence);
      this.#options.log.warn({ database: target.name }, sentence);
    }
    return plan;
  }

  async #flushTarget(target: Target, signal: AbortSignal): Promise<FlushResult> {
    const { database, reconciler, name } = target;
    let committed = 0;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const unavailable = database.unavailable();
      if (unavailable !== undefined) return { kind: 'again', reason: unavailable };
      const plan = this.#plan(target);
      if (plan.isEmpty) return { kind: 'settled', committed };
      const began = this.#now();
      const result = await commitPlan(database.transactor, plan, {
        ...(database.lock === undefined ? {} : { lock: database.lock }),
        comment: 'heddle',
        signal,
      });
      this.#options.onCommit?.({
        database: name,
        outcome: result.kind,
        rows: result.committed,
        refused: result.refused.length,
        examined: plan.examined,
        duration: this.#now() - began,
      });
      committed += result.committed;
      for (const { unit } of plan.changes)
        this.#unannounced.add(this.#engine.subjectOf(unit) ?? '');
      reconciler.refused(result.refused, this.#now());
      for (const { table, key, message } of result.refused)
        this.#options.log.error({ database: name, table, key }, message);
      switch (result.kind) {
        case 'unchanged':
        case 'success':
          break;
        case 'retry':
          this.#options.log.debug({ database: name, reason: result.reason }, 'planning again');
          break;
        case 'not-locked':
        case 'unknown':
          return { kind: 'again', reason: result.reason ?? result.kind };
      }
    }
    return {
      kind: 'again',
      reason: `${name}: the database changes faster than it can be followed`,
    };
  }
}

/** `["pods/port","blue","web","blue/n"]` → `pods/port blue web blue/n`. */
const unitText = (id: string): string => (JSON.parse(id) as readonly string[]).join(' ');
