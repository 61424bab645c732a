/**
 * How rows of the Northbound database are recognised (topology.md §3, §21): by the marks of their network, by object ids of
 * kinds that we write, and where rows carry no mark, by exactly the names that they have on this node.
 */

import {
  contains,
  endsIn,
  familyOf,
  hasAddress,
  isAddress,
  isRange,
  macOf,
  nthAddress,
} from '../allocators/addresses.ts';
import { POD_SUBNET_OFFSETS } from '../allocators/node-addresses.ts';
import type { ClusterSettings, LocalNode } from '../model/model.ts';
import type { DatabaseRules, TableRules } from '../ovsdb/plan/desired.ts';
import type { FoundRow } from '../ovsdb/replica/replica-view.ts';
import { COPP, METERS } from './database.ts';
import { idsOf, isSet, mapOf, numberOf, textOf } from './found-rows.ts';
import { PORT_NODE_ID, ROUTE_NODE_ID } from './interconnect.ts';
import {
  identifiedPolicyKey,
  macBindingKey,
  meterBandKey,
  natKey,
  NB_GLOBAL_KEY,
  policyKey,
  routeKey,
} from './keys.ts';
import { localNames, DEFAULT_NETWORK, type LocalNames } from './names.ts';
import {
  JOIN_CLUSTER_ROUTER,
  POLICY_NODE_ADDRESS,
  POLICY_NO_REROUTE,
  QOS_EGRESS_IP_REPLY,
} from './numbers.ts';
import {
  MASQUERADE_ROUTE_ID,
  NETWORK_ID,
  OBJECT_ID,
  OWNER_TYPE_ID,
  TOPOLOGY_ID,
  type OwnerType,
} from './object-ids.ts';

/** What stays the same for the life of a zone: rules need no list of networks. */
export interface RulesContext {
  readonly settings: ClusterSettings;
  readonly node: Pick<LocalNode, 'name' | 'id'>;
}

/** Topologies whose rows we write; networks of others are left as they are. */
const RENDERED_TOPOLOGIES: ReadonlySet<string | undefined> = new Set(['layer3']);

const hasNetworkMark = (row: FoundRow): boolean => {
  const ids = idsOf(row);
  return ids.has(NETWORK_ID) && RENDERED_TOPOLOGIES.has(ids.get(TOPOLOGY_ID));
};

const isUnmarked = (row: FoundRow): boolean => idsOf(row).size === 0;

const nameKey = (row: FoundRow): string | undefined => textOf(row, 'name');

/** Key of a row that is known by an object id, wherever it hangs. */
const idKey = (row: FoundRow): string | undefined => idsOf(row).get(OBJECT_ID);

const isOwnedBy =
  (...types: readonly OwnerType[]) =>
  (row: FoundRow): boolean =>
    idsOf(row).has(OBJECT_ID) &&
    (types as readonly (string | undefined)[]).includes(idsOf(row).get(OWNER_TYPE_ID));

/** Prefix of a network from the name of one of its objects; undefined if the name is none. */
function prefixFrom(name: string | undefined, object: string): string | undefined {
  if (name === undefined || !name.endsWith(object)) return undefined;
  const prefix = name.slice(0, name.length - object.length);
  return prefix === '' || prefix.endsWith('_') ? prefix : undefined;
}

