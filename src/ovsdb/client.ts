import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { OvsdbError } from './error.ts';
import type { Clause, Operation, Outcome, Transactor } from './operation.ts';
import { rethrowLater } from './listener-error.ts';
import type { Replica } from './replica/replica.ts';
import type {
  ClientEvent,
  ClientOptions,
  ClientStatus,
  ClientTransactOptions,
} from './client-options.ts';
import { Connection, type Traffic } from './session/connection.ts';
import { DatabaseSession, type SessionOwner } from './session/database-session.ts';
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
import { DatabaseMonitor, type Monitor } from './session/monitor.ts';
import type { MonitorMethod } from './session/monitor-run.ts';
import { withoutFirst } from './session/outcome.ts';
import { parseRemotes, remoteText, type Remote, type Remotes } from './session/remote.ts';
import type { Selection } from './session/selection.ts';
import type { DatabaseStatus } from './session/server-status.ts';
import { TlsSettings } from './session/tls.ts';
import { Transactions } from './session/transactions.ts';
import { isPassive, openSocket, type Attempt } from './session/transport.ts';
import { Waits } from './session/waits.ts';
import type { Integer, JsonValue, Uuid } from './value.ts';

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
  readonly #onListenerError: (error: unknown) => void;
  readonly #locks: Locks;
  readonly #waits = new Waits(() => this.#why());
  readonly #monitors = new Set<DatabaseMonitor>();
  /** What the options ask for; there may be others beside it. */
  readonly #main: DatabaseMonitor;
  readonly #owner: SessionOwner;
  #remotes: readonly Remote[];
  #cluster: Uuid | undefined;
  #nextRemote = 0;
  #remote: Remote | undefined;
  #link: LinkState;
  #timer: NodeJS.Timeout | undefined;
  #checks: NodeJS.Timeout | undefined;
  /** To open a socket, while it is under way. */
  #attempt: Attempt | undefined;
  #connection: Connection | undefined;
  #session: DatabaseSession | undefined;
  #transactions: Transactions | undefined;
  #minIndex: Integer = 0;
  #status: DatabaseStatus | undefined;
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
    this.#onListenerError = options.onListenerError ?? rethrowLater;
    this.#locks = new Locks(this.#onListenerError);
    this.#owner = this.#makeOwner();
    this.#main = this.#makeMonitor(options.tables);
  }

  #parse(remotes: string | Remotes): Remotes {
    return typeof remotes === 'string' ? parseRemotes(remotes) : remotes;
  }

  /** The database as last seen. Throws `disconnected` before the first contents, unless a schema was given. */
  get replica(): Replica {
    return this.#main.replica;
  }

  get status(): ClientStatus {
    if (this.#closed) return 'closed';
    if (this.#main.isReady) return 'ready';
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
    try {
      this.#options.onEvent?.(event);
    } catch (error) {
      this.#onListenerError(error);
    }
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
    return this.#main.ready(signal);
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
    this.#transactions = new Transactions(connection, this.#options.database, (details) => {
      this.#leaveReadOnly(connection, details);
    });
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
    this.#transactions = undefined;
    this.#session = undefined;
    this.#lastError = error;
    clearInterval(this.#checks);
    this.#attempt?.cancel();
    this.#attempt = undefined;
    for (const monitor of this.#monitors) monitor.detach();
    connection?.close(error);
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
      monitors: this.#monitors,
      requirements: () => ({
        database: this.#options.database,
        leaderOnly: this.#options.leaderOnly ?? true,
        cluster: this.#cluster,
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
      leave: (error, atOnce) => {
        this.#leave(error, atOnce);
      },
      warn: (text) => {
        this.#emit({ kind: 'warning', text });
      },
    };
  }

  #makeMonitor(selection: Selection | undefined): DatabaseMonitor {
    const { database, schema } = this.#options;
    const monitor = new DatabaseMonitor({
      database,
      selection,
      known: schema,
      onListenerError: this.#onListenerError,
      waits: this.#waits,
      why: () => this.#why(),
      warn: (text) => {
        this.#emit({ kind: 'warning', text });
      },
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
   * closed. What a transaction wrote is in every replica when its outcome is known.
   */
  monitor(tables: Selection): Monitor {
    if (this.#closed) throw new OvsdbError('closed', 'the client was closed');
    const monitor = this.#makeMonitor(tables);
    this.#session?.follow(monitor);
    return monitor;
  }

  #loaded(monitor: DatabaseMonitor, method: MonitorMethod, found: boolean): void {
    if (monitor !== this.#main) {
      this.#waits.wake();
      return;
    }
    const connection = this.#connection as Connection;
    this.#lastError = undefined;
    this.#startChecks();
    this.#input({ kind: 'settled' });
    this.#locks.connected(connection);
    this.#emit({ kind: 'loaded', method, found, rows: monitor.rows });
    this.#waits.wake();
  }

  #startChecks(): void {
    clearInterval(this.#checks);
    const interval = this.#options.timing?.checkInterval ?? 60_000;
    if (interval > 0) this.#checks = setInterval(() => this.#session?.check(), interval);
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
    const transactions = this.#transactions;
    if (transactions === undefined || this.status !== 'ready') {
      return {
        kind: 'try-again',
        reason: `not connected to ${this.#options.database}${this.#why()}`,
      };
    }
    if (lock !== undefined && this.#locks.get(lock)?.isHeld !== true)
      return { kind: 'not-locked', lock };
    const sent: readonly Operation[] =
      lock === undefined ? operations : [{ op: 'assert', lock }, ...operations];
    const outcome = await transactions.send(sent, signal);
    return lock === undefined ? outcome : withoutFirst(outcome);
  }

  /** A standby or read-only server refused to write: another one may not. */
  #leaveReadOnly(connection: Connection, details: string): void {
    if (this.#connection !== connection || this.#remotes.length < 2) return;
    const reason = `the server does not write: ${details}`;
    this.#transactions?.finish(reason, () => {
      if (this.#connection === connection)
        this.#leave(new OvsdbError('disconnected', reason), true);
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
  setCondition(table: string, where: readonly Clause[], signal?: AbortSignal): Promise<void> {
    return this.#main.setCondition(table, where, signal);
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
    this.#input({ kind: 'retry' });
  }

  /** Accept servers with older data than was seen: the cluster was rebuilt. */
  resetMinIndex(): void {
    this.#minIndex = 0;
  }

  /** Drops the connection, if there is one, and makes a new one at once. */
  reconnect(): void {
    this.#leave(new OvsdbError('disconnected', 'a new connection was asked for'), true);
    this.#input({ kind: 'retry' });
  }

  /**
   * Reads everything anew over the present connection and compares: what the replica had wrong is told to subscribers, the rest causes no
   * event. Resolves when the contents are complete.
   */
  async reload(signal?: AbortSignal): Promise<void> {
    await this.#main.ready(signal);
    this.#session?.reload('the contents are read anew on request');
    await this.#waits.until(
      () => [...this.#monitors].every((monitor) => monitor.isReady),
      signal,
      'the contents to be read anew',
    );
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
    clearInterval(this.#checks);
    this.#link = { kind: 'stopped' };
    const connection = this.#connection;
    this.#connection = undefined;
    this.#transactions = undefined;
    this.#session = undefined;
    this.#attempt?.cancel();
    this.#attempt = undefined;
    for (const monitor of this.#monitors) monitor.detach();
    connection?.end();
    this.#locks.disconnected();
    this.#waits.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await Promise.resolve();
  }
}
