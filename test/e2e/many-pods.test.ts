/** Pods that come and go on one node, 20 at a time: HEDDLE_TEST_PODS says how many; 200 take some minutes, so by default there are few. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { outputInside } from '../../src/lab/exec.ts';
import { manifestsFolder } from '../../src/lab/node-facts.ts';
import { readObjects } from '../../src/lab/objects.ts';
import { openRuntime } from '../../src/lab/runtime/containerd.ts';
import type { ContainerRuntime } from '../../src/lab/runtime/cri.ts';
import { hasVrfs } from '../../src/lab/status.ts';
import { podNetworks } from '../../src/api/annotations/pod-annotations.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { inParallel, startPodNode } from '../support/lab/pod-nodes.ts';
import { endPod, runSandbox, uidOf } from '../support/host/sandboxes.ts';
import { until } from '../support/run/until.ts';

const COUNT = Number(process.env['HEDDLE_TEST_PODS'] ?? '16');
const AT_ONCE = 20;
/** Holds the pods of one round, and not those of two. */
const PREFIX = 32 - Math.ceil(Math.log2(COUNT + 4));
const LIMIT = 60_000 + COUNT * 1000;

const network = [
  {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'blue', labels: { 'k8s.ovn.org/primary-user-defined-network': '' } },
  },
  {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'UserDefinedNetwork',
    metadata: { name: 'net', namespace: 'blue' },
    spec: {
      topology: 'Layer3',
      layer3: { role: 'Primary', subnets: [{ cidr: '10.20.0.0/16', hostSubnet: PREFIX }] },
    },
  },
];

const keysOf = (round: string): string[] =>
  Array.from({ length: COUNT }, (_, index) => `blue/${round}-${index}`);

const podsOf = (round: string): object[] =>
  keysOf(round).map((key) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace: 'blue',
      name: key.split('/')[1],
      uid: uidOf(key),
      annotations: { 'kubernetes.io/ingress-bandwidth': '100M' },
    },
    spec: { nodeName: 'n1', containers: [{ name: 'main', image: 'box' }] },
  }));

describe.skipIf(whyNoLab !== undefined)(
  `${COUNT} pods, ${AT_ONCE} at a time${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  { timeout: 3 * LIMIT },
  () => {
    let lab: TestLab;
    let runtime: ContainerRuntime;

    const onNode = (...argv: string[]): Promise<string> =>
      outputInside(lab.record, ['on', 'n1', ...argv]);

    const write = (objects: readonly object[]): void => {
      const folder = join(manifestsFolder(lab.record.name), 'many');
      mkdirSync(folder, { recursive: true });
      const text = objects.map((object) => stringify(object)).join('---\n');
      writeFileSync(join(folder, 'pods.yaml'), text);
    };

    /** Everything on the node that pods leave when they leak: how many of each there are. */
    const found = async (): Promise<Record<string, number>> => {
      const count = async (...argv: string[]): Promise<number> =>
        (await onNode(...argv)).split('\n').filter((line) => line.trim() !== '').length;
      return {
        ports: await count('ovs-vsctl', 'list-ports', 'br-int'),
        limits: await count('ovs-vsctl', '--columns=_uuid', '--bare', 'list', 'QoS'),
        links: await count('ip', '-oneline', 'link', 'show', 'type', 'veth'),
        namespaces: await count('ls', '/run/netns'),
        sandboxes: (await runtime.list()).length,
        processes: await count('pgrep', '--full', 'containerd-shim|bin/containerd'),
        logicalPorts: await count(
          'ovn-nbctl',
          '--columns=_uuid',
          '--bare',
          'list',
          'Logical_Switch_Port',
        ),
        connections: await count('conntrack', '--dump'),
      };
    };

    /** Addresses of the pods on their network, once all have one. */
    async function addresses(round: string): Promise<readonly string[]> {
      const names = new Set(keysOf(round).map((key) => key.split('/')[1]));
      let all: readonly string[] = [];
      await until(
        `addresses of ${round}`,
        async () => {
          const { pods } = await readObjects(lab.record.name);
          all = pods
            .filter(({ metadata }) => names.has(metadata.name))
            .flatMap((pod) => podNetworks(pod).value?.get('blue/net')?.addresses ?? []);
          return all.length === COUNT;
        },
        { limit: LIMIT, pause: 300 },
      );
      return all;
    }

    beforeAll(async () => {
      lab = await testLab('e2e-many', { nodes: 1 });
      write(network);
      // Rows of the network are there before its pods, and after them.
      await startPodNode(lab.record, 'n1', ['--render=everywhere']);
      runtime = openRuntime(lab.record, 'n1');
    });
    afterAll(async () => {
      runtime[Symbol.dispose]();
      await lab[Symbol.asyncDispose]();
    });

    // A second try starts without the pods of the first one.
    beforeEach(async () => {
      await inParallel(keysOf('one'), AT_ONCE, (key) => endPod(runtime, key));
      write(network);
    });

    test('leave nothing behind, and their addresses go to the next ones', async () => {
      const expected = [
        'ovn-k8s-mp0',
        'patch-br-int-to-breth0_n1',
        'patch-br-int-to-breth0_blue_net_n1',
        // Without VRFs the host has no port on the network.
        ...((await hasVrfs(lab.record)) ? ['ovn-k8s-mp1'] : []),
      ];
      await until(
        'the ports of both networks on the node, and no others',
        async () => {
          const ports = (await onNode('ovs-vsctl', 'list-ports', 'br-int')).trim().split('\n');
          return ports.toSorted().join(' ') === expected.toSorted().join(' ');
        },
        { limit: LIMIT, pause: 300 },
      );
      const before = await found();
      write([...network, ...podsOf('one')]);
      const first = await addresses('one');
      expect(new Set(first).size).toBe(COUNT);
      await inParallel(keysOf('one'), AT_ONCE, (key) => runSandbox(runtime, key, LIMIT / 1000));
      expect(await found()).toMatchObject({
        ports: before['ports']! + 2 * COUNT,
        limits: 2 * COUNT,
        sandboxes: COUNT,
      });
      await inParallel(keysOf('one'), AT_ONCE, (key) => endPod(runtime, key));
      write(network);
      await until(
        'nothing to be left',
        async () => JSON.stringify(await found()) === JSON.stringify(before),
        { limit: LIMIT, pause: 300 },
      ).catch(async () => {
        expect(await found()).toEqual(before);
      });
      write([...network, ...podsOf('two')]);
      const second = await addresses('two');
      expect(second.filter((address) => first.includes(address)).length).toBeGreaterThan(0);
      expect(new Set(second).size).toBe(COUNT);
    });
  },
);
