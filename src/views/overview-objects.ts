import {
  APPLIED_KINDS,
  clusterNetworkConnects,
  clusterUserDefinedNetworks,
  egressIPs,
  egressServices,
  isOptionalKind,
  networkAttachmentDefinitions,
  nodes,
  ovnSecondaryNetworks,
  pods,
  services,
  userDefinedNetworks,
  zoneStatuses,
} from '../api/kinds.ts';
import { LEASES, NODE_LEASES } from '../api/node-lease.ts';
import type { KubeObject, ResourceKind } from '../api/objects.ts';
import type { Selection } from '../store/selection.ts';
import { StoreError, type Store } from '../store/store.ts';
import type { EgressPlacement } from './egress-problems.ts';
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

/** What has addresses outside, and may have those of others. */
export async function readEgressPlacement(
  store: Store,
): Promise<Omit<EgressPlacement, 'nodes' | 'leases'>> {
  const found = {
    egressIps: await listed(store, egressIPs),
    egressServices: await listed(store, egressServices),
  };
  const isNeeded = found.egressIps.length + found.egressServices.length > 0;
  return { ...found, services: isNeeded ? await listed(store, services) : [] };
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
  ...(await readEgressPlacement(store)),
  appliedObjects: (await Promise.all(APPLIED_KINDS.map((kind) => listed(store, kind)))).flat(),
});
