import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { networkNames } from '../../src/cni/links/pod-interfaces.ts';
import { labPod } from '../../src/lab/lab-pods.ts';
import { connectivity, endpoints, probe, unexpected } from '../../src/lab/connectivity.ts';
import { outputInside, runInside } from '../../src/lab/exec.ts';
import { down, up } from '../../src/lab/lifecycle.ts';
import { checkout, stateFolder } from '../../src/lab/paths.ts';
import { attachPods, pluggedPorts } from '../../src/lab/pods.ts';
import { isAlive } from '../../src/lab/processes.ts';
import { labState, type LabRecord } from '../../src/lab/state-file.ts';
import { labStatus } from '../../src/lab/status.ts';
import { endsWithUs, testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { bound } from '../support/run/left-behind.ts';
import { writeNetwork, writeRemoteChassis } from '../support/zone/layer3-by-hand.ts';
import { nad, pod } from '../support/zone/pods.ts';

const NAME = 'e2e-lab';
const nodes = ['n1', 'n2', 'n3'];
const quiet = (): void => {};

/** One pod of each tenant on each node, with the same addresses in both tenants' networks. */
const pods = ['blue', 'red'].flatMap((tenant, t) =>
  nodes.map((node, n) =>
    pod(`${tenant}/${tenant}-${n + 1}`, node, [
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
const attachments = pods.map((each) => labPod(each, networkNames(nads)));
/** The same pods, one of them made anew: another UID under the same name. */
const moved = pods.map((each) =>
  each.metadata.name === 'blue-1'
    ? { ...each, metadata: { ...each.metadata, uid: 'another' } }
    : each,
);
const tenantOf = (name: string): string => name.split('/')[0] ?? '';

describe.skipIf(whyNoLab !== undefined)(
  `lab on the host's kernel${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    let lab: TestLab;
    let record: LabRecord;

    beforeAll(async () => {
      lab = await testLab(NAME, { hasBridges: true });
      record = lab.record;
    });
    afterAll(async () => {
      await lab[Symbol.asyncDispose]();
    });

    test('every node runs its own databases, northd, controller and switch', async () => {
      const status = await labStatus(record);
      expect(status.nodes.map((node) => node.name)).toEqual(nodes);
      expect(
        status.nodes.flatMap((node) => Object.values(node.services)).filter((pid) => pid === null),
      ).toEqual([]);
      expect(status.nodes.every((node) => existsSync(node.sockets?.nb ?? ''))).toBe(true);
    });

    test('nodes and the outside host reach each other on the underlay, IPv4 and IPv6', async () => {
      const to = [
        '172.18.0.11',
        '172.18.0.12',
        '172.18.0.13',
        '172.18.0.100',
        'fd00:172:18::11',
        'fd00:172:18::13',
        'fd00:172:18::100',
      ];
      const results = await probe(
        record,
        ['n1', 'n2', 'n3', 'ext'].flatMap((from) => to.map((address) => ({ from, to: address }))),
        5,
      );
      expect(results.filter((result) => result.ping === null)).toEqual([]);
    });

    test('a second `up` of the same lab changes nothing, and another shape is refused', async () => {
      const before = await labStatus(record);
      await up({ name: NAME, kind: 'host', nodes: 3, progress: quiet });
      expect(await labStatus(record)).toEqual(before);
      await expect(up({ name: NAME, kind: 'host', nodes: 2, progress: quiet })).rejects.toThrow(
        /is up with 3 nodes/,
      );
    });

    test('a service that died is started by the next `up`', async () => {
      await outputInside(record, ['service', 'n2', 'kill', 'northd']);
      expect((await labStatus(record)).nodes[1]?.services['northd']).toBeNull();
      const said: string[] = [];
      await up({ name: NAME, kind: 'host', nodes: 3, progress: (line) => said.push(line) });
      expect(said).toEqual(['n2: northd was not running, starting it']);
      expect((await labStatus(record)).nodes[1]?.services['northd']).toBeTypeOf('number');
    });

    test('a command inside gives its output, its error output and its exit code', async () => {
      const result = await runInside(record, ['bash', '-c', 'cat; hostname >&2; exit 7'], {
        node: 'n2',
        input: 'in\n',
      });
      expect(result).toEqual({ code: 7, stdout: 'in\n', stderr: 'n2\n' });
    });

    test(
      'two networks with the same subnet carry their own packets only',
      { timeout: 60_000 },
      async () => {
        await writeRemoteChassis(record);
        await writeNetwork(
          record,
          { prefix: '', octet: 1, transitKey: 16_711_683 },
          'default',
          attachments,
        );
        await writeNetwork(
          record,
          { prefix: 'blue_net_', octet: 100, transitKey: 16_711_684 },
          'blue/net',
          attachments,
        );
        await writeNetwork(
          record,
          { prefix: 'red_net_', octet: 100, transitKey: 16_711_685 },
          'red/net',
          attachments,
        );
        const first = await attachPods(record, pods, nads);
        expect(first.attached).toHaveLength(6);

        const ends = endpoints(first.attachments);
        const cells = await connectivity(record, ends);
        expect(unexpected(cells, (from, to) => tenantOf(from) === tenantOf(to))).toEqual([]);
        expect(cells.filter((cell) => cell.reach === 'other')).toHaveLength(18);

        // On the default network, which has no isolation here, every pod is reached under its own address.
        const onDefault = await connectivity(record, endpoints(first.attachments, 'default'));
        expect(unexpected(onDefault, () => true)).toEqual([]);
      },
    );

    test('ports carry what the CNI plugin of a cluster writes', async () => {
      const ids = await outputInside(record, [
        'on',
        'n1',
        'ovs-vsctl',
        '--format=json',
        '--columns=external_ids',
        'find',
        'Interface',
        'external_ids:iface-id=blue.net_blue_blue-1',
      ]);
      const [[[, pairs]]] = (JSON.parse(ids) as { data: [[[string, [string, string][]]]] }).data;
      expect(Object.fromEntries(pairs)).toMatchObject({
        attached_mac: '0a:58:0a:64:01:05',
        'iface-id': 'blue.net_blue_blue-1',
        'iface-id-ver': 'uid-of-blue/blue-1',
        ip_addresses: '10.100.1.5/24',
        'k8s.ovn.org/nad': 'blue/net',
        'k8s.ovn.org/network': 'blue_net',
        'ovn-installed': 'true',
        'pod-if-name': 'ovn-udn1',
      });
    });

    test('attaching again touches nothing; a pod that is gone leaves no port, link or namespace', async () => {
      const before = await pluggedPorts(record);
      expect(await attachPods(record, pods, nads)).toMatchObject({ attached: [], detached: 0 });
      expect(await pluggedPorts(record)).toEqual(before);

      const left = pods.filter((each) => each.metadata.name !== 'red-2');
      expect(await attachPods(record, left, nads)).toMatchObject({ attached: [], detached: 1 });
      const ports = await pluggedPorts(record);
      expect(ports.map((port) => port['iface-id']).filter((id) => id.endsWith('red-2'))).toEqual(
        [],
      );
      const gone = before
        .filter((port) => port['iface-id'].endsWith('red-2'))
        .map((port) => port.device);
      expect(gone).toHaveLength(2);
      const links = await outputInside(record, ['on', 'n2', 'ip', '-br', 'link']);
      expect(gone.filter((device) => links.includes(device))).toEqual([]);
      expect((await labStatus(record)).pods).not.toContain('red_red-2');
    });

    test('a pod that moved or changed networks is plugged in anew', async () => {
      await outputInside(record, [
        'on',
        'n1',
        'ovn-nbctl',
        'lsp-set-options',
        'blue.net_blue_blue-1',
        'iface-id-ver=another',
        '--',
        'lsp-set-options',
        'blue_blue-1',
        'iface-id-ver=another',
      ]);
      expect(await attachPods(record, moved, nads)).toMatchObject({
        attached: ['blue/blue-1', 'red/red-2'],
        detached: 1,
      });
      const ends = endpoints(moved.map((each) => labPod(each, networkNames(nads))));
      expect(
        unexpected(await connectivity(record, ends), (from, to) => tenantOf(from) === tenantOf(to)),
      ).toEqual([]);
    });

    test('a pod whose logical port is missing is named', async () => {
      const stray = pod('blue/stray', 'n1', [
        { nadKey: 'default', address: '10.1.1.77/24', role: 'primary' },
      ]);
      await expect(attachPods(record, [...moved, stray], nads, { waitSeconds: 2 })).rejects.toThrow(
        /on n1, .*did not install blue_stray within/,
      );
    });

    test('what a killed lab left is found stale and removed by the next `up`', async () => {
      process.kill(record.holder.pid, 'SIGKILL');
      await expect.poll(() => labState(NAME).state).toBe('stale');
      record = await up({ name: NAME, kind: 'host', nodes: 1, progress: quiet });
      endsWithUs(record);
      expect((await labStatus(record)).pods).toEqual([]);
    });

    test('a lab of a test that is killed ends with it', async () => {
      const script = `
        import { testLab } from '${join(checkout, 'test/support/lab/lab.ts')}';
        const { record } = await testLab('${NAME}-killed', { nodes: 1 });
        console.log(JSON.stringify(record));
        setInterval(() => undefined, 1000);`;
      const killed = spawn(...bound(process.execPath, ['--input-type=module', '-e', script]), {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [line] = (await once(killed.stdout, 'data')) as [Buffer];
      const { holder } = JSON.parse(line.toString()) as LabRecord;
      expect(isAlive(holder)).toBe(true);
      killed.kill('SIGKILL');
      await expect.poll(() => isAlive(holder)).toBe(false);
      expect(await down(`${NAME}-killed`, quiet)).toBe(true);
    });

    test('`down` leaves no process, file or mount', async () => {
      const { holder, init } = record;
      expect(await down(NAME, quiet)).toBe(true);
      expect([holder, init].filter((process) => process !== undefined && isAlive(process))).toEqual(
        [],
      );
      expect(existsSync(stateFolder(NAME))).toBe(false);
      expect(await down(NAME, quiet)).toBe(false);
    });
  },
);
