/** What pods ask for that the objects beside them can't give: an API server takes such a pod, and it never starts, or not as it was meant. Pure. */
import { contains, withoutPrefix } from '../allocators/addresses.ts';
import { complaint } from '../api/annotations/annotations.ts';
import { bandwidth } from '../api/annotations/bandwidth-annotations.ts';
import {
  DEFAULT_NETWORK_SELECTION,
  defaultNetworkSelection,
  NETWORKS,
  networkSelections,
} from '../api/annotations/network-selection.ts';
import {
  isWithoutNetworks,
  primaryUdnIpamClaim,
  requestedPrimaryUdn,
} from '../api/annotations/pod-annotations.ts';
import { SYSTEM_NAMESPACES } from '../api/built-in-kinds.ts';
import { parseNad } from '../api/nad/nad.ts';
import type { NetworkObject } from '../api/nad/network-spec.ts';
import { networkSpecOf } from '../api/nad/network-spec.ts';
import { POLICY_FOR, policyFor } from '../api/annotations/policy-for.ts';
import { objectKey, type KubeObject } from '../api/objects.ts';
import { withNameLabel } from '../api/selectors.ts';
import type {
  MultiNetworkPolicy,
  Namespace,
  NetworkAttachmentDefinition,
  Pod,
} from '../api/types.ts';
import { formatValue } from '../api/validation/field-errors.ts';
import type { ManifestDocument } from '../api/validation/manifest.ts';
import { nearestName } from '../api/validation/nearest-name.ts';
import { isNetworkObjectKind, targetNamespaces } from '../cluster/networks/network-objects.ts';
import type { ClusterSettings } from '../model/model.ts';
import { checkPod } from '../model/read/attachments.ts';

interface KnownNetwork {
  readonly isPrimary: boolean;
  readonly subnets: readonly string[];
}

/** What is declared beside the pods. */
interface Declared {
  readonly namespaces: ReadonlySet<string>;
  readonly nodes: ReadonlySet<string>;
  /** Networks by the key of their NAD; undefined for a NAD of another plugin. */
  readonly nads: ReadonlyMap<string, KnownNetwork | undefined>;
  /** Keys of IPAMClaims. */
  readonly claims: ReadonlySet<string>;
}

const named = (documents: readonly ManifestDocument[], kind: string): ReadonlySet<string> =>
  new Set(
    documents
      .filter(({ object }) => object.kind === kind)
      .map(({ object }) => object.metadata.name),
  );

function nadsOf(
  documents: readonly ManifestDocument[],
  settings: ClusterSettings,
): Declared['nads'] {
  const namespaces = documents
    .filter(({ object }) => object.kind === 'Namespace')
    .map(({ object }) => withNameLabel(object as Namespace));
  const nads = new Map<string, KnownNetwork | undefined>();
  for (const { object } of documents) {
    if (isNetworkObjectKind(object.kind)) {
      const network = object as NetworkObject;
      const spec = networkSpecOf(network);
      if (spec.kind === 'invalid') continue;
      const { role, subnets } = spec.value;
      const known = {
        isPrimary: role === 'primary',
        subnets: subnets.map((subnet) => subnet.split('/').slice(0, 2).join('/')),
      };
      for (const namespace of targetNamespaces(network, namespaces))
        nads.set(`${namespace}/${object.metadata.name}`, known);
    } else if (object.kind === 'NetworkAttachmentDefinition') {
      const parsed = parseNad(object as NetworkAttachmentDefinition, settings);
      nads.set(
        objectKey(object.metadata),
        parsed.kind === 'network'
          ? {
              isPrimary: parsed.config.role === 'primary',
              subnets: parsed.config.subnets.map(({ cidr }) => cidr),
            }
          : undefined,
      );
    }
  }
  return nads;
}

const didYouMean = (written: string, names: Iterable<string>): string => {
  const nearest = nearestName(written, names);
  return nearest === undefined ? 'declare it, or correct the name' : `did you mean "${nearest}"?`;
};

/** Addresses that are in none of the ranges. */
const outside = (ips: readonly string[], subnets: readonly string[]): readonly string[] =>
  subnets.length === 0
    ? []
    : ips.filter((ip) => !subnets.some((subnet) => contains(subnet, withoutPrefix(ip))));

const outsideText = (key: string, found: readonly string[], subnets: readonly string[]): string[] =>
  found.map(
    (ip) =>
      `annotation ${key}: ${formatValue(ip)} is in no subnet of the network: take one of ${subnets.join(', ')}`,
  );

/** Without a network or NAD of that namespace here these are not all manifests. */
const isJudged = (
  namespace: string,
  namespaces: Declared['namespaces'],
  nads: Declared['nads'],
): boolean =>
  namespaces.has(namespace) || [...nads.keys()].some((one) => one.startsWith(`${namespace}/`));

