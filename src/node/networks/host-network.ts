/** A network as the host of this node sees it, worked out once for all parts. */
import { macOf, prefixLength } from '../../allocators/addresses.ts';
import type { Rule } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import type { ClusterSettings, Network, NodeGateway } from '../../model/model.ts';
import { isDefault, layer2Names, layer3Names } from '../../model/rules/names.ts';
import { layer2Ranges, nodeRanges, type PodRange } from '../../model/rules/network-addresses.ts';
import type { HostRows } from '../host-rows.ts';
import { managementDevice, vrfName } from '../names.ts';
import { MAIN_TABLE, packetMark } from '../numbers.ts';

export interface HostNetwork {
  readonly network: Network;
  readonly isDefault: boolean;
  readonly settings: ClusterSettings;
  readonly node: string;
  readonly gateway: NodeGateway | undefined;
  /** Empty while the node has no subnet of the network. */
  readonly ranges: readonly PodRange[];
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
  /** False where the kernel has no VRFs: primary networks then have flows on the external bridge, and nothing else on the host. */
  readonly hasVrfs: boolean;
}

/** Address of the host in a range, with prefix length. */
export const hostAddress = ({ management, cidr }: PodRange): string =>
  `${management}/${prefixLength(cidr)}`;

export function hostNetwork(
  facts: ZoneFacts,
  network: Network,
  { routingTables }: HostSettings,
): HostNetwork | undefined {
  const isLayer3 = network.topology === 'layer3';
  const ranges = isLayer3
    ? nodeRanges(facts.subnetsOn(network.name, facts.nodeName))
    : layer2Ranges(network);
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
    mac: announced ?? macOf(first.management),
    logicalPort: (isLayer3 ? layer3Names : layer2Names)(network.name, facts.nodeName)
      .managementPort,
    vrf: isDefaultNetwork ? undefined : vrfName(network, gateway?.bridge),
    table: isDefaultNetwork ? MAIN_TABLE : routingTables + network.id,
    mark: packetMark(network.id),
  };
}
