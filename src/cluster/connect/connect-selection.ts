/** Which networks a ClusterNetworkConnect selects, and whether they can be connected (reference/api.md §5). Pure. */
import {
  formatPrefix,
  overlaps,
  parsePrefix,
  type Family,
  type Prefix,
} from '../../allocators/addresses.ts';
import type { ConnectRange } from '../../allocators/connect-subnets.ts';
import { familyCidrs } from '../../api/nad/network-config.ts';
import type { NetworkConfig } from '../../api/nad/network-config.ts';
import type {
  ClusterNetworkConnect,
  ClusterUserDefinedNetwork,
  LabelSelector,
  Namespace,
} from '../../api/types.ts';
import type { ClusterSettings } from '../../model/model.ts';
import type { NodeAddresses } from '../../api/validation/overlap.ts';
import { matchesSelector, NAME_LABEL } from '../../api/selectors.ts';

type ConnectReason =
  | 'ConnectSubnetExhausted'
  | 'OverlappingNetworkSubnets'
  | 'ConnectSubnetConflict'
  | 'ConnectSubnetOverlap'
  | 'IPFamilyMismatch'
  | 'InsufficientNetworks'
  | 'UnsupportedNetworkType';

export interface ConnectProblem {
  readonly reason: ConnectReason;
  readonly message: string;
}

/** A network that can be selected. */
export interface ConnectableNetwork {
  /** As users know it: `<name>` of a CUDN, `<namespace>/<name>` of a UDN. */
  readonly title: string;
  readonly id: number;
  readonly config: NetworkConfig;
}

/** Where selections are looked up. */
export interface ConnectContext {
  readonly cudns: readonly ClusterUserDefinedNetwork[];
  readonly namespaces: readonly Namespace[];
  /** The network of a CUDN; undefined while it has no id. */
  readonly networkOf: (cudn: ClusterUserDefinedNetwork) => ConnectableNetwork | undefined;
  /** Primary networks of a namespace that carries the label and has an id. */
  readonly primariesOf: (namespace: string) => readonly ConnectableNetwork[];
}

/** Selects by labels and by name: examples of OKEP-5224 select CUDNs by a name label that only namespaces carry by themselves. */
const selects = (
  selector: LabelSelector,
  {
    metadata,
  }: {
    readonly metadata: {
      readonly name: string;
      readonly labels?: Readonly<Record<string, string>>;
    };
  },
): boolean => matchesSelector(selector, { [NAME_LABEL]: metadata.name, ...metadata.labels });

/** The selected networks, each once, by id. */
export function selectNetworks(
  { spec }: ClusterNetworkConnect,
  { cudns, namespaces, networkOf, primariesOf }: ConnectContext,
): readonly ConnectableNetwork[] {
  const selected = spec.networkSelectors.flatMap((selector) => {
    const byCluster = selector.clusterUserDefinedNetworkSelector?.networkSelector;
    const byNamespace = selector.primaryUserDefinedNetworkSelector?.namespaceSelector;
    const ofCluster =
      byCluster === undefined
        ? []
        : cudns.filter((cudn) => selects(byCluster, cudn)).map(networkOf);
    const ofNamespaces =
      byNamespace === undefined
        ? []
        : namespaces
            .filter((namespace) => selects(byNamespace, namespace))
            .flatMap(({ metadata }) => primariesOf(metadata.name));
    return [...ofCluster, ...ofNamespaces];
  });
  const byId = new Map(
    selected.filter((network) => network !== undefined).map((network) => [network.id, network]),
  );
  return [...byId.values()].toSorted((a, b) => a.id - b.id);
}

/** connectSubnets, as far as they can be read. */
export const rangesOf = ({ spec }: ClusterNetworkConnect): readonly ConnectRange[] =>
  spec.connectSubnets.flatMap(({ cidr, networkPrefix }): readonly ConnectRange[] => {
    const prefix = parsePrefix(cidr);
    return prefix === undefined ? [] : [{ cidr: prefix, networkPrefix }];
  });

/** Another ClusterNetworkConnect that has been accepted. */
export interface AcceptedConnect {
  readonly name: string;
  readonly ranges: readonly ConnectRange[];
  /** Those with links to its connect router. */
  readonly networks: readonly ConnectableNetwork[];
  readonly isOlder: boolean;
}

