import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { resourceKindOf } from '../../../src/api/kinds.ts';
import type { KubeObject } from '../../../src/api/objects.ts';
import { definitions } from '../../../src/api/validation/catalog.ts';
import { collectionPath } from '../../../src/store/kubernetes/kubernetes-paths.ts';
import { command, Installation, type RunningCommand } from '../../support/run/heddle.ts';
import { startKubeApi, type KubeApi } from '../../support/cluster/kube-api.ts';
import { OvsdbServer, runOvs } from '../../support/ovsdb/ovsdb-server.ts';

const EXAMPLE = join(import.meta.dirname, '../cli/fixtures/worked-example');
const SETTINGS = ['--cluster-subnets=10.244.0.0/16/24', '--k8s-service-cidrs=10.96.0.0/16'];
const POD_NETWORKS = 'k8s.ovn.org/pod-networks';

const example = ['nodes.yaml', 'services.yaml', 'blue.yaml'].flatMap((name) =>
  parseAllDocuments(readFileSync(join(EXAMPLE, name), 'utf8')).map(
    (document) => document.toJS() as KubeObject,
  ),
);

const entry = (address: string, mac: string): object => ({
  ip_addresses: [address],
  mac_address: mac,
  role: 'primary',
});

const pod = (
  namespace: string,
  name: string,
  networks: Readonly<Record<string, object>>,
): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace, name, annotations: { [POD_NETWORKS]: JSON.stringify(networks) } },
  spec: { nodeName: 'ovn-worker', containers: [{ name: 'main', image: 'none' }] },
});

/** Pods that write themselves what they want: of another namespace's network, of isolation, and of addresses. */
const FORGED: readonly KubeObject[] = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'mallory' } },
  pod('mallory', 'guest', { 'blue/blue': entry('103.103.0.99/24', '0a:58:67:67:00:63') }),
  pod('blue', 'open', { default: entry('10.244.0.77/24', '0a:58:0a:f4:00:4d') }),
  pod('mallory', 'gateway', { default: entry('10.244.0.1/24', '0a:58:0a:f4:00:01') }),
  pod('mallory', 'world', { default: entry('8.8.8.8/32', '0a:58:08:08:08:08') }),
];

const nbctl = (server: OvsdbServer, ...args: readonly string[]): Promise<string> =>
  runOvs('ovn-nbctl', [`--db=${server.remote}`, ...args]);

const ports = async (server: OvsdbServer): Promise<string[]> =>
  (
    await nbctl(
      server,
      '--bare',
      '--columns=name',
      'find',
      'Logical_Switch_Port',
      'external_ids:pod=true',
    )
  )
    .split('\n')
    .filter(Boolean)
    .sort();

/** Ports of the group that keeps pods of primary networks off the default network. */
async function isolated(server: OvsdbServer): Promise<string[]> {
  const id = '"default-network-controller:UDNIsolation:SecondaryPods"';
  const group = ['find', 'Port_Group', `external_ids:"k8s.ovn.org/id"=${id}`];
  const uuids = (await nbctl(server, '--bare', '--columns=ports', ...group)).trim().split(/\s+/);
  const found = await Promise.all(
    uuids.map((uuid) => nbctl(server, '--bare', 'get', 'Logical_Switch_Port', uuid, 'name')),
  );
  return found.map((text) => text.trim().replaceAll('"', '')).sort();
}

/** Its own network each of them has, but for those that ask for what no pod may have. */
const RIGHT = [
  'blue.blue_blue_open',
  'blue.blue_blue_pod1',
  'blue_open',
  'blue_pod1',
  'mallory_guest',
];

