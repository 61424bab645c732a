import { errorText, OvsdbError } from '../data/error.ts';
import { stringify } from '../data/json.ts';
import type { Replica } from '../replica/replica.ts';
import type { UpdateFormat, UpdateReader } from '../replica/update-reader.ts';
import { ZERO_UUID } from '../data/uuid.ts';
import type { JsonValue } from '../data/value.ts';
import type { TakenUpdates } from '../wire/message.ts';
import type { DatabaseMonitor, MonitorMethod } from './monitor.ts';
import { isUnknownMethod, type Connection, type Reply } from './connection.ts';
import type { SessionOwner } from './session-owner.ts';

/** Ways to follow a database, best first. */

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

/** What a monitor needs of its session. */
export interface RunSession {
  readonly database: string;
  /** An id for a monitor that this connection has not seen. */
  nextId(): string;
  /** The server refuses the monitor. */
  refused(error: OvsdbError): void;
}

/** One monitor on one connection: its contents, then what changes. */
export class MonitorRun {
  readonly #connection: Connection;
  readonly #monitor: DatabaseMonitor;
  readonly #owner: SessionOwner;
  readonly #session: RunSession;
  readonly replica: Replica;
  #id: string | undefined;
  #method: MonitorMethod = 'monitor_cond_since';
  #isLoaded = false;
  #isAwaited = false;
  /** Loads in a row whose contents did not fit. */
  #failedLoads = 0;
  /** Before the contents are loaded anew. */
  #pause: NodeJS.Timeout | undefined;
  /** Whether only what changed was asked for. */
  #asksForChanges = false;
  /** Parameters of updates that came before the contents. */
  #early: (readonly JsonValue[])[] = [];

