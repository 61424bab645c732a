/** The own Node object → masquerade numbers of networks on it. What can't be read leaves in force what was read last. */
import { annotationOf, explain } from '../../api/annotations/annotations.ts';
import { MASQUERADE_NUMBERS, masqueradeNumbers } from '../../api/annotations/node-annotations.ts';
import type { Node } from '../../api/types.ts';
import type { ObjectPart } from './object-kind.ts';

/** Masquerade numbers of the node by network. */
export interface NumbersOnNode {
  readonly byNetwork: ReadonlyMap<string, number>;
  /** What is wrong with the annotation, for people. */
  readonly problem?: string;
}

/** An annotation that is gone was taken away by somebody: the cluster manager leaves an empty one. */
export function readMasqueradeNumbers(
  node: Node,
  before: NumbersOnNode = { byNetwork: new Map() },
): NumbersOnNode {
  const { value, errors } = masqueradeNumbers(node);
  const [error] = errors;
  if (error !== undefined) return { byNetwork: before.byNetwork, problem: explain(error) };
  return { byNetwork: value ?? before.byNetwork };
}

export const masqueradeNumbersPart = {
  table: 'masqueradeNumbers',
  texts: (node) => [annotationOf(node, MASQUERADE_NUMBERS)],
  read: (node, { before, nodeName }) =>
    node.metadata.name === nodeName ? readMasqueradeNumbers(node, before) : undefined,
} as const satisfies ObjectPart<Node, NumbersOnNode>;
