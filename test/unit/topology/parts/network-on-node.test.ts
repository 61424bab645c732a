import { describe, expect, test } from 'vitest';
import { layer3Names } from '../../../../src/model/rules/names.ts';
import {
  firstOf,
  gatewayMasquerade,
  gatewayMtu,
  managementMasquerade,
  masqueradeAddresses,
  networkOnNode,
  type NetworkOnNode,
} from '../../../../src/topology/parts/network-on-node.ts';
import {
  secondaryLayer3,
  withoutGateway,
  withoutMtu,
} from '../../../support/zone/zone-variants.ts';
import {
  blue,
  defaultNetwork,
  dualZone,
  exampleZone,
  factsOf,
  inLocalMode,
  type Zone,
  type ZoneNetwork,
} from '../../../support/zone/zones.ts';
import { nodeRanges } from '../../../../src/model/rules/network-addresses.ts';

const seen = (
  network: ZoneNetwork = blue,
  zone: Zone = exampleZone,
  subnets: readonly string[] = ['103.103.0.0/24'],
): NetworkOnNode =>
  networkOnNode(factsOf(zone), network, {
    names: layer3Names(network.name, 'ovn-worker'),
    podRanges: nodeRanges(subnets),
    links: () => [],
  });

describe('a network as the node of the zone sees it', () => {
  test("has the node's own address in the join subnet, of each family of the cluster", () => {
    expect(seen().joins).toEqual([
      { family: 'v4', subnet: '100.65.0.0/16', address: '100.65.0.2', interface: '100.65.0.2/16' },
    ]);
    expect(
      seen({ ...blue, joinSubnets: { v4: '100.65.0.0/16', v6: 'fd99::/64' } }, dualZone).joins.map(
        ({ address }) => address,
      ),
    ).toEqual(['100.65.0.2', 'fd99::2']);
  });

  test('has a gateway with join addresses, a subnet on the node and a node that leads out, and else none', () => {
    expect(seen().gateway?.bridge).toBe('breth0');
    expect(seen(blue, exampleZone, []).gateway).toBeUndefined();
    expect(seen(blue, withoutGateway(exampleZone)).gateway).toBeUndefined();
    expect(seen(secondaryLayer3).gateway).toBeUndefined();
    expect(seen(secondaryLayer3).joins).toEqual([]);
  });

  test("is in the gateway mode of the node's gateway, and in shared mode without one", () => {
    expect(seen().mode).toBe('shared');
    expect(seen(blue, inLocalMode(exampleZone)).mode).toBe('local');
    expect(seen(blue, withoutGateway(exampleZone)).mode).toBe('shared');
  });

  test('has its own masquerade addresses by its number on the node, of families too that it has not; the default one has none', () => {
    const numbered = { ...blue, masqueradeNumber: 1 };
    expect(gatewayMasquerade(seen(numbered))).toEqual(['169.254.0.11']);
    expect(managementMasquerade(seen(numbered), 'v4')).toBe('169.254.0.12');
    expect(gatewayMasquerade(seen({ ...numbered, masquerade: {} }))).toEqual(['169.254.0.11']);
    expect(gatewayMasquerade(seen({ ...numbered, masqueradeNumber: 4096 }, dualZone))).toContain(
      'fd69::2009',
    );
    const { masqueradeNumber: _none, ...bare } = numbered;
    expect(gatewayMasquerade(seen({ ...bare, masquerade: {} }))).toEqual([]);
    expect(gatewayMasquerade(seen(defaultNetwork))).toEqual([]);
    expect(managementMasquerade(seen(defaultNetwork), 'v4')).toBeUndefined();
  });

  test('has addresses of the masquerade subnet at an offset, of each family of the cluster', () => {
    expect(masqueradeAddresses(seen(), 4)).toEqual(['169.254.0.4']);
    expect(masqueradeAddresses(seen(blue, dualZone), 4)).toEqual(['169.254.0.4', 'fd69::4']);
  });

  test('tells OVN which size fits, unless OVN must not check sizes', () => {
    expect(gatewayMtu(seen())).toEqual({ gateway_mtu: '1400' });
    expect(gatewayMtu(seen(blue, withoutMtu))).toEqual({});
  });
});

test('the first address of a family is without prefix length', () => {
  expect(firstOf(['fd00::1/64', '10.0.0.1/24', '10.0.0.2/24'], 'v4')).toBe('10.0.0.1');
  expect(firstOf(['10.0.0.1'], 'v6')).toBeUndefined();
});
