import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDaemon } from '../../src/lab/daemons.ts';
import { stopDaemon } from '../support/lab/lab-daemons.ts';
import { probe, type Endpoint } from '../../src/lab/connectivity.ts';
import { outputInside, runInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { readObjects } from '../../src/lab/objects.ts';
import { checkout, program as heddleProgram } from '../../src/lab/paths.ts';
import { SERVER_PORT } from '../../src/lab/pods.ts';
import { testLab, whyNoVirtualMachine, type TestLab } from '../support/lab/lab.ts';
import {
  LIMIT,
  namespace,
  network,
  NODE,
  pod,
  SECONDS,
  startHostTenants,
  type HostTenants,
} from '../support/lab/host-tenants.ts';
import { API, DNS, nodeAddresses, sliceObjects } from '../support/lab/matrix-tenants.ts';
import { proveNamesOnNetworks } from '../support/lab/names-on-networks.ts';
import { peerObjects, peersOnDefault, provePeers } from '../support/lab/peers-by-name.ts';
import { until } from '../support/run/until.ts';

const OVS = '--ovs=unix:/run/openvswitch/db.sock';
const ARGUMENTS = ['--render=everywhere', '--network-names=true'];

const hostPort = (index: number): number => 31_080 + index;
/** Two tenants with one subnet, whose pods get the same address; blue has a second primary network of another topology. */
const OBJECTS = [
  namespace('blue'),
  network('blue', 'net', 'Layer3', ['10.20.0.0/16'], true),
  pod('blue', 'web', 'net', hostPort(0)),
  pod('blue', 'peer', 'net'),
  network('blue', 'second', 'Layer2', ['10.21.0.0/16']),
  pod('blue', 'second', 'second', hostPort(1)),
  namespace('green'),
  network('green', 'net', 'Layer3', ['10.20.0.0/16'], true),
  pod('green', 'web', 'net', hostPort(2)),
  pod('green', 'peer', 'net'),
];
/** Of services of blue and green. */
const CLUSTER_IPS = ['172.16.1.70', '172.16.1.71'] as const;
/** In the order of their networks' ids. */
const PODS = ['blue/web', 'blue/second', 'green/web'] as const;

describe.skipIf(whyNoVirtualMachine !== undefined)(
  `the host of networks with one subnet${whyNoVirtualMachine === undefined ? '' : ` (${whyNoVirtualMachine})`}`,
  { timeout: 600_000 },
  () => {
    let lab: TestLab;
    let before: string;
    let right: string;
    let ends: ReadonlyMap<string, Endpoint>;
    let onDefault: ReadonlyMap<string, Endpoint>;
    let write: HostTenants['write'];

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

    /** Name of the pod that answers a process of the host, in a VRF or in a cgroup; empty where none does. */
    const asked = async (
      address: string,
      { vrf = '', cgroup = '/sys/fs/cgroup' }: { vrf?: string; cgroup?: string },
    ): Promise<string> => {
      const program = `
import os, socket
with open('${cgroup}/cgroup.procs', 'w') as processes:
    processes.write(str(os.getpid()))
s = socket.socket()
s.settimeout(5)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b'${vrf}')
s.connect(('${address}', ${SERVER_PORT}))
print(s.recv(512).decode().split()[0])
`;
      const argv = ['on', NODE, 'python3', '-c', program];
      return (await runInside(lab.record, argv)).stdout.trim();
    };

    beforeAll(async () => {
      lab = await testLab('e2e-host', { kind: 'vm', nodes: 2 });
      before = await picture();
      ({ ends, onDefault, write } = await startHostTenants(lab.record, OBJECTS, ARGUMENTS));
    }, 1_200_000);
    afterAll(async () => {
      await lab[Symbol.asyncDispose]();
    });

    test('each network has a VRF with its own table, also a second one of a namespace; over it the host reaches its pod, of two with one address the right one', async () => {
      const list = (): Promise<string> => onNode('ip', '-d', '-o', 'link', 'show', 'type', 'vrf');
      await until('three VRFs', async () => (await list()).split('\n').length > 3, LIMIT);
      const vrfs = [
        ...(await list()).matchAll(/(\S+): <.*vrf table (\d+).*alias heddle (.*?)\s*$/gm),
      ];
      expect(vrfs.map(([, ...found]) => found.join(' ')).sort()).toEqual([
        'mp1-udn-vrf 10001 UserDefinedNetwork blue/net',
        'mp2-udn-vrf 10002 UserDefinedNetwork blue/second',
        'mp3-udn-vrf 10003 UserDefinedNetwork green/net',
      ]);
      for (const [n, name] of PODS.entries()) {
        const [address = ''] = ends.get(name)?.addresses ?? [];
        await until(
          `${name} (${address}) over its network's VRF`,
          async () => (await asked(address, { vrf: `mp${n + 1}-udn-vrf` })) === name,
          LIMIT,
        );
      }
      // Which of a tenant's pods has which address is by chance.
      const [ofBlue, ofGreen] = ['blue', 'green'].map((tenant) =>
        ['web', 'peer'].map((one) => String(ends.get(`${tenant}/${one}`)?.addresses)).sort(),
      );
      expect(ofBlue).toEqual(ofGreen);
      // From outside of the VRFs nothing leads into them.
      expect(await onNode('ip', 'route', 'get', '10.20.0.3')).toContain('dev breth0');
      expect(await onNode('ip', 'route', 'get', '10.20.0.3', 'mark', '0x1003')).toContain(
        'table 10003',
      );
      expect(await onNode('ip', 'route', 'get', '10.21.0.3')).toContain('dev breth0');
      right = await picture();
    });

    test('kubelet reaches the pods of all at their addresses on the default network, no other process of the host does', async () => {
      const cgroup = '/sys/fs/cgroup/kubelet.slice/kubelet.service';
      await onNode('mkdir', '-p', cgroup);
      for (const name of PODS) {
        const [address = ''] = onDefault.get(name)?.addresses ?? [];
        await until(
          `kubelet to reach ${name} (${address})`,
          async () => (await asked(address, { cgroup })) === name,
          LIMIT,
        );
        expect(await asked(address, {})).toBe('');
      }
    });

    test('a process of the host gets to services with a local internal policy in the networks that they are of, at the pod of its own node', async () => {
      // Both pods have one address: in the default network, or in the other one, another server would answer.
      const expected = (['blue/web', 'green/web', DNS.pod] as const).map(
        (name, n) => [name, `172.16.1.${80 + n}`] as const,
      );
      const objects = expected.flatMap(([name, address]) => {
        const { node = '', addresses = [] } = onDefault.get(name) ?? {};
        const [tenant] = name.split('/');
        const ports = [{ name: 'web', port: SERVER_PORT, protocol: 'TCP' }];
        const spec = { clusterIP: address, clusterIPs: [address], ports };
        const [slice] = sliceObjects(`${tenant}/inside`, [{ pod: name, node, addresses }]);
        return [
          {
            apiVersion: 'v1',
            kind: 'Service',
            metadata: { namespace: tenant, name: 'inside' },
            spec: { ...spec, internalTrafficPolicy: 'Local' },
          },
          { ...slice, ports },
        ];
      });
      write('inside.yaml', objects);
      // By itself the kernel would forget connections that ended.
      for (const state of ['time_wait', 'close'])
        await onNode('sysctl', '-qw', `net.netfilter.nf_conntrack_tcp_timeout_${state}=86400`);
      for (const [name, address] of expected) {
        const what = `a process of the host to reach ${name} by ${address}`;
        await until(what, async () => (await asked(address, {})) === name, LIMIT);
        // By another way, which nothing answers on, it would get there at times alone.
        for (let again = 0; again < 3; again += 1) expect(await asked(address, {})).toBe(name);
      }
      const tracked = async (): Promise<string[]> => {
        const of = expected.map(([, to]) => onNode('conntrack', '-L', '--orig-dst', to));
        return (await Promise.all(of)).map((text) => text.trim());
      };
      for (const text of await tracked()) expect(text).not.toBe('');
      write('inside.yaml', []);
      const forgotten = async (): Promise<boolean> => (await tracked()).join('') === '';
      await until('connections to services that are gone to be forgotten', forgotten, LIMIT);
    });

    test('a port of the node leads to the pod that has it: from outside with the address of the client, and from a process of the host', async () => {
      const [to] = nodeAddresses(NODE);
      for (const [from, seen] of [
        ['ext', ` saw ${OUTSIDE.v4}`],
        [NODE, ''],
      ] as const) {
        const ways = PODS.flatMap((_pod, n) =>
          (['tcp', 'udp'] as const).map((protocol) => ({
            from,
            to,
            port: hostPort(n),
            protocol,
            ping: false,
          })),
        );
        await expect
          .poll(
            async () =>
              (await probe(lab.record, ways, 8)).map(
                ({ answer }) => answer && `${answer.server}${seen && ` saw ${answer.peer}`}`,
              ),
            { timeout: LIMIT, interval: 500 },
          )
          .toEqual(PODS.flatMap((name) => [`${name}${seen}`, `${name}${seen}`]));
      }
    });

    test('node ports of the own node are reached between the default network and each primary one, both ways', async () => {
      const owners = ['blue/web', 'green/web', DNS.pod] as const;
      const nodePort = (owner: (typeof owners)[number]): number => 30_070 + owners.indexOf(owner);
      const objects = owners.flatMap((owner, index) => {
        const [tenant] = owner.split('/');
        const { node = '', addresses = [] } = onDefault.get(owner) ?? {};
        const port = { name: 'web', port: SERVER_PORT, protocol: 'TCP' };
        const clusterIP = `172.16.1.${90 + index}`;
        const [slice] = sliceObjects(`${tenant}/reached`, [{ pod: owner, node, addresses }]);
        return [
          {
            apiVersion: 'v1',
            kind: 'Service',
            metadata: { namespace: tenant, name: 'reached' },
            spec: {
              type: 'NodePort',
              clusterIP,
              clusterIPs: [clusterIP],
              ports: [{ ...port, nodePort: nodePort(owner) }],
            },
          },
          { ...slice, ports: [port] },
        ];
      });
      const from = (pod: string): string =>
        (pod === DNS.pod ? onDefault : ends).get(pod)?.namespace ?? '';
      const [to] = nodeAddresses(NODE);
      const reached = async (): Promise<string[]> => {
        const pairs = ['blue/web', 'blue/second', 'green/web'].flatMap((pod) => [
          [pod, DNS.pod] as const,
          ...(pod === 'blue/second' ? [] : [[DNS.pod, pod] as const]),
        ]);
        const ways = pairs.map(([client, owner]) => ({
          from: from(client),
          to,
          port: nodePort(owner as (typeof owners)[number]),
          ping: false,
        }));
        const results = await probe(lab.record, ways, 10);
        return pairs.map(([client], n) => `${client} → ${results[n]?.answer?.server ?? 'nobody'}`);
      };
      const all = [
        `blue/web → ${DNS.pod}`,
        `${DNS.pod} → blue/web`,
        `blue/second → ${DNS.pod}`,
        `green/web → ${DNS.pod}`,
        `${DNS.pod} → green/web`,
      ];
      write('reached.yaml', objects);
      await expect.poll(reached, { timeout: LIMIT, interval: 500 }).toEqual(all);
      write('reached.yaml', []);
      const nobody = all.map((line) => line.replace(/→ .*/, '→ nobody'));
      await expect.poll(reached, { timeout: LIMIT, interval: 500 }).toEqual(nobody);
    });

    test("a pod on the host's network reaches services of its namespace's networks, and of no other primary network", async () => {
      const services = (['blue/web', 'green/web'] as const).flatMap((name, n) => {
        const { node = '', addresses = [] } = onDefault.get(name) ?? {};
        const [slice] = sliceObjects(name, [{ pod: name, node, addresses }]);
        const ports = [{ name: 'web', port: SERVER_PORT, protocol: 'TCP' }];
        const [tenant] = name.split('/');
        return [
          {
            apiVersion: 'v1',
            kind: 'Service',
            metadata: { namespace: tenant, name: 'web' },
            spec: { clusterIP: CLUSTER_IPS[n], clusterIPs: [CLUSTER_IPS[n]], ports },
          },
          { ...slice, ports },
        ];
      });
      const agent = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { namespace: 'blue', name: 'agent' },
        spec: { nodeName: NODE, hostNetwork: true, containers: [{ name: 'web', image: 'web' }] },
      };
      const [own, others] = CLUSTER_IPS;
      write('agents.yaml', services);
      for (const [address, name] of [
        [own, 'blue/web'],
        [others, 'green/web'],
      ] as const)
        await until(
          `a process of the host to reach ${name} by ${address}`,
          async () => (await asked(address, {})) === name,
          LIMIT,
        );
      write('agents.yaml', [...services, agent]);
      let uid = '';
      await until(
        'the pod to be known',
        async () => {
          const { pods } = await readObjects(lab.record.name);
          uid = pods.find(({ metadata }) => metadata.name === 'agent')?.metadata.uid ?? '';
          return uid !== '';
        },
        LIMIT,
      );
      // As kubelet has systemd make it, before it starts the pod's containers.
      const slices = 'kubepods.slice/kubepods-besteffort.slice';
      const cgroup = `/sys/fs/cgroup/${slices}/kubepods-besteffort-pod${uid.replaceAll('-', '_')}.slice`;
      await onNode('mkdir', '-p', cgroup);
      const kept = (): Promise<string> =>
        onNode('nft', 'list', 'chain', 'inet', 'ovn-kubernetes', 'udn-host-pods');
      await until('a rule for it', async () => (await kept()).includes('socket cgroupv2'), LIMIT);
      expect(await asked(own, { cgroup })).toBe('blue/web');
      expect(await asked(others, { cgroup })).toBe('');
      expect(await asked(others, {})).toBe('green/web');
      write('agents.yaml', []);
      await until('the rule to go', async () => !(await kept()).includes('socket'), LIMIT);
      await onNode('rmdir', cgroup);
    });

    test('pods of all reach the API server and DNS, which are on the default network and the host', async () => {
      const from = PODS.map((name) => ends.get(name)?.namespace ?? '');
      const ways = from.flatMap((one) => [
        { from: one, to: API.ips[0], port: 443, ping: false },
        { from: one, to: DNS.ips[0], port: 80, ping: false },
        { from: one, to: DNS.ips[0], port: 80, protocol: 'udp' as const, ping: false },
      ]);
      const expected = PODS.flatMap(() => [NODE, DNS.pod, DNS.pod]);
      await until(
        'answers of all',
        async () => {
          const results = await probe(lab.record, ways, 10);
          return String(results.map(({ answer }) => answer?.server)) === String(expected);
        },
        LIMIT,
      );
    });

    test('names in EgressFirewalls are in force before pods of all are told, also after the daemon was killed, when they are told at once; pods of each StatefulSet find themselves, and nobody those of another tenant', async () => {
      const tenants = { ends, onDefault, write };
      write('peers.yaml', peerObjects(tenants));
      await proveNamesOnNetworks({
        lab: lab.record,
        tenants,
        known: peersOnDefault(tenants),
        also: (isAnswering) => provePeers(lab.record, tenants, isAnswering, ['blue/second']),
        pods: PODS,
        servers: DNS.ips.slice(0, 1),
        daemonArguments: ARGUMENTS,
      });
    });

    test('the way out of a pod is its own network, whose mark its connections have', async () => {
      const to = { to: OUTSIDE.v4, port: SERVER_PORT, ping: false };
      for (const [n, name] of PODS.entries()) {
        const id = n + 1;
        const { namespace = '', addresses = [] } = ends.get(name) ?? {};
        const route = await outputInside(lab.record, [
          'pod',
          name,
          'ip',
          'route',
          'show',
          'default',
        ]);
        expect(route.trim()).toBe(`default via ${addresses[0]?.replace(/\d+$/, '1')} dev ovn-udn1`);
        await until(
          `${name} to be seen outside as its node`,
          async () => {
            const [result] = await probe(lab.record, [{ ...to, from: namespace }], 10);
            return result?.answer?.peer === nodeAddresses(NODE)[0];
          },
          LIMIT,
        );
        const flow = ['--orig-src', `169.254.0.${9 + 2 * id}`, '--orig-dst', OUTSIDE.v4];
        const tracked = await onNode('conntrack', '-L', '--zone', '64000', '-p', 'tcp', ...flow);
        expect(tracked).toContain(` mark=${3 + id} `);
      }
    });

    test.each([
      ['ip rule flush'],
      ['ip route flush table 10001'],

      ['ip link delete dev mp2-udn-vrf'],
      ['ip link set dev ovn-k8s-mp1 nomaster'],
      ['ip address flush dev ovn-k8s-mp2'],
      [
        'ip link set dev breth0 down; ip link set dev breth0 up; ip route replace default via 172.18.0.100',
      ],
      ['ovs-vsctl --no-wait del-port br-int ovn-k8s-mp1'],
      ['echo 1 > /proc/sys/net/ipv4/conf/ovn-k8s-mp2/rp_filter'],
    ])('repairs: %s', async (breakage) => {
      await onNode('bash', '-c', breakage);
      await untilRight(`the host to be repaired after ${breakage}`);
    });

    test('a daemon that was killed leaves it as it is, and finds it right when it is started again', async () => {
      await stopDaemon(lab.record, NODE, 'kill');
      expect(await picture()).toBe(right);
      await startDaemon(lab.record, NODE, ARGUMENTS);
      await onNode('ip', 'rule', 'flush');
      await untilRight('the host after a start, and what was broken meanwhile');
    });

    test('cleanup takes everything of ours off it, and nothing else', async () => {
      const heddle = [join(checkout, 'node_modules/.bin/node'), heddleProgram];
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
