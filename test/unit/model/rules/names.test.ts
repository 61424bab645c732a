import { describe, expect, test } from 'vitest';
import {
  controllerOf,
  isDefault,
  layer2Names,
  layer3Names,
  loadBalancerGroups,
  networkOfController,
  podPort,
  podSwitch,
  prefixesOfPort,
  switchesOf,
} from '../../../../src/model/rules/names.ts';
import { blue, defaultNetwork, localnet, yellow } from '../../../support/zone/zones.ts';

describe('names of a network (reference/topology.md §1.2)', () => {
  test('of the default network have no prefix', () => {
    expect(isDefault(defaultNetwork)).toBe(true);
    expect(layer3Names(defaultNetwork.name, 'n1')).toMatchObject({
      clusterRouter: 'ovn_cluster_router',
      gatewayRouter: 'GR_n1',
      nodeSwitch: 'n1',
      joinSwitch: 'join',
    });
  });

  test('of a Layer3 network begin with its name, dots for dashes', () => {
    expect(layer3Names(yellow.name, 'n1').nodeSwitch).toBe('cluster_udn_yellow.net_n1');
  });

  test('of Layer2 are the transit router and the one switch', () => {
    expect(layer2Names(yellow.name, 'n1')).toMatchObject({
      clusterRouter: 'cluster_udn_yellow.net_transit_router',
      nodeSwitch: 'cluster_udn_yellow.net_ovn_layer2_switch',
    });
  });

  test('of switches: where pods are comes first', () => {
    expect([blue, yellow, localnet].map((network) => podSwitch(network, 'n1'))).toEqual([
      'blue_blue_n1',
      'cluster_udn_yellow.net_ovn_layer2_switch',
      'blue_ln_ovn_localnet_switch',
    ]);
    for (const network of [blue, yellow, localnet])
      expect(switchesOf(network, 'n1')[0]).toBe(podSwitch(network, 'n1'));
  });

  test('of an owner controller lead back to the network, and others to none', () => {
    expect(networkOfController(controllerOf(blue.name))).toBe('blue_blue');
    expect(networkOfController('egress')).toBeUndefined();
  });

  test('of load balancer groups are three', () => {
    expect(new Set(Object.values(loadBalancerGroups('p_'))).size).toBe(3);
  });
});

describe('the port of a pod', () => {
  test('has the namespace and the pod in it, and its NAD where it is not the default one', () => {
    expect(podPort('default', 'blue', 'pod1')).toBe('blue_pod1');
    expect(podPort('blue/blue', 'blue', 'pod1')).toBe('blue.blue_blue_pod1');
  });

  test('may have the name of a port of some network: which prefix that would have', () => {
    expect(prefixesOfPort('stor-n1', 'n1', 'n1', 'breth0')).toContain('');
    expect(prefixesOfPort('k8s-blue_blue_n1', 'n1', 'n1', 'breth0')).toContain('blue_blue_');
    expect(prefixesOfPort('breth0_blue_n1', 'n1', 'n1', 'breth0')).toContain('blue_');
    expect(prefixesOfPort('blue_pod1', 'pod1', 'n1', 'breth0')).toEqual([]);
  });

  test('or that of the transit port of any node', () => {
    expect(prefixesOfPort('blue_tstor-x', 'tstor-x', 'n1', undefined)).toEqual(['blue_']);
  });
});
