/** What a node tells the cluster of itself: Open vSwitch settings and the kernel's addresses → annotations of its Node (reference/api.md §7.1). */
import {
  containsAddress,
  familyOf,
  formatAddress,
  formatInterfaceAddress,
  parseAddress,
  parseInterfaceAddress,
  parseMac,
  parsePrefix,
  type Family,
  type InterfaceAddress,
  type Prefix,
} from '../../allocators/addresses.ts';
import { v4First } from '../../api/annotations/annotations.ts';
import {
  CHASSIS_ID,
  ENCAP_IPS,
  formatFamilyCidrs,
  formatGatewayConfig,
  GATEWAY_CONFIG,
  HOST_CIDRS,
  LAYER2_TOPOLOGY_VERSION,
  MASQUERADE_SUBNET,
  PRIMARY_ADDRESSES,
} from '../../api/annotations/node-annotations.ts';
import { formatValue } from '../../api/validation/field-errors.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import type { ClusterSettings } from '../../model/model.ts';
import type { HostDevice, HostState } from '../linux/host-state.ts';
import { isManagementDevice } from '../names.ts';

/** How the default network leaves the node. */
export interface GatewaySettings {
  readonly mode: 'shared' | 'local' | 'disabled';
  /** Instead of the next hops of the host's default routes; at most one per family. */
  readonly nextHops: readonly string[];
  /** 0 = untagged. */
  readonly vlan: number;
}

export interface HostFacts extends HostState {
  /** `external_ids` of the local Open_vSwitch database. */
  readonly externalIds: ReadonlyMap<string, string>;
}

export interface NodeFactsContext {
  readonly node: string;
  readonly settings: ClusterSettings;
  readonly gateway: GatewaySettings;
  /** Addresses that the node is known by so far, without prefix length: of several on the bridge these stay the ones. */
  readonly knownBy: readonly string[];
}

/** All annotations, or what is missing until they can be written, in words. */
export type NodeAnnotations =
  | { readonly kind: 'value'; readonly annotations: Readonly<Record<string, string>> }
  | { readonly kind: 'awaited'; readonly message: string };

/** Physical network of the default network's gateway (reference/node.md §5). */
const GATEWAY_NETWORK = 'physnet';
/** Layer2 networks have a transit router (reference/topology.md §9). */
const TRANSIT_ROUTER_LAYOUT = '2.0';
/** What annotations, rows and flows may name things. */
const NAME = /^[A-Za-z0-9_.:-]{1,253}$/;
const FAMILY_NAMES = { v4: 'IPv4', v6: 'IPv6' } as const;

/** Never an address by which others know a host. */
const NOT_GLOBAL = ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/3', '::/127']
  .concat('fe80::/10', 'ff00::/8')
  .flatMap((cidr) => parsePrefix(cidr) ?? []);

class Awaited extends Error {}

const wait = (message: string): never => {
  throw new Awaited(message);
};

interface KnownAddress extends InterfaceAddress {
  readonly text: string;
  readonly isLasting: boolean;
}

export interface KnownDevice {
  readonly name: string;
  readonly mac: string | undefined;
  readonly addresses: readonly KnownAddress[];
}

/** Everything at once: what follows from half of the facts would be taken for the whole. */
export function nodeAnnotations(facts: HostFacts, context: NodeFactsContext): NodeAnnotations {
  try {
    return { kind: 'value', annotations: annotationsOf(facts, context) };
  } catch (error) {
    if (!(error instanceof Awaited)) throw error;
    return { kind: 'awaited', message: error.message };
  }
}

