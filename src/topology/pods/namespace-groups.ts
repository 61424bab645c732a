/** Groups of the pods of a namespace on a network, for rules per namespace (reference/topology.md §5). */

import { DEFAULT_NAD_KEY } from '../../api/nad/nad-key.ts';
import { feature } from '../../desired/features.ts';
import { union } from '../../facts/keys.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import { controllerOf } from '../../model/rules/names.ts';
import { DEFAULT_NETWORK } from '../../model/read/networks.ts';
import type { NetworkName } from '../../model/model.ts';
import { networkOf, networkRank, networkObjects } from '../networks/network-feature.ts';
import { addPortGroup, namespacePortGroup, PORT_GROUP_CLAIM } from '../rows/port-groups.ts';
import { Rows } from '../rows/unit-rows.ts';

/** The default network is everybody's. */
export const defaultNamespaceGroups = feature({
  name: 'pods/default-namespace-groups',
  over: (facts: ZoneFacts) => facts.namespaces,
  subject: () => DEFAULT_NETWORK,
  objects: (facts) => networkObjects(facts, [DEFAULT_NETWORK]),
  rules: {
    group: {
      text: 'The default network has a group of the pods of each namespace, where a feature has rules per namespace.',
      source: 'reference/topology.md §5',
    },
  },
  claims: [PORT_GROUP_CLAIM],
  build(facts, [namespace], out) {
    const object = facts.rendered.part(DEFAULT_NETWORK, 'object');
    if (object === undefined || !facts.isGrouped(DEFAULT_NAD_KEY, namespace)) return;
    addGroup(Rows.northbound(out, object), DEFAULT_NETWORK, namespace);
  },
});

export const namespaceGroups = feature({
  name: 'pods/namespace-groups',
  over: ({ groupedNamespaces, gatewayGroups }: ZoneFacts) =>
    union<[network: string, namespace: string]>(groupedNamespaces.distinct('group'), gatewayGroups),
  rank: networkRank,
  subject: networkOf,
  objects: networkObjects,
  rules: {
    group: {
      text: 'A primary network has a group of the pods of each namespace that it serves, a secondary one with a gateway of each that has pods here, where a feature has rules per namespace.',
      source: 'reference/topology.md §5',
    },
  },
  claims: [PORT_GROUP_CLAIM],
  build(facts, [network, namespace], out) {
    const object = facts.rendered.part(network, 'object');
    if (object === undefined) return;
    addGroup(Rows.northbound(out, object), network as NetworkName, namespace);
  },
});

const addGroup = (rows: Rows, network: NetworkName, namespace: string): void =>
  addPortGroup(rows.by('group'), namespacePortGroup(controllerOf(network), namespace));
