/** The status of one node's zone, as its daemon reports it: one object per node, written once per change. */
import type { KubeObject, ObjectMeta } from './objects.ts';

/**
 * How far a network is on a node.
 * `Pending`: something that it needs is missing. `Committed`: its rows are in the Northbound database.
 * `Programmed`: the data plane of this node has them. `Failed`: it can't be built, or a row was refused. `Unused`: it is known, and has
 * no rows, because nothing on the node uses it.
 */
export type NetworkState = 'Pending' | 'Committed' | 'Programmed' | 'Failed' | 'Unused';

export interface ZoneNetworkStatus {
  /** `default`, `<namespace>_<udn>` or `cluster_udn_<cudn>`. */
  readonly name: string;
  readonly state: NetworkState;
  /** Why, and what to do; absent when all is well. */
  readonly message?: string;
}

/** How far a ClusterNetworkConnect is on a node; only accepted ones are reported. */
export interface ZoneConnectStatus {
  readonly name: string;
  readonly state: NetworkState;
  /** Why, and what to do; absent when all is well. */
  readonly message?: string;
}

export interface ZoneProblem {
  /** `Pod blue/web`, `Node n2`. */
  readonly object: string;
  readonly message: string;
}

/** Holds nothing that changes with every commit: each write reaches every reader of the cluster. */
export interface ZoneStatusContent {
  /** RFC 3339; when this was written. */
  readonly observedAt: string;
  /** Why nothing could be done at all (no connection, node unknown …). */
  readonly message?: string;
  readonly networks: readonly ZoneNetworkStatus[];
  /** Names of the networks that are not `Unused`; absent, as what follows, in what daemons wrote that did not report them. */
  readonly used?: readonly string[];
  /** Whether each of those is in the data plane, and changes reach it. */
  readonly ready?: boolean;
  readonly connects?: readonly ZoneConnectStatus[];
  readonly problems: readonly ZoneProblem[];
}

export interface ZoneStatus extends KubeObject {
  readonly apiVersion: 'k8s.ovn.org/v1alpha1';
  readonly kind: 'ZoneStatus';
  /** Name of the node. */
  readonly metadata: ObjectMeta;
  readonly status?: ZoneStatusContent;
}
