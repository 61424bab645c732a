/**
 * Keeps one zone's databases as facts and features say: facts → units → rows → plan → commit → confirmation by the data plane.
 * Opens nothing; databases and logger come from outside.
 */
import type { ZoneProblem } from '../api/zone-status.ts';
import { claimsOf, Engine, type RowTarget, type WantedUnit } from '../desired/engine.ts';
import type { Feature } from '../desired/features.ts';
import { connectObject } from '../topology/connect/connect-rows.ts';
import type { Plan, PlanProblem } from '../desired/ovsdb/changes.ts';
import { commitPlan } from '../desired/ovsdb/commit.ts';
import { Reconciler, type MayBeWanted, type UnmarkedRow } from '../desired/ovsdb/reconciler.ts';
import { SETTINGS, type FoundRow } from '../desired/rows.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import type { Topology } from '../model/model.ts';
import { networkObject } from '../model/zone/failed-facts.ts';
import { unknownOf, type Unknown } from '../model/zone/unknown.ts';
import type { MayBeWanted as HostMayBeWanted } from '../node/reconcile/host-plan.ts';
import { hostOfUnknown } from '../node/unknown-host.ts';
import { zoneFeatures } from '../topology/features.ts';
import { rowsOfUnknown } from '../topology/unknown-rows.ts';
import {
  isReferenceRow,
  networkOfReferenceRow,
  objectsOfReferenceRow,
} from '../topology/rows/reference-rows.ts';
import { backoffDelay, type Backoff } from '../store/backoff.ts';
import { createGlobalRow, raiseConfiguration } from './confirmation.ts';
import { FailedFacts } from './failed-fact-report.ts';
import type { Logger } from '../process/logger.ts';
import type { ZoneDatabase } from '../databases/zone-database.ts';
import { ZoneProgress, type UnitProblem } from './zone-progress.ts';

export type Database = 'Northbound' | 'Southbound';

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
  /** The time of day, for what people read. */
  readonly wallClock?: () => Date;
  /** Rows that an ovn-kubernetes left and that nobody wants are removed, once every unit was built. */
  readonly takeOver?: boolean;
  /** Objects, `Kind namespace/name`, whose newest version did not get into the facts. */
  readonly unread?: () => Iterable<string>;
  /** Called after each plan that was sent, for metrics. */
  readonly onCommit?: (commit: CommitRecord) => void;
  /** Called once for each network that came into use after the start, when all its rows are in the Northbound database. */
  readonly onNetworkWritten?: (written: NetworkWritten) => void;
}

export interface NetworkWritten {
  readonly network: string;
  readonly topology: Topology;
  /** Milliseconds since the network was first used here. */
  readonly duration: number;
}

export interface CommitRecord {
  readonly database: Database;
  /** `success`, `retry`, `not-locked`, `server-failed`, `unknown`. */
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
  problems(): readonly UnitProblem[];
}

/** A server that can't write: a full disk, no memory. */
interface ServerFailure {
  readonly attempt: number;
  /** Milliseconds on the controller's clock; when it is tried again. */
  readonly until: number;
  readonly reason: string;
}

/** While a server can't write. */
const SERVER_BACKOFF: Backoff = { first: 1000, longest: 30_000 };

interface Target {
  readonly name: Database;
  readonly database: ZoneDatabase;
  readonly reconciler: Reconciler;
  problems: readonly PlanProblem[];
  failure: ServerFailure | undefined;
  /** Rows of ours that nobody wants and that stay, as they may be there for something that can't be read or built. */
  heldBack: number;
  readonly unsupported: Set<string>;
  /** UUIDs of rows that could not be read, and the tables that had any. */
  readonly unread: Set<string>;
  readonly faultyTables: Set<string>;
}

/** A plan made on a replica that moved meanwhile is made again this often before the pass is given up. */
const MAX_ATTEMPTS = 10;

export class ZoneController {
  /** How far networks and connections are. */
  readonly progress: ZoneProgress;
  readonly #options: ZoneControllerOptions;
  readonly #engine: Engine<ZoneFacts>;
  #targets: readonly Target[] = [];
  #hasWritten = false;
  #isAnnounced = false;
  /** Networks that came into use after the start and are not all written, by when that was. */
  readonly #firstUsed = new Map<string, number>();
  #stopFollowing: (() => void)[] = [];
  /** Nothing is left to be taken over, or nothing is to be. */
  #isTakenOver: boolean;
  readonly #now: () => number;
  readonly #failedFacts: FailedFacts;

