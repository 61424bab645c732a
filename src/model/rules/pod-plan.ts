/**
 * Which networks a pod is attached to, and as what (reference/api.md §6.9, §8, §10): the one decision of those who give addresses and of those
 * who render ports. What a pod carries is no argument in it. Pure.
 */
import { formatPrefix, overlaps, parsePrefix } from '../../allocators/addresses.ts';
import { PRIMARY_NETWORK_LABEL } from '../../api/annotations/network-annotations.ts';
import { annotationOf, explain } from '../../api/annotations/annotations.ts';
import { DEFAULT_NAD_KEY, nadOfKey } from '../../api/nad/nad-key.ts';
import { familyCidrs } from '../../api/nad/network-config.ts';
import { DEFAULT_NETWORK } from '../../api/nad/network-name.ts';
import {
  DEFAULT_NETWORK_SELECTION,
  defaultNetworkSelection,
  NETWORKS,
  networkSelections,
  type NetworkSelection,
} from '../../api/annotations/network-selection.ts';
import { SYSTEM_NAMESPACES } from '../../api/built-in-kinds.ts';
import {
  isWithoutNetworks,
  POD_NETWORKS,
  podNetworks,
  PRIMARY_UDN_IPAM_CLAIM,
  primaryUdnIpamClaim,
  REQUESTED_AT_CREATION,
  requestedPrimaryUdn,
  requestText,
  type AttachmentRole,
  type PodNetwork,
} from '../../api/annotations/pod-annotations.ts';
import type { Pod } from '../../api/types.ts';
import { noPrimaryNetwork } from '../../api/nad/primary-networks.ts';
import type { NetworkConfig } from '../../api/nad/network-config.ts';
import type { ObjectReading } from '../read/reading.ts';

/** What the cluster manager chose for a pod among several primary networks: the NAD's key. */
export const SELECTED_PRIMARY = 'k8s.ovn.org/selected-primary-udn';

/** What a pod asks of an attachment. */
interface AttachmentRequest {
  /** Addresses as written: with or without prefix length. */
  readonly ips: readonly string[];
  readonly mac?: string;
  readonly ipamClaim?: string;
  /** Gateways of default routes that the pod wants through this attachment. */
  readonly defaultRoute: readonly string[];
}

/** A NAD that stands for a network. */
export interface PlannedNad {
  /** `<namespace>/<name>`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly config: NetworkConfig;
  /** How pods leave a secondary network, as its annotation says it. */
  readonly secondaryGateway?: string | undefined;
}

export interface WantedAttachment {
  /** Key in the pod's annotation: `default`, or the NAD's key with `/<k>` for a repetition. */
  readonly nadKey: string;
  readonly role: AttachmentRole;
  /** Undefined for the cluster default network. */
  readonly nad: PlannedNad | undefined;
  readonly request: AttachmentRequest;
}

/** Why a pod can't be wired. */
interface Obstacle {
  readonly message: string;
  /** Something is not there that may be on its way, as what is applied together comes one by one. */
  readonly isAwaited: boolean;
}

const wrong = (message: string): Obstacle => ({ message, isAwaited: false });
const awaited = (message: string): Obstacle => ({ message, isAwaited: true });

const isObstacle = (value: object): value is Obstacle => 'isAwaited' in value;

export type PodPlan =
  /** Nothing of ours: on the host's network, not scheduled, or done with its work. */
  | { readonly kind: 'none' }
  /** Can't be wired as it is, and who says so: the pod's node, or the cluster manager where no node would. */
  | ({ readonly kind: 'invalid'; readonly reportedBy: 'node' | 'cluster' } & Obstacle)
  /** Several primary networks are possible, and none is chosen yet; `candidates` is the one that the pod asks for if it does. */
  | {
      readonly kind: 'undecided';
      readonly candidates: readonly PlannedNad[];
      readonly isRequested: boolean;
      readonly request: AttachmentRequest;
    }
  | { readonly kind: 'attachments'; readonly attachments: readonly WantedAttachment[] };

/** What the plan is made from besides the pod. */
export interface PodContext {
  /** Whether the pod's namespace asks for a primary network of its own; undefined when there is no such namespace. */
  readonly isLabelled: boolean | undefined;
  /** Primary networks of the pod's namespace that have an id, the first one first. */
  readonly primaries: readonly PlannedNad[];
  /** The NAD of that key, if it stands for a network with an id; `other` = a NAD that is not ours. */
  readonly nad: (key: string) => PlannedNad | 'other' | undefined;
  /** True if a NAD in the pod's namespace stands for the network. */
  readonly isOfNamespace: (network: string) => boolean;
}

