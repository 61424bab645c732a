/** Zones to test with: two nodes and network `blue_blue`, as in the worked example of reference/topology.md §24. */

import { unknownOf } from '../../../src/model/zone/unknown.ts';
import {
  defaultNetwork as defaultNetworkOf,
  type NetworkDefinition,
  type NetworkRegistration,
} from '../../../src/model/read/networks.ts';
import { nadOfKey } from '../../../src/api/nad/nad-key.ts';
import type { HostPortRequests } from '../../../src/model/read/host-ports.ts';
import type { SliceFacts } from '../../../src/model/read/endpoint-slices.ts';
import type { SeenService } from '../../../src/model/rules/service-admission.ts';
import type { ServiceFacts } from '../../../src/model/read/services.ts';
import { keyText, type Key } from '../../../src/facts/keys.ts';
import type { PodNetworkRequests } from '../../../src/model/rules/pod-plan.ts';
import type { RenderingOptions } from '../../../src/model/zone/rendered-networks.ts';
import type { NodeLabels } from '../../../src/model/zone/nodes.ts';
import type { PodKey } from '../../../src/model/zone/pods.ts';
import { zoneFacts, type ZoneFacts } from '../../../src/model/zone/zone.ts';
import type { Connect } from '../../../src/model/read/connects.ts';
import type {
  AllowedDefaultService,
  Attachment,
  ClusterSettings,
  LocalNode,
  NamespaceFacts,
  Network,
  NetworkName,
  NodeFacts,
  NodeSubnet,
  HostNetworkPod,
  PodFacts,
} from '../../../src/model/model.ts';

import type { AdminPolicy } from '../../../src/model/read/admin-policies.ts';
import type { HostCard, HostVrf } from '../../../src/model/zone/host-routes.ts';
import type { EgressServiceFacts } from '../../../src/model/read/egress-services.ts';
import type { EgressIp, RequestedEgress } from '../../../src/model/read/egress-ips.ts';
import type { NodeGatewayMac } from '../../../src/model/read/nodes.ts';
import type { TrafficClass } from '../../../src/model/read/egress-traffic-classes.ts';
import type { ExternalRoute, GatewayPod } from '../../../src/model/read/external-routes.ts';
import type { Firewall } from '../../../src/model/read/egress-firewalls.ts';
import type { Policy } from '../../../src/model/read/policies.ts';
import type { Qos } from '../../../src/model/read/qos.ts';

/** A network, and its subnets by node. */
export interface ZoneNetwork extends Network {
  readonly nodeSubnets: ReadonlyMap<string, readonly string[]>;
  /** Namespaces whose primary network it is. */
  readonly namespaces: readonly string[];
  /** Its services are reached from the default network. */
  readonly letsDefaultIn?: boolean;
  /** Ranges for its services, as its NADs say them. */
  readonly servicePool?: string;
  /** A gateway of a secondary network, as its NADs ask for it. */
  readonly secondaryGateway?: string;
}

