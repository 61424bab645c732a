/** Node objects → subnets of networks on nodes. What can't be read leaves in force what was read last. */
import { annotationOf } from '../../api/annotations/annotations.ts';
import { NODE_SUBNETS, nodeSubnets } from '../../api/annotations/node-annotations.ts';
import type { Node } from '../../api/types.ts';
import type { NodeSubnet } from '../model.ts';
import { changedEntries, isPlainObjectText } from './entry-texts.ts';
import { explain } from '../../api/annotations/annotations.ts';

/** Subnets of one node by network. */
export interface SubnetsOfNode {
  readonly byNetwork: ReadonlyMap<string, NodeSubnet>;
  /** Why nothing is known of networks that are not listed; absent when the list is complete. */
  readonly unreadable?: string;
  /** What is wrong with the annotation, for people. */
  readonly problem?: string;
  /** The text that all this was read from, if changes can be found in it. */
  readonly plainText?: string;
}

export const NO_SUBNETS: SubnetsOfNode = { byNetwork: new Map() };

/** What the node's annotation says, if that can be told from what changed in its text. */
function readChanges(node: Node, text: string, before: SubnetsOfNode): SubnetsOfNode | undefined {
  const changes =
    before.plainText === undefined ? undefined : changedEntries(before.plainText, text);
  if (changes === undefined) return undefined;
  const annotations = { [NODE_SUBNETS]: changes.after };
  const { value, errors } = nodeSubnets({ ...node, metadata: { ...node.metadata, annotations } });
  const gone = namesIn(changes.before);
  // A new entry of the name of one that stays would be a duplicate, of which the last one counts.
  const size = before.byNetwork.size - gone.length + namesIn(changes.after).length;
  if (errors.length > 0) return undefined;
  const byNetwork = new Map(before.byNetwork);
  for (const network of gone) byNetwork.delete(network);
  for (const [network, cidrs] of value ?? []) byNetwork.set(network, { cidrs });
  return byNetwork.size === size ? { byNetwork, plainText: text } : undefined;
}

/** What a node's annotation says; where it can't be read, what it held `before`. */
export function readNodeSubnets(node: Node, before: SubnetsOfNode | undefined): SubnetsOfNode {
  const text = annotationOf(node, NODE_SUBNETS) ?? '{}';
  const changed = before && readChanges(node, text, before);
  if (changed !== undefined) return changed;
  const { value, errors } = nodeSubnets(node, (network) => before?.byNetwork.get(network)?.cidrs);
  const [error] = errors;
  const byNetwork = new Map<string, NodeSubnet>();
  if (value === undefined && error !== undefined) {
    const problem = explain(error);
    // A first read that fails leaves nothing to fall back on: what needs a subnet waits for one that succeeds.
    return before === undefined
      ? { byNetwork, unreadable: problem, problem }
      : { ...before, problem };
  }
  for (const [network, cidrs] of value ?? []) {
    const known = before?.byNetwork.get(network);
    byNetwork.set(network, known?.cidrs === cidrs ? known : { cidrs });
  }
  if (error === undefined)
    return {
      byNetwork,
      ...(isPlainObjectText(text) ? { plainText: text } : {}),
    };
  const problem = explain(error);
  for (const network of namesIn(text)) {
    if (byNetwork.has(network)) continue;
    const known = before?.byNetwork.get(network);
    byNetwork.set(network, known ?? { cidrs: [], unreadable: problem });
  }
  return { byNetwork, problem };
}

export const subnetTexts = (node: Node): readonly unknown[] => [annotationOf(node, NODE_SUBNETS)];

/** Members of a JSON object that was read already. */
const namesIn = (text: string): string[] => Object.keys(JSON.parse(text) as object);
