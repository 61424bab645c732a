/** Port groups that a network's ACLs are for, whatever its namespaces (reference/topology.md §5). */

import { controllerOf } from '../../model/rules/names.ts';
import {
  addPortGroup,
  clusterPortGroup,
  clusterRouterPortGroup,
  PORT_GROUP_CLAIM,
} from '../rows/port-groups.ts';
import type { NetworkPart } from './part.ts';

export const podGroups: NetworkPart = {
  rules: {
    'cluster-port-groups': {
      text: 'A network with gateways has a group of its management port, whose ACLs cover the whole switch, and a group of its ports to routers.',
      source: 'reference/topology.md §5',
    },
  },
  claims: [PORT_GROUP_CLAIM],
  build(rows, onNode) {
    if (!onNode.hasGateway) return;
    const controller = controllerOf(onNode.network.name);
    addPortGroup(rows.by('cluster-port-groups'), clusterPortGroup(controller));
    addPortGroup(rows.by('cluster-port-groups'), clusterRouterPortGroup(controller));
  },
};
