import { describe, expect, test } from 'vitest';
import {
  hashedName,
  nameInReference,
  objectIds,
} from '../../../../src/topology/rows/object-ids.ts';

describe('names that ovn-kubernetes gives (reference/topology.md §3.3)', () => {
  test.each([
    ['default-network-controller:UDNIsolation:SecondaryPods', 'a8747502060113802905'],
    ['default-network-controller:ClusterNodeIPs:node-ips:v4', 'a1042611113178530741'],
    ['default-network-controller:EgressService:egresssvc-served-pods:v4', 'a13607449821398607916'],
    ['udn-enabled-svc:UDNEnabledService:udn-enabled-svc-cluster-ips:v4', 'a3613486944346402462'],
    ['default-network-controller:Cluster:clusterPortGroup', 'a13298398610555951118'],
    ['default-network-controller:Cluster:clusterRtrPortGroup', 'a4743249366342378346'],
    [
      'default-network-controller:AdvertisedNetwork:advertised-network-subnets',
      'a13312563267853114862',
    ],
    [
      'default-network-controller:AdvertisedNetwork:advertised-network-subnets:v4',
      'a10109792604843350142',
    ],
    ['blue_blue-network-controller:Cluster:clusterPortGroup', 'a6305690735356339486'],
    ['blue_blue-network-controller:Cluster:clusterRtrPortGroup', 'a15517656585142200826'],
    ['blue_blue-network-controller:Namespace:blue', 'a3611962815694738969'],
    ['default-network-controller:Namespace:blue', 'a5290398105912930473'],
    ['blue_blue-network-controller:NetpolNamespace:blue:Ingress', 'a596975034919718098'],
    ['blue_blue-network-controller:NetpolNamespace:blue:Egress', 'a3172182252284646592'],
    ['blue_blue-network-controller:NetworkPolicy:blue:allow-web', 'a16207731574440755792'],
    [
      'blue_blue-network-controller:PodSelector:blue_LS{ML:{app: web,},}:v4',
      'a1180045912855858732',
    ],
    [
      'default-network-controller:EgressIP:egressip-served-pods:v4:blue_blue',
      'a8625653444039524328',
    ],
    [
      'ovnkube-network-connect-controller:ClusterNetworkConnect:colored-net:v4',
      'a13003608360528293632',
    ],
  ])('%s is %s', (id, name) => {
    expect(nameInReference(id)).toBe(name);
  });
});

describe('hashed names (reference/topology.md §3.3)', () => {
  test.each([
    ['default-network-controller:UDNIsolation:SecondaryPods', 'a3a4889fb3a1fe0b23514b7ae1188b05c'],
    [
      'blue_blue-network-controller:PodSelector:blue_LS{ML:{app: web,},}:v4',
      'aecaca800c9341b9ac88db2d6129b2250',
    ],
  ])('%s is %s', (id, name) => {
    expect(hashedName(id)).toBe(name);
  });

  const controller = 'default-network-controller';
  test.each([
    [
      `${controller}:PodSelector:LS{ME:{LSR{Key:z7mweukqrb45rrh4m1kbelaob9expo,Operator:NotIn,Values:[x],}},}_LS{}:v4`,
      `${controller}:PodSelector:victim_LS{ML:{app: web,},}:v4`,
    ],
    [
      'mallory_q48tdppogawj69b90eos2z2od8dxgl-network-controller:Cluster:clusterPortGroup',
      `${controller}:Cluster:clusterPortGroup`,
    ],
    [
      `${controller}:NetworkPolicy:mallory:nzu4khq6tqbwr3fcjrn2akzajgaa30n`,
      `${controller}:NetworkPolicy:victim:deny`,
    ],
  ])('%s, which has the FNV-1a hash of another id on purpose, has a name of its own', (id, of) => {
    expect(nameInReference(id)).toBe(nameInReference(of));
    expect(hashedName(id)).not.toBe(hashedName(of));
  });
});

test('an object id lists its values in the order of the keys', () => {
  expect(
    objectIds('default-network-controller', 'EgressIP', {
      priority: '102',
      name: 'EIP-No-Reroute-Pod-To-Pod',
      'ip-family': 'ip4',
      network: 'blue_blue',
    }),
  ).toEqual({
    'k8s.ovn.org/owner-controller': 'default-network-controller',
    'k8s.ovn.org/owner-type': 'EgressIP',
    'k8s.ovn.org/name': 'EIP-No-Reroute-Pod-To-Pod',
    priority: '102',
    'ip-family': 'ip4',
    network: 'blue_blue',
    'k8s.ovn.org/id':
      'default-network-controller:EgressIP:102:EIP-No-Reroute-Pod-To-Pod:ip4:blue_blue',
  });
});
