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
    if (this.#isReleased) throw this.#givenUp();
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
        else reject(this.#givenUp());
      });
      signal?.addEventListener('abort', abort);
    });
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
  /** Requests for a lock without an answer. Until the last one is answered, what the server says is about an earlier request. */
  readonly #unanswered = new Map<Lock, number>();
  /** Locks that were last asked for by `steal`: ovsdb-server does not queue us for these when they are stolen again. */
  readonly #byStealing = new Set<Lock>();
  /** Locks that are to be stolen as soon as there is a connection. */
  readonly #toSteal = new Set<Lock>();
  readonly #onListenerError: (error: unknown) => void;
  readonly #warn: (text: string) => void;
  #connection: Connection | undefined;
  #isClosed = false;

  /** `onListenerError` hears what a listener of a lock threw, `warn` why a server refuses one. */
  constructor(onListenerError: (error: unknown) => void, warn: (text: string) => void) {
    this.#onListenerError = onListenerError;
    this.#warn = warn;
  }

  get(name: string): Lock | undefined {
    return this.#locks.get(name);
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
    let lock = this.#locks.get(name);
    if (lock === undefined) {
      const release = (): void => {
        this.#locks.delete(name);
        if (lock !== undefined) {
          this.#toSteal.delete(lock);
          this.#byStealing.delete(lock);
        }
        this.#connection?.request('unlock', [name]);
      };
      lock = new Lock(name, release, this.#onListenerError);
      if (this.#isClosed) {
        lock.end();
        return lock;
      }
      this.#locks.set(name, lock);
      if (steal) this.#toSteal.add(lock);
      this.#ask(lock);
    } else if (steal && !lock.isHeld) {
      this.#toSteal.add(lock);
      this.#askAgain(lock);
    }
    return lock;
  }

  /** A lock that was requested already has to be released before it can be requested in another way. */
  #askAgain(lock: Lock): void {
    this.#connection?.request('unlock', [lock.name]);
    this.#ask(lock);
  }

  #ask(lock: Lock): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    const method = this.#toSteal.delete(lock) ? 'steal' : 'lock';
    if (method === 'steal') this.#byStealing.add(lock);
    else this.#byStealing.delete(lock);
    this.#unanswered.set(lock, (this.#unanswered.get(lock) ?? 0) + 1);
    connection.request(method, [lock.name], ({ result, error }) => {
      if (error !== undefined)
        this.#warn(`the server does not give the lock ${lock.name}: ${errorText(error)}`);
      const isHeld = (result as { readonly locked?: JsonValue } | undefined)?.locked === true;
      if (this.#connection !== connection || !this.#isLastAnswer(lock)) return;
      if (this.#locks.get(lock.name) === lock) lock.change(isHeld);
    });
  }

  #isLastAnswer(lock: Lock): boolean {
    const left = (this.#unanswered.get(lock) ?? 1) - 1;
    if (left > 0) this.#unanswered.set(lock, left);
    else this.#unanswered.delete(lock);
    return left <= 0;
  }

  /** The database is there: asks for every lock. */
  connected(connection: Connection): void {
    if (this.#connection === connection) return;
    this.#connection = connection;
    for (const lock of this.#locks.values()) this.#ask(lock);
  }

  /** Locks die with the connection. */
  disconnected(): void {
    this.#connection = undefined;
    this.#unanswered.clear();
    for (const lock of this.#locks.values()) lock.change(false);
  }

  /** The client was closed: no lock is acquired any more. */
  close(): void {
    this.#isClosed = true;
    this.#connection = undefined;
    for (const lock of this.#locks.values()) lock.end();
    this.#locks.clear();
  }

  notification(method: string, params: readonly JsonValue[]): boolean {
    if (method !== 'locked' && method !== 'stolen') return false;
    const [name] = params;
    const lock = typeof name === 'string' ? this.#locks.get(name) : undefined;
    // The server sent this before it read the last request for the lock, or it would have answered that first.
    if (lock === undefined || this.#unanswered.has(lock)) return true;
    if (method === 'stolen' && this.#byStealing.has(lock)) this.#askAgain(lock);
    lock.change(method === 'locked');
    return true;
  }
}
