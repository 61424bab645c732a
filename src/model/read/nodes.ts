/** Node objects → what a zone needs to know of nodes. */
import {
  bridgeEgressAddresses,
  cardEgressAddresses,
  CHASSIS_ID,
  chassisId,
  ENCAP_IPS,
  encapIps,
  gatewayConfig,
  gatewayMtuSupport,
  hostCidrs,
  managementPortMacs,
  nodeId,
  NODE_SUBNETS,
  nodeTransitAddresses,
  PRIMARY_ADDRESSES,
  primaryAddresses,
} from '../../api/annotations/node-annotations.ts';
import { withoutPrefix } from '../../allocators/addresses.ts';
import { familyCidrs } from '../../api/nad/network-config.ts';
import { DEFAULT_NETWORK } from '../../api/nad/network-name.ts';
import { nodes } from '../../api/kinds.ts';
import type { Node } from '../../api/types.ts';
import type { LocalNode, NodeAddresses, NodeFacts, NodeGateway, PerFamily } from '../model.ts';
import { masqueradeNumbersPart } from './masquerade-numbers.ts';
import { readNodeSubnets, subnetTexts, type SubnetsOfNode } from './node-subnets.ts';
import type { ObjectKind, ObjectPart } from './object-kind.ts';
import { awaited, optional, type ObjectReading, reading, required } from './reading.ts';
import { otherLayout, unheeded } from './unheeded.ts';

const BY_NODE =
  'the node itself writes it (heddle node --ovs, heddle lab), or its manifest carries it';

function factsOf(node: Node): NodeFacts {
  return {
    name: node.metadata.name,
    chassisId: required(chassisId(node), CHASSIS_ID, BY_NODE),
    encapIps: required(encapIps(node), ENCAP_IPS, BY_NODE),
    id: awaited(nodeId(node), 'node id (annotation k8s.ovn.org/node-id)'),
    transitAddresses: awaited(
      nodeTransitAddresses(node),
      'transit switch address (annotation k8s.ovn.org/node-transit-switch-port-ifaddr)',
    ),
    hostAddresses: optional(hostCidrs(node)) ?? [],
  };
}

/** What other zones need to know of a node. */
const readNodeFacts = (node: Node): ObjectReading<NodeFacts> => reading(() => factsOf(node));

/** True if something of that is there and can't be read: unlike a node that says nothing, such a one may have had rows. */
const isTorn = (node: Node): boolean =>
  [chassisId, encapIps, nodeId, nodeTransitAddresses, hostCidrs].some(
    (read) => read(node).errors.length > 0,
  );

/** What its own zone needs to know of a node. */
const readLocalNode = (node: Node): ObjectReading<LocalNode> =>
  reading(() => {
    const facts = factsOf(node);
    const gateway = gatewayOf(node);
    const addresses = required(primaryAddresses(node), PRIMARY_ADDRESSES, BY_NODE);
    const mac = optional(managementPortMacs(node))?.get(DEFAULT_NETWORK);
    return {
      ...facts,
      ...(gateway === undefined ? {} : { gateway }),
      primaryAddresses: withoutLength(addresses),
      gatewayMtuSupport: optional(gatewayMtuSupport(node)) ?? true,
      egressAddresses: [bridgeEgressAddresses, cardEgressAddresses].flatMap(
        (read) => optional(read(node)) ?? [],
      ),
      ...(mac === undefined ? {} : { managementPortMac: mac }),
    };
  });

function gatewayOf(node: Node): NodeGateway | undefined {
  const config = optional(gatewayConfig(node));
  if (config === undefined || config.mode === 'disabled') return undefined;
  const { mode, bridge, macAddress, addresses, nextHops, nodePortEnable, vlan } = config;
  return { mode, bridge, macAddress, addresses, nextHops, nodePortEnable, vlan };
}