/** What a zone is to know, in one piece. */
export interface Zone {
  readonly settings: ClusterSettings;
  readonly node: LocalNode;
  readonly remoteNodes: readonly NodeFacts[];
  /** By which policies select nodes. */
  readonly nodeLabels?: readonly NodeLabels[];
  readonly namespaces: readonly string[];
  /** Those of them that ask for multicast. */
  readonly multicastNamespaces?: readonly string[];
  readonly networks: readonly ZoneNetwork[];
  readonly attachments: readonly Attachment[];
  /** Interfaces of other nodes' pods. */
  readonly remoteAttachments?: readonly Attachment[];
  readonly allowedDefaultServices: readonly AllowedDefaultService[];
  /** Pods of all nodes, as far as policies are to know their labels. */
  readonly pods?: readonly PodFacts[];
  readonly hostNetworkPods?: readonly HostNetworkPod[];
  /** Ports of the node that pods ask for. */
  readonly hostPortRequests?: readonly HostPortRequests[];
  readonly policies?: readonly Policy[];
  readonly firewalls?: readonly Firewall[];
  readonly egressIps?: readonly EgressIp[];
  readonly trafficClasses?: readonly TrafficClass[];
  readonly requestedEgress?: readonly RequestedEgress[];
  readonly gatewayMacs?: readonly NodeGatewayMac[];
  readonly hostCards?: readonly HostCard[];
  readonly hostVrfs?: readonly HostVrf[];
  readonly egressServices?: readonly EgressServiceFacts[];
  readonly externalRoutes?: readonly ExternalRoute[];
  readonly gatewayPods?: readonly GatewayPod[];
  readonly qoses?: readonly Qos[];
  readonly connects?: readonly Connect[];
  readonly admins?: readonly AdminPolicy[];
  readonly services?: readonly ServiceFacts[];
  /** Labels of the pods behind them, by their keys. */
  readonly selectors?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** NADs that they name as their network, by their keys. */
  readonly askedNetworks?: Readonly<Record<string, string>>;
  readonly endpointSlices?: readonly ZoneSlice[];
}

/** A slice of endpoints by its name. */
export interface ZoneSlice extends SliceFacts {
  readonly name: string;
}

export const CHASSIS_1 = 'c1111111-1111-4111-8111-111111111111';
export const CHASSIS_2 = 'c2222222-2222-4222-8222-222222222222';

export const networkName = (name: string): NetworkName => name as NetworkName;

export const ipv4Settings: ClusterSettings = {
  clusterSubnets: [{ cidr: '10.244.0.0/16', hostLength: 24 }],
  serviceSubnets: ['10.96.0.0/16'],
  joinSubnets: { v4: '100.64.0.0/16' },
  udnJoinSubnets: { v4: '100.65.0.0/16' },
  transitSubnets: { v4: '100.88.0.0/16' },
  masqueradeSubnets: { v4: '169.254.0.0/17' },
  mtu: 1400,
  features: {
    egressIp: true,
    egressFirewall: true,
    egressService: true,
    externalRoutes: true,
    multicast: false,
  },
  egressHealth: { timeout: 1000, port: 9107, rebalanceDelay: 0 },
  policies: {
    passesIcmp: false,
    allowsStateless: false,
    mostFlows: 10_000,
    mostFirewallFlows: 200_000,
    mostQosFlows: 100_000,
  },
  ephemeralPortRange: '32768-60999',
  aclLoggingRateLimit: 20,
  allowedDefaultServices: ['default/kubernetes', 'kube-system/kube-dns'],
  dnsServers: 'kube-system/kube-dns',
  forwardsDns: true,
  networkNames: false,
  secondaryGateways: true,
  defaultAccess: [],
  clusterDomain: 'cluster.local',
  hasVrfs: true,
  serviceExternalRanges: [],
  tunnelSources: [],
  serviceLimits: { entries: 1024, targets: 20_000, slices: 1000 },
  podConnections: 0,
  configNamespace: 'ovn-kubernetes',
};

const ipv6Settings: ClusterSettings = {
  ...ipv4Settings,
  clusterSubnets: [{ cidr: 'fd00:10:244::/48', hostLength: 64 }],
  serviceSubnets: ['fd00:10:96::/112'],
  joinSubnets: { v6: 'fd98::/64' },
  udnJoinSubnets: { v6: 'fd99::/64' },
  transitSubnets: { v6: 'fd97::/64' },
  masqueradeSubnets: { v6: 'fd69::/112' },
};

const dualSettings: ClusterSettings = {
  ...ipv4Settings,
  clusterSubnets: [...ipv4Settings.clusterSubnets, ...ipv6Settings.clusterSubnets],
  serviceSubnets: [...ipv4Settings.serviceSubnets, ...ipv6Settings.serviceSubnets],
  joinSubnets: { ...ipv4Settings.joinSubnets, ...ipv6Settings.joinSubnets },
  udnJoinSubnets: { ...ipv4Settings.udnJoinSubnets, ...ipv6Settings.udnJoinSubnets },
  transitSubnets: { ...ipv4Settings.transitSubnets, ...ipv6Settings.transitSubnets },
  masqueradeSubnets: { ...ipv4Settings.masqueradeSubnets, ...ipv6Settings.masqueradeSubnets },
};

