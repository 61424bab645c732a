/** OVNSecondaryNetworks with packets: flat networks of their own beside the pod network, and one on the underlay. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { probe, type Probe } from '../../src/lab/connectivity.ts';
import { outputInside, runInside } from '../../src/lab/exec.ts';
import { OUTSIDE } from '../../src/lab/node-facts.ts';
import { readObjects, settingsFile } from '../../src/lab/objects.ts';
import { serveOutward } from '../../src/lab/outward.ts';
import { attachedPods, SERVER_PORT } from '../../src/lab/pods.ts';
import { heddle } from '../support/run/heddle.ts';
import { labelNodes } from '../support/lab/egress-nodes.ts';
import { PORTS, service, sliceObjects } from '../support/lab/matrix-tenants.ts';
import { testLab, whyNoLab, type TestLab } from '../support/lab/lab.ts';
import { ownFolder } from '../support/run/left-behind.ts';
import { proofOf } from '../support/lab/proof.ts';
import { Tenants } from '../support/lab/tenants.ts';
import { until } from '../support/run/until.ts';

/** Limits of waits for a condition; how long it takes is not what is tested here. */
const SOON = { timeout: 60_000, interval: 300 };
const MTU = 1300;
/** What alpha/one asks for. */
const STATIC = { address: '10.70.0.77', mac: '0a:00:00:ca:fe:77' };
/** Of the outside host, on the subnet of alpha/lan. */
const OUTSIDE_ADDRESS = '10.71.0.250';
const FREE_ADDRESS = '10.70.0.99';

const secondary = (key: string, spec: object): object => {
  const [namespace, name] = key.split('/');
  return {
    apiVersion: 'k8s.ovn.org/v1alpha1',
    kind: 'OVNSecondaryNetwork',
    metadata: { namespace, name },
    spec,
  };
};
const ROUTED = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'UserDefinedNetwork',
  metadata: { namespace: 'alpha', name: 'routed' },
  spec: {
    topology: 'Layer3',
    layer3: { role: 'Secondary', subnets: [{ cidr: '10.73.0.0/16', hostSubnet: 24 }] },
  },
};
const GATEWAY = 'k8s.ovn.org/secondary-gateway';
/** Of addresses for services in the networks that have a gateway, and the range to which their pods have routes there. */
const POOLS = { out: '198.18.7.0/28', flat: '198.18.7.16/28', all: '198.18.7.0/27' };
const asks = (gateway: string | undefined, pool: string): object =>
  gateway === undefined
    ? {}
    : { annotations: { [GATEWAY]: gateway, 'k8s.ovn.org/service-pool': pool } };
/** A network with a way out: to the outside host, and to nobody else. `gateway`: its annotation. */
const wayOut = (gateway?: string): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'UserDefinedNetwork',
  metadata: {
    namespace: 'alpha',
    name: 'out',
    ...asks(gateway, POOLS.out),
  },
  spec: {
    topology: 'Layer3',
    layer3: {
      role: 'Secondary',
      subnets: [
        { cidr: '10.74.0.0/16', hostSubnet: 24 },
        { cidr: 'fd00:74::/48', hostSubnet: 64 },
      ],
    },
  },
});
/** The same on one switch over all nodes. */
const flatOut = (gateway?: string): object => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'UserDefinedNetwork',
  metadata: {
    namespace: 'alpha',
    name: 'flat',
    ...asks(gateway, POOLS.flat),
  },
  spec: {
    topology: 'Layer2',
    layer2: { role: 'Secondary', subnets: ['10.75.0.0/16', 'fd00:75::/64'] },
  },
});
const TO_OUTSIDE = JSON.stringify({
  routes: [`${OUTSIDE.v4}/32`, `${OUTSIDE.v6}/128`, POOLS.all],
});
const NODE_PORT = 30_180;
const EGRESS_ADDRESS = '172.18.0.70';
/** What leaves node n1 has these addresses. */
const NODE = ['172.18.0.11', 'fd00:172:18::11'];
const podOn = (key: string, nodeName: string, networks: unknown): object => {
  const [namespace, name] = key.split('/');
  const text = typeof networks === 'string' ? networks : JSON.stringify(networks);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name, annotations: { 'k8s.v1.cni.cncf.io/networks': text } },
    spec: { nodeName, containers: [{ name: 'web', image: 'web' }] },
  };
};
const staticMesh = {
  name: 'mesh',
  interface: 'mesh0',
  ips: [`${STATIC.address}/24`],
  mac: STATIC.mac,
};
/** A namespace with a primary network beside one with a gateway, both with the join subnets of the cluster, and a pod on them. */
const BESIDE = [
  {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'gamma', labels: { 'k8s.ovn.org/primary-user-defined-network': '' } },
  },
  ...[
    { name: 'own', role: 'Primary', number: 76 },
    { name: 'side', role: 'Secondary', number: 77 },
  ].map(({ name, role, number }) => ({
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'UserDefinedNetwork',
    metadata: {
      namespace: 'gamma',
      name,
      ...(role === 'Primary' ? {} : { annotations: { [GATEWAY]: '{}' } }),
    },
    spec: {
      topology: 'Layer3',
      layer3: {
        role,
        subnets: [
          { cidr: `10.${number}.0.0/16`, hostSubnet: 24 },
          { cidr: `fd00:${number}::/48`, hostSubnet: 64 },
        ],
      },
    },
  })),
  podOn('gamma/web', 'n2', 'side'),
];
const PODS = {
  alpha: [
    podOn('alpha/one', 'n1', [
      staticMesh,
      { name: 'lan' },
      { name: 'bare' },
      { name: 'routed' },
      { name: 'out' },
    ]),
    podOn('alpha/two', 'n2', 'mesh, lan, bare, routed, out'),
    podOn('alpha/three', 'n3', 'mesh, flat'),
    podOn('alpha/four', 'n1', 'flat'),
  ],
  beta: [podOn('beta/one', 'n1', 'mesh'), podOn('beta/two', 'n2', 'mesh')],
};
const manifest = (objects: readonly object[]): string =>
  objects.map((object) => stringify(object)).join('---\n');

