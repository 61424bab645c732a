/** Connections that a real ovs-vswitchd tracks in its userspace datapath. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  DatapathConntrack,
  revalidated,
} from '../../../../src/node/conntrack/datapath-conntrack.ts';
import type { StaleConnections } from '../../../../src/node/conntrack/service-connections.ts';
import { Unixctl } from '../../../../src/node/programs/unixctl.ts';
import { Vswitchd } from '../../../support/host/vswitchd.ts';

const { signal } = new AbortController();
const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
const address = (text: string): string =>
  text
    .split('.')
    .map((byte) => hex(Number(byte), 2))
    .join('');
const udp = (port: number, sum = 0): string => `0fa0${hex(port, 4)}0008${hex(sum, 4)}`;
/** Frames of a datagram without content. */
const frameV4 = (to: string, port: number): string =>
  `02000000000202000000000108004500001c0000400040110000${address('192.0.2.1')}${address(to)}${udp(port)}`;
/** In IPv6 a datagram has to have a checksum (RFC 8200, 8.1), over the addresses, too. */
const frameV6 = (port: number): string => {
  const [from, to] = ['fd000000000000000000000000000001', 'fd96000000000000000000000000000a'];
  const words = `${from}${to}00080011${udp(port)}`.match(/.{4}/g) ?? [];
  const sum = words.reduce((all, word) => all + Number.parseInt(word, 16), 0);
  const checksum = ~((sum & 0xffff) + (sum >> 16)) & 0xffff;
  return `02000000000202000000000186dd6000000000081140${from}${to}${udp(port, checksum)}`;
};

const service = (to: string, port: number, endpoint?: string): StaleConnections => ({
  object: 'Service blue/web',
  protocol: 'udp',
  destination: { family: to.includes(':') ? 'v6' : 'v4', address: to, port },
  ...(endpoint === undefined ? {} : { endpoint }),
});

