import { describe, expect, test } from 'vitest';
import { bridgedServices } from '../../../../src/topology/connect/bridged-services.ts';
import {
  connectedNetworks,
  connectedWays,
} from '../../../../src/topology/connect/connected-network.ts';
import { connectRouters } from '../../../../src/topology/connect/router.ts';
import { loadBalancers } from '../../../../src/topology/services/load-balancers.ts';
import { overlappingZone, sharing } from '../../../support/zone/overlapping.ts';
import { rowsOf } from '../unit-texts.ts';
import { inLocalMode, type Zone } from '../../../support/zone/zones.ts';
import { featureTexts } from '../part-texts.ts';

/** Columns of rows of a table, and where they are. */
const rows = (zone: Zone, table: string, columns: readonly string[]): string[] =>
  rowsOf(zone, new RegExp(`^${bridgedServices.name} `))
    .filter((row) => row.table === table)
    .map((row) =>
      [
        row.containers[0]?.key,
        ...columns.map((column) => JSON.stringify(row.columns[column] ?? null)),
      ].join(' '),
    )
    .sort();

describe('services of networks that overlap (reference/topology.md §19.3)', () => {
  test.each([
    ['shared', overlappingZone],
    ['local', inLocalMode(overlappingZone)],
  ])(
    '%s gateway mode: cluster IPs of the others go to the own gateway router, and from there to the bridge',
    (_mode, zone) => {
      expect(
        rows(zone, 'Logical_Router_Policy', ['priority', 'match', 'nexthops', 'options']),
      ).toEqual([
        'blue_blue_ovn_cluster_router 9000 "inport == \\"rtos-blue_blue_ovn-worker\\" && ip4.dst == 10.96.2.2" ["100.65.0.2"] null',
        'cluster_udn_yellow.net_transit_router 9000 "inport == \\"trtos-cluster_udn_yellow.net_ovn_layer2_switch\\" && ip4.dst == 10.96.1.1" ["100.88.0.5"] {"pkt_mark":"43"}',
        'cluster_udn_yellow.net_transit_router 9000 "inport == \\"trtos-cluster_udn_yellow.net_ovn_layer2_switch\\" && ip4.dst == 10.96.2.2" ["100.88.0.5"] {"pkt_mark":"43"}',
        'twin_net_ovn_cluster_router 9000 "inport == \\"rtos-twin_net_ovn-worker\\" && ip4.dst == 10.96.1.1" ["100.65.0.2"] null',
      ]);
      expect(
        rows(zone, 'Logical_Router_Static_Route', ['ip_prefix', 'nexthop', 'output_port']),
      ).toEqual([
        'GR_blue_blue_ovn-worker "10.96.2.2" "169.254.0.4" "rtoe-GR_blue_blue_ovn-worker"',
        'GR_cluster_udn_yellow.net_ovn-worker "10.96.1.1" "169.254.0.4" "rtoe-GR_cluster_udn_yellow.net_ovn-worker"',
        'GR_cluster_udn_yellow.net_ovn-worker "10.96.2.2" "169.254.0.4" "rtoe-GR_cluster_udn_yellow.net_ovn-worker"',
        'GR_twin_net_ovn-worker "10.96.1.1" "169.254.0.4" "rtoe-GR_twin_net_ovn-worker"',
      ]);
    },
  );

  test('they have no router in common, nobody has the load balancers of others, and no way leads to pods', () => {
    const features = [connectRouters, connectedNetworks, connectedWays];
    expect(featureTexts(features, overlappingZone)).toEqual([]);
    const balancers = featureTexts([loadBalancers], overlappingZone);
    expect(balancers.length).toBeGreaterThan(0);
    expect(balancers.filter((text) => text.includes('cnc_svc_'))).toEqual([]);
  });

  test('a connection that shares nothing over the bridge has none of it', () => {
    const connects = [{ ...sharing, bridged: [] }];
    expect(featureTexts([bridgedServices], { ...overlappingZone, connects })).toEqual([]);
  });
});
