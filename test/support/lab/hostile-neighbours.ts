/** What pods with raw sockets say of others' addresses and next hops: ARP, neighbour advertisements and redirects. */
import { expect } from 'vitest';
import { macOf } from '../../../src/allocators/addresses.ts';
import { OUTSIDE } from '../../../src/lab/node-facts.ts';
import { marker, type Send } from './frames.ts';
import {
  arp,
  datagram,
  ETHERTYPE,
  icmpRedirect,
  icmpv6,
  ipv4,
  ipv6,
  neighbourBody,
  PROTOCOL,
  redirectBody,
} from './frame-bytes.ts';
import { plainly } from './hostile-attacks.ts';
import { PORT, type HostileLab, type HostilePod } from './hostile-lab.ts';
import { nodeAddresses } from './matrix-tenants.ts';

/** Who lies, by which interface, to which neighbour: on the same switch of the default network, and on a Layer2 network over a tunnel. */
const LIARS = [
  ['plain/attacker', 'eth0', 'plain/beside'],
  ['red/attacker', 'ovn-udn1', 'red/far'],
] as const satisfies readonly (readonly [HostilePod, string, HostilePod])[];

const EVERYBODY = { mac: 'ff:ff:ff:ff:ff:ff', group: '33:33:00:00:00:01', v6: 'ff02::1' } as const;

interface Ends {
  readonly v4: string;
  readonly v6: string;
}
const endsOf = (lab: HostileLab, key: HostilePod): Ends => {
  const [v4 = '', v6 = ''] = lab.on(key).addresses;
  return { v4, v6 };
};
/** Another address of the subnets. */
const nth = ({ v4, v6 }: Ends, n: number): Ends => ({
  v4: v4.replace(/\d+$/, String(n)),
  v6: v6.replace(/[^:]*$/, String(n)),
});

/** Link-local address that follows from a MAC address (RFC 4291, appendix A). */
function linkLocal(mac: string): string {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = mac
    .split(':')
    .map((word) => parseInt(word, 16));
  const group = (high: number, low: number): string => ((high << 8) | low).toString(16);
  return `fe80::${group(a ^ 2, b)}:${group(c, 0xff)}:${group(0xfe, d)}:${group(e, f)}`;
}

/** What one pod says: with its own address in it, it comes to its neighbour, redirects perhaps; with another's it comes nowhere. */
function lies(lab: HostileLab, [key, device, victim]: (typeof LIARS)[number]): readonly Send[] {
  const { namespace } = lab.on(key);
  const [own, neighbour] = [endsOf(lab, key), endsOf(lab, victim)];
  const mac = macOf(own.v4);
  const victimMac = macOf(neighbour.v4);
  const gateway = nth(own, 1);
  const [node4, node6] = nodeAddresses('n1');
  const sends: Send[] = [];
  const add = (
    what: string,
    to: string,
    type: number,
    make: (mark: Buffer) => Buffer,
    fate: Pick<Send, 'wanted' | 'isFree'> = {},
  ): void => {
    const id = lab.id(`${key}: ${what} to ${to}`);
    const packet = make(marker(id)).toString('hex');
    const frame = { device, to, type, packet };
    sends.push({ id, from: namespace, frame, ...fate });
  };
  /** Neighbour messages and redirects come from next to one (RFC 4861): 255. */
  const message = (from: string, to: string, type: number, body: Buffer): Buffer =>
    ipv6({ from, to, next: PROTOCOL.icmpv6, hops: 255 }, icmpv6({ from, to }, type, body));
  const advertise = (target: string, to: string, mark: Buffer): Buffer =>
    message(own.v6, to, 136, Buffer.concat([neighbourBody(0x20, target, 2, mac), mark]));
  const announce =
    (operation: 'request' | 'reply', sender: string) =>
    (mark: Buffer): Buffer =>
      arp({ operation, senderMac: mac, sender, targetMac: victimMac, target: neighbour.v4 }, mark);

  for (const [who, { v4, v6 }] of Object.entries({
    'its gateway': gateway,
    'its neighbour': neighbour,
    'the management port': nth(own, 2),
    'its node': { v4: node4, v6: node6 },
    'the host outside': OUTSIDE,
  })) {
    for (const operation of ['request', 'reply'] as const)
      for (const to of [victimMac, EVERYBODY.mac])
        add(`ARP ${operation} of ${who}`, to, ETHERTYPE.arp, announce(operation, v4));
    for (const [to, group] of [
      [victimMac, neighbour.v6],
      [EVERYBODY.group, EVERYBODY.v6],
    ] as const)
      add(`neighbour advertisement of ${who}`, to, ETHERTYPE.ipv6, (mark) =>
        advertise(v6, group, mark),
      );
  }
  // What is true comes, so it is not the form of these that holds them.
  const { namespace: wanted } = lab.on(victim);
  add('ARP reply of its own', victimMac, ETHERTYPE.arp, announce('reply', own.v4), { wanted });
  const ofItself = (mark: Buffer): Buffer => advertise(own.v6, neighbour.v6, mark);
  add('neighbour advertisement of its own', victimMac, ETHERTYPE.ipv6, ofItself, { wanted });

  const quoted = (from: string, to: string, mark: Buffer): Buffer =>
    datagram({ from, to, port: PORT, payload: mark });
  for (const [who, from4, from6, fate] of [
    ['its gateway', gateway.v4, linkLocal(macOf(gateway.v4)), {}],
    ['itself', own.v4, linkLocal(mac), { isFree: true }],
  ] as const) {
    add(
      `ICMP redirect as ${who}`,
      victimMac,
      ETHERTYPE.ipv4,
      (mark) =>
        ipv4(
          { from: from4, to: neighbour.v4, protocol: PROTOCOL.icmp },
          icmpRedirect(own.v4, quoted(neighbour.v4, OUTSIDE.v4, mark)),
        ),
      fate,
    );
    add(
      `IPv6 redirect as ${who}`,
      victimMac,
      ETHERTYPE.ipv6,
      (mark) => {
        const packet = quoted(neighbour.v6, OUTSIDE.v6, mark);
        const body = redirectBody(linkLocal(mac), OUTSIDE.v6, mac, packet);
        return message(from6, neighbour.v6, 137, body);
      },
      fate,
    );
  }
  return sends;
}

