/**
 * Kinds of facts: validated, defaulted, immutable. Builders of rows and of host state take these values and nothing else.
 * Addresses are text in canonical form (RFC 5952), checked before they get here.
 */

import type { AclLogging } from '../api/annotations/acl-logging.ts';
import type { NetworkConfig } from '../api/nad/network-config.ts';

export type Topology = 'layer3' | 'layer2' | 'localnet';
export type Role = 'primary' | 'secondary';
export type GatewayMode = 'shared' | 'local';

/** Name of a network in the cluster: `default`, `<namespace>_<udn>` or `cluster_udn_<cudn>` (reference/topology.md §1.1). */
export type NetworkName = string & { readonly __brand: 'NetworkName' };

/** One value per address family; a family that is absent is not in use. */
export interface PerFamily<T> {
  readonly v4?: T;
  readonly v6?: T;
}

/** A pod subnet range of a network. */
export interface NetworkSubnet {
  /** Network address and prefix length, host bits cleared. */
  readonly cidr: string;
  /** Prefix length of one node's subnet; layer3 only. */
  readonly hostLength?: number;
}

/** The two addresses by which the host tells a network apart (reference/topology.md §2, "GRM / MPM"). */
export interface MasqueradePair {
  readonly gatewayRouter: string;
  readonly managementPort: string;
}

/** A network of the cluster: what its NAD says, and what was allocated for it. */
export interface Network extends NetworkConfig {
  readonly name: NetworkName;
  /** 0 is the cluster default network. */
  readonly id: number;
  /** By which the network has addresses of its own in the masquerade subnet of this node; absent where the node has not been given one. */
  readonly masqueradeNumber?: number;
  /** Join subnet per family, only for the families of `subnets`. */
  readonly joinSubnets: PerFamily<string>;
  /** Own masquerade addresses per family of `subnets`; absent for the default network. */
  readonly masquerade: PerFamily<MasqueradePair>;
  /** NAD keys `<namespace>/<name>` that stand for the network, sorted. Empty for the default network. */
  readonly nads: readonly string[];
  /** Of a secondary network whose NADs all ask for a gateway. */
  readonly isOptedIn?: true;
  /** Datapath tunnel keys from the NAD annotation `k8s.ovn.org/tunnel-keys`; empty for layer3 whose key follows from the id. */
  readonly tunnelKeys: readonly number[];
  /** The object for which the network is there: `UserDefinedNetwork blue/blue`; `cluster` for the default network. */
  readonly object: string;
}

/** The subnets of a network on a node. */
export interface NodeSubnet {
  /** One CIDR per family, v4 first. */
  readonly cidrs: readonly string[];
  /** Why they can't be read; `cidrs` says nothing then. */
  readonly unreadable?: string;
}

/** A namespace, as far as networks depend on it. */
export interface NamespaceFacts {
  readonly name: string;
  /** True for namespaces that ask for a primary network of their own (by label). */
  readonly isLabelled: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** What is logged of packets that policies of the namespace decide on. */
  readonly logging: AclLogging;
  /** True if its pods may send multicast to each other where multicast is denied otherwise. */
  readonly hasMulticast: boolean;
  /** It is being deleted, and this process has seen it before that, or not. */
  readonly ending?: 'seen' | 'unseen';
}

/** A pod of any node, as selectors and policies see it; none for pods on the host's network, and for those that ended. */
export interface PodFacts {
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Ports of its containers that can be meant by name. */
  readonly namedPorts: readonly NamedPort[];
}

/** A pod of this node that is being deleted. */
export interface EndingPod {
  readonly namespace: string;
  readonly name: string;
}

/** A pod of this node that shares the host's network. */
export interface HostNetworkPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface NamedPort {
  readonly name: string;
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly port: number;
}

/** What a node's `k8s.ovn.org/l3-gateway-config` says of its default network gateway (reference/api.md §7.1). */
export interface NodeGateway {
  readonly mode: GatewayMode;
  /** Name of the external bridge, e.g. `br-ex`. */
  readonly bridge: string;
  readonly macAddress: string;
  /** Addresses with prefix length, v4 first. */
  readonly addresses: readonly string[];
  readonly nextHops: readonly string[];
  readonly nodePortEnable: boolean;
  /** 0 = untagged. */
  readonly vlan: number;
}

