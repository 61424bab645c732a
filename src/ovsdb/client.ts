import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { OvsdbError } from './error.ts';
import type { Clause, Operation, Outcome, Transactor } from './operation.ts';
import { Replica } from './replica/replica.ts';
import type { UpdateReader } from './replica/update-reader.ts';
import type { DatabaseSchema } from './schema.ts';
import { MonitorConditions } from './session/conditions.ts';
import type {
  ClientEvent,
  ClientOptions,
  ClientStatus,
  ClientTransactOptions,
} from './client-options.ts';
import { Connection, type Traffic } from './session/connection.ts';
import {
  DatabaseSession,
  type MonitorMethod,
  type ResumePoint,
  type SessionOwner,
} from './session/database-session.ts';
import {
  deadline,
  DEFAULT_TIMING,
  initialLink,
  step,
  type LinkEffect,
  type LinkInput,
  type LinkState,
  type LinkTiming,
} from './session/link.ts';
import { Locks, type Lock } from './session/locks.ts';
import { outcomeOf, withoutFirst } from './session/outcome.ts';
import { parseRemotes, remoteText, type Remote, type Remotes } from './session/remote.ts';
import {
  checkMonitored,
  define,
  initialConditions,
  monitorRequests,
  type Definition,
} from './session/selection.ts';
import type { DatabaseStatus } from './session/server-status.ts';
import { TlsSettings } from './session/tls.ts';
import { isPassive, openSocket, type Attempt } from './session/transport.ts';
import type { Integer, JsonObject, JsonValue, Uuid } from './value.ts';

interface Waiter {
  readonly isDone: () => boolean;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const clamp = (value: Integer | undefined, floor: Integer): Integer =>
  value !== undefined && BigInt(value) > BigInt(floor) ? value : floor;

function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [result[i], result[j]] = [result[j] as T, result[i] as T];
  }
  return result;
}

/**
 * A client of one database: keeps a replica of it true, carries out transactions, holds locks, and finds its way back
 * after every kind of interruption. `start` it, wait for `ready`, `close` it (or `await using`).
 */
export class OvsdbClient implements Transactor, AsyncDisposable {
  readonly #options: ClientOptions;
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #tls: TlsSettings | undefined;
  readonly #locks = new Locks();
  readonly #conditions: MonitorConditions;
  readonly #waiters = new Set<Waiter>();
  readonly #owner: SessionOwner;
  #remotes: readonly Remote[];
  #cluster: Uuid | undefined;
  #nextRemote = 0;
  #remote: Remote | undefined;
  #link: LinkState;
  #timer: NodeJS.Timeout | undefined;
  /** To open a socket, while it is under way. */
  #attempt: Attempt | undefined;
  #connection: Connection | undefined;
  #session: DatabaseSession | undefined;
  #replica: Replica | undefined;
  #definition: Definition | undefined;
  readonly #resume: ResumePoint = { lastId: undefined };
  #minIndex: Integer = 0;
  #status: DatabaseStatus | undefined;
  #conditionError: OvsdbError | undefined;
  #started = false;
  #closed = false;
  #lastError: OvsdbError | undefined;

  /** Throws `bad remote` for remotes that can't be understood. Opens nothing. */
  constructor(options: ClientOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#random = options.random ?? Math.random;
    this.#tls = options.tls === undefined ? undefined : new TlsSettings(options.tls);
    const { remotes, cluster } = this.#parse(options.remotes);
    this.#remotes = shuffled(remotes, this.#random);
    this.#cluster = cluster;
    this.#link = initialLink(this.#now(), this.#remotes.length);
    this.#conditions = new MonitorConditions(initialConditions(options.tables));
    this.#owner = this.#makeOwner();
    if (options.schema !== undefined) this.#define(options.schema);
  }

