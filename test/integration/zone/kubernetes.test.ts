import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { definitions } from '../../../src/api/validation/catalog.ts';
import { resourceKindOf } from '../../../src/api/kinds.ts';
import { collectionPath } from '../../../src/store/kubernetes/kubernetes-paths.ts';
import { command, heddle, type RunningCommand } from '../../support/run/heddle.ts';
import { KubernetesStore } from '../../../src/store/kubernetes/kubernetes-store.ts';
import { startKubeApi, type KubeApi } from '../../support/cluster/kube-api.ts';
import { SaidOfNetworks } from '../../support/cluster/said-of-networks.ts';
import { OvsdbServer, runOvs } from '../../support/ovsdb/ovsdb-server.ts';
import { ownFolder } from '../../support/run/left-behind.ts';
import { until } from '../../support/run/until.ts';

const started = await startKubeApi();
if (typeof started === 'string')
  console.warn(`heddle cluster and node are not tested on a real API server: ${started}`);

const EXAMPLE = join(import.meta.dirname, '../cli/fixtures/worked-example');
const SETTINGS = ['--cluster-subnets=10.244.0.0/16/24', '--k8s-service-cidrs=10.96.0.0/16'];

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

interface Declared {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: object;
}

const declared = (name: string): readonly Declared[] =>
  parseAllDocuments(readFileSync(join(EXAMPLE, name), 'utf8')).map(
    (document) => document.toJS() as Declared,
  );

