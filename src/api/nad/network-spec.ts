/** One shape for the spec of every object that asks for a network. */
import type { NetworkTopology } from './network-config.ts';
import { type Result, fail, succeed } from '../result.ts';
import { clusterNetworkName, networkName, ovnSecondaryNetworkName } from './network-name.ts';
import type {
  ClusterNetworkSpec,
  ClusterUserDefinedNetwork,
  IpamConfig,
  OVNSecondaryNetwork,
  UserDefinedNetwork,
  Vrf,
} from '../types.ts';

/** Objects from which NADs are made. */
export type NetworkObject = UserDefinedNetwork | ClusterUserDefinedNetwork | OVNSecondaryNetwork;

/** What the user wrote; nothing is filled in. */
export interface NetworkSpec {
  /** Name of the network in the cluster. */
  readonly network: string;
  readonly topology: NetworkTopology;
  readonly role: 'primary' | 'secondary';
  readonly mtu?: number;
  /** `cidr`, or `cidr/hostSubnet` for layer3. */
  readonly subnets: readonly string[];
  readonly excludeSubnets: readonly string[];
  readonly reservedSubnets: readonly string[];
  readonly infrastructureSubnets: readonly string[];
  readonly defaultGatewayIPs: readonly string[];
  readonly joinSubnets: readonly string[];
  readonly ipamMode: 'Enabled' | 'Disabled';
  readonly ipamLifecycle?: 'Persistent';
  readonly physicalNetworkName?: string;
  readonly vlan?: number;
  readonly transport?: 'no-overlay' | 'evpn';
  readonly outboundSnat?: 'enabled' | 'disabled';
  readonly evpn?: { readonly vtep: string; readonly macVrf?: Vrf; readonly ipVrf?: Vrf };
  readonly uplink?: string;
}

/** Bridge mapping of the node's own external bridge, which exists on every node. */
const DEFAULT_PHYSICAL_NETWORK = 'physnet';

const NOTHING = {
  subnets: [],
  excludeSubnets: [],
  reservedSubnets: [],
  infrastructureSubnets: [],
  defaultGatewayIPs: [],
  joinSubnets: [],
  ipamMode: 'Enabled',
} as const;

const ipamOf = (ipam: IpamConfig | undefined): Pick<NetworkSpec, 'ipamMode' | 'ipamLifecycle'> => ({
  ipamMode: ipam?.mode ?? 'Enabled',
  ...(ipam?.lifecycle === undefined ? {} : { ipamLifecycle: ipam.lifecycle }),
});

const mtuOf = (mtu: number | undefined): Pick<NetworkSpec, 'mtu'> =>
  mtu === undefined || mtu === 0 ? {} : { mtu };

const roleOf = (role: string): NetworkSpec['role'] =>
  role === 'Primary' ? 'primary' : 'secondary';

const missing = (topology: string): Result<NetworkSpec> =>
  fail(
    `invalid topology specified: topology ${topology} is specified but ${topology} config is nil`,
  );

function sectionOf(network: string, spec: ClusterNetworkSpec): Result<NetworkSpec> {
  if (spec.topology === 'Layer3') {
    if (spec.layer3 === undefined) return missing(spec.topology);
    const { role, mtu, subnets, joinSubnets } = spec.layer3;
    return succeed({
      ...NOTHING,
      network,
      topology: 'layer3',
      role: roleOf(role),
      ...mtuOf(mtu),
      subnets: subnets.map(({ cidr, hostSubnet }) =>
        hostSubnet === undefined || hostSubnet === 0 ? cidr : `${cidr}/${hostSubnet}`,
      ),
      joinSubnets: joinSubnets ?? [],
    });
  }
  if (spec.topology === 'Layer2') {
    if (spec.layer2 === undefined) return missing(spec.topology);
    const { role, mtu, ipam, ...lists } = spec.layer2;
    return succeed({
      ...NOTHING,
      ...lists,
      network,
      topology: 'layer2',
      role: roleOf(role),
      ...mtuOf(mtu),
      ...ipamOf(ipam),
    });
  }
  if (spec.localnet === undefined) return missing(spec.topology);
  const { role, mtu, ipam, vlan, physicalNetworkName, ...lists } = spec.localnet;
  return succeed({
    ...NOTHING,
    ...lists,
    network,
    topology: 'localnet',
    role: roleOf(role),
    ...mtuOf(mtu),
    ...ipamOf(ipam),
    physicalNetworkName,
    ...(vlan?.access === undefined ? {} : { vlan: vlan.access.id }),
  });
}

function clusterSpec(object: ClusterUserDefinedNetwork): Result<NetworkSpec> {
  const { network, uplinks } = object.spec;
  const section = sectionOf(clusterNetworkName(object.metadata.name), network);
  if (section.kind === 'invalid') return section;
  const { transport, noOverlay, evpn } = network;
  return succeed({
    ...section.value,
    ...(transport === undefined ? {} : { transport: transport === 'EVPN' ? 'evpn' : 'no-overlay' }),
    ...(noOverlay === undefined
      ? {}
      : { outboundSnat: noOverlay.outboundSNAT === 'Enabled' ? 'enabled' : 'disabled' }),
    ...(evpn === undefined
      ? {}
      : {
          evpn: {
            vtep: evpn.vtep,
            ...(evpn.macVRF === undefined ? {} : { macVrf: evpn.macVRF }),
            ...(evpn.ipVRF === undefined ? {} : { ipVrf: evpn.ipVRF }),
          },
        }),
    ...(uplinks?.[0] === undefined ? {} : { uplink: uplinks[0] }),
  });
}

/** The network that an object declares, or why its spec declares none. */
export function networkSpecOf(object: NetworkObject): Result<NetworkSpec> {
  const { name, namespace = '' } = object.metadata;
  switch (object.kind) {
    case 'UserDefinedNetwork':
      return sectionOf(networkName(namespace, name), object.spec);
    case 'ClusterUserDefinedNetwork':
      return clusterSpec(object);
    case 'OVNSecondaryNetwork': {
      const { subnet, hasExternalConnectivity, mtu } = object.spec;
      const subnets = subnet === undefined || subnet === '' ? [] : [subnet];
      return succeed({
        ...NOTHING,
        network: ovnSecondaryNetworkName(namespace, name),
        topology: hasExternalConnectivity === true ? 'localnet' : 'layer2',
        role: 'secondary',
        ...mtuOf(mtu),
        subnets,
        ipamMode: subnets.length === 0 ? 'Disabled' : 'Enabled',
        ...(hasExternalConnectivity === true
          ? { physicalNetworkName: DEFAULT_PHYSICAL_NETWORK }
          : {}),
      });
    }
  }
}
