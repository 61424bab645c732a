import { describe, expect, test } from 'vitest';
import { encapAddresses, type EncapContext } from '../../../../src/node/chassis/encap-addresses.ts';
import {
  changeText,
  chassisPlan,
  otherSouthbound,
  removals,
} from '../../../../src/node/chassis/plan.ts';
import {
  chassisSettings,
  type ChassisFacts,
  type ChassisSettings,
} from '../../../../src/node/chassis/settings.ts';
import { unreachedNodes, type TunnelPort } from '../../../../src/node/chassis/tunnels.ts';
import type { HostState } from '../../../../src/node/linux/host-state.ts';
import { DEFAULT_SETTINGS } from '../../../../src/model/settings.ts';

const DEFAULTS: ChassisSettings = {
  encapIps: [],
  southbound: 'unix:/var/run/ovn/ovnsb_db.sock',
  monitorAll: true,
  inactivityProbe: 100_000,
  waitBeforeClear: 8000,
  lflowCache: { isEnabled: true, limit: 0, limitKb: 0 },
  given: new Set(),
};
const FACTS: ChassisFacts = { node: 'n1', encapIps: ['172.18.0.3'], flows: 'kept' };

const ids = (entries: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(entries));
/** As Heddle leaves it. */
const ours = (entries: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(entries).flatMap(([key, value]) => [
      [key, value],
      [`heddle-set-${key}`, value],
    ]),
  );

function plan(
  found: Readonly<Record<string, string>>,
  settings: Partial<ChassisSettings> = {},
  facts: Partial<ChassisFacts> = {},
  takesOver = false,
) {
  const wanted = chassisSettings({ ...DEFAULTS, ...settings }, { ...FACTS, ...facts });
  const { changes, problems, notes } = chassisPlan(ids(found), wanted, { takesOver });
  return { changes, texts: changes.map((one) => changeText(ids(found), one)), problems, notes };
}

/** All of it set, by Heddle. */
const complete = ours(
  Object.fromEntries(
    chassisSettings(DEFAULTS, FACTS).flatMap(({ key, value }) =>
      value === undefined ? [] : [[key, value]],
    ),
  ),
);