export interface ConnectCheck {
  readonly networks: readonly ConnectableNetwork[];
  readonly ranges: readonly ConnectRange[];
  readonly others: readonly AcceptedConnect[];
  readonly settings: ConnectCluster;
  readonly nodes: readonly NodeAddresses[];
  /** True when networks are connected already. */
  readonly isServing: boolean;
  /** Ids of networks that have links already. */
  readonly linkedIds: ReadonlySet<number>;
  /** True where pods reach pods: their addresses have to be apart. */
  readonly opensPods: boolean;
}

/**
 * The first rule that is broken, always in this order; undefined when the networks can be connected. What only another connection could
 * mend, for connectSubnets can't change, comes before what more networks would.
 */
export function checkConnect(check: ConnectCheck): ConnectProblem | undefined {
  return (
    unsupported(check) ??
    conflictWithRanges(check, serviceRanges(check.settings)) ??
    conflictWithNetworks(check) ??
    conflictWithRanges(check, podRanges(check.settings)) ??
    conflictWithNodes(check) ??
    insufficient(check) ??
    overlappingNetworks(check) ??
    overlappingNeighbours(check) ??
    familyMismatch(check) ??
    overlapWithOthers(check)
  );
}

function unsupported({ networks }: ConnectCheck): ConnectProblem | undefined {
  const reason = 'UnsupportedNetworkType';
  for (const { title, config } of networks) {
    if (config.topology === 'localnet')
      return {
        reason,
        message: `Network '${title}' has type 'localnet'. Localnet networks are not supported`,
      };
    if (config.role !== 'primary')
      return {
        reason,
        message: `Network '${title}' has role 'Secondary'. Only 'Primary' role networks are supported`,
      };
    if (config.transport !== undefined)
      return {
        reason,
        message:
          'Network connect feature is not supported when overlay tunneling is disabled' +
          `: network '${title}' has transport '${config.transport}'`,
      };
  }
  return undefined;
}

const insufficient = ({ networks }: ConnectCheck): ConnectProblem | undefined =>
  networks.length >= 2
    ? undefined
    : {
        reason: 'InsufficientNetworks',
        message: `Only ${networks.length} network${networks.length === 1 ? '' : 's'} selected, minimum 2 networks required for connection`,
      };

const prefixes = (cidrs: readonly string[]): readonly Prefix[] =>
  cidrs.map(parsePrefix).filter((prefix) => prefix !== undefined);

function firstPair(
  ranges: readonly ConnectRange[],
  others: readonly Prefix[],
): { readonly cidr: string; readonly other: string } | undefined {
  for (const { cidr } of ranges) {
    const other = others.find((prefix) => overlaps(prefix, cidr));
    if (other !== undefined) return { cidr: formatPrefix(cidr), other: formatPrefix(other) };
  }
  return undefined;
}

type RangesByKind = readonly (readonly [kind: string, cidrs: readonly string[]])[];

const serviceRanges = (settings: ConnectCluster): RangesByKind => [
  ['service', settings.serviceSubnets],
  ['masquerade', familyCidrs(settings.masqueradeSubnets)],
];

/** Ranges of the cluster default network: its pods are beside the connected networks on every node. */
const podRanges = (settings: ConnectCluster): RangesByKind => [
  ['pod', settings.clusterSubnets.map(({ cidr }) => cidr)],
  ['join', familyCidrs(settings.joinSubnets)],
  ['transit', familyCidrs(settings.transitSubnets)],
];

type ConnectCluster = Pick<
  ClusterSettings,
  'clusterSubnets' | 'joinSubnets' | 'masqueradeSubnets' | 'serviceSubnets' | 'transitSubnets'
>;

function conflictWithRanges(
  { ranges }: Pick<ConnectCheck, 'ranges'>,
  kinds: RangesByKind,
): ConnectProblem | undefined {
  for (const [kind, cidrs] of kinds) {
    const pair = firstPair(ranges, prefixes(cidrs));
    if (pair !== undefined)
      return {
        reason: 'ConnectSubnetConflict',
        message: `Connect subnet ${pair.cidr} conflicts with ${kind} subnet ${pair.other} of the cluster`,
      };
  }
  return undefined;
}