function annotationsOf(
  { externalIds, devices: all, defaultRoutes }: HostFacts,
  { node, settings, gateway, knownBy }: NodeFactsContext,
): Readonly<Record<string, string>> {
  const devices = knownDevices(all, settings);
  const families = clusterFamilies(settings);
  const chassisId = settingOf(externalIds, 'system-id');
  if (!NAME.test(chassisId))
    wait(unusable('system-id', chassisId, 'a name of letters, digits, "_", ".", ":" and "-"'));
  const encapIps = encapAddresses(externalIds, devices);
  const primaryOf = (device: KnownDevice, family: Family): string | undefined => {
    const lasting = device.addresses.filter((one) => one.family === family && one.isLasting);
    const found = [...encapIps, ...knownBy].flatMap(
      (address) => lasting.find((one) => formatAddress(one) === address) ?? [],
    );
    return (found[0] ?? lasting[0])?.text;
  };
  const primaries = (device: KnownDevice): { v4?: string; v6?: string } =>
    Object.fromEntries(
      families.flatMap((family) => {
        const found = primaryOf(device, family);
        return found === undefined ? [] : [[family, found]];
      }),
    );
  let config = formatGatewayConfig({ mode: 'disabled' });
  let primary: { v4?: string; v6?: string };
  if (gateway.mode === 'disabled') {
    const [encapIp] = encapIps;
    const device = devices.find(({ addresses }) =>
      addresses.some((one) => formatAddress(one) === encapIp),
    );
    primary = device === undefined ? {} : primaries(device);
    if (Object.keys(primary).length === 0)
      wait(`${device?.name ?? 'the host'} has no ${familyNames(families)} address`);
  } else {
    const bridge = gatewayBridge(externalIds);
    const device =
      devices.find(({ name }) => name === bridge) ??
      wait(`there is no device ${bridge}, the bridge of ${GATEWAY_NETWORK}`);
    const macAddress =
      parseMac(device.mac ?? '') ?? wait(`${bridge} has no MAC address that is one of Ethernet`);
    primary = primaries(device);
    const found = families.map(
      (family) =>
        primary[family] ??
        wait(`${bridge} has no ${FAMILY_NAMES[family]} address by which others reach the node`),
    );
    config = formatGatewayConfig({
      mode: gateway.mode,
      bridge,
      interfaceId: `${bridge}_${node}`,
      macAddress,
      addresses: found,
      nextHops: families.flatMap((family) => nextHopsOf(family, bridge, gateway, defaultRoutes)),
      nodePortEnable: true,
      vlan: gateway.vlan,
    });
  }
  const hostCidrs = devices.flatMap(({ addresses }) => addresses.map(({ text }) => text));
  return {
    [CHASSIS_ID]: chassisId,
    [GATEWAY_CONFIG]: config,
    [PRIMARY_ADDRESSES]: formatFamilyCidrs(primary),
    // In an order that does not follow from when which came.
    [HOST_CIDRS]: JSON.stringify(v4First([...new Set(hostCidrs)].toSorted())),
    [ENCAP_IPS]: JSON.stringify(encapIps),
    [MASQUERADE_SUBNET]: formatFamilyCidrs(settings.masqueradeSubnets),
    [LAYER2_TOPOLOGY_VERSION]: TRANSIT_ROUTER_LAYOUT,
  };
}

const familyNames = (families: readonly Family[]): string =>
  families.map((family) => FAMILY_NAMES[family]).join(' or ');

const unusable = (key: string, value: string, what: string): string =>
  `external_ids:${key} of the local Open_vSwitch database must be ${what}, is ${formatValue(value)}`;

function settingOf(externalIds: ReadonlyMap<string, string>, key: string): string {
  const value = externalIds.get(key);
  return value === undefined || value === ''
    ? wait(`external_ids:${key} of the local Open_vSwitch database is not set`)
    : value;
}

const listOf = (text: string): readonly string[] =>
  text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

const excludedBy = ({ masqueradeSubnets }: ClusterSettings): readonly Prefix[] => [
  ...NOT_GLOBAL,
  ...Object.values(masqueradeSubnets).flatMap((cidr: string) => parsePrefix(cidr) ?? []),
];

/** An address of an EgressIP that the host has. */
export interface EgressAddressOnHost {
  /** Without prefix length. */
  readonly address: string;
  readonly device: string;
  /** The external bridge. */
  readonly isBridge: boolean;
  readonly mac: string | undefined;
}

