/** Object types of the kinds that we read, as validation returns them: stored version, defaults filled in. */
import type { Condition, KubeObject } from './objects.ts';

export interface LabelSelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

/** metav1.LabelSelector; `{}` selects everything. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly LabelSelectorRequirement[];
}

export type NetworkRole = 'Primary' | 'Secondary';

export interface Layer3Subnet {
  readonly cidr: string;
  readonly hostSubnet?: number;
}

export interface Layer3Config {
  readonly role: NetworkRole;
  readonly mtu?: number;
  readonly subnets: readonly Layer3Subnet[];
  readonly joinSubnets?: readonly string[];
}

export interface IpamConfig {
  readonly mode?: 'Enabled' | 'Disabled';
  readonly lifecycle?: 'Persistent';
}

export interface Layer2Config {
  readonly role: NetworkRole;
  readonly mtu?: number;
  readonly subnets?: readonly string[];
  readonly excludeSubnets?: readonly string[];
  readonly reservedSubnets?: readonly string[];
  readonly infrastructureSubnets?: readonly string[];
  readonly defaultGatewayIPs?: readonly string[];
  readonly joinSubnets?: readonly string[];
  readonly ipam?: IpamConfig;
}

export interface LocalnetConfig {
  readonly role: 'Secondary';
  readonly physicalNetworkName: string;
  readonly subnets?: readonly string[];
  readonly excludeSubnets?: readonly string[];
  readonly ipam?: IpamConfig;
  readonly mtu?: number;
  readonly vlan?: { readonly mode: 'Access'; readonly access?: { readonly id: number } };
}

export interface Vrf {
  readonly vni: number;
  readonly routeTarget?: string;
}

export interface UserDefinedNetworkSpec {
  readonly topology: 'Layer2' | 'Layer3';
  readonly layer3?: Layer3Config;
  readonly layer2?: Layer2Config;
}

/** `spec.network` of a ClusterUserDefinedNetwork. */
export interface ClusterNetworkSpec {
  readonly topology: 'Layer2' | 'Layer3' | 'Localnet';
  readonly layer3?: Layer3Config;
  readonly layer2?: Layer2Config;
  readonly localnet?: LocalnetConfig;
  readonly transport?: 'NoOverlay' | 'EVPN';
  readonly noOverlay?: {
    readonly outboundSNAT: 'Enabled' | 'Disabled';
    readonly routing: 'Managed' | 'Unmanaged';
  };
  readonly evpn?: { readonly vtep: string; readonly macVRF?: Vrf; readonly ipVRF?: Vrf };
}

export interface NetworkStatus {
  readonly conditions?: readonly Condition[];
  /** Ranges that the network does not have; these alone may be removed again. */
  readonly refusedSubnets?: readonly string[];
}

export interface UserDefinedNetwork extends KubeObject {
  readonly kind: 'UserDefinedNetwork';
  readonly spec: UserDefinedNetworkSpec;
  readonly status?: NetworkStatus;
}

export interface ClusterUserDefinedNetwork extends KubeObject {
  readonly kind: 'ClusterUserDefinedNetwork';
  readonly spec: {
    readonly namespaceSelector: LabelSelector;
    readonly uplinks?: readonly string[];
    readonly network: ClusterNetworkSpec;
  };
  readonly status?: NetworkStatus & { readonly activeNamespaces?: readonly string[] };
}

export type NetworkSelectionType =
  | 'DefaultNetwork'
  | 'ClusterUserDefinedNetworks'
  | 'PrimaryUserDefinedNetworks'
  | 'SecondaryUserDefinedNetworks'
  | 'NetworkAttachmentDefinitions';

export interface NetworkSelector {
  readonly networkSelectionType: NetworkSelectionType;
  readonly clusterUserDefinedNetworkSelector?: { readonly networkSelector: LabelSelector };
  readonly primaryUserDefinedNetworkSelector?: { readonly namespaceSelector: LabelSelector };
}

export interface ConnectSubnet {
  readonly cidr: string;
  readonly networkPrefix: number;
}

export type ConnectivityType = 'PodNetwork' | 'ServiceNetwork' | 'ClusterIPServiceNetwork';

