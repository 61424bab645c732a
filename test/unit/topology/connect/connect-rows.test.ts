import { describe, expect, test } from 'vitest';
import {
  connectOfServices,
  connectPorts,
  connectServices,
  nodeIdOf,
  portEnd,
  routerOf,
  subnetsIn,
} from '../../../../src/topology/connect/connect-rows.ts';
import { blue, dualYellow, yellow } from '../../../support/zone/zones.ts';

describe('names of a connection (reference/topology.md §19)', () => {
  test('of its load balancers lead back to it, and no other name does', () => {
    expect(connectOfServices(connectServices('a_b'))).toBe('a_b');
    expect(connectOfServices('clusterLBGroup')).toBeUndefined();
    expect(connectOfServices('cnc_svc_')).toBeUndefined();
  });

  test('of ports say the node on Layer3 networks alone', () => {
    expect(connectPorts('c', 'net', 'n1')).toEqual({
      onConnectRouter: 'crtor-c_net_n1',
      onNetworkRouter: 'rtocr-net_n1_c',
    });
    expect(connectPorts('c', 'net', undefined).onConnectRouter).toBe('crtor-c_net');
    expect(nodeIdOf({ topology: 'layer3' }, 7)).toBe(7);
    expect(nodeIdOf({ topology: 'layer2' }, 7)).toBe(0);
  });

  test('of the router that takes part: the distributed one, or the transit router', () => {
    expect(routerOf(blue, 'n1')).toEqual({
      router: 'blue_blue_ovn_cluster_router',
      portToPods: 'rtos-blue_blue_n1',
    });
    expect(routerOf(yellow, 'n1').router).toBe('cluster_udn_yellow.net_transit_router');
  });
});

test('a port has the MAC of its first address, and all addresses of its side', () => {
  const end = (address: string, other: string) => ({
    family: 'v4' as const,
    connectRouter: address,
    connectRouterInterface: `${address}/31`,
    networkRouter: other,
    networkRouterInterface: `${other}/31`,
  });
  const ends = [end('192.168.0.4', '192.168.0.5'), end('192.168.0.6', '192.168.0.7')];
  expect(portEnd(ends, 'connectRouter')).toEqual({
    mac: '0a:58:c0:a8:00:04',
    networks: ['192.168.0.4/31', '192.168.0.6/31'],
  });
  expect(portEnd(ends, 'networkRouter').networks).toEqual(['192.168.0.5/31', '192.168.0.7/31']);
});

test('subnets are told by their family', () => {
  expect(subnetsIn(dualYellow, 'v4')).toEqual(['105.105.0.0/16']);
  expect(subnetsIn(dualYellow, 'v6')).toEqual(['fd20:105::/64']);
});
