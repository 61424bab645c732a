/** Annotations of nodes (reference/api.md §7.1): each key names its writer. */
import type { Annotated, Reading } from './annotations.ts';
import {
  asAddress,
  asCidr,
  asFamilyCidrs,
  asFlag,
  asInteger,
  asList,
  asMac,
  asName,
  asObject,
  asText,
  familyCidrsJson,
  parseJson,
  problem,
  readAnnotation,
  readEntries,
  v4First,
} from './annotations.ts';
import { canonicalCidr } from '../../allocators/addresses.ts';
import { FIRST_NODE_MASQUERADE, LAST_NODE_MASQUERADE } from '../../allocators/node-addresses.ts';
import { formatValue } from '../validation/field-errors.ts';
import type { FamilyCidrs } from '../nad/network-config.ts';
import type { PlainObject } from '../plain-object.ts';
import { own } from '../plain-object.ts';
import { errorText } from '../error-text.ts';

export const NODE_SUBNETS = 'k8s.ovn.org/node-subnets'; // cluster manager
/** Masquerade numbers of networks on the node that have none by their ids. */
export const MASQUERADE_NUMBERS = 'k8s.ovn.org/masquerade-numbers'; // cluster manager
export const NODE_ID = 'k8s.ovn.org/node-id'; // cluster manager
export const NODE_TRANSIT_ADDRESSES = 'k8s.ovn.org/node-transit-switch-port-ifaddr'; // cluster manager
export const GATEWAY_CONFIG = 'k8s.ovn.org/l3-gateway-config'; // node
export const CHASSIS_ID = 'k8s.ovn.org/node-chassis-id'; // node
export const PRIMARY_ADDRESSES = 'k8s.ovn.org/node-primary-ifaddr'; // node
export const HOST_CIDRS = 'k8s.ovn.org/host-cidrs'; // node
const MANAGEMENT_PORT_MACS = 'k8s.ovn.org/node-mgmt-port-mac-addresses'; // legacy
export const ENCAP_IPS = 'k8s.ovn.org/node-encap-ips'; // node
export const MASQUERADE_SUBNET = 'k8s.ovn.org/node-masquerade-subnet'; // node
export const LAYER2_TOPOLOGY_VERSION = 'k8s.ovn.org/layer2-topology-version'; // node
/** Egress addresses that are, or may be, on the external bridge: none of the host's own. */
export const BRIDGE_EGRESS_ADDRESSES = 'k8s.ovn.org/bridge-egress-ips'; // node
/** The same of other network cards. */
export const CARD_EGRESS_ADDRESSES = 'k8s.ovn.org/secondary-host-egress-ips'; // node
/** Egress addresses that another node has, and that this one could have at once: all but answering for them is in place. */
export const PREPARED_EGRESS_ADDRESSES = 'k8s.ovn.org/prepared-egress-ips'; // node
/** Seconds after which the data plane of a node has no egress addresses any more, unless its daemon says that it may; and which daemon that is. */
export const NODE_EGRESS_FENCE = 'k8s.ovn.org/egress-fence'; // node
/** Networks of the node by which nothing leaves it, with why; and which daemon says so. */
export const EGRESS_NETWORKS_DOWN = 'k8s.ovn.org/egress-networks-down'; // node
const GATEWAY_MTU_SUPPORT = 'k8s.ovn.org/gateway-mtu-support'; // node

// Without its subnets a node takes away what uses them: nobody should be told to remove the annotation.
const BY_MANAGER = 'the cluster manager writes it again: see that it runs';
const BY_NODE = 'remove the annotation: the node writes it again';

/** Node ids 0 and 1 are reserved (reference/api.md §6.1). */
const LEAST_NODE_ID = 2;
const MOST_NODE_ID = 5000;

/**
 * Subnets of the node by network name; IPv4 first. A single subnet may be written as plain text. What reads as one of `known`
 * is that very list: of hundreds of networks, a change concerns one.
 */
