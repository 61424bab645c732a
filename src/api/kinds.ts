/** Every kind that we know, as the store addresses it. */
import { nearestName } from './validation/nearest-name.ts';
import type { ResourceKind } from './objects.ts';
import type {
  AdminNetworkPolicy,
  AdminPolicyBasedExternalRoute,
  BaselineAdminNetworkPolicy,
  ClusterNetworkPolicy,
  ClusterNetworkConnect,
  ClusterUserDefinedNetwork,
  EgressFirewall,
  EgressIP,
  EgressQoS,
  EgressService,
  EgressTrafficClass,
  EndpointSlice,
  IPAMClaim,
  MultiNetworkPolicy,
  Namespace,
  NetworkAttachmentDefinition,
  NetworkConnect,
  NetworkPolicy,
  NetworkQoS,
  Node,
  OVNSecondaryNetwork,
  Pod,
  Service,
  UserDefinedNetwork,
} from './types.ts';
import type { ZoneStatus } from './zone-status.ts';

export const userDefinedNetworks: ResourceKind<UserDefinedNetwork> = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'UserDefinedNetwork',
  plural: 'userdefinednetworks',
  namespaced: true,
};
export const clusterUserDefinedNetworks: ResourceKind<ClusterUserDefinedNetwork> = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterUserDefinedNetwork',
  plural: 'clusteruserdefinednetworks',
  namespaced: false,
};
export const clusterNetworkConnects: ResourceKind<ClusterNetworkConnect> = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterNetworkConnect',
  plural: 'clusternetworkconnects',
  namespaced: false,
};
export const networkConnects: ResourceKind<NetworkConnect> = {
  apiVersion: 'k8s.ovn.org/v1alpha1',
  kind: 'NetworkConnect',
  plural: 'networkconnects',
  namespaced: true,
};
export const networkAttachmentDefinitions: ResourceKind<NetworkAttachmentDefinition> = {
  apiVersion: 'k8s.cni.cncf.io/v1',
  kind: 'NetworkAttachmentDefinition',
  plural: 'network-attachment-definitions',
  namespaced: true,
};
export const ipamClaims: ResourceKind<IPAMClaim> = {
  apiVersion: 'k8s.cni.cncf.io/v1alpha1',
  kind: 'IPAMClaim',
  plural: 'ipamclaims',
  namespaced: true,
};
export const ovnSecondaryNetworks: ResourceKind<OVNSecondaryNetwork> = {
  apiVersion: 'k8s.ovn.org/v1alpha1',
  kind: 'OVNSecondaryNetwork',
  plural: 'ovnsecondarynetworks',
  namespaced: true,
};
export const egressIPs: ResourceKind<EgressIP> = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressIP',
  plural: 'egressips',
  namespaced: false,
  hasStatus: false,
};
export const egressFirewalls: ResourceKind<EgressFirewall> = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressFirewall',
  plural: 'egressfirewalls',
  namespaced: true,
};
export const egressQoSes: ResourceKind<EgressQoS> = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressQoS',
  plural: 'egressqoses',
  namespaced: true,
};
export const networkQoSes: ResourceKind<NetworkQoS> = {
  apiVersion: 'k8s.ovn.org/v1alpha1',
  kind: 'NetworkQoS',
  plural: 'networkqoses',
  namespaced: true,
};
export const egressTrafficClasses: ResourceKind<EgressTrafficClass> = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressTrafficClass',
  plural: 'egresstrafficclasses',
  namespaced: false,
};
export const egressServices: ResourceKind<EgressService> = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressService',
  plural: 'egressservices',
  namespaced: true,
};
export const externalRoutes: ResourceKind<AdminPolicyBasedExternalRoute> = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'AdminPolicyBasedExternalRoute',
  plural: 'adminpolicybasedexternalroutes',
  namespaced: false,
};
export const zoneStatuses: ResourceKind<ZoneStatus> = {
  apiVersion: 'k8s.ovn.org/v1alpha1',
  kind: 'ZoneStatus',
  plural: 'zonestatuses',
  namespaced: false,
};
export const namespaces: ResourceKind<Namespace> = {
  apiVersion: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
};
export const nodes: ResourceKind<Node> = {
  apiVersion: 'v1',
  kind: 'Node',
  plural: 'nodes',
  namespaced: false,
};
export const pods: ResourceKind<Pod> = {
  apiVersion: 'v1',
  kind: 'Pod',
  plural: 'pods',
  namespaced: true,
};
export const services: ResourceKind<Service> = {
  apiVersion: 'v1',
  kind: 'Service',
  plural: 'services',
  namespaced: true,
};
export const endpointSlices: ResourceKind<EndpointSlice> = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  namespaced: true,
};
export const networkPolicies: ResourceKind<NetworkPolicy> = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  plural: 'networkpolicies',
  namespaced: true,
};
export const multiNetworkPolicies: ResourceKind<MultiNetworkPolicy> = {
  apiVersion: 'k8s.cni.cncf.io/v1beta1',
  kind: 'MultiNetworkPolicy',
  plural: 'multi-networkpolicies',
  namespaced: true,
  hasStatus: false,
};
export const adminNetworkPolicies: ResourceKind<AdminNetworkPolicy> = {
  apiVersion: 'policy.networking.k8s.io/v1alpha1',
  kind: 'AdminNetworkPolicy',
  plural: 'adminnetworkpolicies',
  namespaced: false,
};
export const baselineAdminNetworkPolicies: ResourceKind<BaselineAdminNetworkPolicy> = {
  apiVersion: 'policy.networking.k8s.io/v1alpha1',
  kind: 'BaselineAdminNetworkPolicy',
  plural: 'baselineadminnetworkpolicies',
  namespaced: false,
};
export const clusterNetworkPolicies: ResourceKind<ClusterNetworkPolicy> = {
  apiVersion: 'policy.networking.k8s.io/v1alpha2',
  kind: 'ClusterNetworkPolicy',
  plural: 'clusternetworkpolicies',
  namespaced: false,
};
export const leases: ResourceKind = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
};
export const events: ResourceKind = {
  apiVersion: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
};

