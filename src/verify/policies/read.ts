/** Policies as their objects say them: whom they are about, whom their rules mean, and on which ports. A reading of the proof's own. */
import { policyFor } from '../../api/annotations/policy-for.ts';
import { explain } from '../../api/annotations/annotations.ts';
import { objectKey } from '../../api/objects.ts';
import type { PlainObject } from '../../api/plain-object.ts';
import type {
  AdminPolicyPeer,
  AdminPolicyPort,
  AdminPolicyRule,
  AdminPolicySpec,
  ClusterPolicyProtocol,
  LabelSelector,
  MultiNetworkPolicy,
  NetworkPolicy,
  NetworkPolicyPeer,
  NetworkPolicyPort,
  NetworkPolicySpec,
} from '../../api/types.ts';
import { checkAdminPolicy } from '../../api/validation/admin-policies.ts';
import {
  formatFieldError,
  type FieldError,
  type FieldWarning,
} from '../../api/validation/field-errors.ts';
import { checkNetworkPolicy } from '../../api/validation/network-policies.ts';
import { addressesNamed } from '../headers/matched.ts';
import { allOf, between, without, type Ranges } from '../headers/ranges.ts';
import type { EitherAdminPolicy } from '../snapshot.ts';

export type PolicyDirection = 'Ingress' | 'Egress';
export const DIRECTIONS = ['Ingress', 'Egress'] as const;

/** Pods of one namespace, or of those that a selector matches, by their labels. */
export interface Selection {
  readonly namespaces: string | LabelSelector;
  readonly pods: LabelSelector;
}

/** Numbers of a protocol, or those that pods call by a name. */
export interface PolicyPort {
  readonly protocol: number;
  readonly numbers?: Ranges;
  readonly name?: string;
}

export interface Rule {
  readonly direction: PolicyDirection;
  /** It names nobody, which means everybody. */
  readonly isForAll: boolean;
  readonly selections: readonly Selection[];
  readonly addresses: Ranges;
  readonly nodes: readonly LabelSelector[];
  /** It means addresses that DNS alone knows. */
  readonly hasNames: boolean;
  /** None: everything, also what has no ports. */
  readonly ports: readonly PolicyPort[];
}

export interface NamespacePolicy {
  readonly object: string;
  readonly namespace: string;
  /** Of the secondary networks that a MultiNetworkPolicy is for; a NetworkPolicy is for the primary ones of its namespace. */
  readonly nads: readonly string[] | undefined;
  readonly pods: LabelSelector;
  /** In which its pods get or send nothing but what policies allow. */
  readonly directions: readonly PolicyDirection[];
  readonly rules: readonly Rule[];
}

export interface AdminRule extends Rule {
  readonly action: 'Allow' | 'Deny' | 'Pass';
  /** Among all rules of the tier: the lowest comes first. */
  readonly place: number;
}

export interface AdminPolicy {
  readonly object: string;
  readonly tier: 'Admin' | 'Baseline';
  readonly subject: Selection;
  readonly rules: readonly AdminRule[];
}

/** What an object says can't be told; the message says why. */
export class UnreadableError extends Error {}

const PROTOCOLS: Readonly<Record<string, number>> = { TCP: 6, UDP: 17, SCTP: 132 };
const ALL_PORTS = between(0, 65_535);

/** Places of a ClusterNetworkPolicy's rules; an AdminNetworkPolicy stands at every fourth of them (docs/differences.md). */
const RULES_OF_PRIORITY = 25;
const PRIORITIES_OF_ADMIN = 4;
const MOST_ADMIN_PRIORITY = 99;
/** The baseline stands behind all ClusterNetworkPolicies. */
const LAST_PRIORITY = 2000;

