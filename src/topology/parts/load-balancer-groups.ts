/** Groups through which services reach the switches and gateway routers of a network (reference/topology.md §7.1). */

import { RowReference } from '../../desired/rows.ts';
import {
  clusterRouter,
  layer2Switch,
  loadBalancerGroups as groupsOf,
} from '../../model/rules/names.ts';
import { connectOfServices, connectRouter } from '../connect/connect-rows.ts';
import { claimByName, textOf } from '../rows/found.ts';
import { holds, NORTHBOUND } from '../rows/unit-rows.ts';
import type { NetworkPart } from './part.ts';

const GROUP_NAME = /^(.*)cluster(?:Switch|Router)?LBGroup$/;

/** The table has no `external_ids`: a group belongs to the network whose prefix it has, or to the connection that it names. */
export const LOAD_BALANCER_GROUP_CLAIM = claimByName(NORTHBOUND, 'Load_Balancer_Group', {
  markedBy(row) {
    const name = textOf(row, 'name') ?? '';
    const connect = connectOfServices(name);
    if (connect !== undefined) return [new RowReference('Logical_Router', connectRouter(connect))];
    const prefix = GROUP_NAME.exec(name)?.[1];
    return prefix === undefined
      ? []
      : [
          new RowReference('Logical_Router', clusterRouter(prefix)),
          new RowReference('Logical_Switch', layer2Switch(prefix)),
        ];
  },
});

export const loadBalancerGroups: NetworkPart = {
  rules: {
    'load-balancer-groups': {
      text: 'Each network has three groups of load balancers: for its switches and gateway routers, for its switches alone, for its gateway routers alone.',
      source: 'reference/topology.md §7.1',
    },
  },
  claims: [LOAD_BALANCER_GROUP_CLAIM],
  build(all, onNode) {
    const rows = all.by('load-balancer-groups');
    const groups = groupsOf(onNode.names.prefix);
    // Without a subnet on this node a Layer3 network has no switch here.
    const onSwitch =
      onNode.network.topology === 'layer3' && onNode.podRanges.length === 0
        ? []
        : [holds('Logical_Switch', onNode.names.nodeSwitch, 'load_balancer_group')];
    const onGateway =
      onNode.gateway === undefined
        ? []
        : [holds('Logical_Router', onNode.names.gatewayRouter, 'load_balancer_group')];
    rows.named('Load_Balancer_Group', groups.all, {}, ...onSwitch, ...onGateway);
    rows.named('Load_Balancer_Group', groups.switches, {}, ...onSwitch);
    rows.named(
      'Load_Balancer_Group',
      groups.routers,
      {},
      ...(onNode.gateway?.nodePortEnable === true ? onGateway : []),
    );
  },
};
