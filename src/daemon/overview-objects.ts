import {
  clusterUserDefinedNetworks,
  networkAttachmentDefinitions,
  nodes,
  pods,
  userDefinedNetworks,
  zoneStatuses,
} from '../api/kinds.ts';
import type { Store } from '../store/store.ts';
import type { OverviewObjects } from './overview.ts';

/** Lists what an overview is made from. */
export const readOverviewObjects = async (store: Store): Promise<OverviewObjects> => ({
  userDefinedNetworks: await store.list(userDefinedNetworks),
  clusterUserDefinedNetworks: await store.list(clusterUserDefinedNetworks),
  networkAttachmentDefinitions: await store.list(networkAttachmentDefinitions),
  nodes: await store.list(nodes),
  pods: await store.list(pods),
  zoneStatuses: await store.list(zoneStatuses),
});
