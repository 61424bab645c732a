import type { Operation, Outcome } from '../data/operation.ts';
import { outcomePart } from '../data/outcome-part.ts';
import { bothEffects, type Effects, type References } from './effects.ts';
import { traitsOf, type Traits } from './joining.ts';
import { withNames } from './own-names.ts';
import type { CommitOptions } from './transaction.ts';

/** The most that one request may hold; a transaction that is larger goes alone. */
export interface RequestLimits {
  readonly operations: number;
  /** Characters of text. */
  readonly size: number;
}

/** A transaction that somebody asked for, until its outcome is told. */
export class AskedTransaction {
  readonly #operations: readonly Operation[];
  readonly #told: (asked: AskedTransaction) => void;
  readonly #settled = Promise.withResolvers<Outcome>();
  readonly traits: Traits;
  readonly options: CommitOptions;
  #effects: { readonly of: References; readonly effects: Effects | undefined } | undefined;
  /** The request that it is under way in. */
  request: JointRequest | undefined;
  isTold = false;

  /** `told`: called once, when the outcome is told or nobody waits for it any more. */
  constructor(
    operations: readonly Operation[],
    options: CommitOptions,
    told: (asked: AskedTransaction) => void,
  ) {
    this.traits = traitsOf(operations);
    this.#operations = operations;
    this.options = options;
    this.#told = told;
  }

  get operations(): readonly Operation[] {
    return this.#operations;
  }

  /** What it may do in this database; undefined: not known. */
  effects(references: References | undefined): Effects | undefined {
    if (references === undefined) return undefined;
    if (this.#effects?.of !== references)
      this.#effects = { of: references, effects: references.of(this.#operations) };
    return this.#effects.effects;
  }

  get outcome(): Promise<Outcome> {
    return this.#settled.promise;
  }

  #end(): void {
    this.isTold = true;
    this.#told(this);
  }

  tell(outcome: Outcome): void {
    if (this.isTold) return;
    this.#end();
    this.#settled.resolve(outcome);
  }

  reject(error: unknown): void {
    if (this.isTold) return;
    this.#end();
    this.#settled.reject(error);
  }

  /** Nobody waits for it any more. */
  giveUp(reason: unknown): void {
    this.reject(reason);
    this.request?.left(reason);
  }
}

/** Transactions that are sent as one. */
export class JointRequest {
  /** How many of those that waited it takes: with those of whom nobody wants to know any more. */
  readonly count: number;
  readonly operations: readonly Operation[];
  readonly options: CommitOptions;
  readonly #members: readonly AskedTransaction[];
  /** Where the operations of each member begin. */
  readonly #starts: readonly number[];
  readonly #cancel: AbortController | undefined;
  #left = 0;

  constructor(members: readonly AskedTransaction[], count: number) {
    this.#members = members;
    this.count = count;
    // A name that two members have means another row in each.
    const areNamed = members.filter(({ traits }) => traits.hasNames).length > 1;
    const starts: number[] = [];
    const operations: Operation[] = [];
    for (const [i, member] of members.entries()) {
      member.request = this;
      starts.push(operations.length);
      const own =
        areNamed && member.traits.hasNames
          ? withNames(member.operations, `_${i}`)
          : member.operations;
      for (const operation of own) operations.push(operation);
    }
    this.#starts = starts;
    this.operations = operations;
    const lock = members[0]?.options.lock;
    // Nobody may cancel it for the others.
    if (members.every(({ options }) => options.signal !== undefined))
      this.#cancel = new AbortController();
    this.options = {
      ...(lock === undefined ? {} : { lock }),
      ...(this.#cancel === undefined ? {} : { signal: this.#cancel.signal }),
    };
  }

  get isOfOne(): boolean {
    return this.#members.length === 1;
  }

  /** One of those that asked has given up. */
  left(reason: unknown): void {
    this.#left++;
    if (this.#left === this.#members.length) this.#cancel?.abort(reason);
  }

  /** Tells each its part of the outcome. */
  tell(outcome: Outcome): void {
    // An answer that can't be understood is no one's own.
    if (outcome.kind === 'error' && !this.isOfOne) {
      const { kind, error, details } = outcome;
      for (const member of this.#members) member.tell({ kind, error, details });
      return;
    }
    for (const [i, member] of this.#members.entries())
      member.tell(outcomePart(outcome, this.#starts[i] ?? 0, this.#starts[i + 1]));
  }

  reject(error: unknown): void {
    for (const member of this.#members) member.reject(error);
  }

  /** The member that an operation is of. */
  memberAt(operation: number): AskedTransaction | undefined {
    return this.#members[this.#starts.findLastIndex((start) => start <= operation)];
  }

  /** It is under way no more, and nothing of it was applied. */
  dissolve(): void {
    for (const member of this.#members) member.request = undefined;
  }
}

/**
 * The first of those that wait, with as many behind it as may be in one request: at most `most`, without changing their order. The first one
 * must not be told. `references`: of the database, when it is known.
 */
export function jointRequest(
  waiting: readonly AskedTransaction[],
  most: number,
  limits: RequestLimits,
  references: References | undefined,
): JointRequest {
  const members: AskedTransaction[] = [];
  let operations = 0;
  let size = 0;
  let effects: Effects | undefined;
  let count = 0;
  for (const next of waiting) {
    if (count >= most) break;
    if (next.isTold) {
      count++;
      continue;
    }
    const [first] = members;
    const own = isCompany(next) ? next.effects(references) : undefined;
    operations += next.traits.operations;
    size += next.traits.size;
    if (first === undefined) effects = own;
    else {
      if (own === undefined || effects === undefined || references === undefined) break;
      if (operations > limits.operations || size > limits.size) break;
      if (!areCompanions(first, next) || !references.mayFollow(effects, own)) break;
      effects = bothEffects(effects, own);
    }
    members.push(next);
    count++;
  }
  return new JointRequest(members, count);
}

const isCompany = ({ traits }: AskedTransaction): boolean => traits.company === 'any';

/** A lock is asserted for the whole request, and the whole request waits for the disk. */
const areCompanions = (first: AskedTransaction, next: AskedTransaction): boolean =>
  first.options.lock === next.options.lock && first.traits.isDurable === next.traits.isDurable;
