import { chmod, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { kubeconfigConnection } from '../../../src/store/kubernetes/kubeconfig.ts';
import {
  inClusterConnection,
  type KubernetesConnection,
} from '../../../src/store/kubernetes/kubernetes-connection.ts';
import { collectionPath, objectPath } from '../../../src/store/kubernetes/kubernetes-paths.ts';
import { ownFolder } from '../../support/run/left-behind.ts';
import { ManualClock } from '../../support/run/manual-clock.ts';

const PEM = '-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n';
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const FRESH = { refused: false };

let folder: string;
const clock = new ManualClock(Date.parse('2026-01-01T00:00:00Z'));
beforeEach(async () => {
  folder = ownFolder('heddle-kubeconfig');
});
afterEach(() => rm(folder, { recursive: true }));

describe('kubeconfig', () => {
  async function connect(
    user: object,
    {
      cluster = {},
      file = 'config',
      context,
    }: { cluster?: object; file?: string; context?: string } = {},
  ): Promise<KubernetesConnection> {
    await writeFile(
      join(folder, file),
      stringify({
        'current-context': 'work',
        contexts: [
          { name: 'work', context: { cluster: 'c', user: 'u', namespace: 'tenant-a' } },
          { name: 'anonymous', context: { cluster: 'c' } },
        ],
        clusters: [{ name: 'c', cluster: { server: 'https://api.example:6443/', ...cluster } }],
        users: [{ name: 'u', user }],
      }),
    );
    return kubeconfigConnection({
      files: [join(folder, file)],
      clock,
      environment: { PATH: process.env['PATH'] },
      ...(context === undefined ? {} : { context }),
    });
  }

  test('a token, a CA given inline, and the namespace of the context', async () => {
    const connection = await connect(
      { token: 'secret' },
      { cluster: { 'certificate-authority-data': base64(PEM), 'tls-server-name': 'api' } },
    );
    expect(connection).toMatchObject({ server: 'https://api.example:6443', namespace: 'tenant-a' });
    expect(await connection.credentials(FRESH)).toEqual({
      authorization: 'Bearer secret',
      tls: { ca: PEM, serverName: 'api', skipVerification: false },
    });
  });

  test('a token file is read again when it changes; paths are relative to the kubeconfig', async () => {
    await writeFile(join(folder, 'token'), 'one\n');
    const connection = await connect({ tokenFile: 'token' });
    expect((await connection.credentials(FRESH)).authorization).toBe('Bearer one');
    await writeFile(join(folder, 'token.new'), 'two');
    await rename(join(folder, 'token.new'), join(folder, 'token'));
    expect((await connection.credentials(FRESH)).authorization).toBe('Bearer two');
  });

  test('a token that is written into the file anew is taken; a file that is gone, half written or for another server takes nothing away', async () => {
    const connection = await connect({ token: 'one' });
    const authorization = async (): Promise<string | undefined> =>
      (await connection.credentials(FRESH)).authorization;
    expect(await authorization()).toBe('Bearer one');
    await connect({ token: 'two' });
    expect(await authorization()).toBe('Bearer two');
    await writeFile(join(folder, 'config'), 'users: [{ name: u, user');
    expect(await authorization()).toBe('Bearer two');
    await rm(join(folder, 'config'));
    expect(await authorization()).toBe('Bearer two');
    await connect({ token: 'of another' }, { cluster: { server: 'https://elsewhere:6443' } });
    expect(await authorization()).toBe('Bearer two');
    await connect({ token: 'three' });
    expect(await authorization()).toBe('Bearer three');
  });

  test('client certificates, passwords, and no credentials at all', async () => {
    const certificate = { 'client-certificate-data': base64(PEM), 'client-key-data': base64(PEM) };
    const byCertificate = await connect(certificate);
    expect((await byCertificate.credentials(FRESH)).tls).toMatchObject({
      certificate: PEM,
      key: PEM,
    });
    const byPassword = await connect({ username: 'anna', password: 'pass' });
    expect((await byPassword.credentials(FRESH)).authorization).toBe(
      `Basic ${base64('anna:pass')}`,
    );
    const anonymous = await connect({}, { context: 'anonymous' });
    expect((await anonymous.credentials(FRESH)).authorization).toBeUndefined();
  });

  test('an exec plugin is asked once until its credentials expire or are refused', async () => {
    const plugin = join(folder, 'plugin');
    await writeFile(
      plugin,
      `#!/bin/sh
echo called >> ${folder}/calls
test "$MODE" = fail && { echo "no login" >&2; exit 1; }
calls=$(wc -l < ${folder}/calls)
printf '{"status": {"token": "%s-%s", "expirationTimestamp": "2026-01-01T01:00:00Z"}}' "$1" $calls
`,
    );
    await chmod(plugin, 0o755);
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: plugin,
      args: ['login'],
      env: [{ name: 'MODE', value: 'work' }],
    };
    const connection = await connect({ exec });
    const authorization = async (refused: boolean): Promise<unknown> =>
      (await connection.credentials({ refused })).authorization;
    expect(await authorization(false)).toBe('Bearer login-1');
    expect(await authorization(false)).toBe('Bearer login-1');
    expect(await authorization(true)).toBe('Bearer login-2');
    await clock.advance(3_600_000);
    expect(await authorization(false)).toBe('Bearer login-3');

    const broken = { ...exec, env: [{ name: 'MODE', value: 'fail' }], installHint: 'run: setup' };
    const failing = await connect({ exec: broken });
    await expect(failing.credentials(FRESH)).rejects.toThrow(
      /users\[u\]: exec: .*no login.*; run: setup/s,
    );
  });

  test.each<[string, object, object, RegExp]>([
    [
      'auth providers',
      { 'auth-provider': {} },
      {},
      /users\[u\]: auth-provider: is not supported; use/,
    ],
    ['impersonation', { as: 'root' }, {}, /users\[u\]: as: is not supported/],
    ['proxies', {}, { 'proxy-url': 'http://p' }, /clusters\[c\]: proxy-url: is not supported/],
    [
      'a certificate without key',
      { 'client-certificate-data': base64(PEM) },
      {},
      /one is there without/,
    ],
    ['a CA that is no PEM', {}, { 'certificate-authority-data': 'eHk=' }, /is not PEM in base64/],
    [
      'a server that is no URL',
      {},
      { server: 'api.example' },
      /server: must be an http or https URL/,
    ],
    ['fields of the wrong type', { token: 5 }, {}, /users\[u\]: token: must be a string/],
    [
      'old exec plugins',
      { exec: { apiVersion: 'client.authentication.k8s.io/v1alpha1', command: 'x' } },
      {},
      /apiVersion: .*v1alpha1: use client\.authentication\.k8s\.io\/v1 or/,
    ],
  ])('%s: refused by name, with the file', async (_what, user, cluster, message) => {
    const refused = connect(user, { cluster });
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toThrow(join(folder, 'config'));
  });

  test('an unknown context is named', async () => {
    await expect(connect({}, { context: 'home' })).rejects.toThrow('contexts: there is no "home"');
  });

  test('of several files the first that knows a name counts; missing ones are skipped', async () => {
    await connect({ token: 'first' }, { file: 'a' });
    await connect({ token: 'second' }, { file: 'b' });
    const connection = await kubeconfigConnection({
      files: ['missing', 'a', 'b'].map((name) => join(folder, name)),
      clock,
      environment: {},
    });
    expect((await connection.credentials(FRESH)).authorization).toBe('Bearer first');
    const alone = kubeconfigConnection({ files: ['/none/config'], clock, environment: {} });
    await expect(alone).rejects.toThrow(
      "kubeconfig /none/config can't be read: no such file or directory",
    );
  });
});

