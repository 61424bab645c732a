/**
 * A virtual machine of KubeVirt on a primary Layer2 network: DHCP behind policies, and a move between nodes. A double of KubeVirt: a namespace behind
 * the pod is the guest.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { startDaemons } from '../../src/lab/daemons.ts';
import { runInside } from '../../src/lab/exec.ts';
import { attachedPods } from '../../src/lab/pods.ts';
import { whileStreaming, type Streamed } from '../support/host/streams.ts';
import {
  askByDhcp,
  askByDhcp6,
  announceGuest,
  prepareGuest,
  runGuest,
  startGuest,
  type Launcher,
} from '../support/lab/guests.ts';
import { namespace } from '../support/lab/host-tenants.ts';
import { claiming, ipamClaim, launcherPod, persistentNetwork } from '../support/lab/machines.ts';
import { podOn } from '../support/lab/network-spaces.ts';
import { whileHearing } from '../support/lab/group-streams.ts';
import type { Where } from '../support/lab/sctp-associations.ts';
import { stopDaemon } from '../support/lab/lab-daemons.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { ownFolder } from '../support/run/left-behind.ts';

/** Limits of waits for a condition; how long it takes is not what is tested here. */
const SOON = { timeout: 30_000 };
/** Milliseconds for which packets are counted behind what happens. */
const MOMENT_MS = 2000;
const SPACE = 'vms';
const MACHINE = 'vm.one';
const GUEST = 'guest';
const NAD = `${SPACE}/flat`;
const ARRIVED = { 'kubevirt.io/migration-target-ready-timestamp': '2026-01-01T00:00:00Z' };

const CLAIM = 'vm.one.flat';
const launcher = (name: string, nodeName: string, day: number, annotations: object = {}): object =>
  launcherPod({
    namespace: SPACE,
    name,
    nodeName,
    machine: MACHINE,
    hostName: 'vm',
    day,
    annotations: { ...claiming(CLAIM), ...annotations },
  });
const flat = persistentNetwork(SPACE, 'flat', ['10.80.0.0/16', 'fd80::/64']);
const claim = ipamClaim(SPACE, CLAIM, `${SPACE}_flat`);
const MULTICAST = ['--enable-multicast=true'];
const GROUP = '239.80.80.80';
const hearing = (one: object): object => {
  const { metadata } = one as { metadata: { annotations?: object } };
  const annotations = { ...metadata.annotations, 'k8s.ovn.org/multicast-enabled': 'true' };
  return { ...one, metadata: { ...metadata, annotations } };
};
const DNS = ['172.16.1.10', 'fd00:10:96::a'];
const kubeSystem = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system' } };
const dns = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'kube-system', name: 'kube-dns' },
  spec: {
    clusterIP: DNS[0],
    clusterIPs: DNS,
    ipFamilies: ['IPv4', 'IPv6'],
    ipFamilyPolicy: 'RequireDualStack',
    ports: [{ name: 'dns', port: 53, protocol: 'UDP', targetPort: 53 }],
  },
};
/** Nothing leaves the machine's pods but to the partner. */
const closed = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { namespace: SPACE, name: 'closed' },
  spec: {
    podSelector: { matchLabels: { app: 'machine' } },
    policyTypes: ['Egress'],
    egress: [{ to: [{ podSelector: { matchLabels: { app: 'partner' } } }] }],
  },
};