describe('connections of the userspace datapath to a service', () => {
  let vswitchd: Vswitchd;
  const unixctl = (): Unixctl =>
    new Unixctl({ folder: vswitchd.database.folder, daemon: 'ovs-vswitchd' });
  const conntrack = (isUserspace = true): DatapathConntrack =>
    new DatapathConntrack(unixctl(), () => isUserspace);
  const track = async (frame: string, zone: number): Promise<void> => {
    const packet = `in_port=1 packet=${frame} actions=ct(commit,zone=${zone})`;
    await vswitchd.ofctlOn('br-int', 'packet-out', packet);
  };
  const left = async (): Promise<string[]> => {
    const lines = (await vswitchd.appctl('dpctl/dump-conntrack', 'netdev@ovs-netdev')).split('\n');
    return lines
      .flatMap((line) => {
        const [, to, port] = /,dst=([^,]+),sport=\d+,dport=(\d+)/.exec(line) ?? [];
        return to === undefined ? [] : `${to} ${port} zone ${/zone=(\d+)/.exec(line)?.[1]}`;
      })
      .toSorted();
  };

  beforeAll(async () => {
    vswitchd = await Vswitchd.start();
    const bridge = ['--', 'set', 'Bridge', 'br-int', 'datapath_type=netdev', 'fail_mode=secure'];
    const port = ['--', 'add-port', 'br-int', 'p1', '--', 'set', 'Interface', 'p1', 'type=dummy'];
    await vswitchd.vsctl('add-br', 'br-int', ...bridge, ...port);
  });
  afterAll(() => vswitchd[Symbol.asyncDispose]());
  beforeEach(async () => {
    await vswitchd.appctl('dpctl/flush-conntrack');
    await track(frameV4('10.96.0.10', 53), 5);
    await track(frameV4('10.96.0.10', 53), 6);
    await track(frameV4('10.96.0.10', 54), 5);
    await track(frameV4('10.96.0.11', 53), 5);
    await track(frameV6(53), 5);
    expect(await left()).toHaveLength(5);
  });

  test('are forgotten in all zones and both families, and no others', async () => {
    await conntrack().forgetServices(
      [service('10.96.0.10', 53), service('fd96::a', 53), service('10.96.0.99', 53)],
      signal,
    );
    expect(await left()).toEqual(['10.96.0.10 54 zone 5', '10.96.0.11 53 zone 5']);
  });

  test('are forgotten where one endpoint answered, and never where the kernel forwards', async () => {
    await conntrack().forgetServices([service('10.96.0.10', 54, '10.244.0.5')], signal);
    await conntrack(false).forgetServices([service('10.96.0.10', 54)], signal);
    expect(await left()).toHaveLength(5);
    await conntrack().forgetServices([service('10.96.0.10', 54, '10.96.0.10')], signal);
    expect(await left()).toHaveLength(4);
  });

  test('are forgotten by way of the next hop that is gone, and those of others and of other pods live', async () => {
    await vswitchd.appctl('dpctl/flush-conntrack');
    const by = async (frame: string, last: string, zone: number): Promise<void> => {
      const label = `exec(set_field:0x2000000${last}00000007->ct_label)`;
      const packet = `in_port=1 packet=${frame} actions=ct(commit,zone=${zone},${label})`;
      await vswitchd.ofctlOn('br-int', 'packet-out', packet);
    };
    await by(frameV4('10.244.0.5', 53), '0051', 5);
    await by(frameV4('10.244.0.5', 54), '0052', 5);
    await by(frameV4('10.244.0.6', 53), '0051', 6);
    await by(frameV6(53), '0051', 6);
    await track(frameV4('10.244.0.5', 55), 5);
    const all = await left();
    const mac = '02:00:00:00:00:51';
    const stale = ['10.244.0.5', 'fd96::a'].map((source) => ({ source, mac }));
    await conntrack(false).forgetHops(stale, signal);
    expect(await left()).toEqual(all);
    await conntrack().forgetHops(stale, signal);
    expect(await left()).toEqual([
      '10.244.0.5 54 zone 5',
      '10.244.0.5 55 zone 5',
      '10.244.0.6 53 zone 6',
    ]);
  });

  test('of pods are forgotten where they leave with a wrong source, also behind a gateway router, and no others', async () => {
    await vswitchd.appctl('dpctl/flush-conntrack');
    const as = async (frame: string, zone: number, source: string): Promise<void> => {
      const packet = `in_port=1 packet=${frame} actions=ct(commit,zone=${zone},nat(src=${source}))`;
      await vswitchd.ofctlOn('br-int', 'packet-out', packet);
    };
    const [NODE, WAY] = ['172.18.0.11', '169.254.0.13'];
    const behind = (port: number): string =>
      frameV4('203.0.113.5', port).replace(address('192.0.2.1'), address(WAY));
    await as(frameV4('203.0.113.5', 53), 5, NODE);
    await as(frameV4('203.0.113.6', 53), 5, '172.18.0.50');
    await as(frameV4('203.0.113.7', 53), 5, NODE);
    await as(frameV6(53), 5, 'fd18::11');
    await as(frameV4('203.0.113.5', 54), 7, WAY);
    await as(behind(54), 64_000, NODE);
    await as(behind(55), 64_000, NODE);
    const all = await left();
    expect(all).toHaveLength(7);
    const nodes = new Set(['203.0.113.7']);
    const stale = [
      { source: '192.0.2.1', wrong: [NODE], nodes },
      { source: 'fd00::1', wrong: ['fd18::11'], nodes },
      { source: '192.0.2.1', via: WAY, wrong: [NODE], nodes },
    ];
    await conntrack(false).forgetSources(stale, signal);
    expect(await left()).toEqual(all);
    await conntrack().forgetSources(stale, signal);
    const gone = new Set(all).difference(new Set(await left()));
    expect([...gone]).toEqual([
      '203.0.113.5 53 zone 5',
      '203.0.113.5 54 zone 64000',
      'fd96::a 53 zone 5',
    ]);
  });

  test('that it refuses to forget are an error in its words, and so is its end', async () => {
    await expect(
      conntrack().forgetServices([service('10.96.0.10', 70_000)], signal),
    ).rejects.toThrow(/^ovs-vswitchd dpctl\/flush-conntrack: .*Invalid argument/s);
    await vswitchd.kill();
    await expect(conntrack().forgetServices([service('10.96.0.10', 53)], signal)).rejects.toThrow(
      /^ovs-vswitchd dpctl\/flush-conntrack: .*ECONNREFUSED/,
    );
    await vswitchd.launch();
  });

  test('are not made any more by flows of before once the datapath was looked at again', async () => {
    const to = (zone: number): Promise<string> =>
      vswitchd.ofctlOn('br-int', 'add-flow', `in_port=1,udp,actions=ct(commit,zone=${zone})`);
    const cached = (): Promise<string> => vswitchd.appctl('dpctl/dump-flows', 'netdev@ovs-netdev');
    for (let zone = 10; zone < 14; zone += 1) {
      await to(zone);
      await vswitchd.appctl('netdev-dummy/receive', 'p1', frameV4('10.96.0.20', 53));
      await expect.poll(cached).toContain(`zone=${zone}`);
      await to(zone + 1);
      await revalidated(unixctl(), signal);
      expect(await cached()).not.toContain(`zone=${zone})`);
    }
  });

  test('are left when the daemon ends', async () => {
    const stopping = new AbortController();
    const going = conntrack().forgetServices(
      [service('10.96.0.10', 53), service('10.96.0.11', 53)],
      stopping.signal,
    );
    stopping.abort();
    await expect(going).rejects.toThrow('aborted');
    expect(await left()).toContain('10.96.0.11 53 zone 5');
  });
});