  constructor(options: ZoneControllerOptions) {
    const { facts } = options;
    this.#options = options;
    this.#isTakenOver = options.takeOver !== true;
    this.#failedFacts = new FailedFacts(facts, options.log);
    this.#now = options.now ?? ((): number => performance.now());
    this.#engine = new Engine({
      facts,
      recorder: facts.recorder,
      refresh: () => facts.refresh(this.#now()),
      features: [...zoneFeatures, ...(options.host?.features ?? [])],
    });
    this.progress = new ZoneProgress({
      facts,
      engine: this.#engine,
      northbound: options.northbound,
      now: this.#now,
      wallClock: options.wallClock ?? ((): Date => new Date()),
      isStarted: () => this.isStarted,
      problems: () => ({
        ofRows: this.#targets.flatMap(({ problems }) => problems),
        ofHost: options.host?.problems() ?? [],
      }),
    });
    facts.rendered.onKeys(([network], isPresent) => {
      if (!isPresent) {
        this.#firstUsed.delete(network);
        this.progress.forget(network);
      } else if (this.isStarted) this.#firstUsed.set(network, this.#now());
    });
    facts.connects.onKeys(([connect], isPresent) => {
      if (!isPresent) this.progress.forget(connectObject(connect));
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
    this.#connect();
    this.#isAnnounced = false;
    this.#engine.build();
    this.#failedFacts.logNew();
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
    // Before units are built nobody knows what is not wanted.
    if (this.#engine.isDirty) return [];
    return this.#targets.flatMap(({ name, reconciler }) =>
      reconciler
        .unmarked(this.#isLeft(reconciler.database))
        .map((row) => ({ ...row, database: name })),
    );
  }

  /** True once all that could be written was: before that nothing is known of how far networks are. */
  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** True when all that was built is in the Northbound database, and OVN is asked to confirm it. */
  get isAnnounced(): boolean {
    return this.#isAnnounced;
  }

  /** True when every unit is as facts want it now. */
  get isBuilt(): boolean {
    return !this.#engine.isDirty;
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
    const unwritten = new Map<Database, FlushResult & { readonly kind: 'again' }>();
    // Chassis of remote nodes come before the ports that ask for them, where both can be written.
    for (const target of this.#targets.toReversed()) {
      const result = await this.#flushTarget(target, signal);
      if (result.kind === 'again') unwritten.set(target.name, result);
      else committed += result.committed;
    }
    const { southbound } = this.#options;
    if (southbound?.isLoaded?.() === false)
      unwritten.set('Southbound', { kind: 'again', reason: southbound.unavailable() ?? '' });
    const northboundResult = unwritten.get('Northbound');
    if (northboundResult !== undefined) return northboundResult;
    this.progress.begin();
    this.#reportWritten();
    if (this.progress.hasUnannounced) {
      const sequence = await raiseConfiguration(transactor, signal);
      if (sequence === undefined) return { kind: 'again', reason: 'nb_cfg could not be raised' };
      this.progress.announced(sequence);
    }
    this.#isAnnounced = true;
    const southboundResult = unwritten.get('Southbound');
    if (southboundResult !== undefined) return southboundResult;
    this.#hasWritten = true;
    return { kind: 'settled', committed };
  }

  /** What is wrong with units and their rows, with what to do. */
  problems(): readonly ZoneProblem[] {
    const problems: ZoneProblem[] = [];
    problems.push(...this.#failedFacts.problems());
    for (const message of this.progress.silent())
      problems.push({ object: `Node ${this.#options.facts.nodeName}`, message });
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
      const isOfObject = object !== undefined && object !== SETTINGS;
      problems.push({ object: isOfObject ? object : `${table} "${key}"`, message });
    }
    for (const { name, failure } of this.#targets)
      if (failure !== undefined)
        problems.push({ object: `database ${name}`, message: failure.reason });
    for (const { name, heldBack } of this.#targets) {
      if (heldBack > 0)
        problems.push({
          object: `database ${name}`,
          message: `${heldBack} rows that nobody wants stay, as they may be there for something that can't be read or built: see what else is reported`,
        });
    }
    return problems;
  }

  /** The object that a network is there for: `UserDefinedNetwork blue/blue`. */
  objectOf(network: string): string {
    return this.#options.facts.networks.peek(network)?.object ?? network;
  }

  /** Number of facts that could not be worked out, for metrics. */
  get failedFacts(): number {
    return this.#failedFacts.count;
  }

  /** Tables and columns that the servers lack. */
  get unsupported(): readonly string[] {
    return this.#targets.flatMap(({ unsupported }) => [...unsupported]);
  }

  /** When facts change by themselves, on the controller's clock: a network's time after its last use is over. */
  get nextExpiry(): number | undefined {
    return this.#options.facts.nextExpiry;
  }

  close(): void {
    for (const stop of this.#stopFollowing) stop();
    this.#stopFollowing = [];
  }

  /** Units are built for the databases that are there; once more when Southbound comes later. */
  #connect(): void {
    const { northbound, southbound } = this.#options;
    const databases = [
      ['Northbound', northbound] as const,
      ...(southbound === undefined || southbound.isLoaded?.() === false
        ? []
        : [['Southbound', southbound] as const]),
    ];
    const added = databases.slice(this.#targets.length);
    if (added.length === 0) return;
    const target = (name: Database, database: ZoneDatabase): Target => {
      const claims = claimsOf(zoneFeatures, database.replica.schema.name);
      const reconciler = new Reconciler(database.replica, claims);
      this.#stopFollowing.push(reconciler.follow());
      return {
        name,
        database,
        reconciler,
        problems: [],
        failure: undefined,
        heldBack: 0,
        unsupported: new Set(),
        unread: new Set(),
        faultyTables: new Set(),
      };
    };
    this.#targets = [...this.#targets, ...added.map(([name, database]) => target(name, database))];
    this.#engine.connect([
      ...this.#targets.map(({ reconciler }) => reconciler),
      ...(this.#options.host?.targets ?? []),
    ]);
  }

  #unknown(): Unknown | undefined {
    return unknownOf(this.#options.facts, this.#options.unread?.() ?? []);
  }

  /** What of the host that nobody wants may be there for something that is not known; undefined when everything is known and built. */
  hostMayBeWanted(): HostMayBeWanted | undefined {
    const { facts, host } = this.#options;
    if (this.#engine.isDirty) return () => true;
    return hostOfUnknown(facts, this.#unknown(), this.#engine.unbuiltOf(host?.features ?? []));
  }

  /**
   * Tells a row of an ovn-kubernetes that no object asks for, nor anything that is not known. What belongs to a network that is declared and not
   * rendered here may carry its pods: it is not Heddle's to end.
   */
  #isLeft(database: string): (row: FoundRow, table: string) => boolean {
    const { facts } = this.#options;
    const { networks, rendered, registrations } = facts;
    const mayBeWanted = this.#mayBeWanted(database);
    const hasUnreadNads = this.#unknown()?.nads.size !== 0;
    return (row, table) => {
      if (!isReferenceRow(row, table)) return false;
      const network = networkOfReferenceRow(row);
      const isDeclared = network !== undefined && networks.peek(network) !== undefined;
      if (isDeclared && rendered.peek(network) === undefined) return false;
      const objects = [...objectsOfReferenceRow(row, table)];
      if (network !== undefined) {
        const isOfUnread =
          hasUnreadNads && !isDeclared && registrations.peek(network) === undefined;
        objects.push(isOfUnread ? '' : networkObject(facts, network));
      }
      if (objects.length === 0) objects.push('');
      return !objects.some((object) => mayBeWanted(row, table, object));
    };
  }

  /** What an ovn-kubernetes left is ours to remove, as soon as it is known that nobody wants it. */
  #takeOver(): void {
    if (this.#isTakenOver || this.#engine.isDirty) return;
    this.#isTakenOver = this.#engine.isComplete && this.#unknown() === undefined;
    for (const { reconciler } of this.#targets)
      reconciler.takeOver(reconciler.unmarked(this.#isLeft(reconciler.database)));
  }

  /** All that could be written is: networks that are in use and in order are complete. */
  #reportWritten(): void {
    const { facts, onNetworkWritten } = this.#options;
    for (const { name, state } of this.progress.networksOf([...this.#firstUsed.keys()])) {
      const since = this.#firstUsed.get(name);
      const topology = facts.rendered.peek(name)?.topology;
      if (since === undefined || topology === undefined) continue;
      if (state !== 'Committed' && state !== 'Programmed') continue;
      this.#firstUsed.delete(name);
      // Rows that were there already say nothing about how long it takes.
      if (this.progress.isUnannounced(name))
        onNetworkWritten?.({ network: name, topology, duration: this.#now() - since });
    }
  }

  /** Rows that a fault of ours keeps from being read, by table. */
  unread(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const target of this.#targets) {
      for (const table of target.faultyTables) counts.set(table, 0);
      for (const { table } of target.reconciler.unread)
        counts.set(table.name, (counts.get(table.name) ?? 0) + 1);
    }
    return counts;
  }

  /** Each once, with the stack: what a plan says of it is for users. */
  #logUnread({ name, reconciler, unread, faultyTables }: Target): void {
    const known = new Set(unread);
    unread.clear();
    for (const { table, uuid, error } of reconciler.unread) {
      unread.add(uuid);
      faultyTables.add(table.name);
      if (known.has(uuid)) continue;
      const stack = error instanceof Error ? error.stack : undefined;
      this.#options.log.error(
        { component: 'zone', database: name, table: table.name, row: uuid, error, stack },
        'a row could not be read; it is left alone, and tried again',
      );
    }
  }

  #plan(target: Target): Plan {
    this.#takeOver();
    const plan = target.reconciler.plan({
      now: this.#now(),
      isComplete: !this.#engine.isDirty,
      mayBeWanted: this.#mayBeWanted(target.reconciler.database),
    });
    this.#logUnread(target);
    target.problems = plan.problems;
    target.heldBack = plan.heldBack;
    for (const sentence of plan.unsupported) {
      if (target.unsupported.has(sentence)) continue;
      target.unsupported.add(sentence);
      this.#options.log.warn({ database: target.name }, sentence);
    }
    return plan;
  }

  /** Worked out at the first row that is asked about: mostly there is none. */
  #mayBeWanted(database: string): MayBeWanted {
    let rules: readonly MayBeWanted[] | undefined;
    return (...found) => {
      if (rules === undefined) {
        const isOfUnbuilt = this.#engine.unbuiltIn(database);
        const unknown = this.#unknown();
        rules = [
          (_row, table, object) => isOfUnbuilt(table, object),
          ...(unknown === undefined ? [] : [rowsOfUnknown(this.#options.facts, unknown)]),
        ];
      }
      return rules.some((mayBeWanted) => mayBeWanted(...found));
    };
  }

  #serverFailure({ name, failure }: Target, what: string): ServerFailure {
    const attempt = (failure?.attempt ?? 0) + 1;
    return {
      attempt,
      until: this.#now() + backoffDelay(SERVER_BACKOFF, attempt, Math.random),
      reason: `the server of ${name} can't write, whatever the rows are (${what}): what differs is written as soon as it can; see its log and the space on its file system`,
    };
  }

  async #flushTarget(target: Target, signal: AbortSignal): Promise<FlushResult> {
    const { database, reconciler, name } = target;
    let committed = 0;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const unavailable = database.unavailable();
      if (unavailable !== undefined) return { kind: 'again', reason: unavailable };
      const plan = this.#plan(target);
      if (plan.isEmpty) {
        target.failure = undefined;
        return { kind: 'settled', committed };
      }
      if (target.failure !== undefined && target.failure.until > this.#now())
        return { kind: 'again', reason: target.failure.reason };
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
        this.progress.changed(this.#engine.subjectOf(unit) ?? '');
      reconciler.refused(result.refused, this.#now());
      for (const { table, key, message } of result.refused)
        this.#options.log.error({ database: name, table, key }, message);
      switch (result.kind) {
        case 'unchanged':
        case 'success':
          target.failure = undefined;
          break;
        case 'server-failed':
          target.failure = this.#serverFailure(target, result.reason ?? result.kind);
          return { kind: 'again', reason: target.failure.reason };
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
