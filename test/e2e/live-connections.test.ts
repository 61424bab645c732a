/** What policies cut that was there before them, on the default network and on primary ones of both layers, in both families: nothing of it passes any more. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { serveOutward } from '../../src/lab/outward.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { askAgain } from '../support/lab/kept-datagrams.ts';
import { whyNoLab } from '../support/lab/lab.ts';
import { SPACES, type Space } from '../support/lab/network-spaces.ts';
import { SpaceLab } from '../support/lab/space-lab.ts';

const SOON = { timeout: 60_000, interval: 200 };

const networkPolicies = SPACES.map((namespace) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { namespace, name: 'closed' },
  spec: { podSelector: { matchLabels: { app: 'far' } }, policyTypes: ['Ingress'] },
}));
const closedSenders = SPACES.map((namespace) => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { namespace, name: 'closed' },
  spec: { podSelector: { matchLabels: { app: 'near' } }, policyTypes: ['Egress'] },
}));
const subject = { pods: { namespaceSelector: {}, podSelector: { matchLabels: { app: 'far' } } } };
const ingress = [{ action: 'Deny', from: [{ namespaces: {} }] }];
const adminPolicy = {
  apiVersion: 'policy.networking.k8s.io/v1alpha1',
  kind: 'AdminNetworkPolicy',
  metadata: { name: 'closed' },
  spec: { priority: 10, subject, ingress },
};
const baselinePolicy = {
  apiVersion: 'policy.networking.k8s.io/v1alpha1',
  kind: 'BaselineAdminNetworkPolicy',
  metadata: { name: 'default' },
  spec: { subject, ingress },
};
const clusterPolicy = (tier: string, app: string, direction: string, action: string): object => ({
  apiVersion: 'policy.networking.k8s.io/v1alpha2',
  kind: 'ClusterNetworkPolicy',
  metadata: { name: 'changing' },
  spec: {
    tier,
    priority: 10,
    subject: { pods: { namespaceSelector: {}, podSelector: { matchLabels: { app } } } },
    [direction]: [{ action, [direction === 'ingress' ? 'from' : 'to']: [{ namespaces: {} }] }],
  },
});
const firewalls = SPACES.map((namespace) => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'EgressFirewall',
  metadata: { namespace, name: 'default' },
  spec: {
    egress: ['0.0.0.0/0', '::/0'].map((cidrSelector) => ({ type: 'Deny', to: { cidrSelector } })),
  },
}));

describe.skipIf(whyNoLab !== undefined)(
  `connections from before a policy${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    let lab: SpaceLab;

    /** How many of ten datagrams are answered, from `near` of each space to each address. */
    const answered = async (
      to: (space: Space) => readonly string[],
      from?: number,
    ): Promise<readonly number[]> => {
      const counts = await Promise.all(
        SPACES.map((space) =>
          askAgain(lab.record, lab.pod(space, 'near').namespace, to(space), SERVER_PORT, from),
        ),
      );
      return counts.flat();
    };
    const toPods = (from?: number) => answered((space) => lab.pod(space, 'far').addresses, from);
    const toOutside = () => answered(() => Object.values(OUTSIDE));

    beforeAll(async () => {
      lab = await SpaceLab.start('e2e-live-connections');
      await serveOutward(lab.record);
    }, 120_000);
    afterAll(async () => {
      await lab[Symbol.asyncDispose]();
    });

    test.each([
      ['a NetworkPolicy', networkPolicies, toPods],
      ['a NetworkPolicy of who sends', closedSenders, toPods],
      ['an AdminNetworkPolicy', [adminPolicy], toPods],
      ['a BaselineAdminNetworkPolicy', [baselinePolicy], toPods],
      ['an EgressFirewall', firewalls, toOutside],
    ])('%s ends them, and they go on after it', async (_kind, objects, ask) => {
      const isAnswered = async (): Promise<boolean> => (await ask()).every((count) => count === 10);
      await expect.poll(isAnswered, SOON).toBe(true);
      lab.declare('policies.yaml', objects);
      const nothing = (await ask()).map(() => 0);
      await expect.poll(() => ask(), SOON).toEqual(nothing);
      // And so it stays.
      expect(await ask()).toEqual(nothing);
      lab.withdraw('policies.yaml');
      await expect.poll(isAnswered, SOON).toBe(true);
      await expect.poll(() => lab.tenants.mentions('pass-0'), SOON).toEqual([]);
    });

    test.each([
      ['Admin', 41_235],
      ['Baseline', 41_236],
    ])(
      'what begins, and is passed on by tier %s and no later one, goes through',
      async (tier, from) => {
        lab.declare('policies.yaml', [clusterPolicy(tier, 'far', 'ingress', 'Pass')]);
        await expect.poll(() => lab.tenants.mentions('pass-0'), SOON).not.toEqual([]);
        expect(await toPods(from)).toEqual((await toPods()).map(() => 10));
        lab.withdraw('policies.yaml');
        await expect.poll(() => lab.tenants.mentions('pass-0'), SOON).toEqual([]);
      },
    );

    test.each(
      ['Admin', 'Baseline'].flatMap((tier) => [
        [tier, 'near', 'egress'],
        [tier, 'far', 'ingress'],
      ]),
    )(
      'what tier %s cut at %s (%s) goes on when its rule passes it on instead',
      async (tier, app, direction) => {
        const isAnswered = async (): Promise<boolean> =>
          (await toPods()).every((count) => count === 10);
        await expect.poll(isAnswered, SOON).toBe(true);
        lab.declare('policies.yaml', [clusterPolicy(tier, app, direction, 'Deny')]);
        const nothing = (await toPods()).map(() => 0);
        await expect.poll(() => toPods(), SOON).toEqual(nothing);
        lab.declare('policies.yaml', [clusterPolicy(tier, app, direction, 'Pass')]);
        await expect.poll(isAnswered, SOON).toBe(true);
        lab.withdraw('policies.yaml');
        await expect.poll(() => lab.tenants.mentions('changing'), SOON).toEqual([]);
      },
    );
  },
);
