/** What Prometheus sees of a zone. */
import {
  collectDefaultMetrics,
  Counter,
  exponentialBuckets,
  Gauge,
  Histogram,
  Registry,
} from 'prom-client';
import type { DropLimit } from '../store/event-writer.ts';
import type { NetworkState, ZoneNetworkStatus } from '../api/zone-status.ts';
import type { HostChange } from '../node/node-agent.ts';
import type { CommitRecord } from './database-target.ts';
import type { NetworkWritten } from './zone-controller.ts';

const STATES: readonly NetworkState[] = ['Pending', 'Committed', 'Programmed', 'Failed', 'Unused'];

export class ZoneMetrics {
  readonly registry = new Registry();
  readonly #commits: Counter<'database' | 'outcome'>;
  readonly #rows: Counter<'database'>;
  readonly #refused: Counter<'database'>;
  readonly #examined: Counter<'database'>;
  readonly #duration: Histogram<'database'>;
  readonly #written: Histogram<'topology'>;
  readonly #networks: Gauge<'state'>;
  readonly #problems: Gauge;
  readonly #failedFacts: Gauge;
  readonly #waiting: Gauge<'kind'>;
  readonly #violations: Gauge;
  readonly #undecided: Gauge;
  readonly #provedAt: Gauge;
  readonly #proofDuration: Gauge;
  readonly #failedProofs: Counter;
  readonly #askedProofs: Counter;
  readonly #connected: Gauge<'database'>;
  readonly #behind: Gauge;
  readonly #statusRefused: Counter<'part'>;
  readonly #eventsDropped: Counter<'limit'>;
  readonly #programmed: Histogram;
  readonly #driftRepaired: Counter<'database' | 'table'>;
  readonly #hostChanges: Counter<'database' | 'cause'>;
  readonly #hostRefused: Counter<'database'>;
  readonly #hostDuration: Histogram<'database'>;
  readonly #hostObjects: Gauge<'database' | 'table'>;
  /** Since when networks are on the way into the data plane, in milliseconds of `now`. */
  readonly #onTheWay = new Map<string, number>();

  readonly #now: () => number;