export interface ClusterNetworkConnect extends KubeObject {
  readonly kind: 'ClusterNetworkConnect';
  readonly spec: {
    readonly networkSelectors: readonly NetworkSelector[];
    readonly connectSubnets: readonly ConnectSubnet[];
    /** Read both through `connectivityOf`. */
    readonly connectivity?: readonly ConnectivityType[];
    readonly connectivityEnabled?: readonly ConnectivityType[];
  };
  readonly status?: {
    readonly status?: 'Success' | 'Failure';
    readonly conditions?: readonly Condition[];
  };
}

export interface NetworkAttachmentDefinition extends KubeObject {
  readonly kind: 'NetworkAttachmentDefinition';
  readonly spec?: { readonly config?: string };
}

export interface IPAMClaim extends KubeObject {
  readonly kind: 'IPAMClaim';
  readonly spec?: { readonly network: string; readonly interface: string };
  readonly status?: {
    readonly ips: readonly string[];
    readonly ownerPod?: { readonly name: string };
    readonly conditions?: readonly Condition[];
  };
}

export interface OVNSecondaryNetwork extends KubeObject {
  readonly kind: 'OVNSecondaryNetwork';
  readonly spec: {
    readonly subnet?: string;
    readonly hasExternalConnectivity?: boolean;
    readonly mtu?: number;
  };
  readonly status?: NetworkStatus;
}

export interface EgressIP extends KubeObject {
  readonly kind: 'EgressIP';
  readonly spec: {
    readonly egressIPs: readonly string[];
    readonly namespaceSelector: LabelSelector;
    readonly podSelector?: LabelSelector;
  };
  readonly status?: {
    readonly items: readonly { readonly node: string; readonly egressIP: string }[];
  };
}

export interface EgressFirewall extends KubeObject {
  readonly kind: 'EgressFirewall';
  readonly spec: {
    readonly egress: readonly {
      readonly type: string;
      readonly ports?: readonly { readonly protocol: string; readonly port: number }[];
      readonly to: {
        readonly cidrSelector?: string;
        readonly dnsName?: string;
        readonly nodeSelector?: LabelSelector;
      };
    }[];
  };
  readonly status?: { readonly status?: string; readonly messages?: readonly string[] };
}

export interface EgressQoS extends KubeObject {
  readonly kind: 'EgressQoS';
  readonly spec?: {
    readonly egress?: readonly {
      readonly dscp: number;
      readonly dstCIDR?: string;
      readonly podSelector?: LabelSelector;
    }[];
  };
  readonly status?: { readonly status?: string; readonly conditions?: readonly Condition[] };
}

export interface EgressService extends KubeObject {
  readonly kind: 'EgressService';
  readonly spec?: {
    readonly sourceIPBy?: 'LoadBalancerIP' | 'Network';
    readonly nodeSelector?: LabelSelector;
    readonly network?: string;
  };
  readonly status?: { readonly host: string };
}

export interface Namespace extends KubeObject {
  readonly kind: 'Namespace';
}

