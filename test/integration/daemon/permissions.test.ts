import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { definitions } from '../../../src/api/catalog.ts';
import { runCluster } from '../../../src/daemon/cluster-daemon.ts';
import { resolveConfiguration } from '../../../src/daemon/configuration.ts';
import { createLogger } from '../../../src/daemon/logger.ts';
import { startApiProxy, type ApiProxy } from '../../support/api-proxy.ts';
import { command } from '../../support/heddle.ts';
import { startKubeApi, type KubeApi } from '../../support/kube-api.ts';
import { OvsdbServer } from '../../support/ovsdb-server.ts';
import { refusedRequests } from '../../support/permissions.ts';

const started = await startKubeApi();
if (typeof started === 'string')
  console.warn(`the permissions of deploy/ are not tested: ${started}`);

describe.skipIf(typeof started === 'string')('permissions that deploy/ grants', () => {
  const api = started as KubeApi;
  let proxy: ApiProxy;
  let folder: string;
  const stopping = new AbortController();
  let running: Promise<void>;

  /** A kubeconfig of one who lives in our namespace and reaches the API server through `through`. */
  const kubeconfigFor = async (name: string, through: ApiProxy): Promise<string> => {
    const file = join(folder, name);
    await writeFile(
      file,
      stringify({
        'current-context': 'c',
        contexts: [{ name: 'c', context: { cluster: 'c', namespace: 'heddle' } }],
        clusters: [{ name: 'c', cluster: { server: through.url } }],
      }),
    );
    return file;
  };

  beforeAll(async () => {
    await api.install(definitions);
    proxy = await startApiProxy(api);
    folder = await mkdtemp(join(tmpdir(), 'heddle-cluster-'));
    const kubeconfig = await kubeconfigFor('cluster', proxy);
    const configuration = resolveConfiguration({
      flags: {
        kubeconfig,
        'metrics-bind-address': '127.0.0.1:0',
        'conversion-bind-address': '127.0.0.1:0',
      },
      environment: {},
    });
    running = runCluster(configuration, createLogger('silent'), stopping.signal);
  });
  afterAll(async () => {
    stopping.abort();
    await running;
    await proxy[Symbol.asyncDispose]();
    await api[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  const create = async (path: string, body: object): Promise<void> => {
    // While a definition changes (it learns our certificate), its kind is not served for a moment.
    const attempt = (): Promise<number> =>
      api.call('POST', path, body).then(({ status }) => status);
    await expect.poll(attempt, { timeout: 10_000 }).toBe(201);
  };
  const statusOf = (path: string): Promise<number> =>
    api.call('GET', path).then(({ status }) => status);

  test('are enough for the cluster manager while networks come and go', async () => {
    const label = { 'k8s.ovn.org/primary-user-defined-network': '' };
    for (const name of ['blue', 'red'])
      await create('/api/v1/namespaces', {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name, labels: label },
      });
    await create('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } });
    const layer3 = { role: 'Primary', subnets: [{ cidr: '10.20.0.0/16' }] };
    const networks = '/apis/k8s.ovn.org/v1/namespaces/blue/userdefinednetworks';
    await create(networks, {
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'UserDefinedNetwork',
      metadata: { name: 'net', namespace: 'blue' },
      spec: { topology: 'Layer3', layer3 },
    });
    const clusterNetworks = '/apis/k8s.ovn.org/v1/clusteruserdefinednetworks';
    await create(clusterNetworks, {
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'ClusterUserDefinedNetwork',
      metadata: { name: 'shared' },
      spec: {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'red' } },
        network: { topology: 'Layer3', layer3 },
      },
    });
    const nads = (namespace: string, name: string): string =>
      `/apis/k8s.cni.cncf.io/v1/namespaces/${namespace}/network-attachment-definitions/${name}`;
    const wait = { timeout: 30_000, interval: 100 };
    await expect.poll(() => statusOf(nads('blue', 'net')), wait).toBe(200);
    await expect.poll(() => statusOf(nads('red', 'shared')), wait).toBe(200);
    const created = async (): Promise<unknown> =>
      ((await api.call('GET', `${networks}/net`)).body as { status?: unknown }).status;
    await expect.poll(async () => JSON.stringify(await created()), wait).toMatch(/NetworkCreated/);

    await api.call('DELETE', `${networks}/net`);
    await api.call('DELETE', `${clusterNetworks}/shared`);
    for (const path of [
      nads('blue', 'net'),
      nads('red', 'shared'),
      `${networks}/net`,
      `${clusterNetworks}/shared`,
    ])
      await expect.poll(() => statusOf(path), wait).toBe(404);

    expect(refusedRequests(proxy.requests, 'cluster-rbac.yaml')).toEqual([]);
    expect(proxy.requests.length).toBeGreaterThan(20);
  });

  test('are enough for the node daemon to report its zone', async () => {
    await using server = await OvsdbServer.start();
    await using nodeProxy = await startApiProxy(api);
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n2' } };
    await create('/api/v1/nodes', node);
    await using _daemon = command(
      'node',
      `--kubeconfig=${await kubeconfigFor('node', nodeProxy)}`,
      '--node=n2',
      `--nb=${server.remote}`,
      '--metrics-bind-address=127.0.0.1:0',
    );
    const zone = async (): Promise<unknown> =>
      (await api.call('GET', '/apis/k8s.ovn.org/v1alpha1/zonestatuses/n2')).body;
    await expect
      .poll(zone, { timeout: 30_000, interval: 100 })
      .toMatchObject({ status: { observedAt: expect.any(String) as string } });
    expect(refusedRequests(nodeProxy.requests, 'node-rbac.yaml')).toEqual([]);
    expect(nodeProxy.requests.length).toBeGreaterThan(10);
  });
});
