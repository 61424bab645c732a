/**
 * Object types of the kinds that we read, as validation returns them: stored version, defaults filled in. Those of our own definitions come
 * from schemas/crds.
 */
import type {
  AdminPolicyBasedExternalRouteFields,
  ClusterNetworkConnectFields,
  ClusterUserDefinedNetworkFields,
  EgressFirewallFields,
  EgressIPFields,
  EgressQoSFields,
  EgressServiceFields,
  EgressTrafficClassFields,
  IPAMClaimFields,
  NetworkAttachmentDefinitionFields,
  NetworkConnectFields,
  NetworkQoSFields,
  OVNSecondaryNetworkFields,
  UserDefinedNetworkFields,
} from './kinds.generated.ts';
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

/** A part of a kind that an object may lack. */
type Part<T> = NonNullable<T>;

export type UserDefinedNetworkSpec = UserDefinedNetworkFields['spec'];
/** `spec.network` of a ClusterUserDefinedNetwork. */
export type ClusterNetworkSpec = ClusterUserDefinedNetworkFields['spec']['network'];
export type Layer3Config = Part<ClusterNetworkSpec['layer3']>;
export type Layer3Subnet = Layer3Config['subnets'][number];
type Layer2Config = Part<ClusterNetworkSpec['layer2']>;
export type IpamConfig = Part<Layer2Config['ipam']>;
export type Vrf = Part<Part<ClusterNetworkSpec['evpn']>['macVRF']>;

export interface UserDefinedNetwork extends KubeObject {
  readonly kind: 'UserDefinedNetwork';
  readonly spec: UserDefinedNetworkSpec;
  readonly status?: Part<UserDefinedNetworkFields['status']>;
}

export interface ClusterUserDefinedNetwork extends KubeObject {
  readonly kind: 'ClusterUserDefinedNetwork';
  readonly spec: ClusterUserDefinedNetworkFields['spec'];
  readonly status?: Part<ClusterUserDefinedNetworkFields['status']>;
}

export interface ClusterNetworkConnect extends KubeObject {
  readonly kind: 'ClusterNetworkConnect';
  /** `connectivity` and `connectivityEnabled` are read through `connectivityOf`. */
  readonly spec: ClusterNetworkConnectFields['spec'];
  readonly status?: Part<ClusterNetworkConnectFields['status']>;
}

/** A tenant's half of a connection. */
export interface NetworkConnect extends KubeObject {
  readonly kind: 'NetworkConnect';
  readonly spec: NetworkConnectFields['spec'];
  readonly status?: Part<NetworkConnectFields['status']>;
}

export interface NetworkAttachmentDefinition extends KubeObject {
  readonly kind: 'NetworkAttachmentDefinition';
  readonly spec?: Part<NetworkAttachmentDefinitionFields['spec']>;
}

export interface IPAMClaim extends KubeObject {
  readonly kind: 'IPAMClaim';
  readonly spec?: Part<IPAMClaimFields['spec']>;
  readonly status?: Part<IPAMClaimFields['status']>;
}

export interface OVNSecondaryNetwork extends KubeObject {
  readonly kind: 'OVNSecondaryNetwork';
  readonly spec: OVNSecondaryNetworkFields['spec'];
  readonly status?: Part<OVNSecondaryNetworkFields['status']>;
}

export interface EgressIP extends KubeObject {
  readonly kind: 'EgressIP';
  readonly spec: EgressIPFields['spec'];
  readonly status?: Part<EgressIPFields['status']>;
}

export interface EgressTrafficClass extends KubeObject {
  readonly kind: 'EgressTrafficClass';
  readonly spec: EgressTrafficClassFields['spec'];
}

export interface EgressFirewall extends KubeObject {
  readonly kind: 'EgressFirewall';
  readonly spec: EgressFirewallFields['spec'];
  readonly status?: Part<EgressFirewallFields['status']>;
}

export interface EgressQoS extends KubeObject {
  readonly kind: 'EgressQoS';
  readonly spec?: Part<EgressQoSFields['spec']>;
  readonly status?: Part<EgressQoSFields['status']>;
}

export interface NetworkQoS extends KubeObject {
  readonly kind: 'NetworkQoS';
  readonly spec?: Part<NetworkQoSFields['spec']>;
  readonly status?: Part<NetworkQoSFields['status']>;
}

