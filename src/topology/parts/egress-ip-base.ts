/** What EgressIP and EgressService need on every primary network before any pod uses it (reference/topology.md §18.1, reference/egress.md §1.13). */

import { familyOf, type Family } from '../../allocators/addresses.ts';
import { RowReference } from '../../desired/rows.ts';
import type { Network } from '../../model/model.ts';
import { DEFAULT_CONTROLLER, layer3Names } from '../../model/rules/names.ts';
import { joinSubnet } from '../../model/rules/network-addresses.ts';
import type { ZoneFacts } from '../../model/zone/zone.ts';
import {
  type AddressSet,
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
  MARK_OWN_POD,
  POLICY_EGRESS_ARRIVAL,
  POLICY_EGRESS_DROP,
  POLICY_EGRESS_GATEWAY_DROP,
  POLICY_LAYER2_OWN_PODS,
  POLICY_LAYER2_TO_GATEWAYS,
  POLICY_NO_REROUTE,
  QOS_EGRESS_IP_REPLY,
} from '../numbers.ts';
import { OBJECT_ID, objectIds, type ExternalIds } from '../rows/object-ids.ts';
import {
  addAllowPolicy,
  addDropPolicy,
  addRoute,
  POLICY_CLAIM,
  ROUTE_CLAIM,
} from '../rows/router-rows.ts';
import { holds, type Rows } from '../rows/unit-rows.ts';
import { QOS_CLAIM } from '../rows/switch-rows.ts';

/**
 * Replies of these pods that may have to leave. Those to pods of the network, and to its gateway routers where others ask by them over the external bridge,
 * have their way without a mark, and with one Open vSwitch's userspace datapath finds no way for their tunnels.
 */
export function repliesOut(
  pods: string,
  family: Family,
  facts: ZoneFacts,
  network: Network,
): string {
  const ip = protocolOf(family);
  const inside = network.subnets
    .map(({ cidr }) => cidr)
    .filter((cidr) => familyOf(cidr) === family)
    .concat(bridgedJoin(facts, network, family) ?? []);
  return [
    `${ip}.src == ${pods} && ct.trk && ct.rpl`,
    ...inside.map((cidr) => `${ip}.dst != ${cidr}`),
  ].join(' && ');
}

/** Join subnet of a network whose services others reach over the external bridge (connect/bridged-services.ts): by it gateway routers ask for them. */
function bridgedJoin(facts: ZoneFacts, network: Network, family: Family): string | undefined {
  const isBridged = facts.connects.keysBy('bridgedTo', String(network.id)).length > 0;
  return isBridged ? joinSubnet(facts.settings, network, family) : undefined;
}

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
    'rerouted-pods': {
      text: "Pods of other nodes that are rerouted here leave through this node's gateway router.",
      source: 'reference/topology.md §7.4',
    },
    'no-other-source': {
      text: 'What pods of other nodes send here to leave is dropped unless it leaves with their egress IP: with that of this node it never does.',
      source: 'reference/topology.md §18.1',
    },
  },
  claims: [POLICY_CLAIM, QOS_CLAIM, ROUTE_CLAIM],
  build(rows, onNode) {
    const { egressIp, egressService } = onNode.settings.features;
    if (!(egressIp || egressService) || !onNode.hasGateway || onNode.podRanges.length === 0) return;
    const keepWay = rows.by('keep-way');
    addNoReroute(keepWay, onNode, 'reply-traffic', 'ip', `pkt.mark == ${MARK_EGRESS_REPLY}`);
    for (const { cidr } of onNode.network.subnets) addSubnetPolicies(keepWay, onNode, cidr);
    // Families of the cluster, whatever those of the network: pods have an egress IP of either.
    for (const family of onNode.clusterFamilies) {
      addFamilyPolicies(keepWay, onNode, family);
      addReplyMark(rows.by('mark-replies'), onNode, family);
    }
    addRoutesForReroutedPods(rows.by('rerouted-pods'), onNode);
    if (isLeftAlone(onNode)) return;
    for (const { cidr } of onNode.network.subnets)
      (onNode.network.topology === 'layer2' ? addLayer2Drop : addLayer3Drop)(
        rows.by('no-other-source'),
        onNode,
        cidr,
      );
  },
};

/**
 * While it is not known whether this node may have its egress addresses, nothing that passes is written (egress-ips.ts). What an ovn-kubernetes let
 * pass goes on, and is not dropped before that; where nobody did the drop comes first.
 */
function isLeftAlone({ facts, network }: NetworkOnNode): boolean {
  return (
    facts.egressLeft.get(network.name) !== undefined &&
    facts.egressLease.get()?.state === 'unknown' &&
    facts.egressIps.keysBy('here').length > 0
  );
}

function addNoReroute(
  rows: Rows,
  onNode: NetworkOnNode,
  name: string,
  family: 'ip' | 'ip4' | 'ip6',
  match: string,
  {
    options,
    sets,
  }: {
    readonly options?: Readonly<Record<string, string>>;
    readonly sets?: readonly AddressSet[];
  } = {},
): void {
  addAllowPolicy(rows, onNode.names.clusterRouter, {
    ids: egressIpIds(POLICY_NO_REROUTE, `EIP-No-Reroute-${name}`, family, onNode.network.name),
    priority: POLICY_NO_REROUTE,
    match,
    options,
    ...(sets === undefined ? {} : { sets }),
  });
}

