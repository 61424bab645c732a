import { errorText, OvsdbError } from '../data/error.ts';
import { Replica } from '../replica/replica.ts';
import type { UpdateReader } from '../replica/update-reader.ts';
import { jsonEquals } from '../data/json.ts';
import { parseSchema, type DatabaseSchema } from '../data/schema.ts';
import type { JsonValue } from '../data/value.ts';
import { parseJson } from '../wire/json-text.ts';
import { isUpdate, type TakenUpdates, type UpdateSink } from '../wire/message.ts';
import { isUnknownMethod, type Connection, type Reply } from './connection.ts';
import type { DatabaseMonitor } from './monitor.ts';
import { MonitorRun } from './monitor-run.ts';
import type { SessionOwner } from './session-owner.ts';
import { judge, SERVER_SCHEMA, type DatabaseStatus } from './server-status.ts';

const SERVER_MONITOR = '_Server';
const SERVER_COLUMNS = ['name', 'model', 'connected', 'leader', 'schema', 'cid', 'sid', 'index'];

/** Changes when the database was converted, or removed and added again. */
const generationOf = (status: DatabaseStatus): string =>
  `${status.generation} ${status.schema ?? ''}`;

/** The protocol of one connection: the server's own database first, then the contents of ours, then what changes. */
export class DatabaseSession {
  readonly #connection: Connection;
  readonly #owner: SessionOwner;
  readonly #server: Replica = new Replica(SERVER_SCHEMA);
  /** Updates of `_Server` that came before its contents; undefined: the contents are there. */
  #earlyServer: JsonValue[] | undefined = [];
  readonly #runs = new Set<MonitorRun>();
  /** Which database the monitors follow; undefined: none yet. */
  #generation: string | undefined;
  #schema: DatabaseSchema | undefined;
  /** The schema as the server gave it. */
  #given: JsonValue = null;
  /** Text of the schema in `_Server`: second choice, for a server that has no `get_schema`. */
  #described: string | undefined;
  #monitorCount = 0;
  #hasLoaded = false;
  /** Before the schema is asked for again. */
  #pause: NodeJS.Timeout | undefined;
  /** The generation whose schema is being asked for, or will be after a pause. */
  #loading: string | undefined;
  /** The generation of which the server has no schema any more: the next one is waited for. */
  #refused: string | undefined;

  constructor(connection: Connection, owner: SessionOwner) {
    this.#connection = connection;
    this.#owner = owner;
  }

  /** True once everything is followed that is wanted. */
  get isLoaded(): boolean {
    return this.#runs.size > 0 && [...this.#runs].every((run) => run.isLoaded);
  }

  /** True while contents are awaited and nothing of them has arrived: a silent server is then no dead one. */
  get isAwaiting(): boolean {
    for (const run of this.#runs) if (run.isAwaited) return true;
    return false;
  }

  start(): void {
    for (const monitor of this.#owner.monitors) monitor.reconnect();
    // A server that does not know it hangs up on database changes instead, which is handled as well.
    this.#connection.request('set_db_change_aware', [true]);
    const requests = { Database: [{ columns: SERVER_COLUMNS }] };
    this.#connection.request(
      'monitor_cond',
      ['_Server', SERVER_MONITOR, requests],
      (reply) => {
        this.#serverContents(reply);
      },
      () => this.#server.reader('update2', 'contents'),
    );
  }

  #serverContents({ error, updates }: Reply): void {
    if (error !== undefined || updates === undefined) {
      // Servers before 2.9 have no `_Server`.
      this.#owner.described(undefined);
      this.#load(undefined);
      return;
    }
    this.#serverChanged(updates);
  }

