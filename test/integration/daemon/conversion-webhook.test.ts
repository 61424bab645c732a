import { request } from 'node:https';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { definitions } from '../../../src/api/validation/catalog.ts';
import { resourceKinds, userDefinedNetworks } from '../../../src/api/kinds.ts';
import {
  serveConversions,
  type ConversionWebhook,
} from '../../../src/daemon/conversion-webhook.ts';
import { systemClock } from '../../../src/store/clock.ts';
import { KubernetesStore } from '../../../src/store/kubernetes/kubernetes-store.ts';
import { startKubeApi, type KubeApi } from '../../support/kube-api.ts';

const started = await startKubeApi();
if (typeof started === 'string')
  console.warn(`definitions and conversion are not tested against a real API server: ${started}`);

const NETWORKS = '/namespaces/tenant-a/userdefinednetworks';
const STABLE = `/apis/k8s.ovn.org/v1${NETWORKS}`;
const FLAT = `/apis/k8s.ovn.org/v1alpha1${NETWORKS}`;

const flat = (name: string, spec: object): object => ({
  apiVersion: 'k8s.ovn.org/v1alpha1',
  kind: 'UserDefinedNetwork',
  metadata: { name, namespace: 'tenant-a' },
  spec,
});

describe.skipIf(typeof started === 'string')('definitions on an API server', () => {
  const api = started as KubeApi;
  const store =
    typeof started === 'string' ? undefined : new KubernetesStore({ connection: api.connection });
  const stopping = new AbortController();
  const failures: unknown[] = [];
  let first: ConversionWebhook | undefined;
  let second: ConversionWebhook | undefined;

  const serve = (): Promise<ConversionWebhook> =>
    serveConversions(
      {
        store: store as KubernetesStore,
        host: '127.0.0.1',
        port: 0,
        name: '127.0.0.1',
        namespace: 'heddle',
        clock: systemClock,
        random: Math.random,
        onFailure: (error) => failures.push(error),
      },
      stopping.signal,
    );
  /** Points the definitions at our port: a test has no Service. */
  const pointAt = async ({ port }: ConversionWebhook): Promise<void> => {
    for (const name of ['userdefinednetworks', 'clusteruserdefinednetworks'])
      await store?.patch(
        {
          apiVersion: 'apiextensions.k8s.io/v1',
          kind: 'CustomResourceDefinition',
          plural: 'customresourcedefinitions',
          namespaced: false,
        },
        `${name}.k8s.ovn.org`,
        {
          spec: {
            conversion: {
              webhook: {
                clientConfig: { service: null, url: `https://127.0.0.1:${port}/convert` },
              },
            },
          },
        },
        { fieldManager: 'test' },
      );
  };

  beforeAll(async () => {
    await api.install(definitions);
    [first, second] = await Promise.all([serve(), serve()]);
    await pointAt(first);
  });
  afterAll(async () => {
    stopping.abort();
    await first?.[Symbol.asyncDispose]();
    await second?.[Symbol.asyncDispose]();
    await store?.close();
    await api[Symbol.asyncDispose]();
  });

  test('every kind of ours is accepted and served', async () => {
    for (const kind of resourceKinds.filter(({ apiVersion }) => apiVersion.includes('.ovn.org')))
      expect(await store?.list(kind), kind.kind).toEqual([]);
  });

  test('a flat network is stored as v1 and reads back as it was written', async () => {
    const spec = { topology: 'Layer3', role: 'Primary', subnets: ['10.20.0.0/16/24'] };
    const created = await api.call('POST', FLAT, flat('blue', spec));
    expect(created.body).toMatchObject({ apiVersion: 'k8s.ovn.org/v1alpha1', spec });
    const blue = await store?.get(userDefinedNetworks, 'tenant-a/blue');
    expect(blue?.spec).toEqual({
      topology: 'Layer3',
      layer3: { role: 'Primary', subnets: [{ cidr: '10.20.0.0/16', hostSubnet: 24 }] },
    });
    expect((await api.call('GET', `${FLAT}/blue`)).body).toMatchObject({ spec });
  });

  test('a v1 network can be read as flat, lists included', async () => {
    const spec = { topology: 'Layer2', layer2: { role: 'Secondary', subnets: ['10.9.0.0/24'] } };
    const green = { ...flat('green', spec), apiVersion: 'k8s.ovn.org/v1' };
    expect((await api.call('POST', STABLE, green)).status).toBe(201);
    const { body } = await api.call('GET', FLAT);
    const found = (body as { items: { metadata: { name: string }; spec: object }[] }).items;
    expect(found.find(({ metadata }) => metadata.name === 'green')?.spec).toMatchObject({
      topology: 'Layer2',
      role: 'Secondary',
      subnets: ['10.9.0.0/24'],
    });
  });

  test('a flat network that has no meaning is refused, with field and value', async () => {
    const spec = { topology: 'Layer3', role: 'Primary', subnets: ['10.20.0.0/16/xyz'] };
    const refused = await api.call('POST', FLAT, flat('bad', spec));
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect((refused.body as { message: string }).message).toMatch(/subnets.*10\.20\.0\.0\/16\/xyz/);
  });

  test('replicas share one certificate; either of them converts', async () => {
    if (second !== undefined) await pointAt(second);
    await expect
      .poll(async () => (await api.call('GET', `${FLAT}/blue`)).status, { timeout: 10_000 })
      .toBe(200);
    expect(failures).toEqual([]);
  });

  test('what is no review is refused and harms nothing', async () => {
    const post = (path: string, body: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const url = `https://127.0.0.1:${second?.port}${path}`;
        const outgoing = request(url, { method: 'POST', rejectUnauthorized: false }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        outgoing.on('error', reject).end(body);
      });
    expect(await post('/convert', 'not JSON')).toBe(400);
    expect(await post('/convert', '[]')).toBe(400);
    expect(await post('/convert', '{"request": {"uid": 5}}')).toBe(400);
    expect(await post('/other', '{}')).toBe(404);
    const oddObjects = {
      request: { uid: 'u', desiredAPIVersion: 'k8s.ovn.org/v1', objects: [null] },
    };
    expect(await post('/convert', JSON.stringify(oddObjects))).toBe(200);
    expect((await api.call('GET', `${FLAT}/blue`)).status).toBe(200);
  });
});