/** Asks for an address on an interface, and prints what is offered: address, mask, and MTU (option 26). */
const DHCP_CLIENT = `
import socket, struct, sys
device, mac = sys.argv[1], bytes.fromhex(sys.argv[2].replace(':', ''))
question = struct.pack('!BBBBIHH16x16s192x', 1, 1, 6, 0, 7, 0, 0x8000, mac)
question += bytes([99, 130, 83, 99, 53, 1, 1, 55, 2, 1, 26, 255])
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
    client.bind(('', 68))
    client.settimeout(5)
    client.sendto(question, ('255.255.255.255', 67))
    answer = client.recv(2000)
options, rest = {}, answer[240:]
while rest and rest[0] != 255:
    options[rest[0]], rest = rest[2:2 + rest[1]], rest[2 + rest[1]:]
print(socket.inet_ntoa(answer[16:20]), socket.inet_ntoa(options[1]), int.from_bytes(options[26], 'big'))
`;

describe.skipIf(whyNoLab !== undefined)(
  `secondary networks${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    const folder = ownFolder('heddle-secondary');
    let lab: TestLab;
    let tenants: Tenants;
    const inPod = (pod: string, line: string): Promise<string> =>
      outputInside(lab.record, ['pod', pod, ...line.split(' ')]);
    const declare = (file: string, ...objects: object[]): void =>
      writeFileSync(join(tenants.manifests, file), manifest(objects));
    const withdraw = (file: string): void => rmSync(join(tenants.manifests, file), { force: true });

    interface End {
      readonly device: string;
      readonly mac: string;
      readonly address: string;
    }
    /** A pod's end of a network: of `alpha/mesh` for `alpha/one`. */
    const end = (pod: string, nad: string): End => {
      const found = attachedPods(lab.record)
        .find(({ name }) => name === pod)
        ?.interfaces.find(({ nadKey }) => nadKey === nad);
      if (found === undefined) throw new Error(`${pod} has no interface on ${nad}`);
      return { ...found, address: found.addresses[0]?.split('/')[0] ?? '' };
    };
    const networkNamespace = (pod: string): string =>
      attachedPods(lab.record).find(({ name }) => name === pod)?.namespace ?? pod;
    /** Who answers at an address, asked from a pod or from the outside host `ext`: `alpha/two` or `nobody`. */
    const answers = async (...ways: readonly (readonly [string, string])[]): Promise<string[]> => {
      const probes = ways.map(([from, to]): Probe => ({
        from: networkNamespace(from),
        to,
        port: SERVER_PORT,
      }));
      const results = await probe(lab.record, probes, 3);
      return results.map(({ answer }) => answer?.server ?? 'nobody');
    };

    /** What `heddle status` finds wrong: `Pod alpha/copy: …`. */
    const problems = async (): Promise<string[]> => {
      const { stdout } = await heddle('status', '--config', settingsFile(lab.record.name));
      return stdout.split('\n');
    };

    beforeAll(async () => {
      const networks = ['alpha', 'beta'].flatMap((name) => [
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { leaves: name } } },
        secondary(`${name}/mesh`, { subnet: '10.70.0.0/24', mtu: MTU }),
      ]);
      writeFileSync(join(folder, 'networks.yaml'), manifest(networks));
      const lan = secondary('alpha/lan', { subnet: '10.71.0.0/24', hasExternalConnectivity: true });
      writeFileSync(join(folder, 'lan.yaml'), manifest([lan, secondary('alpha/bare', {}), ROUTED]));
      writeFileSync(join(folder, 'out.yaml'), manifest([wayOut(TO_OUTSIDE), flatOut(TO_OUTSIDE)]));
      writeFileSync(join(folder, 'beside.yaml'), manifest(BESIDE));
      for (const [name, pods] of Object.entries(PODS))
        writeFileSync(join(folder, `${name}-pods.yaml`), manifest(pods));
      lab = await testLab('e2e-secondary', { families: 'dual' });
      const address = ['address', 'add', `${OUTSIDE_ADDRESS}/24`, 'dev', 'eth0'];
      await outputInside(lab.record, ['ip', '-n', 'ext', ...address]);
      tenants = new Tenants(lab.record, {
        folder,
        daemonArguments: ['--render-grace-period=2', '--secondary-gateways=true'],
      });
      await tenants.start();
      await serveOutward(lab.record);
      // No node tells of networks of pods that are on their way: a pod's come one after the other.
      await until(
        'pods to have the networks that they ask for',
        async () => {
          await tenants.settle();
          const attached = attachedPods(lab.record).map(({ interfaces }) => interfaces.length - 1);
          return attached.toSorted((a, b) => a - b).join(' ') === '1 1 1 2 2 5 5';
        },
        SOON.timeout,
      );
    });
    afterAll(async () => {
      rmSync(folder, { recursive: true });
      await lab[Symbol.asyncDispose]();
    });
    afterEach(() => withdraw('copy.yaml'));

    test('a pod has an interface for each network that it names, with the name, address and MAC that it asks for', async () => {
      expect(end('alpha/one', 'alpha/mesh')).toMatchObject({
        device: 'mesh0',
        mac: STATIC.mac,
        address: STATIC.address,
      });
      // Numbered by its place among those that are asked for.
      expect(end('alpha/one', 'alpha/lan').device).toBe('net2');
      expect(end('alpha/two', 'alpha/lan').address).toMatch(/^10\.71\.0\./);
      const shown = await inPod('alpha/one', 'ip -o -4 address show dev mesh0');
      expect(shown).toContain(`inet ${STATIC.address}/24`);
      expect(await inPod('alpha/one', 'ip -o link show dev mesh0')).toContain(STATIC.mac);
    });

    test('OVN answers a DHCP client with the address that the pod has, and the MTU', async () => {
      for (const pod of ['alpha/one', 'beta/two']) {
        const { device, mac, address } = end(pod, `${pod.split('/')[0]}/mesh`);
        const argv = ['pod', pod, 'python3', '-c', DHCP_CLIENT, device, mac];
        expect(await outputInside(lab.record, argv)).toBe(`${address} 255.255.255.0 ${MTU}\n`);
      }
    });

    test('pods reach each other over three nodes, and nobody of another namespace with the same subnet', async () => {
      const [two, three] = ['alpha/two', 'alpha/three'].map(
        (pod) => end(pod, 'alpha/mesh').address,
      );
      const other = end('beta/two', 'beta/mesh').address;
      const ways = [
        ['alpha/one', two ?? ''],
        ['alpha/one', three ?? ''],
        ['alpha/three', STATIC.address],
        ['beta/one', other],
        ['beta/one', STATIC.address],
        ['ext', STATIC.address],
      ] as const;
      await expect
        .poll(() => answers(...ways), SOON)
        .toEqual(['alpha/two', 'alpha/three', 'alpha/one', 'beta/two', 'nobody', 'nobody']);
    });

    test('a network with external connectivity is on the underlay: a host there is reached, and reaches the pods', async () => {
      const [one, two] = ['alpha/one', 'alpha/two'].map((pod) => end(pod, 'alpha/lan').address);
      await expect
        .poll(() => answers(['ext', one ?? ''], ['ext', two ?? ''], ['alpha/one', two ?? '']), SOON)
        .toEqual(['alpha/one', 'alpha/two', 'alpha/two']);
      for (const pod of ['alpha/one', 'alpha/two'])
        await inPod(pod, `ping -c 1 -w 5 ${OUTSIDE_ADDRESS}`);
    });

    test('on a network of Layer3 each node has a subnet of its own, and pods of two nodes reach each other', async () => {
      const [one, two] = ['alpha/one', 'alpha/two'].map((pod) => end(pod, 'alpha/routed').address);
      const subnetOf = (address = ''): string => address.slice(0, address.lastIndexOf('.'));
      expect(subnetOf(one)).not.toBe(subnetOf(two));
      await expect
        .poll(() => answers(['alpha/one', two ?? ''], ['alpha/two', one ?? '']), SOON)
        .toEqual(['alpha/two', 'alpha/one']);
      expect(await answers(['beta/one', two ?? ''], ['ext', two ?? ''])).toEqual([
        'nobody',
        'nobody',
      ]);
    });

    /** As whom the outside host sees a pod, by both families: its node, an egress address, or nobody. */
    const seenAs = async (pod: string): Promise<string[]> => {
      const probes = [OUTSIDE.v4, OUTSIDE.v6].map((to): Probe => ({
        from: networkNamespace(pod),
        to,
        port: SERVER_PORT,
        ping: false,
      }));
      return (await probe(lab.record, probes, 3)).map(({ answer }) => answer?.peer ?? 'nobody');
    };
    const deviceTo = async (pod: string, to: string): Promise<string> =>
      / dev (\S+)/.exec(await inPod(pod, `ip route get ${to}`))?.[1] ?? '';

    test('a secondary network with a gateway leads out, with the address of the node, and nobody in', async () => {
      const { device, address } = end('alpha/one', 'alpha/out');
      expect(await deviceTo('alpha/one', OUTSIDE.v4)).toBe(device);
      expect(await deviceTo('alpha/one', OUTSIDE.v6)).toBe(device);
      expect(await deviceTo('alpha/one', '172.18.0.12')).toBe('eth0');
      await expect.poll(() => seenAs('alpha/one'), SOON).toEqual(NODE);
      const two = end('alpha/two', 'alpha/out').address;
      const route = `-n ext route replace ${address}/32 via ${NODE[0]}`;
      await outputInside(lab.record, ['ip', ...route.split(' ')]);
      expect(
        await answers(
          ['alpha/one', two],
          ['alpha/three', two],
          ['beta/one', two],
          ['beta/one', address],
          ['ext', address],
        ),
      ).toEqual(['alpha/two', 'nobody', 'nobody', 'nobody', 'nobody']);
    });

    test('a flat one leads out of each node, by one gateway that no pod has the address of', async () => {
      const { device, address } = end('alpha/three', 'alpha/flat');
      expect(await deviceTo('alpha/three', OUTSIDE.v4)).toBe(device);
      await expect
        .poll(() => seenAs('alpha/three'), SOON)
        .toEqual(['172.18.0.13', 'fd00:172:18::13']);
      await expect.poll(() => seenAs('alpha/four'), SOON).toEqual(NODE);
      const four = end('alpha/four', 'alpha/flat').address;
      expect(['10.75.0.1', '10.75.0.2']).not.toContain(four);
      expect(
        await answers(['alpha/three', four], ['alpha/four', address], ['beta/one', four]),
      ).toEqual(['alpha/four', 'alpha/three', 'nobody']);
    });

    test('what a pod answers on its default network to a host that its routes lead to goes back there', async () => {
      const { addresses = [] } =
        attachedPods(lab.record)
          .find(({ name }) => name === 'alpha/one')
          ?.interfaces.find(({ nadKey }) => nadKey === 'default') ?? {};
      const own = addresses.map((address) => address.split('/')[0] ?? '');
      declare(
        'service.yaml',
        service('alpha/web', ['172.16.1.40', 'fd00:10:96::40'], {
          type: 'NodePort',
          externalTrafficPolicy: 'Local',
          ports: PORTS.map((port) => ({ ...port, nodePort: NODE_PORT })),
        }),
        ...sliceObjects('alpha/web', [{ pod: 'alpha/one', node: 'n1', addresses: own }]),
      );
      const fromOutside = async (): Promise<string[]> => {
        const probes = NODE.map((to): Probe => ({ from: 'ext', to, port: NODE_PORT, ping: false }));
        return (await probe(lab.record, probes, 3)).map(({ answer }) =>
          answer === null ? 'nobody' : `${answer.server} sees ${answer.peer}`,
        );
      };
      await expect
        .poll(fromOutside, SOON)
        .toEqual([`alpha/one sees ${OUTSIDE.v4}`, `alpha/one sees ${OUTSIDE.v6}`]);
      withdraw('service.yaml');
    });

    test('an EgressFirewall of the namespace is in force on it', async () => {
      declare('firewall.yaml', {
        apiVersion: 'k8s.ovn.org/v1',
        kind: 'EgressFirewall',
        metadata: { namespace: 'alpha', name: 'default' },
        spec: { egress: [{ type: 'Deny', to: { cidrSelector: `${OUTSIDE.v4}/32` } }] },
      });
      for (const pod of ['alpha/one', 'alpha/four'])
        await expect.poll(() => seenAs(pod), SOON).toEqual(['nobody', NODE[1]]);
      withdraw('firewall.yaml');
      await expect.poll(() => seenAs('alpha/one'), SOON).toEqual(NODE);
    });

    test('pods of two nodes leave it with an EgressIP, by the node that has it', async () => {
      labelNodes(lab.record, { 'k8s.ovn.org/egress-assignable': '' }, ['n2']);
      declare('egress-ip.yaml', {
        apiVersion: 'k8s.ovn.org/v1',
        kind: 'EgressIP',
        metadata: { name: 'alpha' },
        spec: {
          egressIPs: [EGRESS_ADDRESS],
          namespaceSelector: { matchLabels: { leaves: 'alpha' } },
        },
      });
      const seen = async (): Promise<string[]> => [
        ...(await seenAs('alpha/one')),
        ...(await seenAs('alpha/two')),
        ...(await seenAs('alpha/four')),
      ];
      await expect
        .poll(seen, SOON)
        .toEqual([
          EGRESS_ADDRESS,
          NODE[1],
          EGRESS_ADDRESS,
          'fd00:172:18::12',
          EGRESS_ADDRESS,
          NODE[1],
        ]);
      withdraw('egress-ip.yaml');
      await expect.poll(() => seenAs('alpha/one'), SOON).toEqual(NODE);
    });

    test('with an EgressIP for some destinations what is for these leaves it with its address', async () => {
      declare(
        'egress-ip.yaml',
        {
          apiVersion: 'k8s.ovn.org/v1',
          kind: 'EgressTrafficClass',
          metadata: { name: 'outside', labels: { group: 'outside' } },
          spec: { destinations: [{ cidr: `${OUTSIDE.v4}/32` }] },
        },
        {
          apiVersion: 'k8s.ovn.org/v1',
          kind: 'EgressIP',
          metadata: { name: 'to-outside' },
          spec: {
            egressIPs: [EGRESS_ADDRESS],
            namespaceSelector: { matchLabels: { leaves: 'alpha' } },
            trafficSelector: { matchLabels: { group: 'outside' } },
          },
        },
      );
      for (const pod of ['alpha/one', 'alpha/four'])
        await expect.poll(() => seenAs(pod), SOON).toEqual([EGRESS_ADDRESS, NODE[1]]);
      withdraw('egress-ip.yaml');
      for (const pod of ['alpha/one', 'alpha/four'])
        await expect.poll(() => seenAs(pod), SOON).toEqual(NODE);
    });

    describe('a service on a secondary network with a gateway', () => {
      /** A network with a gateway, the pod on n1 that asks, and the pod behind the services. */
      const NETWORKS = [
        { name: 'out', client: 'alpha/one', server: 'alpha/two', node: 'n2', number: 50 },
        { name: 'flat', client: 'alpha/four', server: 'alpha/three', node: 'n3', number: 52 },
      ] as const;
      const NAMED = 'k8s.v1.cni.cncf.io/service-network';
      const ips = (number: number): string[] => [`172.16.1.${number}`, `fd00:10:96::${number}`];
      const port = (number: number): number => 30_200 + number;
      /** Of the load balancer; the outside host has routes to them by n1. */
      const external = (number: number): string[] => [`203.0.113.${number}`, `2001:db8::${number}`];
      const addressesOf = (pod: string, nad: string): readonly string[] =>
        (
          attachedPods(lab.record)
            .find(({ name }) => name === pod)
            ?.interfaces.find(({ nadKey }) => nadKey === nad)?.addresses ?? []
        ).map((address) => address.split('/')[0] ?? '');
      const onNetwork = (object: object, network: string): object => {
        const { metadata } = object as { metadata: object };
        return { ...object, metadata: { ...metadata, annotations: { [NAMED]: network } } };
      };
      const of = (key: string, pods: Readonly<Record<string, string>>): object[] =>
        sliceObjects(
          key,
          Object.entries(pods).map(([pod, node]) => ({
            pod,
            node,
            addresses: addressesOf(pod, 'default'),
          })),
        );
      /** One that has an address of its network's pool, and its key and that address. */
      const pooled = ({ name, server, node, number }: (typeof NETWORKS)[number]) => {
        const key = `alpha/${name}-pool`;
        const at = `198.18.7.${name === 'out' ? 5 : 21}`;
        const one = service(key, ips(number + 4), {
          type: 'LoadBalancer',
          loadBalancerClass: 'k8s.ovn.org/udn-loadbalancer',
          loadBalancerIP: at,
          allocateLoadBalancerNodePorts: false,
          ports: PORTS,
        });
        return { at, objects: [onNetwork(one, name), ...of(key, { [server]: node })] };
      };
      /** `network`: as the annotation says it; absent: without. */
      const objects = (network?: (name: string) => string): object[] =>
        NETWORKS.flatMap(({ name, client, server, node, number }) => {
          const made = (suffix: string, at: number, spec: object, both = false): object[] => {
            const key = `alpha/${name}${suffix}`;
            const ingress = external(at).map((ip) => ({ ip }));
            const one = service(
              key,
              ips(at),
              {
                type: 'LoadBalancer',
                ports: PORTS.map((known) => ({ ...known, nodePort: port(at) })),
                ...spec,
              },
              { loadBalancer: { ingress } },
            );
            return [
              network === undefined ? one : onNetwork(one, network(name)),
              ...of(key, { [server]: node, ...(both ? { [client]: 'n1' } : {}) }),
            ];
          };
          return [
            ...made('', number, {}),
            ...made(
              '-local',
              number + 1,
              {
                externalTrafficPolicy: 'Local',
                sessionAffinity: 'ClientIP',
              },
              true,
            ),
          ];
        });
      const asked = async (probes: readonly Probe[]): Promise<string[]> =>
        (await probe(lab.record, probes, 3)).map(({ answer }) => answer?.server ?? 'nobody');
      const expectAnswers = (...ways: readonly (readonly [Probe, string])[]): Promise<void> =>
        expect
          .poll(() => asked(ways.map(([way]) => ({ ...way, ping: false }))), SOON)
          .toEqual(ways.map(([, answer]) => answer));
      const protocols = ['tcp', 'udp'] as const;
      /** What comes from outside by a node's port and by an address that is routed to n1, each protocol and family. */
      const fromOutside = (answer: (server: string) => string): (readonly [Probe, string])[] =>
        NETWORKS.flatMap(({ server, number }) =>
          protocols.flatMap((protocol) => [
            ...[...NODE, '172.18.0.13', 'fd00:172:18::13'].map(
              (to) => [{ from: 'ext', to, port: port(number), protocol }, answer(server)] as const,
            ),
            ...external(number).map(
              (to) => [{ from: 'ext', to, port: 80, protocol }, answer(server)] as const,
            ),
          ]),
        );

      beforeAll(async () => {
        for (const { number } of NETWORKS)
          for (const at of [number, number + 1])
            for (const [n, ip] of external(at).entries())
              await outputInside(lab.record, [
                'ip',
                '-n',
                'ext',
                ...`route replace ${ip} via ${NODE[n]}`.split(' '),
              ]);
        declare('services.yaml', ...objects((name) => name));
      });

      test('is reached from outside by ports of nodes and by its external addresses', () =>
        expectAnswers(...fromOutside((server) => server)));

      test('with externalTrafficPolicy Local sees who asks, by the nodes that have a pod of it alone', async () => {
        const ways = NETWORKS.flatMap(({ number }) =>
          [...NODE, '172.18.0.12', '172.18.0.13'].map((to): Probe => ({
            from: 'ext',
            to,
            port: port(number + 1),
            ping: false,
          })),
        );
        const seen = async (): Promise<string[]> =>
          (await probe(lab.record, ways, 3)).map(({ answer }) =>
            answer === null ? 'nobody' : `${answer.server} ${answer.peer}`,
          );
        await expect
          .poll(seen, SOON)
          .toEqual([
            `alpha/one ${OUTSIDE.v4}`,
            `alpha/one ${OUTSIDE.v6}`,
            `alpha/two ${OUTSIDE.v4}`,
            'nobody',
            `alpha/four ${OUTSIDE.v4}`,
            `alpha/four ${OUTSIDE.v6}`,
            'nobody',
            `alpha/three ${OUTSIDE.v4}`,
          ]);
      });

      test('is reached at its cluster IPs by pods that send with their address on the network and by the host, and by nobody else', async () => {
        const ways = NETWORKS.flatMap(({ name, client, server, number }) => {
          const sources = addressesOf(client, `alpha/${name}`);
          return ips(number).flatMap((to, n) =>
            protocols.flatMap((protocol) => {
              const way = { to, port: 80, protocol };
              const source = sources[n] ?? '';
              return [
                [{ ...way, from: networkNamespace(client), source }, server] as const,
                [{ ...way, from: networkNamespace(client) }, 'nobody'] as const,
                [{ ...way, from: networkNamespace('beta/two') }, 'nobody'] as const,
                [{ ...way, from: 'n1' }, server] as const,
                // By the node port of its own node the default network gets there, as to primary networks.
                [
                  { ...way, from: networkNamespace(client), to: NODE[n] ?? '', port: port(number) },
                  server,
                ] as const,
              ];
            }),
          );
        });
        await expectAnswers(...ways);
      });

      test('has an address of the pool of its network, by which pods there reach it, and nobody else', async () => {
        declare('pooled.yaml', ...NETWORKS.flatMap((network) => pooled(network).objects));
        const ways = NETWORKS.flatMap((network) =>
          protocols.flatMap((protocol) => {
            const way = { to: pooled(network).at, port: 80, protocol };
            return [
              [{ ...way, from: networkNamespace(network.client) }, network.server] as const,
              ...[networkNamespace('beta/two'), 'ext', 'n1'].map(
                (from) => [{ ...way, from }, 'nobody'] as const,
              ),
            ];
          }),
        );
        await expectAnswers(...ways);
        withdraw('pooled.yaml');
      });

      test('with affinity keeps a pod with one of its endpoints', async () => {
        for (const { name, client, number } of NETWORKS) {
          const [source = ''] = addressesOf(client, `alpha/${name}`);
          const [to = ''] = ips(number + 1);
          const way = { from: networkNamespace(client), source, to, port: 80, ping: false };
          // OVN drops the first packet of a client of which it learns the endpoint.
          const found = async (): Promise<string> =>
            [...new Set(await asked(Array.from({ length: 8 }, () => way)))].join(' ');
          await expect.poll(found, SOON).toMatch(/^alpha\/\S+$/);
        }
      });

      test('joins no networks, as a proof of each node finds', async () => {
        for (const node of ['n1', 'n2', 'n3']) {
          const { code, verdict } = await proofOf(lab.record, node, ['--secondary-gateways=true']);
          expect([node, code, verdict.violations]).toEqual([node, 0, []]);
        }
      });

      test('is beside one on the primary network of the same pod, by whose networks answers go back', async () => {
        const nodePorts = { own: 30_260, side: 30_261, local: 30_262 };
        declare(
          'beside-services.yaml',
          ...Object.entries(nodePorts).flatMap(([name, nodePort], n) => {
            const one = service(`gamma/${name}`, ips(60 + n), {
              type: 'NodePort',
              externalTrafficPolicy: name === 'local' ? 'Local' : 'Cluster',
              ports: PORTS.map((known) => ({ ...known, nodePort })),
            });
            return [
              name === 'own' ? one : onNetwork(one, 'side'),
              ...of(`gamma/${name}`, { 'gamma/web': 'n2' }),
            ];
          }),
        );
        const at = (node: readonly string[], nodePort: number, protocol: 'tcp' | 'udp') =>
          node.map((to) => [{ from: 'ext', to, port: nodePort, protocol }, 'gamma/web'] as const);
        const n2 = ['172.18.0.12', 'fd00:172:18::12'];
        // The pods' server of datagrams does not say from which address it answers: the kernel chooses that of the primary network.
        await expectAnswers(
          ...protocols.flatMap((protocol) => at(NODE, nodePorts.own, protocol)),
          ...at(NODE, nodePorts.side, 'tcp'),
          ...at(n2, nodePorts.local, 'tcp'),
        );
        for (const file of ['beside-services.yaml', 'beside.yaml']) withdraw(file);
      });

      test('has endpoints nowhere while it names a network that it can not be on, and says so', async () => {
        declare('services.yaml', ...objects((name) => (name === 'out' ? 'routed' : 'beta/mesh')));
        await expectAnswers(...fromOutside(() => 'nobody'));
        await expect
          .poll(problems, SOON)
          .toEqual(
            expect.arrayContaining([
              expect.stringMatching(/Service alpha\/out: .*"routed" is of network .* no gateway/),
              expect.stringMatching(/Service alpha\/flat: .*"beta\/mesh" is of namespace beta/),
            ]),
          );
      });

      test('is on the default network as any other one without the annotation', async () => {
        declare('services.yaml', ...objects());
        await expectAnswers(...fromOutside((server) => server));
        const ofDefault = NETWORKS.map(
          ({ client, server, number }) =>
            [
              { from: networkNamespace(client), to: ips(number)[0] ?? '', port: 80 },
              server,
            ] as const,
        );
        await expectAnswers(...ofDefault);
        withdraw('services.yaml');
        await expect.poll(() => tenants.mentions('Service_alpha'), SOON).toEqual([]);
      });
    });

    test('without the annotation nothing of its gateway is left, and pods stay on it', async () => {
      const gateways = async (): Promise<readonly string[]> => [
        ...(await tenants.mentions('GR_alpha_out')),
        ...(await tenants.mentions('GR_alpha_flat')),
      ];
      expect(await gateways()).not.toEqual([]);
      declare('out.yaml', wayOut(), flatOut());
      await expect.poll(gateways, SOON).toEqual([]);
      for (const pod of ['alpha/one', 'alpha/three'])
        expect(await seenAs(pod)).toEqual(['nobody', 'nobody']);
      const two = end('alpha/two', 'alpha/out').address;
      const four = end('alpha/four', 'alpha/flat').address;
      expect(await answers(['alpha/one', two], ['alpha/three', four])).toEqual([
        'alpha/two',
        'alpha/four',
      ]);
      declare('out.yaml', wayOut(TO_OUTSIDE), flatOut(TO_OUTSIDE));
      for (const pod of ['alpha/one', 'alpha/four'])
        await expect.poll(() => seenAs(pod), SOON).toEqual(NODE);
    });

    test('a network without a subnet carries what addresses pods give themselves, from the MACs that they have', async () => {
      const [one, two] = ['alpha/one', 'alpha/two'].map((pod) => end(pod, 'alpha/bare'));
      expect([one?.address, two?.address]).toEqual(['', '']);
      await inPod('alpha/one', `ip address add 10.72.0.1/24 dev ${one?.device}`);
      await inPod('alpha/two', `ip address add 10.72.0.2/24 dev ${two?.device}`);
      await inPod('alpha/one', 'ping -c 3 -i 0.3 -w 10 10.72.0.2');
      await inPod('alpha/one', `ip link set ${one?.device} address 0a:00:00:00:00:98`);
      const ping = 'ping -c 3 -i 0.3 -w 3 10.72.0.2'.split(' ');
      expect((await runInside(lab.record, ['pod', 'alpha/one', ...ping])).code).not.toBe(0);
      await inPod('alpha/one', `ip link set ${one?.device} address ${one?.mac}`);
    });

    test('a MultiNetworkPolicy closes the interfaces on its network to all but those that it names, and nothing else', async () => {
      const three = end('alpha/three', 'alpha/mesh').address;
      const two = end('alpha/two', 'alpha/mesh').address;
      const ways = [
        ['alpha/one', two],
        ['alpha/three', two],
        ['alpha/two', three],
        ['beta/one', end('beta/two', 'beta/mesh').address],
        ['ext', end('alpha/two', 'alpha/lan').address],
      ] as const;
      const open = ['alpha/two', 'alpha/two', 'alpha/three', 'beta/two', 'alpha/two'];
      expect(await answers(...ways)).toEqual(open);
      declare('policy.yaml', {
        apiVersion: 'k8s.cni.cncf.io/v1beta1',
        kind: 'MultiNetworkPolicy',
        metadata: {
          namespace: 'alpha',
          name: 'from-three',
          annotations: { 'k8s.v1.cni.cncf.io/policy-for': 'mesh' },
        },
        spec: {
          podSelector: {},
          policyTypes: ['Ingress'],
          ingress: [{ from: [{ ipBlock: { cidr: `${three}/32` } }] }],
        },
      });
      await expect
        .poll(() => answers(...ways), SOON)
        .toEqual(['nobody', 'alpha/two', 'nobody', 'beta/two', 'alpha/two']);
      withdraw('policy.yaml');
      await expect.poll(() => answers(...ways), SOON).toEqual(open);
    });

    test('a pod that takes another address or MAC than its own is not heard', async () => {
      const target = end('alpha/two', 'alpha/mesh').address;
      const { device, mac } = end('alpha/three', 'alpha/mesh');
      const isHeard = async (from: string): Promise<boolean> => {
        const ping = `ping -c 3 -i 0.3 -w 3 -I ${from} ${target}`.split(' ');
        return (await runInside(lab.record, ['pod', 'alpha/three', ...ping])).code === 0;
      };
      expect(await isHeard(device)).toBe(true);
      await inPod('alpha/three', `ip address add ${FREE_ADDRESS}/24 dev ${device}`);
      expect(await isHeard(FREE_ADDRESS)).toBe(false);
      await inPod('alpha/three', `ip address delete ${FREE_ADDRESS}/24 dev ${device}`);
      await inPod('alpha/three', `ip link set ${device} address 0a:00:00:00:00:99`);
      expect(await isHeard(device)).toBe(false);
      await inPod('alpha/three', `ip link set ${device} address ${mac}`);
      await expect.poll(() => isHeard(device), SOON).toBe(true);
    });

    test('an address that another pod has is refused, and that pod keeps it', async () => {
      declare('copy.yaml', podOn('alpha/copy', 'n2', [staticMesh]));
      const taken = `Pod alpha/copy: failed to ensure requested or annotated IPs [${STATIC.address}/24]`;
      await expect.poll(problems, SOON).toContainEqual(expect.stringContaining(taken));
      const { pods } = await readObjects(lab.record.name);
      const copy = pods.find(({ metadata }) => metadata.name === 'copy');
      expect(copy?.metadata.annotations?.['k8s.ovn.org/pod-networks']).not.toContain('alpha/mesh');
      expect(await answers(['alpha/three', STATIC.address])).toEqual(['alpha/one']);
    });

    test('a network that is deleted stays while pods use it, and leaves nothing after them', async () => {
      withdraw('lan.yaml');
      withdraw('out.yaml');
      const inUse = 'network in use by the following pods: [alpha/one alpha/two]';
      await expect.poll(problems, SOON).toContainEqual(expect.stringContaining(inUse));
      expect(await answers(['ext', end('alpha/one', 'alpha/lan').address])).toEqual(['alpha/one']);
      withdraw('alpha-pods.yaml');
      await expect
        .poll(async () => {
          const { nads, networks } = await readObjects(lab.record.name);
          const left = networks.filter(({ kind }) => kind === 'UserDefinedNetwork');
          return [...nads, ...left]
            .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
            .sort();
        }, SOON)
        .toEqual(['alpha/mesh', 'beta/mesh']);
      await tenants.settle();
      await expect.poll(() => tenants.mentions('secondary_alpha'), SOON).toEqual([]);
      const other = end('beta/two', 'beta/mesh').address;
      expect(await answers(['beta/one', other])).toEqual(['beta/two']);
    });
  },
);
