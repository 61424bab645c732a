import { describe, expect, test } from 'vitest';
import type { DesiredRow } from '../../../src/desired/rows.ts';
import { hostFeatures } from '../../../src/node/features.ts';
import {
  routeArguments,
  ruleArguments,
  type RouteColumns,
  type RuleColumns,
} from '../../../src/node/linux/linux-rows.ts';
import { builtUnits } from '../../support/zone/built-rows.ts';
import { HOST_SETTINGS, hostUnits } from '../../support/host/host-units.ts';
import { servicesOfAllKinds, withServices } from '../../support/zone/services.ts';
import { rowTexts } from '../../support/zone/row-text.ts';
import {
  defaultNetwork,
  dualZone,
  exampleZone,
  factsOf,
  inLocalMode,
  networkName,
  type Zone,
  type ZoneNetwork,
} from '../../support/zone/zones.ts';

/** Network B of reference/node.md §0, and the masquerade addresses of §1.1. */
const example: ZoneNetwork = {
  ...defaultNetwork,
  name: networkName('blue_l3net'),
  id: 2,
  subnets: [
    { cidr: '10.20.0.0/16', hostLength: 24 },
    { cidr: 'fd20::/48', hostLength: 64 },
  ],
  joinSubnets: { v4: '100.65.0.0/16', v6: 'fd99::/64' },
  masquerade: {
    v4: { gatewayRouter: '169.254.0.13', managementPort: '169.254.0.14' },
    v6: { gatewayRouter: 'fd69::d', managementPort: 'fd69::e' },
  },
  nads: ['blue/l3net'],
  nodeSubnets: new Map([['ovn-worker', ['10.20.1.0/24', 'fd20:0:0:2::/64']]]),
  object: 'UserDefinedNetwork blue/l3net',
};

const zone: Zone = { ...dualZone, networks: [...dualZone.networks.slice(0, 1), example] };

const rowsOf = (of: Zone, unit: string): readonly DesiredRow[] =>
  hostUnits(of).find((one) => one.unit === unit)?.rows ?? [];

/** One line per object, as ip(8) says it. */
function lines(rows: readonly DesiredRow[], table: string): string[] {
  return rows
    .filter((row) => row.table === table)
    .map(({ columns, key }) => {
      if (table === 'route') {
        const route = columns as unknown as RouteColumns;
        return `${routeArguments(route).join(' ')} table ${route.table}`;
      }
      if (table === 'rule') {
        const rule = columns as unknown as RuleColumns;
        return `${rule.family} ${ruleArguments(rule).join(' ')}`;
      }
      return `${key}: ${Object.entries(columns)
        .map(([name, value]) => `${name}=${JSON.stringify(value).replaceAll('"', '')}`)
        .join(' ')}`;
    });
}

