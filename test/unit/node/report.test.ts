import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { HostPlans } from '../../../src/node/node-agent.ts';
import { hostReport, type HostReport } from '../../../src/node/report.ts';
import { createLogger } from '../../../src/process/logger.ts';
import { ZoneController } from '../../../src/zone/zone-controller.ts';
import { hostFeatures } from '../../../src/node/features.ts';
import { parseSchema, type JsonValue } from 'ovsdb-client-ts';
import type { SwitchBridge } from '../../../src/node/uplink/state.ts';
import { HOST_SETTINGS } from '../../support/host/host-units.ts';
import { MemoryDatabase } from '../../support/ovsdb/memory-database.ts';
import { SCHEMAS } from '../../support/ovsdb/ovsdb-server.ts';
import { exampleZone, factsOf, type Zone } from '../../support/zone/zones.ts';
import { inVlan, VLAN } from '../../support/host/bridge-zones.ts';

const NORTHBOUND = parseSchema(
  JSON.parse(readFileSync(join(SCHEMAS, 'ovn-nb.ovsschema'), 'utf8')) as JsonValue,
);

const unit = (...id: string[]): { readonly unit: string } => ({ unit: JSON.stringify(id) });

/** What is reported of the example zone when a pass would change this. */
function reportOf(
  linux: Partial<HostPlans['linux']> = {},
  bridges: ReadonlyMap<string, SwitchBridge> = new Map(),
  zone: Zone = exampleZone,
): HostReport {
  const database = new MemoryDatabase(NORTHBOUND);
  const facts = factsOf(zone);
  const controller = new ZoneController({
    facts,
    northbound: { replica: database, transactor: database, unavailable: () => undefined },
    host: { features: hostFeatures(HOST_SETTINGS), targets: [], problems: () => [] },
    log: createLogger('silent'),
    now: () => 0,
  });
  controller.update();
  const nothing = { changes: [], problems: [] };
  const plans = {
    openVswitch: nothing,
    linux: { ...nothing, ...linux },
    nft: nothing,
    flows: nothing,
  } as unknown as HostPlans;
  return hostReport(facts, HOST_SETTINGS, controller.hostUnits(), plans, bridges);
}

const blueOf = ({ networks }: HostReport) =>
  networks.find(({ network }) => network === 'blue_blue');

test('a network has its VRF, table, marks, port, addresses and rules', () => {
  expect(blueOf(reportOf())).toMatchObject({
    object: 'UserDefinedNetwork blue/blue',
    id: 1,
    vrf: 'mp1-udn-vrf',
    table: 10_001,
    mark: '0x1001',
    conntrackMark: '0x4',
    port: 'ovn-k8s-mp1',
    rules: expect.arrayContaining(['priority 2000 fwmark 0x1001 lookup 10001']) as string[],
    differs: 0,
    problems: [],
  });
});

test('what it has is counted by what keeps it, and what all networks share is counted once', () => {
  const { networks, common } = reportOf();
  for (const { network, counts } of networks) {
    expect([network, counts.routes > 0, counts.flows > 0]).toEqual([network, true, true]);
  }
  expect(common.counts.nftables).toBeGreaterThan(0);
  expect(common.counts.flows).toBeGreaterThan(0);
});

test('the default network is in the host’s own routing table', () => {
  const [first] = reportOf().networks;
  expect(first).toMatchObject({ network: 'default', id: 0, table: 254, port: 'ovn-k8s-mp0' });
  expect(first?.vrf).toBeUndefined();
});

test('what differs and what is wrong belongs to the network whose unit it is, the rest to all', () => {
  const report = reportOf({
    changes: [unit('host/network', 'blue_blue'), unit('host/kernel-rules')],
    problems: [{ ...unit('host/network', 'blue_blue'), message: 'the kernel refused it' }],
  } as unknown as Partial<HostPlans['linux']>);
  expect(blueOf(report)).toMatchObject({ differs: 1, problems: ['the kernel refused it'] });
  expect(report.common).toMatchObject({ differs: 1, problems: [] });
  for (const { network, differs } of report.networks)
    expect(differs).toBe(network === 'blue_blue' ? 1 : 0);
});

test('the VLAN of the gateway is told', () => {
  const vlans = [exampleZone, inVlan(exampleZone)].map(
    (zone) => reportOf({}, undefined, zone).gateway?.vlan,
  );
  expect(vlans).toEqual([0, VLAN]);
});

describe('the uplink of the external bridge', () => {
  const bridge = (change: Partial<SwitchBridge>): ReadonlyMap<string, SwitchBridge> =>
    new Map([
      [
        'breth0',
        {
          ports: new Set(['breth0', 'eth0']),
          uplink: 'eth0',
          isOurs: true,
          isMappedByUs: true,
          hasUplink: true,
          hostVlan: undefined,
          hostVlanByUs: undefined,
          ...change,
        },
      ],
    ]);

  test('is named, with who made the bridge of it', () => {
    const { gateway, common } = reportOf({}, bridge({}));
    expect(gateway?.uplink).toEqual({ name: 'eth0', isConnected: true, isMoved: true });
    expect(common.problems).toEqual([]);
    expect(reportOf({}, bridge({ isOurs: false })).gateway?.uplink?.isMoved).toBe(false);
  });

  test('is a problem of the host when Open vSwitch does not have it', () => {
    const { gateway, common } = reportOf({}, bridge({ hasUplink: false }));
    expect(gateway?.uplink?.isConnected).toBe(false);
    expect(common.problems).toEqual([
      'uplink eth0 is no port of breth0 that works: nothing leaves the node; see ovs-vsctl show and ip link show eth0',
    ]);
  });

  test('is absent where the bridge names none', () => {
    const { gateway, common } = reportOf({}, bridge({ uplink: undefined, hasUplink: false }));
    expect([gateway?.uplink, common.problems]).toEqual([undefined, []]);
  });
});
