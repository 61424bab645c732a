/** A node's end of every transit switch: the same for all networks (reference/topology.md §13.1). */

import { FAMILIES, macOf, withoutPrefix } from '../../allocators/addresses.ts';
import type { NodeFacts } from '../../model/model.ts';

export interface TransitEnd {
  readonly mac: string;
  readonly interfaces: readonly string[];
}

/** External id of transit ports: the node that they stand for. */
export const PORT_NODE_ID = 'node';

/** Undefined for a node without transit addresses. */
export function transitEnd(addresses: NodeFacts['transitAddresses']): TransitEnd | undefined {
  const interfaces = FAMILIES.flatMap((family) => addresses[family] ?? []);
  const [first] = interfaces;
  return first === undefined ? undefined : { mac: macOf(withoutPrefix(first)), interfaces };
}
