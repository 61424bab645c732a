import {
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
import { unprogrammedKinds } from '../api/unprogrammed.ts';
import type { ZoneProblem } from '../api/zone-status.ts';
import type { Selection } from '../store/selection.ts';
import { StoreError, type Store } from '../store/store.ts';
import { problemsOfUnprogrammed, type OverviewObjects } from './overview.ts';

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

/** Objects of the kinds that nothing is programmed for. */
async function unprogrammedObjects(store: Store): Promise<readonly KubeObject[]> {
  const lists = await Promise.all(unprogrammedKinds.map((kind) => listed(store, kind)));
  return lists.flat();
}

/** A problem for each object in the store that nothing is programmed for. */
export const unprogrammedProblems = async (store: Store): Promise<readonly ZoneProblem[]> =>
  problemsOfUnprogrammed(await unprogrammedObjects(store));

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
  unprogrammed: await unprogrammedObjects(store),
});
