import { describe, expect, test } from 'vitest';
import {
  adminPortQueries,
  isSubjectUnreadable,
  readAdminPolicy,
  unreadableFields,
  type AdminPolicy,
} from '../../../../src/model/read/admin-policies.ts';
import { valueOf } from '../../../../src/model/read/reading.ts';
import { adminPolicy } from '../../../support/zone/policed-zone.ts';

const all = { namespaces: {} };
const spec = (more: object = {}): object => ({ priority: 5, subject: all, ...more });
const read = (more: object = {}): AdminPolicy => {
  const found = valueOf(readAdminPolicy(adminPolicy('a', spec(more))));
  if (found === undefined) throw new Error('no policy');
  return found;
};

describe('a policy of administrators (reference/topology.md §16.2)', () => {
  test('has its rules in their order, those to pods before those from pods', () => {
    const rule = { action: 'Deny', from: [all] };
    const { rules, priority } = read({
      ingress: [rule, { ...rule, action: 'Pass' }],
      egress: [{ action: 'Allow', to: [all] }],
    });
    // On the scale of ClusterNetworkPolicies.
    expect(priority).toBe(20);
    expect(rules.map(({ direction, index, action }) => [direction, index, action])).toEqual([
      ['Ingress', 0, 'Deny'],
      ['Ingress', 1, 'Pass'],
      ['Egress', 0, 'Allow'],
    ]);
  });

  test('has pods, nodes and ranges as peers', () => {
    const { rules } = read({
      egress: [{ action: 'Deny', to: [all, { nodes: {} }, { networks: ['10.0.0.1/8'] }] }],
    });
    expect(rules[0]?.peers).toHaveLength(1);
    expect(rules[0]?.nodes).toEqual([{}]);
    expect(rules[0]?.networks).toEqual(['10.0.0.0/8']);
  });

  test('means a port by its name on every protocol: only pods say of which it is', () => {
    const { rules, ...policy } = read({
      ingress: [{ action: 'Deny', from: [all], ports: [{ namedPort: 'http' }] }],
    });
    const [rule] = rules;
    if (rule === undefined) throw new Error('no rule');
    expect(rule.ports.map(({ protocol }) => protocol)).toEqual(['tcp', 'udp', 'sctp']);
    expect(adminPortQueries({ ...policy, rules }, rule).map(({ selection }) => selection)).toEqual([
      policy.subject,
      policy.subject,
      policy.subject,
    ]);
  });
});

describe('a policy that can’t be had', () => {
  const errors = (more: object) =>
    unreadableFields('AdminNetworkPolicy', adminPolicy('a', spec(more)) as never).errors;

  test('has a priority for which there is no room, or denies names', () => {
    expect(errors({ priority: 99 })).toEqual([]);
    expect(errors({ priority: 500 }).map(({ path }) => path.join('.'))).toEqual(['spec.priority']);
    expect(
      errors({ egress: [{ action: 'Deny', to: [{ domainNames: ['x.example'] }] }] })[0]?.path,
    ).toContain('domainNames');
  });

  test('names a namespace for pods, but for a ClusterNetworkPolicy: one without is about pods of all', () => {
    const pods = { podSelector: { matchLabels: { app: 'web' } } };
    const rules = { subject: { pods }, ingress: [{ action: 'Deny', from: [{ pods }] }] };
    expect(errors(rules).map(({ path }) => path.join('.'))).toEqual([
      'spec.subject.pods.namespaceSelector',
      'spec.ingress.0.from.0.pods.namespaceSelector',
    ]);
    const cluster = {
      apiVersion: 'policy.networking.k8s.io/v1alpha2',
      kind: 'ClusterNetworkPolicy',
      metadata: { name: 'a' },
      spec: { tier: 'Admin', ...spec(rules) },
    };
    const found = valueOf(readAdminPolicy(cluster as never));
    expect(found?.subject).toMatchObject({ namespaceSelector: {}, ...pods });
    expect(found?.rules[0]?.peers).toEqual([found?.subject]);
  });

  test('says what it does until then: nothing is allowed by it', () => {
    expect(readAdminPolicy(adminPolicy('a', spec({ priority: 500 })))).toMatchObject({
      kind: 'problem',
      message: expect.stringContaining('allows nothing') as string,
    });
  });

  test('may be one of which it can’t be told whom it is about', () => {
    expect(isSubjectUnreadable(errors({ priority: 500 }))).toBe(false);
    expect(isSubjectUnreadable(errors({ subject: 5 }))).toBe(true);
  });
});