test('manifests: what pods write about themselves reaches no row', async () => {
  await using server = await OvsdbServer.start();
  using installation = new Installation([
    '--node=ovn-worker',
    `--nb=${server.remote}`,
    ...SETTINGS,
  ]);
  const write = (name: string, objects: readonly KubeObject[]): void =>
    installation.write(name, objects.map((object) => stringify(object)).join('---\n'));
  write('example.yaml', example);
  await installation.run('apply', '--no-wait');
  write('forged.yaml', FORGED);
  const { stdout, stderr } = await installation.run('apply', '--no-wait');
  expect(await ports(server)).toEqual(RIGHT);
  expect(await isolated(server)).toEqual(['blue_open', 'blue_pod1']);
  expect(stdout + stderr).toContain(
    'network "blue_blue" is no primary network of namespace "mallory"',
  );

  // A running pod that is changed.
  const carried = { default: entry('10.244.0.3/24', '0a:58:0a:f4:00:03') };
  write('forged.yaml', [...FORGED.slice(0, 2), pod('blue', 'open', carried)]);
  await installation.run('apply', '--no-wait');
  expect(await nbctl(server, 'lsp-get-addresses', 'blue_pod1')).toBe(
    '0a:58:0a:f4:00:03 10.244.0.3\n',
  );
  expect(await ports(server)).toEqual(RIGHT.filter((name) => name !== 'blue_open'));
}, 120_000);

const started = await startKubeApi();
if (typeof started === 'string')
  console.warn(`pods that write about themselves are not tested on a real API server: ${started}`);

describe.skipIf(typeof started === 'string')('Kubernetes', () => {
  const api = started as KubeApi;
  const processes: RunningCommand[] = [];
  let server: OvsdbServer;

  const create = async (object: KubeObject): Promise<void> => {
    const kind = resourceKindOf(object.apiVersion, object.kind);
    if (kind === undefined) throw new Error(`unknown kind ${object.kind}`);
    const path = collectionPath(kind, object.metadata.namespace);
    expect([201, 409]).toContain((await api.call('POST', path, object)).status);
  };

  beforeAll(async () => {
    await api.install(definitions.map(withoutConversion));
    server = await OvsdbServer.start();
    for (const object of example) await create(object);
    for (const args of [
      ['cluster'],
      ['node', '--node=ovn-worker', '--socket=none', `--nb=${server.remote}`],
    ])
      processes.push(
        command(
          ...args,
          `--kubeconfig=${api.kubeconfig}`,
          '--metrics-bind-address=127.0.0.1:0',
          ...SETTINGS,
        ),
      );
  });
  afterAll(async () => {
    for (const running of processes) await running[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
    await api[Symbol.asyncDispose]();
  });

  test('what pods write about themselves reaches no row, and an event says why', async () => {
    await expect.poll(() => ports(server), WAIT).toContain('blue.blue_blue_pod1');
    for (const object of FORGED) await create(object);
    await expect.poll(() => ports(server), WAIT).toEqual(RIGHT);
    const events = async (name: string): Promise<string> => {
      const { body } = await api.call('GET', '/api/v1/namespaces/mallory/events');
      const { items } = body as { items: { message: string; involvedObject: { name: string } }[] };
      return items
        .filter(({ involvedObject }) => involvedObject.name === name)
        .map(({ message }) => message)
        .join('\n');
    };
    await expect.poll(() => events('guest'), WAIT).toContain('"blue_blue" is no primary network');
    await expect.poll(() => events('gateway'), WAIT).toContain('that of the gateway');
    await expect.poll(() => events('world'), WAIT).toContain('8.8.8.8 is no host address');
    expect(await isolated(server)).toEqual(['blue_open', 'blue_pod1']);
    expect(await ports(server)).toEqual(RIGHT);
  }, 90_000);
});

const WAIT = { timeout: 30_000, interval: 200 };

/** Without a webhook service an API server can't serve the other version. */
function withoutConversion(definition: object): object {
  const { spec, ...rest } = definition as {
    spec: { conversion?: unknown; versions: { storage: boolean }[] };
  };
  const { conversion: _conversion, versions, ...others } = spec;
  return { ...rest, spec: { ...others, versions: versions.filter(({ storage }) => storage) } };
}
