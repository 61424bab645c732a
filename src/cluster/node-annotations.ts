/** The annotations of a Node that the cluster manager writes (api.md §7.1). */
import type { Node } from '../api/types.ts';

export const NODE_ID = 'k8s.ovn.org/node-id';
export const NODE_SUBNETS = 'k8s.ovn.org/node-subnets';
export const NODE_TRANSIT_ADDRESSES = 'k8s.ovn.org/node-transit-switch-port-ifaddr';

const annotation = (node: Node, key: string): string | undefined =>
  node.metadata.annotations?.[key];

/** The node's id; undefined when there is none or it is no number. */
export function readNodeId(node: Node): number | undefined {
  const text = annotation(node, NODE_ID);
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}

/**
 * Subnets by network. A network's value may be a list or a single text; what is neither is left out, so that a broken
 * annotation is written anew.
 */
export function readNodeSubnets(node: Node): ReadonlyMap<string, readonly string[]> {
  const text = annotation(node, NODE_SUBNETS);
  if (text === undefined) return new Map();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return new Map();
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return new Map();
  return new Map(
    Object.entries(value).flatMap(([network, subnets]: [string, unknown]) => {
      const list: readonly unknown[] = Array.isArray(subnets) ? subnets : [subnets];
      const texts = list.filter((one) => typeof one === 'string');
      return texts.length === 0 ? [] : [[network, texts] as const];
    }),
  );
}

/** Values of the annotations; null takes one away. */
export function nodeAnnotations({
  id,
  transit,
  subnets,
}: {
  readonly id?: number;
  readonly transit?: Readonly<Record<string, string>>;
  readonly subnets: ReadonlyMap<string, readonly string[]>;
}): Readonly<Record<string, string | null>> {
  const sorted = [...subnets].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return {
    [NODE_ID]: id === undefined ? null : String(id),
    [NODE_TRANSIT_ADDRESSES]: transit === undefined ? null : JSON.stringify(transit),
    [NODE_SUBNETS]: subnets.size === 0 ? null : JSON.stringify(Object.fromEntries(sorted)),
  };
}
