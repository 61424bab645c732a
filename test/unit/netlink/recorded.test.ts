/**
 * What `ip` and `conntrack` asked the kernel, and what it answered, byte by byte: requests made here are the same, and answers read here say what
 * those programs printed. Recorded by test/support/netlink/record.ts (iproute2 6.15, conntrack 1.4.8, Linux 6.18).
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  addAddress,
  addLink,
  addRoute,
  addRule,
  ADDRESS_FLAG,
  connections,
  deleteAddress,
  deleteConnection,
  deleteLink,
  deleteNeighbour,
  deleteRoute,
  deleteRule,
  FOREVER,
  getNeighbour,
  NEIGHBOUR_STATE,
  readAddress,
  readConnection,
  readLink,
  readNeighbour,
  readRoute,
  readRule,
  replaceNeighbour,
  replaceAddress,
  replaceRoute,
  ROUTE_TYPE,
  setLink,
  type Connection,
  type Request,
  type Route,
} from '../../../src/netlink/index.ts';
import { eachAttribute } from '../../../src/netlink/wire/attributes.ts';
import {
  readAcknowledgement,
  readMessages,
  type NetlinkMessage,
} from '../../../src/netlink/wire/message.ts';
import type { Recording } from '../../support/netlink/record.ts';

const RECORDED = JSON.parse(
  readFileSync(join(import.meta.dirname, 'recorded.json'), 'utf8'),
) as readonly Recording[];

function recording(command: string): Recording {
  const found = RECORDED.find((one) => one.command.startsWith(command));
  if (found === undefined) throw new Error(`${command} was not recorded`);
  return found;
}

const messagesOf = (datagrams: readonly string[]): readonly NetlinkMessage[] =>
  datagrams.flatMap((hex) => readMessages(new Uint8Array(Buffer.from(hex, 'hex'))));

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Attributes without regard to their order; what holds none stays as it is. */
function tree(bytes: Uint8Array, offset = 0): unknown {
  try {
    const list: (readonly [number, Uint8Array])[] = [];
    eachAttribute(bytes, offset, 'tree', (type, value) => list.push([type, value]));
    if (list.length > 0)
      return list
        .map(([type, value]) => [type, tree(value)])
        .toSorted((a, b) => Number(a[0]) - Number(b[0]));
  } catch {
    // A value.
  }
  return hex(bytes.subarray(offset));
}

/** Bytes of the header of a family of messages. */
const headerOf = (type: number): number => {
  if (type >= 0x100) return 4;
  return { 16: 16, 20: 8, 24: 12, 28: 12, 32: 12 }[type & ~3] ?? 0;
};

const picture = ({
  type,
  flags,
  body,
}: Pick<NetlinkMessage, 'type' | 'flags' | 'body'>): unknown => ({
  type,
  flags,
  header: hex(body.subarray(0, headerOf(type))),
  attributes: tree(body, headerOf(type)),
});

/** The last message is what the command is for; before it the program asks for numbers of devices. */
const asked = (command: string): NetlinkMessage => {
  const message = messagesOf(recording(command).sent).at(-1);
  if (message === undefined) throw new Error(`${command} sent nothing`);
  return message;
};

const REQUEST = 0x1;
const ACK = 0x4;
/** The number that h0 has in its namespace, and descriptors of programs. */
const H0 = (() => {
  const view = asked('ip link set dev h0 up').body;
  return new DataView(view.buffer, view.byteOffset).getInt32(4, true);
})();
const PEER_NAMESPACE = 4;

