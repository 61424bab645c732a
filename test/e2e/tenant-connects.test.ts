import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { networkConnects } from '../../src/api/kinds.ts';
import { probe, type Endpoint } from '../../src/lab/connectivity.ts';
import { objectsState } from '../../src/lab/daemons.ts';
import { manifestsFolder } from '../../src/lab/node-facts.ts';
import { checkout } from '../../src/lab/paths.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { openStore } from '../../src/settings/object-store.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { whileAsking } from '../support/lab/request-loop.ts';
import { Tenants } from '../support/lab/tenants.ts';

/** Limits of waits for a condition; how long it takes is not what is tested here. */
const SOON = { timeout: 60_000, interval: 300 };
const EXAMPLE = join(checkout, 'examples/tenant-connects');
const [BLUE_IP, GREEN_IP] = ['172.16.1.90', '172.16.1.91'];

const service = (namespace: string, ip: string): string => `apiVersion: v1
kind: Service
metadata: { name: web, namespace: ${namespace} }
spec:
  clusterIP: ${ip}
  clusterIPs: [${ip}]
  selector: { app: web }
  ports: [{ port: 80, targetPort: ${SERVER_PORT}, protocol: TCP }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: web-1
  namespace: ${namespace}
  labels:
    kubernetes.io/service-name: web
    endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io
addressType: IPv4
ports: [{ name: "", port: ${SERVER_PORT}, protocol: TCP }]
endpoints:
  - addresses: [10.128.0.200]
    conditions: { ready: true }
    targetRef: { kind: Pod, namespace: ${namespace}, name: web }
`;

const asks = (
  namespace: string,
  peer: string,
  connectivity = 'PodNetwork, ServiceNetwork',
): string =>
  `apiVersion: k8s.ovn.org/v1alpha1
kind: NetworkConnect
metadata: { name: to-${peer}, namespace: ${namespace} }
spec:
  network: net
  peer: { namespace: ${peer}, network: net }
  connectivity: [${connectivity}]
`;

describe.skipIf(whyNoLab !== undefined)(
  `tenants that connect networks${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    let lab: TestLab;
    let tenants: Tenants;
    let ends: readonly Endpoint[];
    const end = (pod: string): Endpoint =>
      ends.find((one) => one.pod === pod) ?? expect.unreachable(`${pod} has no interface`);
    const at = (pod: string): string => end(pod).addresses[0] ?? '';
    const answer = async (from: string, to: string, port = SERVER_PORT): Promise<string | null> => {
      const [result] = await probe(lab.record, [{ from: end(from).namespace, to, port }], 3);
      return result?.answer?.server ?? null;
    };
    const reaches = async (from: string, to: string): Promise<boolean> =>
      (await answer(from, at(to))) === to;
    const declare = (file: string, text: string): void =>
      writeFileSync(join(tenants.manifests, file), text);
    const withdraw = (file: string): void => rmSync(join(tenants.manifests, file), { force: true });
    const connectedReason = async (key: string): Promise<string | undefined> => {
      const { name } = lab.record;
      const folders = { manifests: manifestsFolder(name), state: objectsState(name) };
      await using store = await openStore({ kind: 'manifests', ...folders }, { dryRun: true });
      const found = await store.objects.get(networkConnects, key);
      return found?.status?.conditions?.find(({ type }) => type === 'Connected')?.reason;
    };

    beforeAll(async () => {
      lab = await testLab('e2e-tenant-connects');
      tenants = new Tenants(lab.record, {
        folder: EXAMPLE,
        daemonArguments: ['--tenant-connect-subnets=172.30.0.0/16/24'],
      });
      // Networks first: NetworkConnects are files of their own here.
      const text = readFileSync(join(EXAMPLE, 'networks.yaml'), 'utf8');
      const [networks = ''] = text.split('# Of the tenant blue.');
      declare('networks.yaml', networks.replace(/---\n$/, ''));
      const pods = readFileSync(join(EXAMPLE, 'pods.yaml'), 'utf8');
      declare('pods.yaml', pods.replace(/(namespace: green}\nspec: {nodeName: )n1/, '$1n2'));
      declare('services.yaml', `${service('blue', BLUE_IP)}---\n${service('green', GREEN_IP)}`);
      declare('red-asks.yaml', asks('red', 'blue'));
      declare('blue-asks.yaml', asks('blue', 'green'));
      await tenants.start();
      ends = await tenants.endpoints();
    });
    afterAll(async () => {
      await lab[Symbol.asyncDispose]();
    });

    test('nothing is connected while one side alone has asked', async () => {
      await expect.poll(() => connectedReason('blue/to-green'), SOON).toBe('PeerNotAgreed');
      expect(await tenants.unexpected()).toEqual([]);
      expect(await tenants.mentions('connect_router')).toEqual([]);
      expect(await answer('green/web', BLUE_IP, 80)).toBeNull();
    });

    test('pods and services are reached once both have, and nobody else reaches them', async () => {
      declare('green-asks.yaml', asks('green', 'blue'));
      await expect.poll(() => reaches('blue/web', 'green/web'), SOON).toBe(true);
      await expect.poll(() => reaches('green/web', 'blue/web'), SOON).toBe(true);
      await expect.poll(() => answer('blue/web', GREEN_IP, 80), SOON).toBe('green/web');
      await expect.poll(() => answer('green/web', BLUE_IP, 80), SOON).toBe('blue/web');
      expect(await answer('red/web', BLUE_IP, 80)).toBeNull();
      const isRed = (pod: string): boolean => pod.startsWith('red/');
      expect(await tenants.unexpectedBy((from, to) => isRed(from) === isRed(to))).toEqual([]);
      for (const key of ['blue/to-green', 'green/to-blue'])
        await expect.poll(() => connectedReason(key), SOON).toBe('Connected');
      expect(await connectedReason('red/to-blue')).toBe('PeerNotAgreed');
    });

    test('less is opened when one side names less, and services go on meanwhile', async () => {
      const services = [
        ['blue/web', GREEN_IP, 80],
        ['green/web', BLUE_IP, 80],
      ] as const;
      const answers = await whileAsking(lab.record, services, async () => {
        declare('green-asks.yaml', asks('green', 'blue', 'ServiceNetwork'));
        await expect.poll(() => reaches('blue/web', 'green/web'), SOON).toBe(false);
        expect(await reaches('green/web', 'blue/web')).toBe(false);
      });
      for (const seen of Object.values(answers))
        expect(Object.keys(seen).filter((who) => who.startsWith('nobody'))).toEqual([]);
    });

    test('it ends when one side withdraws, nothing is left, and it comes back with that side', async () => {
      withdraw('blue-asks.yaml');
      await expect.poll(() => answer('blue/web', GREEN_IP, 80), SOON).toBeNull();
      await expect.poll(() => answer('green/web', BLUE_IP, 80), SOON).toBeNull();
      await expect.poll(() => tenants.mentions('connect_router'), SOON).toEqual([]);
      expect(await tenants.unexpected()).toEqual([]);
      expect(await connectedReason('green/to-blue')).toBe('PeerNotAgreed');
      declare('green-asks.yaml', asks('green', 'blue'));
      declare('blue-asks.yaml', asks('blue', 'green'));
      await expect.poll(() => reaches('green/web', 'blue/web'), SOON).toBe(true);
    });
  },
);
