/** What the cluster manager knows of nodes as places to leave by (reference/egress.md §1.2). Pure. */
import {
  bitsOf,
  containsAddress,
  formatAddress,
  formatPrefix,
  lastOf,
  parseInterfaceAddress,
  prefixOf,
  withoutPrefix,
  type Address,
  type InterfaceAddress,
  type Prefix,
} from '../../allocators/addresses.ts';
import {
  bridgeEgressAddresses,
  cardEgressAddresses,
  egressNetworksDown,
  gatewayConfig,
  hostCidrs,
  preparedEgressAddresses,
  primaryAddresses,
  type EgressNetworksDown,
} from '../../api/annotations/node-annotations.ts';
import { annotationOf } from '../../api/annotations/annotations.ts';
import { familyCidrs } from '../../api/nad/network-config.ts';
import type { Node } from '../../api/types.ts';

export interface EgressNodeFacts {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly isReady: boolean;
  /** No pods are to be put there (`kubectl cordon`, `kubectl drain`). */
  readonly isDraining: boolean;
  /** Networks of its addresses: of its gateway, and of its other network cards; none for a node without a gateway. */
  readonly networks: readonly Prefix[];
  /** Those of its gateway, among them. */
  readonly gatewayNetworks: readonly Prefix[];
  /** By which nothing leaves it, as its daemon reports; counts while that one is there. */
  readonly down: EgressNetworksDown | undefined;
  /** Its own addresses. */
  readonly addresses: readonly string[];
  readonly nextHops: readonly string[];
  /** Egress addresses that it answers for. */
  readonly answersFor: readonly string[];
  /** Those of others that it is ready to have. */
  readonly preparedFor: readonly string[];
}

const KEYS = [
  'node-primary-ifaddr',
  'host-cidrs',
  'l3-gateway-config',
  'bridge-egress-ips',
  'secondary-host-egress-ips',
  'prepared-egress-ips',
  'egress-networks-down',
];

/** While they stay the same, so do the facts: nodes are written to all the time. */
export const egressNodeTexts = (node: Node): string =>
  JSON.stringify([
    Object.entries(node.metadata.labels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)),
    node.spec?.unschedulable,
    node.status?.addresses,
    node.status?.conditions?.find(({ type }) => type === 'Ready')?.status,
    ...KEYS.map((key) => annotationOf(node, `k8s.ovn.org/${key}`)),
  ]);

const parsed = (cidrs: readonly string[]): readonly InterfaceAddress[] =>
  cidrs.flatMap((cidr) => parseInterfaceAddress(cidr) ?? []);

/** A node that says nothing of being ready, as one of manifests, is. */
export function egressNodeFacts(node: Node): EgressNodeFacts {
  const { name, labels = {} } = node.metadata;
  const config = gatewayConfig(node).value;
  const gateway = config === undefined || config.mode === 'disabled' ? undefined : config;
  const primary = familyCidrs(primaryAddresses(node).value ?? {});
  const answersFor = [bridgeEgressAddresses, cardEgressAddresses].flatMap(
    (read) => read(node).value ?? [],
  );
  const all = hostCidrs(node).value ?? [];
  // An address alone is of no network.
  const networksOf = (cidrs: readonly string[]): readonly Prefix[] =>
    (gateway === undefined ? [] : parsed(cidrs))
      .map(prefixOf)
      .filter(({ family, length }) => length < bitsOf(family));
  const internal = (node.status?.addresses ?? []).map(({ address }) => address);
  return {
    name,
    labels,
    isReady: (node.status?.conditions ?? []).every(
      ({ type, status }) => type !== 'Ready' || status === 'True',
    ),
    isDraining: node.spec?.unschedulable === true,
    networks: networksOf([...primary, ...all]),
    gatewayNetworks: networksOf(primary),
    down: egressNetworksDown(node).value,
    // Whatever a node says of all addresses of its host, those that it answers for are not its own.
    addresses: [
      ...internal,
      ...[...primary, ...all].map(withoutPrefix).filter((address) => !answersFor.includes(address)),
    ],
    nextHops: gateway?.nextHops ?? [],
    answersFor,
    preparedFor: preparedEgressAddresses(node).value ?? [],
  };
}

/** Why nothing with an address leaves a node, by whose word: of the daemon that is there, or was last. */
export function whyDown(
  { networks, gatewayNetworks, down }: EgressNodeFacts,
  address: Address,
  daemon: string | undefined,
): string | undefined {
  if (down === undefined || down.daemon !== daemon) return undefined;
  // As the node itself chooses: the gateway first, of cards the one with the longest network.
  const near = gatewayNetworks.find((network) => containsAddress(network, address));
  const network =
    near ??
    networks
      .filter((one) => containsAddress(one, address))
      .toSorted((a, b) => b.length - a.length)[0];
  return network && down.networks.get(formatPrefix(network));
}

/** Why nothing leaves a node by its gateway, and which daemon says so; undefined where none does. */
export function gatewayDown(
  node: Node,
): { readonly daemon: string; readonly why: string } | undefined {
  const down = egressNetworksDown(node).value;
  if (down === undefined) return undefined;
  const [why] = egressNodeFacts(node).gatewayNetworks.flatMap(
    (network) => down.networks.get(formatPrefix(network)) ?? [],
  );
  return why === undefined ? undefined : { daemon: down.daemon, why };
}

/** Addresses of an IPv4 network that nobody can have: its own, and that of everybody in it. */
const reservedAddresses = (network: Prefix): readonly string[] =>
  network.family === 'v6' || network.length > 30
    ? []
    : [network.base, lastOf(network)].map((value) => formatAddress({ family: 'v4', value }));

/** Whose addresses may not be given away, in words. */
export function ownersOf(nodes: readonly EgressNodeFacts[]): ReadonlyMap<string, string> {
  const owners = new Map<string, string>();
  for (const { networks } of nodes)
    for (const address of networks.flatMap(reservedAddresses))
      owners.set(address, 'the address of a network, or of everybody in it,');
  for (const { name, nextHops } of nodes)
    for (const address of nextHops) owners.set(address, `the next hop of node ${name}`);
  for (const { name, addresses } of nodes)
    for (const address of addresses) owners.set(address, `a host (${name}) IP address`);
  return owners;
}
