/** Values as readers and writers of OVSDB rows see them (RFC 7047 §3, §5.1). */

/** A row's identity, always in lower case: `550e8400-e29b-41d4-a716-446655440000`. */
export type Uuid = string & { readonly __brand: 'Uuid' };

/** 64-bit integer: a `number` when it is safe (|n| < 2^53), otherwise a `bigint`, so no bit is ever lost. */
export type Integer = number | bigint;

/** An integer, real, boolean, string or uuid. Which one it is says the column's type. */
export type Atom = string | number | bigint | boolean;

/**
 * A column's value: a scalar is its atom, an optional its atom or `undefined`, a set an array, a map a
 * `Map`. What the client hands out is in canonical order (numbers ascending, strings by UTF-8 bytes).
 */
export type Datum = Atom | undefined | readonly Atom[] | ReadonlyMap<Atom, Atom>;

/** Stands for the row that an `insert` of the same transaction creates under this `uuid-name`. */
export class NamedUuid {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** An atom to be written: row references may also name a row of the same transaction. */
export type WritableAtom = Atom | NamedUuid;

/**
 * A value to be written or compared: more lenient than `Datum`. A set may come as any iterable or as one
 * bare atom, in any order; a map as a `Map` or, when its keys are strings, as a record.
 */
export type Writable =
  | WritableAtom
  | undefined
  | readonly WritableAtom[]
  | ReadonlySet<WritableAtom>
  | ReadonlyMap<WritableAtom, WritableAtom>
  | { readonly [key: string]: WritableAtom };

/** JSON as it is on the wire. Integers beyond 2^53 are `bigint`. */
export type JsonValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

export type JsonObject = { readonly [key: string]: JsonValue };

export type AtomicType = 'integer' | 'real' | 'boolean' | 'string' | 'uuid';
