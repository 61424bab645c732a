/** Where tunnels to this node end: what `--encap-ip` says, or else the address that the node is known by. Pure. */
import {
  containsAddress,
  familyOf,
  formatAddress,
  parseAddress,
  parsePrefix,
  type InterfaceAddress,
} from '../../allocators/addresses.ts';
import type { ClusterSettings } from '../../model/model.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import type { DefaultRoute, HostState } from '../linux/host-state.ts';
import { knownDevices } from '../announcer/node-facts.ts';

export interface EncapContext {
  /** `--encap-ip`: addresses and subnets. */
  readonly asked: readonly string[];
  readonly settings: ClusterSettings;
  /** Addresses that the node is known by so far, the most important one first. */
  readonly knownBy: readonly string[];
}

export type EncapAddresses =
  | { readonly kind: 'value'; readonly addresses: readonly string[] }
  /** In words, what is missing. */
  | { readonly kind: 'awaited'; readonly message: string };

export function encapAddresses(host: HostState, context: EncapContext): EncapAddresses {
  const { asked, settings, knownBy } = context;
  const devices = knownDevices(host.devices, settings);
  const all = devices.flatMap(({ addresses }) => addresses);
  const found: string[] = [];
  for (const entry of asked) {
    const matches = matcher(entry);
    // An address that moves between hosts is named, not found.
    const match = all.find((one) => matches(one) && (one.isLasting || !entry.includes('/')));
    if (match === undefined)
      return awaited(
        entry.includes('/')
          ? `--encap-ip: the host has no address in ${entry}`
          : `--encap-ip: ${entry} is no address of this host`,
      );
    found.push(formatAddress(match));
  }
  if (found.length > 0) return value([...new Set(found)]);
  const known = knownBy.find((address) => all.some(matcher(address)));
  if (known !== undefined) return value([canonical(known)]);
  // As the kernel does: over which device does the node reach others?
  const families = clusterFamilies(settings);
  const isStrange = ({ nextHop }: DefaultRoute): number =>
    families.includes(familyOf(nextHop)) ? 0 : 1;
  const ways = host.defaultRoutes.toSorted(
    (a, b) => isStrange(a) - isStrange(b) || a.metric - b.metric,
  );
  for (const { dev, nextHop } of ways) {
    const lasting = devices
      .find(({ name }) => name === dev)
      ?.addresses.find(({ family, isLasting }) => isLasting && family === familyOf(nextHop));
    if (lasting !== undefined) return value([formatAddress(lasting)]);
  }
  return awaited(
    'no address of this host is one that its Node names, and it has no default route: set --encap-ip',
  );
}

const value = (addresses: readonly string[]): EncapAddresses => ({ kind: 'value', addresses });
const awaited = (message: string): EncapAddresses => ({ kind: 'awaited', message });

const canonical = (address: string): string => {
  const parsed = parseAddress(address);
  return parsed === undefined ? address : formatAddress(parsed);
};

/** Whether an address is the one, or in the subnet, that an entry names. */
function matcher(entry: string): (address: InterfaceAddress) => boolean {
  const prefix = parsePrefix(entry);
  if (entry.includes('/'))
    return (address) => prefix !== undefined && containsAddress(prefix, address);
  const text = canonical(entry);
  return (address) => formatAddress(address) === text;
}
