/** `heddle lab up --kubernetes`: from `kubectl apply` to packets, with a real API server, the roles and policies of deploy/ in force, and pods that are containers. */
import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stateFolder } from '../../src/lab/paths.ts';
import { command } from '../../src/lab/processes.ts';
import { outputInside } from '../../src/lab/exec.ts';
import { startDaemons } from '../../src/lab/daemons.ts';
import { kubeconfigFile } from '../../src/lab/kubernetes/files.ts';
import { labStatus, statusText } from '../../src/lab/status.ts';
import { layer3, namespace } from '../support/cluster/cluster.ts';
import { heddle } from '../support/run/heddle.ts';
import {
  IMAGE,
  KubernetesLab,
  type FoundPod,
  manifests,
  PORT,
  webPod,
  whyNoKubernetes,
} from '../support/lab/kubernetes-lab.ts';

const NAME = 'e2e-kubernetes';
const nodes = ['n1', 'n2'] as const;
const SOON = { timeout: 60_000, interval: 300 };

const why = await whyNoKubernetes();

const PRIMARY = 'k8s.ovn.org/primary-user-defined-network';
/** The same network, the same pods, for two tenants. */
const tenants = ['blue', 'red'] as const;
const namespaces = tenants.map((tenant) => namespace(tenant, { [PRIMARY]: '' }));
const networks = tenants.map((tenant) => layer3(`${tenant}/net`, '10.20.0.0/16/24'));

const keys = tenants.flatMap((tenant) => [`${tenant}/one`, `${tenant}/two`]);
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'blue', name: 'web' },
  spec: { selector: { name: 'two' }, ports: [{ port: 80, targetPort: PORT }] },
};
const denyAll = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { namespace: 'blue', name: 'deny' },
  spec: { podSelector: { matchLabels: { name: 'two' } }, policyTypes: ['Ingress'] },
};

describe('what it is not for is refused before anything is started', () => {
  test.each([
    { flags: ['--kind=vm'], said: 'labs of the kind host' },
    { flags: ['--families=dual'], said: 'IPv4 cluster IPs alone; leave --families out' },
  ])('$flags', async ({ flags, said }) => {
    const { code, stderr } = await heddle('lab', 'up', '--kubernetes', `--name=${NAME}`, ...flags);
    expect(stderr).toContain(said);
    expect(code).toBe(1);
    expect(existsSync(stateFolder(NAME))).toBe(false);
  });
});

