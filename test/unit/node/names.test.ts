import { expect, test } from 'vitest';
import { managementDevice, vrfName } from '../../../src/node/names.ts';

test('devices of the largest network have names that the kernel takes', () => {
  expect(managementDevice(4095)).toBe('ovn-k8s-mp4095');
  expect(vrfName({ object: 'UserDefinedNetwork blue/net', id: 4095 }, 'br-ex')).toBe(
    'mp4095-udn-vrf',
  );
});

test.each<readonly [string, string]>([
  ['green', 'green'],
  ['fifteen-letters', 'fifteen-letters'],
  ['sixteen-letters-', 'mp7-udn-vrf'],
  ['sixteen.letters1', 'mp7-udn-vrf'],
  ['a.b', 'a.b'],
  // Devices and settings of others.
  ...['default', 'all', 'lo', 'eth-bridge', 'br-int', 'ovn-k8s-mp7', 'ovs-system', 'if2'].map(
    (name) => [name, 'mp7-udn-vrf'] as const,
  ),
  // The name that another network's VRF has.
  ['mp8-udn-vrf', 'mp7-udn-vrf'],
])('the VRF of the cluster network %s is %s', (name, vrf) => {
  expect(vrfName({ object: `ClusterUserDefinedNetwork ${name}`, id: 7 }, 'eth-bridge')).toBe(vrf);
});
