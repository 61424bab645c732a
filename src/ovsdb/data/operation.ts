import type { JsonValue } from './value.ts';

/** A clause of `where`: a comparison, or a constant (RFC 7047 §5.1 and the server's extension). */
export type Clause =
  | readonly [column: string, function_: ConditionFunction, value: JsonValue]
  | boolean;

export type ConditionFunction = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'includes' | 'excludes';

export type Mutator = '+=' | '-=' | '*=' | '/=' | '%=' | 'insert' | 'delete';

export type Mutation = readonly [column: string, mutator: Mutator, value: JsonValue];

export type WireRow = { readonly [column: string]: JsonValue };

/** One operation of a transaction as it goes over the wire (RFC 7047 §5.2). Values are wire JSON. */
export type Operation =
  | {
      readonly op: 'insert';
      readonly table: string;
      readonly row: WireRow;
      readonly 'uuid-name'?: string;
      /** Own UUID of the new row (ovsdb-server 2.13 and newer). */
      readonly uuid?: string;
    }
  | {
      readonly op: 'select';
      readonly table: string;
      readonly where: readonly Clause[];
      readonly columns?: readonly string[];
      /** Columns to sort the rows by. */
      readonly sort?: readonly string[];
    }
  | {
      readonly op: 'update';
      readonly table: string;
      readonly where: readonly Clause[];
      readonly row: WireRow;
    }
  | {
      readonly op: 'mutate';
      readonly table: string;
      readonly where: readonly Clause[];
      readonly mutations: readonly Mutation[];
    }
  | { readonly op: 'delete'; readonly table: string; readonly where: readonly Clause[] }
  | {
      readonly op: 'wait';
      readonly table: string;
      readonly where: readonly Clause[];
      readonly columns?: readonly string[];
      readonly until: '==' | '!=';
      readonly rows: readonly WireRow[];
      /** Milliseconds; 0 fails at once, absent blocks for ever. */
      readonly timeout?: number;
    }
  | { readonly op: 'commit'; readonly durable: boolean }
  | { readonly op: 'abort' }
  | { readonly op: 'comment'; readonly comment: string }
  | { readonly op: 'assert'; readonly lock: string };

/** The server's answer to one operation that succeeded. */
export interface OperationResult {
  /** UUID of the inserted row. */
  readonly uuid?: JsonValue;
  /** Rows that an update, mutate or delete matched. */
  readonly count?: number;
  /** Rows that a select found. */
  readonly rows?: readonly WireRow[];
}

/** How a transaction ended. Only `try-again` and, after reading the replica anew, `unknown` may be sent again. */
export type Outcome =
  /** Nothing to do: nothing was sent. */
  | { readonly kind: 'unchanged' }
  /** Committed, and its effect is already in the replica. */
  | { readonly kind: 'success'; readonly results: readonly OperationResult[] }
  /** Not applied; the same intent may succeed once the replica has moved on or the connection is back. */
  | { readonly kind: 'try-again'; readonly reason: string; readonly operation?: number }
  /** Not applied: the asserted lock is not ours. */
  | { readonly kind: 'not-locked'; readonly lock: string }
  /** Not applied on request (dry run, or an `abort` operation); results of the operations before it. */
  | { readonly kind: 'aborted'; readonly results: readonly OperationResult[] }
  /** The connection was lost between request and reply: applied or not, the replica will show. */
  | { readonly kind: 'unknown'; readonly reason: string }
  /** Refused: not applied, and not to be sent again unchanged. */
  | {
      readonly kind: 'error';
      /** The server's word: `constraint violation`, `referential integrity violation`, `syntax error` … */
      readonly error: string;
      readonly details: string;
      /** Position of the guilty operation; undefined when the commit as a whole was refused. */
      readonly operation?: number;
      readonly table?: string;
    };

export interface TransactOptions {
  readonly signal?: AbortSignal;
  /** Name of a lock that must be ours when the server commits; asserted in the transaction. */
  readonly lock?: string;
}

/** Carries out transactions: the client, or a test's stand-in. */
export interface Transactor {
  transact(operations: readonly Operation[], options?: TransactOptions): Promise<Outcome>;
}
