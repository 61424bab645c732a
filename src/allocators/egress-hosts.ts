/**
 * By which node each EgressService leaves (reference/egress.md §4.1): on those that fit, where the fewest leave. One that fits is kept, however the others
 * are loaded: connections live through it. One that nothing leaves is left where another fits. Pure; the same input gives the same choice.
 */

export interface HostRequest {
  readonly key: string;
  /** By which it has left so far; empty for none. */
  readonly held: string;
  /** Whether it may go on to leave by a node, and whether it may come there. */
  readonly mayStay: (node: string) => boolean;
  readonly mayCome: (node: string) => boolean;
  /** True if nothing leaves a node now: it has what no other node can have. */
  readonly isDown?: (node: string) => boolean;
}

const isNever = (): boolean => false;

/** `requests` in the order in which they choose. What has no node is not in the answer. */
export function chooseHosts(
  requests: readonly HostRequest[],
  nodes: readonly string[],
): ReadonlyMap<string, string> {
  const sorted = nodes.toSorted();
  const loads = new Map(sorted.map((node) => [node, 0]));
  const hosts = new Map<string, string>();
  const give = (key: string, node: string): void => {
    hosts.set(key, node);
    loads.set(node, (loads.get(node) ?? 0) + 1);
  };
  for (const { key, held, mayStay, mayCome, isDown = isNever } of requests) {
    if (!loads.has(held) || !mayStay(held)) continue;
    const isBetterElsewhere = isDown(held) && sorted.some((node) => mayCome(node) && !isDown(node));
    if (!isBetterElsewhere) give(key, held);
  }
  for (const { key, mayCome, isDown = isNever } of requests) {
    if (hosts.has(key)) continue;
    const able = sorted.filter(mayCome);
    const well = able.filter((node) => !isDown(node));
    const [chosen] = (well.length > 0 ? well : able).toSorted(
      (one, other) => (loads.get(one) ?? 0) - (loads.get(other) ?? 0),
    );
    if (chosen !== undefined) give(key, chosen);
  }
  return hosts;
}
