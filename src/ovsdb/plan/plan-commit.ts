import { datumToJson } from '../data/datum.ts';
import { stringify } from '../data/json.ts';
import type { Operation, Outcome, Transactor } from '../data/operation.ts';
import { RefusalSearch } from '../transaction/refusal-search.ts';
import type { Plan, PlannedChange, PlanProblem } from './plan-change.ts';
import { operationsOf } from './plan-operations.ts';

/** Sends a plan, and finds the row that a refused transaction was refused for. */

export interface CommitOptions {
  /** Lock that must be ours: asserted in every transaction. */
  readonly lock?: string;
  /** Goes into the server's log, for `ovsdb-tool show-log`. */
  readonly comment?: string;
  readonly signal?: AbortSignal;
  /** Transactions under way at one time; those that build upon each other never are. Default 4. */
  readonly window?: number;
}

export interface CommitResult {
  readonly kind:
    | 'unchanged' // nothing to send
    | 'success' //   everything was committed but the rows in `refused`
    | 'retry' //     part was not committed: plan again on the newer replica
    | 'not-locked' // the lock is not ours: nothing more was sent
    | 'unknown'; //  connection lost or aborted: what was under way may be committed; plan again on the newer replica
  /** Why, in words, unless `success` or `unchanged`. */
  readonly reason: string | undefined;
  /** Changes that are in the database now. */
  readonly committed: number;
  /** Transactions that were accepted. */
  readonly transactions: number;
  /** Rows that the server refused, and rows that could not go without them. */
  readonly refused: readonly PlanProblem[];
}

type Refusal = Extract<Outcome, { kind: 'error' }>;

const DEFAULT_WINDOW = 4;

/** Why nothing more is sent. */
type Ending = Exclude<CommitResult['kind'], 'unchanged' | 'success'>;

/** Sends all batches of a plan. Batches that need nothing of each other are under way together. */
export async function commitPlan(
  transactor: Transactor,
  plan: Pick<Plan, 'batches'>,
  options: CommitOptions = {},
): Promise<CommitResult> {
  const commit = new PlanCommit(transactor, options);
  return commit.run(plan.batches);
}

class PlanCommit {
  readonly #transactor: Transactor;
  readonly #options: CommitOptions;
  /** Changes refused, or left because they need a refused one. */
  readonly #lost = new Map<PlannedChange, PlanProblem>();
  #committed = 0;
  #transactions = 0;
  /** What a transactor threw, other than the caller's own abort. */
  #failure: { readonly error: unknown } | undefined;
  #ending: { readonly kind: Ending; readonly reason: string } | undefined;

  constructor(transactor: Transactor, options: CommitOptions) {
    this.#transactor = transactor;
    this.#options = options;
  }

  async run(batches: readonly (readonly PlannedChange[])[]): Promise<CommitResult> {
    /** Batches that were sent, by their changes. */
    const place = new Map<PlannedChange, number>();
    const underWay = new Map<number, Promise<void>>();
    const window = this.#options.window ?? DEFAULT_WINDOW;
    for (const [i, batch] of batches.entries()) {
      if (underWay.size > 0) {
        const awaited = new Set(
          batch.flatMap((change) => change.needs.map((needed) => place.get(needed))),
        );
        for (const [j, sent] of underWay) if (awaited.has(j)) await sent;
      }
      while (underWay.size >= window) await Promise.race(underWay.values());
      if (this.#ending !== undefined) break;
      underWay.set(
        i,
        this.#commitSafely(batch).finally(() => underWay.delete(i)),
      );
      if (i + 1 < batches.length) for (const change of batch) place.set(change, i);
    }
    await Promise.all(underWay.values());
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#result(batches.length);
  }

  /** Never rejects, so that transactions under way beside it are waited for. */
  async #commitSafely(batch: readonly PlannedChange[]): Promise<void> {
    try {
      await this.#commit(batch);
    } catch (error) {
      this.#end('unknown', error instanceof Error ? error.message : String(error));
      if (this.#options.signal?.aborted !== true) this.#failure ??= { error };
    }
  }

  #result(batches: number): CommitResult {
    const kind = this.#ending?.kind ?? (batches === 0 ? 'unchanged' : 'success');
    return {
      kind,
      reason: this.#ending?.reason,
      committed: this.#committed,
      transactions: this.#transactions,
      refused: [...this.#lost.values()],
    };
  }

  /** Sends changes as one transaction; when the server refuses it, parts of it, down to the rows at fault. */
  async #commit(batch: readonly PlannedChange[]): Promise<void> {
    const first = await this.#send(batch);
    if (first === undefined) return;
    let rest = knots(this.#withoutLost(batch));
    if (rest.length === 1) {
      this.#blame(rest.flat(), first);
      return;
    }
    const search = new RefusalSearch();
    search.refused(rest.length, undefined);
    while (rest.length > 0 && this.#ending === undefined) {
      const trial = rest.slice(0, search.most);
      const changes = trial.flat();
      const refusal = await this.#send(changes);
      if (refusal !== undefined && trial.length > 1) {
        search.refused(trial.length, undefined);
        continue;
      }
      if (refusal === undefined) search.accepted(trial.length);
      else {
        this.#blame(this.#withoutLost(changes), refusal);
        search.blamed();
      }
      search.passed(trial.length);
      rest = rest.slice(trial.length);
    }
  }

  /** Sends what can go of these changes. Returns why the server refused it, if it did so for one of them. */
  async #send(batch: readonly PlannedChange[]): Promise<Refusal | undefined> {
    const changes = this.#withoutLost(batch);
    const operations = operationsOf(changes);
    if (operations.length === 0 || this.#ending !== undefined) return undefined;
    const outcome = await this.#transactor.transact(
      [...this.#preamble(), ...operations],
      this.#options.signal === undefined ? {} : { signal: this.#options.signal },
    );
    switch (outcome.kind) {
      case 'unchanged':
      case 'success':
        this.#committed += changes.length;
        this.#transactions += 1;
        this.#checkCounts(outcome, operations);
        return undefined;
      case 'try-again':
        return this.#end('retry', outcome.reason);
      case 'not-locked':
        return this.#end('not-locked', `the lock ${outcome.lock} is held by somebody else`);
      case 'aborted':
        return this.#end('retry', 'the transaction was aborted');
      case 'unknown':
        return this.#end('unknown', outcome.reason);
      case 'error':
        if (outcome.error === 'duplicate uuid')
          return this.#end('retry', `another writer made the same row first (${outcome.details})`);
        if (outcome.error === 'not allowed')
          return this.#end('retry', `the server does not write: ${outcome.details}`);
        return outcome;
    }
  }

  #preamble(): readonly Operation[] {
    const { lock, comment } = this.#options;
    return [
      ...(lock === undefined ? [] : [{ op: 'assert', lock } as const]),
      ...(comment === undefined ? [] : [{ op: 'comment', comment } as const]),
    ];
  }