describe.skipIf(why !== undefined)(
  `a lab with Kubernetes${why === undefined ? '' : ` (${why})`}`,
  { timeout: 240_000 },
  () => {
    let lab: KubernetesLab;

    beforeAll(async () => {
      lab = await KubernetesLab.up(NAME, nodes.length);
    }, 240_000);
    afterAll(async () => {
      await lab[Symbol.asyncDispose]();
    });

    test('pods that kubectl applies with their networks run, spread over the nodes, and are ready', async () => {
      await lab.apply(...namespaces, ...networks, ...keys.map((key) => webPod(key)));
      await lab.ready(...keys);
      const found = await Promise.all(keys.map((key) => lab.pod(key)));
      for (const node of nodes)
        expect(found.filter(({ spec }) => spec.nodeName === node)).toHaveLength(2);
      // A pod's status has its address on the default network, as kubelet reports it.
      const [one] = found;
      expect(one?.status.podIP).toMatch(/^10\.128\./);
      const said = one?.metadata.annotations?.['k8s.v1.cni.cncf.io/network-status'] ?? '[]';
      expect(JSON.parse(said)).toHaveLength(2);
    });

    test('each tenant reaches its own pod under an address that both have', async () => {
      const address = await lab.address('blue/two');
      expect(await lab.address('red/two')).toBe(address);
      await expect.poll(() => lab.answer('blue/one', address), SOON).toBe('blue/two');
      await expect.poll(() => lab.answer('red/one', address), SOON).toBe('red/two');
    });

    test('a service gets an address and endpoints, and answers in its own network and in no other', async () => {
      await lab.apply(service);
      const ip = await lab.done([
        'get',
        '-n',
        'blue',
        'service/web',
        '-o',
        'jsonpath={.spec.clusterIP}',
      ]);
      expect(ip).toMatch(/^10\.96\./);
      await expect.poll(() => lab.answer('blue/one', ip, 80), SOON).toBe('blue/two');
      expect(await lab.answer('red/one', ip, 80)).toBe('');
    });

    test('a network policy closes a pod, and its removal opens it', async () => {
      const address = await lab.address('blue/two');
      await lab.apply(denyAll);
      await expect.poll(() => lab.answer('blue/one', address), SOON).toBe('');
      expect(await lab.answer('red/one', address)).toBe('red/two');
      await lab.done(['delete', '-n', 'blue', 'networkpolicy', 'deny']);
      await expect.poll(() => lab.answer('blue/one', address), SOON).toBe('blue/two');
    });

    test('what is wrong is refused by the rules of deploy/, or said in the pod', async () => {
      const wrong = layer3('blue/wrong', '10.20.0.0/16/8');
      expect((await lab.kubectl(['apply', '-f', '-'], manifests(wrong))).stderr).toContain(
        'HostSubnet must be smaller than CIDR subnet',
      );
      const mistyped = { ...service, spec: { ...service.spec, selectr: {} } };
      expect((await lab.kubectl(['apply', '-f', '-'], manifests(mistyped))).stderr).toContain(
        'spec.selectr',
      );
      const labels = ['label', 'namespace', 'blue', `${PRIMARY}-`];
      expect((await lab.kubectl(labels)).stderr).toContain(PRIMARY);
      const copied = { metadata: { annotations: { 'k8s.ovn.org/pod-networks': '{}' } } };
      const patch = [
        'patch',
        '-n',
        'blue',
        'pod/one',
        '--type=merge',
        '-p',
        JSON.stringify(copied),
      ];
      expect((await lab.kubectl(patch)).stderr).toContain('k8s.ovn.org/pod-networks');

      const other = { containers: [{ name: 'main', image: 'docker.io/library/nginx:1' }] };
      await lab.apply(webPod('red/image', other), webPod('red/host', { hostNetwork: true }));
      await lab.apply(webPod('red/nowhere', { nodeSelector: { disk: 'fast' } }));
      const statusOf = async (key: string): Promise<string> =>
        JSON.stringify((await lab.pod(key)).status);
      await expect.poll(() => statusOf('red/image'), SOON).toContain(`use ${IMAGE}`);
      await expect.poll(() => statusOf('red/host'), SOON).toContain('has no hostNetwork');
      await expect.poll(() => statusOf('red/nowhere'), SOON).toContain('spec.nodeSelector');
      await lab.done(['delete', 'pod', '-n', 'red', 'image', 'host', 'nowhere']);
    });

    test('probes are asked from the node, and a program that ended is said to have', async () => {
      const busybox = (name: string, command: readonly string[], probe: object): object => {
        const ports = [{ name: 'web', containerPort: PORT }];
        const main = { name: 'main', image: IMAGE, command, ports, readinessProbe: probe };
        return webPod(`default/${name}`, { containers: [main] });
      };
      const httpd = ['busybox', 'httpd', '-f', '-p', String(PORT), '-h', '/usr/share/openvswitch'];
      await lab.apply(
        busybox('tcp', httpd, { tcpSocket: { port: 'web' } }),
        busybox('http', httpd, { httpGet: { port: PORT, path: '/vswitch.ovsschema' } }),
        busybox('missing', httpd, { httpGet: { port: PORT, path: '/nothing' } }),
        busybox('ended', ['sh', '-c', 'exit 3'], { tcpSocket: { port: 'web' } }),
      );
      await lab.ready('default/tcp', 'default/http');
      const shown = (): Promise<string> => lab.done(['get', 'pods', '-n', 'default']);
      await expect.poll(shown, SOON).toMatch(/ended +0\/1 +Failed/);
      await expect.poll(shown, SOON).toMatch(/missing +0\/1 +Running/);
      await lab.done(['delete', 'pods', '-n', 'default', '--all']);
    });

    test('nobody gets in without what the kubeconfig has', async () => {
      const server = /server: (\S+)/.exec(readFileSync(kubeconfigFile(NAME), 'utf8'))?.[1] ?? '';
      const anybody = [
        '--kubeconfig=/dev/null',
        `--server=${server}`,
        '--insecure-skip-tls-verify',
      ];
      for (const token of ['any', 'system:serviceaccount:heddle:heddle-cluster']) {
        const { code, stderr } = await lab.kubectl([...anybody, `--token=${token}`, 'get', 'pods']);
        expect(stderr).toContain('Unauthorized');
        expect(code).toBe(1);
      }
    });

    test('commands for manifests say that this lab has an API server', async () => {
      await expect(startDaemons(lab.record)).rejects.toThrow(/has a Kubernetes API server/);
      const { code, stderr } = await heddle('lab', 'attach', `--name=${NAME}`);
      expect(stderr).toContain('lab kubectl');
      expect(code).toBe(1);
    });

    test('what is killed takes nothing from pods, and comes back with lab up --kubernetes', async () => {
      const address = await lab.address('blue/two');
      const before = await Promise.all(keys.map((key) => lab.pod(key)));
      const killed = [
        ...[
          'etcd',
          'kube-apiserver',
          'heddle-cluster',
          'controllers',
          'heddle-node',
          'containerd',
        ].map((name) => ['n1', name]),
        ['n2', 'node-runtime'],
        ['n2', 'api-relay'],
        ['-', 'api-on-this-machine'],
      ];
      for (const [node = '', name = ''] of killed)
        await outputInside(lab.record, ['lab-daemon', node, name, 'kill']);
      const dead = statusText(await labStatus(lab.record));
      expect(dead).toMatch(/n2 .*NOT RUNNING: api-relay, node-runtime/);
      expect(dead).toContain('Kubernetes API: NOT RUNNING: api-on-this-machine');
      const kubeconfig = readFileSync(kubeconfigFile(NAME), 'utf8');
      expect(await lab.answer('blue/one', address)).toBe('blue/two');

      expect(await lab.upAgain()).toEqual(lab.record);
      expect(lab.lines.join('\n')).toContain('etcd, kube-apiserver, api-relay');
      expect(statusText(await labStatus(lab.record))).not.toContain('NOT RUNNING');
      expect(readFileSync(kubeconfigFile(NAME), 'utf8')).toBe(kubeconfig);
      await lab.apply(
        webPod('blue/late', { nodeName: 'n1' }),
        webPod('blue/later', { nodeName: 'n2' }),
      );
      await lab.ready('blue/late', 'blue/later');
      for (const late of ['blue/late', 'blue/later'])
        await expect.poll(() => lab.answer(late, address), SOON).toBe('blue/two');
      // Addresses of services that were there are not handed out again.
      await lab.apply({ ...service, metadata: { namespace: 'blue', name: 'second' } });
      const ips = await lab.done([
        'get',
        '-n',
        'blue',
        'services',
        '-o',
        'jsonpath={.items[*].spec.clusterIP}',
      ]);
      expect(new Set(ips.split(' ')).size).toBe(2);

      const containers = (all: readonly FoundPod[]): unknown =>
        all.map(({ status }) => status.containerStatuses?.[0]?.containerID);
      expect(containers(await Promise.all(keys.map((key) => lab.pod(key))))).toEqual(
        containers(before),
      );
    });

    test('a second lab up --kubernetes finds nothing to do', async () => {
      await lab.upAgain();
      expect(lab.lines).toEqual([
        'definitions, roles and admission policies of deploy/ are installed',
      ]);
    });

    test('what is deleted goes: pods, networks, and what they had on the nodes', async () => {
      const gone = async (...args: readonly string[]): Promise<void> => {
        await lab.done(['delete', '--timeout=60s', ...args]);
      };
      for (const tenant of tenants) {
        await gone('-n', tenant, 'services', '--all');
        await gone('-n', tenant, 'pods', '--all');
        await gone('-n', tenant, 'userdefinednetworks', '--all');
        const nads = ['get', '-n', tenant, 'network-attachment-definitions', '-o', 'name'];
        await expect.poll(() => lab.done(nads), SOON).toBe('');
        await gone('namespace', tenant);
      }
      for (const name of nodes) {
        const look = ['on', name, 'ovn-nbctl', '--bare', '--columns=name', 'list'];
        const rows = async (table: string): Promise<string> =>
          outputInside(lab.record, [...look, table]);
        await expect.poll(() => rows('Logical_Switch'), SOON).not.toMatch(/blue|red/);
        await expect.poll(() => rows('Logical_Switch_Port'), SOON).not.toMatch(/blue|red/);
        const links = ['on', name, 'ip', '-oneline', 'link', 'show', 'type', 'veth'];
        await expect.poll(() => outputInside(lab.record, links), SOON).not.toMatch(/heddle-cni/);
      }
      await expect.poll(async () => (await labStatus(lab.record)).pods, SOON).toEqual([]);
    });

    test('lab down leaves nothing, on this machine neither', async () => {
      const folder = stateFolder(NAME);
      const processes = async (): Promise<string> =>
        (await command('pgrep', ['--list-full', '--full', `${folder}/|--name=${NAME}`])).stdout;
      expect(await processes()).toContain('TCP-LISTEN');
      expect(await lab.down()).toBe(true);
      expect(await processes()).toBe('');
      expect(existsSync(folder)).toBe(false);
    });
  },
);
