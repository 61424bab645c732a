import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { NetworkMonitor } from '../../../../src/node/linux/network-monitor.ts';
import type { DesiredRow } from '../../../../src/desired/rows.ts';
import { LINUX, routeKey, ruleKey } from '../../../../src/node/linux/linux-rows.ts';
import { LinuxDriver } from '../../../../src/node/linux/linux-driver.ts';
import { devicesOf, hostZone, settled, withoutVrf } from '../../../support/host/host-driver.ts';
import { HostUnits } from '../../../support/host/host-units.ts';
import { bound } from '../../../support/run/left-behind.ts';
import { NetworkNamespace, whyNoNamespace } from '../../../support/host/network-namespace.ts';
import { temporaryFolder } from '../../../support/ovsdb/ovsdb-server.ts';
import { until } from '../../../support/run/until.ts';
import type { Zone } from '../../../support/zone/zones.ts';

const PROGRAM = join(import.meta.dirname, '../../../support/host/host-driver.ts');

/** On a kernel without VRFs devices are left where they are; everything else is the same. */
describe.skipIf(whyNoNamespace !== undefined)('the network stack of a host', () => {
  let namespace: NetworkNamespace;
  let monitor: NetworkMonitor;
  let driver: LinuxDriver;
  let units: HostUnits;
  let drifts: number;
  let troubles: string[];
  let hasVrf: boolean;

  const newDriver = (): void => {
    monitor = new NetworkMonitor({
      namespace: namespace.path,
      onTrouble: (text) => troubles.push(text),
    });
    driver = new LinuxDriver({
      namespace: namespace.path,
      monitor,
      sysctls: namespace.sysctls,
      onDrift: () => {
        drifts += 1;
      },
    });
    driver.start();
    units = new HostUnits(driver);
  };

  /** What the node and Open vSwitch would have made. */
  const makeDevices = (zone: Zone): void => {
    makeUplink();
    batch(devicesOf(zone).flatMap(([name, mac]) => deviceLines(name, mac)));
  };

  const makeUplink = (): void => {
    batch([
      ...deviceLines('breth0', '0a:58:ac:12:00:03'),
      'link set dev breth0 up',
      'address add 172.18.0.3/16 dev breth0',
      'address add fc00:f853::3/64 dev breth0 nodad',
    ]);
  };

  /** With something behind it, as the kernel has routes for IPv6 addresses then alone. */
  const deviceLines = (name: string, mac: string): string[] => [
    `link add name ${name} type veth peer name to-${name.slice(-6)}`,
    `link set dev to-${name.slice(-6)} up`,
    `link set dev ${name} address ${mac}`,
  ];

  const batch = (lines: readonly string[]): void => {
    using folder = temporaryFolder();
    const file = join(folder.path, 'batch');
    writeFileSync(file, lines.join('\n'));
    namespace.ip(`-batch ${file}`);
  };

  const want = (zone: Zone | undefined): void => units.want(zone, hasVrf ? undefined : withoutVrf);

  beforeEach(async () => {
    namespace = await NetworkNamespace.create();
    hasVrf = namespace.hasVrf;
    drifts = 0;
    troubles = [];
    newDriver();
  });
  afterEach(() => {
    driver[Symbol.dispose]();
    monitor[Symbol.dispose]();
    namespace[Symbol.dispose]();
  });

  test('becomes as it should be; another driver finds nothing to do', async () => {
    const zone = hostZone(3);
    makeDevices(zone);
    want(zone);
    const { applied, problems } = await settled(driver);
    expect(applied).toBeGreaterThan(60);
    expect(problems).toEqual([]);
    const rules = namespace.ip('rule show');
    expect(rules).toContain('from all fwmark 0x1002 lookup 10002 proto 85');
    expect(namespace.ip('-6 rule show')).toContain('from all to fd69::e lookup 10002 proto 85');
    expect(namespace.ip('route show table 10002')).toContain(
      'unreachable default proto 85 metric 4278198272',
    );
    expect(namespace.ip('-6 route get 2001:db8::1 mark 0x1002')).toContain(
      'dev breth0 table 10002',
    );
    driver[Symbol.dispose]();
    monitor[Symbol.dispose]();
    newDriver();
    want(zone);
    expect(await settled(driver)).toEqual({ applied: 0, problems: [] });
  });

  test('is repaired when somebody else changes it, as soon as the kernel says so', async () => {
    const zone = hostZone(2);
    makeDevices(zone);
    want(zone);
    await settled(driver);
    const right = namespace.picture();
    const breakages = [
      'rule flush',
      '-6 rule flush',
      'route flush table 10002',
      '-6 route flush table 10001',
      'route delete 10.244.0.0/16',
      // Routes that the kernel made for the addresses of the device are among them.
      `route flush dev ovn-k8s-mp2 table ${hasVrf ? 10_002 : 'main'}`,
      `-6 route flush dev ovn-k8s-mp2 table ${hasVrf ? 10_002 : 'main'}`,
      'address delete 103.100.2.18/28 dev ovn-k8s-mp2',
      'address delete 169.254.0.2/17 dev breth0',
      'link set dev breth0 down',
      'link set dev ovn-k8s-mp2 down',
      'neighbour delete 169.254.0.13 dev breth0',
      ...(hasVrf ? ['link delete dev mp2-udn-vrf', 'link set dev ovn-k8s-mp1 nomaster'] : []),
    ];
    for (const breakage of breakages) {
      drifts = 0;
      driver.settled();
      namespace.ip(breakage);
      await until(`${breakage} to be noticed`, () => drifts > 0);
      // The kernel tells whose request it was, where a program has one socket.
      if (/^(route|address) delete /.test(breakage))
        expect(await driver.changedBy(), breakage).toEqual([expect.stringMatching(/process \d+/)]);
      if (breakage === 'link set dev breth0 down') {
        namespace.ip('link set dev breth0 up');
        namespace.ip('address replace fc00:f853::3/64 dev breth0 nodad');
      }
      await until(`${breakage} to be repaired`, async () => {
        await settled(driver);
        return sorted(namespace.picture()) === sorted(right);
      });
    }
    namespace.sysctls.write('net/ipv4/conf/ovn-k8s-mp2/rp_filter', '1');
    await until('a setting to be repaired', async () => {
      await settled(driver);
      return namespace.sysctls.read('net/ipv4/conf/ovn-k8s-mp2/rp_filter') === '2';
    });
    expect(troubles).toEqual([]);
  });

  test('hears nothing of links to other namespaces, as pods have them, until somebody wants one', async () => {
    using pod = await NetworkNamespace.create();
    const inPod = pod.inside.find((word) => word.startsWith('--net='))?.slice('--net='.length);
    const zone = hostZone(1);
    const [[device, mac] = []] = devicesOf(zone);
    await settled(driver);
    drifts = 0;
    namespace.ip(`link add name ab12 type veth peer name eth0 netns ${inPod}`);
    namespace.ip(`link add name ${device} address ${mac} type veth peer name eth1 netns ${inPod}`);
    namespace.ip('link set dev ab12 up');
    pod.ip('link set dev eth0 up');
    namespace.ip('link delete dev ab12');
    namespace.ip('link set dev lo alias last');
    await until('word of a change', () => drifts > 0);
    await pause(300); // what was before the last change has been told by then
    expect(drifts).toBe(1);
    await settled(driver);
    makeUplink();
    // What nobody wanted was not looked at; now it is.
    want(zone);
    await settled(driver);
    expect(namespace.ip(`address show dev ${device}`)).toContain('inet 10.244.0.2/24');
    drifts = 0;
    namespace.ip(`link set dev ${device} down`);
    await until('word of the device', () => drifts > 0);
  });

  test('hears of a link to another namespace that somebody put into a device', async () => {
    using pod = await NetworkNamespace.create();
    const inPod = pod.inside.find((word) => word.startsWith('--net='))?.slice('--net='.length);
    namespace.ip('link add name others type bridge');
    await settled(driver);
    namespace.ip(`link add name ab12 type veth peer name eth0 netns ${inPod}`);
    namespace.ip('link set dev ab12 up');
    namespace.ip('link set dev ab12 master others');
    await until('word of the bridge', () => drifts > 0);
    await pause(300); // the bridge has said all that it has to say
    drifts = 0;
    namespace.ip('link set dev ab12 alias held');
    await until('word of the link', () => drifts > 0);
  });

  test('what the kernel refuses ends what comes after it for its unit, with the kernel’s words; others go on', async () => {
    makeUplink();
    batch([
      'link add name late type veth peer name to-late',
      'link set dev late up',
      'address add 172.19.0.3/16 dev late',
    ]);
    const row = (table: string, key: string, columns: DesiredRow['columns']): DesiredRow => ({
      database: LINUX,
      table,
      key,
      columns,
      containers: [],
      rule: 'r',
      object: 'o',
    });
    const route = (dst: string, via: string, dev = 'breth0'): DesiredRow => {
      const columns = { family: 'v4', table: 4000, dst, via, dev } as const;
      return row('route', routeKey(columns), columns);
    };
    const rule = (fwmark: string): DesiredRow => {
      const columns = { family: 'v4', priority: 2000, fwmark, table: 4000 } as const;
      return row('rule', ruleKey(columns), columns);
    };
    const set = (id: string, rows: readonly DesiredRow[]): void =>
      driver.set({ id, rank: 0, order: 0, rowsIn: () => [] }, rows);
    // The last one is by a device of which there is nothing among the first.
    const many = Array.from({ length: 200 }, (_, n) =>
      n < 199
        ? route(`10.8.${n}.0/24`, '172.18.0.9')
        : route(`10.8.${n}.0/24`, '172.19.0.9', 'late'),
    );
    set('whole', [...many, rule('0x1')]);
    set('refused', [
      route('10.9.0.0/16', '203.0.113.1'),
      route('10.10.0.0/16', '::x'),
      rule('0x2'),
    ]);
    set('masters', [row('neighbour', 'n', { dev: 'breth0', address: '172.18.0.8', mac: 'none' })]);
    await driver.refresh(0);
    const { applied, refused } = await driver.apply(driver.plan(0), 0);
    expect(applied).toBe(201);
    expect(refused.map(({ message }) => message)).toEqual([
      "route inet table 4000 10.9.0.0/16 metric 0 can't be made (10.9.0.0/16 via 203.0.113.1 dev breth0 table 4000): Nexthop has invalid gateway (network is unreachable)",
      'route inet table 4000 10.10.0.0/16 metric 0 can\'t be made (10.10.0.0/16 via ::x dev breth0 table 4000): "::x" is no IP address',
      'neighbour n can\'t be made (172.18.0.8 lladdr none dev breth0): "none" is no MAC address',
    ]);
    expect(namespace.ip('route show table 4000').trim().split('\n')).toHaveLength(200);
    expect(namespace.ip('rule show')).toMatch(/fwmark 0x1 (?!.*fwmark 0x2)/s);
    // The one that is in the way of a rule is the one that was wanted.
    await driver.refresh(0);
    namespace.ip('rule add priority 2000 fwmark 0x3 lookup 4000 protocol 85');
    set('whole', [...many, rule('0x1'), rule('0x3')]);
    expect(await driver.apply(driver.plan(0), 0)).toMatchObject({ refused: [] });
  });

  test('keeps what others have in it; when nothing is wanted it is what it was', async () => {
    const zone = hostZone(2);
    makeDevices(zone);
    batch([
      'rule add priority 2000 fwmark 0x99 lookup 10002',
      'rule add priority 10 from 192.0.2.0/24 lookup 77 protocol 186',
      'route add 192.0.2.0/24 via 172.18.0.9 table 10002 proto 186',
      'route add 198.51.100.0/24 via 172.18.0.9 metric 7',
      'address add 192.0.2.1/32 dev breth0',
      'address add 192.0.2.2/32 dev ovn-k8s-mp1',
      'neighbour replace 172.18.0.9 lladdr 02:00:00:00:00:09 dev breth0 nud permanent',
      // The kernel's own for VRFs, which it keeps when the last one goes.
      'rule add priority 1000 l3mdev protocol kernel',
      ...devicesOf(zone).map(([name]) => `link set dev ${name} up`),
    ]);
    namespace.ip('-6 rule add priority 1000 l3mdev protocol kernel');
    const before = sorted(namespace.picture());
    want(zone);
    await settled(driver);
    expect(sorted(namespace.picture())).not.toBe(before);
    want(undefined);
    // Until everything was built nobody knows what is unwanted.
    expect((await settled(driver, false)).applied).toBe(0);
    await settled(driver);
    expect(sorted(namespace.picture())).toBe(before);
  });

  test('is finished by the next process when one was killed in the middle', async () => {
    const zone = hostZone(8);
    makeDevices(zone);
    const [nsenter = '', ...args] = namespace.inside;
    const start = (): ReturnType<typeof spawn> =>
      spawn(...bound(nsenter, [...args, process.execPath, PROGRAM, '8', hasVrf ? 'vrf' : '']), {
        stdio: 'ignore',
      });
    const whole = start();
    await once(whole, 'exit');
    expect(whole.exitCode).toBe(0);
    const right = sorted(namespace.picture());
    for (const events of [5, 40, 90]) {
      want(undefined);
      await settled(driver);
      drifts = 0;
      const child = start();
      await until('the process to be in the middle', () => drifts > events);
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    want(zone);
    await settled(driver);
    expect(sorted(namespace.picture())).toBe(right);
  });

  test('10,000 routes of others in one go are nothing to it, and what they hide is found', async () => {
    const zone = hostZone(1);
    makeDevices(zone);
    want(zone);
    await settled(driver);
    const right = sorted(namespace.picture());
    drifts = 0;
    const routes = Array.from(
      { length: 10_000 },
      (_, index) =>
        `10.${100 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}/32 via 172.18.0.9 proto 186`,
    );
    batch(routes.map((route) => `route add ${route}`));
    namespace.ip('rule flush');
    batch(routes.map((route) => `route delete ${route}`));
    await until('the rules to be noticed', () => drifts > 0);
    await until('the rules to be there again', async () => {
      await settled(driver);
      return sorted(namespace.picture()) === right;
    });
  });

  test('reads everything again after events were lost', async () => {
    const zone = hostZone(1);
    makeDevices(zone);
    want(zone);
    await settled(driver);
    const right = sorted(namespace.picture());
    const routes = Array.from(
      { length: 40_000 },
      (_, index) => `10.100.${index >> 8}.${index & 255}/32 via 172.18.0.9 proto 186`,
    );
    // None of it waits: nobody reads the socket meanwhile.
    batch(routes.map((route) => `route add ${route}`));
    batch(routes.map((route) => `route delete ${route}`));
    namespace.ip('route flush table 10001');
    await until('the loss to be noticed', () => monitor.losses > 0);
    await until('the routes to be there again', async () => {
      await settled(driver);
      return sorted(namespace.picture()) === right;
    });
    expect(troubles.join()).toMatch(/events of the kernel were lost: .*ENOBUFS/);
    namespace.ip('-6 route flush table 10001');
    await until('the routes to be there again', async () => {
      await settled(driver);
      return sorted(namespace.picture()) === right;
    });
  });
});

/** Lines in an order of their own: the kernel lists objects in the order in which they were made. */
const sorted = (picture: string): string =>
  picture
    .split('\n')
    .map((line) => line.replace(/^\d+: /, ''))
    .sort()
    .join('\n');
