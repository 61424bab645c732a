/** Policies of the cluster's administrators as values: before those of namespaces, and behind them. */
import { canonicalCidr } from '../../allocators/addresses.ts';
import { aclLogging, type AclLogging } from '../../api/annotations/acl-logging.ts';
import type { PlainObject } from '../../api/plain-object.ts';
import type {
  AdminNetworkPolicy,
  AdminPolicyPeer,
  AdminPolicyPort,
  AdminPolicyRule,
  AdminPolicySpec,
  BaselineAdminNetworkPolicy,
  ClusterNetworkPolicy,
  ClusterPolicyPort,
  ClusterPolicyProtocol,
  LabelSelector,
  PodsSelector,
} from '../../api/types.ts';
import { checkAdminPolicy, type AdminKind } from '../../api/validation/admin-policies.ts';
import type { FieldError } from '../../api/validation/field-errors.ts';
import {
  readProtocol,
  refusal,
  type PolicyDirection,
  type PolicyPort,
  type PortQuery,
  unknownInSpec,
} from './policies.ts';
import type { ObjectReading } from './reading.ts';
import { canonicalName } from './egress-firewalls.ts';
import { selectionId, type PodSelection } from '../rules/selections.ts';

export interface AdminRule {
  readonly direction: PolicyDirection;
  /** Position among the rules of its direction: the first that matches counts. */
  readonly index: number;
  readonly action: 'Allow' | 'Deny' | 'Pass';
  readonly peers: readonly PodSelection[];
  readonly nodes: readonly LabelSelector[];
  /** Canonical CIDRs. */
  readonly networks: readonly string[];
  /** As `dnsName` of EgressFirewalls, but that `**.` at the start stands for one label or more. */
  readonly names: readonly string[];
  readonly ports: readonly PolicyPort[];
}

export interface AdminPolicy {
  readonly kind: AdminKind;
  readonly name: string;
  /** Before the policies of namespaces, or behind them. */
  readonly tier: 'Admin' | 'Baseline';
  /** Among all of a tier, as ClusterNetworkPolicies have it: 0 comes first, but for one that is closed. */
  readonly priority: number;
  readonly subject: PodSelection;
  readonly rules: readonly AdminRule[];
  readonly logging: AclLogging;
}

export type EitherAdminPolicy =
  | AdminNetworkPolicy
  | BaselineAdminNetworkPolicy
  | ClusterNetworkPolicy;

/** Policies are told apart by their priority in OVN, which has room for this many of AdminNetworkPolicies (reference/topology.md §16.2). */
const MOST_PRIORITY = 99;

/** Of 100 rules an AdminNetworkPolicy has room for between two, a ClusterNetworkPolicy 25: one of the former stands at every fourth of the latter. */
const ADMIN_STEP = 4;

/** Behind every ClusterNetworkPolicy, of which the last has 1000; with it the baseline has the numbers of ovn-kubernetes. */
const BEHIND_ALL = 1130;

/** Before all that can be read: which of them it came before is not known. */
export const BEFORE_ALL = -ADMIN_STEP;

function placeOf(
  kind: AdminKind,
  { tier = 'Admin', priority = 0 }: Pick<AdminPolicySpec, 'tier' | 'priority'>,
): Pick<AdminPolicy, 'tier' | 'priority'> {
  if (kind === 'ClusterNetworkPolicy') return { tier, priority };
  return kind === 'AdminNetworkPolicy'
    ? { tier, priority: priority * ADMIN_STEP }
    : { tier: 'Baseline', priority: BEHIND_ALL };
}

function selectionOf(
  namespaces: LabelSelector | undefined,
  pods: PodsSelector | undefined,
): PodSelection {
  const selection = {
    namespaceSelector: namespaces ?? pods?.namespaceSelector ?? {},
    podSelector: pods?.podSelector ?? {},
    isLegacy: false,
  };
  return { id: selectionId(selection), ...selection };
}

function readPort({ portNumber, namedPort, portRange }: AdminPolicyPort): readonly PolicyPort[] {
  // Only pods say of which protocol a port is that is called so.
  if (namedPort !== undefined) return PROTOCOLS.map((protocol) => ({ protocol, name: namedPort }));
  if (portRange !== undefined)
    return [
      { protocol: readProtocol(portRange.protocol), port: portRange.start, endPort: portRange.end },
    ];
  return portNumber === undefined
    ? []
    : [{ protocol: readProtocol(portNumber.protocol), port: portNumber.port }];
}

const PROTOCOLS = ['tcp', 'udp', 'sctp'] as const;

const readNumber = ({ number, range }: ClusterPolicyPort): Pick<PolicyPort, 'port' | 'endPort'> =>
  range === undefined
    ? number === undefined
      ? {}
      : { port: number }
    : { port: range.start, endPort: range.end };