export function northboundRules(context: RulesContext): DatabaseRules {
  const names = localNames(DEFAULT_NETWORK, context.node.name);
  return {
    ...databaseTables(),
    ...groupTables(),
    Logical_Switch: {
      keyOf: nameKey,
      isOurs: (row) => hasNetworkMark(row) || isDefaultSwitch(row, names),
    },
    Logical_Switch_Port: {
      container: { table: 'Logical_Switch', column: 'ports' },
      keyOf: nameKey,
      isOurs: (row, container) => isSwitchPort(row, container?.key, names, context.node.name),
      // Written by ovn-northd.
      foreignColumns: ['up', 'dynamic_addresses', 'tag'],
    },
    Logical_Router: {
      keyOf: nameKey,
      isOurs: (row) =>
        hasNetworkMark(row) ||
        (nameKey(row) === names.clusterRouter && idsOf(row).has('k8s-cluster-router')) ||
        (nameKey(row) === names.gatewayRouter && idsOf(row).has('physical_ips')),
    },
    Logical_Router_Port: {
      container: { table: 'Logical_Router', column: 'ports' },
      keyOf: nameKey,
      isOurs: (row, container) => isRouterPort(row, container?.key, names, context.node.name),
      // Written by ovn-northd.
      foreignColumns: ['ipv6_prefix', 'status'],
    },
    Gateway_Chassis: {
      container: { table: 'Logical_Router_Port', column: 'gateway_chassis' },
      keyOf: nameKey,
      isOurs: (row, container) =>
        container?.key.startsWith('rtos-') === true &&
        nameKey(row) === `${container.key}-${textOf(row, 'chassis_name')}`,
    },
    Logical_Router_Static_Route: {
      container: { table: 'Logical_Router', column: 'static_routes' },
      keyOf: (row, container) =>
        container === undefined ? undefined : (idKey(row) ?? foundRouteKey(row, container.key)),
      isOurs: (row, container) => isRoute(row, container?.key, context, names),
    },
    Logical_Router_Policy: {
      container: { table: 'Logical_Router', column: 'policies' },
      keyOf: (row, container) => foundPolicyKey(row, container?.key),
      isOurs: (row, container) => isPolicy(row, container?.key, names),
    },
    NAT: {
      container: { table: 'Logical_Router', column: 'nat' },
      keyOf: (row, container) =>
        container === undefined ? undefined : (idKey(row) ?? foundNatKey(row, container.key)),
      isOurs: (row, container) =>
        hasNetworkMark(row) || isDefaultNat(row, container?.key, context, names),
    },
    QoS: {
      container: { table: 'Logical_Switch', column: 'qos_rules' },
      keyOf: idKey,
      isOurs: (row) =>
        isOwnedBy('EgressIP')(row) && numberOf(row, 'priority') === QOS_EGRESS_IP_REPLY,
    },
    Static_MAC_Binding: {
      keyOf: (row) => macBindingKey(textOf(row, 'logical_port') ?? '', textOf(row, 'ip') ?? ''),
      // Without marks of its own: on a gateway router of this node, with the MAC that we derive from the address.
      isOurs: (row) => {
        const ip = textOf(row, 'ip') ?? '';
        return (
          isOnGateway(row, context.node.name) && isAddress(ip) && textOf(row, 'mac') === macOf(ip)
        );
      },
      mayAdopt: (row) => isOnGateway(row, context.node.name),
    },
  };
}

const isOnGateway = (row: FoundRow, node: string): boolean =>
  prefixFrom(textOf(row, 'logical_port'), node)?.startsWith('rtoe-GR_') === true;

function databaseTables(): DatabaseRules {
  return {
    NB_Global: {
      // One row, everybody's: ours are a name and an option.
      keyOf: () => NB_GLOBAL_KEY,
      isOurs: () => false,
      mayAdopt: () => true,
      sharedColumns: ['options'],
      foreignColumns: [
        'nb_cfg',
        'nb_cfg_timestamp',
        'sb_cfg',
        'sb_cfg_timestamp',
        'hv_cfg',
        'hv_cfg_timestamp',
        'external_ids',
        'connections',
        'ssl',
        'ipsec',
      ],
    },
    Copp: { keyOf: nameKey, isOurs: (row) => nameKey(row) === COPP },
    Meter: { keyOf: nameKey, isOurs: (row) => METERS.includes(nameKey(row) ?? '') },
    Meter_Band: {
      container: { table: 'Meter', column: 'bands' },
      keyOf: (row, container) =>
        container === undefined
          ? undefined
          : meterBandKey(container.key, textOf(row, 'action') ?? ''),
      isOurs: (_row, container) => container !== undefined && METERS.includes(container.key),
    },
  };
}