  #end(kind: Ending, reason: string): undefined {
    this.#ending ??= { kind, reason };
  }

  /** An operation that met no row worked on a row that has gone since: the plan was older than the database. */
  #checkCounts(outcome: Outcome, operations: readonly Operation[]): void {
    if (outcome.kind !== 'success') return;
    const results = outcome.results.slice(this.#preamble().length);
    const missed = operations.findIndex((operation, i) => {
      const isWrite = operation.op === 'update' || operation.op === 'mutate';
      return isWrite && results[i]?.count === 0;
    });
    const operation = operations[missed];
    if (operation === undefined || !('table' in operation)) return;
    this.#end('retry', `a row of ${operation.table} that was to be changed is gone`);
  }

  #blame(changes: readonly PlannedChange[], outcome: Refusal): void {
    for (const change of changes) {
      this.#lost.set(change, {
        kind: 'refused',
        table: change.table,
        key: change.key,
        unit: change.unit,
        message:
          `${change.table} "${change.key}": the server refused to ${change.action} it: ` +
          `${outcome.error}: ${outcome.details}${values(change)}`,
      });
    }
  }

  /** Changes that can go: those that need a lost one are lost as well. Needs come first, so one pass is enough. */
  #withoutLost(changes: readonly PlannedChange[]): readonly PlannedChange[] {
    if (this.#lost.size === 0) return changes;
    return changes.filter((change) => {
      if (this.#lost.has(change)) return false;
      const missing = change.needs.find((needed) => this.#lost.has(needed));
      if (missing === undefined) return true;
      this.#lost.set(change, {
        kind: 'blocked',
        table: change.table,
        key: change.key,
        unit: change.unit,
        message: `${change.table} "${change.key}": left out, because it needs ${missing.table} "${missing.key}", which was refused`,
      });
      return false;
    });
  }
}

/** Changes that need each other in a circle can only be tried together; all others alone. Order is kept. */
function knots(changes: readonly PlannedChange[]): readonly (readonly PlannedChange[])[] {
  const here = new Set(changes);
  const number = new Map<PlannedChange, number>();
  const low = new Map<PlannedChange, number>();
  const stack: PlannedChange[] = [];
  const onStack = new Set<PlannedChange>();
  const result: PlannedChange[][] = [];
  const visit = (change: PlannedChange): void => {
    number.set(change, number.size);
    low.set(change, number.get(change) as number);
    stack.push(change);
    onStack.add(change);
    for (const needed of change.needs) {
      if (!here.has(needed)) continue;
      if (!number.has(needed)) {
        visit(needed);
        low.set(change, Math.min(low.get(change) as number, low.get(needed) as number));
      } else if (onStack.has(needed)) {
        low.set(change, Math.min(low.get(change) as number, number.get(needed) as number));
      }
    }
    if (low.get(change) !== number.get(change)) return;
    const knot: PlannedChange[] = [];
    for (;;) {
      const member = stack.pop() as PlannedChange;
      onStack.delete(member);
      knot.push(member);
      if (member === change) break;
    }
    result.push(knot.reverse());
  };
  for (const change of changes) if (!number.has(change)) visit(change);
  return result;
}

const MAX_VALUE = 120;

function values(change: PlannedChange): string {
  const shown = change.columns.map(({ name, type, after }) => {
    const text = stringify(datumToJson(type, after));
    return `${name}=${text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text}`;
  });
  return shown.length > 0 ? ` (${shown.join(' ')})` : '';
}
