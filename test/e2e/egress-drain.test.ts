/** A node that is taken out of service in order: cordoned, its pods evicted, its label taken away, its daemon ended. Its egress addresses go to the other one. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { probe, type Endpoint } from '../../src/lab/connectivity.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { manifestsFolder, OUTSIDE } from '../../src/lab/node-facts.ts';
import { serveOutward } from '../../src/lab/outward.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { whileSendingDatagrams } from '../support/lab/datagram-streams.ts';
import { stopDaemon } from '../support/lab/lab-daemons.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { whileAskingForOwners } from '../support/lab/neighbour-owners.ts';
import { manifestsText, podOn, spaceObjects } from '../support/lab/network-spaces.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';

const SOON = { timeout: 60_000, interval: 200 };
const NODES = ['n1', 'n2'] as const;
type NodeName = (typeof NODES)[number];
const EGRESS = { v4: '172.18.0.60', v6: 'fd00:172:18::60' } as const;
/** On the default network, and on a primary one; they leave with IPv4. An EgressIP has one address on a node. */
const LEAVING = { v4: ['plain', 'flat'], v6: ['six'] } as const;
const WAYS = (['v4', 'v6'] as const).flatMap((family) =>
  LEAVING[family].map((namespace) => ({ namespace, family })),
);
/** Daemons stand still for a second where a machine is short of processors. */
const LEASE_S = 5;
const LET_GO = 'no cluster manager asks: egress addresses are let go';

