/** A NAD that stands for a network, with what decisions about networks need of it. */
import { annotationOf } from '../annotations/annotations.ts';
import {
  isOnDemand,
  networkId,
  SECONDARY_GATEWAY,
  SERVICE_POOL,
  tunnelKeys,
} from '../annotations/network-annotations.ts';
import { objectKey } from '../objects.ts';
import { compareAge } from '../order.ts';
import type { NetworkAttachmentDefinition } from '../types.ts';
import { parseNad } from './nad.ts';
import type { ClusterAddressing, NetworkConfig } from './network-config.ts';

/** A NAD of ours that could be read. */
export interface RegisteredNad {
  /** `<namespace>/<name>`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly creationTimestamp: string;
  readonly ownerKind: string | undefined;
  readonly ownerUid: string | undefined;
  /** Those of its owner among them. */
  readonly labels: Readonly<Record<string, string>>;
  /** Ranges for services, as the NAD's annotation says them. */
  readonly servicePool: string | undefined;
  /** Whether and how pods leave a secondary network, as the NAD's annotation says it. */
  readonly secondaryGateway: string | undefined;
  readonly config: NetworkConfig;
  /** What the NAD carries already. */
  readonly networkId: number | undefined;
  readonly tunnelKeys: readonly number[] | undefined;
  /** Nodes know the network where something uses it. */
  readonly isOnDemand: boolean;
}

export type NadReading =
  | { readonly kind: 'network'; readonly nad: RegisteredNad }
  /** Of another plugin, or of the cluster default network. */
  | { readonly kind: 'other' }
  | { readonly kind: 'invalid'; readonly error: string };

export function readNad(nad: NetworkAttachmentDefinition, settings: ClusterAddressing): NadReading {
  const parsed = parseNad(nad, settings);
  if (parsed.kind === 'invalid') return { kind: 'invalid', error: parsed.error };
  if (parsed.kind !== 'network') return { kind: 'other' };
  return { kind: 'network', nad: registeredNad(nad, parsed.config) };
}

/** A NAD whose configuration says `config`. */
export function registeredNad(
  nad: NetworkAttachmentDefinition,
  config: NetworkConfig,
): RegisteredNad {
  const { metadata } = nad;
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  return {
    key: objectKey(metadata),
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    uid: metadata.uid ?? '',
    creationTimestamp: metadata.creationTimestamp ?? '',
    ownerKind: owner?.kind,
    ownerUid: owner?.uid,
    labels: metadata.labels ?? {},
    servicePool: annotationOf(nad, SERVICE_POOL),
    secondaryGateway: annotationOf(nad, SECONDARY_GATEWAY),
    config,
    // An unreadable annotation is written again.
    networkId: networkId(nad).value,
    tunnelKeys: tunnelKeys(nad).value,
    isOnDemand: isOnDemand(nad),
  };
}

/** NADs that carry an id come first: they were served before, whatever their timestamps say. */
export const compareNads = (a: RegisteredNad, b: RegisteredNad): number => {
  const [servedA, servedB] = [a.networkId !== undefined, b.networkId !== undefined];
  return servedA === servedB ? compareAge(a, b) : servedA ? -1 : 1;
};