describe('settings of ovn-controller', () => {
  test('on a node that has a system-id and nothing else, all are set', () => {
    expect(plan({ 'system-id': 'a' })).toEqual({
      changes: expect.any(Array) as unknown,
      texts: [
        'set external_ids:ovn-is-interconn to "true"',
        'set external_ids:ovn-encap-type to "geneve"',
        'set external_ids:ovn-encap-ip to "172.18.0.3"',
        'set external_ids:ovn-remote to "unix:/var/run/ovn/ovnsb_db.sock"',
        'set external_ids:ovn-monitor-all to "true"',
        'set external_ids:ovn-remote-probe-interval to "100000"',
        'set external_ids:ovn-bridge-remote-probe-interval to "0"',
        'set external_ids:ovn-ofctrl-wait-before-clear to "8000"',
        'set external_ids:ovn-enable-lflow-cache to "true"',
        'set external_ids:hostname to "n1"',
      ],
      problems: [],
      notes: [],
    });
  });

  test('where all are set there is nothing to do', () => {
    expect(plan(complete)).toEqual({ changes: [], texts: [], problems: [], notes: [] });
  });

  test('flows are kept at a restart once there are some: a new node waits for nothing, and what is set stays', () => {
    const key = 'ovn-ofctrl-wait-before-clear';
    expect(plan({}, {}, { flows: 'none' }).texts.join()).not.toContain(key);
    expect(plan(complete, {}, { flows: 'none' }).changes).toEqual([]);
    expect(plan(complete, {}, { flows: 'lost' }).texts).toEqual([
      `set external_ids:${key} to "0" (was "8000")`,
    ]);
  });

  test('an address that is not known yet leaves the one that is there', () => {
    expect(plan(complete, {}, { encapIps: undefined }).changes).toEqual([]);
  });

  test('limits of the cache are set where somebody asked for them, and taken back', () => {
    const limited = { lflowCache: { isEnabled: true, limit: 1000, limitKb: 65_536 } };
    expect(plan(complete, limited).texts).toEqual([
      'set external_ids:ovn-limit-lflow-cache to "1000"',
      'set external_ids:ovn-memlimit-lflow-cache-kb to "65536"',
    ]);
    const before = { ...complete, ...ours({ 'ovn-limit-lflow-cache': '1000' }) };
    expect(plan(before).texts).toEqual(['remove external_ids:ovn-limit-lflow-cache']);
  });

  test('what Heddle set follows its settings, and comes back when somebody takes it away', () => {
    expect(plan(complete, { inactivityProbe: 5000 }).texts).toEqual([
      'set external_ids:ovn-remote-probe-interval to "5000" (was "100000")',
    ]);
    const { 'ovn-is-interconn': _gone, ...rest } = complete;
    expect(plan(rest).texts).toEqual(['set external_ids:ovn-is-interconn to "true"']);
  });

  describe('that somebody else set', () => {
    test('stay, and are told', () => {
      const found = { ...complete, 'ovn-monitor-all': 'false' };
      const { texts, problems, notes } = plan(found);
      expect(texts).toEqual(["external_ids:ovn-monitor-all is no longer Heddle's"]);
      expect(problems).toEqual([]);
      expect(notes).toEqual([
        'external_ids:ovn-monitor-all of the local Open_vSwitch database is "false", which Heddle did not set, so it stays; Heddle would set "true" (--monitor-all)',
      ]);
      const after = Object.entries(found).filter(([key]) => key !== 'heddle-set-ovn-monitor-all');
      expect(plan(Object.fromEntries(after))).toMatchObject({ texts: [], notes });
    });

    test('are a problem where Heddle was told otherwise', () => {
      const found = { ...complete, 'ovn-encap-ip': '10.9.0.3' };
      expect(plan(found).problems).toEqual([]);
      expect(plan(found, { given: new Set(['encap-ip']) }).problems).toEqual([
        'external_ids:ovn-encap-ip of the local Open_vSwitch database is "10.9.0.3", which Heddle did not set, so it stays; Heddle would set "172.18.0.3" by --encap-ip: make them the same, or ovs-vsctl remove Open_vSwitch . external_ids ovn-encap-ip leaves it to Heddle',
      ]);
    });

    test.each([
      ['ovn-is-interconn', 'false', 'no tunnels to other nodes'],
      ['ovn-encap-type', 'vxlan', 'no tunnels that other nodes understand'],
    ])('are a problem where nothing works with them: %s', (key, value, what) => {
      const { problems, changes } = plan({ ...complete, [key]: value, [`heddle-set-${key}`]: '' });
      expect(problems).toEqual([expect.stringContaining(`with it there are ${what}; ovs-vsctl`)]);
      expect(changes).toEqual([{ key, value, isOurs: false }]);
    });

    test.each([
      ['ovn-encap-type', 'vxlan,geneve'],
      ['ovn-remote', 'unix:/run/ovn/ovnsb_db.sock'],
      ['hostname', 'n1.example.com'],
    ])('are as good as ours: %s', (key, value) => {
      const found = { ...complete, [key]: value };
      expect(plan(found)).toMatchObject({ problems: [], notes: [] });
    });

    test('lead ovn-controller to another Southbound database: that is told with the flag and what to do', () => {
      const southbound = 'unix:/var/run/ovn/ovnsb_db.sock';
      const told = (remote: string): string | undefined =>
        otherSouthbound(ids({ 'ovn-remote': remote }), southbound);
      expect(told('tcp:192.0.2.9:6642')).toBe(
        'external_ids:ovn-remote of the local Open_vSwitch database is "tcp:192.0.2.9:6642", and ours (--sb) "unix:/var/run/ovn/ovnsb_db.sock": if that is another database, ovs-vsctl remove Open_vSwitch . external_ids ovn-remote leaves it to Heddle',
      );
      expect(told('unix:/run/ovn/ovnsb_db.sock')).toBeUndefined();
      expect(otherSouthbound(ids({}), southbound)).toBeUndefined();
      expect(
        otherSouthbound(ids({ 'ovn-remote': 'tcp:192.0.2.9:6642' }), undefined),
      ).toBeUndefined();
    });

    test('and have the value that Heddle would set are nobody else’s concern, and not ours to take back', () => {
      const found = { 'system-id': 'a', 'ovn-is-interconn': 'true' };
      expect(plan(found).texts.join()).not.toContain('is-interconn');
      expect(removals(ids(found))).toEqual([]);
    });

    test('but an ovn-kubernetes did, give way when its node is taken over', () => {
      const key = 'ovn-ofctrl-wait-before-clear';
      const found = { ...complete, [key]: '0', [`heddle-set-${key}`]: '' };
      expect(plan(found).notes).toHaveLength(1);
      expect(plan(found, {}, {}, true)).toMatchObject({
        texts: [`set external_ids:${key} to "8000" (was "0")`],
        notes: [],
      });
    });
  });

  test('all that Heddle set goes again, and what others changed since stays', () => {
    const found = { 'system-id': 'a', ...complete, 'ovn-encap-ip': '10.9.0.3' };
    const left = new Map(Object.entries(found));
    for (const { key, value } of removals(ids(found))) {
      left.delete(`heddle-set-${key}`);
      if (value === undefined) left.delete(key);
    }
    expect(Object.fromEntries(left)).toEqual({ 'system-id': 'a', 'ovn-encap-ip': '10.9.0.3' });
  });
});

