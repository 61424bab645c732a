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
} from './policies.ts';
import type { ObjectReading } from './reading.ts';
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
  readonly ports: readonly PolicyPort[];
}

export interface AdminPolicy {
  readonly kind: AdminKind;
  readonly name: string;
  /** 0 comes first, but for one that is closed; always 0 for the baseline. */
  readonly priority: number;
  readonly subject: PodSelection;
  readonly rules: readonly AdminRule[];
  readonly logging: AclLogging;
}

/** Policies are told apart by their priority in OVN, which has room for this many (reference/topology.md §16.2). */
const MOST_PRIORITY = 99;

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
  if (namedPort !== undefined)
    return (['tcp', 'udp', 'sctp'] as const).map((protocol) => ({ protocol, name: namedPort }));
  if (portRange !== undefined)
    return [
      { protocol: readProtocol(portRange.protocol), port: portRange.start, endPort: portRange.end },
    ];
  return portNumber === undefined
    ? []
    : [{ protocol: readProtocol(portNumber.protocol), port: portNumber.port }];
}

const readRule = (
  direction: PolicyDirection,
  index: number,
  { action, ports = [] }: AdminPolicyRule,
  peers: readonly AdminPolicyPeer[],
): AdminRule => ({
  direction,
  index,
  action,
  peers: peers
    .filter(({ namespaces, pods }) => namespaces !== undefined || pods !== undefined)
    .map(({ namespaces, pods }) => selectionOf(namespaces, pods)),
  nodes: peers.flatMap(({ nodes }) => nodes ?? []),
  networks: peers.flatMap(({ networks = [] }) => networks.map(canonicalCidr)),
  ports: ports.flatMap(readPort),
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
  const { spec, errors } = checkAdminPolicy(kind, value);
  if (errors.length > 0) return { spec, errors };
  const { priority = 0, egress = [] } = spec;
  const priorities: FieldError[] =
    priority > MOST_PRIORITY
      ? [
          {
            type: 'Invalid',
            path: ['spec', 'priority'],
            value: priority,
            detail: `OVN has room for priorities 0 to ${MOST_PRIORITY}`,
          },
        ]
      : [];
  const names = egress.flatMap(({ to }, index) =>
    to.flatMap(({ domainNames }, peer): FieldError[] =>
      domainNames === undefined
        ? []
        : [
            {
              type: 'Invalid',
              path: ['spec', 'egress', index, 'to', peer, 'domainNames'],
              value: domainNames,
              detail: 'names are not looked up in this release: write networks',
            },
          ],
    ),
  );
  return { spec, errors: [...priorities, ...names] };
}

/** What is read of such a policy as it is stored, whatever it says. */
export function readAdminPolicy(
  policy: AdminNetworkPolicy | BaselineAdminNetworkPolicy,
): ObjectReading<AdminPolicy> {
  const { kind } = policy;
  const { spec, errors } = unreadableFields(kind, policy as unknown as PlainObject);
  if (errors.length > 0)
    return { kind: 'problem', message: `${refusal(errors)}; ${untilCorrected(errors)}` };
  return { kind: 'value', value: policyOf(policy, spec) };
}

/** What a spec without errors says. */
export function policyOf(
  policy: AdminNetworkPolicy | BaselineAdminNetworkPolicy,
  { priority = 0, subject, ingress = [], egress = [] }: AdminPolicySpec,
): AdminPolicy {
  return {
    kind: policy.kind,
    name: policy.metadata.name,
    priority,
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
