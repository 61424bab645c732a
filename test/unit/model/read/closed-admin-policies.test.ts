import { describe, expect, test } from 'vitest';
import { readAdminPolicy, type AdminPolicy } from '../../../../src/model/read/admin-policies.ts';
import {
  adminNetworkPolicyKind,
  baselineAdminNetworkPolicyKind,
} from '../../../../src/model/read/closed-admin-policies.ts';
import type { ReadContext } from '../../../../src/model/read/object-kind.ts';
import { valueOf } from '../../../../src/model/read/reading.ts';
import { adminPolicy } from '../../../support/zone/policed-zone.ts';
import { ipv4Settings } from '../../../support/zone/zones.ts';

const all = { namespaces: {} };
const context = (mostFlows = 10_000) =>
  ({
    settings: { ...ipv4Settings, policies: { ...ipv4Settings.policies, mostFlows } },
  }) as ReadContext<AdminPolicy>;
const closed = (spec: object): AdminPolicy | undefined =>
  valueOf(
    adminNetworkPolicyKind.closed(
      adminPolicy('a', { priority: 500, subject: all, ...spec }),
      context(),
    ),
  );
const actions = (policy: AdminPolicy | undefined): readonly string[] | undefined =>
  policy?.rules.map(({ direction, action }) => `${direction} ${action}`);

describe('a policy that can’t be read closes', () => {
  test('what it denies or passes on is denied, and nothing is allowed', () => {
    expect(
      actions(
        closed({
          ingress: ['Allow', 'Deny', 'Pass'].map((action) => ({ action, from: [all] })),
        }),
      ),
    ).toEqual(['Ingress Deny', 'Ingress Deny']);
  });

  test('a field of a newer release lets nobody through by its rule, and denies nobody but by a rule that denies', () => {
    const from = [{ namespaces: { sameLabels: ['tenant'] } }];
    const policy = (action: string): AdminPolicy | undefined =>
      closed({ ingress: [{ action, from }] });
    expect([policy('Allow'), policy('Deny')].map(actions)).toEqual([[], ['Ingress Deny']]);
    expect(actions(closed({ newer: true, egress: [{ action: 'Deny', to: [all] }] }))).toEqual([
      'Egress Deny',
    ]);
    expect(closed({ subject: { namespaces: { sameLabels: [] } } })).toBeUndefined();
    const reading = readAdminPolicy(
      adminPolicy('a', { priority: 5, subject: all, ingress: [{ action: 'Allow', from }] }),
    );
    expect(reading).toMatchObject({
      kind: 'problem',
      message: expect.stringContaining(
        'spec.ingress[0].from[0].namespaces.sameLabels: Forbidden: this release does not know the field',
      ) as string,
    });
  });

  test('before all that can be read', () => {
    expect(closed({})?.priority).toBeLessThan(0);
  });

  test('where it can’t be told for whom, nothing stands in its place', () => {
    expect(closed({ subject: 5 })).toBeUndefined();
  });
});

test('a policy that would cost each node too many flows closes its pods in the directions that it has rules for', () => {
  const policy = adminPolicy('a', {
    priority: 5,
    subject: all,
    egress: [{ action: 'Allow', to: [{ networks: ['10.0.0.0/8', '11.0.0.0/8'] }] }],
  });
  const dear = adminNetworkPolicyKind.read(policy, context(2));
  expect(actions(valueOf(dear))).toEqual(['Egress Deny']);
  expect(dear).toMatchObject({
    warning: expect.stringContaining('max-flows-per-policy') as string,
  });
  expect(actions(valueOf(adminNetworkPolicyKind.read(policy, context())))).toEqual([
    'Egress Allow',
  ]);
});

test('the baseline closes as others do', () => {
  expect(baselineAdminNetworkPolicyKind.onUnreadable).toBe('closed');
});
