import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { startDaemon, stopDaemon } from '../../src/lab/daemons.ts';
import { endpoints, probe } from '../../src/lab/connectivity.ts';
import { outputInside, runInside } from '../../src/lab/exec.ts';
import { addManifests, readObjects } from '../../src/lab/objects.ts';
import { serveOutward } from '../../src/lab/outward.ts';
import { checkout } from '../../src/lab/paths.ts';
import { attachPods } from '../../src/lab/pods.ts';
import { testLab, whyNoVirtualMachine, type TestLab } from '../support/lab.ts';
import { ownFolder } from '../support/left-behind.ts';
import { API, DNS, systemObjects, systemServices } from '../support/matrix-tenants.ts';
import { until } from '../support/until.ts';

const NODE = 'n1';
const OVS = '--ovs=unix:/run/openvswitch/db.sock';
const ARGUMENTS = ['--render=everywhere'];
/** Software emulation on a shared machine. */
const SECONDS = 240;
const LIMIT = SECONDS * 1000;

/** Two tenants with one subnet, each with a pod on n1; they get the same address. */
const tenant = (name: string): object[] => [
  {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { 'k8s.ovn.org/primary-user-defined-network': '' } },
  },
  {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'UserDefinedNetwork',
    metadata: { name: 'net', namespace: name },
    spec: {
      topology: 'Layer3',
      layer3: { role: 'Primary', subnets: [{ cidr: '10.20.0.0/16', hostSubnet: 24 }] },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: name },
    spec: { nodeName: NODE, containers: [{ name: 'web', image: 'web' }] },
  },
];

