/** EndpointSlices of services, with the addresses that pods have on their primary networks, or on the secondary one that the service names (reference/api.md §9). Pure. */
import {
  MIRRORED_SERVICE_NAME,
  SERVICE_NAME,
  SLICE_NETWORK,
} from '../../api/annotations/endpoint-slice-annotations.ts';
import { contains, formatAddress, parseAddress } from '../../allocators/addresses.ts';
import { HEADLESS } from '../../api/annotations/proxy-labels.ts';
import { isDnsSubdomain } from '../../api/validation/metadata.ts';
import { objectKey, type KubeObject } from '../../api/objects.ts';
import { clipped } from '../../api/visible-text.ts';
import type { Pod } from '../../api/types.ts';
import type { RegisteredNad } from '../../api/nad/registered-nad.ts';
import { annotatedNetworks } from '../../model/rules/pod-plan.ts';
import type { NamedRange } from '../../api/validation/closed-ranges.ts';

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
const MIRROR_CONTROLLER = 'endpointslice-mirror-controller.k8s.ovn.org';
const SOURCE_SLICE = 'k8s.ovn.org/source-endpointslice';
const SOURCE_VERSION = 'k8s.ovn.org/source-endpointslice-version';

export const isMirror = ({ metadata }: EndpointSlice): boolean =>
  metadata.labels?.[MANAGED_BY] === MIRROR_CONTROLLER;

/** A slice of a service, of addresses: of the cluster's own controller, of somebody by hand, a copy of Endpoints. */
export const isSource = (slice: EndpointSlice): boolean =>
  !isMirror(slice) &&
  (slice.metadata.labels?.[SERVICE_NAME] ?? '') !== '' &&
  (slice.addressType === 'IPv4' || slice.addressType === 'IPv6');

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
  /** Addresses of endpoints that are no pods, which are left out, and why: `10.244.0.7 is within the cluster subnet 10.244.0.0/16`. */
  readonly refused: readonly string[];
}

/**
 * The mirror of `source` for one of the networks that its service is on, for which `nads` stand: of its pods those that are on that network; of endpoints
 * that are no pods the addresses on it, and those outside of the cluster, but for `closed` ranges.
 */
export function mirrorOf(
  source: EndpointSlice,
  network: string,
  nads: readonly RegisteredNad[],
  podOf: (key: string) => Pod | undefined,
  closed: readonly NamedRange[],
): Mirror {
  const { metadata, apiVersion, kind, addressType, ports } = source;
  const { namespace = '', labels = {} } = metadata;
  // Another owner's removal could be held up by that of a mirror, which needs a permission.
  const ownerReferences = metadata.ownerReferences?.filter(
    (owner) => owner.apiVersion === 'v1' && owner.kind === 'Service',
  );
  const isV6 = addressType === 'IPv6';
  const withoutAddress: string[] = [];
  const refused: string[] = [];
  const endpoints = (source.endpoints ?? []).flatMap((endpoint) => {
    const { targetRef } = endpoint;
    if (targetRef?.kind !== 'Pod' || targetRef.name === undefined) {
      const addresses = (endpoint.addresses ?? []).flatMap((text) => {
        const place = placeOf(text, isV6, nads, closed);
        if (place.refusal !== undefined) refused.push(`${place.address} ${place.refusal}`);
        return place.refusal === undefined && (place.network ?? network) === network
          ? [place.address]
          : [];
      });
      return addresses.length === 0 ? [] : [{ ...endpoint, addresses }];
    }
    const key = objectKey({ namespace, name: targetRef.name });
    const pod = podOf(key);
    // The slice of a pod that is gone changes in a moment.
    if (pod === undefined) return [];
    if (pod.spec.hostNetwork === true) {
      const address = hostAddressOf(pod, isV6);
      if (address === undefined && hasFamily(nads, isV6)) withoutAddress.push(key);
      return address === undefined ? [] : [{ ...endpoint, addresses: [address] }];
    }
    const carried = annotatedNetworks(pod);
    const own = nads.find((nad) => carried.has(nad.key));
    const address = carried.get(own?.key ?? '')?.addresses.find((text) => isOf(text, isV6));
    // A pod without address yet joins when it has one: the others need not wait for it.
    if (address === undefined && hasFamily(own === undefined ? nads : [own], isV6))
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
      ...(ownerReferences?.length ? { ownerReferences } : {}),
    },
    addressType,
    endpoints,
    ...(ports === undefined ? {} : { ports }),
  };
  return { slice, withoutAddress, refused };
}

interface AddressPlace {
  /** In canonical text. */
  readonly address: string;
  /** The one network that it is on; undefined: it is outside of them, where each of them gets to. */
  readonly network?: string | undefined;
  readonly refusal?: string;
}

/** Characters of a text that is no address, in messages. */
const LONGEST_TEXT = 64;

/** Where an address is that a slice names without a pod. */
function placeOf(
  text: string,
  isV6: boolean,
  nads: readonly RegisteredNad[],
  closed: readonly NamedRange[],
): AddressPlace {
  const parsed = parseAddress(text);
  if (parsed === undefined || (parsed.family === 'v6') !== isV6)
    return {
      address: JSON.stringify(clipped(text, LONGEST_TEXT)),
      refusal: `is no ${isV6 ? 'IPv6' : 'IPv4'} address`,
    };
  const address = formatAddress(parsed);
  const own = nads.find(({ config }) => config.subnets.some(({ cidr }) => contains(cidr, address)));
  if (own !== undefined) return { address, network: own.config.name };
  const range = closed.find(({ cidr }) => contains(cidr, address));
  return range === undefined
    ? { address }
    : { address, refusal: `is within ${range.name} ${range.cidr}` };
}

const isOf = (address: string, isV6: boolean): boolean => address.includes(':') === isV6;

/** A network without IPv6 has no endpoints in slices of IPv6, and nothing is missing. */
const hasFamily = (nads: readonly RegisteredNad[], isV6: boolean): boolean =>
  nads.some(({ config }) => config.subnets.some(({ cidr }) => isOf(cidr, isV6)));

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
