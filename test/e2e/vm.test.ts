import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { networkNames } from '../../src/cni/links/pod-interfaces.ts';
import { labPod } from '../../src/lab/lab-pods.ts';
import { connectivity, endpoints, probe, unexpected } from '../../src/lab/connectivity.ts';
import { outputInside, runInside } from '../../src/lab/exec.ts';
import { down, up } from '../../src/lab/lifecycle.ts';
import { stateFolder } from '../../src/lab/paths.ts';
import { attachPods } from '../../src/lab/pods.ts';
import { isAlive } from '../../src/lab/processes.ts';
import type { LabRecord } from '../../src/lab/state-file.ts';
import { labStatus } from '../../src/lab/status.ts';
import { endsWithUs, testLab, whyNoVirtualMachine, type TestLab } from '../support/lab/lab.ts';
import { writeNetwork, writeRemoteChassis } from '../support/zone/layer3-by-hand.ts';
import { nad, pod } from '../support/zone/pods.ts';

const NAME = 'e2e-vm';
const nodes = ['n1', 'n2'];
const quiet = (): void => {};

const pods = ['blue', 'red'].flatMap((tenant, t) =>
  nodes.map((node, n) =>
    pod(`${tenant}/web-${n + 1}`, node, [
      {
        nadKey: 'default',
        address: `10.1.${n + 1}.${10 + t}/24`,
        role: 'infrastructure-locked',
        routes: [{ dest: '10.1.0.0/16', nextHop: `10.1.${n + 1}.1` }],
      },
      {
        nadKey: `${tenant}/net`,
        address: `10.100.${n + 1}.5/24`,
        role: 'primary',
        gateway: `10.100.${n + 1}.1`,
      },
    ]),
  ),
);
const nads = [nad('blue/net', 'blue_net'), nad('red/net', 'red_net')];
const tenantOf = (name: string): string => name.split('/')[0] ?? '';

describe.skipIf(whyNoVirtualMachine !== undefined)(
  `lab in a virtual machine${whyNoVirtualMachine === undefined ? '' : ` (${whyNoVirtualMachine})`}`,
  { timeout: 120_000 },
  () => {
    let lab: TestLab;
    let record: LabRecord;

    beforeAll(async () => {
      lab = await testLab(NAME, { kind: 'vm', nodes: 2, hasBridges: true });
      record = lab.record;
    }, 600_000);
    afterAll(async () => {
      await lab[Symbol.asyncDispose]();
    });

    test('has the nodes up, on a kernel with VRFs and the Open vSwitch datapath', async () => {
      const status = await labStatus(record);
      expect(status.nodes.map((node) => node.name)).toEqual(nodes);
      const services = status.nodes.flatMap((node) => Object.values(node.services));
      expect(services.filter((pid) => pid === null)).toEqual([]);
      const kernel = [
        'bash',
        '-ec',
        'ip link add v type vrf table 9; ip -d link show v; ip link del v',
      ];
      expect(await outputInside(record, kernel, { node: 'n1' })).toContain('vrf table 9');
      const datapath = ['ovs-vsctl', 'get', 'bridge', 'br-int', 'datapath_type'];
      expect(await outputInside(record, datapath, { node: 'n1' })).toBe('system\n');
    });

    test('commands run side by side, each with its input, its outputs and its exit code', async () => {
      const results = await Promise.all(
        Array.from({ length: 6 }, (_, index) =>
          runInside(record, ['bash', '-c', `cat; hostname >&2; exit ${index}`], {
            node: index % 2 === 0 ? 'n1' : 'n2',
            input: `${index} ${'x'.repeat(100_000)}\n`,
          }),
        ),
      );
      expect(
        results.map(({ code, stdout, stderr }) => [code, stdout.length, stdout[0], stderr]),
      ).toEqual(
        Array.from({ length: 6 }, (_, index) => [
          index,
          100_003,
          String(index),
          index % 2 === 0 ? 'n1\n' : 'n2\n',
        ]),
      );
    });

    test('nodes reach each other and the outside host', async () => {
      const to = ['172.18.0.11', '172.18.0.12', '172.18.0.100', 'fd00:172:18::12'];
      const probes = [...nodes, 'ext'].flatMap((from) =>
        to.map((address) => ({ from, to: address })),
      );
      const results = await probe(record, probes, 15);
      expect(results.filter((result) => result.ping === null)).toEqual([]);
    });

    test('two networks with the same subnet carry their own packets only, through kernel tunnels', async () => {
      const attachments = pods.map((each) => labPod(each, networkNames(nads)));
      await writeRemoteChassis(record);
      const standard = { prefix: '', octet: 1, transitKey: 16_711_683 };
      const blue = { prefix: 'blue_net_', octet: 100, transitKey: 16_711_684 };
      const red = { prefix: 'red_net_', octet: 100, transitKey: 16_711_685 };
      await writeNetwork(record, standard, 'default', attachments);
      await writeNetwork(record, blue, 'blue/net', attachments);
      await writeNetwork(record, red, 'red/net', attachments);
      const { attached } = await attachPods(record, pods, nads, { waitSeconds: 90 });
      expect(attached).toHaveLength(pods.length);
      const cells = await connectivity(record, endpoints(attachments), 20);
      expect(unexpected(cells, (from, to) => tenantOf(from) === tenantOf(to))).toEqual([]);
      expect(cells.filter((cell) => cell.reach === 'other')).toHaveLength(8);
    });

    test('starts again with nothing of the last one, and goes without a trace', async () => {
      expect(await down(NAME, quiet)).toBe(true);
      expect(isAlive(record.holder)).toBe(false);
      expect(existsSync(stateFolder(NAME))).toBe(false);
      record = await up({ name: NAME, kind: 'vm', nodes: 2, progress: quiet });
      endsWithUs(record);
      expect((await labStatus(record)).pods).toEqual([]);
      expect(await outputInside(record, ['on', 'n1', 'ovn-nbctl', 'ls-list'])).toBe('');
    });
  },
);
