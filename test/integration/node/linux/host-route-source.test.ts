import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { NetworkMonitor } from '../../../../src/node/linux/network-monitor.ts';
import type { Family } from '../../../../src/allocators/addresses.ts';
import type { DesiredRow } from '../../../../src/desired/rows.ts';
import type { HostRoute } from '../../../../src/model/zone/host-routes.ts';
import type { ZoneFacts } from '../../../../src/model/zone/zone.ts';
import { hostRoutesOfNetwork } from '../../../../src/node/networks/host-routes.ts';
import { LinuxDriver } from '../../../../src/node/linux/linux-driver.ts';
import { HostRouteSource } from '../../../../src/node/linux/host-route-source.ts';
import { systemClock } from '../../../../src/store/clock.ts';
import { hostZone, settled } from '../../../support/host/host-driver.ts';
import { HOST_SETTINGS } from '../../../support/host/host-units.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import { NetworkNamespace, whyNoNamespace } from '../../../support/host/network-namespace.ts';
import { temporaryFolder } from '../../../support/ovsdb/ovsdb-server.ts';
import { until } from '../../../support/run/until.ts';
import { factsOf, dualZone } from '../../../support/zone/zones.ts';

const nothing = (): void => undefined;
const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };

describe.skipIf(whyNoNamespace !== undefined)('routes of the host as facts', () => {
  let namespace: NetworkNamespace;
  let facts: ZoneFacts;
  let stop: AbortController;
  let running: Promise<void>;
  let monitor: NetworkMonitor;
  let source: HostRouteSource;
  let changes: number;

  const start = (path = namespace.path): void => {
    monitor = new NetworkMonitor({ namespace: path });
    source = new HostRouteSource({
      node: 'ovn-worker',
      namespace: path,
      monitor,
      log,
      onChange: () => {
        changes += 1;
      },
    });
    running = source.start(facts, systemClock, stop.signal);
  };
  const known = (family: Family): readonly HostRoute[] | undefined =>
    facts.hostRoutes.peek(family)?.routes;
  const untilKnown = (what: string, isSo: (dsts: readonly string[]) => boolean): Promise<void> =>
    until(what, () => isSo([...(known('v4') ?? []), ...(known('v6') ?? [])].map(({ dst }) => dst)));
  const batch = (lines: readonly string[]): void => {
    using folder = temporaryFolder();
    const file = join(folder.path, 'batch');
    writeFileSync(file, lines.join('\n'));
    namespace.ip(`-batch ${file}`);
  };

  beforeEach(async () => {
    namespace = await NetworkNamespace.create();
    facts = factsOf(dualZone);
    stop = new AbortController();
    changes = 0;
    batch([
      ...['br-ex', 'eth1'].flatMap((name) => [
        `link add ${name} type veth peer name to-${name}`,
        `link set to-${name} up`,
        `link set ${name} up`,
      ]),
      'address add 172.18.0.3/16 dev br-ex',
      'address add 172.20.0.3/24 dev eth1',
      'address add fc00:20::3/64 dev eth1 nodad',
      'route add default via 172.18.0.1',
    ]);
  });
  afterEach(async () => {
    stop.abort();
    await running;
    monitor[Symbol.dispose]();
    namespace[Symbol.dispose]();
  });

  test('what the host has is known at once, in both families, and follows what anybody changes', async () => {
    batch([
      'route add 10.99.0.0/16 via 172.20.0.1 mtu 1300',
      'route add 10.98.0.0/16 metric 7 nexthop via 172.20.0.8 nexthop via 172.18.0.8',
      'route add 10.97.0.0/16 via 203.0.113.1 dev eth1 onlink',
      'route add 2001:db8::/32 via fe80::9 dev eth1',
      'route add prohibit 10.66.0.0/16',
      'route add 10.95.0.0/16 via 172.20.0.1 proto bgp',
    ]);
    start();
    expect(known('v4')).toEqual([
      { dst: '10.66.0.0/16', type: 'unreachable' },
      { dst: '172.18.0.0/16', dev: 'br-ex' },
      { dst: '172.20.0.0/24', dev: 'eth1' },
      { dst: '10.97.0.0/16', dev: 'eth1', via: '203.0.113.1', onlink: true },
      { dst: '10.98.0.0/16', dev: 'eth1', via: '172.20.0.8', metric: 7 },
      { dst: '10.99.0.0/16', dev: 'eth1', via: '172.20.0.1', mtu: 1300 },
    ]);
    expect(known('v6')).toEqual([
      { dst: 'fc00:20::/64', dev: 'eth1', metric: 256 },
      { dst: '2001:db8::/32', dev: 'eth1', via: 'fe80::9', metric: 1024 },
    ]);
    batch(['route del 10.99.0.0/16', 'route add 10.94.0.0/16 dev eth1']);
    await untilKnown(
      'one route for another',
      (dsts) => dsts.includes('10.94.0.0/16') && !dsts.includes('10.99.0.0/16'),
    );
    expect(source.problems()).toEqual([]);
  });

  test('the kernel takes them in the table of a network, what somebody else put there stays, and what a device took along comes back with it', async () => {
    batch([
      'route add 10.99.0.0/16 via 172.20.0.1 mtu 1300',
      'route add 10.97.0.0/16 via 203.0.113.1 dev eth1 onlink',
      'route add 2001:db8::/32 via fe80::9 dev eth1',
      'route add 2001:db9::/32 via fe80::9 dev eth1 onlink',
      'route add blackhole 10.66.0.0/16',
      'route add blackhole fc00:66::/64',
      // Of somebody else, in the network's table.
      'route add 10.55.0.0/16 dev eth1 table 10001',
    ]);
    const zone = hostZone(1);
    facts = factsOf(zone);
    start();
    using driver = new LinuxDriver({
      namespace: namespace.path,
      monitor,
      sysctls: namespace.sysctls,
    });
    driver.start();
    let rows: readonly DesiredRow[] = [];
    const owner = { id: '["host/routes","net_1"]', rank: 0, order: 0, rowsIn: () => rows };
    const want = (): void => {
      const units = builtUnits(facts, [hostRoutesOfNetwork(HOST_SETTINGS)]);
      rows = units.find(({ unit }) => unit.endsWith(' net_1'))?.rows ?? [];
      driver.set(owner, rows);
    };
    const table = (): readonly string[] =>
      ['-4', '-6']
        .flatMap((flag) => namespace.ip(`${flag} route show table 10001`).trim().split('\n'))
        .map((line) => line.trim().replace(/ +/g, ' '));
    const all = [
      '10.55.0.0/16 dev eth1 scope link',
      'unreachable 10.66.0.0/16 proto 85',
      '10.97.0.0/16 via 203.0.113.1 dev eth1 proto 85 onlink mtu 1400',
      '10.99.0.0/16 via 172.20.0.1 dev eth1 proto 85 mtu 1300',
      '172.18.0.0/16 dev br-ex proto 85 scope link mtu 1400',
      '172.20.0.0/24 dev eth1 proto 85 scope link mtu 1400',
      '2001:db8::/32 via fe80::9 dev eth1 proto 85 metric 1024 mtu 1400 pref medium',
      '2001:db9::/32 via fe80::9 dev eth1 proto 85 metric 1024 onlink mtu 1400 pref medium',
      'fc00:20::/64 dev eth1 proto 85 metric 256 mtu 1400 pref medium',
      'unreachable fc00:66::/64 dev lo proto 85 metric 1024 pref medium',
    ];
    want();
    expect((await settled(driver)).problems).toEqual([]);
    expect(table()).toEqual(all);
    expect(await settled(driver)).toEqual({ applied: 0, problems: [] });
    batch([
      'link set eth1 down',
      'link set eth1 up',
      'address add fc00:20::3/64 dev eth1 nodad',
      'route add 10.99.0.0/16 via 172.20.0.1 mtu 1300',
    ]);
    const isOfDownDevice = /10\.55|10\.97|2001:db/;
    await until('what went with the device to come back with it', async () => {
      want();
      await settled(driver);
      return table().join() === all.filter((line) => !isOfDownDevice.test(line)).join();
    });
  });

  test('what a device takes along is gone with it, though the kernel does not say so', async () => {
    batch(['route add 10.99.0.0/16 via 172.20.0.1']);
    start();
    namespace.ip('link set eth1 down');
    await untilKnown(
      'the routes of a device that went down to go',
      (dsts) => !dsts.includes('10.99.0.0/16') && !dsts.includes('172.20.0.0/24'),
    );
    namespace.ip('link set eth1 up');
    await untilKnown('its own one to come back', (dsts) => dsts.includes('172.20.0.0/24'));
    namespace.ip('link del eth1');
    await untilKnown('it to go again', (dsts) => !dsts.includes('172.20.0.0/24'));
    expect(known('v4')).toEqual([{ dst: '172.18.0.0/16', dev: 'br-ex' }]);
  });

  test('10,000 routes at once are few changes of facts, which stay bounded, with a problem until there are fewer', async () => {
    start();
    const many = Array.from({ length: 10_000 }, (_, n) => `10.${100 + (n >> 8)}.${n & 255}.0/24`);
    batch(many.map((dst) => `route add ${dst} via 172.20.0.1`));
    await until('a problem', () => source.problems().length > 0);
    await until('all of them counted', () =>
      (source.problems()[0]?.message ?? '').includes('10002 IPv4'),
    );
    expect(known('v4')).toHaveLength(256);
    expect(changes).toBeLessThan(100);
    batch(many.map((dst) => `route del ${dst}`));
    await until('the problem to end', () => source.problems().length === 0);
    expect(known('v4')?.map(({ dst }) => dst)).toEqual(['172.18.0.0/16', '172.20.0.0/24']);
  });

  test('what can’t be read is said, and stays unknown until it can be', async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, 'namespace');
    start(path);
    expect(facts.hostRoutes.peek('v4')?.unreadable).toContain('ENOENT');
    expect(source.problems()).toEqual([
      {
        object: 'Node ovn-worker',
        message: expect.stringContaining("the routes of the host can't be read") as string,
      },
    ]);
    expect(changes).toBe(1);
    symlinkSync(namespace.path, path);
    await until('the problem to end', () => source.problems().length === 0);
    expect(facts.hostRoutes.peek('v4')).toEqual({
      routes: [
        { dst: '172.18.0.0/16', dev: 'br-ex' },
        { dst: '172.20.0.0/24', dev: 'eth1' },
      ],
    });
  });
});
