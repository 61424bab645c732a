import { OvsdbError } from '../error.ts';
import type { Replica } from '../replica/replica.ts';
import { Replica as ServerReplica } from '../replica/replica.ts';
import type { UpdateFormat, UpdateReader } from '../replica/update-reader.ts';
import { parseSchema, type DatabaseSchema } from '../schema.ts';
import { ZERO_UUID } from '../uuid.ts';
import type { Clause } from '../operation.ts';
import type { JsonObject, JsonValue } from '../value.ts';
import type { UpdateSink } from '../wire/message-stream.ts';
import type { MonitorConditions } from './conditions.ts';
import { errorText, type Connection, type Reply, type Update } from './connection.ts';
import {
  judge,
  SERVER_SCHEMA,
  type DatabaseStatus,
  type ServerRequirements,
} from './server-status.ts';

/** Ways to follow a database, best first. */
export type MonitorMethod = 'monitor_cond_since' | 'monitor_cond' | 'monitor';

const FALLBACK: Readonly<Record<MonitorMethod, MonitorMethod | undefined>> = {
  monitor_cond_since: 'monitor_cond',
  monitor_cond: 'monitor',
  monitor: undefined,
};

const FORMAT: Readonly<Record<MonitorMethod, UpdateFormat>> = {
  monitor_cond_since: 'update2',
  monitor_cond: 'update2',
  monitor: 'update',
};

/** From where a later connection may go on. */
export interface ResumePoint {
  /** Id of the last transaction that the replica has seen; undefined: load everything. */
  lastId: string | undefined;
}

/** What outlives a connection, and what the session tells of itself. */
export interface SessionOwner {
  requirements(): ServerRequirements;
  readonly conditions: MonitorConditions;
  readonly resume: ResumePoint;
  /** The schema of the database is known now: where its contents go, and what to ask for. */
  define(schema: DatabaseSchema): Replica;
  requests(conditions: ReadonlyMap<string, readonly Clause[]>, withConditions: boolean): JsonObject;
  /** The server described the database anew. */
  described(status: DatabaseStatus | undefined): void;
  /** A message's updates are to be shown; throws `inconsistent` when they do not fit. */
  show(reader: UpdateReader): void;
  discard(): void;
  /** Contents are complete: reads and writes may begin. */
  loaded(method: MonitorMethod, found: boolean): void;
  /** Contents are not followed any more, until `loaded` is called again. */
  unloaded(reason: string): void;
  /** Conditions of the server are those that were wanted. */
  conditionsSettled(error?: OvsdbError): void;
  /** This server will not do. `atOnce`: try the next without a pause. */
  leave(error: OvsdbError, atOnce: boolean): void;
  warn(text: string): void;
}

interface DataMonitor {
  readonly id: string;
  readonly method: MonitorMethod;
  readonly generation: string | undefined;
  isLoaded: boolean;
}

const SERVER_MONITOR = '_Server';
const SERVER_COLUMNS = ['name', 'model', 'connected', 'leader', 'schema', 'cid', 'sid', 'index'];

/** Another text for the same database: it was removed and added, or converted. */
const generationOf = (status: DatabaseStatus): string =>
  `${status.generation} ${status.schema ?? ''}`;

/** The protocol of one connection: the server's own database first, then the contents of ours, then what changes. */
export class DatabaseSession {
  readonly #connection: Connection;
  readonly #owner: SessionOwner;
  readonly #server: ServerReplica = new ServerReplica(SERVER_SCHEMA);
  #monitor: DataMonitor | undefined;
  #replica: Replica | undefined;
  #monitorCount = 0;
  #reloads = 0;
  /** The generation whose schema is being asked for. */
  #loading: string | undefined;
  /** The generation that the server has no schema of any more: wait for another. */
  #refused: string | undefined;

  constructor(connection: Connection, owner: SessionOwner) {
    this.#connection = connection;
    this.#owner = owner;
  }

  get isLoaded(): boolean {
    return this.#monitor?.isLoaded === true;
  }

  get method(): MonitorMethod | undefined {
    return this.#monitor?.method;
  }

