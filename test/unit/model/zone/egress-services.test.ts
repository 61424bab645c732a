import { expect, test } from 'vitest';
import type { EgressServiceFacts } from '../../../../src/model/read/egress-services.ts';
import { egressServiceMark } from '../../../../src/model/rules/egress-service-mark.ts';
import {
  egressServiceObject,
  type EgressServicePlace,
} from '../../../../src/model/zone/egress-services.ts';
import { service, withServices } from '../../../support/zone/services.ts';
import { exampleZone, factsOf } from '../../../support/zone/zones.ts';

const facts = (name: string, created: string): EgressServiceFacts => ({
  key: `blue/${name}`,
  namespace: 'blue',
  name,
  created,
  isByNetwork: false,
  host: 'ovn-worker',
  isHere: true,
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
  expect(zone.markedSource('blue/old', 'v4')).toEqual({ address: '10.9.0.1', mark });
  expect(zone.markedSource('blue/new', 'v4')).toBeUndefined();
  expect(zone.markedSource('blue/same', 'v4')?.address).toBe('10.9.0.2');
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
