/** Which other nodes this one has no tunnel to, as far as Open vSwitch can tell: whether packets arrive there it can't. Pure. */

/** A tunnel of the integration bridge, as Open vSwitch has it. */
export interface TunnelPort {
  /** Address of its other end. */
  readonly remote: string;
  /** Undefined where ovs-vswitchd made it. */
  readonly failure: string | undefined;
  /** Device over which the host sends to the other end; undefined when it has no route there, or nobody asked yet. */
  readonly egress: string | undefined;
  /** Whether that device has a carrier. */
  readonly hasCarrier: boolean;
}

export interface TunnelEnd {
  readonly node: string;
  /** Ends of its tunnels: one is enough. */
  readonly encapIps: readonly string[];
}

export interface Unreached {
  readonly node: string;
  readonly message: string;
}

/** Nodes without a tunnel that works, with the reason that its first end has. */
export function unreachedNodes(
  others: Iterable<TunnelEnd>,
  tunnels: ReadonlyMap<string, TunnelPort>,
): readonly Unreached[] {
  const unreached: Unreached[] = [];
  for (const { node, encapIps } of others) {
    const reasons = encapIps.map((ip) => [ip, whyNot(tunnels.get(ip))] as const);
    const [first] = reasons;
    // A node that did not say where its tunnels end is waited for elsewhere.
    if (first === undefined || reasons.some(([, reason]) => reason === undefined)) continue;
    unreached.push({ node, message: `no tunnel to it (${first[0]}): ${first[1]}` });
  }
  return unreached;
}

function whyNot(tunnel: TunnelPort | undefined): string | undefined {
  if (tunnel === undefined)
    return 'ovn-controller of this node has made none; its log, and external_ids of the local Open_vSwitch database, say why';
  if (tunnel.failure !== undefined) return `ovs-vswitchd could not make it: ${tunnel.failure}`;
  if (tunnel.egress === undefined) return 'this host has no route there';
  return tunnel.hasCarrier ? undefined : `${tunnel.egress}, which leads there, has no carrier`;
}
