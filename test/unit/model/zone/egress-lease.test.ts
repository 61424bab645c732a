import { expect, test } from 'vitest';
import type { EgressIp } from '../../../../src/model/read/egress-ips.ts';
import type { EgressLeaseState } from '../../../../src/model/zone/egress-lease.ts';
import { Unreadable } from '../../../../src/facts/unreadable.ts';
import { exampleZone, factsOf } from '../../../support/zone/zones.ts';

const HERE = 'ovn-worker';
const egressIp: EgressIp = {
  name: 'out',
  created: '2026-01-01T00:00:00Z',
  namespaceSelector: {},
  podSelector: {},
  mark: 50_000,
  families: ['v4'],
  items: [
    { node: HERE, address: '172.18.0.200' },
    { node: 'elsewhere', address: '172.18.0.201' },
  ],
  isHere: true,
};

/** Addresses here, and all by which pods leave. */
const places = (state?: EgressLeaseState): readonly (readonly string[])[] => {
  const facts = factsOf({ ...exampleZone, egressIps: [egressIp] });
  if (state !== undefined) facts.egressLease.put([], { state });
  facts.refresh(0);
  const all = facts.egressPlaces.get('out')?.addresses ?? [];
  return [facts.egressAddressesHere('out'), all].map((some) => some.map(({ address }) => address));
};

test('a node has its egress addresses where nobody asks for its health, and while its lease is held', () => {
  const both = [['172.18.0.200'], ['172.18.0.200', '172.18.0.201']];
  expect(places()).toEqual(both);
  expect(places('held')).toEqual(both);
});

test('without its lease it has none, and its pods leave by the nodes that have some', () => {
  expect(places('lost')).toEqual([[], ['172.18.0.201']]);
});

test('while that is not known what is there stays', () => {
  expect(() => places('unknown')).toThrow(Unreadable);
});

test('what the bridge lets pass for its gateway router is known whether or not it may have them: OVN may mark it first', () => {
  for (const state of ['unknown', 'held', 'lost'] as const) {
    const facts = factsOf({ ...exampleZone, egressIps: [egressIp] });
    facts.egressLease.put([], { state });
    facts.refresh(0);
    expect(facts.gatewayEgressAddresses('out'), state).toEqual(['172.18.0.200']);
  }
});