/** A field that is not known may narrow what stands beside it. */
function refuse(errors: readonly FieldError[], warnings: readonly FieldWarning[]): void {
  const [first] = errors;
  if (first !== undefined) throw new UnreadableError(formatFieldError(first));
  const unknown = warnings.find(({ path: [top] }) => top === 'spec');
  if (unknown !== undefined)
    throw new UnreadableError(`field ${unknown.path.join('.')} is not known`);
}

/** Undefined for a MultiNetworkPolicy that names no network. Throws UnreadableError. */
export function readNamespaced(
  policy: NetworkPolicy | MultiNetworkPolicy,
): NamespacePolicy | undefined {
  const { namespace = '' } = policy.metadata;
  const nads = policy.kind === 'MultiNetworkPolicy' ? policyFor(policy) : undefined;
  const [torn] = nads?.errors ?? [];
  if (torn !== undefined) throw new UnreadableError(explain(torn));
  if (nads !== undefined && nads.value === undefined) return undefined;
  const { spec, errors, warnings } = checkNetworkPolicy(policy as unknown as PlainObject);
  refuse(errors, warnings);
  const directions = directionsOf(spec);
  const rules = {
    Ingress: (spec.ingress ?? []).map(({ from = [], ports = [] }) =>
      readRule('Ingress', from, ports, namespace),
    ),
    Egress: (spec.egress ?? []).map(({ to = [], ports = [] }) =>
      readRule('Egress', to, ports, namespace),
    ),
  };
  return {
    object: `${policy.kind} ${objectKey(policy.metadata)}`,
    namespace,
    nads: nads?.value,
    pods: spec.podSelector ?? {},
    directions,
    rules: directions.flatMap((direction) => rules[direction]),
  };
}

/** `policyTypes`, or Ingress, and Egress where there are rules for it (NetworkPolicySpec). */
const directionsOf = ({
  policyTypes = [],
  egress = [],
}: NetworkPolicySpec): readonly PolicyDirection[] =>
  DIRECTIONS.filter((direction) =>
    policyTypes.length > 0
      ? policyTypes.includes(direction)
      : direction === 'Ingress' || egress.length > 0,
  );

const readRule = (
  direction: PolicyDirection,
  peers: readonly NetworkPolicyPeer[],
  ports: readonly NetworkPolicyPort[],
  namespace: string,
): Rule => ({
  direction,
  isForAll: peers.length === 0,
  selections: peers.flatMap(({ ipBlock, podSelector, namespaceSelector }): Selection[] =>
    ipBlock === undefined
      ? [{ namespaces: namespaceSelector ?? namespace, pods: podSelector ?? {} }]
      : [],
  ),
  addresses: allOf(
    peers.map(({ ipBlock }) =>
      ipBlock === undefined
        ? []
        : without(addressesNamed([ipBlock.cidr]), addressesNamed(ipBlock.except ?? [])),
    ),
  ),
  nodes: [],
  hasNames: false,
  ports: ports.map(readPort),
});

/** A number of a protocol; undefined of one that has none. */
export function portOf(name: string, number: number): PolicyPort | undefined {
  const protocol = Object.hasOwn(PROTOCOLS, name) ? PROTOCOLS[name] : undefined;
  return protocol === undefined ? undefined : { protocol, numbers: between(number, number) };
}

function readPort({ protocol = 'TCP', port, endPort }: NetworkPolicyPort): PolicyPort {
  const number = PROTOCOLS[protocol] ?? 0;
  if (typeof port === 'string') return { protocol: number, name: port };
  const numbers = port === undefined ? ALL_PORTS : between(port, endPort ?? port);
  return { protocol: number, numbers };
}

/** Throws UnreadableError. */
export function readAdmin(policy: EitherAdminPolicy): AdminPolicy {
  const { spec, errors, warnings } = checkAdminPolicy(
    policy.kind,
    policy as unknown as PlainObject,
  );
  refuse(errors, warnings);
  const { subject, ingress = [], egress = [] } = spec;
  const { tier, first } = placeOf(policy, spec);
  return {
    object: `${policy.kind} ${policy.metadata.name}`,
    tier,
    subject: selectionOf(subject),
    rules: [
      ...ingress.map((rule, index) => readAdminRule('Ingress', rule, rule.from, first + index)),
      ...egress.map((rule, index) => readAdminRule('Egress', rule, rule.to, first + index)),
    ],
  };
}