const CASES: Readonly<Record<string, Request>> = {
  'ip link add name h0': addLink({
    name: 'h0',
    mtu: 1400,
    mac: '02:00:00:00:00:01',
    kind: {
      kind: 'veth',
      peer: { name: 'e0', mtu: 1400, mac: '0a:58:0a:f4:01:05', namespace: PEER_NAMESPACE },
    },
  }),
  'ip link set dev h0 alias': setLink(H0, { alias: 'heddle-cni-0', group: 974110 }),
  'ip link set dev h0 up': setLink(H0, { isUp: true }),
  'ip link set dev h0 mtu': setLink(H0, { mtu: 1380 }),
  'ip link set dev h0 nomaster': setLink(H0, { master: 0, isUp: true }),
  'ip link add name blue': addLink({
    name: 'blue',
    isUp: true,
    kind: { kind: 'vrf', table: 10007 },
  }),
  'ip link add name d0': addLink({ name: 'd0', kind: { kind: 'dummy' } }),
  'ip link add name vx0': addLink({
    name: 'vx0',
    kind: { kind: 'vxlan', id: 7, port: 4789, local: '10.0.0.1', isLearning: false, device: H0 },
  }),
  'ip link delete dev h0': deleteLink(H0),
  'ip address add 10.0.0.1/24': addAddress({ device: H0, address: '10.0.0.1/24' }),
  'ip address add fd00::1/64': addAddress({
    device: H0,
    address: 'fd00::1/64',
    flags: ADDRESS_FLAG.noDad,
  }),
  'ip address add 169.254.0.2/17': addAddress({
    device: H0,
    address: '169.254.0.2/17',
    protocol: 85,
    lifetimes: { preferred: 0, valid: FOREVER },
  }),
  'ip address replace 192.0.2.1/24': replaceAddress({
    device: H0,
    address: '192.0.2.1/24',
    broadcast: '192.0.2.255',
    label: 'h0:1',
    metric: 50,
    flags: ADDRESS_FLAG.noPrefixRoute,
    lifetimes: { valid: 3000, preferred: 2000 },
  }),
  'ip address replace 192.0.2.7': replaceAddress({
    device: H0,
    address: '192.0.2.7/32',
    peer: '192.0.2.8/32',
  }),
  'ip address replace fd00::5/64': replaceAddress({
    device: H0,
    address: 'fd00::5/64',
    metric: 77,
    flags: ADDRESS_FLAG.noDad | ADDRESS_FLAG.noPrefixRoute,
  }),
  'ip address delete 10.0.0.1/24': deleteAddress({ device: H0, address: '10.0.0.1/24' }),
  'ip address delete 192.0.2.7': deleteAddress({
    device: H0,
    address: '192.0.2.7/32',
    peer: '192.0.2.8/32',
  }),
  'ip address delete fd00::5/64': deleteAddress({ device: H0, address: 'fd00::5/64' }),
  'ip route add default via': addRoute({
    destination: '0.0.0.0/0',
    hops: [{ via: '10.0.0.254', device: H0 }],
  }),
  'ip route add 10.1.0.0/16': addRoute({
    destination: '10.1.0.0/16',
    metrics: { mtu: 1300 },
    preferredSource: '10.0.0.1',
    protocol: 85,
    hops: [{ device: H0 }],
  }),
  'ip route add unreachable': addRoute({
    destination: '0.0.0.0/0',
    type: ROUTE_TYPE.unreachable,
    metric: 4278198272,
    table: 10007,
    protocol: 85,
  }),
  'ip route replace 10.5.0.0/16': replaceRoute({
    destination: '10.5.0.0/16',
    table: 77,
    protocol: 16,
    scope: 0,
    preferredSource: '10.0.0.1',
    metric: 9,
    metrics: { lock: 4, mtu: 1300, advmss: 1200, initcwnd: 20, congctl: 'reno' },
    hops: [{ device: H0 }],
  }),
  'ip -6 route replace fd05::/48': replaceRoute({
    destination: 'fd05::/48',
    protocol: 9,
    metric: 300,
    expires: 600,
    preference: 1,
    metrics: { mtu: 1350 },
    hops: [{ via: 'fd00::7', device: H0 }],
  }),
  'ip route delete unreachable': deleteRoute({
    destination: '10.6.0.0/16',
    type: ROUTE_TYPE.unreachable,
    table: 10007,
    protocol: 85,
    metric: 7,
  }),
  'ip route replace 10.2.0.0/16': replaceRoute({
    destination: '10.2.0.0/16',
    table: 10007,
    protocol: 85,
    hops: [
      { via: '10.0.0.7', device: H0, weight: 2 },
      { via: '10.0.0.8', device: H0 },
    ],
  }),
  'ip route add 10.3.0.0/16': addRoute({
    destination: '10.3.0.0/16',
    hops: [{ via: 'fd00::9', device: H0 }],
  }),
  'ip route add 10.4.0.0/16': addRoute({
    destination: '10.4.0.0/16',
    hops: [{ via: '10.9.9.9', device: H0, isOnLink: true }],
  }),
  'ip -6 route add default': addRoute({
    destination: '::/0',
    table: 10007,
    protocol: 85,
    hops: [{ via: 'fd00::ff', device: H0 }],
  }),
  'ip -6 route add fd01::/48': addRoute({
    destination: 'fd01::/48',
    protocol: 85,
    hops: [
      { via: 'fd00::7', device: H0 },
      { via: 'fd00::8', device: H0 },
    ],
  }),
  'ip route delete 10.1.0.0/16': deleteRoute({
    destination: '10.1.0.0/16',
    hops: [{ device: H0 }],
  }),
  'ip rule add priority 2000 fwmark': addRule({
    family: 'v4',
    priority: 2000,
    mark: 0x1002,
    table: 10007,
    protocol: 85,
  }),
  'ip rule add priority 2000 to': addRule({
    family: 'v4',
    priority: 2000,
    destination: '169.254.0.14/32',
    table: 10007,
    protocol: 85,
  }),
  'ip rule add priority 1000 l3mdev': addRule({
    family: 'v4',
    priority: 1000,
    isL3mdev: true,
    protocol: 85,
  }),
  'ip rule add priority 3000': addRule({
    family: 'v4',
    priority: 3000,
    source: '10.7.0.0/16',
    mark: 0x10,
    mask: 0xf0,
    table: 7,
  }),
  'ip -6 rule add priority 2000': addRule({
    family: 'v6',
    priority: 2000,
    destination: 'fd69::e/128',
    table: 10007,
    protocol: 85,
  }),
  'ip -6 rule delete priority 2000': deleteRule({
    family: 'v6',
    priority: 2000,
    destination: 'fd69::e/128',
    table: 10007,
    protocol: 85,
  }),
  'ip rule delete priority 2000': deleteRule({
    family: 'v4',
    priority: 2000,
    mark: 0x1002,
    table: 10007,
    protocol: 85,
  }),
  'ip neighbour replace 10.0.0.9': replaceNeighbour({
    device: H0,
    address: '10.0.0.9',
    mac: '0a:58:a9:fe:00:0d',
    protocol: 85,
  }),
  'ip neighbour replace fd00::9': replaceNeighbour({
    device: H0,
    address: 'fd00::9',
    mac: '0a:58:8f:28:41:67',
  }),
  'ip neighbour get 10.0.0.9': getNeighbour({ device: H0, address: '10.0.0.9' }),
  'ip neighbour delete 10.0.0.9': deleteNeighbour({ device: H0, address: '10.0.0.9' }),
};