describe.skipIf(whyNoLab !== undefined)(
  `a virtual machine${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    const folder = ownFolder('heddle-machines');
    let lab: TestLab;
    let tenants: Tenants;
    const declare = (file: string, ...objects: readonly object[]): void =>
      writeFileSync(
        join(tenants.manifests, file),
        objects.map((object) => stringify(object)).join('---\n'),
      );
    const end = (name: string): Launcher & { readonly addresses: readonly string[] } => {
      const found = attachedPods(lab.record).find((one) => one.name === `${SPACE}/${name}`);
      const link = found?.interfaces.find(({ nadKey }) => nadKey === NAD);
      if (found === undefined || link === undefined) throw new Error(`${name} is not attached`);
      const { device, mac, addresses } = link;
      return { namespace: found.namespace, device, mac, addresses };
    };
    /** Pods that an earlier try of a step left are gone, and daemons that it killed are back. */
    const without = async (...names: readonly string[]): Promise<void> => {
      const left = names
        .map((name) => join(tenants.manifests, `${name}.yaml`))
        .filter((file) => existsSync(file));
      if (left.length === 0) return;
      for (const file of left) rmSync(file);
      await tenants.start();
    };
    const addressOf = (name: string): string => end(name).addresses[0]?.split('/')[0] ?? '';
    /** What became of the guest's connection with its partner, which goes on, and of what it sent beside it. */
    async function streaming(
      during: (answered: () => Promise<void>) => Promise<void>,
    ): Promise<Streamed> {
      const [streamed] = await whileStreaming(
        lab.record,
        [{ from: GUEST, to: 'partner', address: addressOf('partner') }],
        during,
        (who) => (who === GUEST ? ['ip', 'netns', 'exec', who] : ['pod', `${SPACE}/${who}`]),
      );
      if (streamed === undefined) throw new Error('nothing was streamed');
      expect(streamed).toMatchObject({ broken: 0, twice: 0 });
      expect(streamed.answers).toBeGreaterThan(5);
      return streamed;
    }
    const group = (): Parameters<typeof whileHearing>[1] => {
      const { namespace: where, device } = end('partner');
      const inside = (name: string): Where => ['ip', 'netns', 'exec', name];
      return {
        sender: { where: inside(where), device },
        member: { where: inside(GUEST), device: 'eth0' },
        group: GROUP,
      };
    };
    /** `enabled` of the ports of the machine's pods on the databases of nodes, where they are known. */
    const enabled = async (node: string): Promise<Record<string, string>> => {
      const found: Record<string, string> = {};
      for (const name of ['a', 'b', 'c', 'd']) {
        const port = `${SPACE}.flat_${SPACE}_${name}`;
        const argv = ['on', node, 'ovn-nbctl', '--if-exists', 'get', 'Logical_Switch_Port', port];
        const { stdout } = await runInside(lab.record, [...argv, 'enabled']);
        if (stdout.trim() !== '') found[name] = stdout.trim();
      }
      return found;
    };

    beforeAll(async () => {
      writeFileSync(
        join(folder, 'objects.yaml'),
        [hearing(namespace(SPACE)), kubeSystem, dns, flat, closed, claim]
          .map((object) => stringify(object))
          .join('---\n'),
      );
      lab = await testLab('e2e-machines', { nodes: 2, families: 'dual' });
      tenants = new Tenants(lab.record, { folder, daemonArguments: MULTICAST });
      declare('partner.yaml', podOn('n2', SPACE, 'partner'));
      declare('a.yaml', launcher('a', 'n1', 1));
      await tenants.start();
    });
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('is told by DHCP what its pod has, gateway, DNS, name, MTU and lease, though a policy lets nothing out', async () => {
      await startGuest(lab.record, GUEST, end('a').mac);
      await prepareGuest(lab.record, GUEST, end('a'));
      await runGuest(lab.record, GUEST, end('a'));
      expect(await askByDhcp(lab.record, GUEST)).toMatchObject({
        ip: addressOf('a'),
        router: '10.80.0.1',
        dns: DNS[0],
        hostname: MACHINE,
        mtu: '1400',
        lease: '3500',
        serverid: '169.254.1.1',
      });
      const { mac, addresses } = end('a');
      const lease6 = {
        ip: addresses[1]?.split('/')[0],
        dns: DNS[1],
        name: MACHINE,
        isManaged: true,
        router: 'fe80::858:aff:fe50:1',
        mtu: 1400,
      };
      expect(await askByDhcp6(lab.record, GUEST, mac)).toEqual(lease6);
      expect(await askByDhcp6(lab.record, GUEST, mac, { saysName: false })).toEqual({
        ...lease6,
        name: null,
      });
    });

    test('moves to another node with its connections, and is answered for in one place', async () => {
      await without('b');
      await runGuest(lab.record, GUEST, end('a'));
      declare('b.yaml', launcher('b', 'n2', 2));
      await tenants.settle();
      expect([end('b').mac, end('b').addresses]).toEqual([end('a').mac, end('a').addresses]);
      expect(await enabled('n2')).toMatchObject({ b: 'false' });
      await prepareGuest(lab.record, GUEST, end('b'));
      const heard = await whileHearing(lab.record, group(), async (heardAgain) => {
        const streamed = await streaming(async (answered) => {
          await runGuest(lab.record, GUEST, end('b'), end('a'));
          declare('b.yaml', launcher('b', 'n2', 2, ARRIVED));
          await announceGuest(lab.record, GUEST, addressOf('a'));
          await expect.poll(() => enabled('n1'), SOON).toMatchObject({ a: 'false', b: 'true' });
          await answered();
          await heardAgain();
          await sleep(MOMENT_MS);
        });
        process.stderr.write(`a machine that moved lost ${lossOf(streamed)}\n`);
      });
      expect(heard.twice).toBe(0);
      process.stderr.write(`and ${heard.missed} numbers of a group, one every 10 ms\n`);
      // The lease is kept where it is now.
      expect(await askByDhcp(lab.record, GUEST)).toMatchObject({ ip: addressOf('b') });
    });

    test('goes on as before once the pod that it left has gone', async () => {
      rmSync(join(tenants.manifests, 'a.yaml'), { force: true });
      await tenants.settle();
      await expect.poll(() => enabled('n2'), SOON).toEqual({ b: '[]' });
      await streaming(() => sleep(MOMENT_MS / 2));
    });

    test('that is to move and does not arrive goes on where it is, and nobody hears of the pod that it did not get to', async () => {
      await without('c');
      declare('c.yaml', launcher('c', 'n1', 3));
      await tenants.settle();
      await prepareGuest(lab.record, GUEST, end('c'));
      const streamed = await streaming(async () => {
        expect(await enabled('n1')).toMatchObject({ c: 'false' });
        rmSync(join(tenants.manifests, 'c.yaml'), { force: true });
        await tenants.settle();
        await sleep(MOMENT_MS / 2);
      });
      expect(streamed.lostDatagrams).toBe(0);
      expect(await enabled('n2')).toEqual({ b: '[]' });
    });

    test('begins to move, and arrives, while the daemons of both nodes are killed', async () => {
      await without('c', 'd');
      await runGuest(lab.record, GUEST, end('b'));
      for (const node of ['n1', 'n2']) await stopDaemon(lab.record, node, 'kill');
      declare('d.yaml', launcher('d', 'n1', 4));
      await startDaemons(lab.record, MULTICAST);
      await tenants.settle();
      await prepareGuest(lab.record, GUEST, end('d'));
      await streaming(async (answered) => {
        await runGuest(lab.record, GUEST, end('d'), end('b'));
        for (const node of ['n1', 'n2']) await stopDaemon(lab.record, node, 'kill');
        declare('d.yaml', launcher('d', 'n1', 4, ARRIVED));
        await startDaemons(lab.record, MULTICAST);
        await announceGuest(lab.record, GUEST, addressOf('b'));
        await expect.poll(() => enabled('n2'), SOON).toMatchObject({ b: 'false', d: 'true' });
        await answered();
        await sleep(MOMENT_MS);
      });
      expect(await askByDhcp(lab.record, GUEST)).toMatchObject({ ip: addressOf('d') });
    });
  },
);

const lossOf = ({ lost, echoes, lostDatagrams }: Streamed): string =>
  `${lost} of ${echoes + lost} echoes, one every 20 ms, ${lostDatagrams} datagrams, one every 50 ms`;
