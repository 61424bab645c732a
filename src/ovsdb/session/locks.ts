import { OvsdbError } from '../error.ts';
import type { JsonValue } from '../value.ts';
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

  /** Hears when the lock is won, lost, stolen or won again. Returns the unsubscribe function. */
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
    await new Promise<void>((resolve, reject) => {
      const stop = (): void => {
        off();
        signal?.removeEventListener('abort', abort);
      };
      const abort = (): void => {
        stop();
        reject(signal?.reason as Error);
      };
      const off = this.onChange((isHeld) => {
        if (!isHeld && !this.#isReleased) return;
        stop();
        if (isHeld) resolve();
        else reject(new OvsdbError('closed', `the lock ${this.name} was given up`));
      });
      signal?.addEventListener('abort', abort);
    });
  }

  /** Gives the lock up; the next one in the queue gets it. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#release();
    this.change(false, true);
  }

  /** For the client alone: the server said so. */
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

/** The locks that a client wants, through all its connections. */
export class Locks {
  readonly #locks = new Map<string, Lock>();
  readonly #onListenerError: (error: unknown) => void;
  #connection: Connection | undefined;

  /** `onListenerError` hears what a listener of a lock threw. */
  constructor(onListenerError: (error: unknown) => void) {
    this.#onListenerError = onListenerError;
  }

  get(name: string): Lock | undefined {
    return this.#locks.get(name);
  }

  /** The lock of this name, asked for if it was not yet. `steal`: takes it from whoever has it, once. */
  want(name: string, steal: boolean): Lock {
    let lock = this.#locks.get(name);
    if (lock === undefined) {
      const release = (): void => {
        this.#locks.delete(name);
        this.#connection?.request('unlock', [name], nothing, nothing);
      };
      lock = new Lock(name, release, this.#onListenerError);
      this.#locks.set(name, lock);
      this.#ask(lock, steal ? 'steal' : 'lock');
    } else if (steal && !lock.isHeld) this.#stealAgain(lock);
    return lock;
  }

  /** A lock that is already waited for has to be given up before it can be stolen. */
  #stealAgain(lock: Lock): void {
    this.#connection?.request('unlock', [lock.name], nothing, nothing);
    this.#ask(lock, 'steal');
  }

  #ask(lock: Lock, method: 'lock' | 'steal'): void {
    const connection = this.#connection;
    connection?.request(
      method,
      [lock.name],
      ({ result }) => {
        const isHeld = (result as { readonly locked?: JsonValue } | undefined)?.locked === true;
        if (this.#connection === connection && this.#locks.get(lock.name) === lock)
          lock.change(isHeld);
      },
      nothing,
    );
  }

  /** The database is there: asks for every lock. */
  connected(connection: Connection): void {
    if (this.#connection === connection) return;
    this.#connection = connection;
    for (const lock of this.#locks.values()) this.#ask(lock, 'lock');
  }

  /** Locks die with the connection. */
  disconnected(): void {
    this.#connection = undefined;
    for (const lock of this.#locks.values()) lock.change(false);
  }

  notification(method: string, params: readonly JsonValue[]): boolean {
    if (method !== 'locked' && method !== 'stolen') return false;
    const [name] = params;
    if (typeof name === 'string') this.#locks.get(name)?.change(method === 'locked');
    return true;
  }
}

const nothing = (): void => {
  // The connection's end releases every lock anyway.
};
