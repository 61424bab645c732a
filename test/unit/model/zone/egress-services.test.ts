import { describe, expect, test } from 'vitest';
import type { EgressServiceFacts } from '../../../../src/model/read/egress-services.ts';
import { egressServiceMark } from '../../../../src/model/rules/egress-service-mark.ts';
import {
  egressServiceObject,
  type EgressServicePlace,
} from '../../../../src/model/zone/egress-services.ts';
import { service, withServices } from '../../../support/zone/services.ts';
import { secondaryLayer3 } from '../../../support/zone/zone-variants.ts';
import { exampleZone, factsOf } from '../../../support/zone/zones.ts';

const facts = (
  name: string,
  created: string,
  changes: Partial<EgressServiceFacts> = {},
): EgressServiceFacts => ({
  key: `blue/${name}`,
  namespace: 'blue',
  name,
  created,
  isByNetwork: false,
  host: 'ovn-worker',
  isHere: true,
  ...changes,
});
const balancer = (name: string, index: number, ...ingress: readonly string[]) =>
  service(
    `blue/${name}`,
    { type: 'LoadBalancer', clusterIPs: [`10.96.3.${index}`] },
    { loadBalancer: { ingress: ingress.map((ip) => ({ ip })) } },
  );

test('of two addresses with one mark that of the older object is used', () => {
  const zone = factsOf({
    ...withServices(
      exampleZone,
      balancer('old', 1, '10.9.0.1'),
      balancer('new', 2, '138.9.0.1'),
      balancer('same', 3, '10.9.0.2'),
    ),
    egressServices: [facts('new', '2026-02-01'), facts('old', '2026-01-01'), facts('same', '')],
  });
  const mark = egressServiceMark('10.9.0.1');
  expect(zone.egressServiceExit('blue/old', 'v4')).toEqual({ address: '10.9.0.1', mark });
  expect(zone.egressServiceExit('blue/new', 'v4')).toBe(
    'the external bridge would know its pods of primary networks by the mark of EgressService blue/old, which is older: they send nothing out; give its load balancer another address',
  );
  expect(zone.egressServiceExit('blue/same', 'v4')).toMatchObject({ address: '10.9.0.2' });
});

test('of a service on a secondary network it says that pods leave there without it', () => {
  const problems = (secondaryGateway: string): readonly string[] => {
    const zone = factsOf({
      ...withServices(
        {
          ...exampleZone,
          networks: [...exampleZone.networks, { ...secondaryLayer3, secondaryGateway }],
        },
        balancer('web', 1, '10.9.0.1'),
      ),
      askedNetworks: { 'blue/web': 'sec' },
      egressServices: [facts('web', '2026-01-01')],
    });
    return [...zone.egressServiceProblems()].map(({ object, message }) => `${object}: ${message}`);
  };
  expect(problems('{}')).toEqual([
    expect.stringMatching(/^EgressService blue\/web: Service blue\/web is on a secondary network/),
  ]);
  expect(problems('unreadable')).toEqual([]);
});

describe('with a routing table', () => {
  const exit = { mark: egressServiceMark('blue/lb'), link: '169.254.90.173' };

  test('it is known by a mark and an address of its own, not by those of its load balancer', () => {
    const zone = factsOf({
      ...withServices(exampleZone, balancer('lb', 1, '10.9.0.1'), balancer('plain', 2, '10.9.0.2')),
      egressServices: [facts('lb', '2026-01-01', { table: 1200 }), facts('plain', '2026-02-01')],
    });
    expect(zone.egressServiceExit('blue/lb', 'v4')).toEqual({ ...exit, address: '10.9.0.1' });
    expect(zone.egressServiceExit('blue/plain', 'v4')).toEqual({
      address: '10.9.0.2',
      mark: egressServiceMark('10.9.0.2'),
    });
    expect(zone.egressServiceExit('blue/lb', 'v6')).toBeUndefined();
  });

  test('and by the network on every node, with no address', () => {
    const byNetwork = { isByNetwork: true, host: 'ALL', isHere: false };
    const zone = factsOf({
      ...withServices(exampleZone, balancer('lb', 1), balancer('plain', 2)),
      egressServices: [
        facts('lb', '', { ...byNetwork, table: 1200 }),
        facts('plain', '', byNetwork),
      ],
    });
    expect(zone.egressServiceExit('blue/lb', 'v4')).toEqual(exit);
    expect(zone.egressServiceExit('blue/plain', 'v4')).toBeUndefined();
  });

  test('of two that nodes would know by one address the older is known, wherever they leave', () => {
    const zone = factsOf({
      ...withServices(exampleZone, balancer('s1', 1, '10.9.0.1'), balancer('s25', 2, '10.9.0.2')),
      egressServices: [
        facts('s1', '2026-02-01', { table: 1200 }),
        facts('s25', '2026-01-01', { table: 1300, host: 'ovn-worker2', isHere: false }),
      ],
    });
    const why =
      'spec.network: nodes would know pods of primary networks by the address that those of EgressService blue/s25 have there, which is older: they send nothing out; give the Service, and this object, another name';
    expect(zone.egressServiceExit('blue/s1', 'v4')).toBe(why);
    expect(zone.whyNotByTable('blue/s1', 'v4')).toBe(why);
    expect(zone.whyNotByTable('blue/s25', 'v4')).toBeUndefined();
  });

  test('a masquerade subnet without such addresses is told', () => {
    const { settings } = exampleZone;
    const zone = factsOf({
      ...withServices(exampleZone, balancer('lb', 1, '10.9.0.1')),
      settings: { ...settings, masqueradeSubnets: { v4: '169.254.0.0/18' } },
      egressServices: [facts('lb', '', { table: 1200 })],
    });
    expect(zone.egressServiceExit('blue/lb', 'v4')).toBe(
      'spec.network: the masquerade subnet has no address by which nodes would know pods of primary networks: they send nothing out; choose a wider one (--gateway-v4-masquerade-subnet, /17 or wider), or take the field away',
    );
  });
});

test('an address that the service may not have gives nobody a source, and is told', () => {
  const zone = factsOf({
    ...withServices(exampleZone, balancer('web', 1, '10.96.0.99')),
    egressServices: [facts('web', '')],
  });
  const place: EgressServicePlace | undefined = zone.placeOfService('blue/web');
  expect(place?.sources).toEqual([]);
  expect([...zone.egressServiceProblems()]).toEqual([
    {
      object: egressServiceObject('blue/web'),
      message:
        'no address of the load balancer of Service blue/web may be used (see the Service): no pod of it leaves',
    },
  ]);
});
