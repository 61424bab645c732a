/** The router that joins a Layer3 network's pods, gateways and nodes (reference/topology.md §7.1). */

import { RowReference } from '../../desired/rows.ts';
import { COPP } from '../database/protection.ts';
import type { NetworkPart } from './part.ts';
import { ROUTER_CLAIM } from '../rows/router-rows.ts';

export const distributedRouter: NetworkPart = {
  rules: {
    'distributed-router': {
      text: 'One distributed router per Layer3 network and zone joins the pods of this node, the gateway and the other zones.',
      source: 'reference/topology.md §7.1',
    },
  },
  claims: [ROUTER_CLAIM],
  build(rows, onNode) {
    const { names, settings } = onNode;
    rows.by('distributed-router').named('Logical_Router', names.clusterRouter, {
      copp: new RowReference('Copp', COPP),
      options: {
        always_learn_from_arp_request: 'false',
        ...(settings.features.multicast && onNode.isPrimary ? { mcast_relay: 'true' } : {}),
        ...(onNode.mode === 'local' && !onNode.isDefault ? { 'ct-commit-all': 'true' } : {}),
      },
      external_ids: { ...onNode.networkIds, 'k8s-cluster-router': 'yes' },
    });
  },
};
