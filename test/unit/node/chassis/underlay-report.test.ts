import { describe, expect, test } from 'vitest';
import {
  missingHolds,
  underlayReport,
  type UnderlayReport,
  type UnderlayState,
} from '../../../../src/node/chassis/underlay-report.ts';
import type { HostPlans } from '../../../../src/node/node-agent.ts';
import type { TunnelPort } from '../../../../src/node/chassis/tunnels.ts';
import { underlayDevice } from '../../../../src/node/chassis/underlay-state.ts';
import type { SwitchBridge } from '../../../../src/node/uplink/state.ts';
import {
  exampleZone,
  factsOf,
  networkName,
  type Zone,
  type ZoneNetwork,
} from '../../../support/zone/zones.ts';

const OWN = exampleZone.node.encapIps[0] ?? '';
const PEER = exampleZone.remoteNodes[0]?.encapIps[0] ?? '';

const tunnel: TunnelPort = {
  remote: PEER,
  failure: undefined,
  egress: 'br-ex',
  hasCarrier: true,
};
const bridge: SwitchBridge = {
  ports: new Set(['br-ex', 'eth0']),
  uplink: 'eth0',
  isOurs: true,
  isMappedByUs: true,
  hasUplink: true,
  hostVlan: undefined,
  hostVlanByUs: undefined,
};
const device = { name: 'br-ex', mtu: 1500, vlan: undefined, addresses: [OWN] };
const STATE: UnderlayState = {
  devices: [device],
  bridges: {
    bridges: new Map([['br-ex', bridge]]),
    mappings: 'physnet:br-ex,tenants:br-ex',
    datapathType: undefined,
  },
  tunnels: new Map([[PEER, tunnel]]),
  strangers: [
    { at: 'br-ex', packets: 0 },
    { at: 'nftables', packets: 0 },
  ],
  missing: [],
};

const reportOf = (state: Partial<UnderlayState> = {}, zone: Zone = exampleZone): UnderlayReport =>
  underlayReport(factsOf(zone), { ...STATE, ...state });

/** A zone with a network of pods on a physical network. */
const withPhysical = (more: Partial<ZoneNetwork>): Zone => {
  const [, blue] = exampleZone.networks;
  if (blue === undefined) throw new Error('the zone has no network');
  const physical: ZoneNetwork = {
    ...blue,
    name: networkName('cluster_udn_wire'),
    id: 9,
    topology: 'localnet',
    role: 'secondary',
    physicalNetworkName: 'tenants',
    object: 'ClusterUserDefinedNetwork wire',
    nads: ['blue/wire'],
    ...more,
  };
  return { ...exampleZone, networks: [...exampleZone.networks, physical] };
};

