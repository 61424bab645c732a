import {
  APPLIED_KINDS,
  clusterNetworkConnects,
  clusterUserDefinedNetworks,
  isOptionalKind,
  networkAttachmentDefinitions,
  nodes,
  ovnSecondaryNetworks,
  pods,
  userDefinedNetworks,
  zoneStatuses,
} from '../api/kinds.ts';
import { LEASES, NODE_LEASES } from '../api/node-lease.ts';
import type { KubeObject, ResourceKind } from '../api/objects.ts';
import type { Selection } from '../store/selection.ts';
import { StoreError, type Store } from '../store/store.ts';
import type { OverviewObjects } from './overview.ts';

/** What there is of a kind; nothing of a feature that is not installed. */
export async function listed<T extends KubeObject>(
  store: Store,
  kind: ResourceKind<T>,
  selection: Selection = {},
): Promise<readonly T[]> {
  try {
    return await store.list(kind, undefined, selection);
  } catch (error) {
    if (error instanceof StoreError && error.code === 'not-installed' && isOptionalKind(kind))
      return [];
    throw error;
  }
}

/** Lists what an overview is made from. */
export const readOverviewObjects = async (store: Store): Promise<OverviewObjects> => ({
  networkObjects: [
    ...(await listed(store, userDefinedNetworks)),
    ...(await listed(store, clusterUserDefinedNetworks)),
    ...(await listed(store, ovnSecondaryNetworks)),
  ],
  clusterNetworkConnects: await listed(store, clusterNetworkConnects),
  networkAttachmentDefinitions: await listed(store, networkAttachmentDefinitions),
  nodes: await listed(store, nodes),
  pods: await listed(store, pods),
  zoneStatuses: await listed(store, zoneStatuses),
  leases: await listed(store, LEASES, NODE_LEASES),
  appliedObjects: (await Promise.all(APPLIED_KINDS.map((kind) => listed(store, kind)))).flat(),
});