export const nodeSubnets = (
  node: Annotated,
  known?: (network: string) => readonly string[] | undefined,
): Reading<ReadonlyMap<string, readonly string[]>> =>
  readEntries(node, NODE_SUBNETS, BY_MANAGER, (value, network) => {
    const before = known?.(network);
    return before !== undefined && isSameList(value, before) ? before : asSubnets(value);
  });

/** The same on some networks, and nothing else is looked at: a node has hundreds. */
export const nodeSubnetsOnEach = (
  node: Annotated,
  networks: readonly string[],
): Reading<ReadonlyMap<string, readonly string[]>> =>
  readAnnotation(node, NODE_SUBNETS, BY_MANAGER, (text) => {
    const entries = asObject(parseJson(text));
    return new Map(
      networks.map((network) => {
        const value = own(entries, network);
        return [network, value === undefined ? [] : asSubnets(value)];
      }),
    );
  });

export const nodeSubnetsOn = (node: Annotated, network: string): Reading<readonly string[]> => {
  const { value, errors } = nodeSubnetsOnEach(node, [network]);
  return { value: value?.get(network), errors };
};

const asSubnets = (value: unknown): readonly string[] =>
  v4First((typeof value === 'string' ? [value] : asList(value)).map(asCidr));

const isSameList = (value: unknown, texts: readonly string[]): boolean =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.length === texts.length &&
  texts.every((text, index) => text === value[index]);

/** What the entry of a network begins with, and no other one. */
export const nodeSubnetEntryStart = (network: string): string => `${JSON.stringify(network)}:`;

/** One entry of the annotation, as text: a node of many networks has its annotation put together of those. */
export const formatNodeSubnetEntry = (network: string, subnets: readonly string[]): string =>
  `${nodeSubnetEntryStart(network)}${JSON.stringify(v4First(subnets))}`;

/** What such an entry holds. */
export function readNodeSubnetEntry(entry: string): {
  readonly network: string;
  readonly subnets: readonly string[];
} {
  const parsed = JSON.parse(`{${entry}}`) as Readonly<Record<string, readonly string[]>>;
  const [[network, subnets] = ['', []]] = Object.entries(parsed);
  return { network, subnets };
}

/** The annotation of such entries, which are sorted; undefined for none, which is removed. */
export const formatNodeSubnetEntries = (sorted: readonly string[]): string | undefined =>
  sorted.length === 0 ? undefined : `{${sorted.join(',')}}`;

/** Masquerade numbers by network name, none of them twice (docs/decisions/networks-on-demand.md). */
export const masqueradeNumbers = (node: Annotated): Reading<ReadonlyMap<string, number>> => {
  const owners = new Map<number, string>();
  return readEntries(node, MASQUERADE_NUMBERS, BY_MANAGER, (value, network) => {
    const number =
      typeof value === 'number'
        ? asInteger(value, FIRST_NODE_MASQUERADE, LAST_NODE_MASQUERADE)
        : problem(`must be a number from ${FIRST_NODE_MASQUERADE} to ${LAST_NODE_MASQUERADE}`);
    const owner = owners.get(number);
    if (owner !== undefined) problem(`${number} is the number of ${formatValue(owner)}, too`);
    owners.set(number, network);
    return number;
  });
};

export const formatMasqueradeNumbers = (numbers: ReadonlyMap<string, number>): string =>
  JSON.stringify(
    Object.fromEntries([...numbers].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))),
  );

export const nodeId = (node: Annotated): Reading<number> =>
  readAnnotation(node, NODE_ID, BY_MANAGER, (text) => asInteger(text, LEAST_NODE_ID, MOST_NODE_ID));

/** Addresses on the transit switch of the default network, with prefix length. */
export const nodeTransitAddresses = (node: Annotated): Reading<FamilyCidrs> =>
  readAnnotation(node, NODE_TRANSIT_ADDRESSES, BY_MANAGER, (text) =>
    asFamilyCidrs(parseJson(text)),
  );

