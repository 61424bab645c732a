import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Attachment } from '../../../src/model/model.ts';
import type { Firewall } from '../../../src/model/read/egress-firewalls.ts';
import { OvnZone } from '../../support/zone/ovn-zone.ts';
import { secondaryLayer3, secondaryPod } from '../../support/zone/zone-variants.ts';
import {
  bluePod,
  defaultNetwork,
  exampleZone,
  blue,
  yellow,
  type Zone,
  type ZoneNetwork,
} from '../../support/zone/zones.ts';

const SWITCH = 'blue_sec_ovn-worker';
const OUT = 'output("breth0_blue_sec_ovn-worker");';

const routed: ZoneNetwork = { ...secondaryLayer3, secondaryGateway: '{}' };
const neighbour: Attachment = {
  ...secondaryPod,
  pod: 'pod2',
  macAddress: '0a:58:0a:50:00:06',
  addresses: ['10.80.0.6/24'],
};
const firewall: Firewall = {
  namespace: 'blue',
  name: 'default',
  rules: [{ isAllowed: false, destination: { kind: 'cidr', cidr: '203.0.113.0/24' }, ports: [] }],
};

const zoneOf = (network: ZoneNetwork, more: Partial<Zone> = {}): Zone => ({
  ...exampleZone,
  networks: [defaultNetwork, blue, network],
  attachments: [bluePod, secondaryPod, neighbour],
  ...more,
});
const inLocalMode = (zone: Zone): Zone => ({
  ...zone,
  node: {
    ...zone.node,
    ...(zone.node.gateway === undefined
      ? {}
      : { gateway: { ...zone.node.gateway, mode: 'local' as const } }),
  },
});

const packet = (to: string): string =>
  `inport=="blue.sec_blue_pod1" && eth.src==0a:58:0a:50:00:05 && eth.dst==0a:58:0a:50:00:01 && ip4.src==10.80.0.5 && ip.ttl==64 && ip4.dst==${to} && icmp4`;

describe('ovn-northd and a secondary Layer3 network with a gateway', () => {
  let ovn: OvnZone;
  const begins = Array.from({ length: 6 }, () => '--ct=new');
  const last = async (to: string): Promise<string> =>
    (await ovn.trace(SWITCH, packet(to), ...begins)).at(-1) ?? 'nothing';
  const names = async (): Promise<string> => {
    const found: string[] = [];
    for (const table of ['Logical_Router', 'Logical_Switch', 'Logical_Switch_Port', 'Port_Group'])
      found.push(await ovn.nbctl('--bare', '--columns=name', 'list', table));
    return found.join('\n');
  };

  beforeAll(async () => {
    ovn = await OvnZone.start();
  });
  afterAll(async () => {
    await ovn[Symbol.asyncDispose]();
  });

  test('without one its pods reach each other, and nobody outside', async () => {
    expect(await ovn.apply(zoneOf(secondaryLayer3))).toEqual([]);
    expect(await last('10.80.0.6')).not.toBe(OUT);
    expect(await last('203.0.113.7')).not.toMatch(/^output/);
  });

  test('pods leave by its own patch port in shared gateway mode, with its masquerade address', async () => {
    expect(await ovn.apply(zoneOf(routed))).toEqual([]);
    expect(ovn.planOf(zoneOf(routed), 'Northbound')).toMatchObject({ isEmpty: true, problems: [] });
    const text = await ovn.traceText(SWITCH, packet('203.0.113.7'), ...begins);
    expect(text).toContain('ct_snat(ip4.src=169.254.0.25)');
    expect(await last('203.0.113.7')).toBe(OUT);
  });

  test('what it sends to another network of the node does not get there', async () => {
    for (const to of ['103.103.0.3', '10.244.0.3']) expect(await last(to)).toBe(OUT);
  });

  test("an EgressFirewall of its pods' namespace is in force on it", async () => {
    expect(await ovn.apply(zoneOf(routed, { firewalls: [firewall] }))).toEqual([]);
    expect(await last('203.0.113.7')).not.toMatch(/^output/);
    expect(await last('198.51.100.7')).toBe(OUT);
  });

  test("pods leave by the host's port in local gateway mode", async () => {
    const zone = inLocalMode(zoneOf(routed));
    expect(await ovn.apply(zone)).toEqual([]);
    expect(ovn.planOf(zone, 'Northbound')).toMatchObject({ isEmpty: true, problems: [] });
    expect(await last('203.0.113.7')).toBe('output("k8s-blue_sec_ovn-worker");');
  });

  test('nothing of it is left without the annotation', async () => {
    expect(await ovn.apply(zoneOf(secondaryLayer3))).toEqual([]);
    expect(await names()).not.toMatch(/GR_blue_sec|ext_blue_sec|blue_sec_join|k8s-blue_sec/);
    expect(await last('203.0.113.7')).not.toMatch(/^output/);
  });
});

describe('ovn-northd and a secondary Layer2 network with a gateway', () => {
  const FLAT = 'cluster_udn_yellow.net_ovn_layer2_switch';
  const flat: ZoneNetwork = {
    ...yellow,
    role: 'secondary',
    hasRouter: true,
    secondaryGateway: '{}',
    nads: ['blue/flat'],
  };
  const onFlat: Attachment = {
    ...secondaryPod,
    network: flat.name,
    nadKey: 'blue/flat',
    macAddress: '0a:58:69:69:00:05',
    addresses: ['105.105.0.5/16'],
    tunnelId: 10,
  };
  const far: Attachment = {
    ...onFlat,
    pod: 'far',
    node: 'ovn-worker2',
    macAddress: '0a:58:69:69:00:06',
    addresses: ['105.105.0.6/16'],
    tunnelId: 11,
  };
  const withFlat = (network: ZoneNetwork): Zone => ({
    ...zoneOf(network),
    attachments: [bluePod, onFlat],
    remoteAttachments: [far],
  });
  const out =
    'inport=="blue.flat_blue_pod1" && eth.src==0a:58:69:69:00:05 && eth.dst==0a:58:69:69:00:01 && ip4.src==105.105.0.5 && ip.ttl==64 && ip4.dst==203.0.113.7 && icmp4';
  const begins = Array.from({ length: 6 }, () => '--ct=new');

  test.each([
    ['shared', 'output("breth0_cluster_udn_yellow.net_ovn-worker");'],
    ['local', 'output("k8s-cluster_udn_yellow.net_ovn-worker");'],
  ])('pods leave in %s gateway mode, and stay on the network without it', async (mode, way) => {
    await using ovn = await OvnZone.start();
    const zone = mode === 'local' ? inLocalMode(withFlat(flat)) : withFlat(flat);
    expect(await ovn.apply(zone)).toEqual([]);
    expect(ovn.planOf(zone, 'Northbound')).toMatchObject({ isEmpty: true, problems: [] });
    expect((await ovn.trace(FLAT, out, ...begins)).at(-1)).toBe(way);
    const { secondaryGateway: _gateway, ...without } = flat;
    expect(await ovn.apply(withFlat(without))).toEqual([]);
    expect(await ovn.nbctl('--bare', '--columns=name', 'list', 'Logical_Router')).not.toContain(
      'yellow',
    );
    expect((await ovn.trace(FLAT, out, ...begins)).at(-1) ?? 'nothing').not.toContain('breth0');
  });
});
