/** Pods that answer their neighbours' DHCP clients: on each kind of network, with packets. */
import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { outputInside } from '../../../src/lab/exec.ts';
import { attachedPods } from '../../../src/lab/pods.ts';
import { sayHeld, type Attack } from '../../support/lab/held-table.ts';
import { testLab, whyNoLab, type TestLab } from '../../support/lab/lab.ts';
import { ownFolder } from '../../support/run/left-behind.ts';
import { Tenants } from '../../support/lab/tenants.ts';

/**
 * Sends by turns, until the file is there that ends it, a mark for each way in which a DHCP client could be told something, and one that every neighbour may
 * get: device, addresses of a neighbour, the file.
 */
const SERVER = `
import os, socket, sys, time
device, v4, v6, end = sys.argv[1:5]
index = socket.if_nametoindex(device)
def datagrams(family, port):
    one = socket.socket(family, socket.SOCK_DGRAM)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
    one.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    one.bind(('', port))
    return one
four = {port: datagrams(socket.AF_INET, port) for port in (67, 4067)}
six = {port: datagrams(socket.AF_INET6, port) for port in (547, 4547)} if v6 else {}
while not os.path.exists(end):
    for port, one in four.items():
        one.sendto(b'mark-offer-broadcast-%d;' % port, ('255.255.255.255', 68))
        one.sendto(b'mark-offer-%d;' % port, (v4, 68))
    for port, one in six.items():
        one.sendto(b'mark-offer6-all-%d;' % port, ('ff02::1', 546, 0, index))
        one.sendto(b'mark-offer6-%d;' % port, (v6, 546))
    if v6:
        six[547].sendto(b'mark-control6;', (v6, 549))
    four[67].sendto(b'mark-control-broadcast;', ('255.255.255.255', 69))
    four[67].sendto(b'mark-control;', (v4, 69))
    time.sleep(0.1)
`;

/** Listens on a device until what every neighbour may get came three times, and prints all marks that came. */
const CLIENT = `
import re, socket, sys, time
device, awaited = sys.argv[1:3]
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(3))
raw.bind((device, 0))
raw.settimeout(60)
seen, controls = set(), 0
while controls < 3:
    frame, address = raw.recvfrom(65535)
    if address[2] == socket.PACKET_OUTGOING:
        continue
    found = re.search(rb'mark-([a-z0-9-]+);', frame)
    if not found:
        continue
    seen.add(found[1].decode())
    controls += found[1].decode() == awaited
print(' '.join(sorted(seen)))
`;

const manifest = (objects: readonly object[]): string =>
  objects.map((object) => stringify(object)).join('---\n');

const PRIMARY = 'k8s.ovn.org/primary-user-defined-network';
const namespace = (name: string, isOwn: boolean): object => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, ...(isOwn ? { labels: { [PRIMARY]: '' } } : {}) },
});
const network = (key: string, topology: string, spec: object): object => {
  const [space, name] = key.split('/');
  return {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'UserDefinedNetwork',
    metadata: { name, namespace: space },
    spec: { topology, [topology.toLowerCase()]: spec },
  };
};
const pods = (space: string, networks?: string): object[] =>
  Object.entries({ server: 'n1', near: 'n1', far: 'n2' }).map(([name, nodeName]) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: space,
      ...(networks === undefined
        ? {}
        : { annotations: { 'k8s.v1.cni.cncf.io/networks': networks } }),
    },
    spec: { nodeName, containers: [{ name: 'web', image: 'web' }] },
  }));
/** A tenant lets everything through as far as it is his to say. */
const everything = (space: string): object => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'everything', namespace: space },
  spec: { podSelector: {}, policyTypes: ['Ingress', 'Egress'], ingress: [{}], egress: [{}] },
});

const OBJECTS = [
  namespace('flat', true),
  network('flat/net', 'Layer2', { role: 'Primary', subnets: ['10.81.0.0/16', 'fd81::/64'] }),
  ...pods('flat'),
  everything('flat'),
  namespace('routed', true),
  network('routed/net', 'Layer3', {
    role: 'Primary',
    subnets: [
      { cidr: '10.82.0.0/16', hostSubnet: 24 },
      { cidr: 'fd82::/48', hostSubnet: 64 },
    ],
  }),
  ...pods('routed'),
  namespace('plain', false),
  network('plain/mesh', 'Layer2', { role: 'Secondary', subnets: ['10.83.0.0/24', 'fd83::/64'] }),
  network('plain/wild', 'Layer2', { role: 'Secondary', ipam: { mode: 'Disabled' } }),
  ...pods('plain', 'mesh, wild'),
  everything('plain'),
];

