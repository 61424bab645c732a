/** Which EgressIPs for classes of destinations serve which pods. */
import { expect, test } from 'vitest';
import type { EgressIp } from '../../../../src/model/read/egress-ips.ts';
import type { EgressClassTables } from '../../../../src/model/zone/egress-classes.ts';
import { secondaryLayer3, secondaryPod } from '../../../support/zone/zone-variants.ts';
import { bluePod, exampleZone, factsOf, type Zone } from '../../../support/zone/zones.ts';

const egressIp = (name: string, changes: Partial<EgressIp> = {}): EgressIp => ({
  name,
  created: '2026-01-01T00:00:00Z',
  namespaceSelector: {},
  podSelector: {},
  trafficSelector: { matchLabels: { group: name } },
  mark: 50_000,
  families: ['v4'],
  items: [{ node: 'ovn-worker', address: '172.18.0.200' }],
  isHere: true,
  ...changes,
});
const trafficClass = (name: string, ...cidrs: readonly string[]) => ({
  name,
  labels: { group: name },
  cidrs,
});
const zone: Zone = {
  ...exampleZone,
  attachments: [bluePod],
  pods: [{ namespace: 'blue', name: 'pod1', node: 'ovn-worker', labels: {}, namedPorts: [] }],
  egressIps: [egressIp('a')],
  trafficClasses: [trafficClass('a', '192.0.2.0/24'), trafficClass('b', '198.51.100.0/24')],
};
const usesOf = (facts: Pick<EgressClassTables, 'egressClassPorts'>) =>
  facts.egressClassPorts.all().flatMap(({ uses }) => uses);
const OWN = { addresses: ['103.103.0.3'] };

test('a class that comes, changes or goes changes where to, and not whom', () => {
  const facts = factsOf({ ...zone, trafficClasses: [] });
  const cidrs = () => facts.egressDestinations.peek('a')?.cidrs;
  expect(cidrs()).toEqual([]);
  expect(usesOf(facts)).toEqual([]);
  facts.trafficClasses.put('a', trafficClass('a', '192.0.2.0/24'));
  facts.refresh(0);
  expect(cidrs()).toEqual(['192.0.2.0/24']);
  expect(usesOf(facts)).toEqual([{ egressIp: 'a', ...OWN }]);
  facts.trafficClasses.put('a', { ...trafficClass('a', '192.0.2.0/24'), labels: {} });
  facts.refresh(0);
  expect(usesOf(facts)).toEqual([]);
});

test('a pod is served on its secondary network, too, where that has a gateway', () => {
  const served = (secondaryGateway?: string) =>
    usesOf(
      factsOf({
        ...zone,
        networks: [
          ...exampleZone.networks,
          { ...secondaryLayer3, ...(secondaryGateway === undefined ? {} : { secondaryGateway }) },
        ],
        attachments: [bluePod, secondaryPod],
      }),
    );
  expect(served('{}')).toEqual([
    { egressIp: 'a', ...OWN },
    { egressIp: 'a', addresses: ['10.80.0.5'] },
  ]);
  expect(served()).toEqual([{ egressIp: 'a', ...OWN }]);
});

test('disjoint ones serve a pod side by side; of overlapping ones the oldest has what all want', () => {
  const disjoint = factsOf({ ...zone, egressIps: [egressIp('a'), egressIp('b')] });
  expect(usesOf(disjoint)).toEqual([
    { egressIp: 'a', ...OWN },
    { egressIp: 'b', ...OWN },
  ]);
  const overlapping = factsOf({
    ...zone,
    egressIps: [egressIp('a', { created: '2026-02-01T00:00:00Z' }), egressIp('b'), egressIp('c')],
    trafficClasses: [
      trafficClass('a', '192.0.2.0/24', '203.0.113.0/24'),
      trafficClass('b', '192.0.2.128/25'),
      trafficClass('c', '203.0.113.0/24'),
    ],
  });
  expect(usesOf(overlapping)).toEqual([
    { egressIp: 'b', ...OWN },
    { egressIp: 'c', ...OWN },
    { egressIp: 'a', ...OWN, only: ['192.0.2.0/25'] },
  ]);
  expect(
    [...overlapping.modelProblems()].flatMap(({ object, message }) =>
      message.includes('overlap') ? [`${object} ${message.match(/EgressIP \w/)?.[0]}`] : [],
    ),
  ).toEqual(['EgressIP a EgressIP b', 'EgressIP a EgressIP c']);
});

test('what an EgressService has is no class of an EgressIP; with external routes an EgressIP comes first', () => {
  const facts = factsOf({
    ...zone,
    externalRoutes: [
      {
        name: 'hops',
        created: '',
        namespaceSelector: {},
        hops: [{ address: '172.18.0.50', isWatched: false }],
        pods: [],
      },
    ],
  });
  expect(facts.routedPods.all().map(({ routes, outranked }) => ({ routes, outranked }))).toEqual([
    { routes: [], outranked: OWN.addresses },
  ]);
});
