/** What a proof finds of load balancers with addresses of networks' pools. */
import { expect, test } from 'vitest';
import type { Service } from '../../../src/api/types.ts';
import { prove } from '../../../src/verify/verify.ts';
import { nad, NORTHBOUND, OBJECTS, pod, snapshot } from '../../support/verify/small-zone.ts';

const ADDRESS = '192.0.2.1';

const service = (key: string, cluster: string, ...addresses: readonly string[]): Service => {
  const [namespace = '', name = ''] = key.split('/');
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace, name },
    spec: {
      type: 'LoadBalancer',
      loadBalancerClass: 'k8s.ovn.org/udn-loadbalancer',
      clusterIPs: [cluster],
      ports: [{ port: 80, protocol: 'TCP' }],
    },
    status: { loadBalancer: { ingress: addresses.map((ip) => ({ ip })) } },
  };
};

/** What is found where `key`'s load balancer with that address hangs on the switch of a network. */
const foundOf = (
  services: readonly Service[],
  {
    key,
    address = ADDRESS,
    at,
    vip = [`${address}:80`, '10.20.0.3:8080'],
  }: { key: string; address?: string; at: string; vip?: readonly [string, string] },
): readonly string[] => {
  const [namespace = '', name = ''] = key.split('/');
  const uuid = ['uuid', 'balancer'];
  const rows = {
    ...NORTHBOUND,
    Logical_Switch: (NORTHBOUND['Logical_Switch'] ?? []).map((row) =>
      row['name'] === `${at}_n1` ? { ...row, load_balancer: ['set', [uuid]] } : row,
    ),
    Load_Balancer: [
      {
        _uuid: uuid,
        name: `${namespace}_net_Service_${key}_TCP_pool`,
        protocol: 'tcp',
        vips: ['map', [vip]],
        external_ids: [
          'map',
          Object.entries({
            'k8s.ovn.org/kind': 'Service',
            'k8s.ovn.org/owner': key,
            'k8s.ovn.org/network': `${namespace}_net`,
            heddle: `Service ${key}`,
          }),
        ],
      },
    ],
  };
  const { violations } = prove(
    snapshot({
      northbound: new Map(Object.entries(rows)),
      objects: {
        ...OBJECTS,
        attachmentDefinitions: [nad('blue', 1), nad('green', 2)],
        pods: [pod('blue', 'a', 3), pod('green', 'a', 3)],
        services,
        slices: [
          {
            apiVersion: 'discovery.k8s.io/v1',
            kind: 'EndpointSlice',
            metadata: {
              namespace,
              name: `${name}-1`,
              labels: { 'k8s.ovn.org/service-name': name },
              annotations: { 'k8s.ovn.org/endpointslice-network': `${namespace}_net` },
            },
            addressType: 'IPv4',
            endpoints: [{ addresses: ['10.20.0.3'] }],
            ports: [{ port: 8080 }],
          },
        ],
      },
    }),
  ).verdict;
  return violations.map(({ what }) => what);
};

test("services of two networks with one address are apart; on one network an address is one service's", () => {
  const both = [
    service('blue/a', '172.16.1.5', ADDRESS),
    service('green/a', '172.16.1.6', ADDRESS),
  ];
  expect(foundOf(both, { key: 'blue/a', at: 'blue_net' })).toEqual([]);
  const others = [service('blue/a', '172.16.1.5'), service('blue/b', '172.16.1.6', ADDRESS)];
  expect(foundOf(others, { key: 'blue/a', at: 'blue_net' })).toEqual([
    `answers for ${ADDRESS}, which is of Service blue/b on network blue_net`,
  ]);
});

test("on a network that is not connected its load balancer is nobody's wish", () => {
  const both = [
    service('blue/a', '172.16.1.5', ADDRESS),
    service('green/a', '172.16.1.6', ADDRESS),
  ];
  expect(foundOf(both, { key: 'blue/a', at: 'green_net' })).toEqual(
    expect.arrayContaining([
      'hangs on green_net_n1 of network green_net, and the service is on blue_net: no object wants that',
    ]),
  );
});

test('a port that its service or its endpoint has not is a finding', () => {
  const services = [service('blue/a', '172.16.1.5', ADDRESS)];
  const found = (...vip: readonly [string, string]): readonly string[] =>
    foundOf(services, { key: 'blue/a', at: 'blue_net', vip });
  expect(found(`${ADDRESS}:22`, '10.20.0.3:8080')).toEqual([
    `answers for ${ADDRESS}:22 (tcp 22), and Service blue/a has no such port`,
  ]);
  expect(found(`${ADDRESS}:80`, '10.20.0.3:22')).toEqual([
    `leads ${ADDRESS}:80 to 10.20.0.3:22, which is no port of an endpoint of it`,
  ]);
});
