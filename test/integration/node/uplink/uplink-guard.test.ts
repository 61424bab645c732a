import { NetlinkError } from 'rtnetlink-ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sendFrameBy } from '../../../../src/node/linux/network-socket.ts';
import { NetworkMonitor } from '../../../../src/node/linux/network-monitor.ts';
import {
  GUARD_TABLE,
  guardRemovalText,
  removeGuard,
  UplinkGuard,
} from '../../../../src/node/uplink/uplink-guard.ts';
import { createLogger } from '../../../../src/process/logger.ts';
import { NetworkNamespace, whyNoNamespace } from '../../../support/host/network-namespace.ts';
import { nftIn, runNft } from '../../../support/host/nft-program.ts';

const SOON = { timeout: 20_000, interval: 50 };
/** From a card to everybody. */
const ETHERNET = 'ffffffffffff02000000aaaa';
const TAG = '81000005';
/** A datagram to 198.51.100.1, without anything in it. */
const v4 = (source: string): string => `0800450000140000000040110000${source}c6336401`;
const v6 = (source: string): string =>
  `86dd6000000000001140${source}20010db8000000000000000000000001`;
const MASQUERADE = { v4: 'a9fe000b', v6: 'fd69000000000000000000000000000b' };
const OTHER = { v4: 'a9fe8001', v6: 'fd69000000000000000000000001000b' };

describe.skipIf(whyNoNamespace !== undefined)('what does not leave by the uplink', () => {
  let node: NetworkNamespace;
  let outside: NetworkNamespace;
  let monitor: NetworkMonitor;
  let guard: UplinkGuard;
  let stop: AbortController;
  let ended: Promise<void>;

  const addCard = (): void => {
    const peer = outside.path.replace('/proc/', '').replace('/ns/net', '');
    node.ip(`link add name eth0 type veth peer name wire netns ${peer}`);
    node.ip('link set dev eth0 up');
    outside.ip('link set dev wire up');
  };
  const start = (): void => {
    stop = new AbortController();
    guard = new UplinkGuard({
      node: 'n1',
      ranges: { v4: '169.254.0.0/17', v6: 'fd69::/112' },
      openVswitch: {
        unavailable: () => undefined,
        read: () => ({
          bridges: new Map(),
          mappings: 'physnet:breth0',
          datapathType: undefined,
        }),
        follow: () => () => undefined,
      },
      uplinks: () =>
        new Map([['breth0', { named: 'eth0', found: [{ name: 'eth0', isOfKernel: true }] }]]),
      nft: nftIn(node),
      namespace: node.path,
      monitor,
      log: createLogger('silent'),
      signal: stop.signal,
    });
    ended = guard.run();
  };
  const table = (): string => {
    const { family, name } = GUARD_TABLE;
    try {
      return runNft(nftIn(node), `-a list table ${family} ${name}`);
    } catch {
      return ''; // there is none
    }
  };
  const isGuarded = (): Promise<void> =>
    expect.poll(table, SOON).toMatch(/devices? =? ?(\{ )?"?eth0/);
  const received = (): number =>
    Number(/RX:[^\n]*\n\s+\d+\s+(\d+)/.exec(outside.ip('-s link show dev wire'))?.[1]);
  /** The kernel says of what a rule drops that there is no room for it. */
  const send = (frame: string): void => {
    try {
      sendFrameBy(node.path, 'eth0', ETHERNET + frame);
    } catch (error) {
      if (!(error instanceof NetlinkError && error.code === 'ENOBUFS')) throw error;
    }
  };
  /** How many of these frames the other end of the wire got. */
  const arriving = async (...frames: readonly string[]): Promise<number> => {
    const before = received();
    // In order: this one is the last.
    for (const frame of [...frames, v4(OTHER.v4)]) send(frame);
    await expect.poll(() => received() - before, SOON).toBeGreaterThan(0);
    return received() - before - 1;
  };

  beforeEach(async () => {
    [node, outside] = await Promise.all([NetworkNamespace.create(), NetworkNamespace.create()]);
    addCard();
    monitor = new NetworkMonitor({ namespace: node.path });
    start();
  });
  afterEach(async () => {
    stop.abort();
    await ended;
    monitor[Symbol.dispose]();
    node[Symbol.dispose]();
    outside[Symbol.dispose]();
  });

  test('addresses of the masquerade subnet, in a VLAN or not; all else does', async () => {
    await isGuarded();
    const masqueraded = [v4(MASQUERADE.v4), v6(MASQUERADE.v6)];
    const others = [v4(OTHER.v4), v6(OTHER.v6)];
    const tagged = (all: readonly string[]): readonly string[] => all.map((one) => TAG + one);
    expect(await arriving(...masqueraded, ...tagged(masqueraded))).toBe(0);
    expect(await arriving(...others, ...tagged(others))).toBe(4);
    expect(guard.notes()).toEqual([]);
  });

  test('another start changes nothing; a card that is made again is guarded again', async () => {
    await isGuarded();
    const before = table();
    stop.abort();
    await ended;
    start();
    await expect.poll(() => guard.notes(), SOON).toEqual([]);
    expect(table()).toBe(before);
    node.ip('link delete dev eth0');
    addCard();
    await isGuarded();
    await expect.poll(() => arriving(v4(MASQUERADE.v4)), SOON).toBe(0);
  });

  test('it is taken away without a trace, also where there is none', async () => {
    await isGuarded();
    stop.abort();
    await ended;
    expect(await guardRemovalText(nftIn(node))).toBe('remove nftables table netdev heddle-uplink');
    for (let times = 0; times < 2; times += 1)
      expect(await removeGuard(nftIn(node))).toBeUndefined();
    expect(table()).toBe('');
    expect(await guardRemovalText(nftIn(node))).toBe('');
    expect(await arriving(v4(MASQUERADE.v4))).toBe(1);
  });
});
