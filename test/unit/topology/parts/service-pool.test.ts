import { describe, expect, test } from 'vitest';
import { servicePool } from '../../../../src/topology/parts/service-pool.ts';
import { service, withServices } from '../../../support/zone/services.ts';
import { blue, exampleZone, type Zone } from '../../../support/zone/zones.ts';
import { partTexts } from '../part-texts.ts';

const pooledZone: Zone = {
  ...exampleZone,
  networks: exampleZone.networks.map((one) =>
    one.name === blue.name ? { ...one, servicePool: '192.0.2.0/28' } : one,
  ),
};
const serving = (...addresses: readonly string[]): Zone =>
  withServices(
    pooledZone,
    service(
      'blue/web',
      {
        type: 'LoadBalancer',
        loadBalancerClass: 'k8s.ovn.org/udn-loadbalancer',
        clusterIPs: ['10.96.9.1'],
      },
      { loadBalancer: { ingress: addresses.map((ip) => ({ ip })) } },
    ),
  );

describe("addresses of a network's pool (decisions/service-pools.md)", () => {
  test('go nowhere where no service answers', () => {
    expect(partTexts(servicePool, serving('192.0.2.1'), 'blue_blue')).toEqual([
      'Logical_Router_Static_Route blue_blue_ovn_cluster_router 192.0.2.1 dst-ip - external_ids={X2} ip_prefix=192.0.2.1 nexthop=discard policy=dst-ip < Logical_Router/blue_blue_ovn_cluster_router.static_routes',
    ]);
  });
  test('nobody has: there is no route', () => {
    expect(partTexts(servicePool, pooledZone, 'blue_blue')).toEqual([]);
  });
  test('of a family that the network does not have are none of it', () => {
    expect(partTexts(servicePool, serving('2001:db8::1'), 'blue_blue')).toEqual([]);
  });
  test('the default network has none', () => {
    expect(partTexts(servicePool, serving('192.0.2.1'), 'default')).toEqual([]);
  });
});
