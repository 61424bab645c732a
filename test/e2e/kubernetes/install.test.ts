/** Heddle installed on a real Kubernetes as docs/install.md says, on nodes that have what it asks for and nothing else. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nodeNames } from '../../../src/lab/paths.ts';
import { hasVrfs } from '../../../src/lab/status.ts';
import { nodePrerequisites } from '../../support/lab/node-prerequisites.ts';
import { leftOf, RealKubernetes, whyNoRealKubernetes } from '../../support/lab/real-kubernetes.ts';

const NAME = 'e2e-kubernetes';
const NODES = 2;
const IMAGE = 'registry.k8s.io/e2e-test-images/agnhost:2.63.0';
const PORT = 8080;
const LIMIT = 300_000;

/** Of upstream's: nine that together take a minute. Those that ask the API server to reach pods are left out: it has no route to them here. */
const SPECS = [
  'Services should serve a basic endpoint from pods',
  'Services should serve multiport endpoints from pods',
  'Services should be able to create a functioning NodePort service',
  'Services should be able to change the type from ExternalName to ClusterIP',
  'Services should find a service from listing all namespaces',
  'Services should complete a service status lifecycle',
  'Services should delete a collection of services',
  'DNS should support configurable pod DNS nameservers',
  'EndpointSlice should create Endpoints and EndpointSlices for Pods matching a Service',
];
const escaped = (text: string): string => text.replaceAll(/[^\w ]/g, '.');

/** Namespaces, each with its pods on another kind of network. */
const TENANTS: Readonly<Record<string, object | undefined>> = {
  plain: undefined,
  layer3: {
    topology: 'Layer3',
    layer3: { role: 'Primary', subnets: [{ cidr: '10.60.0.0/16', hostSubnet: 24 }] },
  },
  layer2: { topology: 'Layer2', layer2: { role: 'Primary', subnets: ['10.61.0.0/16'] } },
};

/** A pod per node that answers with its name, and a service of them. */
const workload = (namespace: string): readonly object[] => [
  {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { namespace, name: 'web' },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: {
          terminationGracePeriodSeconds: 1,
          containers: [
            {
              name: 'web',
              image: IMAGE,
              args: ['netexec', `--http-port=${PORT}`, `--udp-port=${PORT}`],
              // By exec: the kubelets of this place are in no kubelet.service, by which a primary network's isolation knows them.
              readinessProbe: {
                exec: { command: ['/agnhost', 'connect', `127.0.0.1:${PORT}`, '--timeout=5s'] },
                periodSeconds: 2,
                timeoutSeconds: 10,
              },
            },
          ],
        },
      },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name: 'web' },
    spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: PORT }] },
  },
];

interface FoundPod {
  readonly metadata: {
    readonly name: string;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly nodeName: string };
}