function addSubnetPolicies(rows: Rows, onNode: NetworkOnNode, cidr: string): void {
  const family = familyOf(cidr);
  const ip = protocolOf(family);
  const pods = `${ip}.src == ${cidr}`;
  addNoReroute(rows, onNode, 'Pod-To-Pod', ip, `${pods} && ${ip}.dst == ${cidr}`);
  // Always the default network's join subnet, also for networks that have their own.
  const join = onNode.settings.joinSubnets[family];
  if (join !== undefined)
    addNoReroute(rows, onNode, 'Pod-To-Join', ip, `${pods} && ${ip}.dst == ${join}`);
  const own = bridgedJoin(onNode.facts, onNode.network, family);
  if (own !== undefined)
    addNoReroute(rows, onNode, 'Pod-To-Own-Join', ip, `${pods} && ${ip}.dst == ${own}`);
}

function addFamilyPolicies(rows: Rows, onNode: NetworkOnNode, family: Family): void {
  const ip = protocolOf(family);
  const sets = [egressIpPods(family, onNode.network.name), egressServicePods(family)];
  const served = sets.map((set) => `${ip}.src == $${set.name}`).join(' || ');
  addNoReroute(
    rows,
    onNode,
    'Pod-To-Node',
    ip,
    `(${served}) && ${ip}.dst == $${nodeIps(family).name}`,
    {
      options: { pkt_mark: String(MARK_EGRESS_TO_NODE) },
      sets: [...sets, nodeIps(family)],
    },
  );
  if (onNode.isDefault) return;
  addNoReroute(
    rows,
    onNode,
    'Pod-To-CDN-Svc',
    ip,
    `(${served}) && ${ip}.dst == $${enabledServiceIps(family).name}`,
    { sets: [...sets, enabledServiceIps(family)] },
  );
}

function addReplyMark(rows: Rows, onNode: NetworkOnNode, family: Family): void {
  const ids = egressIpIds(
    QOS_EGRESS_IP_REPLY,
    'EgressIP-Mark-Reply-Traffic',
    protocolOf(family),
    onNode.network.name,
  );
  const served = egressIpPods(family, onNode.network.name);
  rows.naming(
    [new RowReference('Address_Set', served.name)],
    'QoS',
    ids[OBJECT_ID],
    {
      direction: 'from-lport',
      priority: QOS_EGRESS_IP_REPLY,
      match: repliesOut(`$${served.name}`, family, onNode.facts, onNode.network),
      action: new Map([['mark', MARK_EGRESS_REPLY]]),
      external_ids: ids,
    },
    holds('Logical_Switch', onNode.names.nodeSwitch, 'qos_rules'),
  );
}

/** By the port to other nodes comes what is for pods or gateway routers here, and what is to leave here. */
function addLayer3Drop(rows: Rows, onNode: NetworkOnNode, cidr: string): void {
  const ip = protocolOf(familyOf(cidr));
  const { name } = onNode.network;
  const port = layer3Names(name, onNode.node.name).routerToTransit;
  const arrived = `inport == "${port}" && ${ip}.src == ${cidr}`;
  const ids = (priority: number, what: string) => egressIpIds(priority, what, ip, name);
  // What services here were asked for from outside; of the default network's join subnet 102 says so.
  for (const { subnet, family } of onNode.isDefault ? [] : onNode.joins)
    if (family === familyOf(cidr))
      addAllowPolicy(rows, onNode.names.clusterRouter, {
        ids: ids(POLICY_EGRESS_ARRIVAL, 'EIP-Arrival-To-Join'),
        priority: POLICY_EGRESS_ARRIVAL,
        match: `${arrived} && ${ip}.dst == ${subnet}`,
      });
  addDropPolicy(rows, onNode.names.clusterRouter, {
    ids: ids(POLICY_EGRESS_DROP, 'EIP-Drop-Other-Arrival'),
    priority: POLICY_EGRESS_DROP,
    match: arrived,
  });
}

/**
 * Gateway routers of a Layer2 network get what is to leave from all nodes by one port. A mark tells what pods of this node send, for marks don't cross
 * tunnels; in local gateway mode those send nothing there but by an egress IP, or as an answer.
 */
function addLayer2Drop(rows: Rows, onNode: NetworkOnNode, cidr: string): void {
  const { names, network, gateway } = onNode;
  const ip = protocolOf(familyOf(cidr));
  if (gateway === undefined) return;
  const ids = (priority: number, what: string) => egressIpIds(priority, what, ip, network.name);
  addDropPolicy(rows, names.gatewayRouter, {
    ids: ids(POLICY_EGRESS_GATEWAY_DROP, 'EIP-Drop-Other-Arrival'),
    priority: POLICY_EGRESS_GATEWAY_DROP,
    match: `inport == "${names.gatewayToRouter}" && ${ip}.src == ${cidr} && pkt.mark == 0 && !(ct.trk && ct.rpl)`,
  });
  if (onNode.mode === 'local') return;
  const own = `inport == "${names.routerToSwitch}" && ${ip}.src == ${cidr}`;
  for (const { subnet, family } of onNode.joins)
    if (family === familyOf(cidr))
      // Into a tunnel to another gateway router, maybe: no mark there.
      addAllowPolicy(rows, names.clusterRouter, {
        ids: ids(POLICY_LAYER2_TO_GATEWAYS, 'EIP-Own-Pods-To-Join'),
        priority: POLICY_LAYER2_TO_GATEWAYS,
        match: `${own} && ${ip}.dst == ${subnet}`,
      });
  addAllowPolicy(rows, names.clusterRouter, {
    ids: ids(POLICY_LAYER2_OWN_PODS, 'EIP-Own-Pods'),
    priority: POLICY_LAYER2_OWN_PODS,
    match: own,
    options: { pkt_mark: String(MARK_OWN_POD) },
  });
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
