/**
 * Keeps one zone's databases as the zone says: changed units → rows → plan → commit → confirmation by the data plane.
 * Opens nothing; databases and logger come from outside.
 */
import type { ZoneNetworkStatus } from '../api/zone-status.ts';
import type { NetworkName, Topology, Zone } from '../model/model.ts';
import {
  commitPlan,
  Reconciler,
  type Plan,
  type PlanProblem,
  type ReplicaView,
  type Transactor,
} from '../ovsdb/index.ts';
import { whyNotRendered } from '../model/rendering.ts';
import { northboundRules } from '../topology/northbound-rules.ts';
import { renderedZone, type Refusal } from '../topology/rendered-zone.ts';
import { southboundRules } from '../topology/southbound-rules.ts';
import { changedUnits, type Database } from '../topology/units.ts';
import {
  configurationSequence,
  createGlobalRow,
  raiseConfiguration,
  type ConfigurationSequence,
} from './confirmation.ts';
import type { Logger } from './logger.ts';

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
  readonly northbound: ZoneDatabase;
  /** Without it the chassis of remote nodes are somebody else's business. */
  readonly southbound?: ZoneDatabase;
  readonly log: Logger;
  /** Milliseconds on a monotonic clock. */
  readonly now?: () => number;
  /** Told about each transaction series, for metrics. */
  readonly onCommit?: (commit: CommitRecord) => void;
  /** Told once of each network that came after the start, when all its rows are in the Northbound database. */
  readonly onNetworkWritten?: (written: NetworkWritten) => void;
}

export interface NetworkWritten {
  readonly network: string;
  readonly topology: Topology;
  /** Milliseconds since the network was first seen. */
  readonly duration: number;
}

export interface CommitRecord {
  readonly database: Database;
  /** `success`, `retry`, `not-locked`, `unknown`. */
  readonly outcome: string;
  readonly rows: number;
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

interface Target {
  readonly name: Database;
  readonly database: ZoneDatabase;
  readonly reconciler: Reconciler;
  problems: readonly PlanProblem[];
  readonly leftOut: Set<string>;
  /** Rows that the server refused last time; they are not sent again at each change of something else. */
  refused: {
    readonly rows: ReadonlySet<string>;
    readonly problems: readonly PlanProblem[];
    readonly at: number;
  };
}

const NOTHING_REFUSED: Target['refused'] = { rows: new Set(), problems: [], at: 0 };

const rowName = ({ table, key }: { readonly table: string; readonly key: string }): string =>
  `${table} ${key}`;

/** Milliseconds until refused rows are tried again although nothing that concerns them changed. */
const REFUSED_REST = 30_000;

/** A plan made on a replica that moved meanwhile is made again this often before the pass is given up. */
const MAX_ATTEMPTS = 10;

export class ZoneController {
  readonly #options: ZoneControllerOptions;
  #targets: readonly Target[] = [];
  #zone: Zone | undefined;
  /** By network: the `nb_cfg` that its last change went out with. */
  readonly #sequenceOf = new Map<string, number>();
  /** `nb_cfg` when we began: what was there before went out with it at the latest. */
  #firstSequence: number | undefined;
  /** Networks with changes that no raised `nb_cfg` stands for yet. */
  readonly #unannounced = new Set<string>();
  /** Networks that came after the start and are not all written, by when they were first seen. */
  readonly #firstSeen = new Map<string, number>();
  /** Made when it is asked for; each zone has its own. */
  #networkByPod: ReadonlyMap<string, string> | undefined;
  #stopFollowing: (() => void)[] = [];

  readonly #now: () => number;

  constructor(options: ZoneControllerOptions) {
    this.#options = options;
    this.#now = options.now ?? ((): number => performance.now());
  }