describe('network B on its host (reference/node.md §0)', () => {
  const rows = rowsOf(zone, 'host/network blue_l3net');

  test('has a management port on the integration bridge (reference/node.md §2.2, 2)', () => {
    expect(rowTexts(rows.filter(({ database }) => database === 'Open_vSwitch'))).toEqual([
      'Interface ovn-k8s-mp2 external_ids={iface-id=k8s-blue_l3net_ovn-worker k8s.ovn.org/network=blue_l3net} mac=0a:58:0a:14:01:02 mtu_request=1400 type=internal < Port/ovn-k8s-mp2.interfaces',
      'Port ovn-k8s-mp2 < Bridge/br-int.ports',
    ]);
  });

  test('has a VRF with a table of its id, and the port in it (reference/node.md §2.2, 3)', () => {
    expect(lines(rows, 'link')).toEqual([
      'ovn-k8s-mp2: name=ovn-k8s-mp2 mac=0a:58:0a:14:01:02 master=mp2-udn-vrf',
      'mp2-udn-vrf: name=mp2-udn-vrf kind=vrf table=10002',
    ]);
    expect(lines(rows, 'address')).toEqual([
      'ovn-k8s-mp2 10.20.1.2/24: dev=ovn-k8s-mp2 address=10.20.1.2/24',
      'ovn-k8s-mp2 fd20:0:0:2::2/64: dev=ovn-k8s-mp2 address=fd20:0:0:2::2/64',
    ]);
  });

  test('has the routes of the table (reference/node.md §2.3)', () => {
    expect(lines(rows, 'route')).toEqual([
      'unreachable default metric 4278198272 table 10002',
      '10.96.0.0/16 via 169.254.0.4 dev breth0 src 169.254.0.2 mtu 1400 table 10002',
      'default via 172.18.0.1 dev breth0 mtu 1400 table 10002',
      '169.254.0.14/32 dev ovn-k8s-mp2 mtu 1400 table 10002',
      '169.254.0.3/32 via 10.20.1.1 dev ovn-k8s-mp2 table 10002',
      '10.20.0.0/16 via 10.20.1.1 dev ovn-k8s-mp2 table 10002',
      'unreachable default metric 4278198272 table 10002',
      'fd00:10:96::/112 via fd69::4 dev breth0 src fd69::2 mtu 1400 table 10002',
      'default via fc00:f853::1 dev breth0 mtu 1400 table 10002',
      'fd69::e/128 dev ovn-k8s-mp2 mtu 1400 table 10002',
      'fd69::3/128 via fd20:0:0:2::1 dev ovn-k8s-mp2 table 10002',
      'fd20::/48 via fd20:0:0:2::1 dev ovn-k8s-mp2 table 10002',
    ]);
  });

  test('has rules by mark and by masquerade address (reference/node.md §2.4)', () => {
    expect(lines(rows, 'rule')).toEqual([
      'v4 priority 2000 fwmark 0x1002 lookup 10002',
      'v4 priority 2000 to 169.254.0.14/32 lookup 10002',
      'v6 priority 2000 fwmark 0x1002 lookup 10002',
      'v6 priority 2000 to fd69::e/128 lookup 10002',
    ]);
  });

  test('has the settings of its port and neighbours on the bridge (reference/node.md §2.5, §2.2, 8)', () => {
    expect(lines(rows, 'sysctl')).toEqual([
      'net/ipv4/conf/ovn-k8s-mp2/forwarding: dev=ovn-k8s-mp2 value=1',
      'net/ipv6/conf/ovn-k8s-mp2/force_forwarding: dev=ovn-k8s-mp2 value=1 otherwise=net/ipv6/conf/all/forwarding',
      'net/ipv4/conf/ovn-k8s-mp2/rp_filter: dev=ovn-k8s-mp2 value=2',
    ]);
    expect(lines(rows, 'neighbour')).toEqual([
      'breth0 169.254.0.13: dev=breth0 address=169.254.0.13 mac=0a:58:a9:fe:00:0d',
      'breth0 fd69::d: dev=breth0 address=fd69::d mac=0a:58:8f:28:41:67',
    ]);
  });
});

test('the default network has a port on the host, and routes beside those of the host (reference/node.md §2.1)', () => {
  const rows = rowsOf(exampleZone, 'host/network default');
  expect(lines(rows, 'link')).toEqual(['ovn-k8s-mp0: name=ovn-k8s-mp0 mac=0a:58:0a:f4:00:02']);
  expect(lines(rows, 'route')).toEqual([
    '10.96.0.0/16 via 10.244.0.1 dev ovn-k8s-mp0 table 7',
    '169.254.0.3/32 via 10.244.0.1 dev ovn-k8s-mp0 table 254',
    '10.244.0.0/16 via 10.244.0.1 dev ovn-k8s-mp0 table 254',
  ]);
  expect(lines(rows, 'rule')).toEqual(['v4 priority 30 fwmark 0x1745ec lookup 7']);
  expect(lines(rows, 'neighbour')).toEqual([
    'ovn-k8s-mp0 10.244.0.1: dev=ovn-k8s-mp0 address=10.244.0.1 mac=0a:58:0a:f4:00:01',
  ]);
  expect(lines(rows, 'sysctl')).toEqual([
    'net/ipv4/conf/ovn-k8s-mp0/forwarding: dev=ovn-k8s-mp0 value=1',
    'net/ipv4/conf/breth0/forwarding: dev=breth0 value=1',
    'net/ipv4/conf/ovn-k8s-mp0/rp_filter: dev=ovn-k8s-mp0 value=2',
  ]);
});

test('the host has masquerade addresses on the external bridge (reference/node.md §2.1)', () => {
  const rows = rowsOf(zone, 'host/masquerade');
  expect(lines(rows, 'address')).toEqual([
    'breth0 169.254.0.2/17: dev=breth0 address=169.254.0.2/17',
    'breth0 fd69::2/112: dev=breth0 address=fd69::2/112 deprecated=true',
  ]);
  expect(lines(rows, 'route')).toEqual([
    '169.254.0.1/32 dev breth0 src 172.18.0.3 table 254',
    '10.96.0.0/16 via 169.254.0.4 dev breth0 src 169.254.0.2 mtu 1400 table 254',
    'fd69::1/128 dev breth0 src fc00:f853::3 table 254',
    'fd00:10:96::/112 via fd69::4 dev breth0 src fd69::2 mtu 1400 table 254',
  ]);
});