describe('requests', () => {
  test.each(Object.entries(CASES))('%s …', (command, request) => {
    const flags = request.flags | REQUEST | ('read' in request ? 0 : ACK);
    expect(picture({ ...request, flags })).toEqual(picture(asked(command)));
  });
});

/** What the kernel answered to a command of this beginning, as `read` reads it. */
const answers = <T>(
  command: string,
  read: (message: NetlinkMessage) => T | undefined,
): readonly T[] =>
  messagesOf(recording(command).received).flatMap((message) => read(message) ?? []);

type Json = Readonly<Record<string, unknown>>;
const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : JSON.stringify(value);
const shownBy = (command: string): readonly Json[] => recording(command).shown as readonly Json[];
const given = (fields: Json): Json =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** As ip(8) shows them; of what is locked it tells people alone. */
function metricsShown({ metrics }: Route): Json | undefined {
  const all = Object.entries(metrics)
    .filter(([name]) => name !== 'lock')
    .map(([name, value]) => [name === 'congctl' ? 'congestion' : name, value]);
  return all.length === 0 ? undefined : (Object.fromEntries(all) as Json);
}

describe('answers', () => {
  const links = answers('ip -json -details -Numeric link show', readLink);
  const nameOf = (index: number | undefined): string | undefined =>
    links.find((link) => link.index === index)?.name;

  test('links', () => {
    const shown = shownBy('ip -json -details -Numeric link show');
    expect(
      links.map((link) => ({
        ifindex: link.index,
        ifname: link.name,
        mtu: link.mtu,
        group: String(link.group),
        address: link.mac,
        alias: link.alias,
        isUp: link.isUp,
        hasCarrier: link.hasCarrier,
        kind: link.kind,
        peer: link.peer,
      })),
    ).toEqual(
      shown.map((json) => {
        const flags = json['flags'] as readonly string[];
        return {
          ifindex: json['ifindex'],
          ifname: json['ifname'],
          mtu: json['mtu'],
          group: json['group'],
          address: json['address'],
          alias: json['ifalias'],
          isUp: flags.includes('UP'),
          hasCarrier: flags.includes('LOWER_UP'),
          kind: (json['linkinfo'] as Json | undefined)?.['info_kind'],
          peer: json['link_index'] ?? links.find(({ name }) => name === json['link'])?.index,
        };
      }),
    );
    expect(links.find(({ name }) => name === 'h0')).toMatchObject({
      kind: 'veth',
      alias: 'heddle-cni-0',
      group: 974110,
      peerNamespace: expect.any(Number) as number,
    });
    expect(links.find(({ name }) => name === 'vx0')?.data).toEqual({
      kind: 'vxlan',
      id: 7,
      port: 4789,
      local: '10.0.0.1',
      device: H0,
      isLearning: false,
      isExternal: false,
    });
    expect(links.find(({ name }) => name === 'vx1')?.data).toMatchObject({
      id: undefined,
      port: 4790,
      isExternal: true,
    });
  });

  test('a VRF, of which a kernel says what is asked of it', () => {
    const made = readLink(asked('ip link add name blue'));
    expect(made).toMatchObject({ name: 'blue', kind: 'vrf', data: { kind: 'vrf', table: 10007 } });
  });

  test('a VLAN, of which a kernel says what is asked of it', () => {
    const made = readLink(asked('ip link add link h0'));
    expect(made).toMatchObject({ name: 'h0.7', peer: H0, data: { kind: 'vlan', id: 7 } });
  });

  test('addresses', () => {
    const found = answers('ip -json -details -Numeric address show', readAddress).map((one) => ({
      dev: nameOf(one.device),
      address: one.address,
      scope: String(one.scope),
      label: one.label,
      broadcast: one.broadcast,
      peer: one.peer?.replace(/\/.*/, ''),
      metric: one.metric,
      noprefixroute: (one.flags & ADDRESS_FLAG.noPrefixRoute) !== 0,
      deprecated: (one.flags & ADDRESS_FLAG.deprecated) !== 0,
      protocol: one.protocol,
      valid: one.lifetimes.valid,
      preferred: one.lifetimes.preferred,
    }));
    const shown = shownBy('ip -json -details -Numeric address show').flatMap((link) =>
      (link['addr_info'] as readonly Json[]).map((json) => ({
        dev: link['ifname'],
        address: `${textOf(json['local'])}/${textOf(json['prefixlen'])}`,
        scope: json['scope'],
        label: json['label'],
        broadcast: json['broadcast'],
        peer: json['address'],
        metric: json['metric'],
        noprefixroute: json['noprefixroute'] === true,
        deprecated: json['deprecated'] === true,
        protocol: Number(json['protocol'] ?? 0),
        valid: json['valid_life_time'],
        preferred: json['preferred_life_time'],
      })),
    );
    const order = (a: { address: string }, b: { address: string }): number =>
      a.address < b.address ? -1 : 1;
    expect(found.toSorted(order)).toEqual(shown.toSorted(order));
    expect(found).toContainEqual(
      expect.objectContaining({ address: '169.254.0.2/17', deprecated: true, protocol: 85 }),
    );
  });

  test.each([
    ['-4', '0.0.0.0/0', 32],
    ['-6', '::/0', 128],
  ])('routes (ip %s)', (family, everything, bits) => {
    const command = `ip ${family} -json -details -Numeric route show table all`;
    const withLength = (dst: string): string =>
      dst === 'default' ? everything : dst.includes('/') ? dst : `${dst}/${bits}`;
    const viaOf = (json: Json): unknown =>
      json['gateway'] ?? (json['via'] as Json | undefined)?.['host'];
    const found = answers(command, readRoute).map((route) => {
      const [only, ...others] = route.hops;
      return given({
        dst: route.destination,
        type: String(route.type),
        table: route.table,
        protocol: String(route.protocol),
        metric: route.metric,
        prefsrc: route.preferredSource,
        metrics: metricsShown(route),
        expires: route.expires,
        pref: { 0: 'medium', 1: 'high' }[route.preference ?? -1],
        scope: String(route.scope),
        gateway: others.length === 0 ? only?.via : undefined,
        dev: others.length === 0 ? nameOf(only?.device) : undefined,
        hops:
          others.length === 0
            ? undefined
            : route.hops.map(({ via, device, weight }) => ({ via, dev: nameOf(device), weight })),
      });
    });
    const shown = shownBy(command).map((json) =>
      given({
        dst: withLength(textOf(json['dst'])),
        type: json['type'] ?? '1',
        table: Number(json['table'] ?? 254),
        protocol: json['protocol'],
        metric: json['metric'],
        prefsrc: json['prefsrc'],
        metrics: (json['metrics'] as readonly Json[] | undefined)?.[0],
        expires: json['expires'],
        pref: json['pref'],
        scope: json['scope'],
        gateway: viaOf(json),
        dev: json['dev'],
        hops: (json['nexthops'] as readonly Json[] | undefined)?.map((hop) => ({
          via: viaOf(hop),
          dev: hop['dev'],
          weight: hop['weight'],
        })),
      }),
    );
    expect(found).toEqual(shown);
    expect(found.length).toBeGreaterThan(6);
  });

  test.each(['-4', '-6'])('rules (ip %s)', (family) => {
    const command = `ip ${family} -json -details -Numeric rule show`;
    const found = answers(command, readRule).map((rule) =>
      given({
        priority: rule.priority,
        src: rule.source,
        dst: rule.destination,
        fwmark: rule.mark,
        fwmask: rule.mask === 0xffff_ffff ? undefined : rule.mask,
        table: rule.table || undefined,
        l3mdev: rule.isL3mdev || undefined,
        iif: rule.inputDevice,
        protocol: rule.protocol,
        sourcePorts: rule.sourcePorts?.join(' '),
        hasMore: rule.hasMore || undefined,
      }),
    );
    const prefix = (json: Json, name: string): string | undefined =>
      json[name] === undefined || json[name] === 'all'
        ? undefined
        : `${textOf(json[name])}/${textOf(json[`${name}len`] ?? (family === '-4' ? 32 : 128))}`;
    const shown = shownBy(command).map((json) =>
      given({
        priority: json['priority'],
        src: prefix(json, 'src'),
        dst: prefix(json, 'dst'),
        fwmark: json['fwmark'] === undefined ? undefined : Number(json['fwmark']),
        fwmask: json['fwmask'] === undefined ? undefined : Number(json['fwmask']),
        table: json['table'] === undefined ? undefined : Number(json['table']),
        l3mdev: 'l3mdev' in json || undefined,
        iif: json['iif'],
        protocol: Number(json['protocol']),
        sourcePorts:
          'sport' in json ? `${textOf(json['sport'])} ${textOf(json['sport'])}` : undefined,
      }),
    );
    expect(found).toEqual(shown);
  });

  test('neighbours', () => {
    const found = answers('ip -json -details -Numeric neighbour show nud permanent', readNeighbour)
      .filter(({ state }) => state === NEIGHBOUR_STATE.permanent)
      .map(({ address, device, mac, protocol }) => ({
        address,
        dev: nameOf(device),
        mac,
        protocol,
      }));
    const shown = shownBy('ip -json -details -Numeric neighbour show nud permanent');
    expect(found).toEqual(
      shown.map((json) => ({
        address: json['dst'],
        dev: json['dev'],
        mac: json['lladdr'],
        protocol: Number(json['protocol'] ?? 0),
      })),
    );
    expect(found).toHaveLength(2);
  });

  test('what a request was refused for', () => {
    const [acknowledgement] = messagesOf(recording('ip link add name d0').received);
    expect(
      acknowledgement === undefined ? undefined : readAcknowledgement(acknowledgement),
    ).toEqual({
      errno: 95,
      reason: 'Unknown device type',
    });
  });
});

