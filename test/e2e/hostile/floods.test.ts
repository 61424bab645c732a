/**
 * Pods that send as much as they can of what makes work for others: packets that OVN hands to ovn-controller, and connections that each need an entry in
 * the kernel's or the datapath's table. Another tenant's packets arrive meanwhile, and its next pod gets its ports.
 */
import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { macOf } from '../../../src/allocators/addresses.ts';
import { outputInside } from '../../../src/lab/exec.ts';
import { attachedPods } from '../../../src/lab/pods.ts';
import { sayHeld, type Attack } from '../../support/lab/held-table.ts';
import { network } from '../../support/lab/host-tenants.ts';
import { testLab, whyNoLab, type TestLab } from '../../support/lab/lab.ts';
import { ownFolder } from '../../support/run/left-behind.ts';
import { service } from '../../support/lab/matrix-tenants.ts';
import { Tenants } from '../../support/lab/tenants.ts';
import { until } from '../../support/run/until.ts';

/** Packets of a flood in a second: more than any meter lets through, and what a busy machine still sends. */
const RATE = 2000;

/** Kinds of floods, and what each is. */
const FLOODS = {
  arp: 'ARP requests for addresses that nobody has',
  dhcp: 'DHCP discoveries',
  igmp: 'memberships of multicast groups',
  solicit: 'router solicitations',
  unknown: 'packets to neighbours of the node that are not there',
  unknown6: 'the same by IPv6',
  reject: 'connections to a service without endpoints',
  ttl: 'packets whose time to live ends',
  dns: 'questions of DNS',
  connections: 'connections from ever new ports',
} as const;
type Kind = keyof typeof FLOODS;

/** Sends frames of one kind until a file is there: kind, device, its addresses, gateway's MAC, where to, the file. Prints how many. */
const FLOOD = `
import os, random, socket, struct, sys, time
kind, device, own, own6, gateway, to, end, rate = sys.argv[1:9]
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
raw.bind((device, 0))
mac = raw.getsockname()[4]
router = bytes.fromhex(gateway.replace(':', ''))
a = socket.inet_aton
def total(data):
    data += b'\\0' * (len(data) % 2)
    s = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    s = (s >> 16) + (s & 0xffff)
    return ~(s + (s >> 16)) & 0xffff
def ip(protocol, to, body, ttl=64):
    head = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 20 + len(body), random.getrandbits(16), 0, ttl, protocol, 0, a(own), a(to))
    return head[:10] + struct.pack('!H', total(head)) + head[12:] + body
def above(protocol, to, body, at):
    pseudo = a(own) + a(to) + struct.pack('!BBH', 0, protocol, len(body))
    return body[:at] + struct.pack('!H', total(pseudo + body)) + body[at + 2:]
def tcp(to, port):
    body = struct.pack('!HHIIBBHHH', random.randrange(1024, 65535), port, random.getrandbits(32), 0, 0x50, 2, 1000, 0, 0)
    return ip(6, to, above(6, to, body, 16))
def udp(to, port, payload=b'x', source=None):
    body = struct.pack('!HHHH', source or random.randrange(1024, 65535), port, 8 + len(payload), 0) + payload
    return ip(17, to, above(17, to, body, 6))
def arp(target):
    return struct.pack('!HHBBH6s4s6s4s', 1, 0x800, 6, 4, 1, mac, a(own), bytes(6), a(target))
def to_router(packet):
    return router + mac + b'\\x08\\0' + packet
def ip6(protocol, source, to6, body, hops=64):
    p = socket.inet_pton
    six = socket.AF_INET6
    at = 2 if protocol == 58 else 6
    pseudo = p(six, source) + p(six, to6) + struct.pack('!II', len(body), protocol)
    body = body[:at] + struct.pack('!H', total(pseudo + body)) + body[at + 2:]
    return struct.pack('!IHBB', 6 << 28, len(body), protocol, hops) + p(six, source) + p(six, to6) + body
link_local = 'fe80::%02x%02x:%02xff:fe%02x:%02x%02x' % (mac[0] ^ 2, *mac[1:])
other = lambda: '.'.join(to.split('.')[:3] + [str(random.randrange(120, 250))])
def frame():
    if kind == 'arp': return b'\\xff' * 6 + mac + b'\\x08\\x06' + arp(other())
    if kind == 'unknown': return to_router(udp(other(), 9))
    if kind == 'reject': return to_router(tcp(to, 80))
    if kind == 'connections': return to_router(udp(to, 80))
    if kind == 'ttl': return to_router(ip(17, to, b'\\0' * 8, 1))
    if kind == 'dhcp': return b'\\xff' * 6 + mac + b'\\x08\\0' + udp('255.255.255.255', 67, b'\\1\\1\\6\\0' + random.randbytes(4) + bytes(228) + b'\\x63\\x82\\x53\\x63\\x35\\1\\1\\xff', 68)
    if kind == 'dns': return to_router(udp(to, 53))
    if kind == 'unknown6':
        body = struct.pack('!HHHH', random.randrange(1024, 65535), 9, 9, 0) + b'x'
        return router + mac + b'\\x86\\xdd' + ip6(17, own6, to + '%x' % random.randrange(4096, 65536), body)
    if kind == 'solicit':
        return b'\\x33\\x33\\0\\0\\0\\2' + mac + b'\\x86\\xdd' + ip6(58, link_local, 'ff02::2', b'\\x85' + bytes(7) + b'\\1\\1' + mac, 255)
    if kind == 'igmp':
        group = '239.1.%d.%d' % (random.randrange(256), random.randrange(256))
        body = struct.pack('!BBH4s', 0x16, 0, 0, a(group))
        return b'\\1\\0\\x5e' + a(group)[1:] + mac + b'\\x08\\0' + ip(2, group, body[:2] + struct.pack('!H', total(body)) + body[4:], 1)
    raise SystemExit(kind)
sent, began = 0, time.monotonic()
while not os.path.exists(end):
    for _ in range(20):
        try:
            raw.send(frame())
            sent += 1
        except OSError:
            pass
    time.sleep(max(0, sent / int(rate) - (time.monotonic() - began)))
print(sent)
`;

