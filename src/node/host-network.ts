/** A network as the host of this node sees it, worked out once for all parts, and the feature that they make together. */
import {
  FAMILIES,
  familyOf,
  macOf,
  nthAddress,
  nthInterface,
  type Family,
} from '../allocators/addresses.ts';
import { POD_SUBNET_OFFSETS } from '../allocators/node-addresses.ts';
import type { Feature, Rule } from '../desired/features.ts';
import type { ZoneFacts } from '../model/facts.ts';
import type { ClusterSettings, Network, NodeGateway } from '../model/model.ts';
import { isDefault, localNames } from '../model/names.ts';
import { hasGateway } from '../model/network-addresses.ts';
import { HostRows } from './host-rows.ts';
import { MANAGEMENT_CLAIMS, managementPort } from './management-port.ts';
import { managementDevice, vrfName } from './names.ts';
import { neighbours } from './neighbours.ts';
import { LOWEST_ROUTING_TABLE, MAIN_TABLE, packetMark } from './numbers.ts';
import { routes } from './routes.ts';
import { rules } from './rules.ts';
import { sysctls } from './sysctls.ts';
import { vrf } from './vrf.ts';

/** The host on a network, in one family. */
export interface HostRange {
  readonly family: Family;
  /** The pods' subnet on this node; of a Layer2 network the network's. */
  readonly cidr: string;
  readonly gateway: string;
  /** Of the management port, with prefix length. */
  readonly address: string;
}

export interface HostNetwork {
  readonly network: Network;
  readonly isDefault: boolean;
  readonly settings: ClusterSettings;
  readonly node: string;
  readonly gateway: NodeGateway | undefined;
  /** Empty while the node has no subnet of the network. */
  readonly ranges: readonly HostRange[];
  /** The host's device on the network, its MAC address, and the name that OVN knows its port by. */
  readonly device: string;
  readonly mac: string;
  readonly logicalPort: string;
  /** Absent for the default network, which is not kept apart from the host. */
  readonly vrf: string | undefined;
  readonly table: number;
  readonly mark: string;
}

/** Something of a network's host state; a file each. */
export interface HostPart {
  readonly rules: Readonly<Record<string, Rule>>;
  build(rows: HostRows, on: HostNetwork): void;
}

/** Settings of the host's state. */
export interface HostSettings {
  /** Routing table of network 0; those of the others follow by their ids. */
  readonly routingTables: number;
}

const byFamily = (a: string, b: string): number =>
  FAMILIES.indexOf(familyOf(a)) - FAMILIES.indexOf(familyOf(b));

const subnetsOf = (facts: ZoneFacts, network: Network): readonly string[] =>
  network.topology === 'layer3'
    ? facts.subnetsOn(network.name, facts.nodeName)
    : network.subnets.map(({ cidr }) => cidr);

/** Gateway and management port have the first two addresses, but for a Layer2 network that names its gateways (node.md §1.4). */
function rangeOf(network: Network, cidr: string): HostRange {
  const family = familyOf(cidr);
  const own = network.defaultGatewayIPs.find((address) => familyOf(address) === family);
  return {
    family,
    cidr,
    gateway: own ?? nthAddress(cidr, POD_SUBNET_OFFSETS.gateway),
    address: nthInterface(cidr, POD_SUBNET_OFFSETS.managementPort),
  };
}

export function hostNetwork(
  facts: ZoneFacts,
  network: Network,
  { routingTables }: HostSettings,
): HostNetwork | undefined {
  const ranges = [...subnetsOf(facts, network)]
    .sort(byFamily)
    .map((cidr) => rangeOf(network, cidr));
  const [first] = ranges;
  if (first === undefined) return undefined;
  const isDefaultNetwork = isDefault(network);
  const gateway = facts.own('gateway');
  const announced = isDefaultNetwork ? facts.own('managementPortMac') : undefined;
  return {
    network,
    isDefault: isDefaultNetwork,
    settings: facts.settings,
    node: facts.nodeName,
    gateway,
    ranges,
    device: managementDevice(network.id),
    mac: announced ?? macOf(nthAddress(first.cidr, POD_SUBNET_OFFSETS.managementPort)),
    logicalPort: localNames(network.name, facts.nodeName).managementPort,
    vrf: isDefaultNetwork ? undefined : vrfName(network, gateway?.bridge),
    table: isDefaultNetwork ? MAIN_TABLE : routingTables + network.id,
    mark: packetMark(network.id),
  };
}

/** In the order in which they build on each other. */
const PARTS: readonly HostPart[] = [managementPort, vrf, sysctls, routes, neighbours, rules];

/** The host's side of a network that has a gateway: a port on it, and a VRF that keeps it apart from all others. */
export const hostOfNetwork = (settings: HostSettings): Feature<ZoneFacts> => {
  if (settings.routingTables < LOWEST_ROUTING_TABLE)
    throw new RangeError(`routing tables below ${LOWEST_ROUTING_TABLE} are other programs'`);
  return {
    name: 'host/network',
    over: ({ rendered }) => rendered,
    rules: Object.assign({}, ...PARTS.map((part) => part.rules)) as Record<string, Rule>,
    claims: MANAGEMENT_CLAIMS,
    subject: (_facts, [network]) => network,
    build(facts, [name = ''], out) {
      const network = facts.rendered.get(name);
      if (network === undefined || !hasGateway(network) || network.topology === 'localnet') return;
      const on = hostNetwork(facts, network, settings);
      if (on === undefined) {
        out.waitFor(`a subnet of network ${name} on node ${facts.nodeName}`);
        return;
      }
      const rows = new HostRows(out, network.object);
      for (const part of PARTS) part.build(rows, on);
    },
  };
};
