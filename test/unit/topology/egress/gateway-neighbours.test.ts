import { expect, test } from 'vitest';
import { egressGatewayNeighbours } from '../../../../src/topology/egress/gateway-neighbours.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import { PLAIN } from '../../../support/zone/egress-reference.ts';
import { factsOf } from '../../../support/zone/zones.ts';

const rowsWith = (...nodes: readonly string[]): readonly object[] =>
  builtUnits(
    factsOf({
      ...PLAIN,
      egressIps: [
        {
          name: 'out',
          created: '2026-01-01T00:00:00Z',
          namespaceSelector: {},
          podSelector: {},
          families: ['v4'],
          items: nodes.map((node) => ({ node, address: '172.18.0.200' })),
          isHere: false,
        },
      ],
    }),
    [egressGatewayNeighbours],
  ).flatMap(({ rows }) => rows.map(({ columns }) => columns));

test('of other nodes with egress addresses the gateway routers are neighbours from the beginning', () => {
  expect(rowsWith('ovn-worker2')).toEqual([
    expect.objectContaining({
      logical_port: 'trtor-GR_cluster_udn_yellow.net_ovn-worker2',
      ip: '100.88.0.7',
      mac: '0a:58:64:41:00:03',
    }),
  ]);
});

test('of this node, and of nodes without one, nothing is said', () => {
  expect(rowsWith()).toEqual([]);
  expect(rowsWith('ovn-worker')).toEqual([]);
});