/** What of a pod decides on its networks, as plain values. */
export interface PodNetworkRequests {
  readonly namespace: string;
  /** What it asks for besides its primary network. */
  readonly selections: readonly NetworkSelection[];
  /** Why that can't be read. */
  readonly unreadable: string | undefined;
  /** What the cluster manager chose among several primary networks. */
  readonly selected: string | undefined;
  /** The IPAMClaim that it names for its primary network. */
  readonly primaryClaim: string | undefined;
  /** Keys of the attachments that it carries. */
  readonly carried: readonly string[];
  /** Not all that it carries can be read. */
  readonly isTorn?: boolean;
}

export function readNetworkRequests(pod: Pod): PodNetworkRequests {
  const { value = [], errors } = networkSelections(pod);
  const [problem] = errors;
  const carried = podNetworks(pod);
  return {
    namespace: pod.metadata.namespace ?? '',
    selections: value,
    unreadable: problem && explain(problem),
    selected: pod.metadata.annotations?.[SELECTED_PRIMARY],
    primaryClaim: primaryClaimOf(pod),
    carried: [...(carried.value?.keys() ?? [])],
    isTorn: carried.errors.length > 0,
  };
}

/** Whether a namespace asks for a primary network: those that every cluster has may lack an object. */
export const labelOf = (namespace: string, isLabelled: boolean | undefined): boolean | undefined =>
  isLabelled ?? (SYSTEM_NAMESPACES.includes(namespace) ? false : undefined);

/** Namespace whose secondary networks pods of every namespace may name, as Multus has it where it isolates namespaces. */
export const SHARED_NAMESPACE = 'default';

const NO_REQUEST: AttachmentRequest = { ips: [], defaultRoute: [] };

/** What a pod carries of a primary network is its claim's, as what it was given is; nothing else that it asks for counts any more. */
const claimRequest = (ipamClaim: string | undefined): AttachmentRequest =>
  ipamClaim === undefined ? NO_REQUEST : { ...NO_REQUEST, ipamClaim };

const primaryClaimOf = (pod: Pod): string | undefined =>
  defaultNetworkSelection(pod).value?.ipamClaim ?? primaryUdnIpamClaim(pod).value;

/** Keys of the IPAMClaims that a pod names. */
export function namedClaims(pod: Pod): readonly string[] {
  const { namespace, selections, primaryClaim } = readNetworkRequests(pod);
  const names = [...selections.map(({ ipamClaim }) => ipamClaim), primaryClaim];
  return [...new Set(names.filter((name) => name !== undefined))].map(
    (name) => `${namespace}/${name}`,
  );
}

/** Where they are named. */
const CLAIM_ANNOTATIONS = [NETWORKS, DEFAULT_NETWORK_SELECTION, PRIMARY_UDN_IPAM_CLAIM];

export const namesSameClaims = (a: Pod, b: Pod): boolean =>
  CLAIM_ANNOTATIONS.every((key) => annotationOf(a, key) === annotationOf(b, key));

/** What a pod carries; undefined entries are none. A broken annotation carries nothing. */
export const annotatedNetworks = (pod: Pod): ReadonlyMap<string, PodNetwork> =>
  podNetworks(pod).value ?? new Map<string, PodNetwork>();

/** `configNamespace` is that of the cluster default network's NAD. */
export function planPod(pod: Pod, context: PodContext, configNamespace: string): PodPlan {
  if (isWithoutNetworks(pod)) return { kind: 'none' };
  const requests = readNetworkRequests(pod);
  if (pod.spec.nodeName === undefined) return planUnscheduled(pod, requests, context);
  if (context.isLabelled === undefined)
    return { kind: 'invalid', reportedBy: 'cluster', ...awaited(noNamespace(requests)) };
  const secondaries = secondaryAttachments(requests, context);
  if (isObstacle(secondaries)) return { kind: 'invalid', reportedBy: 'node', ...secondaries };
  const standard = defaultAttachment(context.isLabelled);
  if (!context.isLabelled) return withoutOverlap(pod, [standard, ...secondaries]);
  const primary = choosePrimary(pod, requests, context.primaries);
  if (isObstacle(primary)) return { kind: 'invalid', reportedBy: 'node', ...primary };
  const request = primaryRequest(pod, configNamespace);
  if (typeof request === 'string')
    return { kind: 'invalid', reportedBy: 'node', ...wrong(request) };
  if ('candidates' in primary) return { kind: 'undecided', ...primary, request };
  return withoutOverlap(pod, [
    standard,
    { nadKey: primary.key, role: 'primary', nad: primary, request },
    ...secondaries,
  ]);
}