  #serverChanged({ sink, failure }: TakenUpdates): void {
    try {
      if (failure !== undefined) throw failure;
      this.#server.show(sink as UpdateReader, true);
      const early = this.#earlyServer ?? [];
      this.#earlyServer = undefined;
      for (const updates of early) this.#server.apply(updates, 'update2');
    } catch (error) {
      if (!(error instanceof OvsdbError)) throw error;
      this.#owner.leave(error, false);
      return;
    }
    this.#evaluate();
  }

  /** Decides, whenever the server describes its databases anew, whether to use it. */
  #evaluate(): void {
    const verdict = judge(this.#server.rows('Database'), this.#owner.requirements());
    if (verdict.kind === 'leave') {
      // Leadership moves for every snapshot: the next server may have it already.
      this.#owner.leave(new OvsdbError('disconnected', verdict.reason), this.isLoaded);
      return;
    }
    const { status } = verdict;
    this.#described = status.schema;
    this.#owner.described(status);
    const now = generationOf(status);
    if (this.#loading === now || this.#refused === now) return;
    if (this.#runs.size === 0) this.#load(now);
    else if (this.#generation !== now) {
      this.#stopAll('the database was converted or replaced');
      this.#load(now);
    }
  }

  /** Ends every monitor; the server has ended `canceled` by itself. */
  #stopAll(reason: string, canceled?: MonitorRun): void {
    const runs = [...this.#runs];
    this.#runs.clear();
    this.#schema = undefined;
    for (const run of runs) run.stop(reason, run === canceled);
  }

  /**
   * Asks for the schema and then for the contents. `_Server` has the schema, too, but ovsdb-server 3.5 leaves it as it was when a standalone
   * database is converted.
   */
  #load(generation: string | undefined): void {
    const { database } = this.#owner.requirements();
    this.#loading = generation ?? '';
    clearTimeout(this.#pause);
    const pause = this.#hasLoaded ? this.#owner.reloads.next() : 0;
    this.#hasLoaded = true;
    if (pause === 0) this.#askForSchema(database, generation);
    else
      this.#pause = setTimeout(() => {
        this.#askForSchema(database, generation);
      }, pause);
  }

  /** The connection is gone. */
  end(): void {
    clearTimeout(this.#pause);
  }

  #askForSchema(database: string, generation: string | undefined): void {
    this.#connection.request('get_schema', [database], ({ result, error }) => {
      if (this.#loading !== (generation ?? '')) return;
      this.#loading = undefined;
      if (error === undefined && result !== undefined) this.#loadWith(result, generation);
      else if (isUnknownMethod(error) && this.#described !== undefined)
        this.#loadWith(this.#described, generation);
      else this.#noSchema(errorText(error), generation);
    });
  }

  /**
   * The server refuses a monitor: the database may have been converted since its schema was asked for, and a client that follows nothing
   * yet does not hear of that. Then everything is loaded with the new schema, otherwise the monitor is `refused`.
   */
  #checkSchema(run: MonitorRun, refused: () => void): void {
    const schema = this.#schema;
    const { database } = this.#owner.requirements();
    this.#connection.request('get_schema', [database], ({ result }) => {
      if (this.#schema !== schema || !this.#runs.has(run)) return;
      if (result === undefined || jsonEquals(result, this.#given)) {
        refused();
        return;
      }
      this.#stopAll('the database was converted');
      this.#load(this.#generation);
    });
  }

  #loadWith(given: JsonValue, generation: string | undefined): void {
    this.#given = given;
    try {
      this.#schema = parseSchema(typeof given === 'string' ? parseJson(given) : given);
    } catch (error) {
      if (!(error instanceof OvsdbError)) throw error;
      this.#owner.leave(error, false);
      return;
    }
    this.#generation = generation;
    for (const monitor of this.#owner.monitors) {
      this.#run(monitor, this.#schema);
      if (!this.#connection.isOpen) return;
    }
  }

  /** Begins to follow one more part of the database, now or as soon as its schema is known. */
  follow(monitor: DatabaseMonitor): void {
    if (this.#schema !== undefined) this.#run(monitor, this.#schema);
  }

  /** Stops following a part. */
  unfollow(monitor: DatabaseMonitor): void {
    const run = [...this.#runs].find((one) => one === monitor.run);
    if (run === undefined) return;
    this.#runs.delete(run);
    run.stop('the monitor was closed', false);
    monitor.detach();
  }

  #run(monitor: DatabaseMonitor, schema: DatabaseSchema): void {
    const owner = this.#owner;
    const { database } = owner.requirements();
    let replica: Replica;
    try {
      replica = monitor.define(schema);
    } catch (error) {
      if (!(error instanceof OvsdbError)) throw error;
      owner.refused(monitor, error);
      return;
    }
    const run: MonitorRun = new MonitorRun(this.#connection, monitor, replica, owner, {
      database,
      nextId: () => `${database}/${++this.#monitorCount}`,
      refused: (error) => {
        this.#checkSchema(run, () => {
          this.#runs.delete(run);
          monitor.detach();
          owner.refused(monitor, error);
        });
      },
    });
    this.#runs.add(run);
    run.start();
  }

  /** Loads every part anew and compares it with what is there. */
  reload(reason: string): void {
    for (const run of this.#runs) run.reload(reason);
  }

  /** Asks whether the server still knows the monitors; those that it has forgotten are loaded anew. */
  check(): void {
    for (const run of this.#runs) run.check();
  }

  #noSchema(text: string, generation: string | undefined): void {
    const { database } = this.#owner.requirements();
    if (generation === undefined) {
      this.#owner.leave(new OvsdbError('unknown database', `${database}: ${text}`), false);
      return;
    }
    // The server is about to describe its databases anew: this one has just been removed.
    this.#refused = generation;
    this.#owner.warn(`the server gives no schema of ${database}: ${text}`);
  }

  #runOf(monitor: JsonValue): MonitorRun | undefined {
    for (const run of this.#runs) if (run.id === monitor) return run;
    return undefined;
  }

  sinkForUpdate(monitor: JsonValue): UpdateSink | undefined {
    if (monitor === SERVER_MONITOR)
      return this.#earlyServer === undefined
        ? this.#server.reader('update2', 'changes')
        : undefined;
    const run = this.#runOf(monitor);
    return run?.isLoaded === true ? run.changesReader() : undefined;
  }

  update(monitor: JsonValue, updates: TakenUpdates): void {
    if (monitor === SERVER_MONITOR) this.#serverChanged(updates);
    else this.#runOf(monitor)?.update(updates);
  }

  notification(method: string, params: readonly JsonValue[]): void {
    const [monitor = null, updates = null] = params;
    const run = this.#runOf(monitor);
    if (method === 'monitor_canceled') this.#canceled(run);
    else if (isUpdate(method)) {
      if (monitor === SERVER_MONITOR) this.#earlyServer?.push(updates);
      else run?.unread(params);
    }
  }

  /** The server gave up a monitor: the database was converted or removed, which ends them all. */
  #canceled(run: MonitorRun | undefined): void {
    if (run === undefined) return;
    this.#stopAll('the server canceled the monitor: the database was converted or removed', run);
    this.#evaluate();
  }
}
