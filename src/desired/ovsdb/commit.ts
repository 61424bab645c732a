/** Sends a plan, one transaction after the other, and finds the unit that a refused transaction was refused for. */
import {
  datumToJson,
  stringify,
  type Operation,
  type Outcome,
  type Transactor,
} from 'ovsdb-client-ts';
import {
  label,
  problemOf,
  type Plan,
  type PlannedChange,
  type PlannedGroup,
  type PlanProblem,
  type ProblemKind,
} from './changes.ts';
import { operationsOf } from './operations.ts';
import { errorText } from '../../api/error-text.ts';

export interface PlanCommitOptions {
  /** Lock that must be ours: asserted in every transaction. */
  readonly lock?: string;
  /** Goes into the server's log, for `ovsdb-tool show-log`. */
  readonly comment?: string;
  readonly signal?: AbortSignal;
}

export interface PlanCommitResult {
  readonly kind:
    | 'unchanged' // nothing to send
    | 'success' //   everything was committed but the units in `refused`
    | 'retry' //     part was not committed, and nothing behind it was sent: plan again on the newer replica
    | 'not-locked' // the lock is not ours: nothing more was sent
    | 'server-failed' // the server can't write, whatever is sent: nothing more was
    | 'unknown'; //  connection lost or aborted: what was under way may be committed; plan again on the newer replica
  /** Why, in words, unless `success` or `unchanged`. */
  readonly reason: string | undefined;
  /** Changes that are in the database now. */
  readonly committed: number;
  /** Transactions that were accepted. */
  readonly transactions: number;
  /** What the server refused, and what could not go without it: a problem for each unit. */
  readonly refused: readonly PlanProblem[];
}

/** The changes that put right what somebody else had changed; none unless all of the plan was sent. */
export function repairedOf(
  { changes, drifted }: Pick<Plan, 'changes' | 'drifted'>,
  { kind, refused }: Pick<PlanCommitResult, 'kind' | 'refused'>,
): readonly PlannedChange[] {
  if (kind !== 'success' || drifted.size === 0) return [];
  const left = new Set(refused.map(({ unit }) => unit));
  return changes.filter(({ unit }) => drifted.has(unit) && !left.has(unit));
}

/** Changes that are in the database, and that are no repair. */
export function writtenOf(
  { changes, drifted }: Pick<Plan, 'changes' | 'drifted'>,
  { kind, refused }: Pick<PlanCommitResult, 'kind' | 'refused'>,
): readonly PlannedChange[] {
  if (kind !== 'success') return [];
  const left = new Set(refused.map(({ unit }) => unit));
  return changes.filter(({ unit }) => !drifted.has(unit) && !left.has(unit));
}

type Refusal = Extract<Outcome, { kind: 'error' }>;

/** What a server refuses for its own sake (RFC 7047 §3.1), not for what the rows say. */
const SERVER_FAILURES: ReadonlySet<string> = new Set(['I/O error', 'resources exhausted']);

/** Why nothing more is sent. */
type Ending = Exclude<PlanCommitResult['kind'], 'unchanged' | 'success'>;

/** Sends all batches of a plan. A group is committed as a whole or not at all; what needs it is not sent without it. */
export async function commitPlan(
  transactor: Transactor,
  plan: Pick<Plan, 'batches'>,
  options: PlanCommitOptions = {},
): Promise<PlanCommitResult> {
  const commit = new PlanCommit(transactor, options);
  for (const batch of plan.batches) await commit.commit(batch);
  return commit.result(plan.batches.length);
}

class PlanCommit {
  readonly #transactor: Transactor;
  readonly #options: PlanCommitOptions;
  /** Groups refused, or left because they need a refused one. */
  readonly #lost = new Set<PlannedGroup>();
  readonly #refused: PlanProblem[] = [];
  #committed = 0;
  #transactions = 0;
  #ending: { readonly kind: Ending; readonly reason: string } | undefined;

  constructor(transactor: Transactor, options: PlanCommitOptions) {
    this.#transactor = transactor;
    this.#options = options;
  }

