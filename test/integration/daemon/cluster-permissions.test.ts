import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { definitions } from '../../../src/api/catalog.ts';
import { runCluster } from '../../../src/daemon/cluster-daemon.ts';
import { resolveConfiguration } from '../../../src/daemon/configuration.ts';
import { createLogger } from '../../../src/daemon/logger.ts';
import { startApiProxy, type ApiProxy } from '../../support/api-proxy.ts';
import { startKubeApi, type KubeApi } from '../../support/kube-api.ts';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}
interface Request {
  readonly group: string;
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly verb: string;
}

/** A request as an authorizer sees it. */
function attributes(line: string): Request {
  const [method = '', target = ''] = line.split(' ');
  const url = new URL(target, 'http://api');
  const parts = url.pathname.split('/').slice(1);
  const group = parts[0] === 'api' ? '' : (parts[1] ?? '');
  let rest = parts.slice(parts[0] === 'api' ? 2 : 3);
  const namespace = rest[0] === 'namespaces' && rest.length > 2 ? rest[1] : undefined;
  if (namespace !== undefined) rest = rest.slice(2);
  const [resource = '', name, subresource] = rest;
  const verbs: Record<string, string> = {
    POST: 'create',
    PATCH: 'patch',
    PUT: 'update',
    DELETE: 'delete',
  };
  const reading = name !== undefined ? 'get' : url.searchParams.has('watch') ? 'watch' : 'list';
  return {
    group,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace,
    name,
    verb: verbs[method] ?? reading,
  };
}

const allows = (rule: Rule, { group, resource, name, verb }: Request): boolean =>
  rule.apiGroups.includes(group) &&
  rule.resources.includes(resource) &&
  rule.verbs.includes(verb) &&
  (rule.resourceNames === undefined || (name !== undefined && rule.resourceNames.includes(name)));

const started = await startKubeApi();
if (typeof started === 'string')
  console.warn(`permissions of the cluster manager are not tested: ${started}`);

describe.skipIf(typeof started === 'string')('the cluster manager on an API server', () => {
  const api = started as KubeApi;
  let proxy: ApiProxy;
  let folder: string;
  const stopping = new AbortController();
  let running: Promise<void>;

  beforeAll(async () => {
    await api.install(definitions);
    proxy = await startApiProxy(api);
    folder = await mkdtemp(join(tmpdir(), 'heddle-cluster-'));
    const kubeconfig = join(folder, 'kubeconfig');
    await writeFile(
      kubeconfig,
      stringify({
        'current-context': 'c',
        contexts: [{ name: 'c', context: { cluster: 'c', namespace: 'heddle' } }],
        clusters: [{ name: 'c', cluster: { server: proxy.url } }],
      }),
    );
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

  test('networks come and go with no more permissions than deploy/ grants', async () => {
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

    const text = await readFile(
      resolve(import.meta.dirname, '../../../deploy/cluster-rbac.yaml'),
      'utf8',
    );
    const roles = parseAllDocuments(text).map(
      (document) => document.toJS() as { kind: string; rules?: readonly Rule[] },
    );
    const rulesOf = (kind: string): readonly Rule[] =>
      roles.filter((role) => role.kind === kind).flatMap(({ rules = [] }) => rules);
    const refused = proxy.requests
      .map(attributes)
      .filter(
        (request) =>
          !rulesOf('ClusterRole').some((rule) => allows(rule, request)) &&
          !(
            request.namespace === 'heddle' && rulesOf('Role').some((rule) => allows(rule, request))
          ),
      );
    const shown = refused.map(
      ({ verb, group, resource, namespace = '', name = '' }) =>
        `${verb} ${group}/${resource} ${namespace}/${name}`,
    );
    expect([...new Set(shown)]).toEqual([]);
    expect(proxy.requests.length).toBeGreaterThan(20);
  });
});
