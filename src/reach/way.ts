/** Why something leads from one network to another one: types alone, which a browser has, too. */

/** Why something leads from one network to another, or in and out of one. */
export type WayKind =
  | 'connection'
  | 'namespace'
  | 'physical'
  | 'access'
  | 'allowed service'
  | 'open port'
  | 'exposed'
  | 'leaves';

/** The name under which everything that is no network of the cluster stands in the matrix. */
export const OUTSIDE = 'outside';

/** Pods of these networks reach each other, in both directions. */
export interface Join {
  readonly kind: Extract<WayKind, 'connection' | 'namespace' | 'physical'>;
  readonly object: string;
  readonly networks: readonly string[];
  /** What of them: `pods and services`. */
  readonly what: string;
}

/** Something of `to` is reached from `from`; not the other way round. What is `exposed` to the outside is so to every network that leads there, too. */
export interface Way {
  readonly kind: Exclude<WayKind, Join['kind']>;
  readonly object: string;
  readonly from: string;
  readonly to: string;
  readonly what: string;
}
