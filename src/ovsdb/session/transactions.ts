import type { OvsdbError } from '../error.ts';
import type { Operation, Outcome } from '../operation.ts';
import type { JsonValue } from '../value.ts';
import type { Asker, Connection, Reply } from './connection.ts';
import { outcomeOf } from './outcome.ts';

/** Milliseconds for the answers to what is under way when a server is left: it has refused or will, so they come at once. */
const FAREWELL = 5000;

/** The server is to be left, once everything that was sent has its answer. */
interface Farewell {
  readonly reason: string;
  readonly leave: () => void;
  readonly timer: NodeJS.Timeout;
  /** Resolve the outcomes of transactions that came too late to be sent. They wait until the server is left. */
  readonly late: ((outcome: Outcome) => void)[];
  isOver: boolean;
}

/** The transactions of one connection: sends each once, and tells how it ended. */
export class Transactions {
  readonly #connection: Connection;
  readonly #database: string;
  readonly #refused: (details: string) => void;
  readonly #underWay = new Set<number>();
  #farewell: Farewell | undefined;

  /** `refused`: the server does not write, as a standby does not. Called in the read loop, before the outcome is known. */
  constructor(connection: Connection, database: string, refused: (details: string) => void) {
    this.#connection = connection;
    this.#database = database;
    this.#refused = refused;
  }

  /** Rejects with the signal's reason: the transaction may then have been applied or not; or because the operations are no JSON. */
  send(operations: readonly Operation[], signal: AbortSignal | undefined): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      if (this.#farewell !== undefined) {
        this.#farewell.late.push(resolve);
        if (this.#farewell.isOver) this.#refuseLate(this.#farewell);
        return;
      }
      const asker = new Sent(this, operations, resolve);
      asker.id = this.#connection.nextId;
      this.#underWay.add(asker.id);
      if (signal !== undefined) {
        const abort = (): void => {
          this.#connection.notify('cancel', [asker.id]);
          reject(signal.reason as Error);
        };
        signal.addEventListener('abort', abort);
        asker.settled = () => {
          signal.removeEventListener('abort', abort);
        };
      }
      try {
        this.#connection.ask(
          'transact',
          [this.#database, ...(operations as unknown as readonly JsonValue[])],
          asker,
        );
      } catch (error) {
        this.#underWay.delete(asker.id);
        asker.settled?.();
        throw error;
      }
    });
  }

  /** For a transaction that was sent: its outcome is known. */
  ended(id: number, outcome: Outcome): void {
    this.#underWay.delete(id);
    if (outcome.kind === 'error' && outcome.error === 'not allowed') this.#refused(outcome.details);
    if (this.#underWay.size === 0) this.#leave();
  }

  /** Sends nothing more; calls `leave` when everything under way has its answer, or after five seconds without. */
  finish(reason: string, leave: () => void): void {
    if (this.#farewell !== undefined) return;
    const timer = setTimeout(() => {
      this.#leave();
    }, FAREWELL);
    this.#farewell = { reason, leave, timer, late: [], isOver: false };
    // One that waits for a row would be answered much later.
    for (const id of this.#underWay) this.#connection.notify('cancel', [id]);
  }

  #leave(): void {
    const farewell = this.#farewell;
    if (farewell === undefined || farewell.isOver) return;
    // What is still under way hears of it, which leads here again.
    farewell.isOver = true;
    clearTimeout(farewell.timer);
    farewell.leave();
    this.#refuseLate(farewell);
  }

  #refuseLate({ late, reason }: Farewell): void {
    for (const resolve of late.splice(0)) resolve({ kind: 'try-again', reason });
  }
}

/** A transaction that was sent. */
class Sent implements Asker {
  id = 0;
  settled: (() => void) | undefined;
  readonly #owner: Transactions;
  readonly #operations: readonly Operation[];
  readonly #resolve: (outcome: Outcome) => void;

  constructor(
    owner: Transactions,
    operations: readonly Operation[],
    resolve: (outcome: Outcome) => void,
  ) {
    this.#owner = owner;
    this.#operations = operations;
    this.#resolve = resolve;
  }

  #end(outcome: Outcome): void {
    this.settled?.();
    this.#resolve(outcome);
    this.#owner.ended(this.id, outcome);
  }

  answered({ result, error }: Reply): void {
    this.#end(outcomeOf(this.#operations, result, error));
  }

  lost(error: OvsdbError, wasSent: boolean): void {
    const reason = error.message;
    this.#end(
      wasSent ? { kind: 'unknown', reason } : { kind: 'try-again', reason: `not sent: ${reason}` },
    );
  }
}
