/** What policies cut that was there before them, on the default network and on primary ones of both layers, in both families: nothing of it passes any more. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Endpoint } from '../../src/lab/connectivity.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { serveOutward } from '../../src/lab/outward.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { askAgain } from '../support/lab/kept-datagrams.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { manifestsText, podOn, spaceObjects, SPACES } from '../support/lab/network-spaces.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';

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
    const folder = ownFolder('heddle-live-connections');
    let lab: TestLab;
    let tenants: Tenants;
    let ends: readonly Endpoint[];

    const of = (pod: string): Endpoint => {
      const found = ends.find((end) => end.pod === pod);
      if (found === undefined) throw new Error(`no pod ${pod}`);
      return found;
    };
    const toPods = async (): Promise<readonly number[]> => {
      const answered = await Promise.all(
        SPACES.map((space) => {
          const { addresses } = of(`${space}/far`);
          return askAgain(lab.record, of(`${space}/near`).namespace, addresses, SERVER_PORT);
        }),
      );
      return answered.flat();
    };
    const toOutside = async (): Promise<readonly number[]> => {
      const answered = await Promise.all(
        SPACES.map((space) =>
          askAgain(lab.record, of(`${space}/near`).namespace, Object.values(OUTSIDE), SERVER_PORT),
        ),
      );
      return answered.flat();
    };

    beforeAll(async () => {
      writeFileSync(
        join(folder, 'spaces.yaml'),
        manifestsText(
          SPACES.flatMap((space) => [
            ...spaceObjects(space),
            podOn('n1', space, 'near'),
            podOn('n2', space, 'far'),
          ]),
        ),
      );
      lab = await testLab('e2e-live-connections', { nodes: 2, families: 'dual' });
      tenants = new Tenants(lab.record, { folder });
      await tenants.start();
      await serveOutward(lab.record);
      ends = await tenants.endpoints();
    }, 120_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test.each([
      ['a NetworkPolicy', networkPolicies, toPods],
      ['a NetworkPolicy of who sends', closedSenders, toPods],
      ['an AdminNetworkPolicy', [adminPolicy], toPods],
      ['a BaselineAdminNetworkPolicy', [baselinePolicy], toPods],
      ['an EgressFirewall', firewalls, toOutside],
    ])('%s ends them, and they go on after it', async (_kind, objects, ask) => {
      const file = join(tenants.manifests, 'policies.yaml');
      const isAnswered = async (): Promise<boolean> => (await ask()).every((count) => count > 0);
      await expect.poll(isAnswered, SOON).toBe(true);
      writeFileSync(file, manifestsText(objects));
      const nothing = (await ask()).map(() => 0);
      await expect.poll(ask, SOON).toEqual(nothing);
      // And so it stays.
      expect(await ask()).toEqual(nothing);
      rmSync(file);
      await expect.poll(isAnswered, SOON).toBe(true);
    });
  },
);