/** Where a node is reached: nobody else may have these addresses. Without prefix lengths. */
export interface NodeAddresses {
  readonly name: string;
  /** By which others know it: in its status, of its gateway, of its tunnels. */
  readonly own: readonly string[];
  /** Every address of the host: beside its own also one that a program put there for a service. */
  readonly all: readonly string[];
  /** Its routers. */
  readonly nextHops: readonly string[];
}

/** A node as another zone sees it. */
export interface NodeFacts {
  readonly name: string;
  /** 2…5000 (0 and 1 are reserved). */
  readonly id: number;
  readonly chassisId: string;
  readonly encapIps: readonly string[];
  /** Transit switch address per family with prefix length, e.g. `100.88.0.2/16`. */
  readonly transitAddresses: PerFamily<string>;
  /** Every address of the host with prefix length (`k8s.ovn.org/host-cidrs`); empty if the node reports none. */
  readonly hostAddresses: readonly string[];
  /** Round of the process in which the node was first seen with its id, chassis and tunnel addresses; of another node only. */
  readonly since?: number;
}

/** The node whose zone is being built. */
export interface LocalNode extends NodeFacts {
  /** Absent when the node has no gateway (mode "" in the annotation). */
  readonly gateway?: NodeGateway;
  /** Primary address per family without prefix length. */
  readonly primaryAddresses: PerFamily<string>;
  /** False when the node reports that OVN must not check packet sizes (`k8s.ovn.org/gateway-mtu-support`). */
  readonly gatewayMtuSupport: boolean;
  /** Egress addresses that the node has told that it answers for. */
  readonly egressAddresses: readonly string[];
  /** MAC of the default network's management port, if the node announced one. */
  readonly managementPortMac?: string;
}

/** A service that pods of every primary network may reach through the default network (reference/api.md §12). */
export interface AllowedDefaultService {
  /** `<namespace>/<name>`. */
  readonly key: string;
  readonly clusterIps: readonly string[];
}

/** How nodes that may have egress addresses are asked whether they are well (docs/decisions/egress-health.md). */
interface EgressHealthSettings {
  /** Milliseconds that a node may be silent; 0: it is not asked. */
  readonly timeout: number;
  /** Where nodes answer; 0: it is enough that the node is there. */
  readonly port: number;
  /** Milliseconds that a node must have been well before addresses move there for balance; 0: none do. */
  readonly rebalanceDelay: number;
}

interface FeatureFlags {
  readonly egressIp: boolean;
  readonly egressFirewall: boolean;
  readonly egressService: boolean;
  readonly externalRoutes: boolean;
  readonly multicast: boolean;
}

/** How policies are carried out (reference/topology.md §16.1). */
interface PolicySettings {
  /** ICMP passes whatever policies say. */
  readonly passesIcmp: boolean;
  /** Policies may ask for rules without connection tracking. */
  readonly allowsStateless: boolean;
  /** OpenFlow flows that what one policy lets through may cost a node. */
  readonly mostFlows: number;
  /** OpenFlow flows that the rules of one EgressFirewall may cost a node on a network. */
  readonly mostFirewallFlows: number;
  /** OpenFlow flows that the rules of one EgressQoS or NetworkQoS may cost a node on a network. */
  readonly mostQosFlows: number;
}

/** What one service may cost every node, as load balancers and flows are made of it. */
export interface ServiceLimits {
  /** Addresses times ports. */
  readonly entries: number;
  /** Endpoints that are balanced over, counted once for each address and port that leads to them; a quarter of it is the most for one of these. */
  readonly targets: number;
  /** EndpointSlices, on each network. */
  readonly slices: number;
}

