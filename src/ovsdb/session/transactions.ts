import type { OvsdbError } from '../data/error.ts';
import type { Operation, Outcome } from '../data/operation.ts';
import type { JsonValue } from '../data/value.ts';
import type { Connection, Reply, Requester } from './connection.ts';
import { checked, outcomeOf, type CheckedOutcome } from '../data/outcome.ts';

/** Milliseconds for the answers to what is under way when a server is left. It refuses all of it, so they come at once. */
const DRAIN_TIMEOUT = 5000;

/** The server is left as soon as everything that was sent has its answer. */
interface Drain {
  readonly reason: string;
  readonly leave: () => void;
  readonly timer: NodeJS.Timeout;
  /** Transactions that are not sent any more. They end when the server is left. */
  readonly late: InFlight[];
  isOver: boolean;
}

/** The transactions of one connection: sends each once, and says how it ended. */
export class Transactions {
  readonly #connection: Connection;
  readonly #database: string;
  readonly #refused: (details: string) => void;
  readonly #passesOn: () => boolean;
  readonly #underWay = new Set<number>();
  readonly #signals = new AbortListeners<InFlight>((sent, reason) => {
    if (sent.id !== undefined) this.#connection.notify('cancel', [sent.id]);
    sent.reject(reason);
  });
  #drain: Drain | undefined;

  /**
   * `refused`: the server does not write, as a standby does not. Called in the read loop, before the outcome is known. `passesOn`: it may
   * forward transactions to another server.
   */
  constructor(
    connection: Connection,
    database: string,
    refused: (details: string) => void,
    passesOn: () => boolean = () => false,
  ) {
    this.#connection = connection;
    this.#database = database;
    this.#refused = refused;
    this.#passesOn = passesOn;
  }

  get passesOn(): boolean {
    return this.#passesOn();
  }

  /** Rejects with the signal's reason: the transaction may then have been applied or not; or because the operations are no JSON. */
  send(operations: readonly Operation[], signal: AbortSignal | undefined): Promise<CheckedOutcome> {
    const sent = new InFlight(this, operations, signal);
    this.#signals.add(signal, sent);
    if (this.#drain === undefined) this.#send(sent, operations);
    else {
      this.#drain.late.push(sent);
      if (this.#drain.isOver) refuse(this.#drain);
    }
    return sent.outcome;
  }

  #send(sent: InFlight, operations: readonly Operation[]): void {
    const id = this.#connection.nextId;
    sent.id = id;
    this.#underWay.add(id);
    try {
      this.#connection.send(
        'transact',
        [this.#database, ...(operations as unknown as readonly JsonValue[])],
        sent,
      );
    } catch (error) {
      this.#underWay.delete(id);
      this.settled(sent);
      sent.reject(error);
    }
  }

  /** Its signal does not matter any more. */
  settled(sent: InFlight): void {
    this.#signals.delete(sent.signal, sent);
  }

  /** For a transaction that was sent: its outcome is known. */
  ended(id: number, outcome: Outcome): void {
    this.#underWay.delete(id);
    if (outcome.kind === 'error' && outcome.error === 'not allowed') this.#refused(outcome.details);
    if (this.#underWay.size === 0) this.#leave();
  }

  /** Sends nothing more; calls `leave` when everything under way has its answer, or after five seconds without. */
  finish(reason: string, leave: () => void): void {
    if (this.#drain !== undefined) return;
    const timer = setTimeout(() => {
      this.#leave();
    }, DRAIN_TIMEOUT);
    this.#drain = { reason, leave, timer, late: [], isOver: false };
    // A transaction that waits for a row would be answered much later.
    for (const id of this.#underWay) this.#connection.notify('cancel', [id]);
  }

  #leave(): void {
    const drain = this.#drain;
    if (drain === undefined || drain.isOver) return;
    // Leaving ends what is under way, which calls this again.
    drain.isOver = true;
    clearTimeout(drain.timer);
    drain.leave();
    refuse(drain);
  }
}

/** A transaction that is sent, or waits for the server to be left. */
class InFlight implements Requester {
  /** Undefined until it is sent. */
  id: number | undefined;
  readonly signal: AbortSignal | undefined;
  readonly #owner: Transactions;
  readonly #operations: readonly Operation[];
  readonly #settled = Promise.withResolvers<CheckedOutcome>();

  constructor(
    owner: Transactions,
    operations: readonly Operation[],
    signal: AbortSignal | undefined,
  ) {
    this.#owner = owner;
    this.#operations = operations;
    this.signal = signal;
  }

  get outcome(): Promise<CheckedOutcome> {
    return this.#settled.promise;
  }

  reject(error: unknown): void {
    this.#settled.reject(error);
  }

  end(outcome: Outcome): void {
    this.#owner.settled(this);
    this.#settled.resolve(checked(outcome));
    if (this.id !== undefined) this.#owner.ended(this.id, outcome);
  }

  answered({ result, error }: Reply): void {
    this.end(outcomeOf(this.#operations, result, error, this.#owner.passesOn));
  }

  lost(error: OvsdbError, wasSent: boolean): void {
    const reason = error.message;
    this.end(
      wasSent ? { kind: 'unknown', reason } : { kind: 'try-again', reason: `not sent: ${reason}` },
    );
  }
}

/** Ends what was not sent any more. */
function refuse({ late, reason }: Drain): void {
  for (const sent of late.splice(0)) sent.end({ kind: 'try-again', reason });
}

/** What waits with which signal. Each signal has one listener, as adding one takes longer the more it has. */
class AbortListeners<T> {
  readonly #aborted: (waiting: T, reason: unknown) => void;
  readonly #waiting = new Map<AbortSignal, Set<T>>();
  readonly #listener = (event: Event): void => {
    const signal = event.target as AbortSignal;
    for (const waiting of this.#waiting.get(signal) ?? []) this.#aborted(waiting, signal.reason);
  };

  /** `aborted` is called for everything that waits with a signal when it is aborted. */
  constructor(aborted: (waiting: T, reason: unknown) => void) {
    this.#aborted = aborted;
  }

  add(signal: AbortSignal | undefined, waiting: T): void {
    if (signal === undefined) return;
    const others = this.#waiting.get(signal);
    if (others !== undefined) {
      others.add(waiting);
      return;
    }
    this.#waiting.set(signal, new Set([waiting]));
    signal.addEventListener('abort', this.#listener);
  }

  delete(signal: AbortSignal | undefined, waiting: T): void {
    if (signal === undefined) return;
    const others = this.#waiting.get(signal);
    others?.delete(waiting);
    if (others?.size !== 0) return;
    this.#waiting.delete(signal);
    signal.removeEventListener('abort', this.#listener);
  }
}