export interface EgressService extends KubeObject {
  readonly kind: 'EgressService';
  readonly spec?: Part<EgressServiceFields['spec']>;
  readonly status?: Part<EgressServiceFields['status']>;
}

export interface AdminPolicyBasedExternalRoute extends KubeObject {
  readonly kind: 'AdminPolicyBasedExternalRoute';
  readonly spec: AdminPolicyBasedExternalRouteFields['spec'];
  readonly status?: Part<AdminPolicyBasedExternalRouteFields['status']>;
}

export interface Namespace extends KubeObject {
  readonly kind: 'Namespace';
}

/** The part of a Node that we read; what a node knows of itself is in its annotations. */
export interface Node extends KubeObject {
  readonly kind: 'Node';
  readonly spec?: {
    /** No pods are to be put there (`kubectl cordon`). */
    readonly unschedulable?: boolean;
  };
  readonly status?: {
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** A port that a container of a pod declares; one with a name can be meant by it. */
interface ContainerPort {
  readonly name?: string;
  readonly containerPort: number;
  /** `TCP` where the pod says nothing. */
  readonly protocol: Protocol;
  /** Port of the node that leads there. */
  readonly hostPort?: number;
  /** Canonical address of the node. */
  readonly hostIP?: string;
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
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

export type Protocol = 'TCP' | 'UDP' | 'SCTP';

interface ServicePort {
  readonly name?: string;
  readonly protocol?: Protocol;
  readonly port: number;
  /** A number, or the name that a container's port has; the same number where it is not given. */
  readonly targetPort?: number | string;
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
    readonly selector?: Readonly<Record<string, string>>;
    readonly externalTrafficPolicy?: string;
    readonly internalTrafficPolicy?: string;
    readonly sessionAffinity?: string;
    readonly sessionAffinityConfig?: { readonly clientIP?: { readonly timeoutSeconds?: number } };
    readonly publishNotReadyAddresses?: boolean;
    readonly healthCheckNodePort?: number;
    readonly loadBalancerClass?: string;
    readonly loadBalancerIP?: string;
  };
  readonly status?: {
    readonly loadBalancer?: {
      /** Canonical addresses. */
      readonly ingress?: readonly { readonly ip?: string; readonly ipMode?: string }[];
    };
    readonly conditions?: readonly Condition[];
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
        /** Of the pod, by which DNS knows the endpoint. */
        readonly hostname?: string;
        readonly hints?: {
          readonly forNodes?: readonly { readonly name?: string }[] | null;
          readonly forZones?: readonly { readonly name?: string }[] | null;
        } | null;
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
  /** Absent: of all namespaces. */
  readonly namespaceSelector?: LabelSelector;
  readonly podSelector: LabelSelector;
}

/** One of the three. */
export interface AdminPolicyPort {
  readonly portNumber?: { readonly protocol?: string; readonly port: number };
  readonly namedPort?: string;
  readonly portRange?: { readonly protocol?: string; readonly start: number; readonly end: number };
}

/** One of them. */
export interface ClusterPolicyPort {
  readonly number?: number;
  readonly range?: { readonly start: number; readonly end: number };
}

/** One of the four. */
export interface ClusterPolicyProtocol {
  readonly tcp?: { readonly destinationPort?: ClusterPolicyPort };
  readonly udp?: { readonly destinationPort?: ClusterPolicyPort };
  readonly sctp?: { readonly destinationPort?: ClusterPolicyPort };
  readonly destinationNamedPort?: string;
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
  /** `Accept` in a ClusterNetworkPolicy, `Allow` in the others. */
  readonly action: 'Allow' | 'Accept' | 'Deny' | 'Pass';
  readonly ports?: readonly AdminPolicyPort[];
  /** In a ClusterNetworkPolicy, instead of `ports`. */
  readonly protocols?: readonly ClusterPolicyProtocol[];
}

export interface AdminPolicySpec {
  /** In a ClusterNetworkPolicy alone. */
  readonly tier?: 'Admin' | 'Baseline';
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

export interface ClusterNetworkPolicy extends KubeObject {
  readonly kind: 'ClusterNetworkPolicy';
  readonly spec: AdminPolicySpec;
}

export interface BaselineAdminNetworkPolicy extends KubeObject {
  readonly kind: 'BaselineAdminNetworkPolicy';
  readonly spec: AdminPolicySpec;
}