describe('in the cluster', () => {
  test("the service account's token and CA, read again when the mount switches", async () => {
    const version = async (name: string, token: string): Promise<void> => {
      await mkdir(join(folder, name));
      await writeFile(join(folder, name, 'token'), token);
      await writeFile(join(folder, name, 'ca.crt'), PEM);
    };
    await version('..v1', 'one');
    await symlink('..v1', join(folder, '..data'));
    for (const name of ['token', 'ca.crt']) await symlink(`..data/${name}`, join(folder, name));
    await writeFile(join(folder, 'namespace'), 'heddle\n');
    const environment = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' };
    const connection = await inClusterConnection(environment, folder);
    expect(connection).toMatchObject({ server: 'https://[fd00::1]:6443', namespace: 'heddle' });
    expect(await connection.credentials(FRESH)).toEqual({
      authorization: 'Bearer one',
      tls: { ca: PEM },
    });
    await version('..v2', 'two');
    await symlink('..v2', join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    expect((await connection.credentials(FRESH)).authorization).toBe('Bearer two');
  });

  test('outside a pod, or without a token, the error says so', async () => {
    await expect(inClusterConnection({}, folder)).rejects.toThrow('not in a Kubernetes pod');
    const environment = { KUBERNETES_SERVICE_HOST: '10.0.0.1' };
    await expect(inClusterConnection(environment, folder)).rejects.toThrow(
      'automountServiceAccountToken',
    );
  });
});

describe('paths of the API', () => {
  const pods = { apiVersion: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };
  const nodes = { apiVersion: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };
  const leases = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    plural: 'leases',
    namespaced: true,
  };

  test('groups, namespaces and names', () => {
    expect(collectionPath(pods)).toBe('/api/v1/pods');
    expect(objectPath(pods, 'a/b')).toBe('/api/v1/namespaces/a/pods/b');
    expect(objectPath(nodes, 'n1')).toBe('/api/v1/nodes/n1');
    expect(objectPath(leases, 'a/b')).toBe('/apis/coordination.k8s.io/v1/namespaces/a/leases/b');
  });

  test('a name can not lead to another path', () => {
    expect(objectPath(pods, 'a/b/../../secrets?x#y')).toBe(
      '/api/v1/namespaces/a/pods/b%2F..%2F..%2Fsecrets%3Fx%23y',
    );
    for (const key of ['a/..', '../b', 'a/', '/b', 'a/.'])
      expect(() => objectPath(pods, key)).toThrow('is not a name');
    expect(() => objectPath(pods, 'b')).toThrow('needs a namespace');
    expect(() => objectPath(nodes, 'a/b')).toThrow('has no namespace');
  });
});