export const worker: LocalNode = {
  name: 'ovn-worker',
  id: 2,
  chassisId: CHASSIS_1,
  encapIps: ['172.18.0.3'],
  transitAddresses: { v4: '100.88.0.2/16' },
  hostAddresses: ['172.18.0.3/16'],
  primaryAddresses: { v4: '172.18.0.3' },
  gatewayMtuSupport: true,
  egressAddresses: [],
  gateway: {
    mode: 'shared',
    bridge: 'breth0',
    macAddress: '0a:58:ac:12:00:03',
    addresses: ['172.18.0.3/16'],
    nextHops: ['172.18.0.1'],
    nodePortEnable: true,
    vlan: 0,
  },
};

export const worker2: NodeFacts = {
  name: 'ovn-worker2',
  id: 3,
  chassisId: CHASSIS_2,
  encapIps: ['172.18.0.4'],
  transitAddresses: { v4: '100.88.0.3/16' },
  hostAddresses: ['172.18.0.4/16'],
};

/** A further node of the cluster, with the id and addresses that follow from it. */
export const furtherNode = (id: number): NodeFacts => ({
  name: `node-${id}`,
  id,
  chassisId: `c${id}`,
  encapIps: [`172.19.${id >> 8}.${id & 255}`],
  transitAddresses: { v4: `100.88.${id >> 8}.${id & 255}/16` },
  hostAddresses: [`172.19.${id >> 8}.${id & 255}/16`],
});

export const defaultNetwork: ZoneNetwork = {
  ...defaultNetworkOf(ipv4Settings),
  namespaces: [],
  nodeSubnets: new Map([
    ['ovn-worker', ['10.244.0.0/24']],
    ['ovn-worker2', ['10.244.1.0/24']],
  ]),
};

export const blue: ZoneNetwork = {
  ...defaultNetwork,
  name: networkName('blue_blue'),
  id: 1,
  subnets: [{ cidr: '103.103.0.0/16', hostLength: 24 }],
  joinSubnets: { v4: '100.65.0.0/16' },
  masquerade: { v4: { gatewayRouter: '169.254.0.11', managementPort: '169.254.0.12' } },
  nads: ['blue/blue'],
  namespaces: ['blue'],
  nodeSubnets: new Map([
    ['ovn-worker', ['103.103.0.0/24']],
    ['ovn-worker2', ['103.103.1.0/24']],
  ]),
  object: 'UserDefinedNetwork blue/blue',
};

/** A primary Layer2 network: `cluster_udn_yellow-net` of reference/topology.md §1 and §2. */
export const yellow: ZoneNetwork = {
  ...blue,
  name: networkName('cluster_udn_yellow-net'),
  id: 3,
  topology: 'layer2',
  subnets: [{ cidr: '105.105.0.0/16' }],
  transitSubnets: { v4: '100.88.0.0/16' },
  masquerade: { v4: { gatewayRouter: '169.254.0.15', managementPort: '169.254.0.16' } },
  nads: ['yellow/yellow-net'],
  tunnelKeys: [16711686, 16715780],
  namespaces: ['yellow'],
  nodeSubnets: new Map(),
  object: 'ClusterUserDefinedNetwork yellow-net',
};

/** A second primary network of namespace blue, of Layer2. */
export const more: ZoneNetwork = {
  ...yellow,
  name: networkName('blue_more'),
  id: 9,
  subnets: [{ cidr: '109.109.0.0/16' }],
  masquerade: { v4: { gatewayRouter: '169.254.0.27', managementPort: '169.254.0.28' } },
  nads: ['blue/more'],
  tunnelKeys: [16711692, 16715786],
  namespaces: ['blue'],
  object: 'UserDefinedNetwork blue/more',
};

