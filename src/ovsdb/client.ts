import type { Duplex } from 'node:stream';
import { OvsdbError, rethrowLater } from './data/error.ts';
import { checked, type CheckedOutcome } from './data/outcome.ts';
import type { Clause, Operation, TransactOptions, Transactor } from './data/operation.ts';
import { outcomePart } from './data/outcome.ts';
import type { Replica } from './replica/replica.ts';
import { ReplicaReader } from './replica/replica-reader.ts';
import type { AnyTables } from './schema/column.ts';
import type { ClientEvent, ClientOptions, ClientStatus } from './client-options.ts';
import { Connection, type Traffic } from './session/connection.ts';
import type { SessionOwner } from './session/session-owner.ts';
import { DatabaseSession } from './session/database-session.ts';
import { Dialer } from './session/dialer.ts';
import { Locks, type Lock } from './session/locks.ts';
import { DatabaseMonitor, type Monitor } from './session/monitor.ts';
import type { MonitorMethod } from './session/monitor.ts';
import { DEFAULT_TIMING, ReloadBackoff, type BackoffTiming } from './session/link.ts';
import type { Remotes } from './session/remote.ts';
import type { Selection, SelectTables } from './session/selection.ts';
import type { DatabaseStatus } from './session/server-status.ts';
import { TlsSettings } from './session/tls.ts';
import { Transactions } from './session/transactions.ts';
import { Waits } from './session/waits.ts';
import { checkMessageLimit } from './wire/message-stream.ts';
import type { Integer, JsonValue } from './data/value.ts';

/** How often a database may be converted, or replaced, before it is loaded with pauses. */
const FREE_RELOADS = 5;

const clamp = (value: Integer | undefined, floor: Integer): Integer =>
  value !== undefined && BigInt(value) > BigInt(floor) ? value : floor;

/**
 * A client of one database: keeps a replica of it true, carries out transactions, holds locks, and finds its way back
 * after every kind of interruption. `start` it, wait for `ready`, `close` it (or `await using`). `T` are the generated types of its tables, whose
 * names, columns and values the compiler then checks.
 */
