/** Values of settings from text. Each throws an error that names the value and what would do. */
import {
  asHost,
  bitsOf,
  familyOf,
  formatAddress,
  formatPrefix,
  parseAddress,
  parseInterfaceAddress,
  parsePrefix,
  prefixLength,
  prefixOf,
  withoutPrefix,
  type Family,
} from '../allocators/addresses.ts';
import type { ConnectRange } from '../allocators/connect-subnets.ts';
import { labelSelectorProblem } from '../api/label-selector.ts';
import { DEFAULT_HOST_LENGTH } from '../api/nad/subnet-lists.ts';
import { isDnsLabel, isDnsSubdomain } from '../api/validation/metadata.ts';
import type { LabelSelector, LabelSelectorRequirement } from '../api/types.ts';
import { TENANT_CONNECT_TYPES, type TenantConnectType } from '../cluster/settings.ts';
import type { NetworkSubnet } from '../model/model.ts';

/** The parts between commas. */
export const list = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

/** Parser of a canonical subnet: host bits must be clear. */
export const cidr =
  (family?: Family) =>
  (text: string): string => {
    const example = (family ?? familyOf(text)) === 'v6' ? 'fd98::/64' : '10.244.0.0/16';
    const parsed = parseInterfaceAddress(text);
    if (parsed === undefined || (family !== undefined && family !== parsed.family))
      throw new Error(`"${text}" is not a subnet such as ${example}`);
    const subnet = prefixOf(parsed);
    if (subnet.base !== parsed.value)
      throw new Error(`"${text}" has host bits set: write ${formatPrefix(subnet)}`);
    return formatPrefix(subnet);
  };

/** A node's subnet holds a network address, gateway, management port, a pod and a broadcast address. */
const LONGEST_HOST_LENGTH = 29;

/** `CIDR` or `CIDR/HOSTLENGTH`, separated by commas; host length 24 or 64 by default (reference/api.md §3.3). */
export function clusterSubnets(text: string): readonly NetworkSubnet[] {
  const subnets = list(text).map((entry) => {
    const [address, length, host, ...more] = entry.split('/');
    if (length === undefined || more.length > 0)
      throw new Error(`"${entry}" is not a subnet such as 10.244.0.0/16/24`);
    const network = cidr()(`${address}/${length}`);
    const family = familyOf(network);
    const hostLength =
      host === undefined
        ? DEFAULT_HOST_LENGTH[family]
        : integer(1, family === 'v6' ? 64 : 31)(host);
    if (family === 'v6' && hostLength !== 64)
      throw new Error(`"${entry}": IPv6 only supports /64 host subnets`);
    if (hostLength <= Number(length))
      throw new Error(`"${entry}": the host length must be longer than /${length}`);
    if (family === 'v4' && hostLength > LONGEST_HOST_LENGTH)
      throw new Error(
        `${entry}: a subnet with host length ${hostLength} is too small for a node: it needs a gateway, a management port and pods, write a host length of at most ${LONGEST_HOST_LENGTH}`,
      );
    return { cidr: network, hostLength };
  });
  if (subnets.length === 0) throw new Error('at least one subnet is required');
  return subnets;
}

/** `CIDR/PREFIX`, one per family: PREFIX is the length of the prefix of one network's part. Nothing at all is no range. */
export function connectRanges(text: string): readonly ConnectRange[] {
  const ranges = list(text).map((entry): ConnectRange => {
    const [address, length, part, ...more] = entry.split('/');
    const range =
      part === undefined || more.length > 0
        ? undefined
        : parsePrefix(cidr()(`${address}/${length}`));
    if (range === undefined) throw new Error(`"${entry}" is not a range such as 192.168.0.0/16/24`);
    const networkPrefix = integer(range.length + 1, bitsOf(range.family) - 1)(part ?? '');
    return { cidr: range, networkPrefix };
  });
  const [first, second, ...rest] = ranges;
  if (rest.length > 0 || (second !== undefined && second.cidr.family === first?.cidr.family))
    throw new Error('write one range, or one of IPv4 and one of IPv6');
  const hostBits = ranges.map((range) => bitsOf(range.cidr.family) - range.networkPrefix);
  if (new Set(hostBits).size > 1)
    throw new Error(
      'the ranges of IPv4 and IPv6 must leave a network as many addresses, such as /24 and /120',
    );
  return ranges;
}

/** What NetworkConnects may open; at least one. */
export function connectTypes(text: string): readonly TenantConnectType[] {
  const types = list(text).map(oneOf(TENANT_CONNECT_TYPES));
  if (types.length === 0) throw new Error(`write ${TENANT_CONNECT_TYPES.join(', or ')}, or both`);
  return [...new Set(types)];
}

export const integer =
  (least: number, most: number) =>
  (text: string): number => {
    const value = /^\d+$/.test(text.trim()) ? Number(text) : Number.NaN;
    if (!(value >= least && value <= most))
      throw new Error(`"${text}" is not a whole number from ${least} to ${most}`);
    return value;
  };

/** Seconds, parts of one too; 0 stands for never. */
export const secondsOrNever =
  (least: number, most: number) =>
  (text: string): number => {
    const value = /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : Number.NaN;
    if (value !== 0 && !(value >= least && value <= most))
      throw new Error(`"${text}" is neither 0 nor a number from ${least} to ${most}`);
    return value;
  };