describe('the network below a node', () => {
  test('is as clean as can be told', () => {
    expect(reportOf()).toEqual({
      node: exampleZone.node.name,
      tunnels: { port: 6081, sources: [], isHeld: true, strangers: 0, seen: STATE.strangers },
      ends: [{ address: OWN, device: 'br-ex', mtu: 1500, neededMtu: 1458, sharedWith: [] }],
      peers: [{ node: exampleZone.remoteNodes[0]?.name, addresses: [PEER] }],
      problems: [],
      notes: [],
    });
  });

  test('is not where strangers send to the port of tunnels', () => {
    const strangers = [
      { at: 'br-ex', packets: 3 },
      { at: 'nftables', packets: 2 },
    ];
    const { tunnels, problems } = reportOf({ strangers });
    expect(tunnels.strangers).toBe(5);
    expect(problems).toEqual([
      "5 packets to the port of tunnels (UDP 6081) came from addresses that are no node's, and were dropped: somebody else sends there; filter that port on the way to the nodes",
    ]);
  });

  test('is not held where a rule is missing, or settings say so', () => {
    expect(reportOf({ missing: ['a rule'] })).toMatchObject({
      tunnels: { isHeld: false },
      problems: ['a rule'],
    });
    const open = {
      ...exampleZone,
      settings: { ...exampleZone.settings, tunnelSources: 'any' },
    } as const;
    expect(reportOf({}, open)).toMatchObject({
      tunnels: { isHeld: false, sources: 'any' },
      problems: [],
      notes: [
        '--tunnel-sources is any: who sends with the address of a node is not looked at here',
      ],
    });
  });

  test('has room for what tunnels carry', () => {
    const small = reportOf({ devices: [{ ...device, mtu: 1450 }] });
    expect(small.problems).toEqual([
      `br-ex, where tunnels to ${OWN} end, has an MTU of 1450; packets of pods need 1458 there: raise it, or set --mtu and the networks' mtu to at most 1392`,
    ]);
    expect(reportOf({ devices: [] }).problems).toEqual([
      `this host has no address ${OWN}, where tunnels to it are to end`,
    ]);
  });

  test('has a tunnel to every node', () => {
    const { peers, problems } = reportOf({ tunnels: new Map() });
    expect(peers[0]?.problem).toMatch(/^no tunnel to it/);
    expect(problems).toHaveLength(1);
  });

  test('is shared with pods that are on its wire, in its VLAN', () => {
    const at = (zone: Zone, state: Partial<UnderlayState> = {}) => {
      const { ends, problems, notes } = reportOf(state, zone);
      return { shared: ends[0]?.sharedWith, problems: problems.length, notes: notes.length };
    };
    const name = 'cluster_udn_wire';
    expect(at(withPhysical({ subnets: [] }))).toEqual({ shared: [name], problems: 1, notes: 0 });
    expect(at(withPhysical({}))).toEqual({ shared: [name], problems: 0, notes: 1 });
    expect(at(withPhysical({ vlan: 7, subnets: [] }))).toMatchObject({ shared: [] });
    // Tunnels may be in a VLAN, too, on the bridge or on its card.
    for (const of of ['br-ex', 'eth0']) {
      const devices = [{ ...device, name: 'tunnels', vlan: { of, id: 7 } }];
      expect(at(withPhysical({ vlan: 7 }), { devices })).toMatchObject({ shared: [name] });
      expect(at(withPhysical({}), { devices })).toMatchObject({ shared: [] });
    }
    const devices = [{ ...device, name: 'eth1' }];
    expect(at(withPhysical({}), { devices })).toMatchObject({ shared: [] });
  });
});

test('rules that are not in force are those of the port of tunnels', () => {
  const change = (rule: string, action = 'add') => ({ rule, action });
  const plans = (nft: object, flows: object = {}): HostPlans =>
    ({
      nft: { changes: [], problems: [], ...nft },
      flows: { changes: [], problems: [], ...flows },
    }) as unknown as HostPlans;
  expect(missingHolds(plans({}))).toEqual([]);
  expect(missingHolds(plans({ changes: [change('services')] }))).toEqual([]);
  expect(missingHolds(plans({ changes: [change('from-nodes', 'remove')] }))).toEqual([]);
  expect(
    missingHolds(plans({ changes: [change('from-nodes')] }, { changes: [change('from-nodes')] })),
  ).toEqual([
    'rules for the port of tunnels that are not in force (nftables): 1; heddle plan shows them',
    'rules for the port of tunnels that are not in force (flows of the external bridge): 1; heddle plan shows them',
  ]);
  const message = 'nft is not there';
  expect(
    missingHolds(plans({ problems: [{ kind: 'refused', object: undefined, message }] })),
  ).toEqual([message]);
});

test('devices are shown with their VLANs, but for those whose device below is in another namespace', () => {
  const nameOf = (index: number | undefined): string | undefined =>
    index === 3 ? 'br-ex' : undefined;
  const vlanDevice = {
    name: 'br-ex.7',
    mtu: 1400,
    peer: 3,
    peerNamespace: undefined,
    data: { kind: 'vlan' as const, id: 7 },
  };
  const shown = { name: 'br-ex.7', mtu: 1400, addresses: ['10.0.0.3'] };
  const addresses = [{ address: '10.0.0.3/24' }];
  expect(underlayDevice(vlanDevice, addresses, nameOf)).toEqual({
    ...shown,
    vlan: { of: 'br-ex', id: 7 },
  });
  expect(underlayDevice({ ...vlanDevice, peerNamespace: 0 }, addresses, nameOf)).toEqual({
    ...shown,
    vlan: undefined,
  });
  // A veth has a device that it belongs to, too.
  expect(underlayDevice({ ...vlanDevice, data: undefined }, addresses, nameOf)).toEqual({
    ...shown,
    vlan: undefined,
  });
});
