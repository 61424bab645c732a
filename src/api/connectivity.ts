import type { ClusterNetworkConnect } from './types.ts';

/** What a ClusterNetworkConnect opens between its networks. */
export interface Connectivity {
  /** Pods reach pods. */
  readonly pods: boolean;
  /** Pods reach ClusterIP services. */
  readonly services: boolean;
}

/** Reads both spellings: `connectivity` with ServiceNetwork, `connectivityEnabled` with ClusterIPServiceNetwork. */
export function connectivityOf({ spec }: ClusterNetworkConnect): Connectivity {
  const types = spec.connectivity ?? spec.connectivityEnabled ?? [];
  return {
    pods: types.includes('PodNetwork'),
    services: types.includes('ServiceNetwork') || types.includes('ClusterIPServiceNetwork'),
  };
}
