/** Ports of load balancers: those of their service, and behind them those of its endpoints. */
import type { Headers } from '../findings.ts';
import type { VerifiedService } from '../intent/services.ts';
import { pairs, text, type Row } from '../rows.ts';

/** An address with its port, as OVN writes one in `vips`; without a port it is for all. */
export interface End {
  readonly address: string;
  readonly port?: number;
}

export function endOf(written: string): End {
  const [, bracketed, plain = '', port] = /^(?:\[(.+)\]|(.*?))(?::(\d+))?$/.exec(written) ?? [];
  // Without brackets an IPv6 address has no port.
  if (bracketed === undefined && plain.includes(':')) return { address: written };
  const address = bracketed ?? plain;
  return port === undefined ? { address } : { address, port: Number(port) };
}

/** OVN takes one that is not set for TCP (ovn-nb(5)). */
const protocolOf = (row: Row): string => text(row, 'protocol') || 'tcp';

const portText = (row: Row, { port }: End): string =>
  port === undefined ? 'every port' : `${protocolOf(row)} ${port}`;

/** What is wrong with the addresses that a load balancer answers for: variables are those of other checks. */
export function strangePorts(row: Row, service: VerifiedService): readonly string[] {
  // Its external addresses may be those of nodes, where it has node ports, too.
  const own = new Set([...service.clusterAddresses, ...service.poolAddresses]);
  return Object.keys(pairs(row, 'vips')).flatMap((vip) => {
    // Of `^VARIABLE` the variable has the port.
    if (vip.startsWith('^') && !/:\d+$/.test(vip)) return [];
    const end = endOf(vip);
    const port = portText(row, end);
    const isOpen =
      service.opens.has(port) || (!own.has(end.address) && service.opensAtNodes.has(port));
    return isOpen
      ? []
      : [`answers for ${vip} (${port}), and Service ${service.key} has no such port`];
  });
}

/** Whether a target is an endpoint with its port. `ends` as `VerifiedServices.endpointPorts` has them. */
export const isEndpoint = (row: Row, target: string, ends: ReadonlySet<string>): boolean => {
  const end = endOf(target);
  return ends.has(end.address) || ends.has(`${end.address} ${portText(row, end)}`);
};

/** What a load balancer lets what `sources` send come to: a header for each of its addresses. */
export function headersOf(row: Row, sources: readonly string[]): readonly Headers[] {
  const ports = new Map<string, number[]>();
  for (const vip of Object.keys(pairs(row, 'vips')).toSorted()) {
    const { address, port } = endOf(vip);
    const known = ports.get(address) ?? [];
    ports.set(address, port === undefined ? known : [...known, port]);
  }
  return [...ports].map(([address, all]) => ({
    sources,
    destinations: [address],
    protocol: protocolOf(row),
    ...(all.length === 0 ? {} : { ports: all.toSorted((a, b) => a - b) }),
  }));
}
