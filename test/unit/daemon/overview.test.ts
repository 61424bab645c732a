import { expect, test } from 'vitest';
import type { ClusterNetworkConnect } from '../../../src/api/types.ts';
import { overviewOf, type OverviewObjects } from '../../../src/daemon/overview.ts';
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
