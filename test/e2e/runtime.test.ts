/** Pods of a real container runtime: containerd calls the installed plugin, and ovn-controller binds the ports. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { stopContainerd, stopDaemon } from '../support/lab/lab-daemons.ts';
import { outputInside, runInside } from '../../src/lab/exec.ts';
import { addManifests } from '../../src/lab/objects.ts';
import { cniSocket, openRuntime, startContainerd } from '../../src/lab/runtime/containerd.ts';
import type { ContainerRuntime } from '../../src/lab/runtime/cri.ts';
import type { LabRecord } from '../../src/lab/state-file.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { ownFolder } from '../support/run/left-behind.ts';
import { startCniDaemon, startPodNode } from '../support/lab/pod-nodes.ts';
import { callPlugin, endPod, runPod, runSandbox, uidOf } from '../support/host/sandboxes.ts';
import { until } from '../support/run/until.ts';

const nodes = ['n1', 'n2'] as const;
type NodeName = (typeof nodes)[number];
const SOON = 30_000;

const labelled = { 'k8s.ovn.org/primary-user-defined-network': '' };
const EXTRA = {
  name: 'extra',
  type: 'ovn-k8s-cni-overlay',
  topology: 'layer2',
  subnets: '10.30.0.0/24',
  netAttachDefName: 'blue/extra',
};

const podObject = (key: string, node: NodeName, annotations = {}): object => {
  const [namespace, name] = key.split('/');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, uid: uidOf(key), annotations },
    spec: { nodeName: node, containers: [{ name: 'main', image: 'box' }] },
  };
};

const asksForExtra = { 'k8s.v1.cni.cncf.io/networks': 'extra' };

const objects = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'blue', labels: labelled } },
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'plain' } },
  {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'UserDefinedNetwork',
    metadata: { name: 'net', namespace: 'blue' },
    spec: {
      topology: 'Layer3',
      layer3: { role: 'Primary', subnets: [{ cidr: '10.20.0.0/16', hostSubnet: 24 }] },
    },
  },
  {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { name: 'extra', namespace: 'blue' },
    spec: { config: JSON.stringify({ cniVersion: '1.0.0', ...EXTRA }) },
  },
  podObject('blue/one', 'n1', asksForExtra),
  podObject('blue/two', 'n2', asksForExtra),
  podObject('blue/short', 'n1'),
  podObject('blue/late', 'n1'),
  podObject('blue/stray', 'n1'),
  podObject('plain/one', 'n1'),
  podObject('plain/two', 'n2'),
];

describe.skipIf(whyNoLab !== undefined)(
  `pods of containerd${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    const folder = ownFolder('heddle-runtime');
    const runtimes = {} as Record<NodeName, ContainerRuntime>;
    let lab: TestLab;
    let record: LabRecord;

    const onNode = (node: NodeName, ...argv: string[]): Promise<string> =>
      outputInside(record, ['on', node, ...argv]);

    interface Port {
      readonly name: string;
      readonly device: string;
      readonly installed: boolean;
    }

    /** Ports that a sandbox has. */
    async function portsOf(node: NodeName, sandbox: string): Promise<readonly Port[]> {
      const find = [
        'ovs-vsctl',
        '--format=json',
        '--columns=name,external_ids',
        'find',
        'Interface',
      ];
      const text = await onNode(node, ...find, `external_ids:sandbox="${sandbox}"`);
      const { data } = JSON.parse(text) as { data: [string, [string, [string, string][]]][] };
      return data
        .map(([name, [, pairs]]) => {
          const ids = Object.fromEntries(pairs);
          const installed = ids['ovn-installed'] === 'true';
          return { name, device: ids['pod-if-name'] ?? '', installed };
        })
        .toSorted((a, b) => (a.device < b.device ? -1 : 1));
    }

    /** Links of pods on a node's host. */
    const links = async (node: NodeName): Promise<string[]> =>
      (JSON.parse(await onNode(node, 'ip', '-json', 'link', 'show', 'type', 'veth')) as object[])
        .map((link) => link as { ifname: string; ifalias?: string })
        .filter(({ ifalias }) => ifalias?.startsWith('heddle-cni') === true)
        .map(({ ifname }) => ifname);

    const addressOf = async (exec: Executor, device: string): Promise<string> => {
      const { stdout } = await exec('ip', '-o', '-4', 'address', 'show', 'dev', device);
      return /inet ([\d.]+)\//.exec(stdout)?.[1] ?? `no address: ${stdout}`;
    };
    type Executor = (...command: string[]) => Promise<{ code: number; stdout: string }>;

    const reaches = async (exec: Executor, address: string): Promise<boolean> =>
      (await exec('ping', '-c', '5', '-i', '0.3', '-W', '2', address)).code === 0;

    beforeAll(async () => {
      writeFileSync(join(folder, 'pods.yaml'), objects.map((o) => stringify(o)).join('---\n'));
      lab = await testLab('e2e-runtime', { nodes: nodes.length });
      record = lab.record;
      addManifests(record.name, folder);
      for (const node of nodes) {
        await startPodNode(record, node);
        runtimes[node] = openRuntime(record, node);
      }
    });
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      for (const runtime of Object.values(runtimes)) runtime[Symbol.dispose]();
      await lab[Symbol.asyncDispose]();
    });

    test('a pod has its default and its primary network, in the data plane when the runtime says that it runs', async () => {
      const one = await runPod(runtimes.n1, 'blue/one');
      const ports = await portsOf('n1', one.sandbox);
      expect(ports.map(({ device, installed }) => [device, installed])).toEqual([
        ['eth0', true],
        ['ovn-udn1', true],
      ]);
      expect(one.addresses).toEqual([await addressOf(one.exec, 'eth0')]);
      const route = await one.exec('ip', 'route', 'show', 'default');
      expect(route.stdout).toContain('dev ovn-udn1');
      expect((await one.exec('hostname')).stdout).toBe('one\n');
      // OVN lets router advertisements pass whatever ACLs say, so interfaces take none, also where the network has no IPv6.
      const settings = ['eth0', 'ovn-udn1'].map(
        (dev) => `/proc/sys/net/ipv6/conf/${dev}/accept_ra`,
      );
      expect((await one.exec('cat', ...settings)).stdout).toBe('0\n0\n');
    });

    test('pods of one network reach each other on two nodes, by ping and by TCP', async () => {
      const one = await runPod(runtimes.n1, 'blue/late');
      const server = 'while :; do echo heard | /usr/bin/nc.openbsd -l -N 8080; done';
      const two = await runPod(runtimes.n2, 'blue/two', ['/bin/sh', '-c', server]);
      const address = await addressOf(two.exec, 'ovn-udn1');
      expect(await reaches(one.exec, address)).toBe(true);
      await until(
        'a TCP connection',
        async () =>
          (await one.exec('/usr/bin/nc.openbsd', '-w', '3', address, '8080')).stdout === 'heard\n',
        SOON,
      );
      // Their addresses on the default network are for kubelet alone.
      expect(await reaches(one.exec, await addressOf(two.exec, 'eth0'))).toBe(false);
      await endPod(runtimes.n1, 'blue/late');
    });

    test('pods of a namespace without a network of its own are on the default network', async () => {
      const one = await runPod(runtimes.n1, 'plain/one');
      const two = await runPod(runtimes.n2, 'plain/two');
      expect((await portsOf('n1', one.sandbox)).map(({ device }) => device)).toEqual(['eth0']);
      expect(await reaches(one.exec, await addressOf(two.exec, 'eth0'))).toBe(true);
    });

    test('a meta-plugin gives running pods a secondary network, and takes it away alone', async () => {
      const pods = [];
      for (const node of nodes) {
        const pod = node === 'n1' ? 'blue/one' : 'blue/two';
        const found = (await runtimes[node].list()).find(
          ({ metadata }) => `${metadata.namespace}/${metadata.name}` === pod,
        );
        const sandbox = found?.id ?? '';
        const { pid } = await runtimes[node].status(sandbox);
        const netns = `/proc/${pid}/ns/net`;
        const call = { container: sandbox, netns, device: 'net1', pod, config: EXTRA };
        expect(await callPlugin(record, node, { command: 'ADD', ...call })).toMatchObject({
          code: 0,
        });
        const exec: Executor = (...argv) =>
          runInside(record, ['on', node, 'nsenter', `--net=${netns}`, ...argv]);
        pods.push({ node, sandbox, call, exec });
      }
      const [one, two] = pods;
      if (one === undefined || two === undefined) throw new Error('two pods are needed');
      expect(await reaches(one.exec, await addressOf(two.exec, 'net1'))).toBe(true);
      for (const { node, sandbox, call } of pods) {
        for (const _ of ['once', 'twice'])
          expect(await callPlugin(record, node, { command: 'DEL', ...call })).toEqual({
            code: 0,
            body: undefined,
          });
        expect((await portsOf(node, sandbox)).map(({ device }) => device)).toEqual([
          'eth0',
          'ovn-udn1',
        ]);
      }
    });

    test('what the runtime ends has no port, link or namespace any more, however often it is ended', async () => {
      const before = await links('n1');
      const namespaces = (): Promise<string> => onNode('n1', 'ls', '/run/netns');
      const spaces = await namespaces();
      const { sandbox } = await runSandbox(runtimes.n1, 'blue/short');
      expect(await portsOf('n1', sandbox)).toHaveLength(2);
      expect(await links('n1')).toHaveLength(before.length + 2);
      for (const _ of ['once', 'twice']) await runtimes.n1.stop(sandbox);
      expect(await portsOf('n1', sandbox)).toEqual([]);
      for (const _ of ['once', 'twice']) await runtimes.n1.remove(sandbox);
      const config = { type: 'heddle-cni' };
      expect(
        await callPlugin(record, 'n1', { command: 'DEL', container: sandbox, config }),
      ).toEqual({ code: 0, body: undefined });
      expect(await links('n1')).toEqual(before);
      expect(await namespaces()).toBe(spaces);
    });

    test('a daemon that is killed during ADD costs the pod a second try, and leaves nothing', async () => {
      const before = await links('n1');
      // Without it the ADD waits, with its links and ports made.
      await outputInside(record, ['service', 'n1', 'stop', 'controller']);
      const first = runtimes.n1.run({
        metadata: { namespace: 'blue', name: 'late', uid: uidOf('blue/late'), attempt: 7 },
        hostname: 'late',
      });
      first.catch(() => undefined); // looked at below
      await until('links', async () => (await links('n1')).length === before.length + 2, SOON);
      await stopDaemon(record, 'n1', 'kill');
      await expect(first).rejects.toThrow(/heddle-cni: heddle node on \S+cni.sock: /);
      expect(await links('n1')).toHaveLength(before.length + 2);
      rmSync(cniSocket(record, 'n1'));
      await outputInside(record, ['service', 'n1', 'start', 'controller']);
      await startCniDaemon(record, 'n1');
      await endPod(runtimes.n1, 'blue/late');
      expect(await links('n1')).toEqual(before);
      const { sandbox } = await runSandbox(runtimes.n1, 'blue/late');
      expect((await portsOf('n1', sandbox)).map(({ installed }) => installed)).toEqual([
        true,
        true,
      ]);
      await endPod(runtimes.n1, 'blue/late');
      expect(await links('n1')).toEqual(before);
    });

    test('GC removes what the runtime does not know, and nothing else', async () => {
      const before = await links('n1');
      await onNode('n1', 'ip', 'netns', 'add', 'stray');
      const stray = 'a-container-of-nobody';
      const added = await callPlugin(record, 'n1', {
        command: 'ADD',
        container: stray,
        netns: '/run/netns/stray',
        pod: 'blue/stray',
        config: { type: 'heddle-cni' },
      });
      expect(added).toMatchObject({ code: 0 });
      expect(await portsOf('n1', stray)).toHaveLength(2);
      const known = (await runtimes.n1.list()).map(({ id }) => ({ containerID: id }));
      const collect = (more: readonly object[]): Promise<unknown> =>
        callPlugin(record, 'n1', {
          command: 'GC',
          config: { cniVersion: '1.1.0', 'cni.dev/valid-attachments': [...known, ...more] },
        });
      expect(await collect([{ containerID: stray }])).toEqual({ code: 0, body: undefined });
      expect(await portsOf('n1', stray)).toHaveLength(2);
      expect(await collect([])).toEqual({ code: 0, body: undefined });
      expect(await portsOf('n1', stray)).toEqual([]);
      expect(await links('n1')).toEqual(before);
      await onNode('n1', 'ip', 'netns', 'delete', 'stray');
    });

    test('pods get their ports back when somebody deletes br-int, which ovn-controller makes anew', async () => {
      const { exec, sandbox } = await runPod(runtimes.n1, 'blue/short');
      const before = await portsOf('n1', sandbox);
      const gateway = /via ([\d.]+)/.exec((await exec('ip', 'route', 'show', 'default')).stdout);
      await onNode('n1', 'ovs-vsctl', '--no-wait', 'del-br', 'br-int');
      await until(
        'its ports, in the data plane',
        async () => JSON.stringify(await portsOf('n1', sandbox)) === JSON.stringify(before),
        SOON,
      );
      expect(await reaches(exec, gateway?.[1] ?? '')).toBe(true);
      await endPod(runtimes.n1, 'blue/short');
    });

    test('pods outlive containerd, and the next one ends them', async () => {
      const before = await links('n1');
      const { exec, sandbox } = await runPod(runtimes.n1, 'blue/short');
      const { pid } = await runtimes.n1.status(sandbox);
      const gateway = /via ([\d.]+)/.exec((await exec('ip', 'route', 'show', 'default')).stdout);
      await stopContainerd(record, 'n1', 'kill');
      const inside: Executor = (...argv) =>
        runInside(record, ['on', 'n1', 'nsenter', `--net=/proc/${pid}/ns/net`, ...argv]);
      expect(await reaches(inside, gateway?.[1] ?? '')).toBe(true);
      await startContainerd(record, 'n1');
      await endPod(runtimes.n1, 'blue/short');
      expect(await links('n1')).toEqual(before);
    });
  },
);
