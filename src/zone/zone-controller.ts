/**
 * Keeps one zone's databases as facts and features say: facts → units → rows → plan → commit → confirmation by the data plane.
 * Opens nothing; databases and logger come from outside.
 */
import type { ZoneProblem } from '../api/zone-status.ts';
import { claimsOf, Engine, type RowTarget, type WantedUnit } from '../desired/engine.ts';
import type { Feature } from '../desired/features.ts';
import { connectObject } from '../topology/connect/connect-rows.ts';
import type { ReplicaView } from 'ovsdb-client-ts';
import type { Plan } from '../desired/ovsdb/changes.ts';
import type { MayBeWanted, Reconciler, UnmarkedRow } from '../desired/ovsdb/reconciler.ts';
import { SETTINGS, type FoundRow } from '../desired/rows.ts';
import { Unreadable } from '../facts/unreadable.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import type { Topology } from '../model/model.ts';
import { unknownOf, type Unknown } from '../model/zone/unknown.ts';
import type { MayBeWanted as HostMayBeWanted } from '../node/reconcile/host-plan.ts';
import { hostOfUnknown } from '../node/unknown-host.ts';
import { zoneFeatures } from '../topology/features.ts';
import { networksLeavingByReference } from '../topology/rows/reference-rows.ts';
import { rowsOfUnknown } from '../topology/unknown-rows.ts';
import { Arrivals } from './arrivals.ts';
import { closePorts, type ClosingPortsOptions } from './closing-ports.ts';
import { createGlobalRow, raiseConfiguration } from './confirmation.ts';
import {
  DatabaseTarget,
  type CommitRecord,
  type Database,
  type FlushResult,
  type RepairedRows,
} from './database-target.ts';
import { FailedFacts } from './failed-fact-report.ts';
import { isLeftOver } from './left-over-rows.ts';
import type { Logger } from '../process/logger.ts';
import type { ZoneDatabase } from '../databases/zone-database.ts';
import { ASK_INTERVAL } from './unanswered.ts';
import { ZoneProgress, type UnitProblem } from './zone-progress.ts';

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
  /** Without it ports that are plugged in go as all others. */
  readonly pluggedPorts?: Omit<ClosingPortsOptions, 'northbound'>;
  /** Rows that an ovn-kubernetes left and that nobody wants are removed, once every unit was built. */
  readonly takeOver?: boolean;
  /** That Open vSwitch of the node does not run, with what to do; undefined while it may be well. */
  readonly switchDown?: () => string | undefined;
  /** That ovn-northd does not work, with what to do; undefined while it may be well. */
  readonly northdDown?: () => string | undefined;
  readonly controllerDown?: () => string | undefined;
  /** That ovn-controller was told to follow another Southbound database, with what to do; undefined while it was not. */
  readonly southboundElsewhere?: () => string | undefined;
  /** Objects, `Kind namespace/name`, whose newest version did not get into the facts. */
  readonly unread?: () => Iterable<string>;
  /** Called after each plan that was sent, for metrics. */
  readonly onCommit?: (commit: CommitRecord) => void;
  /** Called with changes that are in a database. */
  readonly onWritten?: (written: WrittenRows) => void;
  /** Called with rows that somebody else had changed, and that are right again. */
  readonly onRepaired?: (repaired: RepairedRows) => void;
  /** Called once for each network that came into use after the start, when all its rows are in the Northbound database. */
  readonly onNetworkWritten?: (written: NetworkWritten) => void;
}

interface WrittenRows extends Pick<Plan, 'changes' | 'drifted'> {
  readonly database: string;
  /** Milliseconds from the plan to the last answer. */
  readonly duration: number;
}

export interface NetworkWritten {
  readonly network: string;
  readonly topology: Topology;
  /** Milliseconds since the network was first used here. */
  readonly duration: number;
}

/** What is kept beside the databases of the zone: the host of its node. */
export interface ZoneHost {
  readonly features: readonly Feature<ZoneFacts>[];
  readonly targets: readonly RowTarget[];
  /** What is wrong with units there. */
  problems(): readonly UnitProblem[];
}

