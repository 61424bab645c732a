/**
 * One database of the zone and what became of its rows: plans what differs, and commits it. A server that can't write is asked again later; rows that are
 * refused, or can't be read, are told and keep nothing else from being written.
 */
import type { ZoneProblem } from '../api/zone-status.ts';
import type { ZoneDatabase } from '../databases/zone-database.ts';
import type { Plan, PlanProblem } from '../desired/ovsdb/changes.ts';
import { commitPlan, repairedOf } from '../desired/ovsdb/commit.ts';
import { Reconciler, type MayBeWanted } from '../desired/ovsdb/reconciler.ts';
import type { TableClaim } from '../desired/rows.ts';
import type { Logger } from '../process/logger.ts';
import { backoffDelay, type Backoff } from '../store/backoff.ts';

export type Database = 'Northbound' | 'Southbound';

export interface CommitRecord {
  readonly database: Database;
  /** `success`, `retry`, `not-locked`, `server-failed`, `unknown`. */
  readonly outcome: string;
  readonly rows: number;
  /** Units that the server refused, or that could not go without one of those. */
  readonly refused: number;
  /** Rows that the plan looked at. */
  readonly examined: number;
  /** Milliseconds from the plan to the last answer. */
  readonly duration: number;
}

/** How a pass over a database, or all of them, ended. */
export type FlushResult =
  | { readonly kind: 'settled'; readonly committed: number }
  /** Not everything could be written now; a later pass may do it. */
  | { readonly kind: 'again'; readonly reason: string };

export interface DatabaseTargetOptions {
  readonly name: Database;
  readonly database: ZoneDatabase;
  readonly claims: ReadonlyMap<string, TableClaim>;
  readonly log: Logger;
  /** Milliseconds on a monotonic clock. */
  readonly now: () => number;
  /** What a plan is made with, asked for each. */
  readonly wants: () => { readonly isComplete: boolean; readonly mayBeWanted: MayBeWanted };
  /** Called before a plan is sent; true where the database is another one then, and the plan is to be made anew. */
  readonly prepare?: ((plan: Plan, signal: AbortSignal) => Promise<boolean>) | undefined;
  /** Called after each plan that was sent, with what the server refused of it. */
  readonly onCommit: (commit: CommitRecord, plan: Plan, refused: readonly PlanProblem[]) => void;
  /** Called with what somebody else had changed, and is right again. */
  readonly onRepaired: (repaired: RepairedRows) => void;
}

export interface RepairedRows extends Pick<Plan, 'changes' | 'nameOf'> {
  readonly database: string;
}

/** A server that can't write: a full disk, no memory. */
interface ServerFailure {
  readonly attempt: number;
  /** Milliseconds on the target's clock; when it is tried again. */
  readonly until: number;
  readonly reason: string;
}

/** While a server can't write. */
const SERVER_BACKOFF: Backoff = { first: 1000, longest: 30_000 };

/** A plan made on a replica that moved meanwhile is made again this often before the pass is given up. */
const MAX_ATTEMPTS = 10;

export class DatabaseTarget {
  readonly name: Database;
  readonly reconciler: Reconciler;
  readonly #options: DatabaseTargetOptions;
  readonly #stopFollowing: () => void;
  #problems: readonly PlanProblem[] = [];
  #failure: ServerFailure | undefined;
  /** Rows of ours that nobody wants and that stay, as they may be there for something that can't be read or built. */
  #heldBack = 0;
  readonly #unsupported = new Set<string>();
  /** UUIDs of rows that could not be read, and the tables that had any. */
  #unread: ReadonlySet<string> = new Set();
  readonly #faultyTables = new Set<string>();

  constructor(options: DatabaseTargetOptions) {
    this.#options = options;
    this.name = options.name;
    this.reconciler = new Reconciler(options.database.replica, options.claims);
    this.#stopFollowing = this.reconciler.follow();
  }

  /** What was wrong with rows at the last plan. */
  get rowProblems(): readonly PlanProblem[] {
    return this.#problems;
  }

  /** Tables and columns that the server lacks. */
  get unsupported(): Iterable<string> {
    return this.#unsupported;
  }