/** Networks that nodes are attached to: a connection that serves already is not withdrawn by an address that a node gets later. */
function conflictWithNodes({ ranges, nodes, isServing }: ConnectCheck): ConnectProblem | undefined {
  for (const { name, hostAddresses } of isServing ? [] : nodes) {
    const pair = firstPair(ranges, prefixes(hostAddresses));
    if (pair !== undefined)
      return {
        reason: 'ConnectSubnetConflict',
        message: `Connect subnet ${pair.cidr} conflicts with the network ${pair.other} of node '${name}'`,
      };
  }
  return undefined;
}

const podSubnets = ({ config }: ConnectableNetwork): readonly Prefix[] =>
  prefixes(config.subnets.map(({ cidr }) => cidr));

/** Ranges that a network has for itself. */
function rangesOfNetwork(
  network: ConnectableNetwork,
  settings: ConnectCluster,
): readonly (readonly [kind: string, ranges: readonly Prefix[]])[] {
  const { topology, transitSubnets, joinSubnets } = network.config;
  const transit = topology === 'layer2' ? transitSubnets : settings.transitSubnets;
  return [
    ['pod', podSubnets(network)],
    ['transit', prefixes(familyCidrs(transit))],
    ['join', prefixes(familyCidrs(joinSubnets))],
  ];
}

/** All that connectSubnets of a connection of these networks may not overlap, but for those of other connections. */
export const rangesInTheWay = ({
  networks,
  settings,
  nodes,
}: Pick<ConnectCheck, 'networks' | 'settings' | 'nodes'>): readonly Prefix[] => [
  ...[...serviceRanges(settings), ...podRanges(settings)].flatMap(([, cidrs]) => prefixes(cidrs)),
  ...networks.flatMap((network) => rangesOfNetwork(network, settings).flatMap(([, list]) => list)),
  ...nodes.flatMap(({ hostAddresses }) => prefixes(hostAddresses)),
];

/** Why ranges can't be connectSubnets in this cluster, whatever they are for. */
export const conflictWithCluster = (
  ranges: readonly ConnectRange[],
  settings: ConnectCluster,
): ConnectProblem | undefined =>
  conflictWithRanges({ ranges }, [...serviceRanges(settings), ...podRanges(settings)]);

function conflictWithNetworks({
  networks,
  ranges,
  settings,
}: ConnectCheck): ConnectProblem | undefined {
  for (const network of networks) {
    for (const [kind, list] of rangesOfNetwork(network, settings)) {
      const pair = firstPair(ranges, list);
      if (pair !== undefined)
        return {
          reason: 'ConnectSubnetConflict',
          message: `Connect subnet ${pair.cidr} conflicts with ${kind} subnet ${pair.other} of network '${network.title}'`,
        };
    }
  }
  return undefined;
}

/** A subnet that pods of both have; undefined where they have none in common. */
function commonSubnet(a: ConnectableNetwork, b: ConnectableNetwork): Prefix | undefined {
  for (const subnet of podSubnets(a)) {
    const other = podSubnets(b).find((prefix) => overlaps(prefix, subnet));
    if (other !== undefined) return other.length > subnet.length ? other : subnet;
  }
  return undefined;
}

/** With services alone networks may overlap: those go over the external bridge. */
function overlappingNetworks({ networks, opensPods }: ConnectCheck): ConnectProblem | undefined {
  if (!opensPods) return undefined;
  for (const [index, a] of networks.entries())
    for (const b of networks.slice(index + 1)) {
      const shared = commonSubnet(a, b);
      if (shared !== undefined)
        return {
          reason: 'OverlappingNetworkSubnets',
          message: `Cannot connect networks '${a.title}' and '${b.title}': overlapping pod subnets ${formatPrefix(shared)} detected.`,
        };
    }
  return undefined;
}

/** A network that another connection joins with one of these, to which an address of `own` leads, too: what has links to both would find it at two places. */
interface TakenByNeighbour {
  readonly own: ConnectableNetwork;
  readonly subnet: Prefix;
  readonly connect: string;
  readonly network: ConnectableNetwork;
  /** The network that both connections have. */
  readonly by: ConnectableNetwork;
}

type NeighbourCheck = Pick<ConnectCheck, 'networks' | 'others' | 'linkedIds'>;

