/** Which nodes have an OVN zone, and so have to say what became of a network or connection there. Pure. */
import { chassisId } from '../../api/annotations/node-annotations.ts';
import type { Node } from '../../api/types.ts';

/** A node that has a chassis renders the networks, even before its daemon says so for the first time. */
export const hasChassis = (node: Node | undefined): boolean =>
  node !== undefined && chassisId(node).value !== undefined;

interface Named<T> {
  get(name: string): T | undefined;
}

/** Names of the nodes that are there and have a chassis, or a daemon that has reported. */
export const nodesWithZone = (nodes: readonly Node[], zones: Named<unknown>): readonly string[] =>
  nodes
    .filter((node) => hasChassis(node) || zones.get(node.metadata.name) !== undefined)
    .map(({ metadata }) => metadata.name);
