/** Who may read metrics, as a whole Kubernetes API server says it; HEDDLE_KUBERNETES names the folder that has its program. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { KubeObject, ResourceKind } from '../../../src/api/objects.ts';
import { createLogger } from '../../../src/process/logger.ts';
import { MetricsAccess } from '../../../src/process/metrics-access.ts';
import { openStore } from '../../../src/settings/object-store.ts';
import {
  applyObject,
  deployedObjects,
  NODE_ACCOUNT,
} from '../../../src/lab/kubernetes/deployment.ts';
import { kubeconfigText } from '../../../src/lab/kubernetes/kubeconfig.ts';
import { etcdArguments, programPath } from '../../../src/lab/kubernetes/programs.ts';
import { systemClock } from '../../../src/store/clock.ts';
import { kubeconfigConnection } from '../../../src/store/kubernetes/kubeconfig.ts';
import { KubernetesClient } from '../../../src/store/kubernetes/kubernetes-client.ts';
import { StoreError } from '../../../src/store/store.ts';
import { bound, ownFolder } from '../../support/run/left-behind.ts';
import { until } from '../../support/run/until.ts';
import { freePort } from '../../support/run/free-port.ts';

const { HEDDLE_KUBERNETES: source = '' } = process.env;
if (source === '')
  console.warn('token reviews are not tried on a real API server: HEDDLE_KUBERNETES names none');

const run = promisify(execFile);
const CLUSTER_ROLES: ResourceKind = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  plural: 'clusterroles',
  namespaced: false,
};
const BINDINGS: ResourceKind = {
  ...CLUSTER_ROLES,
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
};

describe.skipIf(source === '')('a real API server judges tokens', () => {
  const folder = ownFolder('heddle-reviews');
  const programs: ChildProcess[] = [];
  let url = '';
  let client: KubernetesClient;

  const launch = (program: string, args: readonly string[]): void => {
    programs.push(spawn(...bound(program, args), { stdio: 'ignore' }));
  };
  const kubeconfig = async (token: string): Promise<string> => {
    const file = join(folder, `kubeconfig-${token.slice(-8)}`);
    const text = kubeconfigText({ server: url, ca: '', token });
    await writeFile(
      file,
      text.replace(/certificate-authority-data:.*/, 'insecure-skip-tls-verify: true'),
    );
    return file;
  };

  beforeAll(async () => {
    const program = join(folder, 'kube');
    await run('sh', ['-c', 'xz -dc "$1" > "$2"', 'sh', join(source, 'bin/kube.xz'), program]);
    await chmod(program, 0o755);
    const [client0, peer, port] = [await freePort(), await freePort(), await freePort()];
    const etcd = `http://127.0.0.1:${client0}`;
    launch(
      await programPath('etcd'),
      etcdArguments({
        folder: join(folder, 'etcd'),
        client: etcd,
        peer: `http://127.0.0.1:${peer}`,
      }),
    );
    const key = join(folder, 'accounts.key');
    await run('openssl', ['genrsa', '-out', key, '2048']);
    const tokens = join(folder, 'tokens.csv');
    await writeFile(tokens, `administrator,administrator,1,"system:masters"\n`);
    launch(program, [
      'kube-apiserver',
      `--etcd-servers=${etcd}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=192.0.2.1',
      `--secure-port=${port}`,
      `--cert-dir=${join(folder, 'pki')}`,
      `--token-auth-file=${tokens}`,
      '--authorization-mode=RBAC',
      '--service-cluster-ip-range=10.96.0.0/16',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-signing-key-file=${key}`,
      `--service-account-key-file=${key}`,
    ]);
    url = `https://127.0.0.1:${port}`;
    const connection = await kubeconfigConnection({
      files: [await kubeconfig('administrator')],
      clock: systemClock,
      environment: {},
    });
    client = new KubernetesClient(connection, 'test');
    await until(
      'the API server with its roles',
      async () => {
        const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin';
        return (
          (await client.send({ method: 'GET', path, about: 'role' }))['kind'] === 'ClusterRole'
        );
      },
      { limit: 90_000, pause: 200, isExpected: (error) => error instanceof StoreError },
    );
  }, 120_000);

  afterAll(async () => {
    client.close();
    for (const program of programs) program.kill('SIGKILL');
    await Promise.all(programs.map(async (one) => one.exitCode ?? (await once(one, 'exit'))));
    await rm(folder, { recursive: true });
  });

  const create = async (path: string, body: object): Promise<Record<string, unknown>> =>
    client.send({ method: 'POST', path, body, about: path });
  /** A bound token of a service account, which is made first. */
  const tokenOf = async (namespace: string, name: string): Promise<string> => {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts`;
    await create('/api/v1/namespaces', { metadata: { name: namespace } }).catch(() => undefined);
    await create(path, { metadata: { name } });
    const { status } = await create(`${path}/${name}/token`, { spec: {} });
    return (status as { token: string }).token;
  };

  test('the node’s own account may ask, and lets in whom the role is bound to, nobody else', async () => {
    const [, , namespace = '', name = ''] = NODE_ACCOUNT.split(':');
    const own = await tokenOf(namespace, name);
    const prometheus = await tokenOf('monitoring', 'prometheus');
    const tenant = await tokenOf('tenant-a', 'default');
    const wanted = (kind: string, role: string): KubeObject | undefined =>
      deployedObjects().find((one) => one.kind === kind && one.metadata.name === role);
    for (const role of ['heddle-node', 'heddle-metrics-reader'])
      await applyObject(client, CLUSTER_ROLES, wanted('ClusterRole', role) as KubeObject);
    await applyObject(client, BINDINGS, wanted('ClusterRoleBinding', 'heddle-node') as KubeObject);
    await applyObject(client, BINDINGS, {
      apiVersion: BINDINGS.apiVersion,
      kind: BINDINGS.kind,
      metadata: { name: 'heddle-metrics' },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'ClusterRole',
        name: 'heddle-metrics-reader',
      },
      subjects: [{ kind: 'ServiceAccount', namespace: 'monitoring', name: 'prometheus' }],
    } as KubeObject);
    await using store = await openStore(
      { kind: 'kubernetes', files: [await kubeconfig(own)] },
      { dryRun: false },
    );
    const judge = (token: string): Promise<string> =>
      new MetricsAccess(store.objects, createLogger('silent')).judge(`Bearer ${token}`);
    // Roles come into force a moment after they are written.
    await expect.poll(() => judge(prometheus), { timeout: 10_000 }).toBe('allowed');
    expect(await judge(tenant)).toBe('forbidden');
    expect(await judge(own)).toBe('forbidden');
    expect(await judge('administrator')).toBe('allowed');
    expect(await judge(`${prometheus.slice(0, -4)}AAAA`)).toBe('unauthenticated');
    expect(await judge('invented')).toBe('unauthenticated');
  }, 60_000);
});