export const layer2Secondary: ZoneNetwork = {
  ...yellow,
  name: networkName('blue_l2'),
  id: 4,
  role: 'secondary',
  subnets: [{ cidr: '10.40.0.0/16' }],
  transitSubnets: {},
  joinSubnets: {},
  masquerade: {},
  nads: ['blue/l2'],
  tunnelKeys: [],
  namespaces: [],
  object: 'UserDefinedNetwork blue/l2',
};

export const localnet: ZoneNetwork = {
  ...layer2Secondary,
  name: networkName('blue_ln'),
  id: 5,
  topology: 'localnet',
  subnets: [{ cidr: '10.50.0.0/16' }],
  excludeSubnets: ['10.50.0.0/24'],
  physicalNetworkName: 'tenants',
  vlan: 50,
  nads: ['blue/ln'],
  object: 'NetworkAttachmentDefinition blue/ln',
};

/** The network of OVNSecondaryNetwork blue/overlay, with one IPv6 subnet. */
export const overlay: ZoneNetwork = {
  ...layer2Secondary,
  name: networkName('secondary_blue_overlay'),
  id: 6,
  subnets: [{ cidr: 'fd20:60::/64' }],
  mtu: 1300,
  nads: ['blue/overlay'],
  object: 'OVNSecondaryNetwork blue/overlay',
};

/** That of OVNSecondaryNetwork blue/underlay: on the underlay, with an IPv4 subnet. */
export const underlay: ZoneNetwork = {
  ...overlay,
  name: networkName('secondary_blue_underlay'),
  id: 7,
  topology: 'localnet',
  subnets: [{ cidr: '10.70.0.0/16' }],
  physicalNetworkName: 'physnet',
  nads: ['blue/underlay'],
  object: 'OVNSecondaryNetwork blue/underlay',
};

export const exampleZone: Zone = {
  settings: ipv4Settings,
  node: worker,
  remoteNodes: [worker2],
  namespaces: ['blue', 'default', 'kube-system'],
  networks: [defaultNetwork, blue],
  attachments: [],
  allowedDefaultServices: [
    { key: 'default/kubernetes', clusterIps: ['10.96.0.1'] },
    { key: 'kube-system/kube-dns', clusterIps: ['10.96.0.10'] },
  ],
};

/** A second network, of several namespaces. */
export const green: ZoneNetwork = {
  ...blue,
  name: networkName('cluster_udn_green-net'),
  id: 3,
  subnets: [
    { cidr: '104.104.0.0/16', hostLength: 24 },
    { cidr: '105.0.0.0/16', hostLength: 24 },
  ],
  masquerade: { v4: { gatewayRouter: '169.254.0.15', managementPort: '169.254.0.16' } },
  nads: ['green/green-net'],
  namespaces: ['green'],
  object: 'ClusterUserDefinedNetwork green-net',
  nodeSubnets: new Map([
    ['ovn-worker', ['104.104.0.0/24']],
    ['ovn-worker2', ['104.104.1.0/24']],
  ]),
};

/** A connection of both. */
export const colored: Connect = {
  name: 'colored-net',
  isAccepted: true,
  tunnelKey: 16715782,
  ranges: [{ cidr: '192.168.0.0/16', networkPrefix: 24 }],
  hasPods: true,
  hasServices: false,
  members: [
    { networkId: 1, topology: 'layer3', subnets: ['192.168.0.0/24'] },
    { networkId: 3, topology: 'layer3', subnets: ['192.168.1.0/24'] },
  ],
  bridged: [],
};

export const connectedZone: Zone = {
  ...exampleZone,
  networks: [...exampleZone.networks, green],
  connects: [colored],
};