export class OvsdbClient<T = AnyTables>
  extends ReplicaReader<T>
  implements Transactor, AsyncDisposable
{
  readonly #options: ClientOptions;
  readonly #now: () => number;
  readonly #backoff: BackoffTiming;
  readonly #dialer: Dialer;
  readonly #onListenerError: (error: unknown) => void;
  readonly #locks: Locks;
  readonly #waits = new Waits(() => this.#why());
  readonly #monitors = new Set<DatabaseMonitor>();
  /** What the options ask for; there may be others beside it. */
  readonly #main: DatabaseMonitor;
  readonly #owner: SessionOwner;
  #checks: NodeJS.Timeout | undefined;
  #connection: Connection | undefined;
  #session: DatabaseSession | undefined;
  #transactions: Transactions | undefined;
  #minIndex: Integer = 0;
  #status: DatabaseStatus | undefined;
  readonly #end = new AbortController();
  #lastError: OvsdbError | undefined;
  readonly #warn = (text: string): void => {
    this.#emit({ kind: 'warning', text });
  };

  /**
   * Throws `bad remote` for remotes that can't be understood, `bad argument` for a `maxMessageBytes` that makes no sense and a `where` that can't
   * be understood or does not fit `schema`. Opens nothing.
   */
  constructor(options: ClientOptions) {
    super();
    checkMessageLimit(options.maxMessageBytes);
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#backoff = { ...DEFAULT_TIMING, ...options.timing };
    this.#dialer = this.#makeDialer(options);
    this.#onListenerError = options.onListenerError ?? rethrowLater;
    this.#locks = new Locks(this.#onListenerError, this.#warn);
    this.#owner = this.#makeOwner();
    this.#main = this.#makeMonitor(options.tables);
  }

  #makeDialer(options: ClientOptions): Dialer {
    return new Dialer(
      {
        remotes: options.remotes,
        tls: options.tls === undefined ? undefined : new TlsSettings(options.tls),
        timing: options.timing,
        openSocket: options.openSocket,
        now: this.#now,
        random: options.random ?? Math.random,
      },
      {
        connecting: (remote) => {
          this.#emit({ kind: 'connecting', remote });
        },
        opened: (socket) => {
          this.#opened(socket);
        },
        lost: (error) => {
          this.#lost(error);
        },
        probe: () => this.#connection?.probe(),
        isAwaiting: () => this.#session?.isAwaiting === true,
        warn: this.#warn,
      },
    );
  }

  /** The database as last seen. Throws `disconnected` before the first contents, unless a schema was given. */
  get replica(): Replica {
    return this.#main.replica;
  }

  get status(): ClientStatus {
    if (this.#end.signal.aborted) return 'closed';
    if (this.#main.isReady) return 'ready';
    if (this.#session !== undefined) return 'loading';
    return this.#dialer.isConnecting ? 'connecting' : 'disconnected';
  }

  /** The remote in use, in the usual notation. */
  get remote(): string | undefined {
    return this.#dialer.remote;
  }

  /** Aborted by `close`. */
  get ended(): AbortSignal {
    return this.#end.signal;
  }

  /** How the server last described the database: model, leader, cluster, index. */
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

  /** No events after `close`. */
  #emit(event: ClientEvent): void {
    if (this.#end.signal.aborted) return;
    try {
      this.#options.onEvent?.(event);
    } catch (error) {
      this.#onListenerError(error);
    }
  }

  /** Begins to connect. */
  start(): this {
    this.#dialer.start();
    return this;
  }

  /** Resolves once the contents are loaded and followed. Rejects with `timed out` when the signal says so (its reason is the `cause`), or `closed`. */
  ready(signal?: AbortSignal): Promise<void> {
    return this.#main.ready(signal);
  }

  #opened(socket: Duplex): void {
    const connection = new Connection(
      socket,
      {
        sinkForUpdate: (monitor) => this.#session?.sinkForUpdate(monitor),
        update: (monitor, updates) => {
          this.#session?.update(monitor, updates);
        },
        notification: (method, params) => {
          this.#notification(method, params);
        },
        heard: () => {
          this.#dialer.heard();
        },
        closed: (error) => {
          if (this.#connection === connection) this.#dialer.drop(error);
        },
      },
      {
        answerTimeout: this.#options.timing?.answerTimeout,
        limits: { maxMessageBytes: this.#options.maxMessageBytes },
      },
    );
    this.#connection = connection;
    this.#transactions = new Transactions(
      connection,
      this.#options.database,
      (details) => {
        this.#leaveReadOnly(connection, details);
      },
      () => this.#status !== undefined && this.#status.model !== 'standalone',
    );
    this.#emit({ kind: 'connected', remote: this.remote ?? '' });
    // A listener may have ended it.
    if (this.#connection !== connection) return;
    this.#session = new DatabaseSession(connection, this.#owner);
    this.#session.start();
  }

  #notification(method: string, params: readonly JsonValue[]): void {
    if (this.#locks.notification(method, params)) return;
    this.#session?.notification(method, params);
  }

  /** Detaches everything from the connection and returns it. */
  #forget(): Connection | undefined {
    const connection = this.#connection;
    this.#connection = undefined;
    this.#transactions = undefined;
    this.#session?.end();
    this.#session = undefined;
    clearInterval(this.#checks);
    for (const monitor of this.#monitors) monitor.detach();
    return connection;
  }

  #lost(error: OvsdbError): void {
    const wasReady = this.status === 'ready';
    this.#lastError = error;
    this.#forget()?.close(error);
    this.#locks.disconnected();
    if (wasReady) this.#emit({ kind: 'unloaded', reason: error.message });
    this.#emit({ kind: 'disconnected', remote: this.remote ?? '', error });
  }

  #makeOwner(): SessionOwner {
    return {
      monitors: this.#monitors,
      reloads: new ReloadBackoff(this.#backoff, this.#now, FREE_RELOADS),
      requirements: () => ({
        database: this.#options.database,
        leaderOnly: this.#options.leaderOnly ?? true,
        cluster: this.#dialer.cluster,
        minIndex: this.#minIndex,
      }),
      described: (status) => {
        this.#status = status;
        this.#minIndex = clamp(status?.index, this.#minIndex);
      },
      loaded: (monitor, method, found) => {
        this.#loaded(monitor, method, found);
      },
      unloaded: (monitor, reason) => {
        if (monitor === this.#main) this.#emit({ kind: 'unloaded', reason });
      },
      refused: (monitor, error) => {
        // A client that can't follow what its options ask for leaves the server.
        if (monitor === this.#main) this.#dialer.drop(error);
        else monitor.fail(error);
      },
      leave: (error, atOnce) => {
        this.#dialer.drop(error, atOnce);
      },
      warn: this.#warn,
      schemaMismatch: (error, text) => {
        this.#lastError = error;
        this.#warn(text);
      },
    };
  }

  #makeMonitor(selection: Selection | SelectTables | undefined): DatabaseMonitor {
    const { database, schema } = this.#options;
    const monitor = new DatabaseMonitor({
      database,
      selection,
      known: schema,
      onListenerError: this.#onListenerError,
      backoff: this.#backoff,
      now: this.#now,
      waits: this.#waits,
      why: () => this.#why(),
      warn: this.#warn,
      follow: (which) => this.#session?.follow(which),
      closed: (which) => {
        this.#monitors.delete(which);
        this.#session?.unfollow(which);
      },
    });
    this.#monitors.add(monitor);
    return monitor;
  }

  /**
   * Follows another part of the database beside that of the options, with its own replica and conditions, through all connections, until it is
   * closed. When the outcome of a transaction is known, every replica has what it wrote. Throws for a `where` that can't be understood or does not fit
   * the schema.
   */
  monitor(tables: Selection | SelectTables): Monitor<T> {
    if (this.#end.signal.aborted) throw new OvsdbError('closed', 'the client was closed');
    const monitor = this.#makeMonitor(tables);
    this.#session?.follow(monitor);
    if (monitor.failure === undefined) return monitor as unknown as Monitor<T>;
    monitor.close();
    throw monitor.failure;
  }

  #loaded(monitor: DatabaseMonitor, method: MonitorMethod, found: boolean): void {
    if (monitor !== this.#main) {
      this.#waits.wake();
      return;
    }
    const connection = this.#connection as Connection;
    this.#lastError = undefined;
    this.#startChecks();
    this.#dialer.settled();
    this.#locks.connected(connection);
    this.#emit({ kind: 'loaded', method, found, rows: monitor.rowCount });
    this.#waits.wake();
  }

  #startChecks(): void {
    clearInterval(this.#checks);
    const interval = this.#options.timing?.checkInterval ?? 60_000;
    if (interval > 0) this.#checks = setInterval(() => this.#session?.check(), interval);
  }

  /**
   * Carries out a transaction, once; its effect is in the replica when the outcome is known. Rejects only with the signal's reason: the
   * transaction may then have been applied or not.
   */
  async transact(
    operations: readonly Operation[],
    options: TransactOptions = {},
  ): Promise<CheckedOutcome> {
    const { signal, lock } = options;
    signal?.throwIfAborted();
    const transactions = this.#transactions;
    if (transactions === undefined || this.#end.signal.aborted || !this.#main.isReady) {
      const reason = `not connected to ${this.#options.database}${this.#why()}`;
      return checked({ kind: 'try-again', reason });
    }
    if (lock === undefined) return transactions.send(operations, signal);
    if (this.#locks.get(lock)?.isHeld !== true) return checked({ kind: 'not-locked', lock });
    const outcome = await transactions.send([{ op: 'assert', lock }, ...operations], signal);
    return checked(outcomePart(outcome, 1));
  }

  /** A standby or read-only server refused to write: go to another one, after the answers to what was sent. */
  #leaveReadOnly(connection: Connection, details: string): void {
    if (this.#connection !== connection || !this.#dialer.hasOthers) return;
    const reason = `the server does not write: ${details}`;
    this.#transactions?.finish(reason, () => {
      if (this.#connection === connection)
        this.#dialer.drop(new OvsdbError('disconnected', reason), true);
    });
  }

  /**
   * The lock of this name: asked for now and on every later connection, until it is released. `steal` takes it from
   * whoever has it, once. Its name has letters, digits and `_`; throws `bad argument` otherwise.
   */
  lock(name: string, options: { readonly steal?: boolean } = {}): Lock {
    return this.#locks.want(name, options.steal === true);
  }

  /**
   * Changes which rows of a table are followed. Resolves when the replica shows exactly those. An empty list: all rows;
   * `[false]`: none. Clauses are alternatives.
   */
  setCondition(table: string, where: readonly Clause[], signal?: AbortSignal): Promise<void> {
    return this.#main.setCondition(table, where, signal);
  }

  /** Uses other remotes from now on. A connection to one that is still among them is kept. Throws `bad remote`. */
  setRemotes(given: string | Remotes): void {
    this.#dialer.setRemotes(given);
  }

  /** Accept servers with older data than was seen: the cluster was rebuilt. */
  resetMinIndex(): void {
    this.#minIndex = 0;
  }

  /** Drops the connection, if there is one, and makes a new one at once. */
  reconnect(): void {
    this.#dialer.drop(new OvsdbError('disconnected', 'a new connection was asked for'), true);
    this.#dialer.retry();
  }

  /**
   * Reads everything anew over the present connection and compares: only what the replica had wrong is reported to
   * subscribers. Resolves when the contents are complete.
   */
  async reload(signal?: AbortSignal): Promise<void> {
    await this.#main.ready(signal);
    this.#session?.reload('the contents are read anew on request');
    await this.#waits.until(
      () => [...this.#monitors].every(({ isReady, failure }) => isReady || failure !== undefined),
      signal,
      'the contents to be read anew',
    );
  }

  /**
   * Sends any other request to the server: `list_dbs`, `get_server_id`, `convert` … Rejects with `rpc error`, `disconnected` or `closed`, or with
   * the signal's reason: the server then carries it out all the same.
   */
  async call(
    method: string,
    params: readonly JsonValue[],
    signal?: AbortSignal,
  ): Promise<JsonValue> {
    signal?.throwIfAborted();
    if (this.#end.signal.aborted) throw new OvsdbError('closed', 'the client was closed');
    const connection = this.#connection;
    if (connection === undefined)
      throw new OvsdbError('disconnected', `not connected${this.#why()}`);
    return connection.call(method, params, signal);
  }

  /** Ends everything. Transactions under way end as `unknown`, waits reject with `closed`. The replica stays readable. */
  close(): void {
    if (this.#end.signal.aborted) return;
    this.#end.abort();
    this.#dialer.stop();
    this.#forget()?.end();
    this.#locks.close();
    this.#waits.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await Promise.resolve();
  }
}
