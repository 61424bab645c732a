/** The external bridge, and a network on it, worked out once for all parts. */
import {
  contains,
  type Family,
  familyOf,
  formatPrefix,
  macOf,
  nthAddress,
  parseInterfaceAddress,
  prefixOf,
  withoutPrefix,
} from '../../allocators/addresses.ts';
import { MASQUERADE_OFFSETS } from '../../allocators/node-addresses.ts';
import type { Rule } from '../../desired/features.ts';
import { ovnPrefix } from '../../api/nad/network-name.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { ClusterSettings, GatewayMode, Network } from '../../model/model.ts';
import { bridgePort, isDefault } from '../../model/rules/names.ts';
import { DEFAULT_NETWORK } from '../../model/read/networks.ts';
import { clusterFamilies } from '../../model/rules/network-addresses.ts';
import { bridgeVlan, type BridgeVlan } from './bridge-vlan.ts';
import { portNamed, type FlowRows } from './flow-rows.ts';
import { patchPort } from '../names.ts';
import { ETHERNET_HEADER, packetMark } from '../numbers.ts';
import { conntrackMark } from './pipeline.ts';

/** How Open vSwitch calls what both families have. */
export const MATCH_FIELDS = {
  v4: { ip: 'ip', src: 'nw_src', dst: 'nw_dst', tcp: 'tcp', udp: 'udp', sctp: 'sctp' },
  v6: { ip: 'ipv6', src: 'ipv6_src', dst: 'ipv6_dst', tcp: 'tcp6', udp: 'udp6', sctp: 'sctp6' },
} as const;

/** The bridge in one address family. */
export interface BridgeFamily {
  readonly family: Family;
  readonly fields: (typeof MATCH_FIELDS)[Family];
  /** The node's address on the bridge, and the subnets that it is in. */
  readonly nodeAddress: string;
  readonly hostSubnets: readonly string[];
  /** Every address of the node on the bridge. */
  readonly addresses: readonly string[];
  /** Addresses of the node elsewhere. */
  readonly otherAddresses: readonly string[];
  readonly services: readonly string[];
  /** Of those, the addresses of what every primary network may use. */
  readonly sharedServices: readonly string[];
  readonly masquerade: string;
  /** Ranges of the addresses that routers of the default network have towards each other. */
  readonly betweenRouters: readonly string[];
  readonly ovnMasquerade: string;
  readonly hostMasquerade: string;
  /** MAC address of the host, as gateway routers know it where it forwards for them. */
  readonly forwarderMac: string;
}

/** The external bridge of the node. */
export interface ExternalBridge {
  readonly name: string;
  readonly mac: string;
  readonly mode: GatewayMode;
  readonly vlan: BridgeVlan;
  readonly families: readonly BridgeFamily[];
  /** Patch port of the default network. */
  readonly defaultPort: string;
  /** Frames that are larger don't fit into the networks of pods; absent where OVN is not to look at that. */
  readonly largestFrame: number | undefined;
  /** Who may send to the port of tunnels besides nodes; `any`: everybody. */
  readonly tunnelSources: ClusterSettings['tunnelSources'];
}

/** A network on it. */
export interface BridgeNetwork {
  readonly network: Network;
  readonly isDefault: boolean;
  readonly on: ExternalBridge;
  /** Its patch port. */
  readonly port: string;
  /** What matches frames from it. */
  readonly from: readonly string[];
  readonly conntrackMark: string;
  readonly packetMark: string;
}

/** Flows that are there once for all networks, or once per network; a file each. */
export interface BridgePart {
  readonly rules: Readonly<Record<string, Rule>>;
  common?(rows: FlowRows, on: ExternalBridge): void;
  network?(rows: FlowRows, on: BridgeNetwork): void;
  /** `ends` of the tunnels of another node. */
  node?(rows: FlowRows, on: ExternalBridge, ends: readonly string[]): void;
}

/** Undefined while the node has no gateway. */
export function externalBridge(facts: ZoneFacts): ExternalBridge | undefined {
  const gateway = facts.own('gateway');
  if (gateway === undefined) return undefined;
  const { bridge, macAddress, mode, vlan } = gateway;
  const { settings } = facts;
  return {
    name: bridge,
    mac: macAddress,
    mode,
    vlan: bridgeVlan(vlan),
    families: clusterFamilies(settings).flatMap((family) => bridgeFamily(facts, family) ?? []),
    defaultPort: patchPortOf(facts, bridge, DEFAULT_NETWORK),
    tunnelSources: settings.tunnelSources,
    largestFrame: facts.own('gatewayMtuSupport') ? settings.mtu + ETHERNET_HEADER : undefined,
  };
}

export const bridgeNetwork = (
  facts: ZoneFacts,
  on: ExternalBridge,
  network: Network,
): BridgeNetwork => {
  const port = patchPortOf(facts, on.name, network.name);
  return {
    network,
    isDefault: isDefault(network),
    on,
    port,
    from: [`in_port=${port}`, ...on.vlan.outside],
    conntrackMark: conntrackMark(network.id),
    packetMark: packetMark(network.id),
  };
};

/** Patch port of a network, as it stands in flows. */
export const patchPortOf = (facts: ZoneFacts, bridge: string, network: string): string =>
  portNamed(patchPort(bridgePort(bridge, ovnPrefix(network), facts.nodeName)));

/** Undefined where the node has no address of the family, or the cluster no masquerade subnet. */
function bridgeFamily(facts: ZoneFacts, family: Family): BridgeFamily | undefined {
  const { settings } = facts;
  const ofFamily = (addresses: readonly string[]): readonly string[] =>
    addresses.filter((address) => familyOf(address) === family);
  const interfaces = ofFamily(facts.own('gateway')?.addresses ?? []);
  const addresses = interfaces.map(withoutPrefix);
  const [nodeAddress] = addresses;
  const masquerade = settings.masqueradeSubnets[family];
  if (nodeAddress === undefined || masquerade === undefined) return undefined;
  return {
    family,
    fields: MATCH_FIELDS[family],
    nodeAddress,
    addresses,
    hostSubnets: [...new Set(interfaces.flatMap(subnetOf))],
    otherAddresses: ofFamily(facts.own('hostAddresses'))
      .map(withoutPrefix)
      .filter((address) => !addresses.includes(address) && !contains(masquerade, address)),
    services: ofFamily(settings.serviceSubnets),
    sharedServices: ofFamily(facts.enabledServices.all().flatMap(({ clusterIps }) => clusterIps)),
    masquerade,
    betweenRouters: [settings.joinSubnets[family], settings.transitSubnets[family]].filter(
      (range) => range !== undefined,
    ),
    ovnMasquerade: nthAddress(masquerade, MASQUERADE_OFFSETS.ovn),
    hostMasquerade: nthAddress(masquerade, MASQUERADE_OFFSETS.host),
    forwarderMac: macOf(nthAddress(masquerade, MASQUERADE_OFFSETS.dummyNextHop)),
  };
}

function subnetOf(address: string): readonly string[] {
  const parsed = parseInterfaceAddress(address);
  return parsed === undefined ? [] : [formatPrefix(prefixOf(parsed))];
}