test('without a gateway nothing leads out of a network', () => {
  const { gateway: _, ...node } = zone.node;
  const rows = rowsOf({ ...zone, node }, 'host/network blue_l3net');
  expect(lines(rows, 'route').filter((line) => line.includes('breth0'))).toEqual([]);
  expect(lines(rows, 'route').filter((line) => line.startsWith('unreachable'))).toHaveLength(2);
  expect(lines(rows, 'neighbour')).toEqual([]);
});

test('waits for the subnet of the node; secondary networks have nothing on the host', () => {
  const without: Zone = {
    ...zone,
    networks: [zone.networks[0] as ZoneNetwork, { ...example, nodeSubnets: new Map() }],
  };
  const unit = hostUnits(without).find((one) => one.unit === 'host/network blue_l3net');
  expect([unit?.rows, unit?.waitsFor]).toEqual([
    [],
    ['a subnet of network blue_l3net on node ovn-worker'],
  ]);
  const secondary: Zone = {
    ...zone,
    networks: [zone.networks[0] as ZoneNetwork, { ...example, role: 'secondary' }],
  };
  expect(rowsOf(secondary, 'host/network blue_l3net')).toEqual([]);
});

test('without VRFs a primary network has flows and marks on the host, and nothing that would mix with others', () => {
  const units = builtUnits(factsOf(zone), hostFeatures({ ...HOST_SETTINGS, hasVrfs: false }));
  const rows = (unit: string): number =>
    units.find((one) => one.unit === unit)?.rows.length ?? expect.unreachable(unit);
  const own = units.find(({ unit }) => unit === 'host/network blue_l3net')?.rows ?? [];
  expect(new Set(own.map(({ table }) => table))).toEqual(new Set(['neighbour']));
  expect(rows('host/network default')).toBeGreaterThan(0);
  expect(rows('host/bridge-flows-of-network blue_l3net')).toBeGreaterThan(0);
  const rules = (of: typeof units): string =>
    JSON.stringify(of.find(({ unit }) => unit.startsWith('host/kernel-rules'))?.rows);
  expect(rules(units)).not.toContain('l3mdev');
  expect(rules(builtUnits(factsOf(zone), hostFeatures(HOST_SETTINGS)))).toContain('l3mdev');
});

test('each row names a rule of its feature, and no two rows of all units are one object', () => {
  const features = new Map(hostFeatures(HOST_SETTINGS).map((feature) => [feature.name, feature]));
  const seen = new Set<string>();
  for (const { unit, rows } of hostUnits(zone))
    for (const row of rows) {
      expect(features.get(unit.split(' ')[0] ?? '')?.rules).toHaveProperty([row.rule]);
      const id = `${row.database} ${row.table} ${row.key}`;
      expect(seen).not.toContain(id);
      seen.add(id);
    }
});

describe('on the host a secondary network with a gateway', () => {
  const network = (of: Partial<ZoneNetwork>): Zone => ({
    ...dualZone,
    networks: [...dualZone.networks.slice(0, 1), { ...example, ...of }],
  });
  const texts = (of: Zone): readonly string[] =>
    hostUnits(of)
      .flatMap(({ rows, failure }) => {
        expect(failure).toBeUndefined();
        return rowTexts(rows);
      })
      .toSorted();

  test.each(['shared', 'local'] as const)(
    'has what a primary one has, in %s gateway mode',
    (mode) => {
      const inMode = (of: Partial<ZoneNetwork>, more: Partial<Zone> = {}): Zone => {
        const made = { ...network(of), ...more };
        return mode === 'local' ? inLocalMode(made) : made;
      };
      const primary = texts(inMode({}));
      expect(primary.join('\n')).toContain('169.254.0.14');
      expect(texts(inMode({ role: 'secondary', secondaryGateway: '{}' }))).toEqual(primary);
      const { services, endpointSlices } = withServices(dualZone, ...servicesOfAllKinds);
      const serving = {
        services: services ?? [],
        endpointSlices: (endpointSlices ?? []).map((one) =>
          one.network === 'blue_blue' ? { ...one, network: example.name } : one,
        ),
      };
      const askedNetworks = { 'blue/web': 'l3net', 'blue/outside': 'blue/l3net' };
      const served = texts(inMode({ namespaces: ['blue'] }, serving));
      expect(served.join('\n')).toContain('30080');
      expect(
        texts(inMode({ role: 'secondary', secondaryGateway: '{}' }, { ...serving, askedNetworks })),
      ).toEqual(served);
      expect(texts(inMode({ role: 'secondary' }))).toEqual(
        texts(inMode({ role: 'secondary', secondaryGateway: 'unreadable' })),
      );
      expect(texts(inMode({ role: 'secondary' })).join('\n')).not.toContain('169.254.0.14');
    },
  );
});
