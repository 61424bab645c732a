import { describe, expect, test } from 'vitest';
import {
  isOptedIn,
  nadGatewayProblem,
  readSecondaryGateway,
  type SecondaryNetwork,
} from '../../../src/api/nad/secondary-gateway.ts';
import { testSettings } from '../../support/cluster/cluster.ts';

const routed: SecondaryNetwork = {
  topology: 'layer3',
  role: 'secondary',
  subnets: [{ cidr: '10.80.0.0/16', hostLength: 24 }],
  excludeSubnets: [],
  joinSubnets: { v4: '100.65.0.0/16' },
  transitSubnets: {},
};
const settings = testSettings.cluster;
const read = (text: string, network: Partial<SecondaryNetwork> = {}): unknown => {
  const found = readSecondaryGateway(text, { ...routed, ...network }, settings);
  return found.kind === 'value' ? found.value.routes : found.error;
};
const routesTo = (...routes: readonly unknown[]): string => JSON.stringify({ routes });

describe('a gateway of a secondary network', () => {
  test('has routes to ranges outside, each once and as it is written everywhere, or none', () => {
    expect(read('{}')).toEqual([]);
    expect(read(routesTo())).toEqual([]);
    expect(read(routesTo('203.0.113.0/24', '198.51.100.7/32', '203.0.113.0/24'))).toEqual([
      '203.0.113.0/24',
      '198.51.100.7/32',
    ]);
  });

  test.each([
    ['', /is not valid JSON.*write \{"routes"/],
    ['true', /must be a JSON object/],
    ['["203.0.113.0/24"]', /must be a JSON object/],
    ['{"routes":"203.0.113.0/24"}', /must be a JSON list/],
    ['{"rotues":[]}', /has "rotues", which means nothing/],
    [routesTo(7), /7 is no range of addresses/],
    [routesTo('203.0.113.0/33'), /"203\.0\.113\.0\/33" is no range of addresses/],
    [routesTo('203.0.113.0/24 && 1'), /is no range of addresses/],
    [routesTo('203.0.113.1/24'), /has bits behind its prefix length; write 203\.0\.113\.0\/24/],
    [routesTo('0.0.0.0/0'), /is the default route.*default-route/],
    [routesTo('2001:db8::/32'), /of a family of which the network has no subnet/],
    [routesTo('10.244.7.0/24'), /the cluster subnet 10\.244\.0\.0\/16/],
    [routesTo('10.0.0.0/8'), /the cluster subnet 10\.244\.0\.0\/16/],
    [routesTo('10.96.0.10/32'), /the service subnet 10\.96\.0\.0\/16/],
    [routesTo('100.64.0.0/16'), /the built-in join subnet/],
    [routesTo('169.254.0.0/24'), /masquerade subnet/],
    [routesTo('224.0.0.0/8'), /the multicast addresses/],
    [routesTo('10.80.9.0/24'), /the subnet of the network 10\.80\.0\.0\/16/],
    [
      routesTo(...Array.from({ length: 65 }, (_, i) => `203.0.${i}.0/24`)),
      /65 routes.*may have 64/,
    ],
  ])('%s is refused with what to do', (text, error) => {
    expect(read(text)).toMatch(error);
    expect(read(text)).toMatch(/^metadata\.annotations\[k8s\.ovn\.org\/secondary-gateway\]: /);
  });

  test.each<[Partial<SecondaryNetwork>, RegExp]>([
    [{ role: 'primary' }, /what a primary network has anyway/],
    [{ topology: 'localnet' }, /a localnet, whose pods/],
    [{ topology: 'layer2' }, /a Layer2 network that was made without it/],
    [{ transport: 'no-overlay' }, /transport no-overlay/],
    [{ subnets: [] }, /without subnets/],
    [{ subnets: [{ cidr: '100.65.9.0/24' }] }, /overlaps/],
    [{ subnets: [{ cidr: 'fd00:80::/48' }] }, /no addresses of that family/],
  ])('is none of a network with %j', (network, error) => {
    expect(read('{}', network)).toMatch(error);
  });

  test('is one of a Layer2 network that has room for a router', () => {
    expect(read('{}', { topology: 'layer2', hasRouter: true })).toEqual([]);
  });

  test('is none of any network without consent of an administrator', () => {
    const off = { ...settings, secondaryGateways: false };
    expect(isOptedIn(['{}'], routed, off)).toBe(false);
    expect(nadGatewayProblem('{}', routed, off, undefined)).toContain(
      'an administrator sets secondary-gateways to true',
    );
  });

  test('is in force when all NADs ask for one that it can have, whatever their routes', () => {
    const other = routesTo('203.0.113.0/24');
    expect(isOptedIn(['{}', other], routed, settings)).toBe(true);
    expect(isOptedIn([], routed, settings)).toBe(false);
    expect(isOptedIn(['{}', undefined], routed, settings)).toBe(false);
    expect(isOptedIn(['{}', 'x'], routed, settings)).toBe(false);
    expect(nadGatewayProblem('{}', routed, settings, undefined)).toBeUndefined();
    expect(nadGatewayProblem('{}', routed, settings, 'blue/other')).toContain('blue/other');
    expect(nadGatewayProblem('x', routed, settings, undefined)).toContain('has no gateway');
  });
});