function readProtocols(one: ClusterPolicyProtocol): readonly PolicyPort[] {
  const { destinationNamedPort: name } = one;
  if (name !== undefined) return PROTOCOLS.map((protocol) => ({ protocol, name }));
  return PROTOCOLS.flatMap((protocol) => {
    const port = one[protocol]?.destinationPort;
    return port === undefined ? [] : [{ protocol, ...readNumber(port) }];
  });
}

/** `*` stands for one label or more here, and for one in an EgressFirewall. */
const readName = (name: string): string => canonicalName(name).replace(/^\*\./, '**.');

const readRule = (
  direction: PolicyDirection,
  index: number,
  { action, ports = [], protocols = [] }: AdminPolicyRule,
  peers: readonly AdminPolicyPeer[],
): AdminRule => ({
  direction,
  index,
  action: action === 'Accept' ? 'Allow' : action,
  peers: peers
    .filter(({ namespaces, pods }) => namespaces !== undefined || pods !== undefined)
    .map(({ namespaces, pods }) => selectionOf(namespaces, pods)),
  nodes: peers.flatMap(({ nodes }) => nodes ?? []),
  networks: peers.flatMap(({ networks = [] }) => networks.map(canonicalCidr)),
  names: [...new Set(peers.flatMap(({ domainNames = [] }) => domainNames.map(readName)))].sort(),
  ports: [...ports.flatMap(readPort), ...protocols.flatMap(readProtocols)],
});

/** Who has the port that a name means: the pods that the policy is about, or, where these send, those that they send to. */
export const adminPortQueries = (policy: AdminPolicy, rule: AdminRule): readonly PortQuery[] =>
  rule.ports
    .filter(({ name }) => name !== undefined)
    .flatMap(({ protocol, name = '' }) =>
      (rule.direction === 'Ingress' ? [policy.subject] : rule.peers).map((selection) => ({
        selection,
        protocol,
        name,
      })),
    );

/** Why nothing can be made of the spec of such a policy, each with the field that says it. */
export function unreadableFields(
  kind: AdminKind,
  value: PlainObject,
): { readonly spec: AdminPolicySpec; readonly errors: readonly FieldError[] } {
  const { spec, warnings, ...checked } = checkAdminPolicy(kind, value);
  const errors = [...checked.errors, ...unknownInSpec(warnings)];
  if (errors.length > 0) return { spec, errors };
  const { priority = 0, egress = [] } = spec;
  const priorities: FieldError[] =
    kind === 'AdminNetworkPolicy' && priority > MOST_PRIORITY
      ? [
          {
            type: 'Invalid',
            path: ['spec', 'priority'],
            value: priority,
            detail: `OVN has room for priorities 0 to ${MOST_PRIORITY}`,
          },
        ]
      : [];
  const names = egress.flatMap(({ action, to }, index) =>
    to.flatMap(({ domainNames }, peer): FieldError[] =>
      domainNames === undefined || action === 'Allow' || action === 'Accept'
        ? []
        : [
            {
              type: 'Invalid',
              path: ['spec', 'egress', index, 'to', peer, 'domainNames'],
              value: domainNames,
              detail:
                'only rules that let through may have names, as nobody knows all addresses of one: let through what is wanted, and deny networks behind it',
            },
          ],
    ),
  );
  return { spec, errors: [...priorities, ...names] };
}

/** What is read of such a policy as it is stored, whatever it says. */
export function readAdminPolicy(policy: EitherAdminPolicy): ObjectReading<AdminPolicy> {
  const { kind } = policy;
  const { spec, errors } = unreadableFields(kind, policy as unknown as PlainObject);
  if (errors.length > 0)
    return { kind: 'problem', message: `${refusal(errors)}; ${untilCorrected(errors)}` };
  return { kind: 'value', value: policyOf(policy, spec) };
}

/** What a spec without errors says. */
export function policyOf(
  policy: EitherAdminPolicy,
  { subject, ingress = [], egress = [], ...place }: AdminPolicySpec,
): AdminPolicy {
  return {
    kind: policy.kind,
    name: policy.metadata.name,
    ...placeOf(policy.kind, place),
    subject: selectionOf(subject.namespaces, subject.pods),
    rules: [
      ...ingress.map((rule, index) => readRule('Ingress', index, rule, rule.from)),
      ...egress.map((rule, index) => readRule('Egress', index, rule, rule.to)),
    ],
    logging: aclLogging(policy).value ?? {},
  };
}

/** True if it can't be told which pods the policy is about. */
export const isSubjectUnreadable = (errors: readonly FieldError[]): boolean =>
  errors.some(
    ({ path: [top, field] }) => top !== 'spec' || field === undefined || field === 'subject',
  );

/** What holds of a policy that can't be read: see `closedAdminPolicy`. */
const untilCorrected = (errors: readonly FieldError[]): string =>
  isSubjectUnreadable(errors)
    ? 'correct it; until then what was read of it before stays in force, and where that is nothing the rows that it has stay, but no more pods come under it'
    : 'correct it; until then what was read of it before stays in force, and where that is nothing it allows nothing, denies whom it denies or passes on, and everybody by a rule that can not be read, before all other policies of its kind';
