/** Secondary networks with packets: flat ones of their own beside the pod network, one on the underlay, and one with a subnet per node. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { outputInside, runInside } from '../../src/lab/exec.ts';
import { readObjects } from '../../src/lab/objects.ts';
import { whyNoLab } from '../support/lab/lab.ts';
import { flatSecondary, SecondaryLab, secondaryPod, SOON } from '../support/lab/secondary-lab.ts';

const MTU = 1300;
/** What alpha/one asks for. */
const STATIC = { address: '10.70.0.77', mac: '0a:00:00:ca:fe:77' };
/** Of the outside host, on the subnet of alpha/lan. */
const OUTSIDE_ADDRESS = '10.71.0.250';
const FREE_ADDRESS = '10.70.0.99';

const ROUTED = {
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'UserDefinedNetwork',
  metadata: { namespace: 'alpha', name: 'routed' },
  spec: {
    topology: 'Layer3',
    layer3: { role: 'Secondary', subnets: [{ cidr: '10.73.0.0/16', hostSubnet: 24 }] },
  },
};
const staticMesh = {
  name: 'mesh',
  interface: 'mesh0',
  ips: [`${STATIC.address}/24`],
  mac: STATIC.mac,
};
const FILES = {
  'networks.yaml': ['alpha', 'beta'].flatMap((name) => [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    flatSecondary(`${name}/mesh`, { subnet: '10.70.0.0/24', mtu: MTU }),
  ]),
  'lan.yaml': [
    flatSecondary('alpha/lan', { subnet: '10.71.0.0/24', hasExternalConnectivity: true }),
    flatSecondary('alpha/bare', {}),
    ROUTED,
  ],
  'alpha-pods.yaml': [
    secondaryPod('alpha/one', 'n1', [
      staticMesh,
      { name: 'lan' },
      { name: 'bare' },
      { name: 'routed' },
    ]),
    secondaryPod('alpha/two', 'n2', 'mesh, lan, bare, routed'),
    secondaryPod('alpha/three', 'n3', 'mesh'),
  ],
  'beta-pods.yaml': [
    secondaryPod('beta/one', 'n1', 'mesh'),
    secondaryPod('beta/two', 'n2', 'mesh'),
  ],
};

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
    let lab: SecondaryLab;

    beforeAll(async () => {
      lab = await SecondaryLab.start({
        name: 'e2e-secondary',
        files: FILES,
        daemonArguments: ['--render-grace-period=2'],
        networksOfPods: [1, 1, 1, 4, 4],
      });
      const address = ['address', 'add', `${OUTSIDE_ADDRESS}/24`, 'dev', 'eth0'];
      await outputInside(lab.record, ['ip', '-n', 'ext', ...address]);
    });
    afterAll(async () => {
      await lab[Symbol.asyncDispose]();
    });
    afterEach(() => {
      lab.withdraw('copy.yaml');
    });

    test('a pod has an interface for each network that it names, with the name, address and MAC that it asks for', async () => {
      expect(lab.end('alpha/one', 'alpha/mesh')).toMatchObject({
        device: 'mesh0',
        mac: STATIC.mac,
        address: STATIC.address,
      });
      // Numbered by its place among those that are asked for.
      expect(lab.end('alpha/one', 'alpha/lan').device).toBe('net2');
      expect(lab.end('alpha/two', 'alpha/lan').address).toMatch(/^10\.71\.0\./);
      const shown = await lab.inPod('alpha/one', 'ip -o -4 address show dev mesh0');
      expect(shown).toContain(`inet ${STATIC.address}/24`);
      expect(await lab.inPod('alpha/one', 'ip -o link show dev mesh0')).toContain(STATIC.mac);
    });

    test('OVN answers a DHCP client with the address that the pod has, and the MTU', async () => {
      for (const pod of ['alpha/one', 'beta/two']) {
        const { device, mac, address } = lab.end(pod, `${pod.split('/')[0]}/mesh`);
        const argv = ['pod', pod, 'python3', '-c', DHCP_CLIENT, device, mac];
        expect(await outputInside(lab.record, argv)).toBe(`${address} 255.255.255.0 ${MTU}\n`);
      }
    });

    test('pods reach each other over three nodes, and nobody of another namespace with the same subnet', async () => {
      const [two, three] = ['alpha/two', 'alpha/three'].map(
        (pod) => lab.end(pod, 'alpha/mesh').address,
      );
      const other = lab.end('beta/two', 'beta/mesh').address;
      const ways = [
        ['alpha/one', two ?? ''],
        ['alpha/one', three ?? ''],
        ['alpha/three', STATIC.address],
        ['beta/one', other],
        ['beta/one', STATIC.address],
        ['ext', STATIC.address],
      ] as const;
      await expect
        .poll(() => lab.answers(...ways), SOON)
        .toEqual(['alpha/two', 'alpha/three', 'alpha/one', 'beta/two', 'nobody', 'nobody']);
    });

    test('a network with external connectivity is on the underlay: a host there is reached, and reaches the pods', async () => {
      const [one, two] = ['alpha/one', 'alpha/two'].map((pod) => lab.end(pod, 'alpha/lan').address);
      await expect
        .poll(
          () => lab.answers(['ext', one ?? ''], ['ext', two ?? ''], ['alpha/one', two ?? '']),
          SOON,
        )
        .toEqual(['alpha/one', 'alpha/two', 'alpha/two']);
      for (const pod of ['alpha/one', 'alpha/two'])
        await lab.inPod(pod, `ping -c 1 -w 5 ${OUTSIDE_ADDRESS}`);
    });

    test('on a network of Layer3 each node has a subnet of its own, and pods of two nodes reach each other', async () => {
      const [one, two] = ['alpha/one', 'alpha/two'].map(
        (pod) => lab.end(pod, 'alpha/routed').address,
      );
      const subnetOf = (address = ''): string => address.slice(0, address.lastIndexOf('.'));
      expect(subnetOf(one)).not.toBe(subnetOf(two));
      await expect
        .poll(() => lab.answers(['alpha/one', two ?? ''], ['alpha/two', one ?? '']), SOON)
        .toEqual(['alpha/two', 'alpha/one']);
      expect(await lab.answers(['beta/one', two ?? ''], ['ext', two ?? ''])).toEqual([
        'nobody',
        'nobody',
      ]);
    });

    test('a network without a subnet carries what addresses pods give themselves, from the MACs that they have', async () => {
      const [one, two] = ['alpha/one', 'alpha/two'].map((pod) => lab.end(pod, 'alpha/bare'));
      expect([one?.address, two?.address]).toEqual(['', '']);
      await lab.inPod('alpha/one', `ip address add 10.72.0.1/24 dev ${one?.device}`);
      await lab.inPod('alpha/two', `ip address add 10.72.0.2/24 dev ${two?.device}`);
      await lab.inPod('alpha/one', 'ping -c 3 -i 0.3 -w 10 10.72.0.2');
      await lab.inPod('alpha/one', `ip link set ${one?.device} address 0a:00:00:00:00:98`);
      const ping = 'ping -c 3 -i 0.3 -w 3 10.72.0.2'.split(' ');
      expect((await runInside(lab.record, ['pod', 'alpha/one', ...ping])).code).not.toBe(0);
      await lab.inPod('alpha/one', `ip link set ${one?.device} address ${one?.mac}`);
    });

    test('a MultiNetworkPolicy closes the interfaces on its network to all but those that it names, and nothing else', async () => {
      const three = lab.end('alpha/three', 'alpha/mesh').address;
      const two = lab.end('alpha/two', 'alpha/mesh').address;
      const ways = [
        ['alpha/one', two],
        ['alpha/three', two],
        ['alpha/two', three],
        ['beta/one', lab.end('beta/two', 'beta/mesh').address],
        ['ext', lab.end('alpha/two', 'alpha/lan').address],
      ] as const;
      const open = ['alpha/two', 'alpha/two', 'alpha/three', 'beta/two', 'alpha/two'];
      expect(await lab.answers(...ways)).toEqual(open);
      lab.declare('policy.yaml', {
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
        .poll(() => lab.answers(...ways), SOON)
        .toEqual(['nobody', 'alpha/two', 'nobody', 'beta/two', 'alpha/two']);
      lab.withdraw('policy.yaml');
      await expect.poll(() => lab.answers(...ways), SOON).toEqual(open);
    });

    test('a pod that takes another address or MAC than its own is not heard', async () => {
      const target = lab.end('alpha/two', 'alpha/mesh').address;
      const { device, mac } = lab.end('alpha/three', 'alpha/mesh');
      const isHeard = async (from: string): Promise<boolean> => {
        const ping = `ping -c 3 -i 0.3 -w 3 -I ${from} ${target}`.split(' ');
        return (await runInside(lab.record, ['pod', 'alpha/three', ...ping])).code === 0;
      };
      expect(await isHeard(device)).toBe(true);
      await lab.inPod('alpha/three', `ip address add ${FREE_ADDRESS}/24 dev ${device}`);
      expect(await isHeard(FREE_ADDRESS)).toBe(false);
      await lab.inPod('alpha/three', `ip address delete ${FREE_ADDRESS}/24 dev ${device}`);
      await lab.inPod('alpha/three', `ip link set ${device} address 0a:00:00:00:00:99`);
      expect(await isHeard(device)).toBe(false);
      await lab.inPod('alpha/three', `ip link set ${device} address ${mac}`);
      await expect.poll(() => isHeard(device), SOON).toBe(true);
    });

    test('an address that another pod has is refused, and that pod keeps it', async () => {
      lab.declare('copy.yaml', secondaryPod('alpha/copy', 'n2', [staticMesh]));
      const taken = `Pod alpha/copy: failed to ensure requested or annotated IPs [${STATIC.address}/24]`;
      await expect.poll(() => lab.problems(), SOON).toContainEqual(expect.stringContaining(taken));
      const { pods } = await readObjects(lab.record.name);
      const copy = pods.find(({ metadata }) => metadata.name === 'copy');
      expect(copy?.metadata.annotations?.['k8s.ovn.org/pod-networks']).not.toContain('alpha/mesh');
      expect(await lab.answers(['alpha/three', STATIC.address])).toEqual(['alpha/one']);
    });

    test('a network that is deleted stays while pods use it, and leaves nothing after them', async () => {
      lab.withdraw('lan.yaml');
      const inUse = 'network in use by the following pods: [alpha/one alpha/two]';
      await expect.poll(() => lab.problems(), SOON).toContainEqual(expect.stringContaining(inUse));
      expect(await lab.answers(['ext', lab.end('alpha/one', 'alpha/lan').address])).toEqual([
        'alpha/one',
      ]);
      lab.withdraw('alpha-pods.yaml');
      await expect
        .poll(async () => {
          const { nads, networks } = await readObjects(lab.record.name);
          const left = networks.filter(({ kind }) => kind === 'UserDefinedNetwork');
          return [...nads, ...left]
            .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
            .sort();
        }, SOON)
        .toEqual(['alpha/mesh', 'beta/mesh']);
      await lab.tenants.settle();
      await expect.poll(() => lab.tenants.mentions('secondary_alpha'), SOON).toEqual([]);
      const other = lab.end('beta/two', 'beta/mesh').address;
      expect(await lab.answers(['beta/one', other])).toEqual(['beta/two']);
    });
  },
);
