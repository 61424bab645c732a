/** Comma lists of subnets as NADs hold them (reference/api.md §3.3, "Subnet grammar"). */
import {
  bitsOf,
  containsPrefix,
  formatAddress,
  formatPrefix,
  parseAddress,
  parsePrefix,
  type Family,
} from '../../allocators/addresses.ts';
import type { FamilyCidrs, NetworkTopology, SubnetEntry } from './network-config.ts';
import { type Result, fail, succeed } from '../result.ts';

/** Prefix length of a node's subnet where none is written. */
export const DEFAULT_HOST_LENGTH: Readonly<Record<Family, number>> = { v4: 24, v6: 64 };

/** No sensible network has more; longer lists are an attack on our time. */
const MOST_ENTRIES = 1000;

const entriesOf = (text: string): string[] =>
  text
    .split(',')
    .slice(0, MOST_ENTRIES)
    .map((entry) => entry.trim());

function layer3Entry(text: string): Result<SubnetEntry & { family: Family }> {
  const parts = text.split('/');
  const cidr = parsePrefix(parts.slice(0, 2).join('/'));
  if (cidr === undefined || parts.length > 3) return fail(`CIDR "${text}" not properly formatted`);
  const { family } = cidr;
  const host = parts[2];
  if (host !== undefined && !/^(0|[1-9][0-9]{0,2})$/.test(host)) {
    return fail(`CIDR "${text}" not properly formatted`);
  }
  const hostLength = host === undefined ? DEFAULT_HOST_LENGTH[family] : Number(host);
  if (family === 'v6' && hostLength !== 64) return fail('IPv6 only supports /64 host subnets');
  // A /32 passes the text parser of ovn-kubernetes and then has no room for a host: refused here already.
  if (family === 'v4' && hostLength >= bitsOf('v4')) {
    return fail('invalid host subnet, IPv4 subnet must be < 32');
  }
  if (hostLength <= cidr.length) {
    return fail(
      'cannot use a host subnet length mask shorter than or equal to the cluster subnet mask. ' +
        `host subnet length: ${hostLength}, cluster subnet length: ${cidr.length}`,
    );
  }
  return succeed({ cidr: formatPrefix(cidr), hostLength, family });
}

/** `10.20.0.0/16/24,fd00::/48`; host lengths only, and always present, for layer3. */
export function parseSubnets(text: string, topology: NetworkTopology): Result<SubnetEntry[]> {
  if (topology !== 'layer3') {
    const list = parseCidrList(text);
    return list.kind === 'value' ? succeed(list.value.map((cidr) => ({ cidr }))) : list;
  }
  const subnets: SubnetEntry[] = [];
  let hostLength4: number | undefined;
  for (const entry of entriesOf(text)) {
    const parsed = layer3Entry(entry);
    if (parsed.kind === 'invalid') return parsed;
    const { cidr, hostLength, family } = parsed.value;
    if (family === 'v4') {
      hostLength4 ??= hostLength;
      if (hostLength !== hostLength4) {
        return fail(
          'all IPv4 cluster subnet entries must have the same host subnet length; ' +
            `found ${hostLength4} and ${String(hostLength)}`,
        );
      }
    }
    subnets.push({ cidr, hostLength: hostLength ?? DEFAULT_HOST_LENGTH[family] });
  }
  return succeed(subnets);
}

/** A comma list of plain CIDRs, in canonical form. */
export function parseCidrList(text: string): Result<string[]> {
  const cidrs: string[] = [];
  for (const entry of entriesOf(text)) {
    const cidr = parsePrefix(entry);
    if (cidr === undefined) return fail(`CIDR "${entry}" not properly formatted`);
    cidrs.push(formatPrefix(cidr));
  }
  return succeed(cidrs);
}

/** A comma list of addresses, in canonical form. */
export function parseAddressList(text: string): Result<string[]> {
  const addresses: string[] = [];
  for (const entry of entriesOf(text)) {
    const address = parseAddress(entry);
    if (address === undefined) return fail(`IP "${entry}" not properly formatted`);
    addresses.push(formatAddress(address));
  }
  return succeed(addresses);
}

/** A comma list with at most one CIDR per family; families that it doesn't name come from `defaults`. */
export function parseFamilyCidrs(text: string, defaults: FamilyCidrs = {}): Result<FamilyCidrs> {
  const list = parseCidrList(text);
  if (list.kind === 'invalid') return list;
  const v4 = list.value.filter((cidr) => !cidr.includes(':'));
  const v6 = list.value.filter((cidr) => cidr.includes(':'));
  const twice = [v4, v6].find((family) => family.length > 1);
  if (twice !== undefined)
    return fail(`only one CIDR per IP family is allowed, found ${twice.join(' and ')}`);
  const chosen = { v4: v4[0] ?? defaults.v4, v6: v6[0] ?? defaults.v6 };
  return succeed({
    ...(chosen.v4 === undefined ? {} : { v4: chosen.v4 }),
    ...(chosen.v6 === undefined ? {} : { v6: chosen.v6 }),
  });
}

/** The first of `inner` that lies in none of `outer`. */
export function notContained(
  inner: readonly string[],
  outer: readonly SubnetEntry[],
): string | undefined {
  const ranges = outer.map(({ cidr }) => parsePrefix(cidr)).filter((cidr) => cidr !== undefined);
  return inner.find((text) => {
    const cidr = parsePrefix(text);
    return cidr === undefined || !ranges.some((range) => containsPrefix(range, cidr));
  });
}
