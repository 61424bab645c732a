/** What stands in place of a policy of administrators that can't be as it is: nothing is allowed by it, and what it denies is denied. */
import { aclLogging } from '../../api/annotations/acl-logging.ts';
import { complaint } from '../../api/annotations/annotations.ts';
import {
  adminNetworkPolicies,
  baselineAdminNetworkPolicies,
  clusterNetworkPolicies,
} from '../../api/kinds.ts';
import type {
  AdminNetworkPolicy,
  BaselineAdminNetworkPolicy,
  ClusterNetworkPolicy,
} from '../../api/types.ts';
import type { PlainObject } from '../../api/plain-object.ts';
import type { FieldError } from '../../api/validation/field-errors.ts';
import {
  BEFORE_ALL,
  isSubjectUnreadable,
  policyOf,
  readAdminPolicy,
  unreadableFields,
  type AdminPolicy,
  type AdminRule,
  type EitherAdminPolicy,
} from './admin-policies.ts';
import { adminPolicyFlows } from '../rules/policy-cost.ts';
import type { ObjectKind, ReadContext } from './object-kind.ts';
import { refusal, type PolicyDirection } from './policies.ts';
import { found, type ObjectReading } from './reading.ts';

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
  names: [],
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

interface ClosedPolicy {
  readonly value: AdminPolicy;
  /** Undefined where more than rules can't be read: with those that can be in their places. */
  readonly withRest?: AdminPolicy;
}

/**
 * The policy with what it denies: rules that deny or pass on deny, for who is passed on may be denied behind it; rules that allow are left out.
 * A rule that can't be read denies everybody in its direction, unless it is known to allow. Undefined where it is not known for which pods.
 */
function closedAdminPolicy(policy: EitherAdminPolicy): ClosedPolicy | undefined {
  const spec = (policy as { readonly spec?: unknown }).spec;
  if (typeof spec !== 'object' || spec === null) return undefined;
  const raw = spec as Readonly<Record<string, unknown>>;
  const unreadable: Record<PolicyDirection, Unreadable> = { Ingress: new Set(), Egress: new Set() };
  const replaced: Record<string, unknown> = {};
  for (let look = 0; look < MOST_LOOKS; look++) {
    const tried = {
      ...policy,
      spec: {
        ...raw,
        ...replaced,
        ...triedRules('Ingress', raw, unreadable.Ingress),
        ...triedRules('Egress', raw, unreadable.Egress),
      },
    };
    const { spec: read, errors } = unreadableFields(policy.kind, tried);
    if (isSubjectUnreadable(errors)) return undefined;
    if (errors.length === 0) {
      const { rules, ...rest } = policyOf(policy, read);
      const closed = closedRules(rules, raw, unreadable);
      const value = { ...rest, priority: BEFORE_ALL, rules: closed.filter(isDenying).map(denying) };
      return Object.keys(replaced).length === 0
        ? { value, withRest: { ...rest, rules: closed } }
        : { value };
    }
    for (const { path } of errors) {
      if (path[1] === 'priority') replaced['priority'] = 0;
      else if (path[1] === 'tier') replaced['tier'] = 'Admin';
      // A field that is not known says nothing of the rules; those that deny do.
      else if (path.length === 2 && !isOfRules(path[1])) replaced[String(path[1])] = undefined;
    }
    for (const error of errors) note(unreadable, error);
  }
  return undefined;
}

const isOfRules = (field: unknown): boolean => field === 'ingress' || field === 'egress';

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
    const { direction, index } = rule;
    const broken = unreadable[direction];
    const isBroken = broken !== 'all' && broken.has(index);
    if (isBroken) {
      if (!isKnownToAllow(raw[DIRECTIONS[direction]], index))
        closed.push(denyAll(direction, index));
    } else closed.push(rule);
  }
  return closed;
}

const isDenying = ({ action }: AdminRule): boolean => action !== 'Allow';
const denying = (rule: AdminRule): AdminRule => ({ ...rule, action: 'Deny' });

const LETTING_THROUGH: readonly unknown[] = ['Allow', 'Accept'];

const isKnownToAllow = (rules: unknown, index: number): boolean => {
  const rule = (rules as readonly unknown[])[index];
  return (
    typeof rule === 'object' &&
    rule !== null &&
    'action' in rule &&
    LETTING_THROUGH.includes(rule.action)
  );
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

const adminPolicyKind = {
  table: 'admins',
  read: (policy: EitherAdminPolicy, { settings }: ReadContext<AdminPolicy>) =>
    bounded(readAdminPolicy(policy), settings.policies.mostFlows),
  onUnreadable: 'closed',
  closed: (policy: EitherAdminPolicy, { settings }: ReadContext<AdminPolicy>) =>
    bounded(found(closedAdminPolicy(policy)?.value), settings.policies.mostFlows),
  needsOtherPods: () => true,
  checks: [(policy: EitherAdminPolicy) => complaint(aclLogging(policy))],
} as const;

export const adminNetworkPolicyKind = {
  ...adminPolicyKind,
  kind: adminNetworkPolicies,
} as const satisfies ObjectKind<AdminNetworkPolicy, AdminPolicy>;

export const baselineAdminNetworkPolicyKind = {
  ...adminPolicyKind,
  kind: baselineAdminNetworkPolicies,
} as const satisfies ObjectKind<BaselineAdminNetworkPolicy, AdminPolicy>;

/**
 * A rule that can't be read is most likely of a later version: what the API says of such a rule holds at once, whatever was read of the policy
 * before, and its other rules are as they are.
 */
function readClusterPolicy(policy: ClusterNetworkPolicy): ObjectReading<AdminPolicy> {
  const { errors } = unreadableFields(policy.kind, policy as unknown as PlainObject);
  const value = errors.length === 0 ? undefined : closedAdminPolicy(policy)?.withRest;
  if (value === undefined) return readAdminPolicy(policy);
  return {
    kind: 'value',
    value,
    warning: `${refusal(errors)}; correct it; until then that rule lets nobody through if it accepts, and denies everybody if it denies or passes on`,
  };
}

export const clusterNetworkPolicyKind = {
  ...adminPolicyKind,
  kind: clusterNetworkPolicies,
  read: (policy: ClusterNetworkPolicy, { settings }: ReadContext<AdminPolicy>) =>
    bounded(readClusterPolicy(policy), settings.policies.mostFlows),
} as const satisfies ObjectKind<ClusterNetworkPolicy, AdminPolicy>;
