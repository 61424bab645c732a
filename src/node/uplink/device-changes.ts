/** Addresses and routes that change from one device to another: what the kernel is asked, and the same as people read it. Pure. */
import {
  ADDRESS_FLAG,
  deleteAddress,
  FOREVER,
  replaceAddress,
  replaceRoute,
  ROUTE_METRIC,
  setLink,
  type Request,
  type RouteMetrics,
} from 'rtnetlink-ts';
import { familyOf } from '../../allocators/addresses.ts';
import type { Argv } from '../programs/program.ts';
import type { UplinkAddress, UplinkHop, UplinkRoute } from './state.ts';

export type DeviceChange =
  | { readonly kind: 'up'; readonly dev: string }
  | {
      readonly kind: 'put-address' | 'delete-address';
      readonly dev: string;
      readonly address: UplinkAddress;
    }
  | { readonly kind: 'put-route'; readonly route: UplinkRoute };

const LONGEST_LABEL = 15;

/** Puts an address of device `from` on device `to`. */
export function movedAddress(
  { label, ...address }: UplinkAddress,
  from: string,
  to: string,
): DeviceChange {
  const renamed = label?.startsWith(from) === true ? `${to}${label.slice(from.length)}` : '';
  const hasLabel = renamed !== '' && renamed.length <= LONGEST_LABEL;
  return {
    kind: 'put-address',
    dev: to,
    address: hasLabel ? { ...address, label: renamed } : address,
  };
}

export const withoutAddress = (address: UplinkAddress, dev: string): DeviceChange => ({
  kind: 'delete-address',
  dev,
  address,
});

/** Makes a route that leads over `from` lead over `to`; its legs over other devices stay. */
export const movedRoute = (route: UplinkRoute, from: string, to: string): DeviceChange => ({
  kind: 'put-route',
  route: {
    ...route,
    hops: route.hops.map((hop) => (hop.dev === from ? { ...hop, dev: to } : hop)),
  },
});

/** Throws what `indexOf` throws for a device that is not there. */
export function deviceRequest(change: DeviceChange, indexOf: (dev: string) => number): Request {
  switch (change.kind) {
    case 'up':
      return setLink(change.dev, { isUp: true });
    case 'put-address':
      return replaceAddress({ ...change.address, device: indexOf(change.dev) });
    case 'delete-address': {
      const { address, peer } = change.address;
      const device = indexOf(change.dev);
      return deleteAddress({ device, address, ...(peer === undefined ? {} : { peer }) });
    }
    case 'put-route': {
      const { hops, ...route } = change.route;
      return replaceRoute({
        ...route,
        hops: hops.map(({ dev, ...hop }) => ({ ...hop, device: indexOf(dev) })),
      });
    }
  }
}

const option = (name: string, value: string | number | undefined): Argv =>
  value === undefined ? [] : [name, String(value)];

const lifetime = (seconds: number): string => (seconds === FOREVER ? 'forever' : String(seconds));

const addressArguments = ({ address, peer }: UplinkAddress): Argv =>
  peer === undefined ? [address] : [address.replace(/\/.*/, ''), 'peer', peer];

function settingArguments({ label, metric, flags = 0, lifetimes }: UplinkAddress): Argv {
  return [
    ...option('label', label),
    ...option('metric', metric),
    ...((flags & ADDRESS_FLAG.noDad) === 0 ? [] : ['nodad']),
    ...((flags & ADDRESS_FLAG.noPrefixRoute) === 0 ? [] : ['noprefixroute']),
    ...(lifetimes === undefined
      ? []
      : ['valid_lft', lifetime(lifetimes.valid), 'preferred_lft', lifetime(lifetimes.preferred)]),
  ];
}

function hopArguments({ dev, via, isOnLink }: UplinkHop, destination: string): Argv {
  const family = via !== undefined && familyOf(via) !== familyOf(destination) ? ['inet6'] : [];
  return [
    ...(via === undefined ? [] : ['via', ...family, via]),
    'dev',
    dev,
    ...(isOnLink === true ? ['onlink'] : []),
  ];
}

function metricArguments({ lock = 0, ...metrics }: RouteMetrics): Argv {
  return Object.entries(metrics).flatMap(([name, value]) => {
    const isLocked = name in ROUTE_METRIC && lock & (1 << ROUTE_METRIC[name as 'mtu']);
    return [name, ...(isLocked ? ['lock'] : []), String(value)];
  });
}

/** ICMPV6_ROUTER_PREF_* */
const PREFERENCES: Readonly<Record<number, string>> = { 0: 'medium', 1: 'high', 3: 'low' };

function routeArguments(route: UplinkRoute): Argv {
  const { destination, hops, preference, metrics = {} } = route;
  const [first, ...others] = hops;
  return [
    destination,
    ...(first !== undefined && others.length === 0 ? hopArguments(first, destination) : []),
    ...option('table', route.table),
    ...option('proto', route.protocol),
    ...option('scope', route.scope),
    ...option('src', route.preferredSource),
    ...option('metric', route.metric),
    ...option('expires', route.expires),
    ...option('pref', preference && (PREFERENCES[preference] ?? preference)),
    ...metricArguments(metrics),
    ...(others.length === 0
      ? []
      : hops.flatMap((hop) => [
          'nexthop',
          ...hopArguments(hop, destination),
          ...option('weight', hop.weight),
        ])),
  ];
}

/** As a command of ip(8). */
export function deviceChangeText(change: DeviceChange): string {
  const args = ((): Argv => {
    switch (change.kind) {
      case 'up':
        return ['link', 'set', 'dev', change.dev, 'up'];
      case 'put-address': {
        const { dev, address } = change;
        const where = [...option('broadcast', address.broadcast), 'dev', dev];
        return [
          'address',
          'replace',
          ...addressArguments(address),
          ...where,
          ...settingArguments(address),
        ];
      }
      case 'delete-address':
        return ['address', 'delete', ...addressArguments(change.address), 'dev', change.dev];
      case 'put-route':
        return ['route', 'replace', ...routeArguments(change.route)];
    }
  })();
  return `ip ${args.join(' ')}`;
}
