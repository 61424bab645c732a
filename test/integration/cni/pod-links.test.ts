import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LINK_GROUP } from '../../../src/cni/links/link-requests.ts';
import type { CniInterface } from '../../../src/cni/protocol/result.ts';
import { PodLinks } from '../../../src/cni/links/pod-links.ts';
import { NetworkNamespace, whyNoNamespace } from '../../support/host/network-namespace.ts';

const CONTAINER = 'c0ffee';

const interfaceOf = (device: string, index: number): CniInterface =>
  ({
    device,
    hostDevice: index === 0 ? CONTAINER : `${CONTAINER}_${index}`,
    mac: `0a:58:0a:80:00:0${index}`,
    mtu: 1400,
    externalIds: { 'iface-id-ver': 'uid' },
  }) as unknown as CniInterface;
const BOTH = ['eth0', 'ovn-udn1'].map(interfaceOf);

describe.skipIf(whyNoNamespace !== undefined)('links of a pod', () => {
  let host: NetworkNamespace;
  let pod: NetworkNamespace;
  let links: PodLinks;
  let netns: string;

  beforeEach(async () => {
    [host, pod] = await Promise.all([NetworkNamespace.create(), NetworkNamespace.create()]);
    links = new PodLinks({ host: host.path });
    netns = pod.path;
  });
  afterEach(() => {
    host[Symbol.dispose]();
    pod[Symbol.dispose]();
  });

  const names = (): readonly string[] =>
    links
      .list(CONTAINER)
      .map(({ name }) => name)
      .toSorted();

  test('are made with their ends in the pod, and say whose they are', async () => {
    await links.create(BOTH, CONTAINER, netns);
    expect(links.list(CONTAINER)).toEqual([
      { name: CONTAINER, container: CONTAINER, device: 'eth0', uid: 'uid' },
      { name: `${CONTAINER}_1`, container: CONTAINER, device: 'ovn-udn1', uid: 'uid' },
    ]);
    expect(pod.ip('-brief link show')).toMatch(/eth0@[\s\S]*ovn-udn1@/);
  });

  test('lead out of a secondary network where a table of its own says so, but for what has an address of another interface', async () => {
    const plain = { gateways: [], routes: [], isOnUnderlay: false };
    const eth0 = {
      ...interfaceOf('eth0', 0),
      ...plain,
      addresses: ['10.244.0.5/24', 'fd00:10:244::5/64'],
      gateways: ['10.244.0.1', 'fd00:10:244::1'],
    };
    const net1 = {
      ...interfaceOf('net1', 1),
      ...plain,
      addresses: ['10.80.0.5/24', 'fd00:80::5/64'],
      wayOut: {
        table: 1001,
        routes: [
          { dest: '203.0.113.0/24', nextHop: '10.80.0.1' },
          { dest: '2001:db8::/32', nextHop: 'fd00:80::1' },
        ],
        otherAddresses: ['10.244.0.5', 'fd00:10:244::5'],
        ownTable: 2001,
        own: [
          { address: '10.80.0.5/24', gateway: '10.80.0.1' },
          { address: 'fd00:80::5/64', gateway: 'fd00:80::1' },
        ],
      },
    };
    await links.create([eth0, net1], CONTAINER, netns);
    links.configure([eth0, net1], netns);
    const way = (to: string): string => / dev (\S+)/.exec(pod.ip(`route get ${to}`))?.[1] ?? '';
    expect(['203.0.113.7', '2001:db8::7', '198.51.100.7'].map(way)).toEqual([
      'net1',
      'net1',
      'eth0',
    ]);
    expect(way('203.0.113.7 from 10.80.0.5')).toBe('net1');
    expect(way('203.0.113.7 from 10.244.0.5')).toBe('eth0');
    // What has an address of the network leaves by it, whoever it is for.
    expect(['10.96.0.10 from 10.80.0.5', '2001:db9::7 from fd00:80::5'].map(way)).toEqual([
      'net1',
      'net1',
    ]);
    expect(pod.ip('route get 10.80.0.9 from 10.80.0.5')).not.toContain('via');
    expect(way('2001:db8::7 from fd00:10:244::5')).toBe('eth0');
  });

  test('are in one group on the host, also those of an older release; links of others are not', async () => {
    const groups = (): readonly (readonly [string, string])[] =>
      (
        JSON.parse(host.ip('-json -Numeric link show type veth')) as {
          ifname: string;
          group: string;
        }[]
      )
        .map(({ ifname, group }) => [ifname, group] as const)
        .toSorted(([a], [b]) => (a < b ? -1 : 1));
    host.ip('link add name stranger type veth peer name other');
    await links.create(BOTH, CONTAINER, netns);
    const group = LINK_GROUP;
    const wanted = [
      [CONTAINER, group],
      [`${CONTAINER}_1`, group],
      ['other', '0'],
      ['stranger', '0'],
    ];
    expect(groups()).toEqual(wanted);
    host.ip(`link set dev ${CONTAINER} group 0`);
    links.group();
    expect(groups()).toEqual(wanted);
  });

  test.each([
    [
      'on the host',
      (): string => host.ip(`link add name ${CONTAINER}_1 type veth peer name other`),
    ],
    ['in the pod', (): string => pod.ip('link add name ovn-udn1 type veth peer name other')],
  ])('stay as they are when there is one already %s, and nothing else is left', async (_, make) => {
    make();
    const before = [host.ip('-brief link show'), pod.ip('-brief link show')];
    await expect(links.create(BOTH, CONTAINER, netns)).rejects.toThrow(
      `container ${CONTAINER} has an interface ovn-udn1 already, or the host a link ${CONTAINER}_1: DEL comes before another ADD`,
    );
    expect([host.ip('-brief link show'), pod.ip('-brief link show')]).toEqual(before);
  });

  test('go again when the kernel refuses one of them', async () => {
    const [first, second] = BOTH as [CniInterface, CniInterface];
    await expect(links.create([first, { ...second, mtu: 1 }], CONTAINER, netns)).rejects.toThrow(
      'on the host: ',
    );
    expect(names()).toEqual([]);
  });
});