export type GatewayConfig =
  | { readonly mode: 'disabled' }
  | {
      readonly mode: 'shared' | 'local';
      /** External bridge, e.g. `br-ex`. */
      readonly bridge: string;
      /** Its port in OVN, e.g. `br-ex_worker`. */
      readonly interfaceId: string;
      readonly macAddress: string;
      /** With prefix length, IPv4 first. */
      readonly addresses: readonly string[];
      readonly nextHops: readonly string[];
      readonly nodePortEnable: boolean;
      /** 0 = untagged. */
      readonly vlan: number;
    };

/** The list under `plural`, or the single value under `singular`. */
function oneOrMore(object: PlainObject, plural: string, singular: string): readonly unknown[] {
  const list = own(object, plural);
  if (list !== undefined && list !== null) return asList(list);
  const single = own(object, singular);
  return single === undefined || single === null || single === '' ? [] : [single];
}

function labelled<T>(field: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    return problem(`${field}: ${errorText(error)}`);
  }
}

function gatewayConfigOf(value: unknown): GatewayConfig {
  const config = asObject(value);
  const mode = own(config, 'mode');
  if (mode === '' || mode === undefined) return { mode: 'disabled' };
  if (mode !== 'shared' && mode !== 'local') {
    return problem(`mode must be "shared", "local" or "", is ${formatValue(mode)}`);
  }
  const field = <T>(name: string, read: (value: unknown) => T): T =>
    labelled(name, () => read(own(config, name)));
  const vlan = own(config, 'vlan-id');
  const nodePort = own(config, 'node-port-enable');
  return {
    mode,
    bridge: field('bridge-id', asName),
    interfaceId: field('interface-id', asName),
    macAddress: field('mac-address', asMac),
    addresses: labelled('ip-addresses', () =>
      v4First(oneOrMore(config, 'ip-addresses', 'ip-address').map(asCidr)),
    ),
    nextHops: labelled('next-hops', () =>
      v4First(oneOrMore(config, 'next-hops', 'next-hop').map(asAddress)),
    ),
    nodePortEnable:
      nodePort === undefined ? false : labelled('node-port-enable', () => asFlag(nodePort)),
    vlan:
      vlan === undefined || vlan === '' ? 0 : labelled('vlan-id', () => asInteger(vlan, 0, 4094)),
  };
}

/** Gateway of the default network on the node. */
export const gatewayConfig = (node: Annotated): Reading<GatewayConfig> =>
  readAnnotation(node, GATEWAY_CONFIG, BY_NODE, (text) => {
    const networks = asObject(parseJson(text));
    const config = own(networks, 'default');
    return config === undefined
      ? problem('has no entry "default"')
      : labelled('default', () => gatewayConfigOf(config));
  });

export function formatGatewayConfig(config: GatewayConfig): string {
  if (config.mode === 'disabled') return JSON.stringify({ default: { mode: '' } });
  const { addresses, nextHops } = config;
  return JSON.stringify({
    default: {
      mode: config.mode,
      'bridge-id': config.bridge,
      'interface-id': config.interfaceId,
      'mac-address': config.macAddress,
      'ip-addresses': addresses,
      ...(addresses.length === 1 ? { 'ip-address': addresses[0] } : {}),
      'next-hops': nextHops,
      ...(nextHops.length === 1 ? { 'next-hop': nextHops[0] } : {}),
      'node-port-enable': String(config.nodePortEnable),
      'vlan-id': String(config.vlan),
    },
  });
}

export const chassisId = (node: Annotated): Reading<string> =>
  readAnnotation(node, CHASSIS_ID, BY_NODE, asName);

/** Primary addresses of the node, with prefix length. */
export const primaryAddresses = (node: Annotated): Reading<FamilyCidrs> =>
  readAnnotation(node, PRIMARY_ADDRESSES, BY_NODE, (text) => asFamilyCidrs(parseJson(text)));

/** Every address of the host, with prefix length. */
export const hostCidrs = (node: Annotated): Reading<readonly string[]> =>
  readAnnotation(node, HOST_CIDRS, BY_NODE, (text) => asList(parseJson(text)).map(asCidr));