function groupTables(): DatabaseRules {
  const loadBalancerGroup = /^(?:.*_)?cluster(?:Switch|Router)?LBGroup$/;
  return {
    Load_Balancer_Group: {
      keyOf: nameKey,
      isOurs: (row) => loadBalancerGroup.test(nameKey(row) ?? ''),
    },
    Port_Group: {
      keyOf: nameKey,
      isOurs: isOwnedBy('Cluster', 'Namespace', 'UDNIsolation'),
      // Nobody has a name that is a hash of our ids by chance.
      mayAdopt: isUnmarked,
      isolates: true,
    },
    Address_Set: {
      keyOf: nameKey,
      isOurs: isOwnedBy('EgressIP', 'EgressService', 'ClusterNodeIPs', 'UDNEnabledService'),
      mayAdopt: isUnmarked,
      isolates: true,
    },
    ACL: {
      keyOf: idKey,
      isOurs: isOwnedBy('NetpolNode', 'NetpolDefault', 'MulticastCluster', 'UDNIsolation'),
      isolates: true,
    },
  } satisfies Record<string, TableRules>;
}

function isDefaultSwitch(row: FoundRow, names: LocalNames): boolean {
  const name = nameKey(row);
  if (!isUnmarked(row)) return false;
  const config = mapOf(row, 'other_config');
  if (name === names.nodeSwitch) return config.has('subnet') || config.has('ipv6_prefix');
  if (name === names.transitSwitch) return config.get('interconn-ts') === name;
  return name === names.joinSwitch || name === names.externalSwitch;
}

/** Ports on a switch that carry no mark are known by names that the switch's own name gives them. */
function isSwitchPort(
  row: FoundRow,
  logicalSwitch: string | undefined,
  defaults: LocalNames,
  node: string,
): boolean {
  if (hasNetworkMark(row)) return true;
  if (logicalSwitch === undefined) return false;
  const name = nameKey(row) ?? '';
  const ids = idsOf(row);
  if (ids.get('pod') === 'true' && logicalSwitch === defaults.nodeSwitch) {
    return name.startsWith(`${ids.get('namespace') ?? ''}_`);
  }
  const transitPrefix = prefixFrom(logicalSwitch, 'transit_switch');
  if (transitPrefix !== undefined && ids.has(PORT_NODE_ID)) {
    return name === `${transitPrefix}tstor-${ids.get(PORT_NODE_ID)}`;
  }
  if (!isUnmarked(row)) return false;
  if (logicalSwitch === defaults.externalSwitch) {
    return (
      name === defaults.externalToGateway ||
      (textOf(row, 'type') === 'localnet' && name.endsWith(`_${node}`))
    );
  }
  if (prefixFrom(logicalSwitch, node) !== undefined) {
    return name === `stor-${logicalSwitch}` || name === `k8s-${logicalSwitch}`;
  }
  const joinPrefix = prefixFrom(logicalSwitch, 'join');
  if (joinPrefix === undefined) return false;
  return (
    name === `jtor-${joinPrefix}ovn_cluster_router` ||
    (joinPrefix === '' && name === defaults.joinToGateway)
  );
}

function isRouterPort(
  row: FoundRow,
  router: string | undefined,
  defaults: LocalNames,
  node: string,
): boolean {
  if (hasNetworkMark(row)) return true;
  const name = nameKey(row);
  if (router === defaults.gatewayRouter) {
    if (name === defaults.gatewayToJoin) return isUnmarked(row);
    return name === defaults.gatewayToExternal && idsOf(row).get('gateway-physical-ip') === 'yes';
  }
  const prefix = prefixFrom(router, 'ovn_cluster_router');
  if (prefix === undefined || !isUnmarked(row)) return false;
  return (
    name === `rtos-${prefix}${node}` ||
    name === `${prefix}rtots-${node}` ||
    (prefix === '' && name === defaults.routerToJoin)
  );
}

function foundRouteKey(row: FoundRow, router: string): string {
  return routeKey(router, {
    prefix: textOf(row, 'ip_prefix') ?? '',
    policy: textOf(row, 'policy'),
    outputPort: textOf(row, 'output_port'),
    nexthop: textOf(row, 'nexthop') ?? '',
  });
}