describe.skipIf(whyNoLab !== undefined).each(['shared', 'local'])(
  `egress addresses of a node that is drained, in %s gateway mode${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  { timeout: 240_000 },
  (mode) => {
    const folder = ownFolder(`heddle-egress-drain-${mode}`);
    let lab: TestLab;
    let tenants: Tenants;
    let ends: readonly Endpoint[];
    let macs: Readonly<Record<NodeName, string>>;

    const on = (node: NodeName, ...words: readonly string[]): Promise<string> =>
      outputInside(lab.record, ['on', node, ...words]);
    /** Nodes with the label, and those that are cordoned. */
    const write = (labelled: readonly NodeName[], cordoned: readonly NodeName[]): void => {
      const path = join(manifestsFolder(lab.record.name), 'nodes.yaml');
      const nodes = parseAllDocuments(readFileSync(path, 'utf8')).map(
        (document) => document.toJS() as { metadata: { name: NodeName }; spec?: object },
      );
      const changed = nodes.map(({ metadata: { name }, spec: _spec, ...node }) => {
        const assignable = labelled.includes(name) ? { 'k8s.ovn.org/egress-assignable': '' } : {};
        return {
          ...node,
          metadata: { name, labels: { 'kubernetes.io/hostname': name, ...assignable } },
          ...(cordoned.includes(name) ? { spec: { unschedulable: true } } : {}),
        };
      });
      writeFileSync(path, manifestsText(changed));
    };
    const has = async (node: NodeName): Promise<boolean> => {
      const addresses = await on(node, 'ip', '-o', 'addr');
      return addresses.includes(`${EGRESS.v4}/32`) && addresses.includes(`${EGRESS.v6}/128`);
    };
    const isAt = async (node: NodeName): Promise<void> => {
      for (const one of NODES) await expect.poll(() => has(one), SOON).toBe(one === node);
    };
    const namespaceOf = (namespace: string): string =>
      ends.find(({ pod }) => pod === `${namespace}/near`)?.namespace ?? '';
    const asked = () =>
      WAYS.map(({ namespace, family }) => ({
        from: namespaceOf(namespace),
        to: OUTSIDE[family],
      }));
    const seen = async (): Promise<readonly (string | undefined)[]> => {
      const probes = asked().map((one) => ({ ...one, port: SERVER_PORT, ping: false }));
      return (await probe(lab.record, probes, 1)).map(({ answer }) => answer?.peer);
    };
    const ALL_SEEN = WAYS.map(({ family }) => EGRESS[family]);
    const pods = (node: NodeName, name: string): string =>
      manifestsText(WAYS.map(({ namespace }) => podOn(node, namespace, name)));
    const leasesEnded = async (): Promise<number> =>
      (await Promise.all(NODES.map((node) => tenants.logged(node, LET_GO)))).reduce(
        (sum, times) => sum + times,
      );

    beforeAll(async () => {
      writeFileSync(
        join(folder, 'objects.yaml'),
        manifestsText([
          ...LEAVING.v4.flatMap((namespace) => spaceObjects(namespace, { leaves: 'v4' })),
          {
            apiVersion: 'v1',
            kind: 'Namespace',
            metadata: { name: 'six', labels: { leaves: 'v6' } },
          },
          ...(['v4', 'v6'] as const).map((family) => ({
            apiVersion: 'k8s.ovn.org/v1',
            kind: 'EgressIP',
            metadata: { name: family },
            spec: {
              egressIPs: [EGRESS[family]],
              namespaceSelector: { matchLabels: { leaves: family } },
            },
          })),
        ]),
      );
      writeFileSync(join(folder, 'near.yaml'), pods('n1', 'near'));
      writeFileSync(join(folder, 'far.yaml'), pods('n2', 'far'));
      lab = await testLab(`e2e-egress-drain-${mode}`, { nodes: 2, families: 'dual' });
      tenants = new Tenants(lab.record, {
        folder,
        daemonArguments: [
          `--gateway-mode=${mode}`,
          `--egressip-reachability-total-timeout=${LEASE_S}`,
        ],
      });
      await tenants.start();
      // Who started first manages the cluster, and goes on.
      await stopDaemon(lab.record, 'n2');
      await tenants.start();
      await serveOutward(lab.record);
      ends = await tenants.endpoints();
      const macOf = async (node: NodeName): Promise<string> =>
        (await on(node, 'cat', '/sys/class/net/breth0/address')).trim();
      macs = { n1: await macOf('n1'), n2: await macOf('n2') };
    }, 120_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('no packet is lost, none has another source, and it never answers beside the other one', async () => {
      // Gateway routers of both nodes know whom they send to, as they do where pods of theirs have sent something.
      for (const [away, there] of [
        ['n2', 'n1'],
        ['n1', 'n2'],
      ] as const) {
        write(NODES, [away]);
        await isAt(there);
        await expect.poll(seen, SOON).toEqual(ALL_SEEN);
      }
      write(NODES, []);
      const endedBefore = await leasesEnded();
      let sent: Awaited<ReturnType<typeof whileSendingDatagrams>> | undefined;
      const owners = await whileAskingForOwners(
        lab.record,
        [EGRESS.v4, EGRESS.v6],
        `drain-${mode}`,
        async () => {
          sent = await whileSendingDatagrams(lab.record, asked(), 5, async () => {
            write(NODES, ['n2']);
            await isAt('n1');
            rmSync(join(tenants.manifests, 'far.yaml'));
            await tenants.settle();
            write(['n1'], ['n2']);
            await stopDaemon(lab.record, 'n2');
            await expect.poll(seen, SOON).toEqual(ALL_SEEN);
            await tenants.start();
            write(NODES, []);
            await expect.poll(seen, SOON).toEqual(ALL_SEEN);
          });
        },
      );
      // Of a machine that is too slow nothing is told by what was lost.
      expect(await leasesEnded(), 'leases that ended meanwhile').toBe(endedBefore);
      expect(Object.keys(sent?.sources ?? {}).toSorted()).toEqual(
        [EGRESS.v4, EGRESS.v6].toSorted(),
      );
      expect(sent?.streams.map(({ lost }) => lost)).toEqual(WAYS.map(() => []));
      expect(sent?.streams.every(({ sent: count }) => count > 100)).toBe(true);
      for (const [address, found] of owners)
        expect([address, ...found.map(({ mac }) => mac)]).toEqual([address, macs.n2, macs.n1]);
      await isAt('n1');
    });
  },
);
