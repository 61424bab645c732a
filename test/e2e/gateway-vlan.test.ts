import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { probe, type Endpoint } from '../../src/lab/connectivity.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { serveOutward, sharedSource } from '../../src/lab/outward.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { ownFolder } from '../support/run/left-behind.ts';
import { moveOutside, outsideInVlan } from '../support/lab/outside-vlan.ts';
import { Tenants } from '../support/lab/tenants.ts';

const VLAN = 5;
const SOON = { timeout: 60_000, interval: 500 };

/** A tenant with the same subnets as every other, and a pod on each of two nodes. */
const tenant = (name: string): object[] => [
  {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { 'k8s.ovn.org/primary-user-defined-network': '' } },
  },
  {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'UserDefinedNetwork',
    metadata: { name: 'both', namespace: name },
    spec: {
      topology: 'Layer3',
      layer3: {
        role: 'Primary',
        subnets: [
          { cidr: '10.20.0.0/16', hostSubnet: 24 },
          { cidr: 'fd20::/48', hostSubnet: 64 },
        ],
      },
    },
  },
  ...['n1', 'n2'].map((nodeName) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `on-${nodeName}`, namespace: name },
    spec: { nodeName, containers: [{ name: 'web', image: 'web' }] },
  })),
];

describe.skipIf(whyNoLab !== undefined)(
  `nodes whose gateway has a VLAN${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    const folder = ownFolder('heddle-vlan');
    let lab: TestLab;
    let tenants: Tenants;
    let ends: readonly Endpoint[];

    const addressOf = ({ node }: Endpoint, family: 'v4' | 'v6'): string =>
      (family === 'v4' ? '172.18.0.' : 'fd00:172:18::') + String(10 + Number(node.slice(1)));
    /** As whom the outside host sees each pod, in both families; null where it does not, or does not answer a ping. */
    const seenOutside = async (): Promise<readonly (string | null)[]> => {
      const probes = ends.flatMap(({ namespace }) =>
        [OUTSIDE.v4, OUTSIDE.v6].map((to) => ({ from: namespace, to, port: SERVER_PORT })),
      );
      const results = await probe(lab.record, probes, 10);
      return results.map(({ answer, ping }) => (ping === null ? null : (answer?.peer ?? null)));
    };

    beforeAll(async () => {
      const objects = [...tenant('blue'), ...tenant('green')];
      writeFileSync(join(folder, 'tenants.yaml'), objects.map((o) => stringify(o)).join('---\n'));
      lab = await testLab('e2e-vlan', { families: 'dual' });
      await outsideInVlan(lab.record, VLAN);
      tenants = new Tenants(lab.record, {
        folder,
        daemonArguments: [`--gateway-vlanid=${VLAN}`],
      });
      await tenants.start();
      ends = await tenants.endpoints();
      await serveOutward(lab.record);
    });
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('pods reach the pods of their network on other nodes: tunnels are in it', async () => {
      expect(ends).toHaveLength(4);
      expect(await tenants.unexpected()).toEqual([]);
    });

    test('a host of the VLAN is reached in both families, and sees nodes', async () => {
      expect(await seenOutside()).toEqual(
        ends.flatMap((end) => [addressOf(end, 'v4'), addressOf(end, 'v6')]),
      );
    });

    test('two pods with one address and one source port reach it at the same time', async () => {
      const shared = await sharedSource(lab.record, ends);
      expect(shared?.pods).toHaveLength(2);
      expect(new Set(shared?.seenAs).size).toBe(2);
      expect(shared?.seenAs).not.toContain(null);
    });

    test('it reaches the hosts of the nodes', async () => {
      for (const { node } of ends)
        for (const family of ['v4', 'v6'] as const) {
          const address = addressOf({ node } as Endpoint, family);
          const [result] = await probe(lab.record, [{ from: 'ext', to: address }], 5);
          expect(result?.ping, `ping of ${address}`).not.toBeNull();
        }
    });

    test('a host of another VLAN is not reached', async () => {
      await moveOutside(lab.record, VLAN + 1);
      expect(await seenOutside()).toEqual(ends.flatMap(() => [null, null]));
      await moveOutside(lab.record, VLAN);
      await expect.poll(async () => (await seenOutside()).includes(null), SOON).toBe(false);
    });

    test('the daemon has put the hosts into it', async () => {
      const words = ['ovs-vsctl', 'get', 'Port', 'breth0', 'tag', 'vlan_mode'];
      for (const node of ['n1', 'n2', 'n3'])
        expect(await outputInside(lab.record, ['on', node, ...words])).toBe(
          `${VLAN}\nnative-untagged\n`,
        );
    });
  },
);