  /** `now`: milliseconds on a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry });
    this.#commits = new Counter({
      name: 'heddle_zone_commits_total',
      help: 'Plans sent to a database, by how they ended.',
      labelNames: ['database', 'outcome'],
      registers,
    });
    this.#rows = new Counter({
      name: 'heddle_zone_rows_committed_total',
      help: 'Rows inserted, changed or removed.',
      labelNames: ['database'],
      registers,
    });
    this.#refused = new Counter({
      name: 'heddle_zone_rows_refused_total',
      help: 'Rows that the database server refused.',
      labelNames: ['database'],
      registers,
    });
    this.#examined = new Counter({
      name: 'heddle_zone_rows_examined_total',
      help: 'Desired rows compared with the database.',
      labelNames: ['database'],
      registers,
    });
    this.#duration = new Histogram({
      name: 'heddle_zone_commit_duration_seconds',
      help: 'From the plan to the last answer of the database server.',
      labelNames: ['database'],
      buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10],
      registers,
    });
    this.#written = new Histogram({
      name: 'ovnkube_controller_udn_nbdb_programmed_duration_seconds',
      help: 'From the first use of a network, after the start, until its rows are in the Northbound database.',
      labelNames: ['topology'],
      buckets: exponentialBuckets(0.005, 2, 14),
      registers,
    });
    this.#networks = new Gauge({
      name: 'heddle_zone_networks',
      help: 'Networks of this zone by state.',
      labelNames: ['state'],
      registers,
    });
    this.#problems = new Gauge({
      name: 'heddle_zone_problems',
      help: 'Objects and rows with something wrong (heddle status lists them).',
      registers,
    });
    this.#failedFacts = new Gauge({
      name: 'heddle_zone_failed_facts',
      help: 'Facts about objects that could not be worked out: what follows from them stays as it was.',
      registers,
    });
    this.#waiting = new Gauge({
      name: 'heddle_zone_waiting_objects',
      help: 'Objects of this node, pods above all, that wait for what the cluster manager or a node hands out (heddle status says for what).',
      labelNames: ['kind'],
      registers,
    });
    this.#violations = new Gauge({
      name: 'heddle_verify_violations',
      help: 'Ways between networks, or numbers of two of them, that no object wants, as the last proof found (--verify-interval; heddle verify shows them).',
      registers,
    });
    this.#undecided = new Gauge({
      name: 'heddle_verify_undecided',
      help: 'What the last proof could not read.',
      registers,
    });
    this.#provedAt = new Gauge({
      name: 'heddle_verify_last_timestamp_seconds',
      help: 'When the last proof was made, in seconds since 1970; 0 before the first one, and where none are made.',
      registers,
    });
    this.#proofDuration = new Gauge({
      name: 'heddle_verify_last_duration_seconds',
      help: 'What the last proof took.',
      registers,
    });
    this.#failedProofs = new Counter({
      name: 'heddle_verify_failures_total',
      help: 'Proofs that came to no verdict (the log says why).',
      registers,
    });
    this.#askedProofs = new Counter({
      name: 'heddle_verify_asked_total',
      help: 'Proofs that were made before their time, as a change of Northbound looked wrong, or ended what did.',
      registers,
    });
    this.#connected = new Gauge({
      name: 'heddle_zone_database_available',
      help: '1 while the database is connected and can be written.',
      labelNames: ['database'],
      registers,
    });
    this.#behind = new Gauge({
      name: 'heddle_zone_dataplane_behind',
      help: 'Changes (nb_cfg) that the data plane has not confirmed yet.',
      registers,
    });
    this.#statusRefused = new Counter({
      name: 'heddle_zone_status_refused_total',
      help: 'Attempts to write a part of the ZoneStatus that the API server did not take; part "all": nothing could be written.',
      labelNames: ['part'],
      registers,
    });
    this.#eventsDropped = new Counter({
      name: 'heddle_zone_events_dropped_total',
      help: 'Events of pods that were not written because there were too many: of one object, of a namespace, of all, or waiting.',
      labelNames: ['limit'],
      registers,
    });
    this.#programmed = new Histogram({
      name: 'heddle_zone_network_programmed_duration_seconds',
      help: 'From a change of a network, or its first use, until it is in the data plane of this node with its side of the host.',
      buckets: exponentialBuckets(0.01, 2, 14),
      registers,
    });
    this.#driftRepaired = new Counter({
      name: 'heddle_drift_repaired_total',
      help: 'Rows of databases and objects of the host that somebody else had changed, and that were put right (the log says which, and by whom).',
      labelNames: ['database', 'table'],
      registers,
    });
    this.#hostChanges = new Counter({
      name: 'heddle_host_changes_total',
      help: 'Objects of the host that were added, changed or removed, because something else was wanted, or because others had changed them (drift).',
      labelNames: ['database', 'cause'],
      registers,
    });
    this.#hostRefused = new Counter({
      name: 'heddle_host_refused_total',
      help: 'Objects of the host that could not be made as they should be.',
      labelNames: ['database'],
      registers,
    });
    this.#hostDuration = new Histogram({
      name: 'heddle_host_change_duration_seconds',
      help: 'How long a set of changes of the host took.',
      labelNames: ['database'],
      buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10],
      registers,
    });
    this.#hostObjects = new Gauge({
      name: 'heddle_host_objects',
      help: 'Objects of the host that there are to be: routes, rules, flows …',
      labelNames: ['database', 'table'],
      registers,
    });
  }

  hostChange({ database, applied, refused, duration, repaired }: HostChange): void {
    const drift = Math.min(applied, repaired.length);
    if (drift > 0) this.#hostChanges.inc({ database, cause: 'drift' }, drift);
    if (applied > drift) this.#hostChanges.inc({ database, cause: 'wanted' }, applied - drift);
    this.#hostRefused.inc({ database }, refused);
    this.#hostDuration.observe({ database }, duration / 1000);
  }

  driftRepaired(database: string, table: string, rows: number): void {
    this.#driftRepaired.inc({ database, table }, rows);
  }

  hostObjects(counts: Iterable<readonly [database: string, table: string, count: number]>): void {
    for (const [database, table, count] of counts)
      this.#hostObjects.set({ database, table }, count);
  }

  commit({ database, outcome, rows, refused, examined, duration }: CommitRecord): void {
    this.#commits.inc({ database, outcome });
    this.#rows.inc({ database }, rows);
    this.#refused.inc({ database }, refused);
    this.#examined.inc({ database }, examined);
    this.#duration.observe({ database }, duration / 1000);
  }

  networkWritten({ topology, duration }: NetworkWritten): void {
    this.#written.observe({ topology }, duration / 1000);
  }

  state(zone: {
    readonly networks: readonly ZoneNetworkStatus[];
    readonly problems: number;
    readonly failedFacts: number;
    /** `Kind namespace/name` of what waits. */
    readonly waiting: readonly string[];
    readonly behind: number;
  }): void {
    for (const state of STATES)
      this.#networks.set({ state }, zone.networks.filter((one) => one.state === state).length);
    this.#problems.set(zone.problems);
    this.#failedFacts.set(zone.failedFacts);
    this.#waiting.reset();
    for (const object of zone.waiting) this.#waiting.inc({ kind: object.split(' ')[0] ?? '' });
    this.#behind.set(zone.behind);
    this.#follow(zone.networks);
  }

  /** What was in the data plane when it was first seen says nothing. */
  #follow(networks: readonly ZoneNetworkStatus[]): void {
    const now = this.#now();
    const seen = new Map(networks.map(({ name, state }) => [name, state]));
    for (const name of this.#onTheWay.keys())
      if ((seen.get(name) ?? 'Unused') === 'Unused') this.#onTheWay.delete(name);
    for (const [name, state] of seen) {
      const since = this.#onTheWay.get(name);
      if (state !== 'Programmed') {
        if (since === undefined && state !== 'Unused') this.#onTheWay.set(name, now);
      } else if (since !== undefined) {
        this.#programmed.observe((now - since) / 1000);
        this.#onTheWay.delete(name);
      }
    }
  }

  statusRefused(part: string): void {
    this.#statusRefused.inc({ part });
  }

  eventDropped(limit: DropLimit): void {
    this.#eventsDropped.inc({ limit });
  }

  /** A proof that came to a verdict. */
  proved(proof: {
    readonly violations: number;
    readonly undecided: number;
    readonly seconds: number;
  }): void {
    this.#violations.set(proof.violations);
    this.#undecided.set(proof.undecided);
    this.#proofDuration.set(proof.seconds);
    this.#provedAt.setToCurrentTime();
  }

  /** A proof that is made before its time. */
  proofAsked(): void {
    this.#askedProofs.inc();
  }

  /** A proof that came to none: what the last one found stays. */
  notProved(): void {
    this.#failedProofs.inc();
  }

  available(database: string, isAvailable: boolean): void {
    this.#connected.set({ database }, isAvailable ? 1 : 0);
  }
}
