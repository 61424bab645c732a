/** NADs as the cluster manager makes and mends them. Pure. */
import { parsePrefix, type Family } from '../../allocators/addresses.ts';
import { annotationOf } from '../../api/annotations/annotations.ts';
import { NETWORK_FINALIZER } from '../../api/nad/nad.ts';
import {
  formatTunnelKeys,
  NETWORK_ID,
  NETWORK_NAME,
  ON_DEMAND,
  SECONDARY_GATEWAY,
  SERVICE_POOL,
  TUNNEL_KEYS,
} from '../../api/annotations/network-annotations.ts';
import type { NetworkAttachmentDefinition } from '../../api/types.ts';
import type { NetworkIdentity } from './network-identities.ts';

const OUR_ANNOTATIONS = 'k8s.ovn.org';
/** Of ours, those that NADs have from their objects. */
const OF_OBJECTS: readonly string[] = [SERVICE_POOL, SECONDARY_GATEWAY];

/** Annotations that tell a network's identity, on every NAD of it; null for one that is not to be there. */
export const identityAnnotations = (
  network: string,
  { id, tunnelKeys: keys, isOnDemand }: NetworkIdentity,
): Readonly<Record<string, string | null>> => ({
  [NETWORK_NAME]: network,
  [NETWORK_ID]: String(id),
  [TUNNEL_KEYS]: formatTunnelKeys(keys),
  [ON_DEMAND]: isOnDemand ? 'true' : null,
});

const isPresent = (entry: readonly [string, string | null]): entry is [string, string] =>
  entry[1] !== null;

/** A NAD to create, with its network's identity from the start. */
export const withIdentity = (
  nad: NetworkAttachmentDefinition,
  network: string,
  identity: NetworkIdentity,
): NetworkAttachmentDefinition => ({
  ...nad,
  metadata: {
    ...nad.metadata,
    annotations: {
      ...nad.metadata.annotations,
      ...Object.fromEntries(
        Object.entries(identityAnnotations(network, identity)).filter(isPresent),
      ),
    },
  },
});

/** A NAD with what its object asks for by an annotation; `value` undefined, as that can't be used: with what the existing one has of it. */
export function withRequested(
  nad: NetworkAttachmentDefinition,
  annotation: string,
  value: string | undefined,
  existing: NetworkAttachmentDefinition | undefined,
): NetworkAttachmentDefinition {
  const kept = value ?? (existing && annotationOf(existing, annotation));
  if (kept === undefined) return nad;
  const annotations = { ...nad.metadata.annotations, [annotation]: kept };
  return { ...nad, metadata: { ...nad.metadata, annotations } };
}

type Texts = Readonly<Record<string, string>>;

/** What makes `wanted` of `current`, as merge patch values; undefined when nothing has to change. */
function textChanges(
  current: Texts,
  wanted: Texts,
  isOurs: (key: string) => boolean,
): Readonly<Record<string, string | null>> | undefined {
  const changes = [
    ...Object.keys(current)
      .filter((key) => isOurs(key) && !Object.hasOwn(wanted, key))
      .map((key) => [key, null] as const),
    ...Object.entries(wanted).filter(([key, value]) => current[key] !== value),
  ];
  return changes.length === 0 ? undefined : Object.fromEntries(changes);
}

/**
 * Merge patch that brings an own NAD to what its object wants: configuration, labels, annotations and the finalizer.
 * Annotations of our prefix stay, as controllers write them, but for what the object's own say. Undefined when it is as it should be.
 */
export function correctNad(
  existing: NetworkAttachmentDefinition,
  desired: NetworkAttachmentDefinition,
): object | undefined {
  const { labels = {}, annotations = {}, finalizers = [] } = existing.metadata;
  const labelChanges = textChanges(labels, desired.metadata.labels ?? {}, () => true);
  const annotationChanges = textChanges(
    annotations,
    desired.metadata.annotations ?? {},
    (key) => OF_OBJECTS.includes(key) || !key.startsWith(OUR_ANNOTATIONS),
  );
  const metadata = {
    ...(labelChanges === undefined ? {} : { labels: labelChanges }),
    ...(annotationChanges === undefined ? {} : { annotations: annotationChanges }),
    ...(finalizers.includes(NETWORK_FINALIZER)
      ? {}
      : { finalizers: [...finalizers, NETWORK_FINALIZER] }),
  };
  const isSameConfig = existing.spec?.config === desired.spec?.config;
  if (isSameConfig && Object.keys(metadata).length === 0) return undefined;
  return {
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    ...(isSameConfig ? {} : { spec: desired.spec }),
  };
}

/** Families of a network's subnets. */
export const familiesOf = (subnets: readonly { readonly cidr: string }[]): ReadonlySet<Family> =>
  new Set(subnets.flatMap(({ cidr }) => parsePrefix(cidr)?.family ?? []));
