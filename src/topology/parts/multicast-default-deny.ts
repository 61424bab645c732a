/** Multicast is denied by default and flooded between nodes (reference/topology.md §16.4). */

import { controllerOf } from '../../model/rules/names.ts';
import { ACL_CLAIM, addAcl, DIRECTIONS, ofGroup } from '../rows/acls.ts';
import type { NetworkPart } from './part.ts';
import {
  ACL_MULTICAST_ALLOW,
  ACL_MULTICAST_DENY,
  POLICY_MULTICAST,
  TIER_POLICY,
} from '../numbers.ts';
import { objectIds } from '../rows/object-ids.ts';
import { clusterPortGroup, clusterRouterPortGroup } from '../rows/port-groups.ts';
import { addAllowPolicy, POLICY_CLAIM } from '../rows/router-rows.ts';
import { holds } from '../rows/unit-rows.ts';
import { ALL_MULTICAST } from '../multicast/matches.ts';

export const multicastDeny: NetworkPart = {
  rules: {
    'multicast-deny': {
      text: 'Pods neither send nor receive multicast unless their namespace asks for it.',
      source: 'reference/topology.md §16.4',
    },
    'multicast-keeps-way': {
      text: 'Multicast goes to those who joined, whichever way other traffic of its sender leaves.',
      source: 'reference/topology.md §16.4',
    },
    'multicast-between-nodes': {
      text: 'Multicast that was let out passes between nodes.',
      source: 'reference/topology.md §16.4',
    },
  },
  claims: [ACL_CLAIM, POLICY_CLAIM],
  build(rows, onNode) {
    if (!onNode.settings.features.multicast || !onNode.isPrimary) return;
    const controller = controllerOf(onNode.network.name);
    const pods = clusterPortGroup(controller).name;
    const routers = clusterRouterPortGroup(controller).name;
    if (onNode.network.topology !== 'layer2')
      addAllowPolicy(rows.by('multicast-keeps-way'), onNode.names.clusterRouter, {
        ids: objectIds(controller, 'MulticastCluster', { type: 'KeepWay' }),
        priority: POLICY_MULTICAST,
        match: 'ip4.mcast || ip6.mcast',
      });
    for (const direction of DIRECTIONS) {
      addAcl(
        rows.by('multicast-deny'),
        {
          ids: objectIds(controller, 'MulticastCluster', { type: 'DefaultDeny', direction }),
          direction,
          priority: ACL_MULTICAST_DENY,
          tier: TIER_POLICY,
          action: 'drop',
          match: ALL_MULTICAST,
          afterLoadBalancing: true,
        },
        holds('Port_Group', pods, 'acls'),
      );
      addAcl(
        rows.by('multicast-between-nodes'),
        {
          ids: objectIds(controller, 'MulticastCluster', { type: 'AllowInterNode', direction }),
          direction,
          priority: ACL_MULTICAST_ALLOW,
          tier: TIER_POLICY,
          action: 'allow',
          match: `${ofGroup(direction, routers)} && ${ALL_MULTICAST}`,
          afterLoadBalancing: true,
        },
        holds('Port_Group', routers, 'acls'),
      );
    }
  },
};
