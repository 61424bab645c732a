import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { connectivity, probe, type Endpoint } from '../../src/lab/connectivity.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { serveOutward } from '../../src/lab/outward.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab.ts';
import { ownFolder } from '../support/left-behind.ts';
import { Tenants } from '../support/tenants.ts';

/** A tenant with IPv4 and IPv6, the same subnets as every other, and a pod on each node. */
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
  ...['n1', 'n2', 'n3'].map((nodeName) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `on-${nodeName}`, namespace: name },
    spec: { nodeName, containers: [{ name: 'web', image: 'web' }] },
  })),
];

describe.skipIf(whyNoLab !== undefined)(
  `tenants with IPv4 and IPv6${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    const folder = ownFolder('heddle-dual');
    let lab: TestLab;
    let tenants: Tenants;

    beforeAll(async () => {
      const objects = [...tenant('blue'), ...tenant('green')];
      writeFileSync(join(folder, 'tenants.yaml'), objects.map((o) => stringify(o)).join('---\n'));
      lab = await testLab('e2e-dual', { families: 'dual' });
      tenants = new Tenants(lab.record, { folder });
      await tenants.start();
    });
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('pods reach the pods of their network on all nodes in both families, and no others', async () => {
      const ends = await tenants.endpoints();
      expect(ends).toHaveLength(6);
      expect(
        ends.every((end) => end.addresses.length === 2 && end.addresses[1]?.includes(':')),
      ).toBe(true);
      expect(await tenants.unexpected()).toEqual([]);
    });

    test('pods reach the outside host in both families', async () => {
      const ends = await tenants.endpoints();
      const probes = ends.flatMap(({ namespace }) =>
        [OUTSIDE.v4, OUTSIDE.v6].map((to) => ({ from: namespace, to, port: SERVER_PORT })),
      );
      await serveOutward(lab.record);
      const results = await probe(lab.record, probes, 10);
      const seen = results.map(({ tcp, ping }) => (ping === null ? null : (tcp?.peer ?? null)));
      const nodeOf = ({ node }: Endpoint): number => 10 + Number(node.slice(1));
      expect(seen).toEqual(
        ends.flatMap((end) => [`172.18.0.${nodeOf(end)}`, `fd00:172:18::${nodeOf(end)}`]),
      );
    });

    test('the default network keeps their pods apart in both families', async () => {
      const cells = await connectivity(lab.record, await tenants.endpoints('default'), 3);
      const others = cells.filter((cell) => cell.from !== cell.to);
      expect(others).toHaveLength(60);
      expect(others.filter((cell) => cell.reach !== 'none' || cell.ping !== null)).toEqual([]);
    });
  },
);
