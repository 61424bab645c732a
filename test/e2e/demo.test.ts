/** What `./dev up` does: the two tenants of the example as containers, told apart by packets. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { demo } from '../../src/lab/demo.ts';
import type { Gathered } from '../../src/bundle/gather.ts';
import { heddleCommand, outputInside, runInside } from '../../src/lab/exec.ts';
import { manifestsFolder, OUTSIDE } from '../../src/lab/node-facts.ts';
import { readObjects, settingsFile } from '../../src/lab/objects.ts';
import { attachContainers } from '../../src/lab/runtime/container-pods.ts';
import { openRuntime } from '../../src/lab/runtime/containerd.ts';
import { stateFolder } from '../../src/lab/paths.ts';
import { labStatus } from '../../src/lab/status.ts';
import { heddle } from '../support/run/heddle.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';

const NAME = 'e2e-demo';
const nodes = ['n1', 'n2', 'n3'];
const quiet = (): void => {};
const options = { name: NAME, kind: 'host', nodes: 3, families: 'v4', progress: quiet } as const;

describe.skipIf(whyNoLab !== undefined)(
  `./dev up${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  { timeout: 180_000 },
  () => {
    let lab: TestLab;

    /** Sandboxes of a node, by pod. */
    async function sandboxes(node: string): Promise<Readonly<Record<string, string>>> {
      using runtime = openRuntime(lab.record, node);
      const list = await runtime.list();
      return Object.fromEntries(
        list.map(({ id, metadata }) => [`${metadata.namespace}/${metadata.name}`, id]),
      );
    }
    const allSandboxes = (): Promise<Readonly<Record<string, string>>[]> =>
      Promise.all(nodes.map(sandboxes));

    async function attach(): Promise<readonly [number, number]> {
      const { pods, nads } = await readObjects(NAME);
      const { attached, detached } = await attachContainers(lab.record, pods, nads);
      return [attached.length, detached];
    }

    const inPod = (...argv: string[]): Promise<{ code: number; stdout: string }> =>
      runInside(lab.record, ['pod', ...argv]);

    beforeAll(async () => {
      lab = await testLab(NAME);
    });
    afterAll(async () => {
      await lab[Symbol.asyncDispose]();
    });

    test('every pod is a container of its node, and reaches those of its own network alone', async () => {
      const { text, unexpected } = await demo(options);
      expect(unexpected).toEqual([]);
      expect(text).toContain('blue_l3net  id 1, 10.20.0.0/16, 3 pods');
      expect((await allSandboxes()).map((each) => Object.keys(each).toSorted())).toEqual([
        ['blue/web-1', 'green/web-1'],
        ['blue/web-2', 'green/web-2'],
        ['blue/web-3', 'green/web-3'],
      ]);
    });

    test('`pod` is in the container: its name, its files, and its interfaces', async () => {
      expect((await inPod('blue/web-2', 'hostname')).stdout.trim()).toBe('web-2');
      expect((await inPod('blue/web-2', 'cat', '/etc/passwd')).stdout).toBe(
        'root:x:0:0:root:/:/bin/sh\n',
      );
      const { stdout } = await inPod('blue/web-2', 'ls', '/sys/class/net');
      expect(stdout.trim().split(/\s+/)).toEqual(expect.arrayContaining(['eth0', 'ovn-udn1']));
      expect((await inPod('blue/nobody', 'true')).code).toBe(2);
    });

    test('`heddle show node` names the card that the external bridge was made of', async () => {
      const socket = join(stateFolder(NAME), 'n1/heddle-node.sock');
      const { code, stdout } = await heddle(
        'show',
        'node',
        '--json',
        '--node=n1',
        `--socket=${socket}`,
      );
      expect([code, JSON.parse(stdout)]).toMatchObject([
        0,
        {
          source: 'daemon',
          gateway: {
            bridge: 'breth0',
            uplink: { name: 'eth0', isConnected: true, isMoved: true },
          },
        },
      ]);
    });

    test('`heddle explain` without a node asks that of the pod, and that to which it sends', async () => {
      const explained = async (to: string): Promise<readonly [number, string]> => {
        const words = ['explain', 'blue/web-1', to, '--config', settingsFile(NAME)];
        const { code, stdout } = await runInside(lab.record, heddleCommand(lab.record, words));
        return [code, stdout];
      };
      const [code, said] = await explained('blue/web-2:8080');
      expect(said).toContain('Pod blue/web-1 → blue/web-2:8080: reaches\n');
      expect(said).toMatch(/^There, on node n1: 10\.20\.[^]*^There, on node n2: 10\.20\./m);
      expect(code).toBe(0);
      const [outside, way] = await explained(`${OUTSIDE.v4}:8080`);
      expect(way).toContain(`leaves by eth0 of breth0 as 172.18.0.11 → ${OUTSIDE.v4} (conntrack`);
      expect(way).toContain('comes back to the network by patch-breth0_blue_l3net_n1-to-br-int');
      expect(outside).toBe(2);
      const apart = await explained('green/web-2:8080');
      expect(apart[1]).toContain('Pod blue/web-1 → green/web-2:8080: does not reach\n');
      expect(apart[0]).toBe(1);
    });

    test('`heddle bundle` has all that a node says, and its objects give the rows of the node elsewhere', async () => {
      const folder = join(stateFolder(NAME), 'bundle');
      mkdirSync(folder);
      const file = join(folder, 'one.tar.gz');
      const where = ['--config', settingsFile(NAME), '--node', 'n1'];
      const ovs = ['--ovs', 'unix:/run/openvswitch/db.sock'];
      const argv = heddleCommand(lab.record, [
        'bundle',
        ...where,
        ...ovs,
        '--json',
        '--output',
        file,
      ]);
      const { code, stdout, stderr } = await runInside(lab.record, argv, { node: 'n1' });
      expect([code, stderr]).toEqual([0, expect.not.stringContaining('missing') as unknown]);
      const { gathered } = JSON.parse(stdout) as { gathered: readonly Gathered[] };
      const files = gathered.map((one) => one.file);
      for (const each of [
        'heddle/verify.json',
        'databases/southbound.json',
        'openflow/br-int-flows.txt',
        'openflow/breth0-flows.txt',
        'daemons/ovn-controller-inc-engine-show-stats.txt',
        'host/nftables.txt',
        'host/routes.json',
        'logs/ovn/ovn-northd.log',
      ])
        expect(files).toContain(each);
      execFileSync('tar', ['-C', folder, '--strip-components=1', '-xzf', file]);
      const rows = async (manifests: string): Promise<string> =>
        (await heddle('render', '--manifests', manifests, '--node', 'n1')).stdout;
      expect(await rows(join(folder, 'objects'))).toBe((await heddle('render', ...where)).stdout);
    });

    test('done again it starts nothing and ends nothing', async () => {
      const before = await allSandboxes();
      expect((await demo(options)).unexpected).toEqual([]);
      expect(await allSandboxes()).toEqual(before);
      expect(await attach()).toEqual([0, 0]);
    });

    test('a container that was killed comes back, the others stay', async () => {
      const before = await sandboxes('n1');
      const pods = await outputInside(lab.record, ['lab-containers', 'list']);
      const pid = /^blue_web-1 (\d+)$/m.exec(pods)?.[1] ?? '';
      await outputInside(lab.record, ['kill', '-9', pid]);
      expect(await attach()).toEqual([1, 1]);
      const after = await sandboxes('n1');
      expect(after['blue/web-1']).not.toBe(before['blue/web-1']);
      expect(after['green/web-1']).toBe(before['green/web-1']);
      expect((await inPod('blue/web-1', 'hostname')).stdout.trim()).toBe('web-1');
    });

    test('pods whose manifests are gone leave no container, no port and no name', async () => {
      rmSync(join(manifestsFolder(NAME), 'two-tenants/green-pods.yaml'), { force: true });
      await expect.poll(attach, { timeout: 30_000, interval: 500 }).toEqual([0, 0]);
      expect((await allSandboxes()).flatMap((each) => Object.keys(each))).toEqual([
        'blue/web-1',
        'blue/web-2',
        'blue/web-3',
      ]);
      expect((await labStatus(lab.record)).pods).toEqual([
        'blue_web-1',
        'blue_web-2',
        'blue_web-3',
      ]);
      for (const node of nodes) {
        const find = ['ovs-vsctl', '--bare', '--columns=external_ids', 'find', 'Interface'];
        const argv = ['on', node, ...find, 'external_ids:sandbox!=""'];
        const ports = await outputInside(lab.record, argv);
        expect(ports).toContain('blue');
        expect(ports).not.toContain('green');
      }
    });
  },
);
