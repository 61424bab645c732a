/** Addresses and ways out of the host as the kernel has them, whoever set them. */
import {
  ADDRESS_FLAG,
  addresses as addressQuery,
  HOP_FLAG,
  links as linkQuery,
  MAIN_TABLE,
  routes as routeQuery,
  type Address,
  type Link,
  type NetlinkSocket,
  type Route,
} from 'rtnetlink-ts';
import { familyOf } from '../../allocators/addresses.ts';
import type { NameOf } from './linux-found.ts';
import { openRouteSocket } from './network-socket.ts';
import { PROTOCOL } from '../numbers.ts';

interface HostAddress {
  /** With prefix length. */
  readonly address: string;
  /** False for one that the node is not known by: a second one of a subnet, a deprecated, temporary or virtual one. */
  readonly isLasting: boolean;
  /** Heddle put it there. */
  readonly isOurs?: true;
}

export interface HostDevice {
  readonly name: string;
  readonly mac: string | undefined;
  readonly addresses: readonly HostAddress[];
}

export interface DefaultRoute {
  readonly dev: string;
  readonly nextHop: string;
  readonly metric: number;
}

export interface HostState {
  readonly devices: readonly HostDevice[];
  /** Of the main table; the kernel goes by the lowest metric. */
  readonly defaultRoutes: readonly DefaultRoute[];
}

/** An address that nobody may use yet, or ever: duplicate address detection goes on, or found another one's. */
const UNUSABLE = ADDRESS_FLAG.tentative | ADDRESS_FLAG.dadFailed;
const PASSING = ADDRESS_FLAG.secondary | ADDRESS_FLAG.deprecated;

/** Keepalived labels the addresses that it moves between hosts so (reference/node.md §5). */
const VIRTUAL = /vip$/;

type SeenAddress = Pick<Address, 'address' | 'flags' | 'label'> &
  Partial<Pick<Address, 'protocol'>>;

const hostAddresses = (addresses: readonly SeenAddress[]): readonly HostAddress[] =>
  addresses
    .filter(({ flags }) => (flags & UNUSABLE) === 0)
    .map(({ address, flags, label = '', protocol }) => ({
      address,
      isLasting: (flags & PASSING) === 0 && !VIRTUAL.test(label),
      ...(protocol === PROTOCOL ? { isOurs: true } : {}),
    }));

export const hostDevice = (
  { name, mac }: Pick<Link, 'name' | 'mac'>,
  addresses: readonly SeenAddress[],
): HostDevice => ({ name, mac, addresses: hostAddresses(addresses) });

const DEFAULTS = ['0.0.0.0/0', '::/0'];

/** What a route says of ways out: one per next hop; none for a route to less than everything. */
export const defaultRoutes = (
  {
    family,
    destination,
    metric = 0,
    hops,
  }: Pick<Route, 'family' | 'destination' | 'metric' | 'hops'>,
  nameOf: NameOf,
): readonly DefaultRoute[] =>
  DEFAULTS.includes(destination)
    ? hops.flatMap(({ device, via, flags }) => {
        const dev = nameOf(device);
        // A gateway of the other family is no next hop of this one.
        const isUsable = via !== undefined && familyOf(via) === family;
        const isDead = (flags & HOP_FLAG.dead) !== 0;
        return dev === undefined || !isUsable || isDead ? [] : [{ dev, nextHop: via, metric }];
      })
    : [];

interface Devices {
  readonly devices: readonly { readonly link: Link; readonly addresses: readonly Address[] }[];
  readonly nameOf: NameOf;
}

/** Throws NetlinkError. */
export function readDevices(socket: NetlinkSocket): Devices {
  const links = socket.dump(linkQuery());
  const addresses = Map.groupBy(socket.dump(addressQuery()), ({ device }) => device);
  const names = new Map(links.map(({ index, name }) => [index, name]));
  return {
    devices: links.map((link) => ({ link, addresses: addresses.get(link.index) ?? [] })),
    nameOf: (index) => (index === undefined ? undefined : names.get(index)),
  };
}

/** Of a network namespace that is named by its path. Throws NetlinkError. */
export function readHostState(namespace: string | undefined): HostState {
  using socket = openRouteSocket(namespace);
  const { devices, nameOf } = readDevices(socket);
  const routes = (['v4', 'v6'] as const).flatMap((family) =>
    socket.dump(routeQuery({ family, table: MAIN_TABLE })),
  );
  return {
    devices: devices.map(({ link, addresses }) => hostDevice(link, addresses)),
    defaultRoutes: routes.flatMap((route) => defaultRoutes(route, nameOf)),
  };
}
