/**
 * What of a zone gets rows: all but objects whose rows would have the names of others', or whose subnets are too small for
 * the addresses that rows need. They are refused with a reason; everything else goes on.
 */

import { ovnPrefix } from '../api/nad/network-name.ts';
import type { Attachment, Network, NodeFacts, Zone } from '../model/model.ts';
import { whyNotRendered } from '../model/rendering.ts';
import { hasAddress } from '../allocators/addresses.ts';
import { networkMasqueradeOffsets, POD_SUBNET_OFFSETS } from '../allocators/node-addresses.ts';
import { bridgePort, isDefault, localNames, podPort, transitPort } from './names.ts';
import { clusterFamilies, hasGateway, joinSubnet } from './network-on-node.ts';

/**
 * Names become parts of matches, where a quote would end a string: only these characters get there. Names of Kubernetes
 * objects have no others; the name of a network in a NAD's CNI configuration is free text.
 */
const HARMLESS = /^[A-Za-z0-9._/-]+$/;

/** An object without rows in this zone. */
export interface Refusal {
  readonly kind: 'network' | 'node' | 'pod';
  /** Name of the network or node, `<namespace>/<name>` of the pod. */
  readonly name: string;
  /** For people: what clashes and what to do. */
  readonly reason: string;
}

export interface RenderedZone {
  readonly networks: ReadonlyMap<string, Network>;
  readonly remoteNodes: ReadonlyMap<string, NodeFacts>;
  /** Attachments of this node's pods by the name of their port. */
  readonly ports: ReadonlyMap<string, Attachment>;
  readonly refused: readonly Refusal[];
}

const rendered = new WeakMap<Zone, RenderedZone>();

/** Zones are immutable: each is looked through once. */
export function renderedZone(zone: Zone): RenderedZone {
  const known = rendered.get(zone);
  if (known !== undefined) return known;
  const result = render(zone);
  rendered.set(zone, result);
  return result;
}

function render(zone: Zone): RenderedZone {
  const refused: Refusal[] = [];
  const networks = renderedNetworks(zone, refused);
  const remoteNodes = renderedNodes(zone, refused);
  refuseJoinAddresses(zone, networks, remoteNodes, refused);
  return { networks, remoteNodes, ports: renderedPorts(zone, networks, refused), refused };
}

/**
 * Networks in the order of their ids; a later one whose switches would have the name of an earlier one's is refused:
 * UDNs `a-b` and `a.b` have one prefix, a node `join` would have the join switch for its pods.
 */
function renderedNetworks(zone: Zone, refused: Refusal[]): Map<string, Network> {
  const networks = new Map<string, Network>();
  const owners = new Map<string, string>();
  const inOrder = zone.networks
    .filter((network) => whyNotRendered(network) === undefined || isDefault(network))
    .sort((a, b) => a.id - b.id || (a.name < b.name ? -1 : 1));
  for (const network of inOrder) {
    const problem = nameProblem(network.name, zone.node.name) ?? smallSubnet(zone, network);
    if (problem !== undefined) {
      refused.push({
        kind: 'network',
        name: network.name,
        reason: `network ${JSON.stringify(network.name)}: ${problem}`,
      });
      continue;
    }
    const names = localNames(network.name, zone.node.name);
    const switches = [
      names.nodeSwitch,
      names.joinSwitch,
      names.externalSwitch,
      names.transitSwitch,
    ];
    const taken = switches.find((name) => owners.has(name));
    if (taken !== undefined) {
      refused.push({
        kind: 'network',
        name: network.name,
        reason: `network "${network.name}": its switch "${taken}" would have the name of one of network "${owners.get(taken)}"; rename one of the two`,
      });
    } else if (new Set(switches).size < switches.length) {
      refused.push({
        kind: 'network',
        name: network.name,
        reason: `network "${network.name}": node "${zone.node.name}" has the name of a switch of every network; rename the node`,
      });
    } else {
      networks.set(network.name, network);
      for (const name of switches) owners.set(name, network.name);
    }
  }
  return networks;
}

function nameProblem(...names: readonly string[]): string | undefined {
  const harmful = names.find((name) => !HARMLESS.test(name));
  return harmful === undefined
    ? undefined
    : `the name ${JSON.stringify(harmful)} may only hold letters, digits and "." "_" "-" "/"; rename it`;
}

