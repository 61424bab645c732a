import { expect, test } from 'vitest';
import { dnsWays } from '../../../../src/topology/services/dns-ways.ts';
import { loadBalancers } from '../../../../src/topology/services/load-balancers.ts';
import { builtUnits } from '../../../support/zone/built-rows.ts';
import { forwardingFacts } from '../../../support/zone/forwarded-dns.ts';

const DNS = 'kube-system/kube-dns';

test('while the forwarder listens, pods of the default network that ask the service get to it', () => {
  expect([...dnsWays(forwardingFacts(true), 'default', DNS, 'UDP')]).toEqual([
    ['10.96.0.10:53', '169.254.0.6:53'],
    ['[fd00:10:96::a]:53', '[fd69::6]:53'],
  ]);
  expect(dnsWays(forwardingFacts(true), 'default', 'default/kubernetes', 'TCP').size).toBe(0);
  expect(dnsWays(forwardingFacts(true), 'blue_blue', DNS, 'UDP').size).toBe(0);
  expect(dnsWays(forwardingFacts(false), 'default', DNS, 'UDP').size).toBe(0);
});

test('the host, which the forwarder asks from, gets to the endpoints by the gateway router', () => {
  const rows = (isOpen: boolean) =>
    builtUnits(forwardingFacts(isOpen), [loadBalancers])
      .flatMap((unit) => unit.rows)
      .filter(({ key }) => key.includes('kube-dns_UDP'))
      .map(({ key, columns, containers }) => [
        key,
        (columns['vips'] as Record<string, string>)['10.96.0.10:53'],
        containers.map((one) => one.key),
      ]);
  expect(rows(false)).toEqual([
    ['Service_kube-system/kube-dns_UDP_cluster', '10.244.0.8:53,10.244.1.8:53', ['clusterLBGroup']],
  ]);
  expect(rows(true)).toEqual([
    ['Service_kube-system/kube-dns_UDP_cluster', '169.254.0.6:53', ['clusterSwitchLBGroup']],
    [
      'Service_kube-system/kube-dns_UDP_cluster_router',
      '10.244.0.8:53,10.244.1.8:53',
      ['clusterRouterLBGroup'],
    ],
  ]);
});