const namespace = (name: string, isOwn: boolean): object => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: isOwn ? { 'k8s.ovn.org/primary-user-defined-network': '' } : {} },
});
const pod = (key: string, nodeName: string): object => {
  const [space, name] = key.split('/');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: space },
    spec: { nodeName, containers: [{ name: 'web', image: 'web' }] },
  };
};
const PORTS = [
  { name: 'a', port: 80, targetPort: 80, protocol: 'TCP' },
  { name: 'b', port: 80, targetPort: 80, protocol: 'UDP' },
];
/** On the default network, a primary Layer3 and a primary Layer2 network. */
const ATTACKERS = ['plain', 'blue', 'green'] as const;
type Attacker = (typeof ATTACKERS)[number];
/** Of each attacker: nobody serves it. */
const SERVICES = {
  plain: ['172.16.1.90', 'fd00:10:96::90'],
  blue: ['172.16.1.91', 'fd00:10:96::91'],
  green: ['172.16.1.92', 'fd00:10:96::92'],
} as const satisfies Record<Attacker, readonly [string, string]>;

/** What of a flood may reach ovn-controller: its meters let 25 packets a second of each kind through, 250 from switches. */
const MOST_HANDED_UP = 0.25;

const OBJECTS = [
  namespace('plain', false),
  namespace('quiet', false),
  namespace('blue', true),
  namespace('red', true),
  namespace('green', true),
  network('blue', 'net', 'Layer3', ['10.20.0.0/16', 'fd20::/48']),
  network('green', 'net', 'Layer2', ['10.40.0.0/16', 'fd40::/64']),
  network('red', 'net', 'Layer3', ['10.30.0.0/16', 'fd30::/48']),
  ...ATTACKERS.map((name) => pod(`${name}/attacker`, 'n1')),
  ...['quiet', 'red'].flatMap((name) => [pod(`${name}/from`, 'n1'), pod(`${name}/to`, 'n2')]),
  ...ATTACKERS.map((name) => service(`${name}/void`, SERVICES[name], { ports: PORTS })),
];

