import type { Pod } from '../api/types.ts';

/** Whose pods get addresses here, and of which of their networks. */
export type PodScope =
  /** Networks with a subnet per node, for the pods of this node. */
  | { readonly kind: 'node'; readonly node: string }
  /** Networks whose subnets are shared by all nodes, for every pod. */
  | { readonly kind: 'cluster' };

/** True for a pod that this scope looks after. */
export const isInScope = (scope: PodScope, { spec }: Pod): boolean =>
  scope.kind === 'cluster' || spec.nodeName === scope.node;
