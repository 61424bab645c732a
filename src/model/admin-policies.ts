/** Policies of the cluster's administrators as values: before those of namespaces, and behind them. */
import { formatPrefix, parsePrefix } from '../allocators/addresses.ts';
import { aclLogging, type AclLogging } from '../api/annotations/acl-logging.ts';
import type { PlainObject } from '../api/plain-object.ts';
import type {
  AdminNetworkPolicy,
  AdminPolicyPeer,
  AdminPolicyPort,
  AdminPolicyRule,
  BaselineAdminNetworkPolicy,
  LabelSelector,
  PodsSelector,
} from '../api/types.ts';
import { checkAdminPolicy, type AdminKind } from '../api/validation/admin-policies.ts';
import {
  readProtocol,
  refusal,
  type PolicyDirection,
  type PolicyPort,
  type PortQuery,
} from './policies.ts';
import type { ObjectReading } from './reading.ts';
import { selectionId, type PodSelection } from './selections.ts';

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
  /** 0 comes first; always 0 for the baseline. */
  readonly priority: number;
  readonly subject: PodSelection;
  readonly rules: readonly AdminRule[];
  readonly logging: AclLogging;
}

/** Policies are told apart by their priority in OVN, which has room for this many (topology.md §16.2). */
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

const canonical = (cidr: string): string => {
  const prefix = parsePrefix(cidr);
  return prefix === undefined ? cidr : formatPrefix(prefix);
};

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
  networks: peers.flatMap(({ networks = [] }) => networks.map(canonical)),
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

const STAYS = 'what was read of the policy before stays in force, if anything was';

export function readAdminPolicy(
  policy: AdminNetworkPolicy | BaselineAdminNetworkPolicy,
): ObjectReading<AdminPolicy> {
  const { kind } = policy;
  const { spec, errors } = checkAdminPolicy(kind, policy as unknown as PlainObject);
  if (errors.length > 0)
    return { kind: 'problem', message: `${refusal(errors)}; correct it: ${STAYS}` };
  const { priority = 0, subject, ingress = [], egress = [] } = spec;
  if (priority > MOST_PRIORITY)
    return {
      kind: 'problem',
      message: `spec.priority ${priority}: OVN has room for priorities 0 to ${MOST_PRIORITY}; choose one of these: ${STAYS}`,
    };
  if (egress.some(({ to }) => to.some(({ domainNames }) => domainNames !== undefined)))
    return {
      kind: 'problem',
      message: `spec.egress: peers by domainNames are not looked up in this release; write networks instead: ${STAYS}`,
    };
  return {
    kind: 'value',
    value: {
      kind,
      name: policy.metadata.name,
      priority,
      subject: selectionOf(subject.namespaces, subject.pods),
      rules: [
        ...ingress.map((rule, index) => readRule('Ingress', index, rule, rule.from)),
        ...egress.map((rule, index) => readRule('Egress', index, rule, rule.to)),
      ],
      logging: aclLogging(policy).value ?? {},
    },
  };
}

/** In place of a policy that costs too much: its pods get and send nothing in the directions that it has rules for. */
export const closedAdminPolicy = (policy: AdminPolicy): AdminPolicy => ({
  ...policy,
  rules: [...new Set(policy.rules.map(({ direction }) => direction))].map((direction) => ({
    direction,
    index: 0,
    action: 'Deny',
    peers: [],
    nodes: [],
    networks: ['0.0.0.0/0', '::/0'],
    ports: [],
  })),
});