  /** What is wrong with the database as a whole. */
  problems(): readonly ZoneProblem[] {
    const object = `database ${this.name}`;
    const problems: ZoneProblem[] = [];
    if (this.#failure !== undefined) problems.push({ object, message: this.#failure.reason });
    if (this.#heldBack > 0)
      problems.push({
        object,
        message: `${this.#heldBack} rows that nobody wants stay, as they may be there for something that can't be read or built: see what else is reported`,
      });
    return problems;
  }

  /** Rows that a fault of ours keeps from being read, by table; tables that had some are among them. */
  unread(): ReadonlyMap<string, number> {
    const counts = new Map([...this.#faultyTables].map((table) => [table, 0]));
    for (const { table } of this.reconciler.unread)
      counts.set(table.name, (counts.get(table.name) ?? 0) + 1);
    return counts;
  }

  /** What a pass would change now. */
  plan(): Plan {
    const plan = this.reconciler.plan({ now: this.#options.now(), ...this.#options.wants() });
    this.#logUnread();
    this.#problems = plan.problems;
    this.#heldBack = plan.heldBack;
    for (const sentence of plan.unsupported) {
      if (this.#unsupported.has(sentence)) continue;
      this.#unsupported.add(sentence);
      this.#options.log.warn({ database: this.name }, sentence);
    }
    return plan;
  }

  /** Writes what differs. */
  async flush(signal: AbortSignal): Promise<FlushResult> {
    const { database, log, now, prepare, onCommit, onRepaired } = this.#options;
    let committed = 0;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const unavailable = database.unavailable();
      if (unavailable !== undefined) return { kind: 'again', reason: unavailable };
      const plan = this.plan();
      if (plan.isEmpty) {
        this.#failure = undefined;
        return { kind: 'settled', committed };
      }
      if (this.#failure !== undefined && this.#failure.until > now())
        return { kind: 'again', reason: this.#failure.reason };
      if ((await prepare?.(plan, signal)) === true) continue;
      const began = now();
      const result = await commitPlan(database.transactor, plan, {
        ...(database.lock === undefined ? {} : { lock: database.lock }),
        comment: 'heddle',
        signal,
      });
      const commit = {
        database: this.name,
        outcome: result.kind,
        rows: result.committed,
        refused: result.refused.length,
        examined: plan.examined,
        duration: now() - began,
      };
      onCommit(commit, plan, result.refused);
      const repaired = repairedOf(plan, result);
      if (repaired.length > 0) onRepaired({ ...plan, database: this.name, changes: repaired });
      committed += result.committed;
      this.reconciler.refused(result.refused, now());
      for (const { table, key, message } of result.refused)
        log.error({ database: this.name, table, key }, message);
      switch (result.kind) {
        case 'unchanged':
        case 'success':
          this.#failure = undefined;
          break;
        case 'server-failed':
          this.#failure = this.#serverFailure(result.reason ?? result.kind);
          return { kind: 'again', reason: this.#failure.reason };
        case 'retry':
          log.debug({ database: this.name, reason: result.reason }, 'planning again');
          break;
        case 'not-locked':
        case 'unknown':
          return { kind: 'again', reason: result.reason ?? result.kind };
      }
    }
    return {
      kind: 'again',
      reason: `${this.name}: the database changes faster than it can be followed`,
    };
  }

  close(): void {
    this.#stopFollowing();
  }

  /** Each once, with the stack: what a plan says of it is for users. */
  #logUnread(): void {
    const known = this.#unread;
    const unread = new Set<string>();
    this.#unread = unread;
    for (const { table, uuid, error } of this.reconciler.unread) {
      unread.add(uuid);
      this.#faultyTables.add(table.name);
      if (known.has(uuid)) continue;
      const stack = error instanceof Error ? error.stack : undefined;
      this.#options.log.error(
        { component: 'zone', database: this.name, table: table.name, row: uuid, error, stack },
        'a row could not be read; it is left alone, and tried again',
      );
    }
  }

  #serverFailure(what: string): ServerFailure {
    const attempt = (this.#failure?.attempt ?? 0) + 1;
    return {
      attempt,
      until: this.#options.now() + backoffDelay(SERVER_BACKOFF, attempt, Math.random),
      reason: `the server of ${this.name} can't write, whatever the rows are (${what}): what differs is written as soon as it can; see its log and the space on its file system`,
    };
  }
}