  /** True while a reply with contents is awaited: silence is then no sign of death. */
  get isLoading(): boolean {
    return this.#monitor === undefined || !this.#monitor.isLoaded;
  }

  start(): void {
    if (!this.#owner.conditions.reconnect()) this.#owner.resume.lastId = undefined;
    this.#send('set_db_change_aware', [true], () => {
      // A server that does not know it hangs up on database changes instead, which is handled as well.
    });
    const requests = { Database: [{ columns: SERVER_COLUMNS }] };
    this.#connection.request(
      'monitor_cond',
      ['_Server', SERVER_MONITOR, requests],
      (reply) => {
        this.#serverContents(reply);
      },
      ignore,
      { sink: () => this.#server.reader('update2', 'contents') },
    );
  }

  #send(method: string, params: readonly JsonValue[], onReply: (reply: Reply) => void): void {
    this.#connection.request(method, params, onReply, ignore);
  }

  #serverContents(reply: Reply): void {
    if (reply.error !== undefined || reply.sink === undefined) {
      // Servers before 2.9 have no `_Server`.
      this.#owner.described(undefined);
      this.#load(undefined);
      return;
    }
    this.#serverChanged(reply.sink as UpdateReader, reply.failure);
  }

  #serverChanged(reader: UpdateReader, failure: OvsdbError | undefined): void {
    try {
      if (failure !== undefined) throw failure;
      this.#server.show(reader, true);
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
    this.#owner.described(status);
    const now = generationOf(status);
    if (this.#loading === now || this.#refused === now) return;
    if (this.#monitor === undefined) this.#load(now);
    else if (this.#monitor.generation !== now) {
      this.#dropMonitor('the database was converted or replaced');
      this.#load(now);
    }
  }

  #dropMonitor(reason: string): void {
    const monitor = this.#monitor;
    if (monitor === undefined) return;
    this.#monitor = undefined;
    this.#owner.resume.lastId = undefined;
    this.#owner.conditions.restart();
    if (monitor.isLoaded) this.#owner.unloaded(reason);
    this.#send('monitor_cancel', [monitor.id], ignore);
  }

  /**
   * Asks for the schema and then for the contents. `_Server` has the schema, too, but ovsdb-server 3.5 leaves it as it was when a standalone
   * database is converted.
   */
  #load(generation: string | undefined): void {
    const { database } = this.#owner.requirements();
    this.#loading = generation ?? '';
    this.#send('get_schema', [database], ({ result, error }) => {
      if (this.#loading !== (generation ?? '')) return;
      this.#loading = undefined;
      if (error === undefined && result !== undefined) this.#loadWith(result, generation);
      else this.#noSchema(errorText(error), generation);
    });
  }

  #loadWith(schema: JsonValue, generation: string | undefined): void {
    try {
      this.#replica = this.#owner.define(parseSchema(schema));
    } catch (error) {
      if (!(error instanceof OvsdbError)) throw error;
      this.#owner.leave(error, false);
      return;
    }
    this.#request('monitor_cond_since', generation);
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

  #request(method: MonitorMethod, generation: string | undefined): void {
    const { database } = this.#owner.requirements();
    const withConditions = method !== 'monitor';
    const { conditions } = this.#owner;
    if (this.#owner.resume.lastId === undefined) conditions.restart();
    const requests = this.#owner.requests(conditions.acknowledged, withConditions);
    const id = `${database}/${++this.#monitorCount}`;
    const monitor: DataMonitor = { id, method, generation, isLoaded: false };
    this.#monitor = monitor;
    const params: JsonValue[] = [database, id, requests];
    if (method === 'monitor_cond_since') params.push(this.#owner.resume.lastId ?? ZERO_UUID);
    this.#connection.request(
      method,
      params,
      (reply) => {
        if (this.#monitor === monitor) this.#contents(monitor, reply);
      },
      ignore,
      { sink: (head) => this.#reader(monitor, head.found === true ? 'changes' : 'contents') },
    );
  }

  #reader(monitor: DataMonitor, mode: 'changes' | 'contents'): UpdateReader {
    return (this.#replica as Replica).reader(FORMAT[monitor.method], mode);
  }

  #contents(monitor: DataMonitor, reply: Reply): void {
    const { head, sink, error, failure } = reply;
    if (error !== undefined || sink === undefined) {
      this.#monitorRefused(monitor, error);
      return;
    }
    if (!this.#show(sink as UpdateReader, failure)) return;
    this.#owner.resume.lastId = monitor.method === 'monitor_cond_since' ? head?.lastId : undefined;
    monitor.isLoaded = true;
    this.#reloads = 0;
    this.#owner.loaded(monitor.method, head?.found === true);
    this.changeConditions();
  }

  #monitorRefused(monitor: DataMonitor, error: JsonValue | undefined): void {
    const next = FALLBACK[monitor.method];
    this.#monitor = undefined;
    if (error === 'unknown method' && next !== undefined) {
      this.#owner.resume.lastId = undefined;
      this.#request(next, monitor.generation);
      return;
    }
    const text = errorText(error);
    this.#owner.leave(new OvsdbError('rpc error', `${monitor.method}: ${text}`), false);
  }

  /** Shows updates; loads everything anew when they do not fit what we have. */
  #show(reader: UpdateReader, failure: OvsdbError | undefined): boolean {
    try {
      if (failure !== undefined) throw failure;
      this.#owner.show(reader);
      return true;
    } catch (error) {
      if (!(error instanceof OvsdbError)) throw error;
      this.#owner.discard();
      this.#reload(error);
      return false;
    }
  }

  #reload(error: OvsdbError): void {
    this.#reloads++;
    if (this.#reloads > 2) {
      this.#owner.resume.lastId = undefined;
      this.#owner.leave(error, false);
      return;
    }
    this.#owner.warn(`the contents are loaded anew: ${error.details}`);
    const generation = this.#monitor?.generation;
    this.#dropMonitor(error.details);
    this.#request('monitor_cond_since', generation);
  }

  sinkForUpdate(monitor: JsonValue): UpdateSink | undefined {
    if (monitor === SERVER_MONITOR) return this.#server.reader('update2', 'changes');
    const data = this.#monitor;
    return data !== undefined && monitor === data.id ? this.#reader(data, 'changes') : undefined;
  }

  update(update: Update): void {
    const reader = update.sink as UpdateReader;
    if (update.monitor === SERVER_MONITOR) {
      this.#serverChanged(reader, update.failure);
      return;
    }
    if (!this.#show(reader, update.failure)) return;
    if (update.lastId !== undefined) this.#owner.resume.lastId = update.lastId;
  }

  /** The server gave up a monitor: the database was converted or removed. */
  monitorCanceled(monitor: JsonValue): void {
    if (this.#monitor === undefined || monitor !== this.#monitor.id) return;
    const wasLoaded = this.#monitor.isLoaded;
    this.#monitor = undefined;
    this.#owner.resume.lastId = undefined;
    this.#owner.conditions.restart();
    if (wasLoaded)
      this.#owner.unloaded(
        'the server canceled the monitor: the database was converted or removed',
      );
    this.#evaluate();
  }

  /** Sends what changed in the conditions, unless a change is under way: then it follows. */
  changeConditions(): void {
    const monitor = this.#monitor;
    if (monitor === undefined || !monitor.isLoaded) return;
    const { conditions } = this.#owner;
    if (monitor.method === 'monitor') conditions.restart();
    const requests = monitor.method === 'monitor' ? undefined : conditions.takeChange();
    if (requests === undefined) {
      if (conditions.isSettled) this.#owner.conditionsSettled();
      return;
    }
    this.#send('monitor_cond_change', [monitor.id, monitor.id, requests], ({ error }) => {
      if (this.#monitor !== monitor) return;
      if (error === undefined) conditions.acknowledge();
      else {
        conditions.refuse();
        this.#owner.conditionsSettled(
          new OvsdbError('rpc error', `the server refused the condition: ${errorText(error)}`),
        );
      }
      this.changeConditions();
    });
  }
}

const ignore = (): void => {
  // The owner hears of a lost connection by itself.
};