/** What a pod asks for when it is created counts, whatever it asks for when it is scheduled (reference/api.md §8): that is to be written down. */
function planUnscheduled(
  pod: Pod,
  requests: PodNetworkRequests,
  { isLabelled, primaries }: PodContext,
): PodPlan {
  const primary = isLabelled === true ? choosePrimary(pod, requests, primaries) : undefined;
  return primary !== undefined && 'candidates' in primary && primary.isRequested
    ? { kind: 'undecided', ...primary, request: NO_REQUEST }
    : { kind: 'none' };
}

/**
 * What the pod asked for when it was created, where that is to be written down, because the pod has no network for the time being
 * (reference/api.md §8: what it asks for later has no effect). `first` is what it asked for before somebody changed that.
 */
export function requestToKeep(
  pod: Pod,
  plan: PodPlan,
  { isLabelled, primaries }: PodContext,
  first: string | null | undefined,
): string | null | undefined {
  if (isLabelled !== true || isWithoutNetworks(pod)) return undefined;
  if (pod.metadata.annotations?.[REQUESTED_AT_CREATION] !== undefined) return undefined;
  const requests = readNetworkRequests(pod);
  if (settledPrimary(requests, primaries) !== undefined) return undefined;
  if (first !== undefined) return first;
  const asked = requestText(pod);
  const isChosen = primaries.some(({ key }) => key === requests.selected);
  const isRefused = plan.kind === 'invalid' || (plan.kind === 'none' && asked !== null);
  return isRefused && !isChosen ? asked : undefined;
}

export const noNamespace = ({ namespace }: Pick<PodNetworkRequests, 'namespace'>): string =>
  `metadata.namespace: there is no namespace "${namespace}": create it, or correct the name`;

const defaultAttachment = (isLabelled: boolean): WantedAttachment => ({
  nadKey: DEFAULT_NAD_KEY,
  role: isLabelled ? 'infrastructure-locked' : 'primary',
  nad: undefined,
  request: NO_REQUEST,
});

/** Why an entry of the annotation doesn't count. */
export const refusedEntry = (
  nadKey: string,
  why: string,
  remedy = 'delete the pod, so that its networks are worked out again',
): ObjectReading<never> => ({
  kind: 'problem',
  message: `annotation ${POD_NETWORKS}: "${nadKey}": ${why}; ${remedy}`,
});

/**
 * The attachment that a key of the pod's annotation stands for, or why the pod may not have it; undefined when there is no network of
 * ours behind the key (yet).
 */
export function permitAttachment(
  nadKey: string,
  requests: PodNetworkRequests,
  context: PodContext,
): ObjectReading<WantedAttachment> | undefined {
  const refuse = (why: string): ObjectReading<never> => refusedEntry(nadKey, why);
  const { isLabelled } = context;
  if (isLabelled === undefined) return { kind: 'problem', message: noNamespace(requests) };
  if (nadKey === DEFAULT_NAD_KEY) return { kind: 'value', value: defaultAttachment(isLabelled) };
  const nad = context.nad(nadOfKey(nadKey));
  if (nad === undefined || nad === 'other') return undefined;
  const network = `network "${nad.config.name}"`;
  if (nad.config.role === 'primary') {
    const { namespace } = requests;
    if (nad.namespace !== namespace || nad.key !== nadKey)
      return refuse(`${network} is no primary network of namespace "${namespace}"`);
    if (!isLabelled)
      return refusedEntry(
        nadKey,
        `namespace "${namespace}" is on the cluster default network, as it lacks the label "${PRIMARY_NETWORK_LABEL}"`,
        'give the label back if it was taken; otherwise delete the pod, so that its networks are worked out again',
      );
    const settled = settledPrimary(requests, context.primaries);
    if (settled?.key !== nadKey)
      return refuse(`the pod's primary network is "${settled?.key ?? ''}" already`);
    return {
      kind: 'value',
      value: { nadKey, role: 'primary', nad, request: claimRequest(requests.primaryClaim) },
    };
  }
  if (requests.unreadable !== undefined) return refuse(requests.unreadable);
  const selection = requests.selections.find((one) => one.nadKey === nadKey);
  if (selection === undefined)
    return refuse(`the pod does not ask for ${network} in its annotation ${NETWORKS}`);
  const foreign = foreignNamespace(nad, requests, context);
  if (foreign !== undefined) return refuse(foreign);
  return {
    kind: 'value',
    value: { nadKey, role: 'secondary', nad, request: requestOf(selection) },
  };
}

