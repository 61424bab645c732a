/** Which pods of the default network, and which services of primary networks, the host lets meet (reference/node.md §3.10). */
import { describe, expect, test } from 'vitest';
import type { ElementColumns, NftRuleColumns } from '../../../../src/node/nftables/nft-rows.ts';
import { hostUnits } from '../../../support/host/host-units.ts';
import { withDefaultAccess } from '../../../support/zone/default-access.ts';
import { red } from '../../../support/zone/named-networks.ts';
import { service, slice, withServices } from '../../../support/zone/services.ts';
import { blue, bluePod, exampleZone, inLocalMode, type Zone } from '../../../support/zone/zones.ts';

/** Two tenants with one subnet, each with a service. */
const tenants: Zone = withServices(
  {
    ...exampleZone,
    networks: [...exampleZone.networks, red],
    namespaces: [...exampleZone.namespaces, 'red'],
  },
  service('blue/web', {
    clusterIPs: ['10.96.1.1'],
    ports: [{ port: 80 }, { port: 53, protocol: 'UDP' }],
  }),
  slice('blue/web', ['103.103.0.3'], { network: 'blue_blue' }),
  service('red/web', { clusterIPs: ['10.96.2.1'], ports: [{ port: 80 }] }),
  slice('red/web', ['103.103.0.3'], { network: 'red_red' }),
  service('default/plain', { clusterIPs: ['10.96.3.1'], ports: [{ port: 80 }] }),
);

const rowsOf = (zone: Zone, table: string) =>
  hostUnits(zone)
    .flatMap(({ rows }) => rows)
    .filter((row) => row.database === 'nftables' && row.table === table)
    .map(({ columns, object }) => ({ columns, object }));
const elements = (zone: Zone, set: string): string[] =>
  rowsOf(zone, 'element')
    .map(({ columns, object }) => ({ ...(columns as unknown as ElementColumns), object }))
    .filter((one) => one.set === set)
    .map(({ element, object }) => `${element} (${object})`);
const rules = (zone: Zone): string[] =>
  rowsOf(zone, 'rule').map(({ columns }) => (columns as unknown as NftRuleColumns).text);

describe.each([
  ['shared', tenants],
  ['local', inLocalMode(tenants)],
])('in %s gateway mode', (_mode, zone) => {
  test('services are those of networks that let the default network in, port by port', () => {
    const services = (...open: string[]): string[] =>
      elements(withDefaultAccess(zone, open), 'default-access-services-v4');
    expect(services('blue_blue', 'red_red')).toEqual([
      '10.96.1.1 . tcp . 80 (Service blue/web)',
      '10.96.1.1 . udp . 53 (Service blue/web)',
      '10.96.2.1 . tcp . 80 (Service red/web)',
    ]);
    expect(services('red_red')).toEqual(['10.96.2.1 . tcp . 80 (Service red/web)']);
    expect(services()).toEqual([]);
  });

  test('pods are those of the namespaces that are named', () => {
    expect(elements(withDefaultAccess(zone), 'default-access-pods-v4')).toEqual([
      '10.244.0.9 (Pod monitoring/prometheus)',
    ]);
  });

  test('what had been let in ends with the setting: nothing is left but the rule that drops it', () => {
    const open = zone.networks.map((one) => (one.id === 0 ? one : { ...one, letsDefaultIn: true }));
    const found = rules({ ...zone, networks: open });
    expect(found.join('\n')).not.toContain('default-access');
    for (const way of ['iifname', 'oifname'])
      expect(found).toContain(
        `${way} "ovn-k8s-mp0" ct reply ip daddr 169.254.0.11-169.254.39.6 drop`,
      );
  });
});

test('a pod that has a primary network of its own is none of them, whatever the setting names', () => {
  const zone = withDefaultAccess(tenants);
  const named = {
    ...zone,
    settings: { ...zone.settings, defaultAccess: ['blue'] },
    attachments: [
      bluePod,
      {
        ...bluePod,
        network: exampleZone.networks[0]?.name ?? blue.name,
        nadKey: 'default',
        role: 'infrastructure-locked' as const,
        macAddress: '0a:58:0a:f4:00:03',
        addresses: ['10.244.0.3/24'],
      },
    ],
  };
  expect(elements(named, 'default-access-pods-v4')).toEqual([]);
});
