/** Network policies as values: which pods they select, what they let through. */
import { canonicalCidr } from '../../allocators/addresses.ts';
import { annotationOf, explain } from '../../api/annotations/annotations.ts';
import { POLICY_FOR, policyFor } from '../../api/annotations/policy-for.ts';
import { multiNetworkPolicies, networkPolicies } from '../../api/kinds.ts';
import { isPlainObject, type PlainObject } from '../../api/plain-object.ts';
import { formatSelector } from '../../api/selectors.ts';
import type {
  LabelSelector,
  MultiNetworkPolicy,
  NetworkPolicy,
  NetworkPolicyPeer,
  NetworkPolicyPort,
  NetworkPolicySpec,
} from '../../api/types.ts';
import {
  formatFieldError,
  unknownFieldError,
  type FieldError,
  type FieldWarning,
} from '../../api/validation/field-errors.ts';
import { checkNetworkPolicy } from '../../api/validation/network-policies.ts';
import { clipped } from '../../api/visible-text.ts';
import type { ObjectKind } from './object-kind.ts';
import { found, type ObjectReading } from './reading.ts';
import { selectionId, type PodSelection } from '../rules/selections.ts';

export type PolicyDirection = 'Ingress' | 'Egress';
export type Protocol = 'tcp' | 'udp' | 'sctp';

/** Addresses of a range, but for some. Canonical text. */
export interface AddressBlock {
  readonly cidr: string;
  readonly except: readonly string[];
}

/** Ports of one protocol: one, a range, all of them, or those that pods call by a name. */
export interface PolicyPort {
  readonly protocol: Protocol;
  readonly port?: number;
  readonly endPort?: number;
  readonly name?: string;
}

/** What a policy lets through in one direction; to or from everybody if it names no peers, on every port if it names none. */
export interface PolicyRule {
  readonly direction: PolicyDirection;
  /** Position among the rules of its direction. */
  readonly index: number;
  readonly peers: readonly PodSelection[];
  readonly blocks: readonly AddressBlock[];
  readonly ports: readonly PolicyPort[];
}

export interface Policy {
  readonly kind: 'NetworkPolicy' | 'MultiNetworkPolicy';
  readonly namespace: string;
  readonly name: string;
  /** Keys of the NADs of the secondary networks that it is for, `all` where these can't be told; the others are for the primary network of their namespace. */
  readonly nads?: readonly string[] | 'all';
  readonly podSelector: LabelSelector;
  /** Directions in which its pods get nothing but what policies let through. */
  readonly directions: readonly PolicyDirection[];
  readonly rules: readonly PolicyRule[];
  /** It asks that what it lets through is not tracked: answers need a rule of their own. */
  readonly isStateless: boolean;
}

/** reference/topology.md §16.1 */
export const STATELESS = 'k8s.ovn.org/acl-stateless';

const PROTOCOLS: Readonly<Record<string, Protocol>> = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' };

export const readProtocol = (protocol = 'TCP'): Protocol => PROTOCOLS[protocol] ?? 'tcp';

function readPort({ protocol, port, endPort }: NetworkPolicyPort): PolicyPort {
  return {
    protocol: readProtocol(protocol),
    ...(typeof port === 'string' ? { name: port } : {}),
    ...(typeof port === 'number' ? { port } : {}),
    ...(endPort === undefined || endPort === port ? {} : { endPort }),
  };
}

/** A peer without `podSelector` means all pods of its namespaces; ovn-kubernetes has a set of its own for it (reference/topology.md §16.1). */
export function selectionOf(
  { podSelector, namespaceSelector }: Pick<NetworkPolicyPeer, 'podSelector' | 'namespaceSelector'>,
  namespace: string,
): PodSelection {
  const selection = {
    ...(namespaceSelector === undefined ? { namespace } : { namespaceSelector }),
    podSelector: podSelector ?? {},
    isLegacy: podSelector === undefined,
  };
  return { id: selectionId(selection), ...selection };
}