describe('where tunnels to a node end', () => {
  const lasting = (address: string) => ({ address, isLasting: true });
  const host: HostState = {
    devices: [
      { name: 'lo', mac: undefined, addresses: [lasting('127.0.0.1/8')] },
      {
        name: 'eth0',
        mac: undefined,
        addresses: [
          lasting('172.18.0.3/16'),
          { address: '172.18.0.9/16', isLasting: false },
          lasting('fc00::3/64'),
        ],
      },
      { name: 'eth1', mac: undefined, addresses: [lasting('10.9.0.3/24')] },
      { name: 'ovn-k8s-mp0', mac: undefined, addresses: [lasting('10.128.0.2/23')] },
    ],
    defaultRoutes: [{ dev: 'eth0', nextHop: '172.18.0.1', metric: 0 }],
  };
  const of = (more: Partial<EncapContext> = {}, state: HostState = host) =>
    encapAddresses(state, { asked: [], settings: DEFAULT_SETTINGS, knownBy: [], ...more });

  test.each<[string, Partial<EncapContext>, readonly string[]]>([
    ['its Node names it', { knownBy: ['192.0.2.9', '10.9.0.3', '172.18.0.3'] }, ['10.9.0.3']],
    ['its default route leaves from it', {}, ['172.18.0.3']],
    ['somebody named it', { asked: ['172.18.0.9'] }, ['172.18.0.9']],
    ['it is in a subnet that somebody named', { asked: ['10.9.0.0/16'] }, ['10.9.0.3']],
    ['there are several', { asked: ['10.9.0.3', 'fc00::/64'] }, ['10.9.0.3', 'fc00::3']],
  ])('%s', (_why, context, addresses) => {
    expect(of(context)).toEqual({ kind: 'value', addresses });
  });

  test('a cluster of IPv6 prefers an IPv6 way out', () => {
    const settings = {
      ...DEFAULT_SETTINGS,
      clusterSubnets: [{ cidr: 'fd00:10:244::/48', hostLength: 64 }],
    };
    const both = {
      ...host,
      defaultRoutes: [...host.defaultRoutes, { dev: 'eth0', nextHop: 'fc00::1', metric: 9 }],
    };
    expect(of({ settings }, both)).toEqual({ kind: 'value', addresses: ['fc00::3'] });
  });

  test.each<[string, Partial<EncapContext>, HostState, string]>([
    ['10.8.0.0/16', { asked: ['10.8.0.0/16'] }, host, 'the host has no address in 10.8.0.0/16'],
    ['10.8.0.1', { asked: ['10.8.0.1'] }, host, '10.8.0.1 is no address of this host'],
    ['nothing', {}, { ...host, defaultRoutes: [] }, 'set --encap-ip'],
    ['of a pod network', { asked: ['10.128.0.2'] }, host, 'is no address of this host'],
  ])('is waited for: %s', (_what, context, state, message) => {
    expect(of(context, state)).toEqual({
      kind: 'awaited',
      message: expect.stringContaining(message) as unknown,
    });
  });
});

describe('nodes that are not reached', () => {
  const tunnel = (more: Partial<TunnelPort> = {}): TunnelPort => ({
    remote: '172.18.0.12',
    failure: undefined,
    egress: 'br-ex',
    hasCarrier: true,
    ...more,
  });
  const found = (...tunnels: readonly TunnelPort[]): readonly string[] =>
    unreachedNodes(
      [{ node: 'n2', encapIps: ['172.18.0.12', '10.9.0.12'] }],
      new Map(tunnels.map((one) => [one.remote, one])),
    ).map(({ node, message }) => `${node}: ${message}`);

  test.each<[string, readonly TunnelPort[]]>([
    ['no tunnel to it (172.18.0.12): ovn-controller of this node has made none', []],
    ['ovs-vswitchd could not make it: no such type', [tunnel({ failure: 'no such type' })]],
    ['this host has no route there', [tunnel({ egress: undefined })]],
    ['br-ex, which leads there, has no carrier', [tunnel({ hasCarrier: false })]],
  ])('%s', (message, tunnels) => {
    expect(found(...tunnels)).toEqual([expect.stringContaining(message)]);
  });

  test('one end that is reached is enough', () => {
    expect(found(tunnel())).toEqual([]);
    expect(found(tunnel({ remote: '10.9.0.12' }))).toEqual([]);
  });

  test('a node that has not said where its tunnels end is not missed', () => {
    expect(unreachedNodes([{ node: 'n3', encapIps: [] }], new Map())).toEqual([]);
  });
});

test('what is said of a key is short, however long somebody made it', () => {
  const found = new Map([[`heddle-set-${'long'.repeat(1000)}`, 'x']]);
  const texts = removals(found).map((change) => changeText(found, change));
  expect(texts.map(({ length }) => length < 300)).toEqual([true]);
});
