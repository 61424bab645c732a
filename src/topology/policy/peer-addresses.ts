/** Addresses of the pods that policies select as peers, or that may send multicast, one set per selection and family, shared by policies (reference/topology.md §16.1). */

import type { Family } from '../../allocators/addresses.ts';
import type { SetVersion } from '../../facts/counted-set.ts';
import { union } from '../../facts/keys.ts';
import { feature, type Sink } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { controllerOf } from '../../model/rules/names.ts';
import {
  ADDRESS_SET_CLAIM,
  addAddressSet,
  podsWithPort,
  selectedPods,
  type AddressSet,
} from '../rows/address-sets.ts';
import { networkOf, networkRank, networkObjects } from '../networks/network-feature.ts';
import { Rows } from '../rows/unit-rows.ts';
import { familiesOf } from './placed.ts';

export const podAddresses = feature({
  name: 'policy/pod-addresses',
  over: ({ placements, multicast }: ZoneFacts) =>
    union(placements.distinct('selection'), multicast.distinct('selection')),
  rank: networkRank,
  subject: networkOf,
  objects: networkObjects,
  rules: {
    addresses: {
      text: 'Pods of all nodes that policies select as peers, or that may send multicast to each other, are in a set by their addresses on the network.',
      source: 'reference/topology.md §16.1',
    },
  },
  claims: [ADDRESS_SET_CLAIM],
  build(facts, [network, selection], out) {
    addSets(facts, network, out, (family) => [
      selectedPods(controllerOf(network), selection, family),
      facts.addressesOf(network, selection, family),
    ]);
  },
});

export const portAddresses = feature({
  name: 'policy/port-addresses',
  over: (facts: ZoneFacts) => facts.namedNumbers,
  rank: networkRank,
  subject: networkOf,
  objects: networkObjects,
  rules: {
    addresses: {
      text: 'Pods that call a port by a name that a policy means are in a set per number.',
      source: 'reference/topology.md §16.1',
    },
  },
  claims: [ADDRESS_SET_CLAIM],
  build(facts, key, out) {
    const port = facts.namedNumbers.get(...key);
    if (port === undefined) return;
    const { network, selection } = port;
    addSets(facts, network, out, (family) => [
      podsWithPort(controllerOf(network), selection, port, family),
      facts.addressesWithPort(key, family),
    ]);
  },
});

/** A set for each family of the network. */
function addSets(
  facts: ZoneFacts,
  network: string,
  out: Sink,
  setOf: (family: Family) => readonly [set: AddressSet, addresses: SetVersion],
): void {
  const object = facts.rendered.part(network, 'object');
  if (object === undefined) return;
  facts.requireOtherPods();
  const rows = Rows.northbound(out, object).by('addresses');
  for (const family of familiesOf(facts, network)) addAddressSet(rows, ...setOf(family));
}