/** The example with addresses of both families. */
export const dualZone: Zone = {
  ...exampleZone,
  settings: dualSettings,
  node: {
    ...worker,
    transitAddresses: { v4: '100.88.0.2/16', v6: 'fd97::2/64' },
    hostAddresses: ['172.18.0.3/16', 'fc00:f853::3/64'],
    primaryAddresses: { v4: '172.18.0.3', v6: 'fc00:f853::3' },
    gateway: {
      ...(worker.gateway as NonNullable<LocalNode['gateway']>),
      addresses: ['172.18.0.3/16', 'fc00:f853::3/64'],
      nextHops: ['172.18.0.1', 'fc00:f853::1'],
    },
  },
  remoteNodes: [
    {
      ...worker2,
      transitAddresses: { v4: '100.88.0.3/16', v6: 'fd97::3/64' },
      hostAddresses: ['172.18.0.4/16', 'fc00:f853::4/64'],
    },
  ],
  networks: [
    {
      ...defaultNetwork,
      subnets: dualSettings.clusterSubnets,
      joinSubnets: dualSettings.joinSubnets,
      nodeSubnets: new Map([
        ['ovn-worker', ['10.244.0.0/24', 'fd00:10:244::/64']],
        ['ovn-worker2', ['10.244.1.0/24', 'fd00:10:244:1::/64']],
      ]),
    },
    {
      ...blue,
      subnets: [...blue.subnets, { cidr: 'fd20:103::/48', hostLength: 64 }],
      joinSubnets: { v4: '100.65.0.0/16', v6: 'fd99::/64' },
      masquerade: {
        ...blue.masquerade,
        v6: { gatewayRouter: 'fd69::b', managementPort: 'fd69::c' },
      },
      nodeSubnets: new Map([
        ['ovn-worker', ['103.103.0.0/24', 'fd20:103:0:1::/64']],
        ['ovn-worker2', ['103.103.1.0/24', 'fd20:103:0:2::/64']],
      ]),
    },
  ],
  allowedDefaultServices: [
    { key: 'default/kubernetes', clusterIps: ['10.96.0.1', 'fd00:10:96::1'] },
    { key: 'kube-system/kube-dns', clusterIps: ['10.96.0.10', 'fd00:10:96::a'] },
  ],
};

/** The example with IPv6 only. */
export const ipv6Zone: Zone = {
  ...dualZone,
  settings: ipv6Settings,
  node: {
    ...dualZone.node,
    transitAddresses: { v6: 'fd97::2/64' },
    hostAddresses: ['fc00:f853::3/64'],
    primaryAddresses: { v6: 'fc00:f853::3' },
    gateway: {
      ...(worker.gateway as NonNullable<LocalNode['gateway']>),
      addresses: ['fc00:f853::3/64'],
      nextHops: ['fc00:f853::1'],
    },
  },
  remoteNodes: [
    { ...worker2, transitAddresses: { v6: 'fd97::3/64' }, hostAddresses: ['fc00:f853::4/64'] },
  ],
  networks: [
    {
      ...defaultNetwork,
      subnets: ipv6Settings.clusterSubnets,
      joinSubnets: ipv6Settings.joinSubnets,
      nodeSubnets: new Map([
        ['ovn-worker', ['fd00:10:244::/64']],
        ['ovn-worker2', ['fd00:10:244:1::/64']],
      ]),
    },
    {
      ...blue,
      subnets: [{ cidr: 'fd20:103::/48', hostLength: 64 }],
      joinSubnets: { v6: 'fd99::/64' },
      masquerade: { v6: { gatewayRouter: 'fd69::b', managementPort: 'fd69::c' } },
      nodeSubnets: new Map([
        ['ovn-worker', ['fd20:103:0:1::/64']],
        ['ovn-worker2', ['fd20:103:0:2::/64']],
      ]),
    },
  ],
  allowedDefaultServices: [{ key: 'default/kubernetes', clusterIps: ['fd00:10:96::1'] }],
};

/** Network yellow-net with addresses of both families. */
export const dualYellow: ZoneNetwork = {
  ...yellow,
  subnets: [...yellow.subnets, { cidr: 'fd20:105::/64' }],
  joinSubnets: { v4: '100.65.0.0/16', v6: 'fd99::/64' },
  transitSubnets: { v4: '100.88.0.0/16', v6: 'fd97::/64' },
  masquerade: {
    ...yellow.masquerade,
    v6: { gatewayRouter: 'fd69::f', managementPort: 'fd69::10' },
  },
};

