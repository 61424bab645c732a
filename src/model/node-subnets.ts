/** Node objects → subnets of networks on nodes. What can't be read leaves in force what was read last. */
import { annotationOf } from '../api/annotations/annotations.ts';
import { NODE_SUBNETS, nodeSubnets } from '../api/annotations/node-annotations.ts';
import type { Node } from '../api/types.ts';
import type { NodeSubnet } from './model.ts';
import { explain } from './reading.ts';

/** Subnets of one node by network. */
export interface SubnetsOfNode {
  readonly byNetwork: ReadonlyMap<string, NodeSubnet>;
  /** Why nothing is known of networks that are not listed; absent when the list is complete. */
  readonly unreadable?: string;
  /** What is wrong with the annotation, for people. */
  readonly problem?: string;
}

export const NO_SUBNETS: SubnetsOfNode = { byNetwork: new Map() };

/** What a node's annotation says; where it can't be read, what it said `before`. */
export function readNodeSubnets(node: Node, before: SubnetsOfNode | undefined): SubnetsOfNode {
  const { value, errors } = nodeSubnets(node, (network) => before?.byNetwork.get(network)?.cidrs);
  const [error] = errors;
  const byNetwork = new Map<string, NodeSubnet>();
  if (value === undefined && error !== undefined) {
    const problem = explain(error);
    // A first look that fails leaves nothing to go on with: what needs a subnet then has to wait for a better one.
    return before === undefined
      ? { byNetwork, unreadable: problem, problem }
      : { ...before, problem };
  }
  for (const [network, cidrs] of value ?? []) {
    const known = before?.byNetwork.get(network);
    byNetwork.set(network, known?.cidrs === cidrs ? known : { cidrs });
  }
  if (error === undefined) return { byNetwork };
  const problem = explain(error);
  for (const network of namesIn(annotationOf(node, NODE_SUBNETS) ?? '{}')) {
    if (byNetwork.has(network)) continue;
    const known = before?.byNetwork.get(network);
    byNetwork.set(network, known ?? { cidrs: [], unreadable: problem });
  }
  return { byNetwork, problem };
}

/** Members of a JSON object that was read already. */
const namesIn = (text: string): string[] => Object.keys(JSON.parse(text) as object);