function problemsOf(pod: Pod, declared: Declared): readonly string[] {
  const { namespaces, nodes, nads } = declared;
  if (isWithoutNetworks(pod)) return checkPod(pod);
  const { namespace = 'default' } = pod.metadata;
  const { nodeName } = pod.spec;
  const [selections, primary] = [networkSelections(pod), defaultNetworkSelection(pod)];
  const requested = requestedPrimaryUdn(pod);
  const torn = [selections, primary, requested, primaryUdnIpamClaim(pod), bandwidth(pod)].map(
    complaint,
  );
  const isNodeUnknown = nodeName !== undefined && nodes.size > 0 && !nodes.has(nodeName);
  const primaries = [...nads].filter(
    ([key, known]) => known?.isPrimary === true && key.startsWith(`${namespace}/`),
  );
  const wanted = requested.value;
  const wantedKey =
    wanted === undefined || wanted.includes('/') ? wanted : `${namespace}/${wanted}`;
  const ofPrimary = primaries.filter(([key]) => wantedKey === undefined || key === wantedKey);
  const primarySubnets = ofPrimary.flatMap(([, known]) => known?.subnets ?? []);
  return [
    ...torn.filter((message) => message !== undefined),
    ...(isNodeUnknown
      ? [`spec.nodeName: there is no node "${nodeName}" here: ${didYouMean(nodeName, nodes)}`]
      : []),
    ...(selections.value ?? []).flatMap(({ namespace: of, name, ips }) => {
      const key = `${of}/${name}`;
      if (!nads.has(key))
        return isJudged(of, namespaces, nads)
          ? [
              `annotation ${NETWORKS}: there is no network or network-attachment-definition "${key}" here: ${didYouMean(key, nads.keys())}`,
            ]
          : [];
      const known = nads.get(key);
      if (known === undefined) return [];
      if (known.isPrimary)
        return [
          `annotation ${NETWORKS}: "${key}" is a primary network, which pods of its namespace are on by themselves: take it out`,
        ];
      return outsideText(NETWORKS, outside(ips, known.subnets), known.subnets);
    }),
    ...(wantedKey === undefined || primaries.length === 0 || ofPrimary.length > 0
      ? []
      : [
          `requested primary network "${wanted}" is no primary network of namespace "${namespace}": ${didYouMean(
            wantedKey,
            primaries.map(([key]) => key),
          )}`,
        ]),
    ...outsideText(
      DEFAULT_NETWORK_SELECTION,
      outside(primary.value?.ips ?? [], primarySubnets),
      primarySubnets,
    ),
    ...unknownClaims(pod, declared, [
      primary.value?.ipamClaim ?? primaryUdnIpamClaim(pod).value,
      ...(selections.value ?? []).map(({ ipamClaim }) => ipamClaim),
    ]),
    ...checkPod(pod),
  ];
}

/** Claims that are not among those that are declared. */
const unknownClaims = (
  pod: Pod,
  { claims }: Declared,
  asked: readonly (string | undefined)[],
): readonly string[] =>
  asked.flatMap((claim) => {
    const key = `${pod.metadata.namespace ?? 'default'}/${claim}`;
    return claim === undefined || claims.size === 0 || claims.has(key)
      ? []
      : [`there is no IPAMClaim "${key}" here: ${didYouMean(key, claims)}`];
  });

/** Policies for networks that are not among those that are declared. */
const unknownPolicyNetworks = (
  policy: MultiNetworkPolicy,
  { namespaces, nads }: Declared,
): readonly string[] =>
  (policyFor(policy).value ?? []).flatMap((key) =>
    nads.has(key) || !isJudged(key.split('/')[0] ?? '', namespaces, nads)
      ? []
      : [
          `annotation ${POLICY_FOR}: there is no network or network-attachment-definition "${key}" here: ${didYouMean(key, nads.keys())}`,
        ],
  );

/** Each pod, and each policy for networks, with a sentence for each thing that is wrong. */
export function podProblems(
  documents: readonly ManifestDocument[],
  settings: ClusterSettings,
): readonly { readonly document: ManifestDocument; readonly message: string }[] {
  const declared = {
    namespaces: named(documents, 'Namespace'),
    nodes: named(documents, 'Node'),
    nads: nadsOf(documents, settings),
    claims: new Set(
      documents
        .filter(({ object }) => object.kind === 'IPAMClaim')
        .map(({ object }) => objectKey(object.metadata)),
    ),
  };
  const messagesOf = (object: KubeObject): readonly string[] => {
    if (object.kind === 'Pod') return problemsOf(object as Pod, declared);
    return object.kind === 'MultiNetworkPolicy'
      ? unknownPolicyNetworks(object as MultiNetworkPolicy, declared)
      : [];
  };
  return documents.flatMap((document) =>
    messagesOf(document.object).map((message) => ({ document, message })),
  );
}

/** Objects in a namespace that is not declared, where any is: those of a cluster are not known. */
export function unknownNamespaces(
  documents: readonly ManifestDocument[],
): readonly { readonly document: ManifestDocument; readonly message: string }[] {
  const known = named(documents, 'Namespace');
  if (known.size === 0) return [];
  return documents.flatMap((document) => {
    const { namespace } = document.object.metadata;
    return namespace === undefined ||
      known.has(namespace) ||
      [...SYSTEM_NAMESPACES, 'default'].includes(namespace)
      ? []
      : [
          {
            document,
            message: `metadata.namespace: there is no namespace "${namespace}" here: ${didYouMean(namespace, known)}`,
          },
        ];
  });
}
