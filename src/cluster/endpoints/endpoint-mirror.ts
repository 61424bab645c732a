/** EndpointSlices of services, with the addresses that pods have on their primary networks (reference/api.md §9). Pure. */
import {
  MIRRORED_SERVICE_NAME,
  SERVICE_NAME,
  SLICE_NETWORK,
} from '../../api/annotations/endpoint-slice-annotations.ts';
import { HEADLESS } from '../../api/annotations/proxy-labels.ts';
import { isDnsSubdomain } from '../../api/validation/metadata.ts';
import { objectKey, type KubeObject } from '../../api/objects.ts';
import type { Pod } from '../../api/types.ts';
import type { RegisteredNad } from '../../api/nad/registered-nad.ts';
import { annotatedNetworks } from '../../model/rules/pod-plan.ts';

/** What we read of a discovery.k8s.io/v1 EndpointSlice. */
export interface EndpointSlice extends KubeObject {
  readonly addressType?: unknown;
  readonly endpoints?: readonly Endpoint[] | null;
  readonly ports?: unknown;
}

interface Endpoint {
  readonly addresses?: readonly string[];
  readonly conditions?: { readonly ready?: boolean } | null;
  readonly targetRef?: { readonly kind?: string; readonly name?: string } | null;
  readonly [key: string]: unknown;
}

const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
const SOURCE_CONTROLLER = 'endpointslice-controller.k8s.io';
const MIRROR_CONTROLLER = 'endpointslice-mirror-controller.k8s.ovn.org';
const SOURCE_SLICE = 'k8s.ovn.org/source-endpointslice';
const SOURCE_VERSION = 'k8s.ovn.org/source-endpointslice-version';

/** A slice that the cluster's own controller keeps for a service, of addresses that pods can have. */
export const isSource = ({ metadata, addressType }: EndpointSlice): boolean =>
  metadata.labels?.[MANAGED_BY] === SOURCE_CONTROLLER &&
  (addressType === 'IPv4' || addressType === 'IPv6');

export const isMirror = ({ metadata }: EndpointSlice): boolean =>
  metadata.labels?.[MANAGED_BY] === MIRROR_CONTROLLER;

/** Key of the slice that a mirror stands for. */
export const sourceKeyOf = ({ metadata }: EndpointSlice): string =>
  objectKey({
    namespace: metadata.namespace,
    name: metadata.annotations?.[SOURCE_SLICE] ?? '',
  });

export interface Mirror {
  /** Without a name: one that exists keeps its own. */
  readonly slice: EndpointSlice;
  /** Pods (`<namespace>/<name>`) without an address of the slice's family on any network: their endpoints are left out. */
  readonly withoutAddress: readonly string[];
}

/** The mirror of `source` for one of the namespace's primary networks: of its pods those that are on that network. */
export function mirrorOf(
  source: EndpointSlice,
  network: string,
  primaries: readonly RegisteredNad[],
  podOf: (key: string) => Pod | undefined,
): Mirror {
  const { metadata, apiVersion, kind, addressType, ports } = source;
  const { namespace = '', labels = {}, ownerReferences } = metadata;
  const isV6 = addressType === 'IPv6';
  const withoutAddress: string[] = [];
  const endpoints = (source.endpoints ?? []).flatMap((endpoint) => {
    const { targetRef } = endpoint;
    if (targetRef?.kind !== 'Pod' || targetRef.name === undefined) return [];
    const key = objectKey({ namespace, name: targetRef.name });
    const pod = podOf(key);
    // The slice of a pod that is gone changes in a moment.
    if (pod === undefined) return [];
    if (pod.spec.hostNetwork === true) {
      const address = hostAddressOf(pod, isV6);
      if (address === undefined && hasFamily(primaries, isV6)) withoutAddress.push(key);
      return address === undefined ? [] : [{ ...endpoint, addresses: [address] }];
    }
    const carried = annotatedNetworks(pod);
    const own = primaries.find((nad) => carried.has(nad.key));
    const address = carried.get(own?.key ?? '')?.addresses.find((text) => isOf(text, isV6));
    // A pod without address yet joins when it has one: the others need not wait for it.
    if (address === undefined && hasFamily(own === undefined ? primaries : [own], isV6))
      withoutAddress.push(key);
    if (address === undefined || own?.config.name !== network) return [];
    return [{ ...endpoint, addresses: [address.slice(0, address.indexOf('/'))] }];
  });
  const service = labels[SERVICE_NAME];
  const slice = {
    apiVersion,
    kind,
    metadata: {
      name: '',
      generateName: generatedName(network, source),
      namespace,
      labels: {
        [MANAGED_BY]: MIRROR_CONTROLLER,
        ...(service === undefined ? {} : { [MIRRORED_SERVICE_NAME]: service }),
        ...(labels[HEADLESS] === undefined ? {} : { [HEADLESS]: labels[HEADLESS] }),
      },
      annotations: {
        [SOURCE_SLICE]: metadata.name,
        [SOURCE_VERSION]: metadata.resourceVersion ?? '',
        [SLICE_NETWORK]: network,
      },
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
    },
    addressType,
    endpoints,
    ...(ports === undefined ? {} : { ports }),
  };
  return { slice, withoutAddress };
}

const isOf = (address: string, isV6: boolean): boolean => address.includes(':') === isV6;

/** A network without IPv6 has no endpoints in slices of IPv6, and nothing is missing. */
const hasFamily = (primaries: readonly RegisteredNad[], isV6: boolean): boolean =>
  primaries.some(({ config }) => config.subnets.some(({ cidr }) => isOf(cidr, isV6)));

/** Host-network pods are reached at their node. */
const hostAddressOf = ({ status }: Pod, isV6: boolean): string | undefined =>
  (status?.podIPs ?? []).map(({ ip }) => ip).find((address) => isOf(address, isV6));

/** Names of generated networks hold `_`, which object names may not: there the source's name alone is used. */
function generatedName(network: string, { metadata }: EndpointSlice): string {
  const base = metadata.generateName ?? `${metadata.name}-`;
  const full = `${network}-${base}`;
  return isDnsSubdomain(full.replace(/-+$/, '')) ? full : base;
}

/** Merge patch that brings a mirror to what it should be; undefined when it is. */
export function correctMirror(existing: EndpointSlice, wanted: EndpointSlice): object | undefined {
  const { labels, annotations } = wanted.metadata;
  const differs = (a: unknown, b: unknown): boolean => JSON.stringify(a) !== JSON.stringify(b);
  const subset = (
    have: Readonly<Record<string, string>> = {},
    want: Readonly<Record<string, string>> = {},
  ): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(want).filter(([key, value]) => have[key] !== value));
  const changed = {
    labels: subset(existing.metadata.labels, labels),
    annotations: subset(existing.metadata.annotations, annotations),
  };
  const metadata = Object.fromEntries(
    Object.entries(changed).filter(([, values]) => Object.keys(values).length > 0),
  );
  const patch = {
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    ...(differs(existing.endpoints ?? [], wanted.endpoints) ? { endpoints: wanted.endpoints } : {}),
    ...(differs(existing.ports, wanted.ports) ? { ports: wanted.ports ?? null } : {}),
  };
  return Object.keys(patch).length === 0 ? undefined : patch;
}