/** The same zone in local gateway mode. */
export const inLocalMode = (zone: Zone): Zone => ({
  ...zone,
  node: {
    ...zone.node,
    ...(zone.node.gateway === undefined
      ? {}
      : { gateway: { ...zone.node.gateway, mode: 'local' as const } }),
  },
});

/** pod1 of namespace blue: its port on network blue, and that on the default network. */
export const bluePod: Attachment = {
  namespace: 'blue',
  pod: 'pod1',
  node: 'ovn-worker',
  podUid: 'b7a2d6c0-0000-4000-8000-000000000001',
  created: '2026-01-01T00:00:00Z',
  since: 0,
  network: blue.name,
  nadKey: 'blue/blue',
  role: 'primary',
  macAddress: '0a:58:67:67:00:03',
  addresses: ['103.103.0.3/24'],
  openDefaultPorts: [],
};

/** A pod of namespace yellow on network yellow-net. */
export const yellowPod: Attachment = {
  ...bluePod,
  namespace: 'yellow',
  pod: 'pod2',
  network: yellow.name,
  nadKey: 'yellow/yellow-net',
  macAddress: '0a:58:69:69:00:03',
  addresses: ['105.105.0.3/16'],
  tunnelId: 10,
};

/** One of node ovn-worker2 on the same network. */
export const farYellowPod: Attachment = {
  ...yellowPod,
  pod: 'far',
  node: 'ovn-worker2',
  macAddress: '0a:58:69:69:00:04',
  addresses: ['105.105.0.4/16'],
  tunnelId: 11,
};

/** A pod of namespace blue on its second primary network. */
export const morePod: Attachment = {
  ...yellowPod,
  namespace: 'blue',
  pod: 'pod3',
  network: more.name,
  nadKey: 'blue/more',
  macAddress: '0a:58:6d:6d:00:03',
  addresses: ['109.109.0.3/16'],
};

/** One of node ovn-worker2 on the same network. */
export const farMorePod: Attachment = {
  ...morePod,
  pod: 'far3',
  node: 'ovn-worker2',
  macAddress: '0a:58:6d:6d:00:04',
  addresses: ['109.109.0.4/16'],
  tunnelId: 11,
};

/** pod1 of namespace blue on network overlay. */
export const overlayPod: Attachment = {
  ...bluePod,
  network: overlay.name,
  nadKey: 'blue/overlay',
  role: 'secondary',
  macAddress: '0a:58:3e:11:22:33',
  addresses: ['fd20:60::5/64'],
  tunnelId: 1,
};

export const bluePodDefault: Attachment = {
  ...bluePod,
  network: defaultNetwork.name,
  nadKey: 'default',
  role: 'infrastructure-locked',
  macAddress: '0a:58:0a:f4:00:03',
  addresses: ['10.244.0.3/24'],
};

/** Facts of a zone, up to date. Networks are rendered whether a pod uses them or not, unless `options` say otherwise. */
export function factsOf(
  zone: Zone,
  options: RenderingOptions = { renderEverywhere: true },
): ZoneFacts {
  const facts = zoneFacts(zone.node.name, zone.settings, options);
  putZone(facts, undefined, zone);
  facts.refresh(0);
  return facts;
}

