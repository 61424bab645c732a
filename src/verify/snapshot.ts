/** What a proof is made of: objects, databases and host of one node as they were read. Values; nothing here opens anything. */
import type { ClusterAddressing } from '../api/nad/network-config.ts';
import type {
  AdminNetworkPolicy,
  BaselineAdminNetworkPolicy,
  ClusterNetworkConnect,
  ClusterNetworkPolicy,
  EgressFirewall,
  EgressIP,
  EndpointSlice,
  MultiNetworkPolicy,
  Namespace,
  NetworkAttachmentDefinition,
  NetworkPolicy,
  ClusterUserDefinedNetwork,
  UserDefinedNetwork,
  Node,
  Pod,
  Service,
} from '../api/types.ts';
import type { Tables } from './rows.ts';

/** Objects that say what may touch what. */
export interface Objects {
  readonly attachmentDefinitions: readonly NetworkAttachmentDefinition[];
  /** Undefined where they are not followed: whether a connection selects one is not judged then. */
  readonly clusterNetworks: readonly ClusterUserDefinedNetwork[] | undefined;
  readonly networks: readonly UserDefinedNetwork[];
  readonly connects: readonly ClusterNetworkConnect[];
  readonly namespaces: readonly Namespace[];
  readonly nodes: readonly Node[];
  readonly pods: readonly Pod[];
  readonly services: readonly Service[];
  readonly slices: readonly EndpointSlice[];
  readonly egressIps: readonly EgressIP[];
}

export type EitherAdminPolicy =
  | AdminNetworkPolicy
  | BaselineAdminNetworkPolicy
  | ClusterNetworkPolicy;

export type NamespacedPolicy = NetworkPolicy | MultiNetworkPolicy;

/** Objects that say what pods get and send. */
export interface Policies {
  readonly namespaced: readonly NamespacedPolicy[];
  readonly admins: readonly EitherAdminPolicy[];
  readonly firewalls: readonly EgressFirewall[];
}

export interface HostLink {
  readonly name: string;
  /** Routing table of a VRF. */
  readonly table?: number;
  /** VRF or bridge that it is in. */
  readonly master?: string;
  /** Device that it sends by (macvlan, VLAN …). */
  readonly below?: string;
}

export interface HostRule {
  readonly priority: number;
  readonly family: 'v4' | 'v6';
  readonly table: number;
  /** In canonical CIDR form. */
  readonly source?: string;
  readonly destination?: string;
  readonly mark?: number;
  readonly isL3mdev: boolean;
  /** It holds for more than its selector says: a mask, or all but that. */
  readonly isWider: boolean;
  /** It asks for nothing: no address, mark, device or port. */
  readonly isForAll?: boolean;
}

export interface HostRoute {
  readonly table: number;
  readonly family: 'v4' | 'v6';
  /** In canonical CIDR form. */
  readonly destination: string;
  readonly isUnicast: boolean;
  /** Device and next hop of each way. */
  readonly hops: readonly { readonly device?: string; readonly via?: string }[];
}

/** A line of `ovs-ofctl dump-flows`, taken apart as far as proofs ask. */
export interface Flow {
  readonly table: number;
  readonly priority: number;
  readonly cookie: string;
  readonly match: string;
  readonly actions: string;
}

/** What the host holds beside databases. A part that could not be read is missing, and named in `unread`. */
export interface HostState {
  readonly links?: readonly HostLink[];
  readonly rules?: readonly HostRule[];
  readonly routes?: readonly HostRoute[];
  /** Objects of `nft -j list ruleset`. */
  readonly nftables?: readonly unknown[];
  readonly integrationFlows?: readonly Flow[];
  readonly bridgeFlows?: readonly Flow[];
}

export interface Settings extends ClusterAddressing {
  /** Routing table of a network: this and its id. */
  readonly routingTables: number;
  /** Namespaces of the default network whose pods reach services of networks that let them in. */
  readonly defaultAccess: readonly string[];
  /** Secondary networks that ask for it have a gateway. */
  readonly secondaryGateways: boolean;
  /** ICMP passes whatever policies of namespaces say. */
  readonly policies: { readonly passesIcmp: boolean };
  /** EgressFirewalls allow and deny nothing where they are off. */
  readonly features: { readonly egressFirewall: boolean };
  /** Who may send to nodes' port of tunnels beside nodes. */
  readonly tunnelSources: readonly string[] | 'any';
  /** The cluster's DNS: a service, or addresses. */
  readonly dnsServers: string | readonly string[];
}

/** What a server says of a database when it is read. */
export interface DatabaseState {
  /** Version of the schema; empty in old schemas that have none. */
  readonly schema: string;
  /** UUID of the database's row in `_Server`. */
  readonly generation?: string;
  readonly cluster?: string;
  /** Of the last entry of the cluster's log. */
  readonly index?: number;
}

export interface Snapshot {
  readonly node: string;
  readonly settings: Settings;
  readonly objects: Objects;
  /** Missing where rows are not compared with them. */
  readonly policies?: Policies;
  readonly northbound: Tables;
  readonly southbound?: Tables;
  readonly openVswitch?: Tables;
  /** By the name of the database; missing of what was not read by a connection of its own. */
  readonly databases?: Readonly<Record<string, DatabaseState>>;
  readonly host: HostState;
  /** What could not be read, and why. */
  readonly unread: readonly string[];
}
