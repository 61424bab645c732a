/** Where the kernel sends a packet that comes to it by a device, by its rules and tables as they are. */
import { getLink, lookUpRoute, NetlinkError, ROUTE_TYPE } from 'rtnetlink-ts';
import { openRouteSocket } from './network-socket.ts';

export interface RoutedPacket {
  readonly from: string;
  readonly to: string;
  /** Device by which it comes. */
  readonly device: string;
  readonly mark?: number;
}

export type KernelRoute =
  /** To the host itself. */
  | { readonly kind: 'here' }
  | {
      readonly kind: 'sent';
      readonly table: number;
      readonly device: string;
      /** Next hop; absent where the destination is on the link itself. */
      readonly via?: string;
    }
  /** `why`: in the kernel's words. */
  | { readonly kind: 'nowhere'; readonly why: string }
  /** The kernel could not be asked, or a device is not there. */
  | { readonly kind: 'unread'; readonly why: string };

/** Codes by which the kernel says that a packet goes nowhere, with what they mean for one that comes by a device (ip-route(8), ip-sysctl). */
const NOWHERE: Readonly<Record<string, string>> = {
  ENETUNREACH: 'has no route to it',
  EHOSTUNREACH:
    'has no route to it, or does not forward (net.ipv4.ip_forward, net.ipv6.conf.all.forwarding)',
  EACCES: 'prohibits it by a route',
  EXDEV: 'takes no packet from that source by this device (rp_filter)',
  EINVAL: 'drops it by a route, or takes no packet from that source by this device',
};
const REFUSING: Readonly<Record<number, string>> = {
  [ROUTE_TYPE.blackhole]: 'drops it by a route of type blackhole',
  [ROUTE_TYPE.unreachable]: 'refuses it by a route of type unreachable',
  [ROUTE_TYPE.prohibit]: 'refuses it by a route of type prohibit',
};

/** Of the network namespace of a path; of this process without one. */
export function kernelRoute(
  namespace: string | undefined,
  { from, to, device, mark }: RoutedPacket,
): KernelRoute {
  try {
    using socket = openRouteSocket(namespace);
    const { index } = socket.get(getLink(device));
    const asked = { destination: to, source: from, device: index };
    const { type, table, hops } = socket.get(
      lookUpRoute({ ...asked, ...(mark === undefined ? {} : { mark }) }),
    );
    if (type === ROUTE_TYPE.local) return { kind: 'here' };
    const why = REFUSING[type];
    if (why !== undefined) return { kind: 'nowhere', why };
    const [hop] = hops;
    const out = hop?.device === undefined ? undefined : socket.get(getLink(hop.device)).name;
    return {
      kind: 'sent',
      table,
      device: out ?? '',
      ...(hop?.via === undefined ? {} : { via: hop.via }),
    };
  } catch (error) {
    if (!(error instanceof NetlinkError)) throw error;
    const why = NOWHERE[error.code];
    return why === undefined ? { kind: 'unread', why: error.message } : { kind: 'nowhere', why };
  }
}