/** Makes facts that say what zone `before` says say what `after` says. */
export function putZone(facts: ZoneFacts, before: Zone | undefined, after: Zone): void {
  facts.self.put(after.node.name, after.node);
  replace(facts.nodes, before?.remoteNodes, after.remoteNodes, ({ name }) => name);
  replace(facts.nodeLabels, before?.nodeLabels, after.nodeLabels ?? [], ({ name }) => name);
  replace(
    facts.namespaces,
    before === undefined ? undefined : namespacesOf(before),
    namespacesOf(after),
    ({ name }) => name,
  );
  replace(
    facts.definitions,
    before && definitionsOf(before),
    definitionsOf(after),
    ({ key }) => key,
  );
  replace(
    facts.registrations,
    before && registrationsOf(before),
    registrationsOf(after),
    ({ config }) => config.name,
  );
  replace(facts.nodeSubnets, before && subnetsOf(before), subnetsOf(after), (subnet) => subnet.key);
  replace(
    facts.networkRequests,
    before && networkRequestsOf(before),
    networkRequestsOf(after),
    ({ namespace, pod }) => [namespace, pod],
  );
  replace(
    facts.interfaces,
    before?.attachments,
    after.attachments,
    ({ namespace, pod, nadKey }) => [namespace, pod, nadKey],
  );
  if (after.pods !== undefined) {
    facts.otherPods.want('test', true);
    facts.otherPods.known();
  }
  const named = ({ namespace, name }: { namespace: string; name: string }): PodKey => [
    namespace,
    name,
  ];
  replace(facts.pods, before?.pods, after.pods ?? [], named);
  replace(facts.hostNetworkPods, before?.hostNetworkPods, after.hostNetworkPods ?? [], named);
  replace(facts.hostPortRequests, before?.hostPortRequests, after.hostPortRequests ?? [], named);
  replace(facts.admins, before?.admins, after.admins ?? [], ({ kind, name }) => [kind, name]);
  replace(facts.policies, before?.policies, after.policies ?? [], ({ namespace, name, kind }) => [
    namespace,
    name,
    kind,
  ]);
  replace(facts.firewalls, before?.firewalls, after.firewalls ?? [], named);
  replace(facts.hostCards, before?.hostCards, after.hostCards ?? [], ({ device }) => device);
  replace(facts.hostVrfs, before?.hostVrfs, after.hostVrfs ?? [], ({ device }) => device);
  replace(facts.egressIps, before?.egressIps, after.egressIps ?? [], ({ name }) => name);
  replace(
    facts.trafficClasses,
    before?.trafficClasses,
    after.trafficClasses ?? [],
    ({ name }) => name,
  );
  replace(
    facts.requestedEgress,
    before?.requestedEgress,
    after.requestedEgress ?? [],
    ({ name }) => name,
  );
  replace(facts.gatewayMacs, before?.gatewayMacs, after.gatewayMacs ?? [], ({ name }) => name);
  replace(facts.egressServices, before?.egressServices, after.egressServices ?? [], (one) => [
    one.namespace,
    one.name,
  ]);
  replace(
    facts.externalRoutes,
    before?.externalRoutes,
    after.externalRoutes ?? [],
    ({ name }) => name,
  );
  replace(facts.gatewayPods, before?.gatewayPods, after.gatewayPods ?? [], named);
  replace(facts.qoses, before?.qoses, after.qoses ?? [], ({ kind, namespace, name }) => [
    kind,
    namespace,
    name,
  ]);
  replace(facts.connects, before?.connects, after.connects ?? [], ({ name }) => name);
  replace(
    facts.remoteInterfaces,
    before?.remoteAttachments,
    after.remoteAttachments ?? [],
    ({ namespace, pod, nadKey }) => [namespace, pod, nadKey],
  );
  replace(
    facts.enabledServices,
    before?.allowedDefaultServices,
    after.allowedDefaultServices,
    ({ key }) => key,
  );
  const declared = (zone: Zone | undefined): SeenService[] =>
    (zone?.services ?? []).map((service) => ({
      facts: service,
      ...(zone?.askedNetworks?.[service.key] === undefined
        ? {}
        : { askedNetwork: zone.askedNetworks[service.key] }),
      ingress: service.isLoadBalancer ? service.externalIps : [],
      selector: zone?.selectors?.[service.key] ?? {},
      created: '',
      since: {},
    }));
  replace(facts.declaredServices, declared(before), declared(after), (one) => one.facts.key);
  replace(facts.endpointSlices, before && slicesOf(before), slicesOf(after), ({ key }) => key);
}

