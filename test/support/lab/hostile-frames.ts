/** What a pod with a raw socket tries: frames with one thing wrong, each with a mark by which it is found where it arrives. */
import { hasAddress, macOf, nthAddress } from '../../../src/allocators/addresses.ts';
import {
  addressBytes,
  arp,
  ETHERTYPE,
  ethernet,
  icmp,
  icmpv6,
  ipv4,
  ipv6,
  neighbourBody,
  PROTOCOL,
  tcp,
  udp,
  vlan,
  vxlan,
} from './frame-bytes.ts';

/** A pod on one network: its address per family, and the MAC address that follows from the first. */
export interface Station {
  readonly v4: string;
  readonly v6: string;
  readonly mac: string;
}

/** A pod that tries, and what it can guess of the places around it. */
export interface Attacker extends Station {
  readonly tenant: string;
  /** Subnets of its node on its network. */
  readonly subnets: { readonly v4: string; readonly v6: string };
  /** A pod of its own network on another node. */
  readonly friend: Station;
}

/** A pod that nobody but its own network should reach. */
export interface Victim extends Station {
  readonly tenant: string;
}

/** Addresses of infrastructure: `docs/reference` has the ranges. */
export interface Surroundings {
  /** Address per family of the attacker's node and of another one. */
  readonly nodes: readonly { readonly v4: string; readonly v6: string }[];
  readonly outside: { readonly v4: string; readonly v6: string };
  /** MAC address of the attacker's node. */
  readonly nodeMac: string;
  /** What a node's tunnel carried from a pod of a tenant to another node: payload of UDP 6081. The mark in it is `mark`. */
  readonly tunnelled: readonly {
    readonly tenant: string;
    readonly payload: Buffer;
    readonly mark: Buffer;
  }[];
}

/** Where a frame may arrive: nowhere; at pods of its own network, where all that it says of itself is true; or there and outside, as what its node sent. */
export type Reach = 'nobody' | 'own network' | 'outside as the node';

export interface HostileFrame {
  readonly group: FrameGroup;
  readonly name: string;
  readonly reach: Reach;
  /** One frame, or what belongs together. */
  readonly frames: readonly Buffer[];
}

export const FRAME_GROUPS = [
  'MAC addresses of others',
  'addresses of others',
  'to pods of other networks',
  'to addresses of infrastructure',
  'false neighbours',
  'what is not IP, and tags',
  'inside a tunnel or another packet',
  'odd headers',
] as const;
export type FrameGroup = (typeof FRAME_GROUPS)[number];

type Make = (mark: Buffer) => Buffer | readonly Buffer[];

const BROADCAST = 'ff:ff:ff:ff:ff:ff';
const ALL_NODES = { mac: '33:33:00:00:00:01', v6: 'ff02::1' };
const SYN = 0x02;

/** The mark of the frame with this number; no mark is a part of another one. */
export const markOf = (number: number): Buffer =>
  Buffer.from(`<heddle-frame-${String(number).padStart(5, '0')}>`);

class Frames {
  readonly list: HostileFrame[] = [];
  group: FrameGroup = FRAME_GROUPS[0];
  readonly #first: number;

  constructor(first: number) {
    this.#first = first;
  }