  #parse(remotes: string | Remotes): Remotes {
    return typeof remotes === 'string' ? parseRemotes(remotes) : remotes;
  }

  /** The database as last seen. Throws `disconnected` before the first contents, unless a schema was given. */
  get replica(): Replica {
    if (this.#replica === undefined) {
      throw new OvsdbError(
        'disconnected',
        `${this.#options.database} was not loaded yet${this.#why()}`,
      );
    }
    return this.#replica;
  }

  get status(): ClientStatus {
    if (this.#closed) return 'closed';
    if (this.#session?.isLoaded === true) return 'ready';
    if (this.#session !== undefined) return 'loading';
    return this.#link.kind === 'connecting' ? 'connecting' : 'disconnected';
  }

  /** The remote in use, in the usual notation. */
  get remote(): string | undefined {
    return this.#remote === undefined ? undefined : remoteText(this.#remote);
  }

  /** What the server last said about the database: model, leader, cluster, index. */
  get databaseStatus(): DatabaseStatus | undefined {
    return this.#status;
  }

  /** What passed through the present connection. */
  get traffic(): Readonly<Traffic> | undefined {
    return this.#connection?.traffic;
  }

  #why(): string {
    return this.#lastError === undefined ? '' : ` (last error: ${this.#lastError.message})`;
  }

  #emit(event: ClientEvent): void {
    this.#options.onEvent?.(event);
  }

  /** Begins to connect. */
  start(): this {
    if (!this.#started && !this.#closed) {
      this.#started = true;
      this.#input({ kind: 'tick' });
    }
    return this;
  }

  /** Resolves once the contents are loaded and followed. Rejects with the signal's reason, or `closed`. */
  ready(signal?: AbortSignal): Promise<void> {
    return this.#wait(() => this.status === 'ready', signal, 'the database to be loaded');
  }

  async #wait(isDone: () => boolean, signal: AbortSignal | undefined, what: string): Promise<void> {
    signal?.throwIfAborted();
    if (this.#closed)
      throw new OvsdbError('closed', `the client was closed while waiting for ${what}`);
    if (isDone()) return;
    let waiter: Waiter | undefined;
    let abort: (() => void) | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        waiter = { isDone, resolve, reject };
        this.#waiters.add(waiter);
        abort = () => {
          reject(
            new OvsdbError('timed out', `gave up waiting for ${what}${this.#why()}`, {
              cause: signal?.reason,
            }),
          );
        };
        signal?.addEventListener('abort', abort);
      });
    } finally {
      if (waiter !== undefined) this.#waiters.delete(waiter);
      if (abort !== undefined) signal?.removeEventListener('abort', abort);
    }
  }

  #wake(): void {
    for (const waiter of this.#waiters) if (waiter.isDone()) waiter.resolve();
  }

  #timing(): LinkTiming {
    const given = this.#options.timing ?? {};
    const kind = this.#remote?.kind;
    const isLocal = kind === 'unix' || kind === 'punix';
    const timing: { -readonly [K in keyof LinkTiming]: LinkTiming[K] } = {
      ...DEFAULT_TIMING,
      ...(isLocal ? { probeInterval: 0 } : {}),
      ...given,
    };
    if (this.#remote !== undefined && isPassive(this.#remote)) timing.connectTimeout = Infinity;
    // A server that composes a large reply says nothing for many seconds.
    return this.#session?.isLoading === true && timing.probeInterval > 0
      ? { ...timing, probeInterval: Math.max(timing.probeInterval, 60_000) }
      : timing;
  }

  #input(input: LinkInput): void {
    if (!this.#started) return;
    const [state, effect] = step(
      this.#link,
      input,
      this.#now(),
      this.#timing(),
      this.#remotes.length,
    );
    this.#link = state;
    this.#perform(effect);
    this.#schedule();
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const due = deadline(this.#link, this.#timing());
    if (due === undefined || due === Infinity || this.#closed) return;
    this.#timer = setTimeout(
      () => {
        this.#input({ kind: 'tick' });
      },
      Math.max(0, Math.ceil(due - this.#now())),
    );
  }

  #perform(effect: LinkEffect): void {
    switch (effect) {
      case 'connect':
        this.#connect();
        break;
      case 'send-probe':
        this.#connection?.probe();
        break;
      case 'disconnect':
        this.#disconnect(new OvsdbError('disconnected', 'no answer in time'));
        break;
      case 'none':
        break;
    }
  }

  #connect(): void {
    const remote = this.#remotes[this.#nextRemote % this.#remotes.length] as Remote;
    this.#nextRemote = (this.#nextRemote + 1) % this.#remotes.length;
    this.#remote = remote;
    this.#emit({ kind: 'connecting', remote: remoteText(remote) });
    const open = this.#options.openSocket ?? openSocket;
    try {
      this.#attempt = open(remote, this.#tls, {
        opened: (socket) => {
          this.#attempt = undefined;
          this.#opened(socket);
        },
        failed: (error) => {
          this.#attempt = undefined;
          this.#failed(error);
        },
      });
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    const text = error instanceof Error ? error.message : 'the connection was closed';
    this.#disconnect(
      error instanceof OvsdbError ? error : new OvsdbError('disconnected', text, { cause: error }),
    );
  }

  #opened(socket: Socket): void {
    if (socket instanceof TLSSocket && this.#tls?.isBootstrapping === true) {
      this.#bootstrap(socket, this.#tls);
      return;
    }
    const connection = new Connection(socket, {
      sinkForUpdate: (monitor) => this.#session?.sinkForUpdate(monitor),
      update: (update) => {
        this.#session?.update(update);
      },
      notification: (method, params) => {
        this.#notification(method, params);
      },
      heard: () => {
        this.#heard();
      },
      closed: (error) => {
        if (this.#connection === connection) this.#disconnect(error);
      },
    });
    this.#connection = connection;
    this.#emit({ kind: 'connected', remote: this.remote ?? '' });
    this.#session = new DatabaseSession(connection, this.#owner);
    this.#input({ kind: 'opened' });
    this.#session.start();
  }

  #bootstrap(socket: TLSSocket, tls: TlsSettings): void {
    try {
      tls.bootstrap(socket);
    } catch (error) {
      this.#failed(error);
      return;
    } finally {
      socket.destroy();
    }
    this.#emit({
      kind: 'warning',
      text: 'the CA certificate was taken from the server; connecting again to verify it',
    });
    this.#nextRemote = (this.#nextRemote + this.#remotes.length - 1) % this.#remotes.length;
    this.#leave(new OvsdbError('disconnected', 'the CA certificate was stored'), true);
  }

  #heard(): void {
    // Bytes come often; the timer is only moved when it fires too early.
    const [state] = step(
      this.#link,
      { kind: 'heard' },
      this.#now(),
      this.#timing(),
      this.#remotes.length,
    );
    this.#link = state;
  }

  #notification(method: string, params: readonly JsonValue[]): void {
    if (this.#locks.notification(method, params)) return;
    if (method === 'monitor_canceled') this.#session?.monitorCanceled(params[0] ?? null);
  }

  /** Forgets the connection; `input` tells the link why. */
  #disconnect(error: OvsdbError, input: LinkInput = { kind: 'failed' }): void {
    const connection = this.#connection;
    const isOpening = this.#attempt !== undefined || this.#link.kind === 'connecting';
    if (connection === undefined && !isOpening) return;
    const wasReady = this.status === 'ready';
    this.#connection = undefined;
    this.#session = undefined;
    this.#lastError = error;
    this.#attempt?.cancel();
    this.#attempt = undefined;
    connection?.close(error);
    this.#replica?.discard();
    this.#locks.disconnected();
    if (wasReady) this.#emit({ kind: 'unloaded', reason: error.message });
    this.#emit({ kind: 'disconnected', remote: this.remote ?? '', error });
    this.#input(input);
  }

  #leave(error: OvsdbError, atOnce: boolean): void {
    this.#disconnect(error, { kind: atOnce ? 'move-on' : 'failed' });
  }

  #makeOwner(): SessionOwner {
    return {
      conditions: this.#conditions,
      resume: this.#resume,
      requirements: () => ({
        database: this.#options.database,
        leaderOnly: this.#options.leaderOnly ?? true,
        cluster: this.#cluster,
        minIndex: this.#minIndex,
      }),
      define: (schema) => this.#define(schema),
      requests: (conditions, withConditions) => this.#requests(conditions, withConditions),
      described: (status) => {
        this.#status = status;
        this.#minIndex = clamp(status?.index, this.#minIndex);
      },
      show: (reader) => {
        this.#show(reader);
      },
      discard: () => {
        this.#replica?.discard();
      },
      loaded: (method, found) => {
        this.#loaded(method, found);
      },
      unloaded: (reason) => {
        this.#emit({ kind: 'unloaded', reason });
      },
      conditionsSettled: (error) => {
        // Kept until the next condition is set: whoever waits for this one hears of it.
        if (error !== undefined) this.#conditionError = error;
        this.#wake();
      },
      leave: (error, atOnce) => {
        this.#leave(error, atOnce);
      },
      warn: (text) => {
        this.#emit({ kind: 'warning', text });
      },
    };
  }

  #define(schema: DatabaseSchema): Replica {
    const { schema: known, tables, onListenerError } = this.#options;
    const definition = define(schema, known, tables);
    this.#definition = definition;
    for (const text of definition.warnings) this.#emit({ kind: 'warning', text });
    if (this.#replica === undefined) {
      this.#replica = new Replica(definition.schema, {
        monitored: definition.monitored,
        ...(onListenerError === undefined ? {} : { onListenerError }),
      });
    } else {
      // Other columns: what changed since the last time would not be enough.
      const isSame = this.#replica.redefine(definition.schema, definition.monitored);
      if (!isSame) this.#resume.lastId = undefined;
    }
    return this.#replica;
  }

  #requests(
    conditions: ReadonlyMap<string, readonly Clause[]>,
    withConditions: boolean,
  ): JsonObject {
    const monitored = this.#definition?.monitored ?? new Map<string, ReadonlySet<string>>();
    return monitorRequests(monitored, conditions, this.#options.tables, withConditions);
  }

  #show(reader: UpdateReader): void {
    this.#replica?.show(reader, true);
  }

  #loaded(method: MonitorMethod, found: boolean): void {
    const connection = this.#connection as Connection;
    this.#lastError = undefined;
    this.#input({ kind: 'settled' });
    this.#locks.connected(connection);
    this.#emit({ kind: 'loaded', method, found, rows: this.#replica?.statistics.rows ?? 0 });
    this.#wake();
  }

  /**
   * Carries out a transaction; its effect is in the replica when the outcome is known. Never sends anything twice.
   * Rejects only with the signal's reason: the transaction may then have been applied or not.
   */
  async transact(
    operations: readonly Operation[],
    options: ClientTransactOptions = {},
  ): Promise<Outcome> {
    const { signal, lock } = options;
    signal?.throwIfAborted();
    const connection = this.#connection;
    if (connection === undefined || this.status !== 'ready') {
      return {
        kind: 'try-again',
        reason: `not connected to ${this.#options.database}${this.#why()}`,
      };
    }
    if (lock !== undefined && this.#locks.get(lock)?.isHeld !== true)
      return { kind: 'not-locked', lock };
    const sent: readonly Operation[] =
      lock === undefined ? operations : [{ op: 'assert', lock }, ...operations];
    const outcome = await this.#send(connection, sent, signal);
    return lock === undefined ? outcome : withoutFirst(outcome);
  }

  #send(
    connection: Connection,
    operations: readonly Operation[],
    signal: AbortSignal | undefined,
  ): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        connection.notify('cancel', [id]);
        reject(signal?.reason as Error);
      };
      const done = (outcome: Outcome): void => {
        signal?.removeEventListener('abort', abort);
        resolve(outcome);
      };
      const id = connection.request(
        'transact',
        [this.#options.database, ...(operations as unknown as readonly JsonValue[])],
        ({ result, error }) => {
          done(outcomeOf(operations, result, error));
        },
        (error) => {
          done({ kind: 'unknown', reason: error.message });
        },
      );
      signal?.addEventListener('abort', abort);
    });
  }

  /**
   * The lock of this name: asked for now and on every later connection, until it is released. `steal` takes it from
   * whoever has it.
   */
  lock(name: string, options: { readonly steal?: boolean } = {}): Lock {
    return this.#locks.want(name, options.steal === true);
  }

  /**
   * Changes which rows of a table are followed. Resolves when the replica shows exactly those. An empty list: all rows;
   * `[false]`: none. Clauses are alternatives.
   */
  async setCondition(table: string, where: readonly Clause[], signal?: AbortSignal): Promise<void> {
    if (this.#definition !== undefined) checkMonitored(this.#definition.monitored, table);
    this.#conditionError = undefined;
    this.#conditions.set(table, where);
    this.#session?.changeConditions();
    await this.#wait(
      () =>
        this.#conditionError !== undefined ||
        (this.status === 'ready' && this.#conditions.isSettled),
      signal,
      `the condition of table ${table}`,
    );
    if (this.#conditionError !== undefined) throw this.#conditionError as OvsdbError;
  }

  /** Uses other remotes from now on. A connection to one that is still among them is kept. Throws `bad remote`. */
  setRemotes(given: string | Remotes): void {
    const { remotes, cluster } = this.#parse(given);
    this.#cluster = cluster;
    this.#remotes = shuffled(remotes, this.#random);
    this.#nextRemote = 0;
    const isKept = remotes.some((remote) => remoteText(remote) === this.remote);
    if (!isKept && this.#started)
      this.#leave(new OvsdbError('disconnected', 'the remote was removed'), true);
  }

  /** Accept servers with older data than was seen: the cluster was rebuilt. */
  resetMinIndex(): void {
    this.#minIndex = 0;
  }

  /** Drops the connection and makes a new one. */
  reconnect(): void {
    this.#leave(new OvsdbError('disconnected', 'a new connection was asked for'), true);
  }

  /** Sends any other request to the server: `list_dbs`, `get_server_id`, `convert` … Rejects with `rpc error` or `disconnected`. */
  async call(method: string, params: readonly JsonValue[]): Promise<JsonValue> {
    const connection = this.#connection;
    if (connection === undefined)
      throw new OvsdbError('disconnected', `not connected${this.#why()}`);
    return connection.call(method, params);
  }

  /** Ends everything. Transactions under way end as `unknown`, waits reject with `closed`. The replica stays readable. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#link = { kind: 'stopped' };
    const connection = this.#connection;
    this.#connection = undefined;
    this.#session = undefined;
    this.#attempt?.cancel();
    this.#attempt = undefined;
    connection?.end();
    this.#locks.disconnected();
    for (const waiter of this.#waiters)
      waiter.reject(new OvsdbError('closed', 'the client was closed'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await Promise.resolve();
  }
}