function readRule(
  direction: PolicyDirection,
  index: number,
  peers: readonly NetworkPolicyPeer[],
  ports: readonly NetworkPolicyPort[],
  namespace: string,
): PolicyRule {
  return {
    direction,
    index,
    peers: peers
      .filter(({ ipBlock }) => ipBlock === undefined)
      .map((peer) => selectionOf(peer, namespace)),
    blocks: peers.flatMap(({ ipBlock }) =>
      ipBlock === undefined
        ? []
        : [
            {
              cidr: canonicalCidr(ipBlock.cidr),
              except: (ipBlock.except ?? []).map(canonicalCidr),
            },
          ],
    ),
    ports: ports.map(readPort),
  };
}

/** Without `policyTypes` a policy is for ingress, and for egress where it has rules for that. */
function directionsOf({ policyTypes = [], egress = [] }: NetworkPolicySpec): PolicyDirection[] {
  const isFor = (direction: PolicyDirection): boolean =>
    policyTypes.length === 0
      ? direction === 'Ingress' || egress.length > 0
      : policyTypes.includes(direction);
  return (['Ingress', 'Egress'] as const).filter(isFor);
}

/** The first of several errors, and how many there are besides. */
export const refusal = ([first, ...more]: readonly FieldError[]): string =>
  `${first === undefined ? '' : formatFieldError(first)}${more.length === 0 ? '' : ` (and ${more.length} more)`}`;

/** Fields of the spec that are not known, as errors. */
export const unknownInSpec = (warnings: readonly FieldWarning[]): readonly FieldError[] =>
  warnings.filter(({ path: [top] }) => top === 'spec').map(unknownFieldError);

/** A value of the spec by itself, without what is wrong with others; undefined where it can't be read. */
function readAlone(
  policy: NetworkPolicy | MultiNetworkPolicy,
  part: Readonly<Record<string, unknown>>,
): NetworkPolicySpec | undefined {
  const alone = { ...policy, spec: part };
  const { spec, errors, warnings } = checkNetworkPolicy(alone);
  return errors.length + unknownInSpec(warnings).length === 0 ? spec : undefined;
}

const SPEC_FIELDS: ReadonlySet<string> = new Set([
  'podSelector',
  'policyTypes',
  'ingress',
  'egress',
]);

/** Pods, and directions, that nothing is let through for while a policy can't be read: all that the policy can mean, and of its own pods alone where it says which. */
function closedPods(
  policy: NetworkPolicy | MultiNetworkPolicy,
): Pick<Policy, 'podSelector' | 'directions'> {
  const raw: unknown = policy.spec;
  const everything = { podSelector: {}, directions: ['Ingress', 'Egress'] } as const;
  // A field beside the known ones may be about more pods, or another direction.
  if (!isPlainObject(raw) || !Object.keys(raw).every((field) => SPEC_FIELDS.has(field)))
    return everything;
  const { podSelector, policyTypes, egress } = raw;
  const types = readAlone(policy, { policyTypes });
  const hasEgress = Array.isArray(egress) ? egress.length > 0 : (egress ?? null) !== null;
  return {
    podSelector: readAlone(policy, { podSelector })?.podSelector ?? everything.podSelector,
    directions:
      types === undefined
        ? everything.directions
        : directionsOf({ ...types, egress: hasEgress ? [{}] : [] }),
  };
}

const LONGEST_SELECTOR = 200;

const CLOSED_WAYS: Readonly<Record<string, string>> = {
  Ingress: 'get nothing',
  Egress: 'send nothing',
};

/** What can't be read leaves in force what was read last, and otherwise lets nothing through. */
function untilThen(policy: NetworkPolicy | MultiNetworkPolicy): string {
  const { podSelector, directions } = closedPods(policy);
  const labels = formatSelector(podSelector);
  const shown = labels.length > LONGEST_SELECTOR ? `${clipped(labels, LONGEST_SELECTOR)}…` : labels;
  const pods = `the pods of its namespace${labels === '' ? '' : ` that its podSelector selects (${shown})`}`;
  const [only] = directions;
  const ways = directions.length === 1 ? CLOSED_WAYS[only ?? ''] : 'get and send nothing';
  return `correct it; until then what was read of it before stays in force, and where that is nothing ${pods} ${ways}`;
}