/** Which subnet has no room for what this node needs of it, and what to do. */
function smallSubnet(zone: Zone, network: Network): string | undefined {
  const { node, settings } = zone;
  const podSubnet = network.nodeSubnets
    .get(node.name)
    ?.find((cidr) => !hasAddress(cidr, POD_SUBNET_OFFSETS.managementPort + 1));
  if (podSubnet !== undefined) {
    return `subnet ${podSubnet} of node "${node.name}" has no room for a gateway, a management port and pods; give its nodes larger subnets`;
  }
  if (!hasGateway(network)) return undefined;
  for (const family of clusterFamilies(settings)) {
    const join = joinSubnet(settings, network, family);
    if (join !== undefined && !hasAddress(join, node.id)) {
      return `join subnet ${join} has no address for node "${node.name}" with id ${node.id}; give the network a larger one`;
    }
    const masquerade = settings.masqueradeSubnets[family];
    const offset = networkMasqueradeOffsets(network.id).managementPort;
    if (!isDefault(network) && masquerade !== undefined && !hasAddress(masquerade, offset)) {
      return `masquerade subnet ${masquerade} has no addresses for network id ${network.id}; configure a larger one`;
    }
  }
  return undefined;
}

/** Nodes whose id is too large for a join subnet: their pods are reached, their gateway router is not. */
function refuseJoinAddresses(
  zone: Zone,
  networks: ReadonlyMap<string, Network>,
  nodes: ReadonlyMap<string, NodeFacts>,
  refused: Refusal[],
): void {
  const largest = [...nodes.values()].reduce((most, node) => Math.max(most, node.id), 0);
  for (const network of networks.values()) {
    if (!hasGateway(network)) continue;
    for (const family of clusterFamilies(zone.settings)) {
      const join = joinSubnet(zone.settings, network, family);
      if (join === undefined || hasAddress(join, largest)) continue;
      for (const node of nodes.values()) {
        if (hasAddress(join, node.id)) continue;
        refused.push({
          kind: 'node',
          name: node.name,
          reason: `node "${node.name}": join subnet ${join} of network "${network.name}" has no address for its id ${node.id}; give the network a larger one`,
        });
      }
    }
  }
}

/** Nodes in the order of their ids: a chassis and a tunnel address belong to one node. */
function renderedNodes(zone: Zone, refused: Refusal[]): Map<string, NodeFacts> {
  const nodes = new Map<string, NodeFacts>();
  const owners = new Map<string, string>();
  const claim = (node: NodeFacts): void => {
    for (const fact of factsOf(node)) owners.set(fact, node.name);
  };
  claim(zone.node);
  for (const node of [...zone.remoteNodes].sort((a, b) => a.id - b.id)) {
    const taken = factsOf(node).find((fact) => owners.has(fact));
    if (taken === undefined) {
      nodes.set(node.name, node);
      claim(node);
    } else {
      refused.push({
        kind: 'node',
        name: node.name,
        reason: `node "${node.name}": ${taken} is that of node "${owners.get(taken)}" too; correct the annotations of the wrong one`,
      });
    }
  }
  return nodes;
}

const factsOf = (node: NodeFacts): string[] => [
  `name ${node.name}`,
  `node id ${node.id}`,
  `chassis id ${node.chassisId}`,
  ...node.encapIps.map((ip) => `tunnel address ${ip}`),
];

/** The first attachment has the name; ports that lead to the bridge and to other nodes had theirs before. */
function renderedPorts(
  zone: Zone,
  networks: ReadonlyMap<string, Network>,
  refused: Refusal[],
): Map<string, Attachment> {
  const ports = new Map<string, Attachment>();
  const prefixes = new Set([...networks.values()].map((network) => ovnPrefix(network.name)));
  const bridge = zone.node.gateway?.bridge;
  const ownBridgePort = bridge === undefined ? undefined : bridgePort(bridge, '', zone.node.name);
  for (const attachment of zone.attachments) {
    if (attachment.node !== zone.node.name || !networks.has(attachment.network)) continue;
    const { namespace, pod, nadKey } = attachment;
    const problem = nameProblem(namespace, pod, nadKey);
    if (problem !== undefined) {
      refused.push({
        kind: 'pod',
        name: `${namespace}/${pod}`,
        reason: `pod ${JSON.stringify(`${namespace}/${pod}`)}: ${problem}`,
      });
      continue;
    }
    const port = podPort(nadKey, namespace, pod);
    const prefix = port.slice(0, port.length - pod.length);
    const isTaken =
      ports.has(port) ||
      port === ownBridgePort ||
      (port.startsWith(transitPort(prefix, '')) && prefixes.has(prefix));
    if (isTaken) {
      refused.push({
        kind: 'pod',
        name: `${namespace}/${pod}`,
        reason: `pod "${namespace}/${pod}": its port on "${nadKey}" would be "${port}", a name that another port has; rename the pod or its namespace`,
      });
    } else {
      ports.set(port, attachment);
    }
  }
  return ports;
}