describe.skipIf(typeof started === 'string')('heddle cluster and heddle node on Kubernetes', () => {
  const api = started as KubeApi;
  const processes: RunningCommand[] = [];
  let server: OvsdbServer | undefined;

  const apply = async (object: Declared): Promise<void> => {
    const kind = resourceKindOf(object.apiVersion, object.kind);
    if (kind === undefined) throw new Error(`unknown kind ${object.kind}`);
    const { status, body } = await api.call(
      'POST',
      collectionPath(kind, object.metadata.namespace),
      object,
    );
    expect([200, 201, 409], JSON.stringify(body)).toContain(status);
  };
  const start = (name: string, ...args: readonly string[]): RunningCommand => {
    const running = command(
      name,
      `--kubeconfig=${api.kubeconfig}`,
      '--metrics-bind-address=127.0.0.1:0',
      ...SETTINGS,
      ...args,
    );
    processes.push(running);
    return running;
  };
  const nbctl = (...args: readonly string[]): Promise<string> =>
    runOvs('ovn-nbctl', [`--db=${server?.remote ?? ''}`, ...args]);

  beforeAll(async () => {
    server = await OvsdbServer.start();
    const isNeeded = (name: string): boolean =>
      /^(userdefinednetworks|network-attachment-definitions|zonestatuses)\./.test(name);
    await api.install(
      definitions.filter(({ metadata }) => isNeeded(metadata.name)).map(withoutConversion),
    );
    for (const name of ['default', 'kube-system'])
      await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  });
  afterAll(async () => {
    for (const running of processes) await running[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
    await api[Symbol.asyncDispose]();
  });

  test('networks declared through the API reach the Northbound database, and leave it, with no more definitions than they need', async () => {
    start('cluster');
    start('node', '--node=ovn-worker', '--socket=none', `--nb=${server?.remote ?? ''}`);
    for (const file of ['nodes.yaml', 'services.yaml', 'blue.yaml'])
      for (const object of declared(file)) await apply(object);
    await until(
      "the pod's port",
      async () => (await nbctl('list', 'Logical_Switch_Port')).includes('blue.blue_blue_pod1'),
      30_000,
    );
    const status = await heddle('status', `--kubeconfig=${api.kubeconfig}`);
    expect(status.stdout).toMatch(/^blue_blue +1 /m);
    const network = '/apis/k8s.ovn.org/v1/namespaces/blue/userdefinednetworks/blue';
    await expect
      .poll(async () => (await api.call('GET', network)).body)
      .toMatchObject({
        status: {
          conditions: expect.arrayContaining([
            expect.objectContaining({ type: 'NetworkCreated', status: 'True' }),
          ]) as unknown,
        },
      });
    for (const pod of ['pod1', 'pod2'])
      await api.call('DELETE', `/api/v1/namespaces/blue/pods/${pod}?gracePeriodSeconds=0`);
    await api.call('DELETE', network);
    await until(
      'the network to be gone',
      async () => !(await nbctl('list', 'Logical_Switch')).includes('blue_blue'),
      30_000,
    );
    expect(await nbctl('list', 'Logical_Router')).not.toMatch(/blue_blue/);
    // Its finalizer goes when the manager has seen that the network is gone everywhere.
    await expect.poll(async () => (await api.call('GET', network)).status).toBe(404);
  });

  test('a node that is started again beside an OVN that is slow says nothing of networks that it did not say before', async () => {
    const [only, ...others] = declared('nodes.yaml');
    for (const { metadata } of others) await api.call('DELETE', `/api/v1/nodes/${metadata.name}`);
    for (const file of ['services.yaml', 'blue.yaml'])
      for (const object of declared(file)) await apply(object);
    if (only !== undefined) await apply(only);
    const store = new KubernetesStore({ connection: api.connection });
    const set = (...values: readonly string[]): Promise<string> =>
      nbctl('set', 'NB_Global', '.', ...values);
    const before = new SaidOfNetworks(store);
    const programmed = 'ovn-worker: blue_blue=Programmed default=Programmed';
    await until(
      'its report',
      () => [...before.lines].some((line) => /blue_blue=C/.test(line)),
      30_000,
    );
    await set('sb_cfg=1000', 'hv_cfg=1000');
    await until('the data plane', () => before.lines.has(programmed), 30_000);
    await until('the condition', () => [...before.lines].some((line) => /True/.test(line)), 30_000);
    await before[Symbol.asyncDispose]();
    for (const running of processes) if (running !== processes[0]) await running.end('SIGKILL');
    // What somebody changed meanwhile has not been confirmed yet.
    await set('nb_cfg=2000');
    const after = new SaidOfNetworks(store);
    const again = start(
      'node',
      '--node=ovn-worker',
      '--socket=none',
      `--nb=${server?.remote ?? ''}`,
    );
    await until('the lock', () => again.log.includes('"isHeld":true'), 30_000);
    await sleep(3000);
    expect([...after.lines].toSorted()).toEqual([
      expect.stringMatching(/^blue\/blue: True since /),
      programmed,
    ]);
    await after[Symbol.asyncDispose]();
    await store.close();
  }, 60_000);

  test('what a policy would close is told before it is there, of what the API server has', async () => {
    const file = join(ownFolder('heddle-reach'), 'policy.yaml');
    writeFileSync(
      file,
      `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed, namespace: blue}
spec: {podSelector: {}, policyTypes: [Ingress]}
`,
    );
    const plan = await heddle(
      'plan',
      `--kubeconfig=${api.kubeconfig}`,
      '--reach',
      file,
      '--json',
      ...SETTINGS,
    );
    expect(plan.stderr).toBe('');
    expect(JSON.parse(plan.stdout)).toEqual({
      opens: [],
      closes: ['pod1 → pod2', 'pod2 → pod1'].map((pair) => {
        const [from, to] = pair.split(' → ').map((pod) => `blue/${pod}`);
        return { from, to, ports: ['everything'], pairs: 1 };
      }),
      opensWays: [],
      closesWays: [],
      notes: [],
    });
    expect(plan.code).toBe(2);
    const { body } = await api.call('GET', '/apis/networking.k8s.io/v1/networkpolicies');
    expect(body).toMatchObject({ items: [] });
  });

  test('definitions that come later are taken up', async () => {
    const installed = await api.call('GET', CRDS);
    const { items } = installed.body as { items: readonly { metadata: { name: string } }[] };
    const known = new Set(items.map(({ metadata }) => metadata.name));
    await api.install(
      definitions.filter(({ metadata }) => !known.has(metadata.name)).map(withoutConversion),
    );
    await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'plain' } });
    await apply({
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'ClusterUserDefinedNetwork',
      metadata: { name: 'green' },
      spec: {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'plain' } },
        network: {
          topology: 'Layer3',
          layer3: { role: 'Secondary', subnets: [{ cidr: '10.30.0.0/16' }] },
        },
      },
    });
    await apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'pod3',
        namespace: 'plain',
        annotations: { 'k8s.v1.cni.cncf.io/networks': 'green' },
      },
      spec: { nodeName: 'ovn-worker', containers: [{ name: 'web', image: 'web' }] },
    });
    // Kinds that are not there are asked for every half minute at most.
    await until(
      'the switch of the new network',
      async () => (await nbctl('list', 'Logical_Switch')).includes('cluster_udn_green_ovn-worker'),
      60_000,
    );
  });
});

/** Without a webhook service an API server can't serve the other version. */
function withoutConversion(definition: object): object {
  const { spec, ...rest } = definition as {
    spec: { conversion?: unknown; versions: { name: string; served: boolean; storage: boolean }[] };
  };
  const { conversion: _conversion, versions, ...others } = spec;
  return { ...rest, spec: { ...others, versions: versions.filter(({ storage }) => storage) } };
}