/** What is read of a policy as it is stored, whatever it says. */
export function readPolicy(policy: NetworkPolicy | MultiNetworkPolicy): ObjectReading<Policy> {
  const nads = policy.kind === 'MultiNetworkPolicy' ? policyFor(policy) : undefined;
  const [torn] = nads?.errors ?? [];
  if (torn !== undefined)
    return { kind: 'problem', message: `${explain(torn)}; ${untilThen(policy)}` };
  if (nads !== undefined && nads.value === undefined)
    return {
      kind: 'problem',
      message: `annotation ${POLICY_FOR} is missing: the policy is for no network; write the NADs of those that it is for`,
    };
  const { spec, warnings, ...checked } = checkNetworkPolicy(policy as unknown as PlainObject);
  const errors = [...checked.errors, ...unknownInSpec(warnings)];
  if (errors.length > 0)
    return { kind: 'problem', message: `${refusal(errors)}; ${untilThen(policy)}` };
  const { name, namespace = '' } = policy.metadata;
  const directions = directionsOf(spec);
  const rules = {
    Ingress: (spec.ingress ?? []).map(({ from = [], ports = [] }, index) =>
      readRule('Ingress', index, from, ports, namespace),
    ),
    Egress: (spec.egress ?? []).map(({ to = [], ports = [] }, index) =>
      readRule('Egress', index, to, ports, namespace),
    ),
  };
  return {
    kind: 'value',
    value: {
      kind: policy.kind,
      namespace,
      name,
      ...(nads?.value === undefined ? {} : { nads: nads.value }),
      podSelector: spec.podSelector ?? {},
      directions,
      rules: directions.flatMap((direction) => rules[direction]),
      isStateless: annotationOf(policy, STATELESS) === 'true',
    },
  };
}

/** In place of a policy that could never be read: no pod that it can mean gets or sends anything by it. */
export function closedPolicy(policy: NetworkPolicy | MultiNetworkPolicy): Policy {
  const { name, namespace = '' } = policy.metadata;
  return {
    kind: policy.kind,
    namespace,
    name,
    ...(policy.kind === 'MultiNetworkPolicy' ? { nads: closedNads(policy) } : {}),
    ...closedPods(policy),
    rules: [],
    isStateless: false,
  };
}

function closedNads(policy: MultiNetworkPolicy): readonly string[] | 'all' {
  const { value, errors } = policyFor(policy);
  return errors.length > 0 ? 'all' : (value ?? []);
}

/** `NetworkPolicy blue/allow-web`. */
export const policyObject = ({ kind, namespace, name }: Policy): string =>
  `${kind} ${namespace}/${name}`;

/** A port that a rule means by a name, on pods that a selection has. */
export interface PortQuery {
  readonly selection: PodSelection;
  readonly protocol: Protocol;
  readonly name: string;
}

const everyPod: Omit<PodSelection, 'id'> = {
  namespaceSelector: {},
  podSelector: {},
  isLegacy: false,
};
const EVERY_POD: PodSelection = { id: selectionId(everyPod), ...everyPod };

/** Who has the port that a name means: the pods that the policy selects, or, where these send, those that they send to. */
export function portQueries(policy: Policy, rule: PolicyRule): readonly PortQuery[] {
  const named = rule.ports.filter(({ name }) => name !== undefined);
  if (named.length === 0) return [];
  const subject = {
    namespace: policy.namespace,
    podSelector: policy.podSelector,
    isLegacy: false,
  };
  const reached =
    rule.direction === 'Ingress'
      ? [{ id: selectionId(subject), ...subject }]
      : rule.peers.length === 0 && rule.blocks.length === 0
        ? [EVERY_POD]
        : rule.peers;
  return named.flatMap(({ protocol, name = '' }) =>
    reached.map((selection) => ({ selection, protocol, name })),
  );
}

/** True for a policy whose rows depend on pods of all nodes. */
const needsPods = (policy: Policy): boolean =>
  policy.rules.some((rule) => rule.peers.length > 0 || portQueries(policy, rule).length > 0);

const policyKind = {
  table: 'policies',
  read: readPolicy,
  onUnreadable: 'closed',
  closed: (policy: NetworkPolicy | MultiNetworkPolicy) => found(closedPolicy(policy)),
  needsOtherPods: needsPods,
} as const;

export const networkPolicyKind = {
  ...policyKind,
  kind: networkPolicies,
} as const satisfies ObjectKind<NetworkPolicy, Policy>;

export const multiNetworkPolicyKind = {
  ...policyKind,
  kind: multiNetworkPolicies,
} as const satisfies ObjectKind<MultiNetworkPolicy, Policy>;
