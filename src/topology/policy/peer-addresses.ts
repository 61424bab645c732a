/** Addresses of the pods that policies select as peers, or that may send multicast, one set per selection and family, shared by policies (reference/topology.md §16.1). */

import { union } from '../../facts/keys.ts';
import type { Feature } from '../../desired/features.ts';
import type { ZoneFacts } from '../../model/zone/facts.ts';
import type { NetworkName } from '../../model/model.ts';
import { controllerOf } from '../../model/rules/names.ts';
import {
  ADDRESS_SET_CLAIM,
  addAddressSet,
  podsWithPort,
  selectedPods,
} from '../rows/address-sets.ts';
import { networkOf, networkRank, networkObjects } from '../networks/network-feature.ts';
import { Rows } from '../rows/unit-rows.ts';
import { familiesOf } from './placed.ts';

export const podAddresses: Feature<ZoneFacts> = {
  name: 'policy/pod-addresses',
  over: ({ policing }) =>
    union(
      policing.placements.distinct('selection', 2),
      policing.multicast.distinct('selection', 2),
    ),
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
  build(facts, [network = '', selection = ''], out) {
    const object = facts.rendered.part(network, 'object');
    if (object === undefined) return;
    facts.requireOtherPods();
    const rows = Rows.northbound(out, object).by('addresses');
    const controller = controllerOf(network as NetworkName);
    for (const family of familiesOf(facts, network))
      addAddressSet(
        rows,
        selectedPods(controller, selection, family),
        facts.policing.addressesOf(network, selection, family),
      );
  },
};

export const portAddresses: Feature<ZoneFacts> = {
  name: 'policy/port-addresses',
  over: (facts) => facts.policing.namedNumbers,
  rank: (facts, [selection = '']) => networkRank(facts, JSON.parse(selection) as string[]),
  subject: (_facts, [selection = '']) => (JSON.parse(selection) as string[])[0],
  objects: (facts, [selection = '']) => networkObjects(facts, JSON.parse(selection) as string[]),
  rules: {
    addresses: {
      text: 'Pods that call a port by a name that a policy means are in a set per number.',
      source: 'reference/topology.md §16.1',
    },
  },
  claims: [ADDRESS_SET_CLAIM],
  build(facts, key, out) {
    const port = facts.policing.namedNumbers.get(...key);
    if (port === undefined) return;
    const [network = '', selection = ''] = JSON.parse(port.selection) as string[];
    const object = facts.rendered.part(network, 'object');
    if (object === undefined) return;
    facts.requireOtherPods();
    const rows = Rows.northbound(out, object).by('addresses');
    const controller = controllerOf(network as NetworkName);
    for (const family of familiesOf(facts, network))
      addAddressSet(
        rows,
        podsWithPort(controller, selection, port, family),
        facts.policing.addressesWithPort(key, family),
      );
  },
};
