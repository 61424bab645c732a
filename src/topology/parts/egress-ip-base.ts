/** What EgressIP needs on every primary network before any pod uses it (reference/topology.md §18.1). */

import { familyOf, type Family } from '../../allocators/addresses.ts';
import { DEFAULT_CONTROLLER } from '../../model/rules/names.ts';
import {
  addOpenAddressSet,
  ADDRESS_SET_CLAIM,
  egressIpPods,
  egressServicePods,
  enabledServiceIps,
  nodeIps,
} from '../rows/address-sets.ts';
import type { NetworkOnNode } from './network-on-node.ts';
import type { NetworkPart } from './part.ts';
import {
  MARK_EGRESS_REPLY,
  MARK_EGRESS_TO_NODE,
  POLICY_NO_REROUTE,
  QOS_EGRESS_IP_REPLY,
} from '../numbers.ts';
import { OBJECT_ID, objectIds, type ExternalIds } from '../rows/object-ids.ts';
import { addAllowPolicy, addRoute, POLICY_CLAIM, ROUTE_CLAIM } from '../rows/router-rows.ts';
import { holds, type Rows } from '../rows/unit-rows.ts';
import { QOS_CLAIM } from '../rows/switch-rows.ts';

const protocolOf = (family: Family): 'ip4' | 'ip6' => (family === 'v4' ? 'ip4' : 'ip6');

const egressIpIds = (
  priority: number,
  name: string,
  family: 'ip' | 'ip4' | 'ip6',
  network: string,
): ExternalIds & { readonly [OBJECT_ID]: string } =>
  objectIds(DEFAULT_CONTROLLER, 'EgressIP', {
    priority: String(priority),
    name,
    'ip-family': family,
    network,
  });

export const egressIpBase: NetworkPart = {
  rules: {
    'keep-way': {
      text: 'Traffic between pods, to gateway routers, to nodes and to services open to all keeps its way, whatever egress IP its pod has.',
      source: 'reference/topology.md §18.1',
    },
    'mark-replies': {
      text: 'Replies of pods with an egress IP are marked on their switch, so that they go back the way that the request came.',
      source: 'reference/topology.md §18.1',
    },
    'served-pods': {
      text: 'Pods of a network that leave with an egress IP are in one address set per family.',
      source: 'reference/topology.md §18.1',
    },
    'rerouted-pods': {
      text: "Pods of other nodes that are rerouted here leave through this node's gateway router.",
      source: 'reference/topology.md §7.4',
    },
  },
  claims: [POLICY_CLAIM, QOS_CLAIM, ADDRESS_SET_CLAIM, ROUTE_CLAIM],
  build(rows, onNode) {
    if (!onNode.settings.features.egressIp || !onNode.isPrimary || onNode.podRanges.length === 0)
      return;
    const keepWay = rows.by('keep-way');
    addNoReroute(keepWay, onNode, 'reply-traffic', 'ip', `pkt.mark == ${MARK_EGRESS_REPLY}`);
    for (const { cidr } of onNode.network.subnets) addSubnetPolicies(keepWay, onNode, cidr);
    // Families of the cluster, whatever those of the network: pods have an egress IP of either.
    for (const family of onNode.clusterFamilies) {
      addFamilyPolicies(keepWay, onNode, family);
      addReplyMark(rows.by('mark-replies'), onNode, family);
      addOpenAddressSet(rows.by('served-pods'), egressIpPods(family, onNode.network.name));
    }
    addRoutesForReroutedPods(rows.by('rerouted-pods'), onNode);
  },
};

function addNoReroute(
  rows: Rows,
  onNode: NetworkOnNode,
  name: string,
  family: 'ip' | 'ip4' | 'ip6',
  match: string,
  options?: Readonly<Record<string, string>>,
): void {
  addAllowPolicy(rows, onNode.names.clusterRouter, {
    ids: egressIpIds(POLICY_NO_REROUTE, `EIP-No-Reroute-${name}`, family, onNode.network.name),
    priority: POLICY_NO_REROUTE,
    match,
    options,
  });
}

function addSubnetPolicies(rows: Rows, onNode: NetworkOnNode, cidr: string): void {
  const family = familyOf(cidr);
  const ip = protocolOf(family);
  const pods = `${ip}.src == ${cidr}`;
  addNoReroute(rows, onNode, 'Pod-To-Pod', ip, `${pods} && ${ip}.dst == ${cidr}`);
  // Always the default network's join subnet, also for networks that have their own.
  const join = onNode.settings.joinSubnets[family];
  if (join === undefined) return;
  addNoReroute(rows, onNode, 'Pod-To-Join', ip, `${pods} && ${ip}.dst == ${join}`);
}

function addFamilyPolicies(rows: Rows, onNode: NetworkOnNode, family: Family): void {
  const ip = protocolOf(family);
  const served = [egressIpPods(family, onNode.network.name), egressServicePods(family)]
    .map((set) => `${ip}.src == $${set.name}`)
    .join(' || ');
  addNoReroute(
    rows,
    onNode,
    'Pod-To-Node',
    ip,
    `(${served}) && ${ip}.dst == $${nodeIps(family).name}`,
    { pkt_mark: String(MARK_EGRESS_TO_NODE) },
  );
  if (onNode.isDefault) return;
  addNoReroute(
    rows,
    onNode,
    'Pod-To-CDN-Svc',
    ip,
    `(${served}) && ${ip}.dst == $${enabledServiceIps(family).name}`,
  );
}

function addReplyMark(rows: Rows, onNode: NetworkOnNode, family: Family): void {
  const ids = egressIpIds(
    QOS_EGRESS_IP_REPLY,
    'EgressIP-Mark-Reply-Traffic',
    protocolOf(family),
    onNode.network.name,
  );
  rows.keyed(
    'QoS',
    ids[OBJECT_ID],
    {
      direction: 'from-lport',
      priority: QOS_EGRESS_IP_REPLY,
      match: `${protocolOf(family)}.src == $${egressIpPods(family, onNode.network.name).name} && ct.trk && ct.rpl`,
      action: new Map([['mark', MARK_EGRESS_REPLY]]),
      external_ids: ids,
    },
    holds('Logical_Switch', onNode.names.nodeSwitch, 'qos_rules'),
  );
}

function addRoutesForReroutedPods(rows: Rows, onNode: NetworkOnNode): void {
  if (onNode.gateway === undefined) return;
  for (const { cidr } of onNode.network.subnets) {
    const link = onNode.links.find((link) => link.family === familyOf(cidr));
    // A network of one node, or of one subnet for all: the route of its pods (management-port.ts, routes.ts) is the route of all pods.
    if (link === undefined || onNode.podRanges.some((range) => range.cidr === cidr)) continue;
    addRoute(rows, onNode.names.clusterRouter, {
      prefix: cidr,
      nexthop: link.gateway,
      policy: 'src-ip',
      externalIds: {},
    });
  }
}