describe.skipIf(whyNoRealKubernetes !== undefined)(
  `Heddle on a real Kubernetes${whyNoRealKubernetes === undefined ? '' : ` (${whyNoRealKubernetes})`}`,
  { timeout: LIMIT, retry: 0 },
  () => {
    let cluster: RealKubernetes;
    let isDown = false;
    const nodes = nodeNames(NODES);

    beforeAll(async () => {
      cluster = await RealKubernetes.start(NAME, NODES);
    });
    afterAll(async () => {
      if (!isDown) await cluster[Symbol.asyncDispose]();
    });

    /** Pods of a tenant with the address that others of its network know them by. */
    const podsOf = async (namespace: string): Promise<ReadonlyMap<string, [string, string]>> => {
      const list = JSON.parse(
        await cluster.kubectl('-n', namespace, 'get', 'pods', '-o', 'json'),
      ) as { readonly items: readonly FoundPod[] };
      return new Map(
        list.items.map(({ metadata, spec }) => {
          const networks = JSON.parse(
            metadata.annotations['k8s.ovn.org/pod-networks'] ?? '{}',
          ) as Readonly<Record<string, { readonly role: string; readonly ip_address: string }>>;
          const primary = Object.values(networks).find(({ role }) => role === 'primary');
          return [spec.nodeName, [metadata.name, primary?.ip_address.split('/')[0] ?? '']];
        }),
      );
    };
    /** Once, without another try. */
    const connects = async (namespace: string, pod: string, to: string): Promise<string> => {
      const words = ['exec', pod, '--', '/agnhost', 'connect', to, '--timeout=10s'];
      const { code, stdout, stderr } = await cluster.tryKubectl('-n', namespace, ...words);
      return code === 0 ? 'connected' : `${stdout}${stderr}`;
    };

    test('comes up by the documented steps on nodes that hold what is asked for', async () => {
      await cluster.keepSettings(nodePrerequisites);
      for (const node of nodes)
        expect(nodePrerequisites).toEqual(
          expect.arrayContaining([...(await cluster.settings(node))]),
        );
      await cluster.installHeddle(await hasVrfs(cluster.record));
      try {
        for (const what of ['daemonset/heddle-node', 'deployment/heddle-cluster'])
          await cluster.kubectl('-n', 'heddle', 'rollout', 'status', what, '--timeout=240s');
        await cluster.kubectl('wait', '--for=condition=Ready', 'node', '--all', '--timeout=120s');
      } catch (error) {
        throw new Error(await cluster.logs(), { cause: error });
      }
      const restarts = await cluster.kubectl(
        '-n',
        'heddle',
        'get',
        'pods',
        '-o',
        'jsonpath={.items[*].status.containerStatuses[*].restartCount}',
      );
      expect(new Set(restarts.split(' '))).toEqual(new Set(['0']));
    });

    test('every node says that it is ready, and reaches the others', async () => {
      await cluster.kubectl(
        'wait',
        '--for=jsonpath={.status.ready}=true',
        'zonestatus',
        '--all',
        '--timeout=60s',
      );
      const path = 'jsonpath={.items[*].status.unreached}';
      expect(await cluster.kubectl('get', 'zonestatus', '-o', path)).toBe('[] []');
    });

    test.each(Object.entries(TENANTS))('packets between nodes: %s', async (namespace, network) => {
      const labels =
        network === undefined ? {} : { 'k8s.ovn.org/primary-user-defined-network': '' };
      await cluster.apply(
        namespace,
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } },
        ...(network === undefined
          ? []
          : [
              {
                apiVersion: 'k8s.ovn.org/v1',
                kind: 'UserDefinedNetwork',
                metadata: { namespace, name: 'net' },
                spec: network,
              },
            ]),
        ...workload(namespace),
      );
      await cluster.kubectl(
        '-n',
        namespace,
        'rollout',
        'status',
        'daemonset/web',
        '--timeout=180s',
      );
      const pods = await podsOf(namespace);
      const [[first, firstIp], [second, secondIp]] = nodes.map(
        (node) => pods.get(node) ?? ['', ''],
      ) as [[string, string], [string, string]];
      const clusterIp = await cluster.kubectl(
        '-n',
        namespace,
        'get',
        'service',
        'web',
        '-o',
        'jsonpath={.spec.clusterIP}',
      );
      expect(await connects(namespace, first, `${secondIp}:${PORT}`)).toBe('connected');
      expect(await connects(namespace, second, `${firstIp}:${PORT}`)).toBe('connected');
      expect(await connects(namespace, first, `${clusterIp}:80`)).toBe('connected');
    });

    test('tenants do not reach each other', async () => {
      const [from, to] = [await podsOf('layer3'), await podsOf('layer2')];
      const [pod = ''] = from.get('n1') ?? [];
      for (const [, address] of to.values())
        expect(await connects('layer3', pod, `${address}:${PORT}`)).not.toBe('connected');
    });

    // Multus is not among the programs: interfaces of secondary networks are tested in test/e2e/secondary-networks.test.ts.
    test.skip('pods on secondary and localnet networks: there is no Multus here', () => undefined);

    test('upstream’s specs of services and names pass', async () => {
      await cluster.installDns();
      await cluster.kubectl(
        '-n',
        'kube-system',
        'rollout',
        'status',
        'deployment/dns',
        '--timeout=120s',
      );
      const said = await cluster.specs(
        'install',
        `\\[sig-network\\].*(${SPECS.map(escaped).join('|')})`,
        'Feature:|Disruptive|Serial',
      );
      expect(said).toMatch(/SUCCESS/);
      expect(Number(/Ran (\d+) of/.exec(said)?.[1])).toBe(SPECS.length);
    });

    test('its end leaves nothing', async () => {
      await cluster[Symbol.asyncDispose]();
      isDown = true;
      expect(leftOf(NAME)).toEqual([]);
    });
  },
);
