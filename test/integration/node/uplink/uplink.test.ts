import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openHost, type OpenHost } from '../../../../src/zone/host.ts';
import { createLogger } from '../../../../src/process/logger.ts';
import {
  removeBridges,
  UplinkKeeper,
  uplinkSteps,
} from '../../../../src/node/uplink/uplink-keeper.ts';
import { sendFrameBy } from '../../../../src/node/linux/network-socket.ts';
import type { SwitchChange } from '../../../../src/node/uplink/state.ts';
import { HOST_SETTINGS } from '../../../support/host/host-units.ts';
import { NetworkNamespace, whyNoNamespace } from '../../../support/host/network-namespace.ts';
import { ovsProgram } from '../../../support/host/ovs-programs.ts';
import { Vswitchd } from '../../../support/host/vswitchd.ts';

const SOON = { timeout: 20_000, interval: 50 };
/** Of the card. */
const MAC = '02:42:ac:12:00:03';
const CLAIMED = '172.18.0.60';
/** By ARP, to everybody, that the address is at the card (RFC 5227 §2.3). */
const CLAIM = `ffffffffffff0242ac120003080600010800060400020242ac120003ac12003c0242ac120003ac12003c`;

/** A node with a network card, a host at the other end of the wire, and a real ovs-vswitchd with the userspace datapath. */
describe.skipIf(whyNoNamespace !== undefined)(
  'the external bridge in the place of a network card',
  () => {
    const log = createLogger('silent');
    let node: NetworkNamespace;
    let outside: NetworkNamespace;
    let vswitchd: Vswitchd;
    let host: OpenHost;
    let keeper: UplinkKeeper;
    let stop: AbortController;
    let ended: Promise<void>;
    /** Throws for a change that is to fail. */
    let sabotage: (change: SwitchChange) => void;

    const start = (name = 'eth0', vlan = 0): void => {
      stop = new AbortController();
      keeper = new UplinkKeeper({
        name,
        vlan,
        node: 'n1',
        openVswitch: {
          ...host.uplink,
          apply: (change) => {
            sabotage(change);
            return host.uplink.apply(change);
          },
        },
        ofctl: vswitchd.ofctl,
        namespace: host.namespace,
        monitor: host.monitor,
        sysctls: node.sysctls,
        log,
        signal: stop.signal,
      });
      ended = keeper.run();
    };
    const end = async (): Promise<void> => {
      stop.abort();
      await ended;
    };
    const problem = (): string => keeper.problems()[0]?.message ?? 'none';
    const addresses = (dev: string): readonly string[] =>
      [...node.ip(`-o address show dev ${dev} scope global`).matchAll(/inet6? (\S+)/g)].map(
        ([, address]) => address ?? '',
      );
    const routes = (dev: string): readonly string[] => {
      const lines = node
        .ip(`route show table all dev ${dev}`)
        .split('\n')
        .map((line) => line.replace(/ (pref|metric 1024).*/, '').trim())
        .filter(
          (line) =>
            line !== '' && !/^(local|broadcast|multicast|anycast|fe80|nexthop|10\.7\.)/.test(line),
        );
      // Of all tables ip shows some of IPv6 twice.
      return [...new Set(lines)].toSorted();
    };
    const hasAddress = (dev: string, address: string): boolean => {
      try {
        return addresses(dev).includes(address);
      } catch {
        return false; // there is no such device yet
      }
    };

    /** Whether the host reaches the outside. */
    const reaches = async (): Promise<boolean> => {
      const ping = ovsProgram('ping');
      const [command = '', ...inside] = node.inside;
      const target = ['-c', '1', '-W', '1', '172.18.0.1'];
      const pinging = spawn(command, [...inside, ping.command, ...ping.args, ...target]);
      const [code] = (await once(pinging, 'close')) as [number | null];
      return code === 0;
    };

    beforeEach(async () => {
      sabotage = () => undefined;
      [node, outside] = await Promise.all([NetworkNamespace.create(), NetworkNamespace.create()]);
      const peer = outside.inside[1]?.replace('--net=/proc/', '').replace('/ns/net', '') ?? '';
      node.ip(`link add name eth0 address ${MAC} type veth peer name wire netns ${peer}`);
      for (const line of [
        'link set dev wire up',
        'address add 172.18.0.1/16 dev wire',
        'address add fd00:18::1/64 dev wire nodad',
      ])
        outside.ip(line);
      for (const line of [
        'link set dev eth0 up',
        'address add 172.18.0.3/16 broadcast 172.18.255.255 dev eth0',
        'address add 172.18.0.4/16 dev eth0 label eth0:1 metric 7',
        'address add fd00:18::3/64 dev eth0 nodad',
        'route add default via 172.18.0.1 mtu lock 1400 advmss 1360 congctl reno',
        'route add 10.9.0.0/16 via 172.18.0.1 table 77 src 172.18.0.4',
        'link add name eth1 type veth peer name to-eth1',
        'link set dev eth1 up',
        'address add 172.19.0.3/16 dev eth1',
        `route add ${SHARED}`,
        'address add 192.0.2.3 peer 192.0.2.4/32 dev eth0',
        '-6 route add default via fd00:18::1',
      ])
        node.ip(line);
      vswitchd = await Vswitchd.start({ inside: node.inside });
      await vswitchd.vsctl(
        'set',
        'Open_vSwitch',
        '.',
        'external_ids:ovn-bridge-datapath-type=netdev',
      );
      host = openHost({
        configuration: { tls: {}, host: HOST_SETTINGS, sysctlFolder: '/proc/sys' },
        openVswitch: vswitchd.database.remote,
        mayWrite: true,
        log,
        namespace: node.path,
        onWork: () => undefined,
        onExternalIds: () => keeper.openVswitchChanged(),
      });
      start();
      await host.openVswitch.ready(AbortSignal.timeout(20_000));
    });
    afterEach(async () => {
      await end();
      await host[Symbol.asyncDispose]();
      await vswitchd[Symbol.asyncDispose]();
      node[Symbol.dispose]();
      outside[Symbol.dispose]();
    });

    /** By both network cards of the node. */
    const SHARED =
      '10.7.0.0/16 proto 17 nexthop via 172.18.0.1 dev eth0 weight 3 nexthop via 172.19.0.1 dev eth1 weight 1';
    const shared = (): string =>
      node
        .ip('route show 10.7.0.0/16')
        .replaceAll(/ linkdown|\s+/g, ' ')
        .trim();
    const WANTED = ['172.18.0.3/16', '192.0.2.3', '172.18.0.4/16', 'fd00:18::3/64'];
    const ROUTES = [
      '10.9.0.0/16 via 172.18.0.1 table 77 src 172.18.0.4',
      '172.18.0.0/16 proto kernel scope link src 172.18.0.3',
      '192.0.2.4 proto kernel scope link src 192.0.2.3',
      'default via 172.18.0.1 mtu lock 1400 advmss 1360 congctl reno',
      'default via fd00:18::1',
      'fd00:18::/64 proto kernel metric 256',
    ];
    const isMoved = async (): Promise<void> => {
      await expect.poll(() => hasAddress('breth0', '172.18.0.3/16'), SOON).toBe(true);
      await expect.poll(() => addresses('eth0'), SOON).toEqual([]);
    };

    test('it has addresses, routes and MAC address, OVN is told of it, and who pings the node notices nothing', async () => {
      const ping = ovsProgram('ping');
      const [command = '', ...inside] = outside.inside;
      const words = ['-i', '0.02', '-c', '200', '-W', '2', '172.18.0.3'];
      const pinging = spawn(command, [...inside, ping.command, ...ping.args, ...words]);
      const said: string[] = [];
      pinging.stdout.setEncoding('utf8').on('data', (text: string) => said.push(text));
      await isMoved();
      expect(addresses('breth0')).toEqual(WANTED);
      expect(routes('breth0')).toEqual(ROUTES);
      expect(routes('eth0')).toEqual([]);
      expect(shared()).toBe(SHARED.replace('eth0', 'breth0'));
      expect(node.ip('address show dev breth0')).toMatch(
        /172\.18\.0\.4\/16 metric 7 scope global secondary breth0:1\n/,
      );
      expect(node.ip('link show dev breth0')).toContain(MAC);
      await expect
        .poll(
          () => vswitchd.vsctl('get', 'Open_vSwitch', '.', 'external_ids:ovn-bridge-mappings'),
          SOON,
        )
        .toContain('physnet:breth0');
      expect(await vswitchd.vsctl('get', 'Port', 'eth0', 'other_config')).toContain(
        'transient="true"',
      );
      await once(pinging, 'close');
      expect(said.join('')).toContain('200 packets transmitted, 200 received');
      expect(problem()).toBe('none');
    });

    test('another start changes nothing; what somebody puts on the card later is moved; a deleted bridge comes back', async () => {
      await isMoved();
      const picture = node.picture();
      await end();
      start();
      await keeper.caughtUp(AbortSignal.timeout(20_000));
      expect(node.picture()).toBe(picture);
      node.ip('address add 172.18.0.9/16 dev eth0');
      await expect.poll(() => addresses('breth0'), SOON).toContain('172.18.0.9/16');
      await expect.poll(() => addresses('eth0'), SOON).toEqual([]);
      await vswitchd.vsctl('del-br', 'breth0');
      await expect.poll(() => hasAddress('breth0', '172.18.0.9/16'), SOON).toBe(true);
      await expect.poll(() => routes('breth0'), SOON).toEqual(ROUTES);
    });

    test('that it was deleted is told until it is back, also while it can’t be made', async () => {
      await isMoved();
      await expect.poll(problem, SOON).toBe('none');
      const told: string[] = [];
      sabotage = ({ kind }) => {
        if (kind !== 'add-bridge') return;
        told.push(problem());
        if (told.length < 3) throw new Error('no bridge today');
      };
      await vswitchd.vsctl('del-br', 'breth0');
      await expect.poll(() => hasAddress('breth0', '172.18.0.3/16'), SOON).toBe(true);
      await expect.poll(problem, SOON).toBe('none');
      const failed = 'no bridge today; everything is as it was before';
      expect(told).toEqual([
        'external bridge breth0 was deleted, or made anew without its addresses: it is set up again, and until then nothing leaves this node by it',
        failed,
        failed,
      ]);
    });

    test('deleted while Open vSwitch is away it comes back with it, on the device that is left', async () => {
      await isMoved();
      await expect.poll(problem, SOON).toBe('none');
      const before = addresses('breth0');
      await vswitchd.kill();
      await vswitchd.vsctl('--no-wait', 'del-br', 'breth0');
      await expect.poll(problem, SOON).toMatch(/^external bridge breth0 was deleted/);
      expect(addresses('breth0')).toEqual(before);
      await vswitchd.launch();
      await expect.poll(problem, { ...SOON, timeout: 60_000 }).toBe('none');
      expect(host.uplink.read().bridges.get('breth0')?.hasUplink).toBe(true);
      expect(addresses('breth0')).toEqual(before);
    });

    test('a port of OVN says nothing as the node before it has flows, and the host goes on', async () => {
      await isMoved();
      await end();
      // As a machine starts: without flows, with ports of before, and the uplink away.
      await vswitchd.vsctl('del-port', 'breth0', 'eth0');
      await vswitchd.kill();
      await vswitchd.launch();
      const gateway = ['add-port', 'breth0', 'ovn', '--', 'set', 'Interface', 'ovn'];
      await vswitchd.vsctl(...gateway, 'type=internal', `mac="${MAC}"`);
      node.ip('link set dev ovn up');
      outside.sysctls.write('net/ipv4/conf/wire/arp_accept', '1');
      const claim = (): void => sendFrameBy(node.path, 'ovn', CLAIM);
      const claimant = (): string => outside.ip(`neighbour show ${CLAIMED}`);
      const claiming = setInterval(claim, 5);
      try {
        start();
        await expect
          .poll(() => host.uplink.read().bridges.get('breth0')?.hasUplink, SOON)
          .toBe(true);
        await keeper.caughtUp(AbortSignal.timeout(20_000));
        expect(await reaches()).toBe(true);
        await pause(500);
      } finally {
        clearInterval(claiming);
      }
      expect(claimant()).toBe('');
      // Its own flow lets it.
      const number = (await vswitchd.vsctl('get', 'Interface', 'ovn', 'ofport')).trim();
      await vswitchd.ofctl.bundle('breth0', [`add priority=10,in_port=${number},actions=NORMAL`]);
      claim();
      await expect.poll(claimant, SOON).toContain(MAC);
    });

    test('with a VLAN of the gateway the host is in it, for as long as it is wanted', async () => {
      await isMoved();
      outside.ip('address flush dev wire');
      await using lan = await Vswitchd.start({ inside: outside.inside });
      const words =
        '-- set Bridge lan datapath_type=netdev -- set Port lan tag=5 -- add-port lan wire';
      await lan.vsctl('add-br', 'lan', ...words.split(' '));
      for (const line of ['link set dev lan up', 'address add 172.18.0.1/16 dev lan'])
        outside.ip(line);
      const hostPort = (): Promise<string> =>
        vswitchd.vsctl('get', 'Port', 'breth0', 'tag', 'vlan_mode');
      expect(await reaches()).toBe(false);
      await end();
      start('eth0', 5);
      await expect.poll(hostPort, SOON).toBe('5\nnative-untagged\n');
      await expect.poll(reaches, SOON).toBe(true);
      // A bridge that comes back is in it from the beginning.
      await vswitchd.vsctl('del-br', 'breth0');
      await expect.poll(() => hasAddress('breth0', '172.18.0.3/16'), SOON).toBe(true);
      expect(await hostPort()).toBe('5\nnative-untagged\n');
      await expect.poll(reaches, SOON).toBe(true);
      await end();
      start();
      await expect.poll(hostPort, SOON).toBe('[]\n[]\n');
      expect(await vswitchd.vsctl('get', 'Bridge', 'breth0', 'external_ids')).not.toContain('vlan');
    });

    test.each(['add-uplink', 'map'] as const)(
      'a failure at %s leaves everything as it was, and is tried again',
      async (kind) => {
        await isMoved();
        await end();
        await removeBridges({
          openVswitch: host.uplink,
          ofctl: vswitchd.ofctl,
          namespace: host.namespace,
          sysctls: node.sysctls,
        });
        await expect.poll(() => node.picture(), SOON).not.toContain('tap');
        const before = node.picture();
        sabotage = (change) => {
          if (change.kind === kind) throw new Error(`no ${kind} today`);
        };
        start();
        await expect.poll(problem, SOON).toBe(`no ${kind} today; everything is as it was before`);
        await expect.poll(() => node.picture(), SOON).toBe(before);
        await expect.poll(() => vswitchd.vsctl('list-br'), SOON).toBe('');
        sabotage = () => undefined;
        await isMoved();
        await expect.poll(problem, SOON).toBe('none');
      },
    );

    test('who stops it while Open vSwitch does not answer has the card back as it was, and does not wait', async () => {
      await isMoved();
      await end();
      await removeBridges({
        openVswitch: host.uplink,
        ofctl: vswitchd.ofctl,
        namespace: host.namespace,
        sysctls: node.sysctls,
      });
      // Its devices outlive an Open vSwitch that is killed before it has taken them away.
      await expect.poll(() => node.picture(), SOON).not.toContain('tap');
      await vswitchd.kill();
      const { bridges } = host.uplink.read();
      expect(bridges.size).toBe(0);
      start();
      await expect.poll(() => host.uplink.read().bridges.has('breth0'), SOON).toBe(true);
      const began = performance.now();
      await end();
      expect(performance.now() - began).toBeLessThan(5000);
      expect(host.uplink.read().bridges.size).toBe(0);
      expect(addresses('eth0')).toEqual(WANTED);
    });

    test('taken apart again, the card has all of it', async () => {
      await isMoved();
      await end();
      const means = { openVswitch: host.uplink, namespace: host.namespace };
      expect(uplinkSteps({ name: 'eth0', vlan: 0 }, means)).toEqual([]);
      expect(host.removalsText()).toContain('remove bridge breth0');
      await removeBridges({
        openVswitch: host.uplink,
        ofctl: vswitchd.ofctl,
        namespace: host.namespace,
        sysctls: node.sysctls,
      });
      expect(addresses('eth0')).toEqual(WANTED);
      expect(routes('eth0')).toEqual(ROUTES);
      expect(shared()).toBe(SHARED);
      expect(await vswitchd.vsctl('list-br')).toBe('');
      expect(await vswitchd.vsctl('get', 'Open_vSwitch', '.', 'external_ids')).not.toContain(
        'physnet',
      );
      expect(host.removalsText()).toBe('');
      expect(uplinkSteps({ name: 'eth0', vlan: 0 }, means)).toContain('add port eth0 to breth0');
      start();
    });
  },
);