  /** Takes over a zone; the next pass writes what differs. */
  update(zone: Zone): void {
    if (zone === this.#zone) return;
    if (this.#zone === undefined) this.#start(zone);
    else this.#noteArrivals(this.#zone, zone);
    const changes = changedUnits(this.#zone, zone);
    this.#zone = zone;
    this.#networkByPod = undefined;
    for (const unit of changes.rebuild.values())
      this.#target(unit.database)?.reconciler.setUnit(unit.key, unit.build());
    for (const target of this.#targets) {
      for (const key of changes.gone) target.reconciler.removeUnit(key);
      target.refused = NOTHING_REFUSED;
    }
  }

  /** What a pass would change now, Northbound first. */
  plans(): readonly Plan[] {
    return this.#targets.map(({ reconciler }) => reconciler.plan());
  }

  /** True when rows may differ from what they should be. */
  get isDirty(): boolean {
    return this.#targets.some(({ reconciler }) => reconciler.dirtyCount > 0);
  }

  /** Writes what differs, and raises `nb_cfg` after a change so that the data plane confirms it. */
  async flush(signal: AbortSignal): Promise<FlushResult> {
    const { replica, transactor } = this.#options.northbound;
    let committed = 0;
    // Chassis of remote nodes come before the ports that ask for them.
    for (const target of this.#targets.toReversed()) {
      const result = await this.#flushTarget(target, signal);
      if (result.kind === 'again') return result;
      committed += result.committed;
    }
    this.#firstSequence ??= configurationSequence(replica).configured;
    this.#tellWritten();
    if (this.#unannounced.size > 0) {
      if (replica.size('NB_Global') === 0) await transactor.transact(createGlobalRow, { signal });
      const sequence = await raiseConfiguration(transactor, signal);
      if (sequence === undefined) return { kind: 'again', reason: 'nb_cfg could not be raised' };
      for (const network of this.#unannounced) this.#sequenceOf.set(network, sequence);
      this.#unannounced.clear();
    }
    return { kind: 'settled', committed };
  }

  /** `nb_cfg` of the newest change, and what the data plane has reached. */
  get sequence(): ConfigurationSequence {
    const { reached, configured } = configurationSequence(this.#options.northbound.replica);
    return { configured: Math.max(0, ...this.#sequenceOf.values()) || configured, reached };
  }

  /** Rows that can't be as they should, with what to do. */
  get problems(): readonly PlanProblem[] {
    return this.#targets.flatMap(({ problems }) =>
      problems.filter(({ kind }) => kind !== 'awaited'),
    );
  }

  /** Objects whose rows would have the names of others'. */
  get refusals(): readonly Refusal[] {
    return this.#zone === undefined ? [] : renderedZone(this.#zone).refused;
  }

  /** Tables and columns that the servers lack. */
  get leftOut(): readonly string[] {
    return this.#targets.flatMap(({ leftOut }) => [...leftOut]);
  }

  /** How far each network of the zone is. */
  networks(): readonly ZoneNetworkStatus[] {
    const zone = this.#zone;
    if (zone === undefined) return [];
    const pods = Map.groupBy(zone.attachments, ({ network }) => network);
    const refused = new Map(
      this.refusals
        .filter(({ kind }) => kind === 'network')
        .map(({ name, reason }) => [name, reason]),
    );
    const failed = new Map(
      this.problems.map((problem) => [this.#networkOf(problem.unit), problem.message]),
    );
    const { reached } = this.sequence;
    return zone.networks.map((network): ZoneNetworkStatus => {
      const status = { name: network.name, pods: pods.get(network.name)?.length ?? 0 };
      const failure = refused.get(network.name) ?? failed.get(network.name);
      if (failure !== undefined) return { ...status, state: 'Failed', message: failure };
      const notRendered = whyNotRendered(network);
      if (notRendered !== undefined) return { ...status, state: 'Pending', message: notRendered };
      if (!network.nodeSubnets.has(zone.node.name))
        return {
          ...status,
          state: 'Pending',
          message: `node ${zone.node.name} has no subnet of this network yet`,
        };
      const sequence = this.#sequenceOf.get(network.name) ?? this.#firstSequence ?? 0;
      const isAnnounced = !this.#unannounced.has(network.name);
      return { ...status, state: isAnnounced && reached >= sequence ? 'Programmed' : 'Committed' };
    });
  }

  close(): void {
    for (const stop of this.#stopFollowing) stop();
    this.#stopFollowing = [];
  }

  #start(zone: Zone): void {
    const { northbound, southbound } = this.#options;
    const target = (name: Database, database: ZoneDatabase, reconciler: Reconciler): Target => {
      this.#stopFollowing.push(reconciler.follow());
      return {
        name,
        database,
        reconciler,
        problems: [],
        leftOut: new Set(),
        refused: NOTHING_REFUSED,
      };
    };
    this.#targets = [
      target('Northbound', northbound, new Reconciler(northbound.replica, northboundRules(zone))),
      ...(southbound === undefined
        ? []
        : [
            target(
              'Southbound',
              southbound,
              new Reconciler(southbound.replica, southboundRules(zone)),
            ),
          ]),
    ];
  }

  #noteArrivals(before: Zone, after: Zone): void {
    const namesOf = ({ networks }: Zone): ReadonlySet<string> =>
      new Set(networks.map(({ name }) => name));
    const [known, present] = [namesOf(before), namesOf(after)];
    for (const name of this.#firstSeen.keys()) if (!present.has(name)) this.#firstSeen.delete(name);
    for (const name of present) if (!known.has(name)) this.#firstSeen.set(name, this.#now());
  }

  /** All that could be written is: networks that are in a state to be rendered, and were not refused, are complete. */
  #tellWritten(): void {
    if (this.#firstSeen.size === 0) return;
    const topologies = new Map(this.#zone?.networks.map(({ name, topology }) => [name, topology]));
    for (const { name, state } of this.networks()) {
      const seen = this.#firstSeen.get(name);
      const topology = topologies.get(name as NetworkName);
      if (seen === undefined || topology === undefined) continue;
      if (state !== 'Committed' && state !== 'Programmed') continue;
      this.#firstSeen.delete(name);
      // Rows that were there already say nothing about how long it takes.
      if (this.#unannounced.has(name))
        this.#options.onNetworkWritten?.({ network: name, topology, duration: this.#now() - seen });
    }
  }

  #target(name: Database): Target | undefined {
    return this.#targets.find((target) => target.name === name);
  }

  async #flushTarget(target: Target, signal: AbortSignal): Promise<FlushResult> {
    const { database, reconciler, name } = target;
    let committed = 0;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const unavailable = database.unavailable();
      if (unavailable !== undefined) return { kind: 'again', reason: unavailable };
      const plan = reconciler.plan();
      this.#noteLeftOut(target, plan.leftOut);
      target.problems = plan.problems;
      if (plan.isEmpty) return { kind: 'settled', committed };
      if (this.#isAtRest(target, plan)) {
        target.problems = [...plan.problems, ...target.refused.problems];
        return { kind: 'settled', committed };
      }
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
      for (const { unit } of plan.changes) this.#unannounced.add(this.#networkOf(unit));
      switch (result.kind) {
        case 'unchanged':
        case 'success':
          if (result.refused.length === 0) break;
          target.problems = [...plan.problems, ...result.refused];
          target.refused = {
            rows: new Set(result.refused.map(rowName)),
            problems: result.refused,
            at: this.#now(),
          };
          for (const { table, key, message } of result.refused)
            this.#options.log.error({ database: name, table, key }, message);
          return { kind: 'settled', committed };
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

  /** True when all that is to be done was refused a short while ago. */
  #isAtRest({ refused }: Target, plan: Plan): boolean {
    return (
      this.#now() - refused.at < REFUSED_REST &&
      plan.changes.every((change) => refused.rows.has(rowName(change)))
    );
  }

  #noteLeftOut(target: Target, leftOut: readonly string[]): void {
    for (const sentence of leftOut) {
      if (target.leftOut.has(sentence)) continue;
      target.leftOut.add(sentence);
      this.#options.log.warn({ database: target.name }, sentence);
    }
  }

  /** `network/blue_blue/node/n2` and the pods of blue_blue → `blue_blue`; what belongs to none → ''. */
  #networkOf(unit: string | undefined): string {
    const [kind, ...rest] = (unit ?? '').split('/');
    if (kind === 'network') return rest[0] ?? '';
    if (kind !== 'pod') return '';
    this.#networkByPod ??= new Map(
      this.#zone?.attachments.map(({ namespace, pod, nadKey, network }) => [
        `${namespace}/${pod}/${nadKey}`,
        network,
      ]),
    );
    return this.#networkByPod.get(rest.join('/')) ?? '';
  }
}
