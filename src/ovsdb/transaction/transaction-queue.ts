import { OvsdbError } from '../data/error.ts';
import type { Operation, Outcome } from '../data/operation.ts';
import type { DatabaseSchema } from '../data/schema.ts';
import { AbortListeners } from '../abort-listeners.ts';
import { References } from './effects.ts';
import {
  AskedTransaction,
  jointRequest,
  type JointRequest,
  type RequestLimits,
} from './joint-request.ts';
import { RefusalSearch } from './refusal-search.ts';
import type { CommitOptions, Committer } from './transaction.ts';

export interface QueueOptions {
  /** The most operations in one request; 200 by default, since a server takes longer for each of many. A transaction of more goes alone. */
  readonly maxOperations?: number;
  /** The most characters in one request, more or less; 1048576 by default. A transaction of more goes alone. */
  readonly maxSize?: number;
}

/**
 * Carries out many small transactions with few requests. The first is sent at once; what is asked for until its answer is there waits, and then goes
 * out as one request, in the order in which it was asked for, and so on. Each asker is told the outcome of its own operations, as
 * `OvsdbClient.transact` tells it. A joint request that is refused is sent again in parts until those at fault are alone and told why; the others
 * are committed, in order. Nothing is ever applied twice.
 *
 * In a joint request constraints and references are checked, and rows that nothing refers to any more are removed, once, at its end. What would be
 * refused alone may therefore succeed when another in the request makes it good; only what is refused alone is refused. Never in a request
 * with others are: a `wait` with a timeout other than 0 (nobody waits for its answer), `abort`, `assert`, and unknown operations. Different
 * `lock`s, durable and other transactions, reads behind what removes rows that they may see, and removals beside changes of rows with weak
 * references to what is removed, go in different requests. docs/ovsdb.md says why.
 *
 * Keeps what was asked for until its outcome is known: who asks without waiting for outcomes should look at `pending`.
 */
export class TransactionQueue implements Committer {
  readonly #committer: Committer;
  readonly #schema: () => DatabaseSchema | undefined;
  readonly #limits: RequestLimits;
  #references: { readonly of: DatabaseSchema; readonly references: References } | undefined;
  /** In the order of asking, with those that are under way. */
  readonly #waiting: AskedTransaction[] = [];
  readonly #search = new RefusalSearch();
  readonly #signals = new AbortListeners<AskedTransaction>((asked, reason) => {
    asked.giveUp(reason);
  });
  readonly #told = (asked: AskedTransaction): void => {
    this.#pending--;
    this.#signals.delete(asked.options.signal, asked);
  };
  #isUnderWay = false;
  #pending = 0;

  /**
   * `schema` gives that of the server, which tells what may be in one request; undefined as long as it is not known. Throws `bad argument` for limits
   * that can't be meant.
   */
  constructor(
    committer: Committer,
    schema: () => DatabaseSchema | undefined,
    options: QueueOptions = {},
  ) {
    const { maxOperations = 200, maxSize = 1 << 20 } = options;
    for (const limit of [maxOperations, maxSize])
      if (!(limit >= 1)) throw new OvsdbError('bad argument', `${limit} is no limit of a request`);
    this.#committer = committer;
    this.#schema = schema;
    this.#limits = { operations: maxOperations, size: maxSize };
  }

  /** Transactions whose outcome was not told yet. */
  get pending(): number {
    return this.#pending;
  }

  /**
   * Carries out a transaction, whose operations must not be changed before the outcome is known. Rejects with the signal's reason: what was not sent
   * yet is then not sent, what was may have been applied or not. A request is cancelled at the server when all who asked for it have given up.
   */
  transact(operations: readonly Operation[], options: CommitOptions = {}): Promise<Outcome> {
    const { signal } = options;
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    let asked: AskedTransaction;
    try {
      asked = new AskedTransaction(operations, options, this.#told);
    } catch (error) {
      return Promise.reject(error);
    }
    this.#pending++;
    this.#signals.add(signal, asked);
    this.#waiting.push(asked);
    this.#sendNext();
    return asked.outcome;
  }

  #sendNext(): void {
    while (!this.#isUnderWay) {
      const wanted = this.#waiting.findIndex(({ isTold }) => !isTold);
      this.#remove(wanted === -1 ? this.#waiting.length : wanted);
      const [first] = this.#waiting;
      if (first === undefined) return;
      const most = this.#search.most;
      const request = jointRequest(this.#waiting, most, this.#limits, this.#referencesNow());
      if (first.traits.company === 'unawaited') {
        this.#remove(request.count);
        void this.#sendAside(request);
      } else {
        this.#isUnderWay = true;
        void this.#carryOut(request, first.traits.company === 'any');
      }
    }
  }

  #referencesNow(): References | undefined {
    const schema = this.#schema();
    if (schema === undefined) return undefined;
    if (this.#references?.of !== schema)
      this.#references = { of: schema, references: new References(schema) };
    return this.#references.references;
  }

  /** Those in front are done with. */
  #remove(count: number): void {
    if (count === 0) return;
    this.#waiting.splice(0, count);
    this.#search.passed(count);
  }

  async #send({
    operations,
    options,
  }: JointRequest): Promise<Outcome | { readonly error: unknown }> {
    try {
      return await this.#committer.transact(operations, options);
    } catch (error) {
      return { error };
    }
  }

  async #sendAside(request: JointRequest): Promise<void> {
    const answer = await this.#send(request);
    if ('kind' in answer) request.tell(answer);
    else request.reject(answer.error);
  }

  async #carryOut(request: JointRequest, mayBeJoined: boolean): Promise<void> {
    const answer = await this.#send(request);
    if ('kind' in answer) this.#answered(request, answer, mayBeJoined);
    else {
      // Whether it was applied is not known: it is not sent again.
      request.reject(answer.error);
      this.#remove(request.count);
    }
    // Those who ask again as soon as they have their answer are in the next request together.
    process.nextTick(() => {
      this.#isUnderWay = false;
      this.#sendNext();
    });
  }

  #answered(request: JointRequest, outcome: Outcome, mayBeJoined: boolean): void {
    if (isRefusal(outcome) && !request.isOfOne) {
      const { operation } = outcome as { readonly operation?: number };
      const guilty = operation === undefined ? undefined : request.memberAt(operation);
      this.#search.refused(
        request.count,
        guilty === undefined ? undefined : this.#waiting.indexOf(guilty),
      );
      request.dissolve();
      return;
    }
    if (outcome.kind === 'success' || outcome.kind === 'unchanged')
      this.#search.accepted(request.count);
    else if (isRefusal(outcome) && mayBeJoined) this.#search.blamed();
    request.tell(outcome);
    this.#remove(request.count);
  }
}

/**
 * True when nothing was applied because of something that was asked for, which others may have nothing to do with. Every other failure
 * is of the connection, the server or the lock.
 */
const isRefusal = (outcome: Outcome): boolean =>
  outcome.kind === 'aborted' ||
  (outcome.kind === 'error' && outcome.error !== 'protocol') ||
  (outcome.kind === 'try-again' && outcome.operation !== undefined);
