import { unlessAborted } from '../data/abort.ts';
import { isId } from '../data/column-type.ts';
import { errorText, OvsdbError } from '../data/error.ts';
import type { JsonValue } from '../data/value.ts';
import type { Connection } from './connection.ts';

/** A lock of the server: held by one client at a time, gone with the connection and asked for again on the next. */
export class Lock {
  readonly name: string;
  #isHeld = false;
  #isReleased = false;
  readonly #listeners = new Set<(isHeld: boolean) => void>();
  readonly #release: () => void;
  readonly #onListenerError: (error: unknown) => void;

  constructor(name: string, release: () => void, onListenerError: (error: unknown) => void) {
    this.name = name;
    this.#release = release;
    this.#onListenerError = onListenerError;
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Subscribes to the lock: won, lost, stolen, won again. Returns the unsubscribe function. */
  onChange(listener: (isHeld: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Resolves once the lock is ours. Rejects with the signal's reason, or `closed` when the lock was given up. */
  async held(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#isHeld) return;
    if (this.#isReleased) throw this.#givenUp();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const off = this.onChange((isHeld) => {
      if (isHeld) resolve();
      else if (this.#isReleased) reject(this.#givenUp());
    });
    try {
      await unlessAborted(promise, signal);
    } finally {
      off();
    }
  }

  #givenUp(): OvsdbError {
    return new OvsdbError('closed', `the lock ${this.name} was given up`);
  }

  /** Releases the lock; the next client in the queue gets it. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#release();
    this.change(false, true);
  }

  /** For the client alone: it was closed. */
  end(): void {
    this.#isReleased = true;
    this.change(false, true);
  }

  /** For the client alone: the server reported it. */
  change(isHeld: boolean, always = false): void {
    if (isHeld === this.#isHeld && !always) return;
    this.#isHeld = isHeld;
    for (const listener of this.#listeners) {
      try {
        listener(isHeld);
      } catch (error) {
        this.#onListenerError(error);
      }
    }
  }
}

/** A lock that is wanted, and what the server was asked about it. */
interface WantedLock {
  readonly lock: Lock;
  /** Requests without an answer. Until the last one is answered, what the server says is about an earlier request. */
  unanswered: number;
  /** Last asked for by `steal`: ovsdb-server does not queue us for it when it is stolen again. */
  isByStealing: boolean;
  /** To be stolen as soon as there is a connection. */
  isToSteal: boolean;
}

/** The locks that a client wants, through all its connections. */
export class Locks {
  readonly #wanted = new Map<string, WantedLock>();
  readonly #onListenerError: (error: unknown) => void;
  readonly #warn: (text: string) => void;
  #connection: Connection | undefined;
  #isClosed = false;

  /** `onListenerError` gets what a listener of a lock threw, `warn` why a server refuses one. */
  constructor(onListenerError: (error: unknown) => void, warn: (text: string) => void) {
    this.#onListenerError = onListenerError;
    this.#warn = warn;
  }

  get(name: string): Lock | undefined {
    return this.#wanted.get(name)?.lock;
  }

  /**
   * The lock of this name, asked for if it was not yet. `steal`: takes it from whoever has it, once: later connections ask for it like any other.
   * Throws `bad argument` for a name that no server takes.
   */
  want(name: string, steal: boolean): Lock {
    if (!isId(name)) {
      throw new OvsdbError(
        'bad argument',
        `"${name}" can't name a lock: letters, digits and _ can, without a digit in front`,
      );
    }
    const known = this.#wanted.get(name);
    if (known !== undefined) {
      if (steal && !known.lock.isHeld) {
        known.isToSteal = true;
        this.#askAgain(known);
      }
      return known.lock;
    }
    const release = (): void => {
      this.#wanted.delete(name);
      this.#connection?.request('unlock', [name]);
    };
    const lock = new Lock(name, release, this.#onListenerError);
    if (this.#isClosed) lock.end();
    else {
      const wanted = { lock, unanswered: 0, isByStealing: false, isToSteal: steal };
      this.#wanted.set(name, wanted);
      this.#ask(wanted);
    }
    return lock;
  }

  /** A lock that was requested already has to be released before it can be requested in another way. */
  #askAgain(wanted: WantedLock): void {
    this.#connection?.request('unlock', [wanted.lock.name]);
    this.#ask(wanted);
  }

  #ask(wanted: WantedLock): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    const { lock } = wanted;
    wanted.isByStealing = wanted.isToSteal;
    wanted.isToSteal = false;
    wanted.unanswered++;
    const method = wanted.isByStealing ? 'steal' : 'lock';
    connection.request(method, [lock.name], ({ result, error }) => {
      if (error !== undefined)
        this.#warn(`the server does not give the lock ${lock.name}: ${errorText(error)}`);
      const isHeld = (result as { readonly locked?: JsonValue } | undefined)?.locked === true;
      if (this.#connection !== connection || --wanted.unanswered > 0) return;
      if (this.get(lock.name) === lock) lock.change(isHeld);
    });
  }

  /** The database is there: asks for every lock. */
  connected(connection: Connection): void {
    if (this.#connection === connection) return;
    this.#connection = connection;
    for (const wanted of this.#wanted.values()) this.#ask(wanted);
  }

  /** Locks die with the connection. */
  disconnected(): void {
    this.#connection = undefined;
    for (const wanted of this.#wanted.values()) {
      wanted.unanswered = 0;
      wanted.lock.change(false);
    }
  }

  /** The client was closed: no lock is acquired any more. */
  close(): void {
    this.#isClosed = true;
    this.#connection = undefined;
    for (const { lock } of this.#wanted.values()) lock.end();
    this.#wanted.clear();
  }

  notification(method: string, params: readonly JsonValue[]): boolean {
    if (method !== 'locked' && method !== 'stolen') return false;
    const [name] = params;
    const wanted = typeof name === 'string' ? this.#wanted.get(name) : undefined;
    // With an answer outstanding: the server sent this before it read the last request for the lock, or it would have answered that first.
    if (wanted === undefined || wanted.unanswered > 0) return true;
    if (method === 'stolen' && wanted.isByStealing) this.#askAgain(wanted);
    wanted.lock.change(method === 'locked');
    return true;
  }
}
