import { expect, test } from 'vitest';
import type { ClusterNetworkConnect, UserDefinedNetworkSpec } from '../../../src/api/types.ts';
import type { ZoneStatusContent } from '../../../src/api/zone-status.ts';

test('a status or spec that the definition of its kind does not take does not compile', () => {
  const zone: ZoneStatusContent = {
    observedAt: '2026-01-01T00:00:00Z',
    networks: [],
    connects: [{ name: 'joined', state: 'Unused' }],
    problems: [],
  };
  const unknownState: ZoneStatusContent = {
    ...zone,
    // @ts-expect-error the enum of schemas/crds/zonestatus.yaml has no such state
    connects: [{ name: 'joined', state: 'Asleep' }],
  };
  // @ts-expect-error problems are required
  const lacking: ZoneStatusContent = { observedAt: '', networks: [] };
  // @ts-expect-error not one of Success and Failure
  const connect: ClusterNetworkConnect['status'] = { status: 'Perhaps' };
  // @ts-expect-error topologies of a UserDefinedNetwork
  const network: UserDefinedNetworkSpec = { topology: 'Localnet' };
  expect([zone, unknownState, lacking, connect, network]).toHaveLength(5);
});