/** The primary network that a pod carries, whatever was asked for later; the cluster manager's choice counts first. */
function settledPrimary(
  { carried, selected }: PodNetworkRequests,
  primaries: readonly PlannedNad[],
): PlannedNad | undefined {
  const held = primaries
    .filter(({ key }) => carried.includes(key))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));
  return held.find(({ key }) => key === selected) ?? held[0];
}

/** Why pods of a namespace may not join the network of another one (reference/api.md §10: not without permission). */
function foreignNamespace(
  { key, namespace, config }: PlannedNad,
  requests: PodNetworkRequests,
  { isOfNamespace }: PodContext,
): string | undefined {
  if (namespace === requests.namespace || namespace === SHARED_NAMESPACE) return undefined;
  if (isOfNamespace(config.name)) return undefined;
  return `NAD ${key} is that of another namespace, and namespace "${requests.namespace}" has none of network "${config.name}": ask for one of its own, or of namespace "${SHARED_NAMESPACE}"`;
}

/** A pod on two networks with the same addresses could not tell them apart (reference/api.md §10); one that is wired stays so. */
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
            isAwaited: false,
            message: `its networks ${a.name} and ${b.name} overlap (${formatPrefix(prefix)} and ${formatPrefix(other)}): attach it to one of them`,
          };
      }
  return { kind: 'attachments', attachments };
}

type OpenChoice = Pick<Extract<PodPlan, { kind: 'undecided' }>, 'candidates' | 'isRequested'>;

/**
 * The primary network of a pod, those among which it is to be chosen, or why there is none. Of several the cluster manager's choice
 * counts, also for a pod that asks for one: what is asked for later has no effect then (reference/api.md §8).
 */
function choosePrimary(
  pod: Pod,
  requests: PodNetworkRequests,
  primaries: readonly PlannedNad[],
): PlannedNad | OpenChoice | Obstacle {
  const { namespace, selected } = requests;
  const [first, ...more] = primaries;
  if (first === undefined) return awaited(noPrimaryNetwork(namespace));
  const settled =
    settledPrimary(requests, primaries) ?? primaries.find(({ key }) => key === selected);
  if (settled !== undefined) return settled;
  const requested = requestedPrimaryUdn(pod);
  const [problem] = requested.errors;
  if (problem !== undefined) return wrong(explain(problem));
  if (requested.value === undefined)
    return more.length === 0 ? first : { candidates: primaries, isRequested: false };
  const wanted = requested.value.includes('/')
    ? requested.value
    : `${namespace}/${requested.value}`;
  const found = primaries.find(({ key }) => key === wanted);
  if (found === undefined)
    return awaited(
      `requested primary network "${requested.value}" is no primary network of namespace "${namespace}": delete the pod and create it with one of ${primaries.map(({ name }) => name).join(', ')}, what it asks for later has no effect`,
    );
  return { candidates: [found], isRequested: true };
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
  const ipamClaim = primaryClaimOf(pod);
  return {
    ips: selection.value?.ips ?? [],
    defaultRoute: [],
    ...(selection.value?.mac === undefined ? {} : { mac: selection.value.mac }),
    ...(ipamClaim === undefined ? {} : { ipamClaim }),
  };
}

/** Attachments that the pod asks for, or what is wrong with them. NADs of other plugins are none of ours. */
function secondaryAttachments(
  requests: PodNetworkRequests,
  context: PodContext,
): readonly WantedAttachment[] | Obstacle {
  if (requests.unreadable !== undefined) return wrong(requests.unreadable);
  const attachments: WantedAttachment[] = [];
  for (const selection of requests.selections) {
    const key = `${selection.namespace}/${selection.name}`;
    const nad = context.nad(key);
    if (nad === 'other') continue;
    if (nad === undefined)
      return awaited(
        `annotation ${NETWORKS}: there is no network-attachment-definition "${key}" with a network yet: create it, correct the name, or see its events if it is there`,
      );
    if (nad.config.role === 'primary')
      return wrong(
        `unexpected primary network "${nad.config.name}" specified with a NetworkSelectionElement ${key}: remove it from the annotation ${NETWORKS}`,
      );
    const foreign = foreignNamespace(nad, requests, context);
    if (foreign !== undefined) return wrong(`annotation ${NETWORKS}: ${foreign}`);
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

/** Who gives addresses: the pod's node from its own subnet, or the cluster manager for the whole network (reference/api.md §6.9). */
export function allocatedBy({ nad }: WantedAttachment): 'node' | 'cluster' {
  if (nad === undefined || nad.config.topology === 'layer3') return 'node';
  if (nad.config.topology === 'localnet' && nad.config.subnets.length === 0) return 'node';
  return 'cluster';
}
