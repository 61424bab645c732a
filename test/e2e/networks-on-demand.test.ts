/** Networks that nodes know where something uses them, two of them of ids from which no addresses follow: with packets. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { masqueradeNumbers, nodeSubnets } from '../../src/api/annotations/node-annotations.ts';
import { nodes } from '../../src/api/kinds.ts';
import { probe, type Endpoint } from '../../src/lab/connectivity.ts';
import { objectsState } from '../../src/lab/daemons.ts';
import { manifestsFolder, OUTSIDE } from '../../src/lab/node-facts.ts';
import { serveOutward } from '../../src/lab/outward.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { openStore } from '../../src/settings/object-store.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { nodeAddresses } from '../support/lab/matrix-tenants.ts';
import { manifestsText } from '../support/lab/network-spaces.ts';
import { proofOf } from '../support/lab/proof.ts';
import { Tenants } from '../support/lab/tenants.ts';

const FIXTURES = join(import.meta.dirname, 'fixtures/networks-on-demand');
const SOON = { timeout: 90_000, interval: 300 };
/** Every network is on demand, and goes a second after its last pod. */
const SETTINGS = ['--preallocated-networks=0', '--render-grace-period=1'];
const SPACES = ['near', 'far', 'farther'] as const;

const pod = (namespace: string, name: string, nodeName: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace, name, labels: { app: name } },
  spec: { nodeName, containers: [{ name: 'main', image: 'box' }] },
});

describe.skipIf(whyNoLab !== undefined)(
  `networks on demand${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    let lab: TestLab;
    let tenants: Tenants;
    let ends: readonly Endpoint[];

    const write = (...pods: readonly object[]): void =>
      writeFileSync(join(tenants.manifests, 'pods.yaml'), manifestsText(pods));
    /** What the Node objects say of networks besides the default one: `n1 near_net 10.9.0.0/24`, `n1 far-flat 4096`. */
    const given = async (): Promise<readonly string[]> => {
      const { name } = lab.record;
      await using store = await openStore(
        { kind: 'manifests', manifests: manifestsFolder(name), state: objectsState(name) },
        { dryRun: true },
      );
      return (await store.objects.list(nodes))
        .flatMap((node) =>
          [...(nodeSubnets(node).value ?? []), ...(masqueradeNumbers(node).value ?? [])]
            .filter(([network]) => network !== 'default')
            .map(([network, what]) => `${node.metadata.name} ${network} ${String(what)}`),
        )
        .toSorted();
    };
    /** As whom the host outside sees the pods. */
    const seen = async (): Promise<readonly (string | undefined)[]> => {
      const results = await probe(
        lab.record,
        ends.map(({ namespace }) => ({
          from: namespace,
          to: OUTSIDE.v4,
          port: SERVER_PORT,
          ping: false,
        })),
        3,
      );
      return results.map(({ answer }) => answer?.peer);
    };

    beforeAll(async () => {
      lab = await testLab('e2e-on-demand', { nodes: 2 });
      tenants = new Tenants(lab.record, { folder: FIXTURES, daemonArguments: SETTINGS });
      write(
        ...SPACES.flatMap((space) => [pod(space, 'a', 'n1'), pod(space, 'b', 'n2')]),
        pod('near', 'c', 'n1'),
      );
      await serveOutward(lab.record);
      await tenants.start();
      ends = await tenants.endpoints();
    });
    afterAll(async () => {
      await lab[Symbol.asyncDispose]();
    });

    test('have on each node what their pods need there', async () => {
      expect(await given()).toEqual([
        expect.stringMatching(/^n1 far-flat 409[67]$/),
        expect.stringMatching(/^n1 far-routed 10\.9\.\d+\.0\/24$/),
        expect.stringMatching(/^n1 far-routed 409[67]$/),
        expect.stringMatching(/^n1 near_net 10\.9\.\d+\.0\/24$/),
        expect.stringMatching(/^n2 far-flat 409[67]$/),
        expect.stringMatching(/^n2 far-routed 10\.9\.\d+\.0\/24$/),
        expect.stringMatching(/^n2 far-routed 409[67]$/),
        expect.stringMatching(/^n2 near_net 10\.9\.\d+\.0\/24$/),
      ]);
    });

    test('join their pods on both nodes, and no others, though all have one subnet', async () => {
      const spaceOf = (name: string): string => name.split('/')[0] ?? '';
      expect(await tenants.unexpectedBy((from, to) => spaceOf(from) === spaceOf(to))).toEqual([]);
    });

    test('have a way out, and the answers back', async () => {
      expect(await seen()).toEqual(ends.map(({ node }) => nodeAddresses(node as 'n1')[0]));
    });

    test('are proved apart on each node', async () => {
      for (const node of ['n1', 'n2']) {
        const { verdict } = await proofOf(lab.record, node, SETTINGS);
        expect(verdict.violations).toEqual([]);
        expect(verdict.pairs).toEqual({ all: 6, apart: 6, connected: 0 });
      }
    });

    test('leave a node that uses them no more, but one that a service is reached by on every node; and come back', async () => {
      write(pod('near', 'a', 'n1'), pod('far', 'b', 'n2'));
      await expect
        .poll(given, SOON)
        .toEqual([
          expect.stringMatching(/^n1 far-flat \d+$/),
          expect.stringMatching(/^n1 near_net 10\.9\./),
          expect.stringMatching(/^n2 far-flat \d+$/),
          expect.stringMatching(/^n2 far-routed 10\.9\./),
          expect.stringMatching(/^n2 far-routed \d+$/),
        ]);
      expect(await tenants.mentions('near.net_n2')).toEqual([]);
      write(...SPACES.flatMap((space) => [pod(space, 'a', 'n1'), pod(space, 'b', 'n2')]));
      await tenants.settle();
      ends = await tenants.endpoints();
      const spaceOf = (name: string): string => name.split('/')[0] ?? '';
      expect(await tenants.unexpectedBy((from, to) => spaceOf(from) === spaceOf(to))).toEqual([]);
      expect(await seen()).toEqual(ends.map(({ node }) => nodeAddresses(node as 'n1')[0]));
    });

    test('are gone from nodes with their objects', async () => {
      write();
      rmSync(join(tenants.manifests, 'networks.yaml'));
      await expect.poll(given, SOON).toEqual([]);
      for (const name of ['far.routed', 'far.flat'])
        await expect.poll(() => tenants.mentions(name), SOON).toEqual([]);
    });
  },
);
