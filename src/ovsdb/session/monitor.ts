import { OvsdbError } from '../data/error.ts';
import type { Clause } from '../data/operation.ts';
import { Replica } from '../replica/replica.ts';
import { ReplicaReader } from '../replica/replica-reader.ts';
import type { AnyTables } from '../schema/column.ts';
import type { DatabaseSchema } from '../data/schema.ts';
import type { JsonObject } from '../data/value.ts';
import { checkCondition, MonitorConditions } from './conditions.ts';
import {
  checkMonitored,
  conditionForServer,
  define,
  initialConditions,
  monitorRequests,
  checkedSelection,
  selectionFor,
  type Definition,
  type Selection,
  type SelectTables,
} from './selection.ts';
import { ReloadBackoff, type BackoffTiming } from './link.ts';
import type { Waits } from './waits.ts';

/** A part of a database that is followed by itself: with its own tables, conditions and replica. */
export interface Monitor<T = AnyTables> extends ReplicaReader<T>, Disposable {
  /** Whether the contents are loaded and followed now. */
  readonly isReady: boolean;
  /**
   * Resolves once `isReady`. Rejects when the signal says so, with `closed`, or when a condition does not fit the schema or the server refuses
   * the monitor: `setCondition` then tries anew, as each new connection does.
   */
  ready(signal?: AbortSignal): Promise<void>;
  /**
   * Changes which rows of a table are followed. Resolves when the replica shows exactly those. An empty list: all rows;
   * `[false]`: none. Clauses are alternatives. One that can't be understood, or does not fit the schema, is refused before anything is sent.
   */
  setCondition(table: string, where: readonly Clause[], signal?: AbortSignal): Promise<void>;
  /** Follows nothing any more; the replica stays readable. */
  close(): void;
}

export interface MonitorSettings {
  readonly database: string;
  readonly selection: Selection | SelectTables | undefined;
  /** The schema that the program was written for. */
  readonly known: DatabaseSchema | undefined;
  readonly onListenerError: ((error: unknown) => void) | undefined;
  /** Pauses between loads of contents that do not fit. */
  readonly backoff: BackoffTiming;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
  readonly waits: Waits;
  /** What went wrong last, for people. */
  readonly why: () => string;
  readonly warn: (text: string) => void;
  /** To follow it (again) if there is a connection. */
  readonly follow: (monitor: DatabaseMonitor) => void;
  readonly closed: (monitor: DatabaseMonitor) => void;
}

export type MonitorMethod = 'monitor_cond_since' | 'monitor_cond' | 'monitor';

/** A monitor on one connection. */
export interface RunningMonitor {
  /** Its contents are complete. */
  readonly isLoaded: boolean;
  /** Sends the server what the conditions are now. */
  changeConditions(): void;
  /** Nothing of it is taken any more. */
  end(): void;
}

/** What outlives the connections of a monitor: its conditions, its replica, and the last transaction that is in it. */
export class DatabaseMonitor extends ReplicaReader implements Monitor {
  readonly #settings: MonitorSettings;
  /** Pauses between loads of contents that do not fit. */
  readonly reloads: ReloadBackoff;
  readonly conditions: MonitorConditions;
  /** Id of the last transaction that the replica has seen; undefined: load everything. */
  lastId: string | undefined;
  /** The monitor on the present connection. */
  run: RunningMonitor | undefined;
  #replica: Replica | undefined;
  #definition: Definition | undefined;
  /** Why the server refused a condition, by the list that `setCondition` made of it. */
  readonly #refusals = new WeakMap<readonly Clause[], OvsdbError>();
  #closed = false;
  /** Why it is not followed on this connection. */
  #failure: OvsdbError | undefined;

  constructor(settings: MonitorSettings) {
    super();
    this.#settings = settings;
    this.reloads = new ReloadBackoff(settings.backoff, settings.now, 1);
    const { selection } = settings;
    const given = typeof selection === 'function' ? undefined : checkedSelection(selection);
    this.conditions = new MonitorConditions(initialConditions(given));
    checkConditions(this.conditions.wanted, settings.known);
    if (settings.known !== undefined) this.define(settings.known);
  }

  get replica(): Replica {
    if (this.#replica === undefined) {
      const { database, why } = this.#settings;
      throw new OvsdbError('disconnected', `${database} was not loaded yet${why()}`);
    }
    return this.#replica;
  }

  get isReady(): boolean {
    return this.run?.isLoaded === true;
  }

  /** Rows held, 0 before the first contents. */
  get rowCount(): number {
    return this.#replica?.statistics.rows ?? 0;
  }

  async ready(signal?: AbortSignal): Promise<void> {
    await this.#until(() => this.isReady, signal, 'the database to be loaded');
  }

  /** Why it is not followed on this connection, and will not be without a change. */
  get failure(): OvsdbError | undefined {
    return this.#failure;
  }

