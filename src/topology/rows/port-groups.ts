/** Port groups: names, ids, rows. Ports join them through their own containers. */

import type { Containment } from '../../desired/rows.ts';
import { DEFAULT_CONTROLLER } from '../../model/rules/names.ts';
import { claimOfGroups } from './found.ts';
import { hashedName, OBJECT_ID, objectIds, type ExternalIds } from './object-ids.ts';
import { holds, type Rows } from './unit-rows.ts';

export const PORT_GROUP_CLAIM = claimOfGroups('Port_Group');

export interface PortGroup {
  readonly name: string;
  readonly ids: ExternalIds;
}

function portGroup(
  controller: string,
  ownerType: string,
  name: string,
  more: Readonly<Record<string, string>> = {},
): PortGroup {
  const ids = objectIds(controller, ownerType, { name, ...more });
  return { name: hashedName(ids[OBJECT_ID]), ids };
}

/** Holds the management port, so that its ACLs cover the whole switch. */
export const clusterPortGroup = (controller: string): PortGroup =>
  portGroup(controller, 'Cluster', 'clusterPortGroup');

/** Holds the ports that lead to routers, for multicast between nodes. */
export const clusterRouterPortGroup = (controller: string): PortGroup =>
  portGroup(controller, 'Cluster', 'clusterRtrPortGroup');

/** Pods of a namespace on one network. */
export const namespacePortGroup = (controller: string, namespace: string): PortGroup =>
  portGroup(controller, 'Namespace', namespace);

/** Pods of a namespace that some policy closes in a direction. */
export const closedPortGroup = (
  controller: string,
  namespace: string,
  direction: string,
): PortGroup => portGroup(controller, 'NetpolNamespace', namespace, { direction });

/** Pods that a policy selects. */
export const policyPortGroup = (controller: string, namespace: string, policy: string): PortGroup =>
  portGroup(controller, 'NetworkPolicy', `${namespace}:${policy}`);

/** Pods that a policy of administrators is about. */
export const adminPortGroup = (controller: string, kind: string, policy: string): PortGroup =>
  portGroup(controller, kind, policy);

/** Default network ports of pods whose primary network is another one. */
export const SECONDARY_PODS = portGroup(DEFAULT_CONTROLLER, 'UDNIsolation', 'SecondaryPods');

export function addPortGroup(rows: Rows, group: PortGroup, ...containers: Containment[]): void {
  rows.named('Port_Group', group.name, { external_ids: group.ids }, ...containers);
}

export const inGroup = (group: PortGroup): Containment => holds('Port_Group', group.name, 'ports');