/** `bridge`: the external one. */
export function egressAddressesOn(
  devices: readonly HostDevice[],
  bridge: string | undefined,
  settings: ClusterSettings,
): readonly EgressAddressOnHost[] {
  const excluded = excludedBy(settings);
  return devices
    .filter(({ name }) => !isManagementDevice(name))
    .flatMap(({ name: device, mac, addresses }) =>
      addresses.flatMap(({ address, isOurs }) => {
        const parsed = isOurs === true ? parseInterfaceAddress(address) : undefined;
        return parsed === undefined || excluded.some((prefix) => containsAddress(prefix, parsed))
          ? []
          : [{ address: formatAddress(parsed), device, isBridge: device === bridge, mac }];
      }),
    );
}

/** The host's addresses, without those of networks that Heddle keeps there. */
export const knownDevices = (
  devices: readonly HostDevice[],
  settings: ClusterSettings,
): readonly KnownDevice[] => {
  const excluded = excludedBy(settings);
  return devices
    .filter(({ name }) => !isManagementDevice(name))
    .map(({ name, mac, addresses }) => ({
      name,
      mac,
      addresses: addresses.flatMap(({ address, isLasting, isOurs }): readonly KnownAddress[] => {
        const parsed = parseInterfaceAddress(address);
        // Those of EgressIPs are nodes' for a while, and no host's.
        if (
          parsed === undefined ||
          isOurs === true ||
          excluded.some((prefix) => containsAddress(prefix, parsed))
        )
          return [];
        return [{ ...parsed, text: formatInterfaceAddress(parsed), isLasting }];
      }),
    }));
};

/** Ends of tunnels: each is an address that packets to it reach (reference/node.md §5). */
function encapAddresses(
  externalIds: ReadonlyMap<string, string>,
  devices: readonly KnownDevice[],
): readonly string[] {
  const types = externalIds.get('ovn-encap-type') ?? '';
  if (!listOf(types).includes('geneve'))
    wait(unusable('ovn-encap-type', types, '"geneve", which tunnels between nodes are of'));
  const addresses = listOf(settingOf(externalIds, 'ovn-encap-ip')).map((entry) => {
    const parsed = parseAddress(entry);
    if (parsed === undefined) return wait(unusable('ovn-encap-ip', entry, 'an IP address'));
    const address = formatAddress(parsed);
    const isHere = devices.some((device) =>
      device.addresses.some((one) => formatAddress(one) === address),
    );
    return isHere ? address : wait(unusable('ovn-encap-ip', entry, 'an address of this host'));
  });
  return addresses.length === 0
    ? wait(unusable('ovn-encap-ip', '', 'a list of IP addresses'))
    : [...new Set(addresses)];
}

/** The bridge that OVN has the default network's gateway on. */
function gatewayBridge(externalIds: ReadonlyMap<string, string>): string {
  const mappings = listOf(settingOf(externalIds, 'ovn-bridge-mappings'));
  const mapping = mappings.find((entry) => entry.startsWith(`${GATEWAY_NETWORK}:`));
  if (mapping === undefined)
    return wait(
      `external_ids:ovn-bridge-mappings of the local Open_vSwitch database has no bridge for ${GATEWAY_NETWORK}; add "${GATEWAY_NETWORK}:BRIDGE", or set --gateway-interface or --gateway-mode disabled`,
    );
  const bridge = mapping.slice(GATEWAY_NETWORK.length + 1);
  return NAME.test(bridge)
    ? bridge
    : wait(unusable('ovn-bridge-mappings', mapping, `"${GATEWAY_NETWORK}:" and a bridge's name`));
}

function nextHopsOf(
  family: Family,
  bridge: string,
  { nextHops: given }: GatewaySettings,
  defaultRoutes: HostFacts['defaultRoutes'],
): readonly string[] {
  const chosen = given.filter((hop) => familyOf(hop) === family);
  if (chosen.length > 0) return chosen;
  const out = defaultRoutes.filter(
    ({ dev, nextHop }) => dev === bridge && familyOf(nextHop) === family,
  );
  const best = Math.min(...out.map(({ metric }) => metric));
  const nextHops = out
    .filter(({ metric }) => metric === best)
    .flatMap(({ nextHop }) => parseAddress(nextHop) ?? [])
    .map(formatAddress);
  return nextHops.length === 0
    ? wait(
        `there is no ${FAMILY_NAMES[family]} default route over ${bridge}; add one, or set --gateway-nexthop`,
      )
    : [...new Set(nextHops)].toSorted();
}
