/**
 * By which node each EgressService leaves (reference/egress.md §4.1): on those that fit, where the fewest leave. One that fits is kept, however the others
 * are loaded: connections live through it. Pure; the same input gives the same choice.
 */

export interface HostRequest {
  readonly key: string;
  /** By which it has left so far; empty for none. */
  readonly held: string;
  /** Whether it may go on to leave by a node, and whether it may come there. */
  readonly mayStay: (node: string) => boolean;
  readonly mayCome: (node: string) => boolean;
}

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
  for (const { key, held, mayStay } of requests)
    if (loads.has(held) && mayStay(held)) give(key, held);
  for (const { key, mayCome } of requests) {
    if (hosts.has(key)) continue;
    let chosen: string | undefined;
    for (const node of sorted)
      if (
        mayCome(node) &&
        (chosen === undefined || (loads.get(node) ?? 0) < (loads.get(chosen) ?? 0))
      )
        chosen = node;
    if (chosen !== undefined) give(key, chosen);
  }
  return hosts;
}