describe.skipIf(whyNoVirtualMachine !== undefined)(
  `the host of networks with one subnet${whyNoVirtualMachine === undefined ? '' : ` (${whyNoVirtualMachine})`}`,
  { timeout: 600_000 },
  () => {
    const folder = ownFolder('heddle-host');
    let lab: TestLab;
    let before: string;
    let right: string;

    const onNode = (...argv: string[]): Promise<string> =>
      outputInside(lab.record, ['on', NODE, ...argv]);

    /** What is on the host, without what is the kernel's own and comes and goes. */
    const picture = async (): Promise<string> => {
      const text = await onNode(
        'bash',
        '-c',
        'ip -o link show type vrf; ip -o link show | grep -o "ovn-k8s-mp[0-9]*: .*master [^ ]*"; ip -o -4 address show | cut -d" " -f2-7; for f in -4 -6; do ip $f rule show; ip $f route show table all proto 85; done; ip neighbour show nud permanent; ovs-vsctl show; for s in forwarding rp_filter; do grep . /proc/sys/net/ipv4/conf/*/$s; done',
      );
      return text
        .split('\n')
        .map((line) => line.replace(/^\d+: /, '').replaceAll(/link\/ether \S+|<[^>]*>/g, ''))
        .filter((line) => !/l3mdev-table|fe80|ff00/.test(line))
        .sort()
        .join('\n');
    };

    const untilRight = (what: string): Promise<void> =>
      until(what, async () => (await picture()) === right, LIMIT);

    beforeAll(async () => {
      const objects = [...tenant('blue'), ...tenant('green'), ...systemObjects(NODE)];
      writeFileSync(join(folder, 'tenants.yaml'), objects.map((o) => stringify(o)).join('---\n'));
      lab = await testLab('e2e-host', { kind: 'vm', nodes: 2 });
      before = await picture();
      const manifests = addManifests(lab.record.name, folder);
      await startDaemon(lab.record, NODE, ARGUMENTS);
      await until(
        'pods with addresses on their networks',
        async () => {
          const { pods } = await readObjects(lab.record.name);
          const networks = pods.map(
            (pod) => pod.metadata.annotations?.['k8s.ovn.org/pod-networks'],
          );
          return networks.length === 3 && networks.every((text) => text?.includes('"primary"'));
        },
        { limit: LIMIT, pause: 500 },
      );
      const { pods, nads } = await readObjects(lab.record.name);
      const { attachments } = await attachPods(lab.record, pods, nads, { waitSeconds: SECONDS });
      const dns = endpoints(attachments, 'default').find(({ pod }) => pod === DNS.pod);
      if (dns === undefined) throw new Error(`${DNS.pod} has no address`);
      const services = systemServices(dns).map((object) => stringify(object));
      writeFileSync(join(manifests, 'services.yaml'), services.join('---\n'));
      await serveOutward(lab.record);
    }, 1_200_000);
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });

    test('each network has a VRF with its own table; the host reaches the pods of both under one address', async () => {
      await until(
        'two VRFs',
        async () =>
          (await onNode('ip', '-d', '-o', 'link', 'show', 'type', 'vrf')).split('\n').length > 2,
        LIMIT,
      );
      const vrfs = await onNode('ip', '-d', '-o', 'link', 'show', 'type', 'vrf');
      expect(
        [...vrfs.matchAll(/(\S+): <.*vrf table (\d+).*alias (heddle [^\\]+?)\s*$/gm)]
          .map(([, ...found]) => found.join(' '))
          .sort(),
      ).toEqual([
        'mp1-udn-vrf 10001 heddle UserDefinedNetwork blue/net',
        'mp2-udn-vrf 10002 heddle UserDefinedNetwork green/net',
      ]);
      const ping = (device: string): Promise<{ code: number | null }> =>
        runInside(lab.record, [
          'on',
          NODE,
          'bash',
          '-c',
          `ping -c 1 -W 5 -I ${device} $(ip -o -4 address show dev ${device} | sed -E 's/.* inet ([0-9.]+)\\.2\\/.*/\\1.3/')`,
        ]);
      for (const device of ['ovn-k8s-mp1', 'ovn-k8s-mp2'])
        await until(`a pod over ${device}`, async () => (await ping(device)).code === 0, LIMIT);
      // From outside of the VRFs nothing leads into them.
      expect(await onNode('ip', 'route', 'get', '10.20.0.3')).toContain('dev br-ex');
      expect(await onNode('ip', 'route', 'get', '10.20.0.3', 'mark', '0x1002')).toContain(
        'table 10002',
      );
      right = await picture();
    });

    test('pods of both reach the API server and DNS, which are on the default network and the host', async () => {
      const ways = ['blue_web', 'green_web'].flatMap((from) => [
        { from, to: API.ips[0], port: 443, ping: false },
        { from, to: DNS.ips[0], port: 80, ping: false },
      ]);
      await until(
        'answers of both',
        async () => {
          const results = await probe(lab.record, ways, 10);
          const servers = results.map(({ answer }) => answer?.server);
          return String(servers) === String([NODE, DNS.pod, NODE, DNS.pod]);
        },
        LIMIT,
      );
    });

    test.each([
      ['ip rule flush'],
      ['ip route flush table 10001'],

      ['ip link delete dev mp2-udn-vrf'],
      ['ip link set dev ovn-k8s-mp1 nomaster'],
      ['ip address flush dev ovn-k8s-mp2'],
      [
        'ip link set dev br-ex down; ip link set dev br-ex up; ip route replace default via 172.18.0.100',
      ],
      ['ovs-vsctl --no-wait del-port br-int ovn-k8s-mp1'],
      ['echo 1 > /proc/sys/net/ipv4/conf/ovn-k8s-mp2/rp_filter'],
    ])('repairs: %s', async (breakage) => {
      await onNode('bash', '-c', breakage);
      await untilRight(`the host to be repaired after ${breakage}`);
    });

    test('a daemon that was killed leaves it as it is, and finds it right when it is started again', async () => {
      const listeners = async (): Promise<string> => {
        const { stdout } = await runInside(lab.record, ['pgrep', '-xc', 'ip']);
        return stdout.trim();
      };
      const there = await listeners();
      expect(Number(there)).toBeGreaterThan(0);
      await stopDaemon(lab.record, NODE, 'kill');
      await until('nothing of it to be left', async () => (await listeners()) === '0', LIMIT);
      expect(await picture()).toBe(right);
      await startDaemon(lab.record, NODE, ARGUMENTS);
      await until(
        'the next one to follow the host',
        async () => (await listeners()) === there,
        LIMIT,
      );
      await untilRight('the host after a start');
    });

    test('cleanup takes everything of ours off it, and nothing else', async () => {
      const heddle = [join(checkout, 'node_modules/.bin/node'), join(checkout, 'src/cli/main.ts')];
      const whileRunning = await runInside(lab.record, [
        'on',
        NODE,
        ...heddle,
        'cleanup',
        OVS,
        '--timeout=30',
      ]);
      expect(whileRunning.code).not.toBe(0);
      expect(whileRunning.stderr).toContain('another Heddle process holds the lock');
      expect(await picture()).toBe(right);
      await stopDaemon(lab.record, NODE);
      const plan = await onNode(...heddle, 'cleanup', OVS, '--dry-run');
      expect(plan).toContain('- priority 2000 fwmark 0x1001 lookup 10001');
      await onNode(...heddle, 'cleanup', OVS, `--timeout=${SECONDS}`);
      await until(
        'devices to be gone',
        async () => !(await picture()).includes('ovn-k8s-mp'),
        LIMIT,
      );
      // Ports of pods and of OVN stay, and so do the devices behind them.
      const ofOthers =
        /^(Port|Interface|type:|options:|error:)|conf\/([0-9a-f]{13}\w{2}|genev_sys_\d+)\//;
      const plain = (text: string): string[] =>
        text
          .split('\n')
          .map((line) => line.trim())
          .filter((line) => !ofOthers.test(line));
      expect(plain(await picture())).toEqual(plain(before));
    });
  },
);