  add(reach: Reach, name: string, make: Make): void {
    const made = make(markOf(this.#first + this.list.length));
    this.list.push({
      group: this.group,
      name,
      reach,
      frames: Buffer.isBuffer(made) ? [made] : made,
    });
  }
}

const udp4 = (from: string, to: string, port: number, body: Buffer, ttl = 64): Buffer =>
  ipv4({ from, to, protocol: PROTOCOL.udp, ttl }, udp({ from, to }, 4000, port, body));
const udp6 = (from: string, to: string, port: number, body: Buffer): Buffer =>
  ipv6({ from, to, next: PROTOCOL.udp }, udp({ from, to }, 4000, port, body));

/** A datagram in a frame, of the family that the addresses have. */
const datagram = (toMac: string, fromMac: string, from: string, to: string, body: Buffer): Buffer =>
  from.includes(':')
    ? ethernet(toMac, fromMac, ETHERTYPE.ipv6, udp6(from, to, 8080, body))
    : ethernet(toMac, fromMac, ETHERTYPE.ipv4, udp4(from, to, 8080, body));

/** Every frame that this pod tries; marks begin with number `first`. */
export function hostileFrames(
  attacker: Attacker,
  victims: readonly Victim[],
  around: Surroundings,
  first: number,
): HostileFrame[] {
  const frames = new Frames(first);
  const { mac, v4, v6, friend, subnets } = attacker;
  const gateway = {
    v4: nthAddress(subnets.v4, 1),
    v6: nthAddress(subnets.v6, 1),
    mac: macOf(nthAddress(subnets.v4, 1)),
  };
  const management = {
    v4: nthAddress(subnets.v4, 2),
    v6: hasAddress(subnets.v6, 2) ? nthAddress(subnets.v6, 2) : gateway.v6,
    mac: macOf(nthAddress(subnets.v4, 2)),
  };
  const foreign = victims.filter(({ tenant }) => tenant !== attacker.tenant);

  // Who it says that it is: MAC addresses.
  for (const [whose, source] of Object.entries({
    'a pod of its network': friend.mac,
    'its gateway': gateway.mac,
    'the management port': management.mac,
    'its node': around.nodeMac,
    nobody: '00:00:00:00:00:00',
    everybody: BROADCAST,
    'a group': '01:00:5e:00:00:01',
    'a stranger': '02:00:00:00:00:99',
  })) {
    frames.add('nobody', `MAC address of ${whose}, IPv4`, (mark) =>
      datagram(friend.mac, source, v4, friend.v4, mark),
    );
    frames.add('nobody', `MAC address of ${whose}, to everybody`, (mark) =>
      datagram(BROADCAST, source, v4, '255.255.255.255', mark),
    );
    frames.add('nobody', `MAC address of ${whose}, no protocol`, (mark) =>
      ethernet(BROADCAST, source, 0x9999, mark),
    );
  }

  // Who it says that it is: addresses, to its own network and by way of its gateway.
  frames.group = 'addresses of others';
  const claimed = [
    friend.v4,
    gateway.v4,
    management.v4,
    ...around.nodes.map((node) => node.v4),
    '127.0.0.1',
    '0.0.0.0',
    '255.255.255.255',
    '224.0.0.1',
    '240.0.0.1',
    '169.254.169.254',
    '169.254.0.1',
    '169.254.0.2',
    '169.254.0.11',
    '172.16.1.1',
    '100.64.0.2',
    '100.65.0.2',
    '100.88.0.2',
    around.outside.v4,
    friend.v6,
    gateway.v6,
    ...around.nodes.map((node) => node.v6),
    '::1',
    'fd00:10:96::1',
    'fd69::1',
    'fd69::2',
    'fd69::11',
    'fd98::2',
    'fd99::2',
    'fd97::2',
    'ff02::1',
    around.outside.v6,
  ].filter((address) => address !== v4 && address !== v6);
  for (const source of claimed) {
    const isV6 = source.includes(':');
    frames.add('nobody', `from ${source} to its network`, (mark) =>
      datagram(friend.mac, mac, source, isV6 ? friend.v6 : friend.v4, mark),
    );
    frames.add('nobody', `from ${source} to the outside`, (mark) =>
      datagram(gateway.mac, mac, source, isV6 ? around.outside.v6 : around.outside.v4, mark),
    );
  }

  // To pods of others, by every way out of its own network.
  frames.group = 'to pods of other networks';
  for (const victim of foreign)
    for (const [way, toMac] of Object.entries({
      'its gateway': gateway.mac,
      'the management port': management.mac,
      'the MAC address itself': victim.mac,
      'its node': around.nodeMac,
      everybody: BROADCAST,
    }))
      for (const [to, honest] of [
        [victim.v4, v4],
        [victim.v6, v6],
      ] as const)
        for (const source of [honest, to]) {
          const who = source === honest ? 'itself' : 'the victim';
          // An address that its own network has as well leads there, if what it says of itself is true.
          frames.add(
            source === honest ? 'outside as the node' : 'nobody',
            `to ${victim.tenant}'s ${to} through ${way}, as ${who}`,
            (mark) => datagram(toMac, mac, source, to, mark),
          );
        }

  // To addresses of infrastructure: nobody among the pods gets any of it, and nothing leaves as somebody else.
  frames.group = 'to addresses of infrastructure';
  const infrastructure = [
    '169.254.0.1',
    '169.254.0.2',
    '169.254.0.3',
    '169.254.0.4',
    '169.254.0.11',
    '169.254.0.12',
    '169.254.0.13',
    '169.254.0.14',
    '100.64.0.1',
    '100.64.0.2',
    '100.65.0.1',
    '100.65.0.2',
    '100.88.0.2',
    '192.168.0.1',
    '169.254.169.254',
    '127.0.0.1',
    '0.0.0.0',
    '255.255.255.255',
    management.v4,
    'fd69::1',
    'fd69::2',
    'fd69::3',
    'fd69::4',
    'fd69::11',
    'fd69::12',
    'fd69::13',
    'fd98::1',
    'fd98::2',
    'fd99::1',
    'fd99::2',
    'fd97::2',
    '::1',
    '::',
  ];
  for (const to of infrastructure)
    for (const [way, toMac] of Object.entries({
      'its gateway': gateway.mac,
      'the management port': management.mac,
    }))
      frames.add('outside as the node', `to ${to} through ${way}`, (mark) =>
        datagram(toMac, mac, to.includes(':') ? v6 : v4, to, mark),
      );

  // Neighbours that it is not.
  frames.group = 'false neighbours';
  const lies = { 'its gateway': gateway, 'a pod of its network': friend };
  for (const [whose, { v4: its4, v6: its6 }] of Object.entries(lies)) {
    for (const operation of ['request', 'reply'] as const)
      frames.add('nobody', `ARP ${operation} of ${whose}`, (mark) =>
        ethernet(
          BROADCAST,
          mac,
          ETHERTYPE.arp,
          arp({ operation, senderMac: mac, sender: its4, target: its4 }, mark),
        ),
      );
    frames.add('nobody', `neighbour advertisement of ${whose}`, (mark) => {
      const between = { from: v6, to: ALL_NODES.v6 };
      const body = Buffer.concat([neighbourBody(0xa0, its6, 2, mac), mark]);
      const message = icmpv6(between, 136, body);
      return ethernet(
        ALL_NODES.mac,
        mac,
        ETHERTYPE.ipv6,
        ipv6({ ...between, next: PROTOCOL.icmpv6, hops: 255 }, message),
      );
    });
  }
  frames.add('nobody', 'ARP reply that names another MAC address', (mark) =>
    ethernet(
      BROADCAST,
      mac,
      ETHERTYPE.arp,
      arp({ operation: 'reply', senderMac: friend.mac, sender: v4, target: v4 }, mark),
    ),
  );

  // What is on the wire beside IP: it stays among the pods of its own network, whatever its node has outside.
  frames.group = 'what is not IP, and tags';
  for (const [name, type] of Object.entries(ETHERTYPE))
    if (!['ipv4', 'ipv6', 'arp', 'vlan', 'serviceVlan'].includes(name))
      frames.add('own network', `${name} to everybody`, (mark) =>
        ethernet(BROADCAST, mac, type, mark),
      );
  for (const group of ['01:80:c2:00:00:00', '01:80:c2:00:00:0e', '01:00:0c:cc:cc:cc'])
    frames.add('own network', `LLC to ${group}`, (mark) =>
      ethernet(group, mac, 60, Buffer.concat([Buffer.from([0x42, 0x42, 0x03]), mark])),
    );
  for (const id of [0, 1, 5, 100, 4095])
    for (const type of [ETHERTYPE.vlan, ETHERTYPE.serviceVlan])
      frames.add('own network', `tag ${id} of type ${type.toString(16)}`, (mark) =>
        ethernet(
          BROADCAST,
          mac,
          type,
          vlan(id, ETHERTYPE.ipv4, udp4(v4, '255.255.255.255', 8080, mark)),
        ),
      );

  // Inside something: tunnels that a node would take off.
  frames.group = 'inside a tunnel or another packet';
  for (const { tenant, payload, mark: old } of around.tunnelled)
    if (tenant !== attacker.tenant)
      for (const node of around.nodes) {
        const carried = (mark: Buffer): Buffer => {
          const changed = Buffer.from(payload);
          const at = changed.indexOf(old);
          mark.copy(changed, at);
          changed.writeUInt16BE(0, at - 2); // a datagram may go without a checksum; with a wrong one it is invalid
          return changed;
        };
        frames.add('nobody', `Geneve into ${tenant} to ${node.v4}`, (mark) =>
          ethernet(gateway.mac, mac, ETHERTYPE.ipv4, udp4(v4, node.v4, 6081, carried(mark))),
        );
        frames.add('nobody', `Geneve into ${tenant} to ${node.v6}`, (mark) =>
          ethernet(gateway.mac, mac, ETHERTYPE.ipv6, udp6(v6, node.v6, 6081, carried(mark))),
        );
        frames.add('nobody', `Geneve into ${tenant} to ${node.v4}, in fragments`, (mark) => {
          const whole = udp({ from: v4, to: node.v4 }, 4000, 6081, carried(mark));
          const fields = { from: v4, to: node.v4, protocol: PROTOCOL.udp };
          const cut = Math.floor(whole.length / 16) * 8;
          const part = (fragment: number, bytes: Buffer): Buffer =>
            ethernet(gateway.mac, mac, ETHERTYPE.ipv4, ipv4({ ...fields, fragment }, bytes));
          return [part(0x2000, whole.subarray(0, cut)), part(cut / 8, whole.subarray(cut))];
        });
      }
  for (const node of around.nodes)
    for (const victim of foreign) {
      const inner = (mark: Buffer): Buffer =>
        datagram(victim.mac, macOf(nthAddress(subnets.v4, 1)), v4, victim.v4, mark);
      frames.add('nobody', `VXLAN to ${node.v4}`, (mark) =>
        ethernet(gateway.mac, mac, ETHERTYPE.ipv4, udp4(v4, node.v4, 4789, vxlan(1, inner(mark)))),
      );
      for (const protocol of [PROTOCOL.ipv4, PROTOCOL.gre, PROTOCOL.esp, PROTOCOL.ah])
        frames.add('nobody', `protocol ${protocol} around a packet for ${victim.tenant}`, (mark) =>
          ethernet(
            gateway.mac,
            mac,
            ETHERTYPE.ipv4,
            ipv4(
              { from: v4, to: node.v4, protocol },
              protocol === PROTOCOL.ipv4 ? udp4(v4, victim.v4, 8080, mark) : inner(mark),
            ),
          ),
        );
    }

  // Headers that parsers trip over.
  frames.group = 'odd headers';
  const [one] = foreign;
  if (one !== undefined) {
    const sourceRoute = Buffer.concat([
      Buffer.from([0x83, 7, 4]),
      addressBytes(one.v4),
      Buffer.from([0]),
    ]);
    frames.add('outside as the node', 'source route to a pod of another network', (mark) =>
      ethernet(
        gateway.mac,
        mac,
        ETHERTYPE.ipv4,
        ipv4(
          { from: v4, to: gateway.v4, protocol: PROTOCOL.udp, options: sourceRoute },
          udp({ from: v4, to: gateway.v4 }, 4000, 8080, mark),
        ),
      ),
    );
    frames.add('outside as the node', 'IPv6 routing header to a pod of another network', (mark) => {
      const between = { from: v6, to: gateway.v6 };
      const routing = Buffer.concat([
        Buffer.from([PROTOCOL.udp, 2, 0, 1, 0, 0, 0, 0]),
        addressBytes(one.v6),
      ]);
      return ethernet(
        gateway.mac,
        mac,
        ETHERTYPE.ipv6,
        ipv6(
          { ...between, next: PROTOCOL.routing },
          Buffer.concat([routing, udp(between, 4000, 8080, mark)]),
        ),
      );
    });
    for (const fragment of [0x2000, 0x2001, 0x00b9, 0x1fff])
      frames.add(
        'outside as the node',
        `fragment ${fragment.toString(16)} for another network`,
        (mark) =>
          ethernet(
            gateway.mac,
            mac,
            ETHERTYPE.ipv4,
            ipv4(
              { from: v4, to: one.v4, protocol: PROTOCOL.udp, fragment },
              udp({ from: v4, to: one.v4 }, 4000, 8080, mark),
            ),
          ),
      );
    frames.add('outside as the node', 'shorter than its header says', (mark) =>
      ethernet(
        gateway.mac,
        mac,
        ETHERTYPE.ipv4,
        ipv4({ from: v4, to: one.v4, protocol: PROTOCOL.udp, totalLength: 1400 }, mark),
      ),
    );
    for (const ttl of [0, 1])
      frames.add('outside as the node', `time to live ${ttl}`, (mark) =>
        ethernet(gateway.mac, mac, ETHERTYPE.ipv4, udp4(v4, one.v4, 8080, mark, ttl)),
      );
    for (const flags of [0, SYN, 0x10, 0x04, 0x3f])
      frames.add(
        'outside as the node',
        `TCP flags ${flags.toString(16)} to another network`,
        (mark) =>
          ethernet(
            gateway.mac,
            mac,
            ETHERTYPE.ipv4,
            ipv4(
              { from: v4, to: one.v4, protocol: PROTOCOL.tcp },
              tcp({ from: v4, to: one.v4 }, 4000, 8080, flags, mark),
            ),
          ),
      );
    for (const [name, type] of [
      ['echo', 8],
      ['redirect', 5],
      ['unreachable', 3],
      ['mask request', 17],
    ] as const)
      frames.add('outside as the node', `ICMP ${name} to another network`, (mark) =>
        ethernet(
          gateway.mac,
          mac,
          ETHERTYPE.ipv4,
          ipv4({ from: v4, to: one.v4, protocol: PROTOCOL.icmp }, icmp(type, first & 0xffff, mark)),
        ),
      );
  }
  frames.add('own network', 'IPv4 in a frame of type IPv6', (mark) =>
    ethernet(gateway.mac, mac, ETHERTYPE.ipv6, udp4(v4, friend.v4, 8080, mark)),
  );
  frames.add('own network', 'report of a multicast group', (mark) =>
    ethernet(
      '01:00:5e:01:02:03',
      mac,
      ETHERTYPE.ipv4,
      ipv4(
        { from: v4, to: '239.1.2.3', protocol: PROTOCOL.igmp, ttl: 1 },
        Buffer.concat([Buffer.from([0x16, 0, 0, 0]), addressBytes('239.1.2.3'), mark]),
      ),
    ),
  );
  frames.add('own network', 'datagram to a multicast group', (mark) =>
    ethernet('01:00:5e:01:02:03', mac, ETHERTYPE.ipv4, udp4(v4, '239.1.2.3', 8080, mark)),
  );
  return frames.list;
}
