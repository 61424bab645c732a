import { describe, expect, test } from 'vitest';
import { hairpinAddresses, serviceNode } from '../../../../src/topology/services/service-node.ts';
import { withGateway, withoutGateway } from '../../../support/zone/zone-variants.ts';
import { dualZone, exampleZone, factsOf, ipv4Settings } from '../../../support/zone/zones.ts';

describe('this node as load balancers see it', () => {
  test('has the addresses of the host and of its gateway, and those that stand for the host', () => {
    expect(serviceNode(factsOf(exampleZone))).toEqual({
      hostAddresses: ['172.18.0.3'],
      gatewayAddresses: ['172.18.0.3'],
      hasNodePorts: true,
      hostMasquerade: { v4: '169.254.0.2' },
      localMasquerade: { v4: '169.254.0.3' },
    });
  });

  test('opens no node ports without a gateway, or where its gateway does not', () => {
    expect(serviceNode(factsOf(withoutGateway(exampleZone))).hasNodePorts).toBe(false);
    expect(serviceNode(factsOf(withGateway({ nodePortEnable: false }))).hasNodePorts).toBe(false);
  });
});

test('a pod that reaches itself has an address of each family that the cluster has', () => {
  expect(hairpinAddresses(ipv4Settings)).toEqual(['169.254.0.5']);
  expect(hairpinAddresses(dualZone.settings)).toEqual(['169.254.0.5', 'fd69::5']);
});
