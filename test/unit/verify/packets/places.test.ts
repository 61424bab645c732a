import { describe, expect, test } from 'vitest';
import { Places } from '../../../../src/verify/packets/places.ts';
import { INTERFACES, openVswitchOf } from '../../../support/verify/interfaces.ts';
import { snapshot } from '../../../support/verify/small-zone.ts';

const places = new Places({
  ...snapshot({ openVswitch: openVswitchOf(INTERFACES) }),
  host: { links: [{ name: 'mp1-udn-vrf', table: 10_001 }, { name: 'eth0' }, { name: 'wan0' }] },
});
const TUNNEL = { tunnelKey: 5 };

describe('a frame comes out', () => {
  test.each([
    ['at a pod', 'veth-green', true, {}, { kind: 'pods', port: 'green.net_green_a' }],
    [
      "at a network's port of the host",
      'mp1',
      false,
      {},
      { kind: 'host', port: 'k8s-blue_net_n1' },
    ],
    ['at the host', 'breth0', false, {}, { kind: 'host' }],
    ['at the uplink', 'eth0', true, {}, { kind: 'outside' }],
    ['at a device that is not of the switch', 'wan0', true, {}, { kind: 'outside' }],
    ['in a tunnel', 'eth0', true, TUNNEL, { kind: 'tunnels', tunnelKey: 5 }],
    ['in a tunnel, before it is', 'genev_sys_6081', true, {}, { kind: 'tunnels' }],
  ])('%s', (_, device, isOutgoing, key, place) => {
    expect(places.exitOf({ device, isOutgoing, ...key })).toEqual({ device, ...place });
  });

  test.each([
    ['a pod sends it', 'veth-blue', false, {}],
    ['the host sends it', 'mp1', true, {}],
    ['the host sends it by the bridge', 'breth0', true, {}],
    ['it comes from outside', 'eth0', false, {}],
    ['it comes by a tunnel', 'eth0', false, TUNNEL],
    ['it is taken out of a tunnel', 'genev_sys_6081', false, {}],
    ['the host looks at it in a VRF', 'mp1-udn-vrf', true, {}],
    ['the host sends it to itself', 'lo', true, {}],
  ])('nowhere yet where %s', (_, device, isOutgoing, key) => {
    expect(places.exitOf({ device, isOutgoing, ...key })).toBeUndefined();
  });
});

test('a pod sends what comes in by its device, nobody what comes by another one', () => {
  expect(places.senderOf({ device: 'veth-blue', isOutgoing: false })).toBe('blue.net_blue_a');
  expect(places.senderOf({ device: 'veth-blue', isOutgoing: true })).toBeUndefined();
  expect(places.senderOf({ device: 'mp1', isOutgoing: true })).toBeUndefined();
  expect(places.senderOf({ device: 'eth0', isOutgoing: false })).toBeUndefined();
  expect(places.deviceOf('blue.net_blue_a')).toBe('veth-blue');
  expect(places.deviceOf('blue.net_blue_b')).toBeUndefined();
});
