import { expect, test } from 'vitest';
import type { ClusterNetworkConnect } from '../../../src/api/types.ts';
import { isHealthy, overviewOf, type OverviewObjects } from '../../../src/daemon/overview.ts';
import { DEFAULT_SETTINGS } from '../../../src/model/settings.ts';
import { connect } from '../../support/cluster.ts';

const nothing: OverviewObjects = {
  userDefinedNetworks: [],
  clusterUserDefinedNetworks: [],
  clusterNetworkConnects: [],
  networkAttachmentDefinitions: [],
  nodes: [],
  pods: [],
  zoneStatuses: [],
  unprogrammed: [],
};
const lastTransitionTime = '2026-01-01T00:00:00Z';

test('a connection that is not there yet is a problem, with its reasons', () => {
  const both: ClusterNetworkConnect = {
    ...connect('both', ['blue', 'red'], '192.168.0.0/16/24'),
    status: {
      status: 'Failure',
      conditions: [
        {
          type: 'Accepted',
          status: 'True',
          reason: 'ValidationSucceeded',
          message: 'All validation checks passed successfully',
          lastTransitionTime,
        },
        {
          type: 'Ready-In-Zone-n1',
          status: 'Unknown',
          reason: 'NotReported',
          message: 'no report',
          lastTransitionTime,
        },
      ],
    },
  };
  const { problems } = overviewOf({ ...nothing, clusterNetworkConnects: [both] }, DEFAULT_SETTINGS);
  expect(problems).toEqual([
    { object: 'ClusterNetworkConnect both', message: 'not Ready-In-Zone-n1: no report' },
  ]);
});

test('an object that nothing is programmed for is a problem', () => {
  const unprogrammed = [
    {
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'EgressQoS',
      metadata: { name: 'default', namespace: 'blue' },
    },
  ];
  const overview = overviewOf({ ...nothing, unprogrammed }, DEFAULT_SETTINGS);
  expect(overview.problems).toEqual([
    {
      object: 'EgressQoS blue/default',
      message:
        'this release does not program EgressQoSes: this object marks no packets; do not rely on it',
    },
  ]);
  expect(isHealthy(overview)).toBe(false);
});