/** Egress addresses that the node answers for on its external bridge, or may. */
export const bridgeEgressAddresses = (node: Annotated): Reading<readonly string[]> =>
  egressAddresses(node, BRIDGE_EGRESS_ADDRESSES);

/** Egress addresses that the node answers for on other network cards, or may. */
export const cardEgressAddresses = (node: Annotated): Reading<readonly string[]> =>
  egressAddresses(node, CARD_EGRESS_ADDRESSES);

/** Egress addresses that the node is ready for. */
export const preparedEgressAddresses = (node: Annotated): Reading<readonly string[]> =>
  egressAddresses(node, PREPARED_EGRESS_ADDRESSES);

const LONGEST_FENCE = 3600;

/** How a data plane lets go of egress addresses by itself. */
export interface EgressFence {
  /** Seconds after the last word of its daemon. */
  readonly seconds: number;
  /** Who writes that, as the Lease of the node's daemon names him (`spec.holderIdentity`): a daemon that came later may know nothing of it. */
  readonly daemon: string;
}

/** Absent where the data plane keeps egress addresses without its daemon. */
export const egressFence = (node: Annotated): Reading<EgressFence> =>
  readAnnotation(node, NODE_EGRESS_FENCE, BY_NODE, (text) => {
    const { seconds, daemon } = asObject(parseJson(text));
    return { seconds: asInteger(seconds, 1, LONGEST_FENCE), daemon: asText(daemon) };
  });

export const formatEgressFence = (fence: EgressFence): string => JSON.stringify(fence);

/** What may become part of events and messages. */
const REASON = /^[\x20-\x7e]{1,200}$/;

export interface EgressNetworksDown {
  /** Who writes that, as for `EgressFence`. */
  readonly daemon: string;
  /** Why nothing leaves by a network, by the network with prefix length. */
  readonly networks: ReadonlyMap<string, string>;
}

/** Absent where all networks are well, as far as the node knows. */
export const egressNetworksDown = (node: Annotated): Reading<EgressNetworksDown> =>
  readAnnotation(node, EGRESS_NETWORKS_DOWN, BY_NODE, (text) => {
    const { daemon, networks } = asObject(parseJson(text));
    const entries = Object.entries(asObject(networks)).map(([cidr, why]) => {
      if (!REASON.test(asText(why)))
        problem(`networks: ${formatValue(cidr)}: must be a short text, is ${formatValue(why)}`);
      return [canonicalCidr(asCidr(cidr)), asText(why)] as const;
    });
    return { daemon: asText(daemon), networks: new Map(entries) };
  });

export function formatEgressNetworksDown({ daemon, networks }: EgressNetworksDown): string {
  const sorted = [...networks].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify({ daemon, networks: Object.fromEntries(sorted) });
}

const egressAddresses = (node: Annotated, key: string): Reading<readonly string[]> =>
  readAnnotation(node, key, BY_NODE, (text) => asList(parseJson(text)).map(asAddress));

export const formatFamilyCidrs = (cidrs: FamilyCidrs): string =>
  JSON.stringify(familyCidrsJson(cidrs));

/** MAC addresses of management ports by network name. */
export const managementPortMacs = (node: Annotated): Reading<ReadonlyMap<string, string>> =>
  readEntries(node, MANAGEMENT_PORT_MACS, BY_NODE, asMac);

/** Addresses of tunnel ends. */
export const encapIps = (node: Annotated): Reading<readonly string[]> =>
  readAnnotation(node, ENCAP_IPS, BY_NODE, (text) => asList(parseJson(text)).map(asAddress));

/** False when the node disabled OVN's check of packet sizes; true without the annotation. */
export function gatewayMtuSupport(node: Annotated): Reading<boolean> {
  const { value, errors } = readAnnotation(node, GATEWAY_MTU_SUPPORT, BY_NODE, (text) =>
    asFlag(asText(text)),
  );
  return { value: value ?? true, errors };
}