describe.skipIf(whyNoLab !== undefined)(
  `a pod that floods${whyNoLab === undefined ? '' : ` (${whyNoLab})`}`,
  () => {
    let lab: TestLab;
    let tenants: Tenants;
    const attacks: Attack[] = [];
    afterAll(() => sayHeld('floods', attacks));

    beforeAll(async () => {
      const folder = ownFolder('heddle-floods');
      writeFileSync(
        join(folder, 'floods.yaml'),
        OBJECTS.map((one) => stringify(one)).join('---\n'),
      );
      lab = await testLab('e2e-floods', { nodes: 2, families: 'dual' });
      tenants = new Tenants(lab.record, { folder });
      rmSync(folder, { recursive: true });
      await tenants.start();
      return async () => {
        await lab[Symbol.asyncDispose]();
      };
    });

    const endOf = (
      key: string,
    ): { readonly device: string; readonly v4: string; readonly v6: string } => {
      const nad =
        key.startsWith('plain') || key.startsWith('quiet') ? 'default' : `${key.split('/')[0]}/net`;
      const found = attachedPods(lab.record)
        .find(({ name }) => name === key)
        ?.interfaces.find(({ nadKey }) => nadKey === nad);
      if (found === undefined) throw new Error(`${key} has no interface on ${nad}`);
      const [v4 = '', v6 = ''] = found.addresses.map((one) => one.split('/')[0] ?? '');
      return { device: found.device, v4, v6 };
    };

    /** Packets that ovn-controller of n1 was handed until now. */
    const handedUp = async (): Promise<number> => {
      const text = await outputInside(lab.record, [
        'on',
        'n1',
        'ovn-appctl',
        '-t',
        'ovn-controller',
        'coverage/show',
      ]);
      const found = /^pinctrl_total_pin_pkts .*total: (\d+)$/m.exec(text);
      return Number(found?.[1] ?? 0);
    };
    /** Echoes that a tenant's pod got no answer to, of 50. */
    const lostEchoes = async (space: string): Promise<number> => {
      const to = endOf(`${space}/to`).v4;
      const words = [
        'pod',
        `${space}/from`,
        'sh',
        '-c',
        `ping -q -c 50 -i 0.05 -W 2 ${to} || true`,
      ];
      const text = await outputInside(lab.record, words);
      const received = /(\d+) received/.exec(text)?.[1];
      if (received === undefined) throw new Error(text);
      return 50 - Number(received);
    };
    let pods = 0;
    const nextPod = async (): Promise<void> => {
      const key = `quiet/next-${(pods += 1)}`;
      writeFileSync(join(tenants.manifests, `next-${pods}.yaml`), stringify(pod(key, 'n1')));
      await until(
        `${key} to have ports`,
        async () => {
          await tenants.settle();
          return attachedPods(lab.record).some(({ name }) => name === key);
        },
        { limit: 60_000 },
      );
    };

    /** Floods until `during` is over; gives how many packets that were. */
    const flooding = async (
      attacker: Attacker,
      floods: readonly (readonly [kind: Kind, to: string])[],
      during: () => Promise<void>,
    ): Promise<number> => {
      const { device, v4, v6 } = endOf(`${attacker}/attacker`);
      const gateway = macOf(v4.replace(/\d+$/, '1'));
      const end = `/tmp/end-${randomUUID()}`;
      const words = ['pod', `${attacker}/attacker`];
      const rate = String(RATE / floods.length);
      const sending = Promise.all(
        floods.map(([kind, to]) =>
          outputInside(
            lab.record,
            words.concat('python3', '-c', FLOOD, kind, device, v4, v6, gateway, to, end, rate),
          ),
        ),
      );
      try {
        await Promise.race([
          during(),
          sending.then(() => Promise.reject(new Error('the flood ended'))),
        ]);
      } finally {
        await outputInside(lab.record, [...words, 'touch', end]);
      }
      return (await sending).reduce((sum, sent) => sum + Number(sent), 0);
    };

    test.each(ATTACKERS)(
      'of %s takes neither packets nor ports from others, and little of ovn-controller',
      async (attacker) => {
        const [own] = SERVICES[attacker];
        const { v4 } = endOf(`${attacker}/attacker`);
        const floods: readonly (readonly [Kind, string])[] = [
          ['arp', v4],
          ['dhcp', v4],
          ['igmp', v4],
          ['solicit', v4],
          ['unknown', '172.18.0.1'],
          ['unknown6', 'fd00:172:18::'],
          ['reject', own],
          ['ttl', '172.18.0.100'],
          ['dns', '172.18.0.100'],
          ['connections', '172.18.0.100'],
        ];
        const wrong: string[] = [];
        for (const flood of floods) {
          const before = await handedUp();
          let lost: readonly number[] = [];
          const sent = await flooding(attacker, [flood], async () => {
            lost = await Promise.all(['quiet', 'red'].map(lostEchoes));
          });
          const share = ((await handedUp()) - before) / sent;
          const isHeld = share < MOST_HANDED_UP && lost.every((count) => count === 0);
          const [kind] = flood;
          attacks.push({ kind: FLOODS[kind], by: attacker, isHeld });
          const said = `${Math.round(share * 100)} % of ${sent} reached ovn-controller, echoes lost: ${lost.join(', ')}`;
          if (!isHeld) wrong.push(`${kind}: ${said}`);
        }
        expect(wrong).toEqual([]);
        expect(await flooding(attacker, floods, nextPod)).toBeGreaterThan(0);
        attacks.push({ kind: 'all at once, while a pod starts', by: attacker, isHeld: true });
      },
    );
  },
);