  /** It can't be followed as it is: whoever waits for it gets the error. */
  fail({ code, details, syntax, cause }: OvsdbError): void {
    this.#failure = new OvsdbError(
      code,
      `${details}; try again by setCondition with one that fits, or close the monitor`,
      { ...(syntax === undefined ? {} : { syntax }), cause },
    );
    this.#settings.warn(`a monitor is not followed: ${this.#failure.details}`);
    this.#settings.waits.wake();
  }

  async setCondition(table: string, where: readonly Clause[], signal?: AbortSignal): Promise<void> {
    if (this.#definition !== undefined) checkMonitored(this.#definition.monitored, table);
    checkCondition(table, where, this.#definition?.schema.tables.get(table));
    const mine = [...where];
    this.conditions.set(table, mine);
    if (this.#failure !== undefined) {
      this.#failure = undefined;
      this.#settings.follow(this);
    }
    this.run?.changeConditions();
    let end: OvsdbError | 'in effect' | undefined;
    const isDone = (): boolean => {
      end ??= this.#refusals.get(mine);
      if (end !== undefined) return true;
      const state = this.conditions.state(table, mine);
      if (state === 'in effect' && this.isReady) end = state;
      else if (state === 'replaced') {
        const text = `the condition of table ${table} was replaced by a later one before the server had it`;
        end = new OvsdbError('aborted', text);
      }
      return end !== undefined;
    };
    await this.#until(isDone, signal, `the condition of table ${table}`);
    if (end instanceof OvsdbError) throw end;
  }

  async #until(isDone: () => boolean, signal: AbortSignal | undefined, what: string) {
    await this.#settings.waits.until(
      () => this.#closed || this.#failure !== undefined || isDone(),
      signal,
      what,
    );
    if (this.#closed)
      throw new OvsdbError('closed', `the monitor was closed while waiting for ${what}`);
    if (this.#failure !== undefined) throw this.#failure;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#settings.closed(this);
    this.#replica?.discard();
    this.#settings.waits.wake();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /**
   * The schema of the server is known now: returns where the contents go. Throws, having changed nothing, when a
   * condition does not fit it.
   */
  define(schema: DatabaseSchema): Replica {
    const { known, onListenerError, warn } = this.#settings;
    const selection = selectionFor(this.#settings.selection, schema);
    const definition = define(schema, known, selection);
    // The conditions of a function are known only now. Those set meanwhile take precedence.
    const { wanted } = this.conditions;
    const initial = new Map(
      [...initialConditions(selection)].filter(([table]) => !wanted.has(table)),
    );
    checkConditions([...wanted, ...initial], definition.schema);
    if (this.#replica === undefined) {
      this.#replica = new Replica(definition.schema, {
        ...definition,
        ...(onListenerError === undefined ? {} : { onListenerError }),
      });
    } else {
      // With other columns, what changed since the last transaction is not enough.
      const isSame = this.#replica.redefine(definition.schema, definition);
      if (!isSame) this.lastId = undefined;
    }
    this.conditions.begin(initial);
    this.#definition = definition;
    this.#failure = undefined;
    for (const text of definition.warnings) warn(text);
    return this.#replica;
  }

  /** `<monitor-requests>` with the conditions that the server has confirmed. */
  requests(withConditions: boolean): JsonObject {
    if (this.#definition === undefined) return {};
    const { acknowledged } = this.conditions;
    return monitorRequests(this.#definition, acknowledged, withConditions);
  }

  /** Requests of a `monitor_cond_change`, if one may and must be sent now. */
  takeConditionChange(): JsonObject | undefined {
    const definition = this.#definition;
    if (definition === undefined) return undefined;
    return this.conditions.takeChange((table, where) =>
      conditionForServer(definition, table, where),
    );
  }

  /** The connection is new. */
  reconnect(): void {
    if (!this.conditions.reconnect()) this.lastId = undefined;
  }

  /** The connection is gone, or the server follows nothing any more. What was read but not applied is dropped. */
  detach(): void {
    this.run?.end();
    this.run = undefined;
    this.#failure = undefined;
    this.#replica?.discard();
  }

  /** Everything is to be loaded anew, at once with the conditions that are wanted. */
  forget(): void {
    this.lastId = undefined;
    this.conditions.restart();
  }

  /** The server works with other conditions than before. */
  conditionsChanged(): void {
    this.#settings.waits.wake();
  }

  /** The server refused the change that was under way. */
  conditionsRefused(error: OvsdbError): void {
    for (const where of this.conditions.refuse().values()) this.#refusals.set(where, error);
    this.#settings.waits.wake();
  }
}

/** Throws unless every condition fits the schema, as far as it is known. */
function checkConditions(
  conditions: Iterable<readonly [string, readonly Clause[]]>,
  schema: DatabaseSchema | undefined,
): void {
  for (const [table, where] of conditions) checkCondition(table, where, schema?.tables.get(table));
}