  result(batches: number): PlanCommitResult {
    return {
      kind: this.#ending?.kind ?? (batches === 0 ? 'unchanged' : 'success'),
      reason: this.#ending?.reason,
      committed: this.#committed,
      transactions: this.#transactions,
      refused: this.#refused,
    };
  }

  /** Sends groups as one transaction; when the server refuses it, its halves, down to the group at fault. */
  async commit(batch: readonly PlannedGroup[]): Promise<void> {
    const groups = this.#withoutLost(batch);
    if (groups.length === 0 || this.#ending !== undefined) return;
    const refusal = await this.#send(groups.flatMap((group) => group.changes));
    if (refusal === undefined) return;
    const [only] = groups;
    if (only !== undefined && groups.length === 1) {
      this.#blame(only, refusal);
      return;
    }
    const half = Math.ceil(groups.length / 2);
    await this.commit(groups.slice(0, half));
    await this.commit(groups.slice(half));
  }

  /** Sends changes. Returns why the server refused them, if it did so for what they say. */
  async #send(changes: readonly PlannedChange[]): Promise<Refusal | undefined> {
    const operations = operationsOf(changes);
    if (operations.length === 0) return undefined;
    const { signal } = this.#options;
    let outcome: Outcome;
    try {
      outcome = await this.#transactor.transact(
        [...this.#preamble(), ...operations],
        signal === undefined ? {} : { signal },
      );
    } catch (error) {
      if (signal?.aborted !== true) throw error;
      return this.#end('unknown', errorText(error));
    }
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
        if (SERVER_FAILURES.has(outcome.error))
          return this.#end('server-failed', `${outcome.error}: ${outcome.details}`);
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
    const missed = operations.find(
      (operation, i) =>
        (operation.op === 'update' || operation.op === 'mutate') && results[i]?.count === 0,
    );
    if (missed !== undefined && 'table' in missed)
      this.#end('retry', `a row of ${missed.table} that was to be changed is gone`);
  }

  #blame(group: PlannedGroup, outcome: Refusal): void {
    const change = guilty(group, outcome);
    const { length } = group.changes;
    const what = length === 1 ? `to ${change.action} it` : `${length} rows that belong together`;
    this.#lose(
      group,
      'refused',
      change,
      `the server refused ${what}: ${outcome.error}: ${outcome.details}${values(change)}`,
    );
  }

  #lose(group: PlannedGroup, kind: ProblemKind, change: PlannedChange, what: string): void {
    this.#lost.add(group);
    for (const unit of group.units) this.#refused.push(problemOf(kind, change, unit, what));
  }

  /** Groups that can go: one that needs a lost one is lost as well. Needs come first, so one pass is enough. */
  #withoutLost(groups: readonly PlannedGroup[]): readonly PlannedGroup[] {
    return groups.filter((group) => {
      if (this.#lost.has(group)) return false;
      const missing = group.needs.find((needed) => this.#lost.has(needed));
      if (missing === undefined) return true;
      const what = `left out, because it needs ${label(first(missing))}, which was refused`;
      this.#lose(group, 'blocked', first(group), what);
      return false;
    });
  }
}

const first = ({ changes }: PlannedGroup): PlannedChange => changes[0] as PlannedChange;

/** The change that a refusal names: by its table and UUID in the server's words, else the first one. */
function guilty(group: PlannedGroup, { details, table }: Refusal): PlannedChange {
  const { changes } = group;
  return (
    changes.find((change) => details.includes(change.uuid)) ??
    changes.find((change) => change.table === table) ??
    changes.find((change) => details.includes(`"${change.table}"`)) ??
    first(group)
  );
}

const MAX_VALUE = 120;

function values(change: PlannedChange): string {
  const shown = change.columns.map(({ name, type, after }) => {
    const text = stringify(datumToJson(type, after));
    return `${name}=${text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text}`;
  });
  return shown.length > 0 ? ` (${shown.join(' ')})` : '';
}
