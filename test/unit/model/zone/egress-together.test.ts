/** Several egress objects for one pod, and what changes under it (reference/egress.md §6.2). */
import { expect, test } from 'vitest';
import type { EgressIp } from '../../../../src/model/read/egress-ips.ts';
import type { ExternalRoute } from '../../../../src/model/read/external-routes.ts';
import type { ZoneFacts } from '../../../../src/model/zone/zone.ts';
import {
  bluePod,
  exampleZone,
  factsOf,
  more,
  morePod,
  putZone,
  type Zone,
} from '../../../support/zone/zones.ts';

const egressIp: EgressIp = {
  name: 'out',
  created: '2026-01-01T00:00:00Z',
  namespaceSelector: {},
  podSelector: { matchLabels: { leaves: 'fixed' } },
  mark: 50_000,
  families: ['v4'],
  items: [{ node: 'ovn-worker2', address: '172.18.0.200' }],
  isHere: false,
};
const route: ExternalRoute = {
  name: 'hops',
  created: '',
  namespaceSelector: {},
  hops: [{ address: '172.18.0.50', isWatched: false }],
  pods: [],
};
const ATTACHMENTS = [bluePod, morePod];
const zoneWith = (labels: Readonly<Record<string, string>>, attachments = ATTACHMENTS): Zone => ({
  ...exampleZone,
  networks: [...exampleZone.networks, more],
  attachments,
  pods: attachments.map(({ namespace, pod: name, node }) => ({
    namespace,
    name,
    node,
    labels,
    namedPorts: [],
  })),
  egressIps: [egressIp],
  externalRoutes: [route],
});
/** Per network, how its pods leave. */
const waysOf = (facts: ZoneFacts): Readonly<Record<string, readonly string[]>> => {
  const found: Record<string, string[]> = {};
  for (const key of ATTACHMENTS.map(
    ({ namespace, pod, nadKey }) => [namespace, pod, nadKey] as const,
  )) {
    const [byAddress, byHop] = [facts.egressPorts.peek(...key), facts.routedPods.peek(...key)];
    for (const address of byAddress?.addresses ?? [])
      (found[byAddress?.network ?? ''] ??= []).push(`${address} by ${byAddress?.egressIp}`);
    for (const { source, address } of byHop?.routes ?? [])
      (found[byHop?.network ?? ''] ??= []).push(`${source} by ${address}`);
  }
  return found;
};
const BY_HOPS = {
  blue_blue: ['103.103.0.3 by 172.18.0.50'],
  blue_more: ['109.109.0.3 by 172.18.0.50'],
};
const BY_EGRESS_IP = { blue_blue: ['103.103.0.3 by out'], blue_more: ['109.109.0.3 by out'] };

test('each address leaves one way at a time, on both primary networks of a namespace, as labels change', () => {
  const facts = factsOf(zoneWith({}));
  expect(waysOf(facts)).toEqual(BY_HOPS);
  putZone(facts, zoneWith({}), zoneWith({ leaves: 'fixed' }));
  facts.refresh(0);
  expect(waysOf(facts)).toEqual(BY_EGRESS_IP);
  putZone(facts, zoneWith({ leaves: 'fixed' }), zoneWith({}));
  facts.refresh(0);
  expect(waysOf(facts)).toEqual(BY_HOPS);
});

test.each([
  ['EgressIP', { leaves: 'fixed' }, BY_EGRESS_IP],
  ['next hops', {}, BY_HOPS],
] as const)('a pod that goes takes along its %s, and nothing else', (_by, labels, ways) => {
  const facts = factsOf(zoneWith(labels));
  putZone(facts, zoneWith(labels), zoneWith(labels, [bluePod]));
  facts.refresh(0);
  expect(waysOf(facts)).toEqual({ blue_blue: ways.blue_blue });
});