export class ZoneController {
  /** How far networks and connections are. */
  readonly progress: ZoneProgress;
  readonly #options: ZoneControllerOptions;
  readonly #engine: Engine<ZoneFacts>;
  #targets: readonly DatabaseTarget[] = [];
  #hasWritten = false;
  #isAnnounced = false;
  /** When `nb_cfg` was raised last, or could have been for the first time. */
  #askedAt: number | undefined;
  /** Networks that came into use after the start and are not all written, by when that was. */
  readonly #firstUsed = new Map<string, number>();
  readonly #arrivals: Arrivals;
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
      refresh: () => facts.refresh(this.#now(), !this.#areArriving()),
      features: [...zoneFeatures, ...(options.host?.features ?? [])],
      onFault: (unit, error) => {
        // A fact that can't be known is no fault of the builder, and is told where it is not known.
        if (!(error instanceof Unreadable))
          options.log.error(
            { component: 'zone', unit: unitText(unit), err: error },
            'could not be built, its rows stay as they are',
          );
      },
    });
    this.progress = new ZoneProgress({
      facts,
      engine: this.#engine,
      northbound: options.northbound,
      now: this.#now,
      wallClock: options.wallClock ?? ((): Date => new Date()),
      isStarted: () => this.isStarted,
      ...(options.switchDown === undefined ? {} : { switchDown: options.switchDown }),
      ...(options.northdDown === undefined ? {} : { northdDown: options.northdDown }),
      ...(options.controllerDown === undefined ? {} : { controllerDown: options.controllerDown }),
      ...(options.southboundElsewhere === undefined
        ? {}
        : { southboundElsewhere: options.southboundElsewhere }),
      problems: () => ({
        ofRows: this.#targets.flatMap(({ rowProblems }) => rowProblems),
        ofHost: options.host?.problems() ?? [],
      }),
    });
    this.#arrivals = new Arrivals((network) => this.progress.isUnderWay(network));
    facts.rendered.onKeys(([network], isPresent) => {
      if (!isPresent) {
        this.#firstUsed.delete(network);
        this.#arrivals.delete(network);
        this.progress.forget(network);
      } else if (this.isStarted) {
        this.#firstUsed.set(network, this.#now());
        this.#arrivals.add(network, this.#now());
      }
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
    return this.#targets.map((target) => target.plan());
  }

  /** The network or connection that a unit is there for; undefined for what all share, and for units that are gone. */
  subjectOf(unit: string): string | undefined {
    return this.#engine.subjectOf(unit);
  }

  /** Reconcilers of the zone's databases, by their names in the schema: they know who wants which row. */
  get reconcilers(): readonly Reconciler[] {
    return this.#targets.map(({ reconciler }) => reconciler);
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
      const result = await target.flush(signal);
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
    if (this.progress.hasUnannounced || this.#isToBeAsked()) {
      const sequence = await raiseConfiguration(transactor, signal);
      if (sequence === undefined) return { kind: 'again', reason: 'nb_cfg could not be raised' };
      this.#askedAt = this.#now();
      this.progress.announced(sequence);
    }
    this.#isAnnounced = true;
    this.#arrivals.written();
    const southboundResult = unwritten.get('Southbound');
    if (southboundResult !== undefined) return southboundResult;
    this.#hasWritten = true;
    return { kind: 'settled', committed };
  }

  /** True when OVN owes no answer and has not been asked for long. */
  #isToBeAsked(): boolean {
    this.#askedAt ??= this.#now();
    return this.progress.behind === 0 && this.#now() - this.#askedAt >= ASK_INTERVAL;
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
      ...this.#targets.flatMap(({ rowProblems }) => rowProblems),
      ...(this.#options.host?.problems() ?? []),
    ];
    for (const { kind, table, key, object, message } of ofRows) {
      if (kind === 'awaited') continue;
      // What settings want has no object but the row.
      const isOfObject = object !== undefined && object !== SETTINGS;
      problems.push({ object: isOfObject ? object : `${table} "${key}"`, message });
    }
    for (const target of this.#targets) problems.push(...target.problems());
    return problems;
  }

  /** What objects wait for that is read in a moment, in words. */
  waitingFacts(): Iterable<ZoneProblem> {
    return this.#failedFacts.waiting();
  }

  /** Objects whose units or rows are not all there: failed, refused, or waiting for something. */
  *unfinishedObjects(): Iterable<string> {
    yield* this.#engine.unfinishedObjects();
    const ofRows = this.#targets.flatMap(({ rowProblems }) => rowProblems);
    for (const { object } of [...ofRows, ...(this.#options.host?.problems() ?? [])])
      if (object !== undefined) yield object;
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

  /** When facts change by themselves, on the controller's clock: a network's time after its last use, or before it comes, is over. */
  get nextExpiry(): number | undefined {
    const { facts } = this.#options;
    const arrival = facts.usage.entering.size === 0 ? undefined : this.#arrivals.end;
    const ends = [facts.nextExpiry, arrival].filter((end) => end !== undefined);
    return ends.length === 0 ? undefined : Math.min(...ends);
  }

  close(): void {
    for (const target of this.#targets) target.close();
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
    if (this.#targets.length === 0) this.#noteEgressLeft(northbound.replica);
    this.#targets = [
      ...this.#targets,
      ...added.map(([name, database]) => this.#target(name, database)),
    ];
    this.#engine.connect([
      ...this.#targets.map(({ reconciler }) => reconciler),
      ...(this.#options.host?.targets ?? []),
    ]);
  }

  /** As it was found: before anything of ours is written. */
  #noteEgressLeft(replica: ReplicaView): void {
    const rows = ['Logical_Router_Policy', 'NAT'].flatMap((table) => [...replica.rows(table)]);
    for (const network of networksLeavingByReference(rows))
      this.#options.facts.egressLeft.put(network, { network });
  }

  #target(name: Database, database: ZoneDatabase): DatabaseTarget {
    const { name: schema } = database.replica.schema;
    const { pluggedPorts } = this.#options;
    return new DatabaseTarget({
      name,
      database,
      prepare:
        name === 'Northbound' && pluggedPorts !== undefined
          ? (plan, signal) => closePorts(plan, { ...pluggedPorts, northbound: database }, signal)
          : undefined,
      claims: claimsOf(zoneFeatures, schema),
      log: this.#options.log,
      now: this.#now,
      wants: () => {
        this.#takeOver();
        return { isComplete: !this.#engine.isDirty, mayBeWanted: this.#mayBeWanted(schema) };
      },
      onRepaired: (repaired) => this.#options.onRepaired?.(repaired),
      onCommit: (commit, plan, refused) => {
        for (const { unit } of plan.changes)
          this.progress.changed(this.#engine.subjectOf(unit) ?? '');
        this.#options.onCommit?.(commit);
        if (commit.outcome !== 'success') return;
        const left = new Set(refused.map(({ unit }) => unit));
        const changes = plan.changes.filter(({ unit }) => !left.has(unit));
        const { database, duration } = commit;
        this.#options.onWritten?.({ database, changes, drifted: plan.drifted, duration });
      },
    });
  }

  /** Networks that came before are not all in the data plane, where there is one. */
  #areArriving(): boolean {
    return this.#arrivals.areUnderWay(this.#now()) && this.progress.sequence.reached > 0;
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

  #isLeft(database: string): (row: FoundRow, table: string) => boolean {
    return isLeftOver(this.#options.facts, this.#unknown(), this.#mayBeWanted(database));
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
    for (const target of this.#targets)
      for (const [table, rows] of target.unread())
        counts.set(table, (counts.get(table) ?? 0) + rows);
    return counts;
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
}

/** `["pods/port","blue","web","blue/n"]` → `pods/port blue web blue/n`. */
const unitText = (id: string): string => (JSON.parse(id) as readonly string[]).join(' ');