const withoutLength = ({ v4, v6 }: PerFamily<string>): PerFamily<string> => ({
  ...(v4 === undefined ? {} : { v4: v4.replace(/\/.*/, '') }),
  ...(v6 === undefined ? {} : { v6: v6.replace(/\/.*/, '') }),
});

/** Where a node is reached, as far as it can be read; of an annotation that can't be, what was read `before`. */
function readNodeAddresses(node: Node, before: NodeAddresses | undefined): NodeAddresses {
  const gateway = gatewayConfig(node);
  const primary = primaryAddresses(node);
  const all = hostCidrs(node);
  const isTornOwn = [gateway, primary, encapIps(node)].some(({ errors }) => errors.length > 0);
  const config = gateway.value?.mode === 'disabled' ? undefined : gateway.value;
  const own = [
    ...(node.status?.addresses ?? []).map(({ address }) => address),
    ...familyCidrs(primary.value ?? {}).map(withoutPrefix),
    ...(encapIps(node).value ?? []),
    ...(config?.addresses ?? []).map(withoutPrefix),
  ];
  return {
    name: node.metadata.name,
    own: distinct([...own, ...((isTornOwn && before?.own) || [])]),
    all:
      all.errors.length > 0 ? (before?.all ?? []) : distinct((all.value ?? []).map(withoutPrefix)),
    nextHops: gateway.errors.length > 0 ? (before?.nextHops ?? []) : (config?.nextHops ?? []),
  };
}

const distinct = (texts: readonly string[]): readonly string[] => [...new Set(texts)];

/** What a node's facts are read from: every annotation of OVN's but the subnets, which have a reader of their own. */
const nodeTexts = (node: Node): readonly unknown[] =>
  Object.entries(node.metadata.annotations ?? {})
    .filter(([key]) => key.startsWith('k8s.ovn.org/') && key !== NODE_SUBNETS)
    .flat();

export const isLocalNode = (node: NodeFacts | LocalNode): node is LocalNode =>
  'primaryAddresses' in node;

const labelsPart = {
  table: 'nodeLabels',
  read: ({ metadata: { name, labels = {} } }) => ({ name, labels }),
} as const satisfies ObjectPart<
  Node,
  { readonly name: string; readonly labels: Readonly<Record<string, string>> }
>;

const addressesPart = {
  table: 'nodeAddresses',
  texts: (node) => [
    ...nodeTexts(node),
    ...(node.status?.addresses ?? []).map((one) => one.address),
  ],
  read: (node, { before }) => readNodeAddresses(node, before),
} as const satisfies ObjectPart<Node, NodeAddresses>;

/** Where the gateway of a node is in its network. */
export interface NodeGatewayMac {
  readonly name: string;
  readonly mac: string;
}

const gatewayMacsPart = {
  table: 'gatewayMacs',
  read: (node): NodeGatewayMac | undefined => {
    const config = gatewayConfig(node).value;
    return config === undefined || config.mode === 'disabled'
      ? undefined
      : { name: node.metadata.name, mac: config.macAddress };
  },
} as const satisfies ObjectPart<Node, NodeGatewayMac>;

const subnetsPart = {
  table: 'nodeSubnets',
  texts: subnetTexts,
  read: (node, { before }) => readNodeSubnets(node, before),
} as const satisfies ObjectPart<Node, SubnetsOfNode>;

export const nodeKind = {
  kind: nodes,
  table: 'nodes',
  texts: nodeTexts,
  read: (node, { nodeName }) =>
    node.metadata.name === nodeName ? readLocalNode(node) : readNodeFacts(node),
  onUnreadable: 'keep',
  isTorn,
  also: [labelsPart, addressesPart, gatewayMacsPart, subnetsPart, masqueradeNumbersPart],
  checks: [
    unheeded({
      'k8s.ovn.org/hybrid-overlay-node-subnet':
        'has no hybrid overlay: pods do not reach addresses of that subnet',
    }),
    otherLayout,
  ],
} as const satisfies ObjectKind<Node, NodeFacts | LocalNode>;