/** Addresses, one per family at most. */
export function nextHops(text: string): readonly string[] {
  const hops = list(text).map((entry) => {
    const address = parseAddress(entry);
    if (address === undefined) throw new Error(`"${entry}" is not an address such as 172.18.0.1`);
    return formatAddress(address);
  });
  if (new Set(hops.map(familyOf)).size < hops.length)
    throw new Error(`"${text}" has two addresses of one family: write one of IPv4, one of IPv6`);
  return hops;
}

/** Addresses and subnets, by commas. */
export function addressesOrSubnets(text: string): readonly string[] {
  return list(text).map((entry) => {
    if (entry.includes('/')) return cidr()(entry);
    const address = parseAddress(entry);
    if (address === undefined)
      throw new Error(
        `"${entry}" is no address such as 172.18.0.3, or subnet such as 172.18.0.0/16`,
      );
    return formatAddress(address);
  });
}

/** `any`, or addresses and subnets in the form in which they are listed: one address has no length. */
export function tunnelSources(text: string): readonly string[] | 'any' {
  if (text === 'any') return text;
  const sources = addressesOrSubnets(text).map((entry) => {
    if (prefixLength(entry) === 0)
      throw new Error(`"${entry}" is every address: write any, or the subnets that are meant`);
    return asHost(withoutPrefix(entry)) === entry ? withoutPrefix(entry) : entry;
  });
  return [...new Set(sources)];
}

/** Where OTLP over HTTP takes traces, below the address of a collector. */
const TRACES_PATH = '/v1/traces';

/** An address of a collector, or of where it takes traces; undefined for none. */
export function traceEndpoint(text: string): URL | undefined {
  if (text === '') return undefined;
  const example = 'http://collector.observability:4318';
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new Error(`"${text}" is no address of HTTP or HTTPS such as ${example}`);
  if (url.username !== '' || url.password !== '')
    throw new Error(
      `has a name or a password in it, and settings are shown: write ${url.origin}${url.pathname}, a collector that asks for none and hands spans on`,
    );
  if (url.hash !== '') throw new Error(`"${text}" has a fragment (#): leave it out`);
  if (url.pathname === '/') url.pathname = TRACES_PATH;
  return url;
}

/** A decimal number. */
export function ratio(text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (!(value >= 0 && value <= 1))
    throw new Error(`"${text}" is no number from 0 to 1 such as 0.05`);
  return value;
}

export const oneOf =
  <const T extends string>(choices: readonly T[]) =>
  (text: string): T => {
    const found = choices.find((choice) => choice === text);
    if (found === undefined) throw new Error(`"${text}" is none of ${choices.join(', ')}`);
    return found;
  };

export const boolean = (text: string): boolean =>
  oneOf(['true', 'false'])(text.toLowerCase()) === 'true';

/** A folder, from the root. */
export function absolutePath(text: string): string {
  if (!text.startsWith('/'))
    throw new Error(`"${text}" is no path from the root, such as /proc/sys`);
  return text;
}

export function namespaceName(text: string): string {
  if (isDnsLabel(text)) return text;
  throw new Error(`"${text}" is no name of a namespace`);
}

/** Names of namespaces, by commas. */
export const namespaceNames = (text: string): readonly string[] => [
  ...new Set(list(text).map(namespaceName)),
];

export function domainName(text: string): string {
  if (isDnsSubdomain(text)) return text;
  throw new Error(
    `"${text}" is no domain such as cluster.local, in lower case and without a dot at its end`,
  );
}

export function portRange(text: string): string {
  if (text === 'none') return '';
  const [from, to, more] = text.split('-');
  const low = integer(1, 65_535)(from ?? '');
  const high = integer(1, 65_535)(to ?? '');
  if (more !== undefined || low > high)
    throw new Error(`"${text}" is not a range such as 32768-60999`);
  return `${low}-${high}`;
}

export function serviceList(text: string): readonly string[] {
  const name = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?\/[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
  return list(text).map((entry) => {
    if (!name.test(entry)) throw new Error(`"${entry}" is not namespace/name of a service`);
    return entry;
  });
}

/** A service, or addresses. */
export function dnsServers(text: string): string | readonly string[] {
  const entries = list(text);
  if (entries.length === 1 && text.includes('/')) return serviceList(text)[0] ?? '';
  if (entries.length === 0) throw new Error('write a service (namespace/name) or addresses');
  return entries.map((entry) => {
    if (parseAddress(entry) === undefined) throw new Error(`"${entry}" is not an IP address`);
    return entry;
  });
}

/** `key=value`, `key`, `!key`, separated by commas, all of which must hold; nothing at all selects no node. */
export function labelSelector(text: string): LabelSelector | undefined {
  const terms = list(text);
  if (terms.length === 0) return undefined;
  const matchExpressions = terms.map((term): LabelSelectorRequirement => {
    if (term.startsWith('!')) return { key: term.slice(1), operator: 'DoesNotExist' };
    const [key = '', ...values] = term.split('=');
    if (values.length === 0) return { key, operator: 'Exists' };
    return { key, operator: 'In', values: [values.join('=')] };
  });
  const problem = labelSelectorProblem({ matchExpressions });
  if (problem !== undefined)
    throw new Error(`"${text}": ${problem}; write labels such as kubernetes.io/os=windows`);
  return { matchExpressions };
}