/** What arrives where nobody answers DHCP. */
const CONTROLS = ['control', 'control-broadcast', 'control6'];
/** The ways in which a server sends, by what they are. */
const OFFERS = {
  'offers of DHCP': ['offer-67', 'offer-4067', 'offer-broadcast-67', 'offer-broadcast-4067'],
  'offers of DHCPv6': ['offer6-547', 'offer6-4547', 'offer6-all-547', 'offer6-all-4547'],
} as const;

describe.skipIf(whyNoLab !== undefined)(
  `pods that want to be their neighbours' server${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    let lab: TestLab;
    const attacks: Attack[] = [];
    afterAll(() => sayHeld('servers among neighbours', attacks));

    beforeAll(async () => {
      const folder = ownFolder('heddle-neighbours');
      writeFileSync(join(folder, 'neighbours.yaml'), manifest(OBJECTS));
      lab = await testLab('e2e-neighbours', { families: 'dual' });
      const tenants = new Tenants(lab.record, { folder });
      rmSync(folder, { recursive: true });
      await tenants.start();
      return async () => {
        await lab[Symbol.asyncDispose]();
      };
    });

    const endOf = (
      pod: string,
      nad: string,
    ): { readonly device: string; readonly v4: string; readonly v6: string } => {
      const found = attachedPods(lab.record)
        .find(({ name }) => name === pod)
        ?.interfaces.find(({ nadKey }) => nadKey === nad);
      if (found === undefined) throw new Error(`${pod} has no interface on ${nad}`);
      const [v4 = '', v6 = ''] = found.addresses.map((address) => address.split('/')[0] ?? '');
      return { device: found.device, v4, v6 };
    };

    /** Marks of a pod of the namespace that one of its neighbours sees on the network. */
    const heard = async (
      space: string,
      nad: string,
      neighbour: string,
      addresses: { readonly v4: string; readonly v6: string },
    ): Promise<string[]> => {
      const to = endOf(`${space}/${neighbour}`, nad);
      const { device } = endOf(`${space}/server`, nad);
      const end = `/tmp/end-${randomUUID()}`;
      const inServer = ['pod', `${space}/server`];
      const server = outputInside(lab.record, [
        ...inServer,
        'python3',
        '-c',
        SERVER,
        device,
        addresses.v4,
        addresses.v6,
        end,
      ]);
      const client = ['pod', `${space}/${neighbour}`, 'python3', '-c', CLIENT, to.device];
      try {
        const marks = await Promise.race([
          outputInside(lab.record, [...client, 'control']),
          server.then(() => Promise.reject(new Error('the server ended'))),
        ]);
        return marks.trim().split(' ');
      } finally {
        await outputInside(lab.record, [...inServer, 'touch', end]);
        await server;
      }
    };

    test.each([
      ['the default network', 'plain', 'default', 'near'],
      ['a primary Layer3 network', 'routed', 'routed/net', 'near'],
      ['a primary Layer2 network', 'flat', 'flat/net', 'near'],
      ['a primary Layer2 network, to another node', 'flat', 'flat/net', 'far'],
      ['a secondary Layer2 network with subnets', 'plain', 'plain/mesh', 'near'],
      ['a secondary Layer2 network with subnets, to another node', 'plain', 'plain/mesh', 'far'],
    ])('on %s nobody hears them, whatever policies say', async (by, space, nad, neighbour) => {
      const { v4, v6 } = endOf(`${space}/${neighbour}`, nad);
      const marks = await heard(space, nad, neighbour, { v4, v6 });
      for (const [kind, offers] of Object.entries(OFFERS))
        for (const offer of offers) attacks.push({ kind, by, isHeld: !marks.includes(offer) });
      expect(marks).toEqual(CONTROLS);
    });

    test('on a network without subnets, which is its pods’ own, a pod may be the server', async () => {
      const neighbour = 'near';
      const nad = 'plain/wild';
      const device = endOf(`plain/${neighbour}`, nad).device;
      const own = endOf('plain/server', nad).device;
      const set = (pod: string, address: string, on: string): Promise<string> =>
        outputInside(lab.record, ['pod', pod, 'ip', 'address', 'replace', address, 'dev', on]);
      await set('plain/server', '10.84.0.1/24', own);
      await set(`plain/${neighbour}`, '10.84.0.2/24', device);
      const marks = await heard('plain', nad, neighbour, { v4: '10.84.0.2', v6: '' });
      expect(marks).toEqual([
        'control',
        'control-broadcast',
        'offer-4067',
        'offer-67',
        'offer-broadcast-4067',
        'offer-broadcast-67',
      ]);
    });
  },
);
