import { expect, test } from 'vitest';
import { connectivityOf } from '../../../src/api/connectivity.ts';
import type { ClusterNetworkConnect } from '../../../src/api/types.ts';
import { valid } from './objects.ts';

test.each([
  [{ connectivity: ['PodNetwork'] }, { pods: true, services: false }],
  [{ connectivity: ['ServiceNetwork', 'PodNetwork'] }, { pods: true, services: true }],
  [{ connectivityEnabled: ['ClusterIPServiceNetwork'] }, { pods: false, services: true }],
])('a ClusterNetworkConnect with %j opens %j', (spelling, expected) => {
  const connect = valid({
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'ClusterNetworkConnect',
    metadata: { name: 'connect' },
    spec: {
      networkSelectors: [
        {
          networkSelectionType: 'PrimaryUserDefinedNetworks',
          primaryUserDefinedNetworkSelector: { namespaceSelector: {} },
        },
      ],
      connectSubnets: [{ cidr: '192.168.0.0/16', networkPrefix: 24 }],
      ...spelling,
    },
  });
  expect(connectivityOf(connect as ClusterNetworkConnect)).toEqual(expected);
});
