import { ADDRESS_FLAG, ROUTE_METRIC } from 'rtnetlink-ts';
import { describe, expect, test } from 'vitest';
import { stepText, uplinkPlan, withoutBridge } from '../../../../src/node/uplink/plan.ts';
import type {
  SwitchBridge,
  UplinkDevice,
  UplinkRoute,
  UplinkState,
} from '../../../../src/node/uplink/state.ts';

const MAC = '02:42:ac:12:00:03';

const device = (name: string, more: Partial<UplinkDevice> = {}): UplinkDevice => ({
  name,
  index: 2,
  mac: MAC,
  isUp: true,
  master: undefined,
  addresses: [],
  routes: [],
  ...more,
});

const route = (destination: string, more: Partial<UplinkRoute> = {}): UplinkRoute => ({
  destination,
  table: 254,
  protocol: 3,
  hops: [{ dev: 'eth0', via: '172.18.0.1', weight: 1, isOnLink: false }],
  ...more,
});

/** A network card as a node has it. */
const eth0 = device('eth0', {
  addresses: [
    { address: '172.18.0.3/16', broadcast: '172.18.255.255', label: 'eth0' },
    { address: '172.18.0.4/16', label: 'eth0:second', flags: ADDRESS_FLAG.noPrefixRoute },
    {
      address: 'fd00::3/64',
      flags: ADDRESS_FLAG.noDad,
      lifetimes: { valid: 600, preferred: 300 },
    },
  ],
  routes: [
    route('0.0.0.0/0', { metric: 100, metrics: { lock: 1 << ROUTE_METRIC.mtu, mtu: 1400 } }),
    route('10.9.0.0/16', { table: 77, preferredSource: '172.18.0.3' }),
    route('172.20.0.0/16', { hops: [{ dev: 'eth0', weight: 1, isOnLink: false }] }),
    route('::/0', {
      protocol: 9,
      expires: 1800,
      hops: [{ dev: 'eth0', via: 'fe80::1', weight: 1, isOnLink: true }],
    }),
    route('9.9.9.0/24', {
      hops: [
        { dev: 'eth0', via: '172.18.0.7', weight: 2, isOnLink: false },
        { dev: 'eth1', via: '172.19.0.7', weight: 1, isOnLink: false },
      ],
    }),
  ],
});

const bridge = (more: Partial<SwitchBridge> = {}): SwitchBridge => ({
  ports: new Set(['br-ex', 'eth0']),
  uplink: 'eth0',
  isOurs: true,
  isMappedByUs: true,
  hasUplink: true,
  hostVlan: undefined,
  hostVlanByUs: undefined,
  ...more,
});

const state = (
  devices: readonly UplinkDevice[],
  {
    bridges = {},
    mappings = '',
  }: { bridges?: Record<string, SwitchBridge>; mappings?: string } = {},
): UplinkState => ({
  switch: { bridges: new Map(Object.entries(bridges)), mappings, datapathType: undefined },
  devices: new Map(devices.map((one) => [one.name, one])),
});

const told = ({ steps }: ReturnType<typeof uplinkPlan>): readonly string[] =>
  steps.flatMap((step) => stepText(step).split('\n'));

const MAPPED = 'physnet:br-ex';

