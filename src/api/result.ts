/** A value, or why there is none. What may end in more ways is told apart by `kind` as well. */
export type Result<T, E = string> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'invalid'; readonly error: E };

export const succeed = <T>(value: T): { readonly kind: 'value'; readonly value: T } => ({
  kind: 'value',
  value,
});

export const fail = <E>(error: E): { readonly kind: 'invalid'; readonly error: E } => ({
  kind: 'invalid',
  error,
});
