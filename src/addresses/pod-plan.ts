/** Which networks a pod is attached to, and as what (api.md §6.9, §8, §10). Pure. */
import { formatPrefix, overlaps, parsePrefix } from '../allocators/addresses.ts';
import { explain } from '../api/annotations/annotations.ts';
import { PRIMARY_NETWORK_LABEL } from '../api/annotations/network-annotations.ts';
import { familyCidrs } from '../api/nad/network-config.ts';
import { DEFAULT_NETWORK } from '../api/nad/network-name.ts';
import {
  DEFAULT_NETWORK_SELECTION,
  defaultNetworkSelection,
  networkSelections,
  type NetworkSelection,
} from '../api/annotations/network-selection.ts';
import { SYSTEM_NAMESPACES } from '../api/built-in-kinds.ts';
import {
  isWithoutNetworks,
  podNetworks,
  primaryUdnIpamClaim,
  requestedPrimaryUdn,
  type AttachmentRole,
  type PodNetwork,
} from '../api/annotations/pod-annotations.ts';
import type { Namespace, Pod } from '../api/types.ts';
import { invalidPrimaryNetwork } from '../api/nad/primary-networks.ts';
import type { RegisteredNad } from '../api/nad/registered-nad.ts';

/** What the cluster manager chose for a pod among several primary networks: the NAD's key. */
export const SELECTED_PRIMARY = 'k8s.ovn.org/selected-primary-udn';

/** What a pod asks of an attachment. */
export interface AttachmentRequest {
  /** Addresses as written: with or without prefix length. */
  readonly ips: readonly string[];
  readonly mac?: string;
  readonly ipamClaim?: string;
  /** Gateways of default routes that the pod wants through this attachment. */
  readonly defaultRoute: readonly string[];
}

export interface WantedAttachment {
  /** Key in the pod's annotation: `default`, or the NAD's key with `/<k>` for a repetition. */
  readonly nadKey: string;
  readonly role: AttachmentRole;
  /** Undefined for the cluster default network. */
  readonly nad: RegisteredNad | undefined;
  readonly request: AttachmentRequest;
}

export type PodPlan =
  /** Nothing of ours: on the host's network, not scheduled, or done with its work. */
  | { readonly kind: 'none' }
  /** Can't be wired as it is, and who says so: the pod's node, or the cluster manager where no node would. */
  | { readonly kind: 'invalid'; readonly message: string; readonly reportedBy: 'node' | 'cluster' }
  /** Several primary networks are possible, and none is chosen yet. */
  | {
      readonly kind: 'undecided';
      readonly candidates: readonly RegisteredNad[];
      readonly request: AttachmentRequest;
    }
  | { readonly kind: 'attachments'; readonly attachments: readonly WantedAttachment[] };

/** What the plan is made from besides the pod. */
export interface PodContext {
  readonly namespace: Namespace | undefined;
  /** Primary networks of the pod's namespace that have an id, the first one first. */
  readonly primaries: readonly RegisteredNad[];
  /** The NAD of that key, if it stands for a network with an id; `other` = a NAD that is not ours. */
  readonly nad: (key: string) => RegisteredNad | 'other' | undefined;
  /** Namespace of the cluster default network's NAD. */
  readonly configNamespace: string;
}

const NO_REQUEST: AttachmentRequest = { ips: [], defaultRoute: [] };

/** What a pod carries; undefined entries are none. A broken annotation carries nothing. */
export const annotatedNetworks = (pod: Pod): ReadonlyMap<string, PodNetwork> =>
  podNetworks(pod).value ?? new Map<string, PodNetwork>();

export function planPod(pod: Pod, context: PodContext): PodPlan {
  if (isWithoutNetworks(pod) || pod.spec.nodeName === undefined) return { kind: 'none' };
  const { namespace } = context;
  if (namespace === undefined && !SYSTEM_NAMESPACES.includes(pod.metadata.namespace ?? ''))
    return {
      kind: 'invalid',
      reportedBy: 'cluster',
      message: `metadata.namespace: there is no namespace "${pod.metadata.namespace ?? ''}": create it, or correct the name`,
    };
  const secondaries = secondaryAttachments(pod, context);
  if (typeof secondaries === 'string')
    return { kind: 'invalid', reportedBy: 'node', message: secondaries };
  const hasPrimary = Object.hasOwn(namespace?.metadata.labels ?? {}, PRIMARY_NETWORK_LABEL);
  const standard = (role: AttachmentRole): WantedAttachment => ({
    nadKey: DEFAULT_NETWORK,
    role,
    nad: undefined,
    request: NO_REQUEST,
  });
  if (!hasPrimary) return withoutOverlap(pod, [standard('primary'), ...secondaries]);
  const primary = choosePrimary(pod, context.primaries);
  if (typeof primary === 'string') return { kind: 'invalid', reportedBy: 'node', message: primary };
  const request = primaryRequest(pod, context.configNamespace);
  if (typeof request === 'string') return { kind: 'invalid', reportedBy: 'node', message: request };
  if (primary === undefined) return { kind: 'undecided', candidates: context.primaries, request };
  return withoutOverlap(pod, [
    standard('infrastructure-locked'),
    { nadKey: primary.key, role: 'primary', nad: primary, request },
    ...secondaries,
  ]);
}

