/** From `kubectl apply` to packets: objects of a real API server, with deploy/'s roles and policies in force, become pods of containerd that reach what they may. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { definitions } from '../../src/api/validation/catalog.ts';
import { startDaemon, stopDaemon } from '../../src/lab/daemons.ts';
import { installPlugin, startContainerd } from '../../src/lab/runtime/containerd.ts';
import type { KubeObject } from '../../src/api/objects.ts';
import { resourceKindOf } from '../../src/api/kinds.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { collectionPath } from '../../src/store/kubernetes/kubernetes-paths.ts';
import { KubernetesStore } from '../../src/store/kubernetes/kubernetes-store.ts';
import { layer3, namespace, node } from '../support/cluster.ts';
import { command, type RunningCommand } from '../support/heddle.ts';
import { startKubeApi, type KubeApi } from '../support/kube-api.ts';
import { labApi, type LabApi } from '../support/lab-api.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab.ts';
import { NodeRuntime } from '../support/node-runtime.ts';
import { installRules, MANAGER_ACCOUNT, NODE_ACCOUNT } from '../support/permissions.ts';

const started = whyNoLab ?? (await startKubeApi());
const nodes = ['n1', 'n2'] as const;
const PORT = 8080;
const SOON = { timeout: 60_000, interval: 300 };
const SERVICE_IP = '10.96.7.7';
const SETTINGS = ['--cluster-subnets=10.244.0.0/16/24', '--k8s-service-cidrs=10.96.0.0/16'];

const webPod = (key: string, on: string): KubeObject & { spec: object } => {
  const [ns = '', name = ''] = key.split('/');
  const command = ['/usr/bin/python3', '/lab/bin/lab-serve', key, String(PORT)];
  const ask = `/bin/nc -w 1 127.0.0.1 ${PORT} < /dev/null`;
  const readinessProbe = { exec: { command: ['/bin/sh', '-c', ask] } };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: ns, name, labels: { app: 'web', name } },
    spec: { nodeName: on, containers: [{ name: 'main', image: 'box', command, readinessProbe }] },
  };
};

/** What is looked at in a pod, or in a refusal. */
interface FoundPod {
  readonly code?: number;
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly status?: {
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** The same network, the same pods, for two tenants. */
const tenants = ['blue', 'red'] as const;
const namespaces = tenants.map((tenant) =>
  namespace(tenant, { 'k8s.ovn.org/primary-user-defined-network': '' }),
);
const networks = tenants.map((tenant) => layer3(`${tenant}/net`, '10.20.0.0/16/24'));
const pods = tenants.flatMap((tenant) => [
  webPod(`${tenant}/one`, 'n1'),
  webPod(`${tenant}/two`, 'n2'),
]);

const nadOf = ({ metadata }: KubeObject): KubeObject => ({
  apiVersion: 'k8s.cni.cncf.io/v1',
  kind: 'NetworkAttachmentDefinition',
  metadata,
});

const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'blue', name: 'web' },
  spec: {
    clusterIP: SERVICE_IP,
    clusterIPs: [SERVICE_IP],
    ports: [{ port: 80, targetPort: PORT }],
  },
};
const slice = (addresses: readonly string[]): KubeObject & { addressType: string } => {
  const labels = {
    'kubernetes.io/service-name': 'web',
    'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
  };
  const endpoints = addresses.map((address) => ({
    addresses: [address],
    conditions: { ready: true },
    nodeName: 'n2',
    targetRef: { kind: 'Pod', namespace: 'blue', name: 'two' },
  }));
  const of = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { namespace: 'blue', name: 'web-1', labels },
    addressType: 'IPv4',
  };
  return Object.assign(of, { ports: [{ port: PORT, protocol: 'TCP' }], endpoints });
};
const denyAll = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { namespace: 'blue', name: 'deny' },
  spec: { podSelector: { matchLabels: { name: 'two' } }, policyTypes: ['Ingress'] },
};

