/** The status of one node's zone, as its daemon reports it: one object per node, written once per change. */
import type { ZoneStatusFields } from './kinds.generated.ts';
import type { KubeObject, ObjectMeta } from './objects.ts';

/** Holds nothing that changes with every commit: each write reaches every reader of the cluster. */
export type ZoneStatusContent = NonNullable<ZoneStatusFields['status']>;

export type ZoneNetworkStatus = ZoneStatusContent['networks'][number];

/**
 * How far a network is on a node.
 * `Pending`: something that it needs is missing. `Committed`: its rows are in the Northbound database.
 * `Programmed`: the data plane of this node has them. `Failed`: it can't be built, or a row was refused. `Unused`: it is known, and has
 * no rows, because nothing on the node uses it.
 */
export type NetworkState = ZoneNetworkStatus['state'];

/** How far a ClusterNetworkConnect is on a node; only accepted ones are reported. */
export type ZoneConnectStatus = NonNullable<ZoneStatusContent['connects']>[number];

/** An object of any kind that is not as it should be on a node. */
export type ZoneObjectState = NonNullable<ZoneStatusContent['objects']>[number];

/** An object that is in force on a node, as it was with that generation. */
export type ZoneAppliedObject = NonNullable<ZoneStatusContent['applied']>[number];

export type ZoneProblem = ZoneStatusContent['problems'][number];

export interface ZoneStatus extends KubeObject {
  readonly apiVersion: 'k8s.ovn.org/v1alpha1';
  readonly kind: 'ZoneStatus';
  /** Name of the node. */
  readonly metadata: ObjectMeta;
  readonly status?: ZoneStatusContent;
}