/** All of the above. */
export const resourceKinds: readonly ResourceKind[] = [
  userDefinedNetworks,
  clusterUserDefinedNetworks,
  clusterNetworkConnects,
  networkConnects,
  networkAttachmentDefinitions,
  ipamClaims,
  ovnSecondaryNetworks,
  egressIPs,
  egressTrafficClasses,
  egressFirewalls,
  egressQoSes,
  networkQoSes,
  egressServices,
  externalRoutes,
  zoneStatuses,
  namespaces,
  nodes,
  pods,
  services,
  endpointSlices,
  networkPolicies,
  multiNetworkPolicies,
  adminNetworkPolicies,
  baselineAdminNetworkPolicies,
  clusterNetworkPolicies,
  leases,
  events,
];

/** Kinds whose statuses say in which zones their objects are in force. */
export const APPLIED_KINDS: readonly ResourceKind[] = [
  egressFirewalls,
  egressQoSes,
  networkQoSes,
  externalRoutes,
  clusterNetworkPolicies,
];

const OTHERS_DEFINE: readonly string[] = [
  'IPAMClaim',
  'MultiNetworkPolicy',
  'AdminNetworkPolicy',
  'BaselineAdminNetworkPolicy',
  'ClusterNetworkPolicy',
];

/**
 * Kinds of features that a cluster may go without: nothing of them exists where their definition is not installed. NADs are
 * what every network is made of.
 */
export const isOptionalKind = ({ apiVersion, kind }: ResourceKind): boolean =>
  apiVersion.startsWith('k8s.ovn.org/') || OTHERS_DEFINE.includes(kind);

/** Versions in which a kind may be written, besides the one that is stored. */
const SERVED_VERSIONS: Readonly<Record<string, ResourceKind>> = {
  'k8s.ovn.org/v1alpha1 UserDefinedNetwork': userDefinedNetworks,
  'k8s.ovn.org/v1alpha1 ClusterUserDefinedNetwork': clusterUserDefinedNetworks,
};

/** Groups of which Heddle serves all kinds that it knows. */
const OWN_GROUPS = ['k8s.ovn.org', 'k8s.cni.cncf.io'];

/** The core group, and those that nobody but Kubernetes has kinds in. */
const KUBERNETES_GROUPS = /^(?:|apps|batch|extensions|policy|[a-z.]+\.k8s\.io)$/;

/** Kinds that another group or version of Kubernetes has, too. */
const ELSEWHERE_TOO: readonly ResourceKind[] = [events, leases];

const groupOf = (apiVersion: string): string =>
  apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';

/** The kind of ours that is meant by one that nobody serves: of another version or group, or misspelt. Kinds of other groups are somebody else's. */
export function servedKindLike(
  apiVersion: string,
  kind: string,
): Pick<ResourceKind, 'apiVersion' | 'kind'> | undefined {
  const group = groupOf(apiVersion);
  const isOurs = nearestName(group, OWN_GROUPS) !== undefined;
  if (!isOurs && !KUBERNETES_GROUPS.test(group)) return undefined;
  const all = resourceKinds.filter((known) => !ELSEWHERE_TOO.includes(known));
  const exact = all.find((known) => known.kind === kind);
  if (exact !== undefined) return exact;
  const near = all.filter((known) =>
    isOurs ? OWN_GROUPS.includes(groupOf(known.apiVersion)) : groupOf(known.apiVersion) === group,
  );
  const nearest = nearestName(
    kind,
    near.map((known) => known.kind),
  );
  return near.find((known) => known.kind === nearest);
}

/** The kind that an object's `apiVersion` and `kind` name, in any version that we serve; undefined if unknown. */
export function resourceKindOf(apiVersion: string, kind: string): ResourceKind | undefined {
  const served = `${apiVersion} ${kind}`;
  return (
    resourceKinds.find((known) => known.apiVersion === apiVersion && known.kind === kind) ??
    (Object.hasOwn(SERVED_VERSIONS, served) ? SERVED_VERSIONS[served] : undefined)
  );
}
