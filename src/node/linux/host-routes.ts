/** Which routes of the host's main table networks, and network cards, have in their tables, too. Pure. */
import {
  ADDRESS_FLAG,
  HOP_FLAG,
  ROUTE_TYPE,
  type Address,
  type Hop,
  type Link,
  type Route,
} from 'rtnetlink-ts';
import {
  bitsOf,
  familyOf,
  formatPrefix,
  parsePrefix,
  type Family,
} from '../../allocators/addresses.ts';
import type { HostCard, HostRoute, HostVrf } from '../../model/zone/host-routes.ts';
import { DEFAULT_ROUTE } from '../host-rows.ts';
import { isManagementDevice } from '../names.ts';
import { MAIN_TABLE, PROTOCOL, PROTOCOLS_OF_HOST } from '../numbers.ts';
import { markInAlias } from './linux-draft.ts';
import { DEFAULTS } from './linux-found.ts';
import { isAskable } from './network-socket.ts';

/** Of one family; each network has all of them. */
export const MOST_HOST_ROUTES = 256;

export interface ChosenRoutes {
  readonly routes: readonly HostRoute[];
  /** Of how many: more than there may be are left out. */
  readonly found: number;
}

const NOWHERE: readonly number[] = [
  ROUTE_TYPE.blackhole,
  ROUTE_TYPE.unreachable,
  ROUTE_TYPE.prohibit,
];
/** Each device has it by itself. */
const LINK_LOCAL = /^fe80:/;

/** True for a route that may be one of a network card. */
export const isCardRoute = ({ table, protocol, destination }: Route): boolean =>
  table === MAIN_TABLE && PROTOCOLS_OF_HOST.includes(protocol) && !LINK_LOCAL.test(destination);

/** True for a route that may be one of networks. */
const isHostRoute = (route: Route): boolean =>
  isCardRoute(route) && !DEFAULTS.includes(route.destination);

/** Devices that lead out of the host, or to what it has there: not into a network, and not into a VRF of anybody. */
function usableDevices(links: readonly Link[]): ReadonlyMap<number, string> {
  const usable = links.filter(
    ({ name, kind, slaveKind }) =>
      name !== 'lo' &&
      kind !== 'vrf' &&
      slaveKind !== 'vrf' &&
      !isManagementDevice(name) &&
      isAskable(name),
  );
  return new Map(usable.map(({ index, name }) => [index, name]));
}

/** The first next hop that works: a network's table has one, as its default route has. */
function usableHop(
  hops: readonly Hop[],
  family: Family,
  devices: ReadonlyMap<number, string>,
): Hop | undefined {
  const usable = hops.filter(
    ({ device = 0, via, flags }) =>
      devices.has(device) &&
      (flags & HOP_FLAG.dead) === 0 &&
      (via === undefined || familyOf(via) === family),
  );
  return usable.find(({ flags }) => (flags & HOP_FLAG.linkDown) === 0) ?? usable[0];
}

function hostRoute(
  { family, type, destination: dst, metric, metrics: { mtu }, hops }: Route,
  devices: ReadonlyMap<number, string>,
): HostRoute | undefined {
  const common = {
    dst: DEFAULTS.includes(dst) ? DEFAULT_ROUTE : dst,
    ...(metric === undefined ? {} : { metric }),
  };
  if (NOWHERE.includes(type)) return { ...common, type: 'unreachable' };
  const hop = type === ROUTE_TYPE.unicast ? usableHop(hops, family, devices) : undefined;
  const dev = devices.get(hop?.device ?? 0);
  if (hop === undefined || dev === undefined) return undefined;
  return {
    ...common,
    dev,
    ...(hop.via === undefined ? {} : { via: hop.via }),
    ...((hop.flags & HOP_FLAG.onLink) === 0 ? {} : { onlink: true }),
    ...(mtu === undefined ? {} : { mtu }),
  };
}

/** Networks of devices first: of too many routes those stay. */
const placeOf = ({ via, dst, metric = 0 }: HostRoute): string =>
  `${via === undefined ? 0 : 1} ${dst} ${metric}`;

/** `routes` of one family, `links` of all devices. The same in whatever order the kernel has routes of several destinations. */
export const chooseHostRoutes = (routes: readonly Route[], links: readonly Link[]): ChosenRoutes =>
  chooseRoutes(routes.filter(isHostRoute), usableDevices(links));

/** Routes that lead out by one of `devices`, or nowhere. */
function chooseRoutes(
  routes: readonly Route[],
  devices: ReadonlyMap<number, string>,
): ChosenRoutes {
  const chosen = new Map<string, HostRoute>();
  for (const route of routes) {
    const found = hostRoute(route, devices);
    // Of several with one destination and metric the kernel goes by the first.
    const key = `${route.destination} ${route.metric ?? 0}`;
    if (found !== undefined && !chosen.has(key)) chosen.set(key, found);
  }
  const sorted = [...chosen.values()]
    .map((route) => ({ route, place: placeOf(route) }))
    .sort((a, b) => (a.place < b.place ? -1 : 1))
    .map(({ route }) => route);
  return { routes: sorted.slice(0, MOST_HOST_ROUTES), found: sorted.length };
}

/** VRFs that somebody else made. */
export const chooseHostVrfs = (links: readonly Link[]): readonly HostVrf[] =>
  links.flatMap(({ name: device, data, alias = '' }) =>
    data?.kind === 'vrf' && markInAlias(alias) === undefined ? [{ device, table: data.table }] : [],
  );

/** An address by which nobody is sure to be reached. */
const UNUSABLE = ADDRESS_FLAG.tentative | ADDRESS_FLAG.dadFailed;

/** Devices by which pods may leave with egress addresses, each with its routes. `routes` of both families. */
export function chooseHostCards(
  links: readonly Link[],
  addresses: readonly Address[],
  routes: readonly Route[],
): readonly HostCard[] {
  const names = usableDevices(links.filter(({ isUp }) => isUp));
  const networks = Map.groupBy(
    addresses.filter(({ flags, protocol }) => (flags & UNUSABLE) === 0 && protocol !== PROTOCOL),
    ({ device }) => device,
  );
  return [...names].flatMap(([index, device]): readonly HostCard[] => {
    const found = (networks.get(index) ?? []).flatMap(({ address }) => networkOf(address));
    if (found.length === 0) return [];
    const ofFamily = (family: Family): readonly HostRoute[] =>
      chooseRoutes(
        routes.filter((route) => route.family === family && isCardRoute(route)),
        new Map([[index, device]]),
      ).routes.filter(({ dev }) => dev === device);
    return [
      {
        device,
        index,
        networks: [...new Set(found)].sort(),
        routes: { v4: ofFamily('v4'), v6: ofFamily('v6') },
      },
    ];
  });
}

/** The network of an address; none for one that is alone, and for those that each device has by itself. */
function networkOf(address: string): readonly string[] {
  const network = parsePrefix(address);
  return network === undefined ||
    network.length === bitsOf(network.family) ||
    LINK_LOCAL.test(address)
    ? []
    : [formatPrefix(network)];
}
