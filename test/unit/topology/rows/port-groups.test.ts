import { describe, expect, test } from 'vitest';
import {
  addPortGroup,
  adminPortGroup,
  closedPortGroup,
  clusterPortGroup,
  clusterRouterPortGroup,
  inGroup,
  namespacePortGroup,
  policyPortGroup,
  SECONDARY_PODS,
} from '../../../../src/topology/rows/port-groups.ts';
import { builtTexts } from '../part-texts.ts';

describe('a port group (reference/topology.md §5)', () => {
  test('has a name that follows from its id', () => {
    expect(SECONDARY_PODS.name).toBe('a3a4889fb3a1fe0b23514b7ae1188b05c');
    expect(
      builtTexts((rows) => {
        addPortGroup(rows, SECONDARY_PODS);
      }),
    ).toEqual([
      'Port_Group a3a4889fb3a1fe0b23514b7ae1188b05c external_ids={k/id=default-network-controller:UDNIsolation:SecondaryPods k/name=SecondaryPods k/owner-controller=default-network-controller k/owner-type=UDNIsolation}',
    ]);
  });

  test('of each purpose is another one, and so is that of each network', () => {
    const groups = ['c1', 'c2'].flatMap((controller) => [
      clusterPortGroup(controller),
      clusterRouterPortGroup(controller),
      namespacePortGroup(controller, 'blue'),
      closedPortGroup(controller, 'blue', 'Ingress'),
      closedPortGroup(controller, 'blue', 'Egress'),
      policyPortGroup(controller, 'blue', 'p'),
      adminPortGroup(controller, 'AdminNetworkPolicy', 'p'),
      adminPortGroup(controller, 'BaselineAdminNetworkPolicy', 'p'),
    ]);
    expect(new Set(groups.map(({ name }) => name)).size).toBe(groups.length);
  });

  test('is joined by ports in their own rows', () => {
    expect(inGroup(SECONDARY_PODS)).toEqual({
      table: 'Port_Group',
      key: SECONDARY_PODS.name,
      column: 'ports',
    });
  });
});