describe('a network card becomes the uplink of the external bridge', () => {
  test('addresses are on both while it changes hands; networks that are reached at once come first, everything else last', () => {
    expect(told(uplinkPlan('eth0', state([eth0], { mappings: 'other:br-o' })))).toEqual([
      `add bridge breth0 with MAC address ${MAC}`,
      'wait for device breth0',
      'set net/ipv6/conf/breth0/accept_ra to what net/ipv6/conf/eth0/accept_ra is',
      'set net/ipv4/conf/breth0/rp_filter to 2',
      'ip link set dev breth0 up',
      'ip address replace 172.18.0.3/16 broadcast 172.18.255.255 dev breth0 label breth0',
      'ip address replace 172.18.0.4/16 dev breth0 label breth0:second noprefixroute',
      'ip address replace fd00::3/64 dev breth0 nodad valid_lft 600 preferred_lft 300',
      'add flows to breth0 that let the host alone send with its MAC address',
      'add port eth0 to breth0',
      'wait until Open vSwitch has eth0 on breth0',
      'ip route replace 172.20.0.0/16 dev breth0 table 254 proto 3',
      'ip route replace 10.9.0.0/16 via 172.18.0.1 dev breth0 table 77 proto 3 src 172.18.0.3',
      'ip route replace 9.9.9.0/24 table 254 proto 3 nexthop via 172.18.0.7 dev breth0 weight 2 nexthop via 172.19.0.7 dev eth1 weight 1',
      'ip route replace 0.0.0.0/0 via 172.18.0.1 dev breth0 table 254 proto 3 metric 100 mtu lock 1400',
      'ip route replace ::/0 via fe80::1 dev breth0 onlink table 254 proto 9 expires 1800',
      'ip address delete fd00::3/64 dev eth0',
      'ip address delete 172.18.0.4/16 dev eth0',
      'ip address delete 172.18.0.3/16 dev eth0',
      'set net/ipv4/conf/breth0/rp_filter to what it was',
      'add physnet:breth0 to ovn-bridge-mappings',
    ]);
  });

  test('the bridge is the one that OVN is told of, if it is', () => {
    expect(uplinkPlan('eth0', state([eth0], { mappings: MAPPED })).bridge).toBe('br-ex');
  });

  test('what is as it should be is left alone', () => {
    const right = state([device('eth0'), device('br-ex', { addresses: eth0.addresses })], {
      bridges: { 'br-ex': bridge() },
      mappings: MAPPED,
    });
    expect(uplinkPlan('eth0', right).steps).toEqual([]);
  });

  test('what somebody puts on the uplink later is moved alone', () => {
    const later = state(
      [
        device('eth0', { addresses: [{ address: '172.18.0.9/16' }] }),
        device('br-ex', { addresses: eth0.addresses }),
      ],
      { bridges: { 'br-ex': bridge() }, mappings: MAPPED },
    );
    expect(told(uplinkPlan('eth0', later)).filter((line) => line.startsWith('ip'))).toEqual([
      'ip address replace 172.18.0.9/16 dev br-ex',
      'ip address delete 172.18.0.9/16 dev eth0',
    ]);
  });

  test('a bridge that somebody deleted gets back what it had', () => {
    const after = state([device('eth0')], { mappings: MAPPED });
    const lines = told(
      uplinkPlan('eth0', after, { lost: { ...device('br-ex'), addresses: eth0.addresses } }),
    );
    expect(lines).toContain(
      'ip address replace 172.18.0.3/16 broadcast 172.18.255.255 dev br-ex label br-ex',
    );
    expect(lines.join('\n')).not.toContain('address delete');
  });

  describe('with a VLAN of the gateway', () => {
    const made = (more: Partial<SwitchBridge>): UplinkState =>
      state([device('eth0'), device('br-ex', { addresses: eth0.addresses })], {
        bridges: { 'br-ex': bridge(more) },
        mappings: MAPPED,
      });

    test('the bridge is made with the host in it', () => {
      const { steps } = uplinkPlan('eth0', state([eth0]), { vlan: 5 });
      expect(told({ steps })[0]).toBe(
        `add bridge breth0 with MAC address ${MAC}, the host in VLAN 5`,
      );
    });

    test('the host goes into it, and out of it, on a bridge that is there', () => {
      const into = uplinkPlan('eth0', made({}), { vlan: 5 });
      expect(told(into)).toEqual(["put the host's port of br-ex into VLAN 5"]);
      const change = { kind: 'host-vlan', bridge: 'br-ex' };
      expect(into.steps[0]).toMatchObject({ undo: { ...change, vlan: 0 } });
      const there = { hostVlan: 5, hostVlanByUs: 5 };
      expect(uplinkPlan('eth0', made(there), { vlan: 5 }).steps).toEqual([]);
      expect(uplinkPlan('eth0', made(there), { vlan: 6 }).steps[0]).toMatchObject({
        change: { ...change, vlan: 6 },
        undo: { ...change, vlan: 5 },
      });
      expect(told(uplinkPlan('eth0', made(there)))).toEqual([
        "take the host's port of br-ex out of its VLAN",
      ]);
    });

    test('that of an administrator stays, and so do bridges of others', () => {
      expect(uplinkPlan('eth0', made({ hostVlan: 5 })).steps).toEqual([]);
      expect(uplinkPlan('eth0', made({ isOurs: false }), { vlan: 5 }).steps).toEqual([]);
    });
  });

  test('a bridge that an administrator made is used as it is', () => {
    const made = state([device('br-ex')], { bridges: { 'br-ex': bridge({ isOurs: false }) } });
    expect(told(uplinkPlan('br-ex', made))).toEqual(['add physnet:br-ex to ovn-bridge-mappings']);
  });

  test.each([
    ['there is no device eth0', state([])],
    ['eth0 is part of bond0; name bond0', state([device('eth0', { master: 'bond0' })])],
    [
      'eth0 is a port of bridge br-other; take it off there',
      state([eth0], { bridges: { 'br-other': bridge({ ports: new Set(['eth0']) }) } }),
    ],
    [
      'a device of that name that is not Open vSwitch',
      state([eth0, device('br-ex')], { mappings: MAPPED }),
    ],
    [
      'external_ids:bridge-uplink of bridge br-ex is eth7',
      state([eth0], { bridges: { 'br-ex': bridge({ uplink: 'eth7' }) }, mappings: MAPPED }),
    ],
  ])('nothing is touched when %s', (words, found) => {
    const { steps, problem } = uplinkPlan('eth0', found);
    expect(problem).toContain(words);
    expect(steps).toEqual([]);
  });

  test('nor when no device can have the name of the bridge', () => {
    const name = 'enp0s31f6np0d1';
    const { problem } = uplinkPlan(name, state([device(name)]));
    expect(problem).toContain('longer than 15 characters');
  });
});

