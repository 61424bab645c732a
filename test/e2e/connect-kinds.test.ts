import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { probe, type Endpoint } from '../../src/lab/connectivity.ts';
import { startDaemons } from '../../src/lab/daemons.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import {
  APART,
  clusterIps,
  connect,
  LINKED,
  MEMBERS,
  objectsOf,
  TENANTS,
  TWINS,
} from '../support/lab/connected-tenants.ts';
import { stopDaemon } from '../support/lab/lab-daemons.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { said } from '../support/lab/explained-packets.ts';
import { ownFolder } from '../support/run/left-behind.ts';
import { Tenants } from '../support/lab/tenants.ts';

/** Limits of waits for a condition; how long it takes is not what is tested here. */
const SOON = { timeout: 60_000, interval: 300 };

/** Lets nobody in but from two of the connected networks, one of each topology. */
const POLICY = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'some', namespace: 'flat' },
  spec: {
    podSelector: {},
    policyTypes: ['Ingress'],
    ingress: [
      {
        from: ['routed', 'plain'].map((tenant) => ({
          namespaceSelector: { matchLabels: { tenant } },
        })),
      },
    ],
  },
};

/** Lets pods of a network send nothing but to the service of the network that has its ranges, too. */
const TO_TWIN = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'out', namespace: 'routed' },
  spec: {
    podSelector: {},
    policyTypes: ['Egress'],
    egress: TWINS.filter(({ twinOf }) => twinOf === 'routed').flatMap((twin) =>
      clusterIps(twin).map((address) => ({
        to: [{ ipBlock: { cidr: `${address}/${address.includes(':') ? 128 : 32}` } }],
      })),
    ),
  },
};

