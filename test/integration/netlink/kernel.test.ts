/** Against the kernel of this machine, in network namespaces of their own; what there is afterwards is what `ip` shows. */
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, test } from 'vitest';
import {
  addAddress,
  ADDRESS_FLAG,
  addLink,
  addRoute,
  addresses,
  addRule,
  changeAll,
  changeInBackground,
  connectionCount,
  connections,
  deleteAddress,
  deleteConnection,
  deleteConnections,
  deleteLink,
  deleteNeighbour,
  deleteRoute,
  deleteRule,
  deviceSocket,
  FrameListener,
  genericFamily,
  getLink,
  getNeighbour,
  inNetworkNamespace,
  links,
  LOCAL_TABLE,
  lookUpRoute,
  namespaceId,
  neighbours,
  NetlinkMonitor,
  NetlinkSocket,
  readRouteEvent,
  replaceAddress,
  replaceNeighbour,
  replaceRoute,
  ROUTE_GROUP,
  ROUTE_TYPE,
  routes,
  rules,
  sendFrame,
  setFeatures,
  setLink,
  type Request,
  type RouteEvent,
} from '../../../src/netlink/index.ts';
import { announcementOf } from '../../../src/node/announcer/address-announcements.ts';
import { ovsProgram } from '../../support/host/ovs-programs.ts';
import { NetworkNamespace, whyNoNamespace } from '../../support/host/network-namespace.ts';
import { until } from '../../support/run/until.ts';

const withoutNamespace = whyNoNamespace !== undefined;
const MAC = '02:00:00:00:00:01';