/** Settings of the whole cluster (reference/api.md §12). */
export interface ClusterSettings {
  readonly clusterSubnets: readonly NetworkSubnet[];
  readonly serviceSubnets: readonly string[];
  /** Join subnets of the cluster default network. */
  readonly joinSubnets: PerFamily<string>;
  /** Join subnets of user-defined networks that set none. */
  readonly udnJoinSubnets: PerFamily<string>;
  readonly transitSubnets: PerFamily<string>;
  readonly masqueradeSubnets: PerFamily<string>;
  readonly mtu: number;
  readonly features: FeatureFlags;
  readonly egressHealth: EgressHealthSettings;
  readonly policies: PolicySettings;
  /** e.g. `32768-60999`; empty leaves NAT.external_port_range empty. */
  readonly ephemeralPortRange: string;
  /** pktps of the `acl-logging` meter. */
  readonly aclLoggingRateLimit: number;
  /** `<namespace>/<name>` of services open to every primary network. */
  readonly allowedDefaultServices: readonly string[];
  /** Where external addresses of services have to be; empty: anywhere but where they take what is not theirs. */
  readonly serviceExternalRanges: readonly string[];
  /** Who is asked for names in rules of EgressFirewalls: a service (`<namespace>/<name>`), or addresses. */
  readonly dnsServers: string | readonly string[];
  /** Nodes forward what pods ask of that service, where rules of EgressFirewalls have names. */
  readonly forwardsDns: boolean;
  /** Pods of primary networks that ask for it are told the addresses of their own networks by DNS. */
  readonly networkNames: boolean;
  /** Secondary networks that ask for it have a gateway. */
  readonly secondaryGateways: boolean;
  /** Namespaces of the default network whose pods reach services of primary networks that let them in. */
  readonly defaultAccess: readonly string[];
  /** Domain of the names of services and pods, as kubelets have it (`clusterDomain`). */
  readonly clusterDomain: string;
  /** Hosts have VRFs: without them pods of primary networks reach no service of the default network. */
  readonly hasVrfs: boolean;
  readonly serviceLimits: ServiceLimits;
  /** Connections that one interface of a pod may have at a time, as OVN tracks them; 0: as many as its node's table holds. */
  readonly podConnections: number;
  /** Addresses and ranges from which packets to the port of tunnels are taken besides those of nodes, in canonical form; `any`: from everybody. */
  readonly tunnelSources: readonly string[] | 'any';
  /** Namespace of the NAD `default`, which pods name to ask something of their primary network. */
  readonly configNamespace: string;
}

/** What a pod of KubeVirt says of its virtual machine. */
export interface VirtualMachine {
  readonly name: string;
  /** True when the machine has moved into this pod and wants its traffic here. */
  readonly hasArrived: boolean;
}

/** What the annotation of a pod says of one interface. Whether that may be is decided by others. */
export interface PodInterface {
  readonly namespace: string;
  readonly pod: string;
  /** The node that the pod runs on. */
  readonly node: string;
  /** UID of the pod; `iface-id-ver` of its logical switch port. */
  readonly podUid: string;
  /** When the pod was created. */
  readonly created: string;
  /** `default`, or `<namespace>/<nad>` with `/<k>` for a repeated attachment. */
  readonly nadKey: string;
  readonly macAddress: string;
  /** With prefix length; empty without IPAM. */
  readonly addresses: readonly string[];
  /** Tunnel key of the port, the same in every zone; layer2 only. */
  readonly tunnelId?: number;
  /** Round of the process in which the pod was first seen with these addresses. */
  readonly since: number;
  /** The virtual machine that the pod runs. */
  readonly machine?: VirtualMachine;
  /** Ports of `k8s.ovn.org/open-default-ports`; only on the default network of a pod with a primary UDN. */
  readonly openDefaultPorts: readonly OpenPort[];
}

/** An interface that the pod may have, with the network that its NAD stands for, and what it is for the pod (reference/api.md §6.9). */
export interface Attachment extends PodInterface {
  readonly network: NetworkName;
  readonly role: 'primary' | 'secondary' | 'infrastructure-locked';
}

export interface OpenPort {
  readonly protocol: 'tcp' | 'udp' | 'sctp' | 'icmp';
  /** Absent for icmp. */
  readonly port?: number;
}