describe('connections', () => {
  const v4 = answers('conntrack --dump --family ipv4', readConnection);
  const tcp = v4.find(({ original }) => original.protocol === 6) as Connection;

  test('are read', () => {
    expect(tcp).toMatchObject({
      family: 'v4',
      zone: 64000,
      mark: 5,
      original: {
        source: '10.0.0.1',
        destination: '10.96.0.1',
        protocol: 6,
        sourcePort: 4000,
        destinationPort: 80,
        icmp: undefined,
      },
      reply: { source: '10.1.0.7', sourcePort: 8080 },
    });
    expect(v4.find(({ original }) => original.protocol === 1)?.original.icmp).toEqual({
      id: 77,
      type: 8,
      code: 0,
    });
    expect(answers('conntrack --dump --family ipv6', readConnection)).toMatchObject([
      {
        family: 'v6',
        original: { source: 'fd00::1', destination: 'fd96::a', destinationPort: 53 },
      },
    ]);
  });

  test.each([
    ['conntrack --dump --family ipv4 --mark 5/0xff', { family: 'v4', mark: 5, markMask: 0xff }],
    ['conntrack --dump --family ipv6', { family: 'v6' }],
  ] as const)('%s', (command, filter) => {
    const query = connections(filter);
    expect(picture({ ...query, flags: query.flags | REQUEST })).toEqual(picture(asked(command)));
  });

  test('one is forgotten by what the program names it by, of which more would not matter', () => {
    const { body } = asked('conntrack --delete --family ipv4 --zone 64000');
    const of = (bytes: Uint8Array): readonly unknown[] => tree(bytes, 4) as readonly unknown[];
    const own = of(deleteConnection({ ...tcp, id: undefined }).body);
    expect(of(body)).toEqual(expect.arrayContaining([...own]));
  });
});
