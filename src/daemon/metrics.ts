/** What Prometheus sees of a zone. */
import {
  collectDefaultMetrics,
  Counter,
  exponentialBuckets,
  Gauge,
  Histogram,
  Registry,
} from 'prom-client';
import type { NetworkState, ZoneNetworkStatus } from '../api/zone-status.ts';
import type { CommitRecord, NetworkWritten } from './zone-controller.ts';

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
  readonly #connected: Gauge<'database'>;
  readonly #behind: Gauge;

  constructor() {
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
    readonly behind: number;
  }): void {
    for (const state of STATES)
      this.#networks.set({ state }, zone.networks.filter((one) => one.state === state).length);
    this.#problems.set(zone.problems);
    this.#behind.set(zone.behind);
  }

  available(database: string, isAvailable: boolean): void {
    this.#connected.set({ database }, isAvailable ? 1 : 0);
  }
}