/** A pod on two networks with the same addresses could not tell them apart (seed 000); one that is wired stays so. */
function withoutOverlap(pod: Pod, attachments: readonly WantedAttachment[]): PodPlan {
  const carried = annotatedNetworks(pod);
  const networks = new Map(
    attachments.flatMap(({ nad }) =>
      nad === undefined ? [] : [[nad.config.name, nad.config] as const],
    ),
  );
  const isWired = attachments.every(({ nadKey }) => carried.has(nadKey));
  const ranges = [...networks.values()].map((config) => ({
    name: config.name,
    prefixes: [
      ...config.subnets.map(({ cidr }) => cidr),
      ...(config.role === 'primary' ? familyCidrs(config.joinSubnets) : []),
    ]
      .map(parsePrefix)
      .filter((prefix) => prefix !== undefined),
  }));
  for (const [index, a] of isWired ? [] : ranges.entries())
    for (const b of ranges.slice(index + 1))
      for (const prefix of a.prefixes) {
        const other = b.prefixes.find((one) => overlaps(one, prefix));
        if (other !== undefined)
          return {
            kind: 'invalid',
            reportedBy: 'node',
            message: `its networks ${a.name} and ${b.name} overlap (${formatPrefix(prefix)} and ${formatPrefix(other)}): attach it to one of them`,
          };
      }
  return { kind: 'attachments', attachments };
}

/** The primary network of a pod, undefined while it is to be chosen, or why there is none. */
function choosePrimary(
  pod: Pod,
  primaries: readonly RegisteredNad[],
): RegisteredNad | undefined | string {
  const namespace = pod.metadata.namespace ?? '';
  if (primaries.length === 0) return invalidPrimaryNetwork(namespace);
  // What a pod carries is settled, whatever was asked for later.
  const carried = annotatedNetworks(pod);
  const settled = primaries.find(({ key }) => carried.get(key)?.role === 'primary');
  if (settled !== undefined) return settled;
  const selected = pod.metadata.annotations?.[SELECTED_PRIMARY];
  const chosen = primaries.find(({ key }) => key === selected);
  if (chosen !== undefined) return chosen;
  const requested = requestedPrimaryUdn(pod);
  const [problem] = requested.errors;
  if (problem !== undefined) return explain(problem);
  if (requested.value !== undefined) {
    const wanted = requested.value.includes('/')
      ? requested.value
      : `${namespace}/${requested.value}`;
    return (
      primaries.find(({ key }) => key === wanted) ??
      `requested primary network "${requested.value}" is no primary network of namespace "${namespace}": ask for one of ${primaries.map(({ name }) => name).join(', ')}`
    );
  }
  return primaries.length === 1 ? primaries[0] : undefined;
}

/** What the pod asks of its primary network, or what is wrong with that. */
function primaryRequest(pod: Pod, configNamespace: string): AttachmentRequest | string {
  const selection = defaultNetworkSelection(pod);
  const claim = primaryUdnIpamClaim(pod);
  const problem = selection.errors[0] ?? claim.errors[0];
  if (problem !== undefined) return explain(problem);
  if (selection.value !== undefined) {
    const { name, namespace } = selection.value;
    const remedy = `annotation ${DEFAULT_NETWORK_SELECTION} must name the NAD of the cluster default network`;
    if (namespace !== configNamespace)
      return `unexpected default NSE namespace "${namespace}", expected "${configNamespace}": ${remedy}`;
    if (name !== DEFAULT_NETWORK)
      return `unexpected default NSE name "${name}", expected "${DEFAULT_NETWORK}": ${remedy}`;
  }
  const ipamClaim = selection.value?.ipamClaim ?? claim.value;
  return {
    ips: selection.value?.ips ?? [],
    defaultRoute: [],
    ...(selection.value?.mac === undefined ? {} : { mac: selection.value.mac }),
    ...(ipamClaim === undefined ? {} : { ipamClaim }),
  };
}

/** Attachments that the pod asks for, or what is wrong with them. NADs of other plugins are none of ours. */
function secondaryAttachments(
  pod: Pod,
  { nad: lookUp }: PodContext,
): readonly WantedAttachment[] | string {
  const selections = networkSelections(pod);
  const [problem] = selections.errors;
  if (problem !== undefined) return explain(problem);
  const attachments: WantedAttachment[] = [];
  for (const selection of selections.value ?? []) {
    const key = `${selection.namespace}/${selection.name}`;
    const nad = lookUp(key);
    if (nad === 'other') continue;
    if (nad === undefined)
      return `annotation k8s.v1.cni.cncf.io/networks: there is no network-attachment-definition "${key}" with a network yet: create it, or correct the name`;
    if (nad.config.role === 'primary')
      return `unexpected primary network "${nad.config.name}" specified with a NetworkSelectionElement ${key}: remove it from the annotation k8s.v1.cni.cncf.io/networks`;
    attachments.push({
      nadKey: selection.nadKey,
      role: 'secondary',
      nad,
      request: requestOf(selection),
    });
  }
  return attachments;
}

const requestOf = ({ ips, mac, ipamClaim, defaultRoute }: NetworkSelection): AttachmentRequest => ({
  ips,
  defaultRoute,
  ...(mac === undefined ? {} : { mac }),
  ...(ipamClaim === undefined ? {} : { ipamClaim }),
});

/** Who gives addresses: the pod's node from its own subnet, or the cluster manager for the whole network (api.md §6.9). */
export function allocatedBy({ nad }: WantedAttachment): 'node' | 'cluster' {
  if (nad === undefined || nad.config.topology === 'layer3') return 'node';
  if (nad.config.topology === 'localnet' && nad.config.subnets.length === 0) return 'node';
  return 'cluster';
}