function foundPolicyKey(row: FoundRow, router: string | undefined): string | undefined {
  const id = idKey(row);
  const match = textOf(row, 'match') ?? '';
  if (id !== undefined) return identifiedPolicyKey(id, match);
  return router === undefined
    ? undefined
    : policyKey(router, numberOf(row, 'priority') ?? 0, match);
}

function foundNatKey(row: FoundRow, router: string): string {
  return natKey(router, {
    type: textOf(row, 'type') ?? '',
    logicalIp: textOf(row, 'logical_ip') ?? '',
    logicalPort: textOf(row, 'logical_port'),
    limited: isSet(row, 'allowed_ext_ips') || isSet(row, 'exempted_ext_ips'),
  });
}

function isRoute(
  row: FoundRow,
  router: string | undefined,
  context: RulesContext,
  defaults: LocalNames,
): boolean {
  const ids = idsOf(row);
  if (hasNetworkMark(row) || (ids.has(ROUTE_NODE_ID) && ids.has(NETWORK_ID))) return true;
  if (router === defaults.gatewayRouter && ids.has(MASQUERADE_ROUTE_ID)) return true;
  if (!isUnmarked(row)) return false;
  const prefix = textOf(row, 'ip_prefix') ?? '';
  const nexthop = textOf(row, 'nexthop') ?? '';
  const outputPort = textOf(row, 'output_port');
  if (!isAddress(nexthop)) return false;
  if (router === defaults.gatewayRouter) {
    if (outputPort !== undefined) {
      return (
        outputPort === defaults.gatewayToExternal && (prefix === '0.0.0.0/0' || prefix === '::/0')
      );
    }
    const join = context.settings.joinSubnets[familyOf(nexthop)];
    return join !== undefined && nexthop === nthAddress(join, JOIN_CLUSTER_ROUTER);
  }
  const networkPrefix = prefixFrom(router, 'ovn_cluster_router');
  if (networkPrefix === undefined || outputPort !== undefined) return false;
  if (textOf(row, 'policy') === 'src-ip') {
    // To this node's gateway router: its join address ends in the node's id, whatever the join subnet is.
    return endsIn(nexthop, context.node.id) || isManagementRoute(prefix, nexthop, networkPrefix);
  }
  return networkPrefix === '' && prefix === nexthop && endsIn(nexthop, context.node.id);
}

/** In local gateway mode pods of the default network leave through the host. */
function isManagementRoute(prefix: string, nexthop: string, networkPrefix: string): boolean {
  return (
    networkPrefix === '' &&
    isRange(prefix) &&
    contains(prefix, nexthop) &&
    hasAddress(prefix, POD_SUBNET_OFFSETS.managementPort) &&
    nexthop === nthAddress(prefix, POD_SUBNET_OFFSETS.managementPort)
  );
}

function isPolicy(row: FoundRow, router: string | undefined, defaults: LocalNames): boolean {
  const priority = numberOf(row, 'priority');
  if (isOwnedBy('EgressIP')(row)) return priority === POLICY_NO_REROUTE;
  if (priority !== POLICY_NODE_ADDRESS) return false;
  if (hasNetworkMark(row)) return true;
  return (
    router === defaults.clusterRouter &&
    isUnmarked(row) &&
    (textOf(row, 'match') ?? '').endsWith(`/* ${defaults.nodeSwitch} */`)
  );
}

function isDefaultNat(
  row: FoundRow,
  router: string | undefined,
  context: RulesContext,
  defaults: LocalNames,
): boolean {
  if (router !== defaults.gatewayRouter || !isUnmarked(row)) return false;
  if (textOf(row, 'type') !== 'snat' || isSet(row, 'logical_port')) return false;
  const logicalIp = textOf(row, 'logical_ip') ?? '';
  if (!isRange(logicalIp)) return false;
  const { joinSubnets, clusterSubnets } = context.settings;
  return [
    ...(Object.values(joinSubnets) as string[]),
    ...clusterSubnets.map(({ cidr }) => cidr),
  ].some((cidr) => contains(cidr, logicalIp));
}