/** Redirects to the host, by its port on the default network, for its way to pods of other nodes. */
async function redirectsOfTheHost(lab: HostileLab): Promise<readonly Send[]> {
  const key = 'plain/attacker';
  const own = endsOf(lab, key);
  const port = nth(own, 2);
  const gateway = nth(own, 1);
  const far = endsOf(lab, 'plain/far');
  const to = await lab.portMac('ovn-k8s-mp0');
  const { namespace } = lab.on(key);
  const mac = macOf(own.v4);
  return [
    ['its gateway', gateway.v4, linkLocal(macOf(gateway.v4))] as const,
    ['itself', own.v4, linkLocal(mac)] as const,
  ].flatMap(([who, from4, from6]): Send[] => {
    const v4 = lab.id(`${key}: ICMP redirect as ${who} to the host`);
    const v6 = lab.id(`${key}: IPv6 redirect as ${who} to the host`);
    const quoted4 = datagram({ from: port.v4, to: far.v4, port: PORT, payload: marker(v4) });
    const quoted6 = datagram({ from: port.v6, to: far.v6, port: PORT, payload: marker(v6) });
    const packet4 = ipv4(
      { from: from4, to: port.v4, protocol: PROTOCOL.icmp },
      icmpRedirect(own.v4, quoted4),
    );
    const between = { from: from6, to: port.v6 };
    const body = redirectBody(linkLocal(mac), far.v6, mac, quoted6);
    const packet6 = ipv6(
      { ...between, next: PROTOCOL.icmpv6, hops: 255 },
      icmpv6(between, 137, body),
    );
    return [[v4, ETHERTYPE.ipv4, packet4] as const, [v6, ETHERTYPE.ipv6, packet6] as const].map(
      ([id, type, packet]) => ({
        id,
        from: namespace,
        frame: { device: 'eth0', to, type, packet: packet.toString('hex') },
      }),
    );
  });
}

/** What namespaces hold true of others that is an attacker's: neighbours with his MAC address, and next hops that are he. */
async function believed(lab: HostileLab): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [key, , victim] of LIARS) {
    const own = endsOf(lab, key);
    const mac = macOf(own.v4);
    const his = [own.v4, own.v6, linkLocal(mac)];
    const spaces = [
      [lab.on(victim).namespace, OUTSIDE.v4, OUTSIDE.v6],
      ['n1', ...lab.on('plain/far').addresses],
    ] as const;
    for (const [space, ...destinations] of spaces) {
      for (const line of (await lab.ip(space, 'neigh show')).split('\n'))
        if (line.includes(mac) && !his.some((address) => line.startsWith(`${address} `)))
          found.push(`${space}: ${line}`);
      for (const to of destinations) {
        const route = await lab.ip(space, `route get ${to}`);
        if (
          his.some((address) => route.includes(`via ${address} `)) ||
          route.includes('redirected')
        )
          found.push(`${space}: ${route}`);
      }
    }
  }
  return found;
}

/** Has pods lie to their neighbours and the host; all send as before, and believe none of it. */
export async function lieToNeighbours(lab: HostileLab): Promise<void> {
  const honest: Send[] = [];
  for (const [key, , victim] of LIARS) {
    const { namespace } = lab.on(victim);
    const say = (to: string, wanted: string): void => {
      honest.push(plainly(lab, victim, namespace, to, { wanted }));
    };
    for (const to of lab.on(key).addresses) say(to, lab.on(key).namespace);
    if (victim === 'plain/beside' || (await lab.reachesOutside('red')))
      for (const to of [OUTSIDE.v4, OUTSIDE.v6]) say(to, 'ext');
  }
  await lab.prove('false neighbours and redirects', [
    ...LIARS.flatMap((liar) => lies(lab, liar)),
    ...(await redirectsOfTheHost(lab)),
    ...honest,
  ]);
  expect(await believed(lab)).toEqual([]);
}