/** The part of a Node that we read; what a node knows of itself is in its annotations. */
export interface Node extends KubeObject {
  readonly kind: 'Node';
  readonly status?: {
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** A port that a container of a pod declares; one with a name can be meant by it. */
export interface ContainerPort {
  readonly name?: string;
  readonly containerPort: number;
  /** `TCP` where the pod says nothing. */
  readonly protocol: Protocol;
}

/** The part of a Pod that we read. */
export interface Pod extends KubeObject {
  readonly kind: 'Pod';
  readonly spec: {
    readonly nodeName?: string;
    readonly hostNetwork?: boolean;
    readonly containers?: readonly {
      readonly name?: string;
      readonly image?: string;
      readonly ports?: readonly ContainerPort[];
    }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly podIPs?: readonly { readonly ip: string }[];
  };
}

export type Protocol = 'TCP' | 'UDP' | 'SCTP';

export interface ServicePort {
  readonly name?: string;
  readonly protocol?: Protocol;
  readonly port: number;
  readonly nodePort?: number;
}

/** The part of a Service that we read. */
export interface Service extends KubeObject {
  readonly kind: 'Service';
  readonly spec: {
    readonly type?: string;
    /** Canonical addresses; empty for headless services and before allocation. */
    readonly clusterIPs: readonly string[];
    /** Canonical addresses. */
    readonly externalIPs?: readonly string[];
    readonly ports?: readonly ServicePort[];
    readonly externalTrafficPolicy?: string;
    readonly internalTrafficPolicy?: string;
    readonly sessionAffinity?: string;
    readonly sessionAffinityConfig?: { readonly clientIP?: { readonly timeoutSeconds?: number } };
    readonly publishNotReadyAddresses?: boolean;
    readonly healthCheckNodePort?: number;
  };
  readonly status?: {
    readonly loadBalancer?: {
      /** Canonical addresses. */
      readonly ingress?: readonly { readonly ip?: string; readonly ipMode?: string }[];
    };
  };
}

/** The part of a port rule that we read, as an API server stores it or as somebody wrote it: defaults may be missing. */
export interface NetworkPolicyPort {
  readonly protocol?: string;
  /** A number, or the name of a port of the pods that are reached. */
  readonly port?: number | string;
  readonly endPort?: number;
}

export interface IPBlock {
  readonly cidr: string;
  readonly except?: readonly string[];
}

export interface NetworkPolicyPeer {
  readonly podSelector?: LabelSelector;
  readonly namespaceSelector?: LabelSelector;
  readonly ipBlock?: IPBlock;
}

export interface NetworkPolicySpec {
  /** Absent in a MultiNetworkPolicy means every pod. */
  readonly podSelector?: LabelSelector;
  readonly policyTypes?: readonly string[];
  readonly ingress?: readonly {
    readonly ports?: readonly NetworkPolicyPort[];
    readonly from?: readonly NetworkPolicyPeer[];
  }[];
  readonly egress?: readonly {
    readonly ports?: readonly NetworkPolicyPort[];
    readonly to?: readonly NetworkPolicyPeer[];
  }[];
}

export interface NetworkPolicy extends KubeObject {
  readonly kind: 'NetworkPolicy';
  readonly spec: NetworkPolicySpec;
}

/** The same for interfaces on secondary networks; an annotation names their NADs. */
export interface MultiNetworkPolicy extends KubeObject {
  readonly kind: 'MultiNetworkPolicy';
  readonly spec: NetworkPolicySpec;
}

export interface EndpointConditions {
  readonly ready?: boolean;
  readonly serving?: boolean;
  readonly terminating?: boolean;
}

/** The part of an EndpointSlice that we read. */
export interface EndpointSlice extends KubeObject {
  readonly kind: 'EndpointSlice';
  readonly addressType?: string;
  readonly endpoints?:
    | readonly {
        /** Canonical addresses. */
        readonly addresses?: readonly string[];
        readonly conditions?: EndpointConditions;
        readonly nodeName?: string;
      }[]
    | null;
  readonly ports?:
    | readonly {
        readonly name?: string;
        readonly protocol?: Protocol;
        /** Absent: all ports. */
        readonly port?: number;
      }[]
    | null;
}

export interface PodsSelector {
  readonly namespaceSelector: LabelSelector;
  readonly podSelector: LabelSelector;
}

/** One of the three. */
export interface AdminPolicyPort {
  readonly portNumber?: { readonly protocol?: string; readonly port: number };
  readonly namedPort?: string;
  readonly portRange?: { readonly protocol?: string; readonly start: number; readonly end: number };
}

/** One of these; the last three only where pods send. */
export interface AdminPolicyPeer {
  readonly namespaces?: LabelSelector;
  readonly pods?: PodsSelector;
  readonly nodes?: LabelSelector;
  readonly networks?: readonly string[];
  readonly domainNames?: readonly string[];
}

export interface AdminPolicyRule {
  readonly name?: string;
  readonly action: 'Allow' | 'Deny' | 'Pass';
  readonly ports?: readonly AdminPolicyPort[];
}

export interface AdminPolicySpec {
  /** 0 comes first; absent in the baseline. */
  readonly priority?: number;
  readonly subject: { readonly namespaces?: LabelSelector; readonly pods?: PodsSelector };
  readonly ingress?: readonly (AdminPolicyRule & { readonly from: readonly AdminPolicyPeer[] })[];
  readonly egress?: readonly (AdminPolicyRule & { readonly to: readonly AdminPolicyPeer[] })[];
}

export interface AdminNetworkPolicy extends KubeObject {
  readonly kind: 'AdminNetworkPolicy';
  readonly spec: AdminPolicySpec;
}

export interface BaselineAdminNetworkPolicy extends KubeObject {
  readonly kind: 'BaselineAdminNetworkPolicy';
  readonly spec: AdminPolicySpec;
}
