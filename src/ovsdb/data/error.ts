import { canonicalText } from './json.ts';
import type { JsonValue } from './value.ts';

/** Why something was refused. The first group are the words that OVSDB itself uses (RFC 7047, ovsdb-server). */
export type OvsdbErrorCode =
  | 'syntax error' //             malformed, or of another type than the schema says
  | 'ovsdb error' //              well formed but impossible: duplicate member of a set
  | 'constraint violation' //     outside of what the type allows
  | 'referential integrity violation'
  | 'unknown table'
  | 'unknown column'
  | 'unknown database'
  | 'unknown mutator'
  | 'unknown function'
  | 'range error' //              a mutation overflowed
  | 'domain error' //             a mutation divided by zero
  | 'duplicate uuid'
  | 'duplicate uuid-name'
  | 'not owner'
  | 'timed out'
  | 'aborted'
  | 'rpc error' //                the server answered a request with an error
  | 'protocol' //                 the peer broke the protocol: the connection was dropped
  | 'inconsistent' //             an update does not fit the replica: it is loaded anew
  | 'disconnected' //             no connection; what was in flight may or may not have happened
  | 'closed' //                   the client was closed
  | 'row deleted'
  | 'read-only'
  | 'bad remote' //               a connection method or TLS file that can't be used
  | 'bad argument';

/** Everything that this room throws. `details` is for people, `code` for programs. */
export class OvsdbError extends Error {
  override readonly name = 'OvsdbError';
  readonly code: OvsdbErrorCode;
  readonly details: string;
  /** The JSON text at fault, shortened. */
  readonly syntax: string | undefined;

  constructor(
    code: OvsdbErrorCode,
    details: string,
    options?: { readonly cause?: unknown; readonly syntax?: string },
  ) {
    super(
      `${options?.syntax === undefined ? '' : `syntax "${options.syntax}": `}${code}: ${details}`,
      options?.cause === undefined ? undefined : { cause: options.cause },
    );
    this.code = code;
    this.details = details;
    this.syntax = options?.syntax;
  }
}

/** What `read` gives; of an `OvsdbError` that it throws `text` makes the new details, which say where it was. */
export function located<T>(text: (details: string) => string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof OvsdbError)) throw error;
    throw new OvsdbError(error.code, text(error.details), {
      cause: error,
      ...(error.syntax === undefined ? {} : { syntax: error.syntax }),
    });
  }
}

/** What `read` gives; `otherwise` when it throws an `OvsdbError`. */
export function unlessRefused<T, O>(read: () => T, otherwise: O): T | O {
  try {
    return read();
  } catch (error) {
    if (error instanceof OvsdbError) return otherwise;
    throw error;
  }
}

/** True when the same intent may succeed later: connection lost, or the replica was behind. */
export function isRetryable(error: unknown): error is OvsdbError {
  return (
    error instanceof OvsdbError &&
    (error.code === 'disconnected' || error.code === 'timed out' || error.code === 'inconsistent')
  );
}

const MAX_SYNTAX = 500;

/** JSON for an error message, with members in order as ovsdb-server has them: at most 500 characters. */
export function shorten(value: JsonValue | undefined): string {
  const text = value === undefined ? 'nothing' : canonicalText(value);
  return text.length > MAX_SYNTAX ? `${text.slice(0, MAX_SYNTAX)}…` : text;
}

/** `syntax error` about a piece of JSON. */
export const syntaxError = (details: string, json?: JsonValue): OvsdbError =>
  new OvsdbError(
    'syntax error',
    details,
    json === undefined ? undefined : { syntax: shorten(json) },
  );

/** Throws a listener's error where it can't stop whoever called the listener: as an uncaught exception. */
export const rethrowLater = (error: unknown): void => {
  queueMicrotask(() => {
    throw error;
  });
};

/** A reply's error for people: a plain string, or an object with `error` and `details`. */
export function errorText(error: JsonValue | undefined): string {
  if (typeof error === 'string') return error;
  if (typeof error === 'object' && error !== null && !Array.isArray(error)) {
    const { error: kind, details } = error as { error?: JsonValue; details?: JsonValue };
    if (typeof kind === 'string') return typeof details === 'string' ? `${kind}: ${details}` : kind;
  }
  return shorten(error);
}