function replace<K extends string | Key, V, W extends V>(
  table: { put(key: K, value: V): unknown; delete(key: K): unknown },
  before: readonly W[] | undefined,
  after: readonly W[],
  keyOf: (value: W) => K,
): void {
  const keys = new Set(after.map((value) => keyText(keyOf(value))));
  for (const value of before ?? []) {
    const key = keyOf(value);
    if (!keys.has(keyText(key))) table.delete(key);
  }
  for (const value of after) table.put(keyOf(value), value);
}

const namespacesOf = (zone: Zone): NamespaceFacts[] => {
  const labelled = new Set(zone.networks.flatMap(({ namespaces }) => namespaces));
  return zone.namespaces.map((name) => ({
    name,
    isLabelled: labelled.has(name),
    labels: {},
    logging: {},
    hasMulticast: zone.multicastNamespaces?.includes(name) === true,
  }));
};

/** Pods that ask for what they are attached to. */
const networkRequestsOf = ({
  attachments,
  remoteAttachments = [],
}: Zone): (PodNetworkRequests & { readonly pod: string })[] =>
  [
    ...Map.groupBy([...attachments, ...remoteAttachments], ({ namespace, pod }) =>
      keyText([namespace, pod]),
    ).values(),
  ].map((ofPod) => ({
    namespace: ofPod[0]?.namespace ?? '',
    pod: ofPod[0]?.pod ?? '',
    selections: ofPod
      .filter(({ role }) => role === 'secondary')
      .map(({ nadKey }) => {
        const [namespace = '', name = ''] = nadKey.split('/');
        return { namespace, name, nadKey, interfaceName: 'net1', ips: [], defaultRoute: [] };
      }),
    unreadable: undefined,
    selected: undefined,
    primaryClaim: undefined,
    carried: ofPod.map(({ nadKey }) => nadKey),
  }));

/** NADs of each network; NADs of pods that no network lists stand for the pod's network. */
const definitionsOf = (zone: Zone): (NetworkDefinition & { readonly key: string })[] =>
  zone.networks
    .filter(({ id }) => id !== 0)
    .flatMap(({ name, nads, object, letsDefaultIn, servicePool, secondaryGateway }) => {
      const ofPods = [...zone.attachments, ...(zone.remoteAttachments ?? [])]
        .filter(({ network }) => network === name)
        .map(({ nadKey }) => nadOfKey(nadKey));
      return [...new Set([...nads, ...ofPods])].map((key) => ({
        key,
        network: name,
        namespace: key.split('/')[0] ?? '',
        labels: {
          network: name,
          ...(letsDefaultIn === true ? { 'k8s.ovn.org/default-network-access': 'true' } : {}),
        },
        servicePool,
        secondaryGateway,
        isOfCluster: object.startsWith('ClusterUserDefinedNetwork '),
      }));
    });

const registrationsOf = (zone: Zone): NetworkRegistration[] =>
  zone.networks
    .filter(({ id }) => id !== 0)
    .map(
      ({
        nodeSubnets: _subnets,
        namespaces: _namespaces,
        letsDefaultIn: _open,
        servicePool: _pool,
        secondaryGateway: _gateway,
        ...config
      }) => ({
        ...config,
        config,
        isOnDemand: false,
        created: '',
        since: 0,
      }),
    );

const slicesOf = (zone: Zone): (SliceFacts & { readonly key: string })[] =>
  (zone.endpointSlices ?? []).map(({ name, ...slice }) => ({ ...slice, key: name }));

const subnetsOf = (
  zone: Zone,
): (NodeSubnet & { readonly key: [network: string, node: string] })[] =>
  zone.networks.flatMap(({ name, nodeSubnets }) =>
    [...nodeSubnets].map(([node, cidrs]) => ({ key: [name, node], cidrs })),
  );

/** True when nothing is left that rows which nobody wants may be there for. */
export const isAllKnown = (facts: ZoneFacts): boolean => unknownOf(facts, []) === undefined;
