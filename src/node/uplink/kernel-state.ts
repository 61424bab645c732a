/** The uplink and the bridge as the kernel has them: what moves from one to the other. */
import {
  ADDRESS_FLAG,
  addresses as addressQuery,
  FOREVER,
  HOP_FLAG,
  LOCAL_TABLE,
  NetlinkError,
  ROUTE_TYPE,
  routes as routeQuery,
  type Address,
  type Link,
  type NetlinkSocket,
  type Route,
} from 'rtnetlink-ts';
import { familyOf } from '../../allocators/addresses.ts';
import { linkOf, openRouteSocket } from '../linux/network-socket.ts';
import { PROTOCOL, PROTOCOL_KERNEL } from '../numbers.ts';
import type { UplinkAddress, UplinkDevice, UplinkRoute } from './state.ts';

/** RT_SCOPE_UNIVERSE, RTPROT_RA (linux/rtnetlink.h). */
const SCOPE_GLOBAL = 0;
const ROUTER_ADVERTISEMENT = 9;
/** Link-local networks and groups, which each device has by itself. */
const OWN_NETWORK = /^f[ef][89a-f0]/;

/** Only what is there. */
const present = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };

/** Ours, those of one link, and those that the kernel makes for a while by itself stay where they are. */
const mayMove = ({ family, protocol, scope, flags }: Address): boolean =>
  protocol !== PROTOCOL &&
  scope === SCOPE_GLOBAL &&
  // Of IPv6 it means temporary.
  !(family === 'v6' && (flags & ADDRESS_FLAG.secondary) !== 0);

function uplinkAddress(found: Address): UplinkAddress {
  const { family, address, peer, broadcast, label, metric, lifetimes, flags } = found;
  const stays = lifetimes.valid === FOREVER && lifetimes.preferred === FOREVER;
  // Nobody else took it while the uplink had it.
  const noDad = family === 'v6' ? ADDRESS_FLAG.noDad : 0;
  return {
    address,
    flags: noDad | (flags & ADDRESS_FLAG.noPrefixRoute),
    ...present({ peer, broadcast, label, metric, lifetimes: stays ? undefined : lifetimes }),
  };
}

const mayLead = ({ type, table, protocol, destination }: Route): boolean =>
  type === ROUTE_TYPE.unicast &&
  table !== LOCAL_TABLE &&
  protocol !== PROTOCOL &&
  !OWN_NETWORK.test(destination);

function uplinkRoute(found: Route, nameOf: (index: number) => string | undefined): UplinkRoute {
  const { family, destination, table, protocol, scope, expires, metrics } = found;
  const { preferredSource, metric, preference } = found;
  const isPassing = protocol === ROUTER_ADVERTISEMENT && expires !== undefined;
  return {
    destination,
    table,
    protocol,
    hops: found.hops.map(({ device = 0, via, weight, flags }) => ({
      dev: nameOf(device) ?? '',
      weight,
      isOnLink: (flags & HOP_FLAG.onLink) !== 0,
      ...present({ via }),
    })),
    ...present({
      scope: family === 'v4' ? scope : undefined,
      preferredSource,
      metric,
      preference,
      expires: isPassing ? Math.max(1, expires) : undefined,
      metrics: Object.keys(metrics).length === 0 ? undefined : metrics,
    }),
  };
}

/** A route that comes and goes with an address. */
const isOfAddress = (
  { protocol, destination, hops }: UplinkRoute,
  addresses: readonly UplinkAddress[],
): boolean =>
  protocol === PROTOCOL_KERNEL &&
  hops.every(({ via }) => via === undefined) &&
  // With NetworkManager addresses have none, and routes of their networks are its own.
  addresses.some(
    ({ address, flags = 0 }) =>
      (flags & ADDRESS_FLAG.noPrefixRoute) === 0 && familyOf(address) === familyOf(destination),
  );

function uplinkDevice(
  socket: NetlinkSocket,
  { index, name, mac, isUp, master }: Link,
): UplinkDevice {
  const names = new Map<number, string | undefined>([[index, name]]);
  const nameOf = (device: number): string | undefined => {
    if (!names.has(device)) names.set(device, linkOf(socket, device)?.name);
    return names.get(device);
  };
  const addresses = socket
    .dump(addressQuery({ device: index }))
    .filter(mayMove)
    .map(uplinkAddress);
  const routes = (['v4', 'v6'] as const).flatMap((family) =>
    socket
      .dump(routeQuery({ family, device: index }))
      .filter(mayLead)
      .map((route) => uplinkRoute(route, nameOf)),
  );
  return {
    name,
    index,
    mac,
    isUp,
    master: master === undefined ? undefined : nameOf(master),
    addresses,
    routes: routes.filter((route) => !isOfAddress(route, addresses)),
  };
}

/** Each of these devices that is there, in a network namespace that is named by its path. Throws NetlinkError. */
export function readUplinkDevices(
  namespace: string | undefined,
  names: readonly string[],
): ReadonlyMap<string, UplinkDevice> {
  using socket = openRouteSocket(namespace);
  const devices = names.flatMap((name) => {
    const link = linkOf(socket, name);
    try {
      return link === undefined ? [] : [uplinkDevice(socket, link)];
    } catch (error) {
      // It went meanwhile.
      if (error instanceof NetlinkError && error.code === 'ENODEV') return [];
      throw error;
    }
  });
  return new Map(devices.map((device) => [device.name, device]));
}
