import { explain, type Reading } from '../../api/annotations/annotations.ts';

/** What a reader made of an object: a value, perhaps with what people are told of it, nothing yet because something is still to be allocated, or a problem. */
export type ObjectReading<T> =
  | { readonly kind: 'value'; readonly value: T; readonly warning?: string }
  | { readonly kind: 'pending'; readonly waitsFor: string }
  | { readonly kind: 'problem'; readonly message: string };

/** Ends the reading of an object early; caught by `reading`. */
class Stop extends Error {
  readonly result: ObjectReading<never>;

  constructor(result: ObjectReading<never>) {
    super(result.kind);
    this.result = result;
  }
}

/** Runs a reader that may stop early through `required` and `optional`. */
export function reading<T>(read: () => T): ObjectReading<T> {
  try {
    return { kind: 'value', value: read() };
  } catch (error) {
    if (error instanceof Stop) return error.result;
    throw error;
  }
}

const refuse = (message: string): never => {
  throw new Stop({ kind: 'problem', message });
};

/** The annotation's value, undefined if absent; a malformed one is a problem of the object. */
export function optional<T>({ value, errors }: Reading<T>): T | undefined {
  const [error] = errors;
  return error === undefined ? value : refuse(explain(error));
}

/** The annotation's value; while it is absent the object waits for `what`. */
export function awaited<T>(annotation: Reading<T>, what: string): T {
  const value = optional(annotation);
  if (value === undefined) throw new Stop({ kind: 'pending', waitsFor: what });
  return value;
}

/** The annotation's value; without it the object is of no use, and somebody has to write it. */
export function required<T>(annotation: Reading<T>, key: string, writer: string): T {
  return optional(annotation) ?? refuse(`annotation ${key} is missing; ${writer}`);
}

/** The value, where there is one. */
export const valueOf = <V>(reading: ObjectReading<V> | undefined): V | undefined =>
  reading?.kind === 'value' ? reading.value : undefined;

/** Bucket of an index of readings that are problems. */
export const isProblem = ({ kind }: ObjectReading<unknown>): readonly [][] =>
  kind === 'problem' ? [[]] : [];

/** The reading of what can always be read; undefined where there is nothing of it. */
export const found = <T>(value: T | undefined): ObjectReading<T> | undefined =>
  value === undefined ? undefined : { kind: 'value', value };