function placeOf(
  { kind }: EitherAdminPolicy,
  { tier = 'Admin', priority = 0 }: AdminPolicySpec,
): { readonly tier: AdminPolicy['tier']; readonly first: number } {
  if (kind === 'ClusterNetworkPolicy') return { tier, first: priority * RULES_OF_PRIORITY };
  if (kind === 'BaselineAdminNetworkPolicy')
    return { tier: 'Baseline', first: LAST_PRIORITY * RULES_OF_PRIORITY };
  if (priority > MOST_ADMIN_PRIORITY)
    throw new UnreadableError(`there is no room in OVN for priority ${priority}`);
  return { tier: 'Admin', first: priority * PRIORITIES_OF_ADMIN * RULES_OF_PRIORITY };
}

const selectionOf = ({
  namespaces,
  pods,
}: Pick<AdminPolicyPeer, 'namespaces' | 'pods'>): Selection => ({
  namespaces: namespaces ?? pods?.namespaceSelector ?? {},
  pods: pods?.podSelector ?? {},
});

function readAdminRule(
  direction: PolicyDirection,
  { action, ports = [], protocols = [] }: AdminPolicyRule,
  peers: readonly AdminPolicyPeer[],
  place: number,
): AdminRule {
  const hasNames = peers.some(({ domainNames = [] }) => domainNames.length > 0);
  const isAllowing = action === 'Allow' || action === 'Accept';
  // Nobody knows all addresses of a name: a rule that denies one denies not enough.
  if (hasNames && !isAllowing)
    throw new UnreadableError(
      'a rule with domainNames that does not allow means nobody knows whom',
    );
  return {
    direction,
    place,
    action: isAllowing ? 'Allow' : action,
    isForAll: false,
    selections: peers
      .filter(({ namespaces, pods }) => namespaces !== undefined || pods !== undefined)
      .map(selectionOf),
    addresses: allOf(peers.map(({ networks = [] }) => addressesNamed(networks))),
    nodes: peers.flatMap(({ nodes }) => nodes ?? []),
    hasNames,
    ports: [...ports.flatMap(readAdminPort), ...protocols.flatMap(readProtocols)],
  };
}

/** A name says nothing of the protocol: the pods' own ports do. */
const ofAnyProtocol = (name: string): readonly PolicyPort[] =>
  Object.values(PROTOCOLS).map((protocol) => ({ protocol, name }));

function readAdminPort({
  portNumber,
  portRange,
  namedPort,
}: AdminPolicyPort): readonly PolicyPort[] {
  if (namedPort !== undefined) return ofAnyProtocol(namedPort);
  const { protocol = 'TCP' } = portNumber ?? portRange ?? {};
  const [first, last] =
    portRange === undefined
      ? [portNumber?.port ?? 0, portNumber?.port ?? 0]
      : [portRange.start, portRange.end];
  return [{ protocol: PROTOCOLS[protocol] ?? 0, numbers: between(first, last) }];
}

function readProtocols(one: ClusterPolicyProtocol): readonly PolicyPort[] {
  if (one.destinationNamedPort !== undefined) return ofAnyProtocol(one.destinationNamedPort);
  return Object.entries(PROTOCOLS).flatMap(([name, protocol]): readonly PolicyPort[] => {
    const given = one[name.toLowerCase() as 'tcp' | 'udp' | 'sctp'];
    if (given === undefined) return [];
    const { number, range } = given.destinationPort ?? {};
    if (range !== undefined) return [{ protocol, numbers: between(range.start, range.end) }];
    return [{ protocol, numbers: number === undefined ? ALL_PORTS : between(number, number) }];
  });
}