describe('a bridge is taken apart', () => {
  const kept = device('br-ex', {
    addresses: eth0.addresses.map((one) =>
      one.label === 'eth0' ? { ...one, label: 'br-ex' } : one,
    ),
    routes: [
      route('0.0.0.0/0', {
        hops: [{ dev: 'br-ex', via: '172.18.0.1', weight: 1, isOnLink: false }],
      }),
    ],
  });

  test('after the uplink has addresses and routes again', () => {
    const found = state([device('eth0'), kept], {
      bridges: { 'br-ex': bridge() },
      mappings: MAPPED,
    });
    expect(told(withoutBridge('br-ex', found))).toEqual([
      'remove physnet:br-ex from ovn-bridge-mappings',
      'set net/ipv4/conf/br-ex/rp_filter to 2',
      'ip link set dev eth0 up',
      'ip address replace 172.18.0.3/16 broadcast 172.18.255.255 dev eth0 label eth0',
      'ip address replace 172.18.0.4/16 dev eth0 noprefixroute',
      'ip address replace fd00::3/64 dev eth0 nodad valid_lft 600 preferred_lft 300',
      'ip route replace 0.0.0.0/0 via 172.18.0.1 dev eth0 table 254 proto 3',
      'remove port eth0 from br-ex',
      'remove bridge br-ex',
    ]);
  });

  test('not when its uplink is not there, and not when it is somebody else’s', () => {
    const without = state([kept], { bridges: { 'br-ex': bridge() } });
    expect(withoutBridge('br-ex', without)).toMatchObject({
      steps: [],
      problem: expect.stringContaining('there is no device eth0') as unknown,
    });
    const foreign = state([device('eth0'), kept], {
      bridges: { 'br-ex': bridge({ isOurs: false, isMappedByUs: false }) },
    });
    expect(withoutBridge('br-ex', foreign).steps).toEqual([]);
  });
});