describe.skipIf(whyNoLab !== undefined)(
  `connections of Layer3 and Layer2 networks, with IPv4 and IPv6${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    const folder = ownFolder('heddle-kinds');
    let lab: TestLab;
    let tenants: Tenants;
    let ends: readonly Endpoint[];
    const tenantOf = (pod: string): string => pod.split('/')[0] ?? '';
    const isMember = (name: string): boolean => MEMBERS.some((member) => member.name === name);
    const declare = (file: string, object: object): void =>
      writeFileSync(join(tenants.manifests, file), stringify(object));
    const withdraw = (file: string): void => rmSync(join(tenants.manifests, file), { force: true });

    /** Who is reached at the services' addresses, from every pod: `routed/client ways v6: ways/server`. */
    const atServices = async (): Promise<string[]> => {
      const ways = ends.flatMap((from) =>
        TENANTS.flatMap((to) =>
          clusterIps(to).map((address, n) => ({
            from,
            to: to.name,
            address,
            family: `v${n * 2 + 4}`,
          })),
        ),
      );
      const probes = ways.map(({ from, address }) => ({
        from: from.namespace,
        to: address,
        port: 80,
      }));
      const results = await probe(lab.record, probes, 5);
      return ways.map(
        ({ from, to, family }, n) =>
          `${from.pod} ${to} ${family}: ${results[n]?.answer?.server ?? 'nobody'}`,
      );
    };
    /** The same as it should be. */
    const expectedAtServices = (isOpen: (from: string, to: string) => boolean): string[] =>
      ends.flatMap(({ pod }) =>
        TENANTS.flatMap(({ name }) =>
          ['v4', 'v6'].map(
            (family) =>
              `${pod} ${name} ${family}: ${isOpen(tenantOf(pod), name) ? `${name}/server` : 'nobody'}`,
          ),
        ),
      );
    const isTwin = (name: string): boolean => TWINS.some((twin) => twin.name === name);
    const isOwn = (from: string, to: string): boolean => from === to;
    const isShared = (from: string, to: string): boolean =>
      from === to || (from !== APART.name && to !== APART.name);
    const isConnected = (from: string, to: string): boolean =>
      isOwn(from, to) || (isMember(from) && isMember(to));
    const podsAre = async (isOpen: (from: string, to: string) => boolean): Promise<string[]> =>
      tenants.unexpectedBy((from, to) => from === to || isOpen(tenantOf(from), tenantOf(to)), 5);

    beforeAll(async () => {
      writeFileSync(
        join(folder, 'tenants.yaml'),
        TENANTS.flatMap((tenant) => objectsOf(tenant))
          .map((object) => stringify(object))
          .join('---\n'),
      );
      lab = await testLab('e2e-kinds', { families: 'dual' });
      tenants = new Tenants(lab.record, { folder });
      await tenants.start();
      ends = await tenants.endpoints();
    });
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    afterEach(() => withdraw('policy.yaml'));

    test('before, each network is alone with its pods and its service', async () => {
      expect(ends).toHaveLength(14);
      expect(ends.every(({ addresses }) => addresses[1]?.includes(':'))).toBe(true);
      await expect.poll(() => podsAre(isOwn), SOON).toEqual([]);
      await expect.poll(atServices, SOON).toEqual(expectedAtServices(isOwn));
    });

    test('pods and services: every pair meets in both families, and nobody else', async () => {
      declare('connect.yaml', connect(['PodNetwork', 'ClusterIPServiceNetwork']));
      await expect.poll(() => podsAre(isConnected), SOON).toEqual([]);
      await expect.poll(atServices, SOON).toEqual(expectedAtServices(isConnected));
    });

    test('heddle explain follows it over the connection, from node to node, and the answer', async () => {
      // One of each topology sends.
      const clients = ends.filter(({ pod }) => ['routed/client', 'flat/client'].includes(pod));
      const rest = clients.flatMap((from) =>
        ends
          // Of two pods with one address it can't be told from outside which one is meant.
          .filter((to) => to !== from && !isTwin(tenantOf(to.pod)))
          .map((to) => ({ from, to })),
      );
      const wrong: string[] = [];
      const ask = async (): Promise<void> => {
        for (let one = rest.pop(); one !== undefined; one = rest.pop()) {
          const { from, to } = one;
          const asking = { from, destination: to.pod, port: SERVER_PORT, protocol: 'tcp' } as const;
          const { verdict, report } = await said(lab.record, asking);
          const isOpen = isConnected(tenantOf(from.pod), tenantOf(to.pod));
          if (verdict !== (isOpen ? 'reaches' : 'does not reach'))
            wrong.push(`${from.pod} → ${to.pod}: ${verdict}: ${report.why}`);
        }
      };
      await Promise.all([ask(), ask()]);
      expect(wrong).toEqual([]);
    });

    test('heddle explain follows what is for a service of the other network to its endpoint on another node', async () => {
      const wrong: string[] = [];
      for (const from of ends.filter(({ pod }) => ['routed/client', 'flat/client'].includes(pod)))
        for (const { name } of MEMBERS.filter((member) => member.name !== tenantOf(from.pod))) {
          const destination = `svc/${name}/web`;
          const asking = { from, destination, port: 80, protocol: 'tcp' } as const;
          const { verdict, report } = await said(lab.record, asking);
          if (verdict !== 'reaches')
            wrong.push(`${from.pod} → ${destination}: ${verdict}: ${report.why}`);
        }
      expect(wrong).toEqual([]);
    });

    test('a policy lets in the connected networks that it names, in both families', async () => {
      declare('policy.yaml', POLICY);
      const isLetIn = (from: string, to: string): boolean =>
        to === 'flat' ? ['routed', 'plain'].includes(from) : isConnected(from, to);
      await expect.poll(() => podsAre(isLetIn), SOON).toEqual([]);
      withdraw('policy.yaml');
      await expect.poll(() => podsAre(isConnected), SOON).toEqual([]);
    });

    test('pods alone: services stay in their networks', async () => {
      declare('connect.yaml', connect(['PodNetwork']));
      await expect.poll(atServices, SOON).toEqual(expectedAtServices(isOwn));
      expect(await podsAre(isConnected)).toEqual([]);
    });

    test('services alone: pods stay in their networks', async () => {
      declare('connect.yaml', connect(['ClusterIPServiceNetwork']));
      await expect.poll(() => podsAre(isOwn), SOON).toEqual([]);
      await expect.poll(atServices, SOON).toEqual(expectedAtServices(isConnected));
    });

    test('networks that overlap share services, also between pods of one address, and pods stay apart', async () => {
      const at = (pod: string): readonly string[] =>
        ends.find((end) => end.pod === pod)?.addresses ?? [];
      for (const { name, twinOf } of TWINS)
        for (const pod of ['client', 'server'])
          expect(at(`${name}/${pod}`)).toEqual(at(`${twinOf}/${pod}`));
      declare('connect.yaml', connect(['ClusterIPServiceNetwork'], { shares: 'true' }));
      await expect.poll(atServices, SOON).toEqual(expectedAtServices(isShared));
      expect(await podsAre(isOwn)).toEqual([]);
    });

    test('heddle explain follows such a way by the host, and the answer, and to another node as far as the tunnel', async () => {
      const clients = ends.filter(({ pod }) => ['routed/client', 'flattened/client'].includes(pod));
      const asked = clients.flatMap((from) =>
        TENANTS.filter(({ name }) => name !== tenantOf(from.pod)).map(({ name }) => ({
          from,
          name,
        })),
      );
      const wrong: string[] = [];
      for (const { from, name } of asked) {
        const asking = { from, destination: `svc/${name}/web`, port: 80, protocol: 'tcp' } as const;
        const { verdict, report } = await said(lab.record, asking);
        const server = ends.find(({ pod }) => pod === `${name}/server`);
        const isLinked = [tenantOf(from.pod), name].every((one) => LINKED.includes(one));
        const isWhole = server?.node === from.node || isLinked;
        const isRight = isShared(tenantOf(from.pod), name)
          ? report.passesHere === true && verdict === (isWhole ? 'reaches' : 'undecided')
          : verdict !== 'reaches';
        if (!isRight) wrong.push(`${from.pod} → ${name}: ${verdict}: ${report.why}`);
      }
      expect(wrong).toEqual([]);
    });

    test('policies of the client see the cluster IP of such a service', async () => {
      declare('policy.yaml', TO_TWIN);
      const isLetOut = (from: string, to: string): boolean =>
        from === 'routed' ? to === 'rerouted' : isShared(from, to);
      // Behind its own service a pod reaches itself, whatever policies say.
      const ofOthers = (ways: readonly string[]): string[] =>
        ways.filter((way) => !way.startsWith('routed/server routed '));
      await expect
        .poll(async () => ofOthers(await atServices()), SOON)
        .toEqual(ofOthers(expectedAtServices(isLetOut)));
      withdraw('policy.yaml');
      await expect.poll(atServices, SOON).toEqual(expectedAtServices(isShared));
    });

    test('so they do in local gateway mode', async () => {
      for (const node of ['n1', 'n2', 'n3']) await stopDaemon(lab.record, node);
      await startDaemons(lab.record, ['--gateway-mode=local']);
      await tenants.settle();
      await expect.poll(atServices, SOON).toEqual(expectedAtServices(isShared));
      expect(await podsAre(isOwn)).toEqual([]);
    });

    test('after its end each network is alone again, and nothing is left', async () => {
      withdraw('connect.yaml');
      await expect.poll(() => podsAre(isOwn), SOON).toEqual([]);
      await expect.poll(atServices, SOON).toEqual(expectedAtServices(isOwn));
      expect(await tenants.mentions('connect_router')).toEqual([]);
    });
  },
);
