/** Arguments of `ip` for addresses and routes that change from one device to another. Pure. */
import type { Argv } from '../programs/program.ts';
import type { UplinkAddress, UplinkHop, UplinkRoute } from './state.ts';

export const isIpv6 = (text: string): boolean => text.includes(':');

const RTPROT_RA = 9;
const LONGEST_LABEL = 15;

const option = (name: string, value: string | number | undefined): Argv =>
  value === undefined ? [] : [name, String(value)];

const lifetime = (value: number | 'forever'): string => String(value);

/** Puts an address of device `from` on device `to`. */
export function addressArguments(
  { address, peer, broadcast, label, hasNoRoute, metric, lifetimes }: UplinkAddress,
  from: string,
  to: string,
): Argv {
  const renamed = label === undefined ? undefined : `${to}${label.slice(from.length)}`;
  const isLabel = label?.startsWith(from) === true && (renamed?.length ?? 0) <= LONGEST_LABEL;
  return [
    'address',
    'replace',
    ...(peer === undefined ? [address] : [address.replace(/\/.*/, ''), 'peer', peer]),
    ...option('broadcast', broadcast),
    'dev',
    to,
    ...(isLabel ? option('label', renamed) : []),
    ...option('metric', metric),
    // Nobody else took it while the uplink had it.
    ...(isIpv6(address) ? ['nodad'] : []),
    ...(hasNoRoute ? ['noprefixroute'] : []),
    ...(lifetimes === undefined
      ? []
      : ['valid_lft', lifetime(lifetimes.valid), 'preferred_lft', lifetime(lifetimes.preferred)]),
  ];
}

export const deleteAddressArguments = ({ address, peer }: UplinkAddress, dev: string): Argv => [
  'address',
  'delete',
  ...(peer === undefined ? [address] : [address.replace(/\/.*/, ''), 'peer', peer]),
  'dev',
  dev,
];

const viaArguments = (via: string | undefined, dst: string): Argv =>
  via === undefined ? [] : isIpv6(via) && !isIpv6(dst) ? ['via', 'inet6', via] : ['via', via];

function hopArguments(
  { dev, via, isOnLink }: UplinkHop,
  dst: string,
  from: string,
  to: string,
): Argv {
  return [
    ...viaArguments(via, dst),
    'dev',
    dev === from ? to : dev,
    ...(isOnLink ? ['onlink'] : []),
  ];
}

/** Makes a route that leads over `from` lead over `to`; its legs over other devices stay. */
export function routeArguments(route: UplinkRoute, from: string, to: string): Argv {
  const { dst, hops, metrics, expires, protocol } = route;
  const [first] = hops;
  return [
    'route',
    'replace',
    dst,
    ...(hops.length === 1 && first !== undefined ? hopArguments(first, dst, from, to) : []),
    'table',
    String(route.table),
    'proto',
    String(protocol),
    ...option('scope', isIpv6(dst) ? undefined : route.scope),
    ...option('src', route.src),
    ...option('metric', route.metric),
    ...(protocol === RTPROT_RA ? option('expires', expires) : []),
    ...option('pref', route.preference),
    ...metrics.flat(),
    ...(hops.length === 1
      ? []
      : hops.flatMap((hop) => [
          'nexthop',
          ...hopArguments(hop, dst, from, to),
          'weight',
          String(hop.weight),
        ])),
  ];
}