describe.skipIf(typeof started === 'string')(
  `pods of an API server${typeof started === 'string' ? ` (${started})` : ''}`,
  { timeout: 240_000 },
  () => {
    const api = started as KubeApi;
    let store: KubernetesStore;
    let lab: TestLab;
    let way: LabApi;
    let manager: RunningCommand;
    const runtimes = {} as Record<(typeof nodes)[number], NodeRuntime>;

    const pathOf = ({ apiVersion, kind, metadata }: KubeObject): string => {
      const resource = resourceKindOf(apiVersion, kind);
      if (resource === undefined) throw new Error(`unknown kind ${kind}`);
      return collectionPath(resource, metadata.namespace);
    };
    const apply = async (...objects: readonly KubeObject[]): Promise<void> => {
      for (const object of objects) {
        const { status, body } = await api.call('POST', pathOf(object), object);
        if (status !== 201) throw new Error(`${object.kind} refused: ${JSON.stringify(body)}`);
      }
    };
    const remove = async (...objects: readonly KubeObject[]): Promise<void> => {
      for (const object of objects)
        await api.call('DELETE', `${pathOf(object)}/${object.metadata.name}`);
    };
    const get = async (object: KubeObject): Promise<FoundPod> =>
      (await api.call('GET', `${pathOf(object)}/${object.metadata.name}`)).body as FoundPod;

    const runtimeOf = (pod: KubeObject): NodeRuntime =>
      runtimes[(pod.spec as { nodeName: (typeof nodes)[number] }).nodeName];
    const podOf = (key: string): KubeObject => {
      const found = pods.find(({ metadata }) => `${metadata.namespace}/${metadata.name}` === key);
      if (found === undefined) throw new Error(`no pod ${key}`);
      return found;
    };
    const inPod = (key: string, ...argv: string[]): Promise<{ code: number; stdout: string }> =>
      runtimeOf(podOf(key)).exec(key, ...argv);

    /** Who answers a pod on an address. */
    const answer = async (key: string, address: string, port = PORT): Promise<string> => {
      const ask = `/bin/nc -w 2 ${address} ${port} < /dev/null`;
      return (await inPod(key, '/bin/sh', '-c', ask)).stdout.split(' ')[0] ?? '';
    };
    const addressOf = async (key: string): Promise<string> => {
      const { stdout } = await inPod(key, '/usr/bin/ip', '-o', '-4', 'address', 'show', 'ovn-udn1');
      return /inet ([\d.]+)\//.exec(stdout)?.[1] ?? `no address: ${stdout}`;
    };
    const isReady = async (pod: KubeObject): Promise<string> => {
      const { status } = await get(pod);
      const ready = status?.conditions?.find(({ type }) => type === 'Ready');
      const key = `${pod.metadata.namespace}/${pod.metadata.name}`;
      return ready?.status ?? runtimeOf(pod).problems.get(key) ?? 'not reported';
    };

    beforeAll(async () => {
      await api.install(definitions);
      await installRules(api);
      store = new KubernetesStore({ connection: api.connection });
      lab = await testLab('e2e-kubernetes', { nodes: nodes.length });
      way = await labApi(lab.record, api);
      manager = command(
        'cluster',
        `--kubeconfig=${way.kubeconfigFor(`${MANAGER_ACCOUNT}@n1`, api.url)}`,
        '--metrics-bind-address=127.0.0.1:0',
        '--conversion-bind-address=127.0.0.1:0',
        ...SETTINGS,
      );
      await apply(...nodes.map((name) => node(name)));
      for (const name of nodes) {
        await startContainerd(lab.record, name);
        await installPlugin(lab.record, name);
        const account = way.kubeconfigFor(`${NODE_ACCOUNT}@${name}`);
        await startDaemon(lab.record, name, SETTINGS, [`--kubeconfig=${account}`]);
        runtimes[name] = new NodeRuntime(lab.record, name, api, store);
      }
    }, 240_000);
    afterAll(async () => {
      for (const runtime of Object.values(runtimes)) await runtime[Symbol.asyncDispose]();
      await manager[Symbol.asyncDispose]();
      await way[Symbol.asyncDispose]();
      await lab[Symbol.asyncDispose]();
      await store.close();
      await api[Symbol.asyncDispose]();
    });

    test('pods that are applied with their networks run, and are ready', async () => {
      await apply(...namespaces, ...networks, ...pods);
      for (const pod of pods) await expect.poll(() => isReady(pod), SOON).toBe('True');
      // A pod's status has its address on the default network, as kubelet reports it.
      const { status, metadata } = await get(podOf('blue/one'));
      expect(status?.podIP).toMatch(/^10\.244\./);
      expect(
        JSON.parse(metadata.annotations['k8s.v1.cni.cncf.io/network-status'] ?? '[]'),
      ).toHaveLength(2);
    });

    test('each tenant reaches its own pod under an address that both have', async () => {
      const address = await addressOf('blue/two');
      expect(await addressOf('red/two')).toBe(address);
      await expect.poll(() => answer('blue/one', address), SOON).toBe('blue/two');
      await expect.poll(() => answer('red/one', address), SOON).toBe('red/two');
    });

    test('a service answers in its own network, and in no other', async () => {
      // The API server's own controllers know the addresses on the default network alone: the cluster manager mirrors them.
      const { status } = await get(podOf('blue/two'));
      await apply(service, slice([status?.podIP ?? '']));
      await expect.poll(() => answer('blue/one', SERVICE_IP, 80), SOON).toBe('blue/two');
      expect(await answer('red/one', SERVICE_IP, 80)).toBe('');
    });

    test('a network policy closes a pod, and its removal opens it', async () => {
      const address = await addressOf('blue/two');
      await apply(denyAll);
      await expect.poll(() => answer('blue/one', address), SOON).toBe('');
      expect(await answer('red/one', address)).toBe('red/two');
      await remove(denyAll);
      await expect.poll(() => answer('blue/one', address), SOON).toBe('blue/two');
    });

    test('a daemon that is killed and started again takes nothing from a pod, and starts others', async () => {
      const address = await addressOf('blue/two');
      await stopDaemon(lab.record, 'n1', 'kill');
      expect(await answer('blue/one', address)).toBe('blue/two');
      const late = webPod('blue/late', 'n1');
      pods.push(late);
      await apply(late);
      const account = way.kubeconfigFor(`${NODE_ACCOUNT}@n1`);
      await startDaemon(lab.record, 'n1', SETTINGS, [`--kubeconfig=${account}`]);
      await expect.poll(() => isReady(late), SOON).toBe('True');
      await expect.poll(() => answer('blue/late', address), SOON).toBe('blue/two');
      expect(await answer('blue/one', address)).toBe('blue/two');
    });

    test('what is deleted goes: pods, networks, and what they had on the nodes', async () => {
      await remove(service, slice([]), ...pods);
      for (const pod of pods) await expect.poll(async () => (await get(pod)).code, SOON).toBe(404);
      await remove(...networks);
      for (const object of [...networks, ...networks.map(nadOf)])
        await expect.poll(async () => (await get(object)).code, SOON).toBe(404);
      await remove(...namespaces);
      for (const name of nodes) {
        const look = ['on', name, 'ovn-nbctl', '--bare', '--columns=name', 'list'];
        const rows = async (table: string): Promise<string> =>
          outputInside(lab.record, [...look, table]);
        await expect.poll(() => rows('Logical_Switch'), SOON).not.toMatch(/blue|red/);
        await expect.poll(() => rows('Logical_Switch_Port'), SOON).not.toMatch(/blue|red/);
        const links = ['on', name, 'ip', '-oneline', 'link', 'show', 'type', 'veth'];
        await expect.poll(() => outputInside(lab.record, links), SOON).not.toMatch(/heddle-cni/);
      }
    });
  },
);
