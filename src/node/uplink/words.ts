/** Words of `ip` for addresses and routes that change from one device to another. Pure. */
import type { UplinkAddress, UplinkHop, UplinkRoute } from './state.ts';

export type Words = readonly string[];

export const isIpv6 = (text: string): boolean => text.includes(':');

const RTPROT_RA = 9;
const LONGEST_LABEL = 15;

const option = (name: string, value: string | number | undefined): Words =>
  value === undefined ? [] : [name, String(value)];

const lifetime = (value: number | 'forever'): string => String(value);

/** Puts an address of device `from` on device `to`. */
export function addressWords(
  { address, peer, broadcast, label, hasNoRoute, metric, lifetimes }: UplinkAddress,
  from: string,
  to: string,
): Words {
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

export const deleteAddressWords = ({ address, peer }: UplinkAddress, dev: string): Words => [
  'address',
  'delete',
  ...(peer === undefined ? [address] : [address.replace(/\/.*/, ''), 'peer', peer]),
  'dev',
  dev,
];

const viaWords = (via: string | undefined, dst: string): Words =>
  via === undefined ? [] : isIpv6(via) && !isIpv6(dst) ? ['via', 'inet6', via] : ['via', via];

function hopWords({ dev, via, isOnLink }: UplinkHop, dst: string, from: string, to: string): Words {
  return [...viaWords(via, dst), 'dev', dev === from ? to : dev, ...(isOnLink ? ['onlink'] : [])];
}

/** Makes a route that leads over `from` lead over `to`; its legs over other devices stay. */
export function routeWords(route: UplinkRoute, from: string, to: string): Words {
  const { dst, hops, metrics, expires, protocol } = route;
  const [first] = hops;
  return [
    'route',
    'replace',
    dst,
    ...(hops.length === 1 && first !== undefined ? hopWords(first, dst, from, to) : []),
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
          ...hopWords(hop, dst, from, to),
          'weight',
          String(hop.weight),
        ])),
  ];
}
