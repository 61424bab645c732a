/** What stands in place of a policy of administrators that can't be as it is: nothing is allowed by it, and what it denies is denied. */
import { aclLogging } from '../../api/annotations/acl-logging.ts';
import { complaint } from '../../api/annotations/annotations.ts';
import { adminNetworkPolicies, baselineAdminNetworkPolicies } from '../../api/kinds.ts';
import type { AdminNetworkPolicy, BaselineAdminNetworkPolicy } from '../../api/types.ts';
import type { FieldError } from '../../api/validation/field-errors.ts';
import {
  isSubjectUnreadable,
  policyOf,
  readAdminPolicy,
  unreadableFields,
  type AdminPolicy,
  type AdminRule,
} from './admin-policies.ts';
import { adminPolicyFlows } from '../rules/policy-cost.ts';
import type { ObjectKind, ReadContext } from './object-kind.ts';
import type { PolicyDirection } from './policies.ts';
import { found, type ObjectReading } from './reading.ts';

/** Before all that can be read: which of them it came before is not known. */
const BEFORE_ALL = -1;

/** Errors of one field may hide those of others: those of the structure are found first, then those of values. */
const MOST_LOOKS = 4;

const DIRECTIONS = { Ingress: 'ingress', Egress: 'egress' } as const;

/** Stands for a rule that is left out of another look at the policy. */
const placeholder = (direction: PolicyDirection): object => ({
  action: 'Deny',
  [direction === 'Ingress' ? 'from' : 'to']: [{ namespaces: {} }],
});

const denyAll = (direction: PolicyDirection, index: number): AdminRule => ({
  direction,
  index,
  action: 'Deny',
  peers: [],
  nodes: [],
  networks: ['0.0.0.0/0', '::/0'],
  ports: [],
});

/** In place of a policy that costs too much: its pods get and send nothing in the directions that it has rules for. */
const denyingEverybody = (policy: AdminPolicy): AdminPolicy => ({
  ...policy,
  rules: [...new Set(policy.rules.map(({ direction }) => direction))].map((direction) =>
    denyAll(direction, 0),
  ),
});

/** Rules of a direction that can't be read, by their positions; all of it where the list itself can't be. */
type Unreadable = Set<number> | 'all';

/**
 * The policy with what it denies: rules that deny or pass on deny, for who is passed on may be denied behind it; rules that allow are left out.
 * A rule that can't be read denies everybody in its direction, unless it is known to allow. Undefined where it is not known for which pods.
 */
function closedAdminPolicy(
  policy: AdminNetworkPolicy | BaselineAdminNetworkPolicy,
): AdminPolicy | undefined {
  const spec = (policy as { readonly spec?: unknown }).spec;
  if (typeof spec !== 'object' || spec === null) return undefined;
  const raw = spec as Readonly<Record<string, unknown>>;
  const unreadable: Record<PolicyDirection, Unreadable> = { Ingress: new Set(), Egress: new Set() };
  let isPriorityUnreadable = false;
  for (let look = 0; look < MOST_LOOKS; look++) {
    const tried = {
      ...policy,
      spec: {
        ...raw,
        ...(isPriorityUnreadable ? { priority: 0 } : {}),
        ...triedRules('Ingress', raw, unreadable.Ingress),
        ...triedRules('Egress', raw, unreadable.Egress),
      },
    };
    const { spec: read, errors } = unreadableFields(policy.kind, tried);
    if (isSubjectUnreadable(errors)) return undefined;
    if (errors.length === 0) {
      const { rules, ...rest } = policyOf(policy, read);
      return { ...rest, priority: BEFORE_ALL, rules: closedRules(rules, raw, unreadable) };
    }
    isPriorityUnreadable ||= errors.some(({ path }) => path[1] === 'priority');
    for (const error of errors) note(unreadable, error);
  }
  return undefined;
}

function note(unreadable: Record<PolicyDirection, Unreadable>, { path }: FieldError): void {
  const [, field, index] = path;
  const direction = field === 'ingress' ? 'Ingress' : field === 'egress' ? 'Egress' : undefined;
  if (direction === undefined) return;
  const known = unreadable[direction];
  if (typeof index !== 'number') unreadable[direction] = 'all';
  else if (known !== 'all') known.add(index);
}

function triedRules(
  direction: PolicyDirection,
  raw: Readonly<Record<string, unknown>>,
  unreadable: Unreadable,
): object {
  const field = DIRECTIONS[direction];
  if (unreadable === 'all') return { [field]: [] };
  const rules = raw[field];
  if (!Array.isArray(rules)) return {};
  return {
    [field]: rules.map((rule: unknown, index) =>
      unreadable.has(index) ? placeholder(direction) : rule,
    ),
  };
}

function closedRules(
  rules: readonly AdminRule[],
  raw: Readonly<Record<string, unknown>>,
  unreadable: Record<PolicyDirection, Unreadable>,
): readonly AdminRule[] {
  const closed: AdminRule[] = [];
  for (const direction of ['Ingress', 'Egress'] as const)
    if (unreadable[direction] === 'all') closed.push(denyAll(direction, 0));
  for (const rule of rules) {
    const { direction, index, action } = rule;
    const broken = unreadable[direction];
    const isBroken = broken !== 'all' && broken.has(index);
    if (isBroken) {
      if (!isKnownToAllow(raw[DIRECTIONS[direction]], index))
        closed.push(denyAll(direction, index));
    } else if (action !== 'Allow') closed.push({ ...rule, action: 'Deny' });
  }
  return closed;
}

const isKnownToAllow = (rules: unknown, index: number): boolean => {
  const rule = (rules as readonly unknown[])[index];
  return typeof rule === 'object' && rule !== null && 'action' in rule && rule.action === 'Allow';
};

/** The policy; in place of one that costs each node more than `mostFlows`, one that closes its pods. */
function bounded(
  reading: ObjectReading<AdminPolicy> | undefined,
  mostFlows: number,
): ObjectReading<AdminPolicy> | undefined {
  if (reading?.kind !== 'value' || adminPolicyFlows(reading.value) <= mostFlows) return reading;
  return {
    kind: 'value',
    value: denyingEverybody(reading.value),
    warning: `its rules would cost each node more than ${mostFlows} flows (max-flows-per-policy): until it costs less the pods that it is about get nothing if it has rules for ingress, and send nothing if it has rules for egress; write fewer networks, ports and rules, or several policies`,
  };
}

type EitherPolicy = AdminNetworkPolicy | BaselineAdminNetworkPolicy;

const adminPolicyKind = {
  table: 'admins',
  read: (policy: EitherPolicy, { settings }: ReadContext<AdminPolicy>) =>
    bounded(readAdminPolicy(policy), settings.policies.mostFlows),
  onUnreadable: 'closed',
  closed: (policy: EitherPolicy, { settings }: ReadContext<AdminPolicy>) =>
    bounded(found(closedAdminPolicy(policy)), settings.policies.mostFlows),
  needsOtherPods: () => true,
  checks: [(policy: EitherPolicy) => complaint(aclLogging(policy))],
} as const;

export const adminNetworkPolicyKind = {
  ...adminPolicyKind,
  kind: adminNetworkPolicies,
} as const satisfies ObjectKind<AdminNetworkPolicy, AdminPolicy>;

export const baselineAdminNetworkPolicyKind = {
  ...adminPolicyKind,
  kind: baselineAdminNetworkPolicies,
} as const satisfies ObjectKind<BaselineAdminNetworkPolicy, AdminPolicy>;