  constructor(
    connection: Connection,
    monitor: DatabaseMonitor,
    replica: Replica,
    owner: SessionOwner,
    session: RunSession,
  ) {
    this.#connection = connection;
    this.#monitor = monitor;
    this.replica = replica;
    this.#owner = owner;
    this.#session = session;
    monitor.run = this;
  }

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** False once the connection is gone. */
  get #isAttached(): boolean {
    return this.#monitor.run === this;
  }

  /** True while contents were asked for and nothing of them has arrived: a server is silent while it composes a large reply. */
  get isAwaited(): boolean {
    return this.#isAwaited;
  }

  /** Its id on this connection. */
  get id(): string | undefined {
    return this.#id;
  }

  start(): void {
    this.#request('monitor_cond_since');
  }

  /** Ends it; `isCanceled`: the server has done so already. The contents must be loaded anew. */
  stop(reason: string, isCanceled: boolean): void {
    const id = this.#id;
    const wasLoaded = this.#isLoaded;
    this.#id = undefined;
    this.#isLoaded = false;
    this.#isAwaited = false;
    this.end();
    this.#monitor.forget();
    if (wasLoaded) this.#owner.unloaded(this.#monitor, reason);
    if (id !== undefined && !isCanceled) this.#connection.request('monitor_cancel', [id]);
  }

  /** The connection is gone: no reload is pending any more. */
  end(): void {
    clearTimeout(this.#pause);
  }

  #request(method: MonitorMethod): void {
    const monitor = this.#monitor;
    if (monitor.lastId === undefined) monitor.conditions.restart();
    const id = this.#session.nextId();
    this.#id = id;
    this.#method = method;
    this.#isAwaited = true;
    this.#early = [];
    this.#asksForChanges = method === 'monitor_cond_since' && monitor.lastId !== undefined;
    const params: JsonValue[] = [
      this.#session.database,
      id,
      monitor.requests(method !== 'monitor'),
    ];
    if (method === 'monitor_cond_since') params.push(monitor.lastId ?? ZERO_UUID);
    this.#connection.request(
      method,
      params,
      (reply) => {
        if (this.#id !== id) return;
        this.#isAwaited = false;
        this.#contents(reply);
      },
      (head) => {
        if (this.#id === id) this.#isAwaited = false;
        return this.#reader(head.found === true ? 'changes' : 'contents');
      },
    );
  }

  #reader(mode: 'changes' | 'contents'): UpdateReader {
    return this.replica.reader(FORMAT[this.#method], mode);
  }

  #contents({ error, updates }: Reply): void {
    if (error !== undefined || updates === undefined) {
      this.#refused(error);
      return;
    }
    const { head, sink, failure } = updates;
    if (head.found === true && !this.#asksForChanges) {
      const text = `the server sent of ${this.#session.database} only what changed, but was asked for all`;
      this.#owner.leave(new OvsdbError('protocol', text), false);
      return;
    }
    if (!this.#show(sink as UpdateReader, failure)) return;
    this.#monitor.lastId = this.#method === 'monitor_cond_since' ? head.lastId : undefined;
    const early = this.#early;
    this.#early = [];
    for (const update of early) if (!this.#showUnread(update)) return;
    // A subscriber may have ended the connection.
    if (!this.#isAttached) return;
    this.#isLoaded = true;
    this.#failedLoads = 0;
    this.#owner.loaded(this.#monitor, this.#method, head.found === true);
    this.changeConditions();
  }

  #refused(error: JsonValue | undefined): void {
    const next = FALLBACK[this.#method];
    this.#id = undefined;
    // It may be the last transaction that the server objects to.
    this.#monitor.lastId = undefined;
    if (isUnknownMethod(error) && next !== undefined) {
      this.#request(next);
      return;
    }
    this.#session.refused(new OvsdbError('rpc error', `${this.#method}: ${errorText(error)}`));
  }

  /** Applies updates; loads everything anew when they do not fit. False when they were not applied, or a subscriber ended the monitor. */
  #show(reader: UpdateReader, failure: OvsdbError | undefined): boolean {
    const id = this.#id;
    try {
      if (failure !== undefined) throw failure;
      this.replica.show(reader, true);
      return this.#id === id;
    } catch (error) {
      if (!(error instanceof OvsdbError)) throw error;
      this.replica.discard();
      this.#schemaMismatch(error);
      return false;
    }
  }

  #schemaMismatch(error: OvsdbError): void {
    if (!this.#isLoaded && ++this.#failedLoads > 2) {
      this.#monitor.lastId = undefined;
      this.#owner.leave(error, false);
      return;
    }
    const pause = this.#monitor.reloads.next();
    const when = pause === 0 ? '' : ` in ${pause} ms`;
    this.#owner.schemaMismatch(error, `the contents are loaded anew${when}: ${error.details}`);
    if (!this.#isAttached) return;
    this.stop(error.details, false);
    // A listener may have ended the connection, or asked for a reload.
    if (!this.#isAttached || this.#id !== undefined) return;
    if (pause === 0) this.#request('monitor_cond_since');
    else
      this.#pause = setTimeout(() => {
        this.#request('monitor_cond_since');
      }, pause);
  }

  /** Loads everything anew over the same connection; what did not change causes no event. */
  reload(reason: string): void {
    this.stop(reason, false);
    this.#request('monitor_cond_since');
  }

  /** Makes sure that the server still knows this monitor: without it the replica would grow stale unnoticed. */
  check(): void {
    const id = this.#id;
    if (id === undefined || !this.#isLoaded || this.#method === 'monitor') return;
    // A change of no condition is answered with `{}`, or refused when there is no such monitor.
    this.#connection.request('monitor_cond_change', [id, id, {}], ({ error }) => {
      if (error === undefined || this.#id !== id) return;
      this.#owner.warn(`the server has lost a monitor (${errorText(error)}): it is made anew`);
      this.reload('the server has lost the monitor');
    });
  }

  changesReader(): UpdateReader {
    return this.#reader('changes');
  }

  update({ sink, head, failure }: TakenUpdates): void {
    if (!this.#show(sink as UpdateReader, failure)) return;
    if (head.lastId !== undefined) this.#monitor.lastId = head.lastId;
  }

  /**
   * An update that no reader has taken: one that came before the contents, from a server that took a snapshot, sent a change and then the snapshot, and
   * is applied after them; or one that holds no table updates.
   */
  unread(params: readonly JsonValue[]): void {
    if (this.#isLoaded) this.#showUnread(params);
    else this.#early.push(params);
  }

  #showUnread(params: readonly JsonValue[]): boolean {
    const reader = this.changesReader();
    let failure: OvsdbError | undefined;
    try {
      const bytes = Buffer.from(stringify(params.at(-1) ?? null));
      reader.push(bytes, 0, bytes.length);
    } catch (error) {
      if (!(error instanceof OvsdbError)) throw error;
      failure = error;
    }
    if (!this.#show(reader, failure)) return false;
    const [, lastId] = params;
    if (typeof lastId === 'string') this.#monitor.lastId = lastId;
    return true;
  }

  /** Sends changed conditions. One request at a time: while one is under way the next waits for its answer. */
  changeConditions(): void {
    const id = this.#id;
    if (id === undefined || !this.#isLoaded || !this.#isAttached) return;
    const { conditions } = this.#monitor;
    if (this.#method === 'monitor') {
      conditions.restart();
      this.#warnOfEveryRow();
    }
    const requests = this.#method === 'monitor' ? undefined : this.#monitor.takeConditionChange();
    if (requests === undefined) {
      if (conditions.isSettled) this.#monitor.conditionsChanged();
      return;
    }
    this.#connection.request('monitor_cond_change', [id, id, requests], ({ error }) => {
      if (this.#id === id) this.#conditionsAnswered(error);
    });
  }

  #warnOfEveryRow(): void {
    const tables = [...this.#monitor.conditions.wanted].flatMap(([table, where]) =>
      where.length === 0 || where.includes(true) ? [] : [table],
    );
    if (tables.length > 0)
      this.#owner.warn(
        `the server knows no conditions: every row of ${tables.join(', ')} is followed`,
      );
  }

  #conditionsAnswered(error: JsonValue | undefined): void {
    const { conditions } = this.#monitor;
    if (error === undefined) {
      conditions.acknowledge();
      this.#monitor.conditionsChanged();
    } else {
      const text = `the server refused the condition: ${errorText(error)}`;
      this.#monitor.conditionsRefused(new OvsdbError('rpc error', text));
    }
    this.changeConditions();
  }
}