describe.skipIf(withoutNamespace)('the kernel', () => {
  let here: NetworkNamespace;
  let there: NetworkNamespace;
  let namespace: number;
  let other: number;
  let socket: NetlinkSocket;

  beforeAll(async () => {
    [here, there] = await Promise.all([NetworkNamespace.create(), NetworkNamespace.create()]);
    [namespace, other] = [here, there].map(({ path }) => openSync(path, 'r')) as [number, number];
  });
  afterAll(() => {
    for (const fd of [namespace, other]) closeSync(fd);
    for (const one of [here, there]) one[Symbol.dispose]();
  });
  beforeEach(() => {
    socket = new NetlinkSocket('route', { namespace });
    socket.change(
      addLink({
        name: 'h0',
        mac: MAC,
        mtu: 1400,
        group: 974110,
        isUp: true,
        kind: { kind: 'veth', peer: { name: 'e0', mtu: 1400, namespace: other } },
      }),
    );
    socket.change(setLink('h0', { alias: 'heddle "0"' }));
  });
  afterEach(() => {
    socket[Symbol.dispose]();
    if (here.ip('-brief link show').includes('h0')) here.ip('link delete dev h0');
  });

  const h0 = (): number => socket.get(getLink('h0')).index;

  test('features of a device go and come back by name; one that the kernel does not know is named', () => {
    using generic = new NetlinkSocket('generic', { namespace });
    const family = generic.get(genericFamily('ethtool'));
    const { command, args } = ovsProgram('ethtool');
    const [enter = '', ...inNamespace] = here.inside;
    const feature = (name: string): string | undefined =>
      new RegExp(`\\s${name}: (\\w+)`).exec(
        spawnSync(enter, [...inNamespace, command, ...args, '-k', 'h0'], {
          encoding: 'utf8',
        }).stdout,
      )?.[1];
    const change = (features: Readonly<Record<string, boolean>>): void =>
      generic.change(setFeatures(family, h0(), features));
    change({ 'tx-checksum-ip-generic': false, 'tx-checksum-sctp': false });
    expect([feature('tx-checksum-ip-generic'), feature('tx-checksum-sctp')]).toEqual([
      'off',
      'off',
    ]);
    change({ 'tx-checksum-ip-generic': true });
    expect([feature('tx-checksum-ip-generic'), feature('tx-checksum-sctp')]).toEqual(['on', 'off']);
    expect(() => change({ 'no-such-feature': true })).toThrow(/device \d+: no-such-feature on: /);
    expect(() => generic.get(genericFamily('no-such-family'))).toThrow(
      /no-such-family of generic netlink: no such file/,
    );
  });

  test('a frame is sent by a device as it is, and refused by none', () => {
    using remote = new NetlinkSocket('route', { namespace: other });
    const e0 = remote.get(getLink('e0')).index;
    there.sysctls.write('net/ipv4/conf/e0/arp_accept', '1');
    remote.change(setLink('e0', { isUp: true }));
    remote.change(addAddress({ device: e0, address: '10.9.0.2/24' }));
    const frame = announcementOf('10.9.0.50', MAC, 0);
    sendFrame(h0(), Buffer.from(frame, 'hex'), { namespace });
    expect(there.ip('neighbour show dev e0')).toContain(`10.9.0.50 lladdr ${MAC}`);
    expect(() => sendFrame(4711, Buffer.from(frame, 'hex'), { namespace })).toThrow(
      'send a frame by device 4711',
    );
  });

  test('frames that a filter lets pass are seen where they come in and where they leave, with the device', () => {
    using remote = new NetlinkSocket('route', { namespace: other });
    const e0 = remote.get(getLink('e0')).index;
    remote.change(setLink('e0', { isUp: true }));
    // Ethernet of type 0x1234: load the half-word at 12, compare, give 32 bytes or nothing (linux/bpf_common.h).
    const filter = [
      { code: 0x28, value: 12 },
      { code: 0x15, value: 0x1234, jumpFalse: 1 },
      { code: 0x06, value: 32 },
      { code: 0x06, value: 0 },
    ];
    const frame = (type: number, last: number): Uint8Array =>
      Uint8Array.from([
        ...Array.from<number>({ length: 12 }).fill(2),
        type >> 8,
        type & 0xff,
        ...Array.from<number>({ length: 50 }).fill(last),
      ]);
    using listener = inNetworkNamespace(namespace, () => new FrameListener({ filter }));
    expect(listener.take()).toEqual([]);
    sendFrame(h0(), frame(0x1234, 1), { namespace });
    sendFrame(h0(), frame(0x1235, 2), { namespace });
    sendFrame(e0, frame(0x1234, 3), { namespace: other });
    expect(listener.take()).toEqual([
      { device: h0(), isOutgoing: true, frame: frame(0x1234, 1).subarray(0, 32) },
      { device: h0(), isOutgoing: false, frame: frame(0x1234, 3).subarray(0, 32) },
    ]);
    expect(listener.lost()).toBe(0);
    const broken = [{ code: 0x15, jumpTrue: 9 }];
    expect(() =>
      inNetworkNamespace(namespace, () => new FrameListener({ filter: broken })),
    ).toThrow('filter frames');
  });

  test('the number of a namespace is that which a device has for where its peer is', () => {
    expect(socket.get(namespaceId(other))).toBe(socket.get(getLink('h0')).peerNamespace);
    const own = openSync('/dev/null', 'r');
    try {
      expect(() => socket.get(namespaceId(own))).toThrow(/number of network namespace/);
    } finally {
      closeSync(own);
    }
  });

  test('of sockets at one address that is not the host’s each hears a device of its own', () => {
    const open = (device: string, address = '192.0.2.53'): number =>
      inNetworkNamespace(namespace, () =>
        deviceSocket({
          family: address.includes(':') ? 'v6' : 'v4',
          type: 'datagram',
          address,
          port: 53,
          device,
          mark: 7,
        }),
      );
    const sockets = [open('lo'), open('h0'), open('lo', '2001:db8::53')];
    try {
      expect(() => open('h0')).toThrow(/listen at 192\.0\.2\.53 port 53 on device h0: .*in use/);
      expect(() => open('none')).toThrow('on device none');
    } finally {
      for (const one of sockets) closeSync(one);
    }
  });

  test('a veth pair has its other end in the other namespace from the beginning', () => {
    using remote = new NetlinkSocket('route', { namespace: other });
    expect(socket.get(getLink('h0'))).toMatchObject({
      name: 'h0',
      kind: 'veth',
      mac: MAC,
      mtu: 1400,
      group: 974110,
      alias: 'heddle "0"',
      isUp: true,
      peer: remote.get(getLink('e0')).index,
    });
    expect(socket.dump(links({ kind: 'veth' })).map(({ name }) => name)).toEqual(['h0']);
    expect(socket.dump(links()).map(({ name }) => name)).toContain('lo');
    const [shown] = JSON.parse(here.ip('-json link show dev h0')) as { ifalias: string }[];
    expect(shown?.ifalias).toBe('heddle "0"');
  });

  test('addresses, routes, rules and neighbours come, are shown, and go', () => {
    const device = h0();
    socket.change(addAddress({ device, address: '10.0.0.1/24' }));
    socket.change(addAddress({ device, address: 'fd00::1/64', flags: 2, protocol: 85 }));
    expect(here.ip('address show dev h0')).toMatch(
      /inet 10\.0\.0\.1\/24 (?:brd \S+ )?scope global h0/,
    );
    expect(socket.dump(addresses({ device }))).toMatchObject([
      { address: '10.0.0.1/24', device, protocol: 0 },
      { address: 'fd00::1/64', device, protocol: 85 },
    ]);
    const hops = [
      { via: '10.0.0.7', device, weight: 3 },
      { via: '10.0.0.8', device },
    ];
    socket.change(
      addRoute({ destination: '10.1.0.0/16', table: 10007, protocol: 85, hops: hops.slice(0, 1) }),
    );
    socket.change(
      replaceRoute({
        destination: '10.1.0.0/16',
        table: 10007,
        protocol: 85,
        metrics: { mtu: 1300 },
        hops,
      }),
    );
    socket.change(
      addRoute({
        destination: '::/0',
        table: 10007,
        protocol: 85,
        hops: [{ via: 'fd00::ff', device }],
      }),
    );
    expect(socket.dump(routes({ family: 'v4', table: 10007 }))).toEqual([
      expect.objectContaining({
        destination: '10.1.0.0/16',
        metrics: { mtu: 1300 },
        hops: [
          expect.objectContaining({ via: '10.0.0.7', weight: 3 }),
          expect.objectContaining({ via: '10.0.0.8', weight: 1 }),
        ],
      }),
    ]);
    expect(here.ip('-6 route show table 10007')).toContain('default via fd00::ff dev h0 proto 85');
    expect(socket.dump(routes({ family: 'v4', protocol: 85 }))).toHaveLength(1);
    expect(socket.dump(routes({ family: 'v4', table: 4711 }))).toEqual([]);
    const rule = {
      family: 'v4',
      priority: 2000,
      mark: 0x1002,
      table: 10007,
      protocol: 85,
    } as const;
    socket.change(addRule(rule));
    expect(socket.dump(rules({ family: 'v4' }))).toContainEqual(expect.objectContaining(rule));
    const answers = {
      family: 'v4',
      priority: 5000,
      source: '169.254.0.3/32',
      sourcePort: 30_080,
      table: 10007,
      protocol: 85,
    } as const;
    socket.change(addRule(answers));
    expect(here.ip('rule show')).toContain('from 169.254.0.3 sport 30080 lookup 10007');
    expect(socket.dump(rules({ family: 'v4' }))).toContainEqual(
      expect.objectContaining({
        source: '169.254.0.3/32',
        sourcePorts: [30_080, 30_080],
        hasMore: false,
      }),
    );
    socket.change(deleteRule(answers));
    expect(here.ip('rule show')).not.toContain('30080');
    socket.change(replaceNeighbour({ device, address: '10.0.0.9', mac: MAC, protocol: 85 }));
    expect(socket.dump(neighbours({ device }))).toContainEqual(
      expect.objectContaining({ address: '10.0.0.9', mac: MAC, protocol: 85 }),
    );
    const place = { device, address: '10.0.0.9' };
    expect(socket.get(getNeighbour(place))).toMatchObject({ ...place, mac: MAC, protocol: 85 });
    socket.change(deleteNeighbour(place));
    expect(() => socket.get(getNeighbour(place))).toThrow(
      expect.objectContaining({ code: 'ENOENT' }) as Error,
    );
    socket.change(deleteRule(rule));
    socket.change(deleteRoute({ destination: '10.1.0.0/16', table: 10007 }));
    socket.change(deleteRoute({ destination: '::/0', table: 10007 }));
    socket.change(deleteAddress({ device, address: '10.0.0.1/24' }));
    expect(here.ip('rule show')).not.toContain('2000:');
    expect(here.ip('neighbour show')).not.toContain('10.0.0.9');
    expect(here.ip('-4 address show dev h0')).not.toContain('inet');
    socket.change(deleteLink('h0'));
    expect(there.ip('-brief link show')).not.toContain('e0');
  });

  test.for([
    ['v4', '10.0.0.1/24', '10.9.0.0/16', '10.9.1.1', '10.0.0.7', '10.0.0.99', '192.0.2.9'],
    ['v6', 'fd00::1/64', 'fd09::/16', 'fd09::1', 'fd00::7', 'fd00::99', '2001:db8::9'],
  ] as const)(
    'the route of a packet is looked up by rules and tables, with what it comes by (%s)',
    async ([family, own, subnet, destination, via, source, unknown]) => {
      const device = h0();
      here.sysctls.write(`net/${family === 'v4' ? 'ipv4' : 'ipv6'}/conf/h0/forwarding`, '1');
      socket.change(addAddress({ device, address: own, flags: family === 'v4' ? 0 : 2 }));
      const route = { destination: subnet, table: 10007, hops: [{ via, device }] };
      socket.change(addRoute(route));
      socket.change(addRule({ family, priority: 2000, mark: 0x1002, table: 10007 }));
      const sent = { table: 10007, type: ROUTE_TYPE.unicast, hops: [{ via, device }] };
      const address = own.replace(/\/.*/, '');
      expect(socket.get(lookUpRoute({ destination, mark: 0x1002 }))).toMatchObject(sent);
      const comes = { destination, source, device, mark: 0x1002 };
      expect(socket.get(lookUpRoute(comes))).toMatchObject(sent);
      // The kernel takes an IPv6 address for its own a moment after it was added.
      await expect
        .poll(() => socket.get(lookUpRoute({ ...comes, destination: address })))
        .toMatchObject({ type: ROUTE_TYPE.local, table: LOCAL_TABLE });
      for (const none of [{ destination: unknown }, { destination, source, device }])
        expect(() => socket.get(lookUpRoute(none))).toThrow(
          expect.objectContaining({
            code: expect.stringMatching(/^E(NET|HOST)UNREACH$/) as string,
          }) as Error,
        );
      expect(() =>
        lookUpRoute({ destination, source: family === 'v4' ? '::1' : '10.0.0.9' }),
      ).toThrow(/two families/);
    },
  );

  test('what takes its time is done while other code runs, with the same answer', async () => {
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 0);
    await Promise.all([
      changeInBackground('route', deleteLink('h0'), { namespace }),
      expect(changeInBackground('route', deleteLink('absent'), { namespace })).rejects.toThrow(
        'delete link absent: no such device',
      ),
    ]);
    clearInterval(counting);
    expect(turns).toBeGreaterThan(0);
    expect(here.ip('-brief link show')).not.toContain('h0');
  });

  test('a thousand changes are made in their order while other code runs; what is refused harms no other', async () => {
    const device = h0();
    const route = (n: number, via?: string): Request =>
      addRoute({
        destination: `10.${n >> 8}.${n & 255}.0/24`,
        table: 4000,
        hops: [{ device, ...(via === undefined ? {} : { via }) }],
      });
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 0);
    const refusals = await changeAll(
      'route',
      Array.from({ length: 1000 }, (_, n) =>
        n === 500 ? route(3) : route(n, n === 7 ? '10.9.9.9' : undefined),
      ),
      { namespace },
    );
    clearInterval(counting);
    expect(turns).toBeGreaterThan(0);
    expect([...refusals.entries()].filter(([, one]) => one !== undefined)).toMatchObject([
      [7, { code: 'ENETUNREACH', why: 'Nexthop has invalid gateway (network is unreachable)' }],
      [500, { code: 'EEXIST' }],
    ]);
    expect(socket.dump(routes({ family: 'v4', table: 4000 }))).toHaveLength(998);
  });

  test('addresses and routes have all that others gave them, and move with it', () => {
    const device = h0();
    const shown = (words: string): string => here.ip(words).replaceAll(' linkdown', '');
    const address = {
      device,
      address: '192.0.2.7/32',
      peer: '192.0.2.8/32',
      label: 'h0:1',
      metric: 50,
      flags: ADDRESS_FLAG.noPrefixRoute,
    };
    socket.change(replaceAddress(address));
    socket.change(replaceAddress({ ...address, metric: 60 }));
    expect(here.ip('address show dev h0')).toContain(
      'inet 192.0.2.7 peer 192.0.2.8/32 metric 60 scope global noprefixroute h0:1',
    );
    expect(socket.dump(addresses({ device }))).toMatchObject([
      { ...address, metric: 60, flags: address.flags | ADDRESS_FLAG.permanent },
    ]);
    const metrics = { lock: 4, mtu: 1300, advmss: 1200, congctl: 'reno' };
    const added = { destination: '10.5.0.0/16', table: 77, scope: 253, metric: 9, metrics };
    socket.change(replaceRoute({ ...added, hops: [{ device }] }));
    expect(shown('route show table 77')).toContain(
      '10.5.0.0/16 dev h0 scope link metric 9 mtu lock 1300 advmss 1200 congctl reno',
    );
    expect(socket.dump(routes({ family: 'v4', table: 77 }))).toMatchObject([added]);
    const passing = { destination: 'fd05::/48', protocol: 9, preference: 1, metric: 300 };
    socket.change(replaceRoute({ ...passing, expires: 600, hops: [{ device }] }));
    expect(shown('-6 route show proto ra')).toMatch(
      /fd05::\/48 dev h0 metric 300 expires \d+sec pref high/,
    );
    const [found] = socket.dump(routes({ family: 'v6', protocol: 9 }));
    expect(found).toMatchObject(passing);
    expect(found?.expires).toBeGreaterThan(500);
    socket.change(deleteAddress(address));
    expect(here.ip('address show dev h0')).not.toContain('192.0.2.7');
    expect(() => addAddress({ ...address, peer: '192.0.2.8/31' })).toThrow(RangeError);
  });

  test('what it refuses is an error that names what was asked and why', () => {
    const device = h0();
    socket.change(addAddress({ device, address: '10.0.0.1/24' }));
    const codeOf = (work: () => void): unknown => {
      try {
        work();
      } catch (error) {
        return (error as { code: string }).code;
      }
      return undefined;
    };
    expect(codeOf(() => socket.change(addAddress({ device, address: '10.0.0.1/24' })))).toBe(
      'EEXIST',
    );
    expect(codeOf(() => socket.change(deleteLink('absent')))).toBe('ENODEV');
    expect(codeOf(() => socket.get(getLink('absent')))).toBe('ENODEV');
    expect(() =>
      socket.change(addRoute({ destination: '10.1.0.0/16', hops: [{ via: '10.9.9.9', device }] })),
    ).toThrow(
      'add route 10.1.0.0/16 by 10.9.9.9, table 254: Nexthop has invalid gateway (network is unreachable)',
    );
    expect(() =>
      socket.change(addLink({ name: 'sixteen-letters-', kind: { kind: 'dummy' } })),
    ).toThrow(RangeError);
  });

  test('a thousand routes are shown in one dump', () => {
    const device = h0();
    for (let n = 0; n < 1000; n += 1)
      socket.change(
        addRoute({ destination: `10.${n >> 8}.${n & 255}.0/24`, table: 4000, hops: [{ device }] }),
      );
    expect(socket.dump(routes({ family: 'v4', table: 4000 }))).toHaveLength(1000);
  });

  test('a namespace is left before the call returns, also by an error, and files of /proc/sys/net are its own', () => {
    const own = readlinkSync('/proc/thread-self/ns/net');
    const seen = inNetworkNamespace(namespace, () => [
      readlinkSync('/proc/thread-self/ns/net'),
      readFileSync('/proc/sys/net/ipv4/conf/h0/forwarding', 'utf8').trim(),
    ]);
    expect(seen).toEqual([readlinkSync(here.path), '0']);
    expect(() =>
      inNetworkNamespace(namespace, () => {
        throw new Error('mine');
      }),
    ).toThrow('mine');
    expect(() => inNetworkNamespace(openSync('/dev/null', 'r'), () => 1)).toThrow(
      'enter network namespace',
    );
    expect(readlinkSync('/proc/thread-self/ns/net')).toBe(own);
  });

  test('a process that can’t go back to its namespace ends at once', () => {
    const program = `
      import { openSync } from 'node:fs';
      import { inNetworkNamespace } from '${resolve(import.meta.dirname, '../../../src/netlink/index.ts')}';
      let calls = 0;
      const library = { enterNetwork: () => (calls++ === 0 ? 0 : -1) };
      try { inNetworkNamespace(openSync('/dev/null', 'r'), () => undefined, library); } catch {}
      console.log('went on');
    `;
    const ended = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      encoding: 'utf8',
    });
    expect(ended.signal).toBe('SIGABRT');
    expect(ended.stdout).toBe('');
    expect(ended.stderr).toContain(
      'leave a network namespace: operation not permitted: the process ends',
    );
  });

  describe('a monitor', () => {
    const GROUPS = Object.values(ROUTE_GROUP);
    const events: RouteEvent[] = [];
    const lost: Error[] = [];
    let monitor: NetlinkMonitor;
    const listen = (receiveBuffer?: number): void => {
      events.length = lost.length = 0;
      monitor = new NetlinkMonitor({
        protocol: 'route',
        groups: GROUPS,
        namespace,
        ...(receiveBuffer === undefined ? {} : { receiveBuffer }),
        onMessage: (message) => events.push(...[readRouteEvent(message) ?? []].flat()),
        onLost: (error) => lost.push(error),
        onEnd: (error) => lost.push(error),
      });
    };
    afterEach(() => monitor[Symbol.dispose]());

    test('hears of what anybody changes, in order', async () => {
      listen();
      const device = h0();
      here.ip('address add 10.0.0.1/24 dev h0');
      here.ip('neighbour replace 10.0.0.9 lladdr 02:00:00:00:00:09 dev h0 nud permanent');
      here.ip('rule add priority 2000 fwmark 7 lookup 10007');
      here.ip('rule delete priority 2000 fwmark 7 lookup 10007');
      here.ip('link delete dev h0');
      await until('the end of the link', () =>
        events.some((one) => one.kind === 'link' && one.isGone),
      );
      expect(events).toContainEqual({
        kind: 'address',
        isGone: false,
        address: expect.objectContaining({ device, address: '10.0.0.1/24' }) as never,
      });
      expect(events.filter(({ kind }) => kind === 'rule')).toMatchObject([
        { isGone: false, rule: { mark: 7, table: 10007 } },
        { isGone: true, rule: { mark: 7, table: 10007 } },
      ]);
      expect(events).toContainEqual(
        expect.objectContaining({
          kind: 'neighbour',
          isGone: false,
          neighbour: expect.objectContaining({
            address: '10.0.0.9',
            mac: '02:00:00:00:00:09',
          }) as never,
        }),
      );
      expect(lost).toEqual([]);
    });

    test('with a burst of ten thousand and a large buffer loses nothing', async () => {
      listen(64 * 1024 * 1024);
      const device = h0();
      for (let n = 0; n < 10_000; n += 1)
        socket.change(
          addRoute({
            destination: `10.${n >> 8}.${n & 255}.0/24`,
            table: 4000,
            hops: [{ device }],
          }),
        );
      await until(
        'ten thousand routes',
        () => events.filter(({ kind }) => kind === 'route').length >= 10_000,
      );
      expect(lost).toEqual([]);
    });

    test('that lost events says so, and hears of what comes afterwards', async () => {
      listen(4096);
      const device = h0();
      for (let n = 0; n < 500; n += 1)
        socket.change(
          addRoute({
            destination: `10.${n >> 8}.${n & 255}.0/24`,
            table: 4000,
            hops: [{ device }],
          }),
        );
      await until('a loss', () => lost.length > 0);
      expect(lost[0]).toMatchObject({ code: 'ENOBUFS' });
      events.length = 0;
      here.ip('rule add priority 2001 lookup 10007');
      await until('a rule', () => events.some((one) => one.kind === 'rule' && !one.isGone));
      here.ip('rule delete priority 2001');
      expect(lost.every((error) => (error as NodeJS.ErrnoException).code === 'ENOBUFS')).toBe(true);
    });

    test('that was closed hears of nothing, and leaves no descriptor', async () => {
      const descriptors = (): number => readdirSync('/proc/self/fd').length;
      const before = descriptors();
      for (let n = 0; n < 200; n += 1) {
        listen();
        monitor[Symbol.dispose]();
      }
      await new Promise((resolve) => setImmediate(resolve));
      here.ip('rule add priority 2002 lookup 10007');
      here.ip('rule delete priority 2002');
      await new Promise((resolve) => setImmediate(resolve));
      expect(events).toEqual([]);
      expect(descriptors()).toBe(before);
    });
  });

  describe('connections', () => {
    let tracked: NetlinkSocket;
    const add = (words: string): void => here.run(['conntrack', ...words.split(' ')]);
    beforeEach(() => {
      tracked = new NetlinkSocket('netfilter', { namespace });
      for (const [source, zone, mark] of [
        ['10.0.0.1', 1, 5],
        ['10.0.0.2', 1, 6],
        ['10.0.0.3', 2, 5],
      ])
        add(
          `--create --proto udp --orig-src ${source} --orig-dst 10.96.0.1 --sport 4000 --dport 53 --timeout 900 --zone ${zone} --mark ${mark}`,
        );
      add(
        '--create --proto udp --orig-src fd00::1 --orig-dst fd96::1 --sport 4000 --dport 53 --timeout 900',
      );
    });
    afterEach(() => {
      add('--flush');
      tracked[Symbol.dispose]();
    });
    const sources = (...all: readonly Parameters<typeof connections>[0][]): string[][] =>
      (all.length === 0 ? [{}] : all).map((filter) =>
        tracked
          .dump(connections(filter))
          .map(({ original }) => original.source)
          .toSorted(),
      );

    test('are shown by mark, by family and by who sends', () => {
      expect(
        sources({ mark: 5 }, { family: 'v6' }, { original: { source: '10.0.0.2' } }, { zone: 2 }),
      ).toEqual([['10.0.0.1', '10.0.0.3'], ['fd00::1'], ['10.0.0.2'], ['10.0.0.3']]);
    });

    test.each([
      ['zone', { zone: 1 }, ['10.0.0.3', 'fd00::1']],
      ['mark', { mark: 4, markMask: 6 }, ['10.0.0.2', 'fd00::1']],
      ['zone and mark', { zone: 1, mark: 6 }, ['10.0.0.1', '10.0.0.3', 'fd00::1']],
      ['who began it', { original: { source: '10.0.0.1' } }, ['10.0.0.2', '10.0.0.3', 'fd00::1']],
      ['who answers', { zone: 1, reply: { source: '10.96.0.1' } }, ['10.0.0.3', 'fd00::1']],
      ['family', { family: 'v6' as const }, ['10.0.0.1', '10.0.0.2', '10.0.0.3']],
      [
        'service',
        { original: { destination: '10.96.0.1', protocol: 17, destinationPort: 53 } },
        ['fd00::1'],
      ],
      [
        'another service',
        { original: { destination: '10.96.0.1', protocol: 17, destinationPort: 54 } },
        ['10.0.0.1', '10.0.0.2', '10.0.0.3', 'fd00::1'],
      ],
    ])('are forgotten by %s in one request, and no others', (_, filter, left) => {
      tracked.change(deleteConnections(filter));
      expect(sources()).toEqual([left]);
    });

    test('are forgotten one by one', () => {
      const [one] = tracked.dump(connections({ original: { source: '10.0.0.2' } }));
      if (one === undefined) throw new Error('no connection');
      tracked.change(deleteConnection(one));
      expect(sources()).toEqual([['10.0.0.1', '10.0.0.3', 'fd00::1']]);
      expect(() => tracked.change(deleteConnection(one))).toThrow(
        'forget the connection from 10.0.0.2',
      );
    });

    test('are shown in pieces while other code runs, as they are at once', async () => {
      let turns = 0;
      const count = (): void => {
        turns += 1;
        counting = setImmediate(count);
      };
      let counting = setImmediate(count);
      const found: string[] = [];
      for await (const piece of tracked.dumpInPieces(connections()))
        found.push(...piece.map(({ original }) => original.source));
      clearImmediate(counting);
      expect([found.toSorted()]).toEqual(sources());
      expect(found).toHaveLength(4);
      expect(tracked.get(connectionCount())).toBe(4);
      expect(turns).toBeGreaterThan(0);
      const all: string[] = [];
      for await (const piece of tracked.dumpInPieces(
        connections({ original: { source: 'fd00:0::1' } }),
      ))
        all.push(...piece.map(({ original }) => original.source));
      expect(all).toEqual(['fd00::1']);
    });

    test('of a filter that the kernel would take for another one stay', () => {
      for (const filter of [
        {},
        { original: {} },
        { original: { destinationPort: 53 } },
        { original: { source: 'fd00::1' } },
        { original: { source: '10.0.0.1', destination: 'fd96::1' } },
      ])
        expect(() => deleteConnections(filter)).toThrow(RangeError);
    });
  });
});