/** What has a link gives way to older connections alone. */
function takenByNeighbours({
  networks,
  others,
  linkedIds,
}: NeighbourCheck): readonly TakenByNeighbour[] {
  const isOurs = (id: number): boolean => networks.some((network) => network.id === id);
  return others.flatMap(({ name: connect, networks: theirs, isOlder }) => {
    const by = theirs.find(({ id }) => isOurs(id));
    if (by === undefined) return [];
    return theirs
      .filter(({ id }) => !isOurs(id))
      .flatMap((network) =>
        networks
          .filter((own) => own.id !== by.id && (isOlder || !linkedIds.has(own.id)))
          .flatMap((own) => {
            const subnet = commonSubnet(own, network);
            return subnet === undefined ? [] : [{ own, subnet, connect, network, by }];
          }),
      );
  });
}

function overlappingNeighbours(check: ConnectCheck): ConnectProblem | undefined {
  const [taken] = check.opensPods ? takenByNeighbours(check) : [];
  if (taken === undefined) return undefined;
  const { own, subnet, connect, network, by } = taken;
  return {
    reason: 'OverlappingNetworkSubnets',
    message: `Cannot connect networks '${own.title}' and '${by.title}': overlapping pod subnets ${formatPrefix(subnet)} detected, as ClusterNetworkConnect '${connect}' connects '${by.title}' with '${network.title}'.`,
  };
}

/** How networks of a connection of services meet (docs/decisions/overlapping-services.md). */
export interface ConnectWays {
  /** By links to the connect router: no address of one is another's. */
  readonly linked: readonly ConnectableNetwork[];
  /** With each other, and with those, over the external bridge. */
  readonly bridged: readonly ConnectableNetwork[];
}

/**
 * A network that overlaps another one of the connection, or one that another connection links to one of these, is known to no router of others; one that
 * is left alone has nobody to be linked with.
 */
export function connectWays(check: NeighbourCheck): ConnectWays {
  const { networks } = check;
  const taken = new Set(takenByNeighbours(check).map(({ own }) => own));
  const linked = networks.filter(
    (network) =>
      !taken.has(network) &&
      networks.every((other) => other === network || commonSubnet(network, other) === undefined),
  );
  return linked.length < 2
    ? { linked: [], bridged: networks }
    : { linked, bridged: networks.filter((network) => !linked.includes(network)) };
}

const onlyFamily = (network: ConnectableNetwork): Family | undefined => {
  const families = new Set(podSubnets(network).map(({ family }) => family));
  const [only] = families;
  return families.size === 1 ? only : undefined;
};

function familyMismatch({ networks, ranges }: ConnectCheck): ConnectProblem | undefined {
  const reason = 'IPFamilyMismatch';
  const v4 = networks.find((network) => onlyFamily(network) === 'v4');
  const v6 = networks.find((network) => onlyFamily(network) === 'v6');
  if (v4 !== undefined && v6 !== undefined)
    return {
      reason,
      message: `Cannot connect single-stack IPv4 network '${v4.title}' with single-stack IPv6 network '${v6.title}'. Networks must use the same IP family`,
    };
  const single = v4 ?? v6;
  const family = v4 === undefined ? 'v6' : 'v4';
  if (single === undefined || ranges.some(({ cidr }) => cidr.family === family)) return undefined;
  return {
    reason,
    message: `Cannot connect single-stack IP${family} network '${single.title}': connectSubnets do not contain an IP${family} subnet. Networks and connectSubnets must use the same IP family`,
  };
}

function overlapWithOthers({ networks, ranges, others }: ConnectCheck): ConnectProblem | undefined {
  for (const other of others) {
    const shared = networks.find(({ id }) => other.networks.some((network) => network.id === id));
    const pair = firstPair(
      ranges,
      other.ranges.map(({ cidr }) => cidr),
    );
    if (shared !== undefined && pair !== undefined)
      return {
        reason: 'ConnectSubnetOverlap',
        message: `Connect subnet ${pair.cidr} overlaps with ClusterNetworkConnect '${other.name}' which also selects network '${shared.title}'. Each ClusterNetworkConnect selecting the same network must use non-overlapping connect subnets`,
      };
  }
  return undefined;
}
