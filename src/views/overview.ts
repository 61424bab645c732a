/** What is known of all networks, nodes and pods, put together for people: pure, from lists of objects. */
import { overlaps, parsePrefix, type Prefix } from '../allocators/addresses.ts';
import type { NetworkTopology } from '../api/nad/network-config.ts';
import { nadOfKey } from '../api/nad/nad-key.ts';
import { annotationOf } from '../api/annotations/annotations.ts';
import {
  isOnDemand,
  networkId,
  SECONDARY_GATEWAY,
} from '../api/annotations/network-annotations.ts';
import { nodeId, nodeSubnets } from '../api/annotations/node-annotations.ts';
import { objectKey, type Condition, type KubeObject } from '../api/objects.ts';
import { nodeOfLease, type Lease } from '../api/node-lease.ts';
import { podNetworks } from '../api/annotations/pod-annotations.ts';
import { parseNad } from '../api/nad/nad.ts';
import { isOptedIn } from '../api/nad/secondary-gateway.ts';
import { DEFAULT_NETWORK } from '../api/nad/network-name.ts';
import type { NetworkObject } from '../api/nad/network-spec.ts';
import type {
  ClusterNetworkConnect,
  NetworkAttachmentDefinition,
  Node,
  Pod,
} from '../api/types.ts';
import { objectStatesIn } from '../api/zone-objects.ts';
import type { ZoneObjectState, ZoneStatus, ZoneStatusContent } from '../api/zone-status.ts';
import { inOneLine } from '../api/visible-text.ts';
import { zoneCondition } from '../cluster/connect/connect-readiness.ts';
import { networkOf } from '../cluster/networks/network-objects.ts';
import type { ClusterSettings } from '../model/model.ts';
import { notInForce, type NotInForce } from './applied-overview.ts';
import { connectOverview, type ConnectOverview } from './connect-overview.ts';
import {
  clockProblem,
  daemonOverview,
  stateNow,
  type DaemonOverview,
  type OverviewTime,
  type StateNow,
} from './daemon-overview.ts';
import { distinctProblems } from './distinct-problems.ts';
import { egressPlacementProblems, type EgressPlacement } from './egress-problems.ts';
import { leaderProblem } from './leader-overview.ts';
import { waitingPods, type WaitingPod } from './waiting-pods.ts';

export interface OverviewObjects extends EgressPlacement {
  readonly networkObjects: readonly NetworkObject[];
  readonly clusterNetworkConnects: readonly ClusterNetworkConnect[];
  readonly networkAttachmentDefinitions: readonly NetworkAttachmentDefinition[];
  readonly nodes: readonly Node[];
  readonly pods: readonly Pod[];
  readonly zoneStatuses: readonly ZoneStatus[];
  /** Heartbeats of the nodes' daemons. */
  readonly leases: readonly Lease[];
  /** Objects of which nodes say that they are in force. */
  readonly appliedObjects: readonly KubeObject[];
}

/** A network on one node. */
export interface NetworkOnNode {
  readonly node: string;
  readonly subnets: readonly string[];
  /** As the node's daemon reported it last; `Unknown` when it never reported. In place of that, why it is not to be relied on. */
  readonly state: StateNow['state'];
  readonly message?: string;
}

export interface NetworkOverview {
  readonly name: string;
  /** Object that declares it: `UserDefinedNetwork blue/blue`; absent for the default network and NADs made by hand. */
  readonly object?: string;
  readonly id?: number;
  readonly topology?: NetworkTopology;
  readonly role?: string;
  /** A secondary network that is to have a gateway. */
  readonly isOptedIn?: true;
  readonly subnets: readonly string[];
  readonly conditions: readonly Condition[];
  /** Its object is deleted, and goes with the last pod on it. */
  readonly isDeleting?: boolean;
  readonly nads: readonly string[];
  readonly nodes: readonly NetworkOnNode[];
  /** `namespace/name` of pods with an interface on it. */
  readonly pods: readonly string[];
  /** Other primary networks of its namespaces: their pods reach each other. */
  readonly siblings: readonly string[];
}

interface NodeOverview {
  readonly name: string;
  readonly id?: number;
  readonly observedAt?: string;
  readonly message?: string;
  readonly daemon: DaemonOverview;
}

/** What nodes say of an object; `Failed` if it failed on any. */
interface ObjectOverview {
  readonly object: string;
  readonly state: ZoneObjectState['state'];
  readonly message?: string;
  /** Nodes on which it is in this state. */
  readonly nodes: readonly string[];
}

export interface Overview {
  readonly networks: readonly NetworkOverview[];
  /** ClusterNetworkConnects, by name. */
  readonly connections: readonly ConnectOverview[];
  readonly nodes: readonly NodeOverview[];
  /** Pods that have not all of their addresses yet, by key. */
  readonly waitingPods: readonly WaitingPod[];
  /** Everything that is wrong with some object, from all nodes, each once. */
  readonly problems: readonly { readonly object: string; readonly message: string }[];
  /** Objects that are not as they should be on some node, of any kind, by name. */
  readonly objects: readonly ObjectOverview[];
  /** Objects that are not in force on all nodes yet, by name. */
  readonly notInForce: readonly NotInForce[];
  /** What somebody set on nodes, and Heddle leaves. */
  readonly notes: readonly { readonly object: string; readonly message: string }[];
}

/** Puts the picture together; networks by id, the ones without an id last. */
export function overviewOf(
  objects: OverviewObjects,
  settings: ClusterSettings,
  time: OverviewTime,
): Overview {
  const heartbeats = new Map(objects.leases.map((lease) => [nodeOfLease(lease), lease]));
  const daemons = new Map(
    objects.nodes.map(({ metadata: { name } }) => [
      name,
      daemonOverview(name, heartbeats.get(name), time),
    ]),
  );
  const declared = new Map(objects.networkObjects.map((object) => [networkOf(object), object]));
  const zones = new Map(objects.zoneStatuses.map((zone) => [zone.metadata.name, zone.status]));
  const nads = nadsByNetwork(objects.networkAttachmentDefinitions, settings);
  const pods = podsByNad(objects.pods);
  const names = new Set([DEFAULT_NETWORK, ...declared.keys(), ...nads.keys()]);
  const networks = [...names].map((name): Omit<NetworkOverview, 'siblings'> => {
    const ofNetwork = nads.get(name) ?? [];
    const [first] = ofNetwork;
    const object = declared.get(name);
    const config = first?.config;
    const id = name === DEFAULT_NETWORK ? 0 : first?.id;
    const subnets = name === DEFAULT_NETWORK ? settings.clusterSubnets : (config?.subnets ?? []);
    const keys = name === DEFAULT_NETWORK ? [DEFAULT_NETWORK] : ofNetwork.map(({ key }) => key);
    return {
      name,
      ...(object === undefined ? {} : { object: describe(object) }),
      ...(id === undefined ? {} : { id }),
      ...(name === DEFAULT_NETWORK
        ? { topology: 'layer3', role: 'primary' }
        : config === undefined
          ? {}
          : {
              topology: config.topology,
              role: config.role,
              ...(isOptedIn(
                ofNetwork.map((nad) => nad.secondaryGateway),
                config,
                settings,
              )
                ? { isOptedIn: true as const }
                : {}),
            }),
      subnets: subnets.map(({ cidr, hostLength }) =>
        hostLength === undefined ? cidr : `${cidr}/${hostLength}`,
      ),
      conditions: conditionsOf(object),
      ...(object?.metadata.deletionTimestamp === undefined ? {} : { isDeleting: true }),
      nads: ofNetwork.map(({ key }) => key),
      nodes: objects.nodes.map((node) =>
        onNode(node, { name, isOnDemand: ofNetwork.some((nad) => nad.isOnDemand) }, zones, daemons),
      ),
      pods: [...new Set(keys.flatMap((key) => pods.get(key) ?? []))].sort(),
    };
  });
  const nameOf = new Map(networks.map(({ id, name }) => [id, name]));
  const sorted = networks.toSorted(
    (a, b) => (a.id ?? Infinity) - (b.id ?? Infinity) || (a.name < b.name ? -1 : 1),
  );
  const siblingsOf = siblingsAmong(sorted);
  return {
    networks: sorted.map((network) => ({ ...network, siblings: siblingsOf(network) })),
    connections: objects.clusterNetworkConnects
      .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
      .map((connect) =>
        connectOverview(connect, (id) => nameOf.get(id), objects.nodes, zones, daemons),
      ),
    nodes: objects.nodes.map((node) => nodeOverview(node, zones, daemons)),
    waitingPods: waitingPods(
      objects.pods,
      new Set([...nads.values()].flatMap((ofNetwork) => ofNetwork.map(({ key }) => key))),
    ).map((pod) => {
      const cause = causeOfWaiting(pod, sorted, daemons);
      return cause === undefined ? pod : { ...pod, cause };
    }),
    problems: problemsOf(
      objects,
      daemons,
      egressPlacementProblems(objects, settings, time.now),
      time,
    ),
    objects: objectsOf(objects.zoneStatuses),
    notInForce: notInForce(
      objects.appliedObjects,
      objects.zoneStatuses,
      (node) => daemons.get(node)?.message !== undefined,
    ),
    notes: objects.zoneStatuses.flatMap(({ status }) => status?.notes ?? []),
  };
}

/** Why a pod has no addresses, from what is known of its node and of the networks of its namespace. */
function causeOfWaiting(
  { pod, node = '' }: WaitingPod,
  networks: readonly Placed[],
  daemons: ReadonlyMap<string, DaemonOverview>,
): string | undefined {
  const daemon = daemons.get(node);
  if (daemon === undefined) return `there is no node "${node}"`;
  if (daemon.message !== undefined) return `${daemon.state} on ${node}: ${daemon.message}`;
  const [namespace = ''] = pod.split('/');
  const refused = networks
    .filter(({ object = '', nads }) =>
      [object.slice(object.indexOf(' ') + 1), ...nads].some((key) =>
        key.startsWith(`${namespace}/`),
      ),
    )
    .flatMap(({ object = '', conditions }) =>
      conditions
        .filter(({ type, status }) => type === 'NetworkCreated' && status === 'False')
        .map(({ message }) => `${object}: ${message}`),
    );
  if (refused.length > 0) return refused.join('; ');
  return daemon.heartbeat === undefined && daemon.state !== 'running'
    ? `no daemon has run on ${node} yet`
    : undefined;
}

type Placed = Omit<NetworkOverview, 'siblings'>;

const namespacesOf = ({ nads }: Placed): readonly string[] =>
  nads.map((key) => key.slice(0, key.indexOf('/')));

/** Finds the primary networks that share a namespace and no addresses with a network, as nodes link them. */
function siblingsAmong(networks: readonly Placed[]): (network: Placed) => readonly string[] {
  const isPrimary = ({ id, role }: Placed): boolean => id !== undefined && role === 'primary';
  const byNamespace = new Map<string, Placed[]>();
  for (const network of networks.filter(isPrimary))
    for (const namespace of namespacesOf(network))
      byNamespace.set(namespace, [...(byNamespace.get(namespace) ?? []), network]);
  const prefixesOf = ({ subnets }: Placed): readonly Prefix[] =>
    subnets
      .map((subnet) => parsePrefix(subnet.split('/').slice(0, 2).join('/')))
      .filter((prefix) => prefix !== undefined);
  return (network) => {
    if (!isPrimary(network)) return [];
    const others = new Set(namespacesOf(network).flatMap((each) => byNamespace.get(each) ?? []));
    others.delete(network);
    const prefixes = prefixesOf(network);
    return [...others]
      .filter((other) => !prefixesOf(other).some((a) => prefixes.some((b) => overlaps(a, b))))
      .map(({ name }) => name);
  };
}

/** False when something failed, is refused, or a node has a problem or no daemon any more: what a monitoring script asks. */
export const isHealthy = (overview: Overview): boolean =>
  overview.problems.length === 0 &&
  overview.nodes.every(
    ({ message, daemon }) => message === undefined && daemon.message === undefined,
  ) &&
  overview.networks.every(
    ({ conditions, nodes }) =>
      conditions.every(({ status }) => status !== 'False') &&
      nodes.every(({ state }) => state !== 'Failed'),
  );

const describe = (object: KubeObject): string => `${object.kind} ${objectKey(object.metadata)}`;

const conditionsOf = (object: KubeObject | undefined): readonly Condition[] =>
  (object?.status as { conditions?: readonly Condition[] } | undefined)?.conditions ?? [];

function nadsByNetwork(
  nads: readonly NetworkAttachmentDefinition[],
  settings: ClusterSettings,
): ReadonlyMap<string, readonly NetworkNad[]> {
  const parsed = nads.flatMap((nad): NetworkNad[] => {
    const result = parseNad(nad, settings);
    if (result.kind !== 'network') return [];
    return [
      {
        key: objectKey(nad.metadata),
        config: result.config,
        id: networkId(nad).value,
        secondaryGateway: annotationOf(nad, SECONDARY_GATEWAY),
        isOnDemand: isOnDemand(nad),
      },
    ];
  });
  return Map.groupBy(
    parsed.sort((a, b) => (a.key < b.key ? -1 : 1)),
    ({ config }) => config.name,
  );
}

interface NetworkNad {
  readonly key: string;
  readonly config: Extract<ReturnType<typeof parseNad>, { kind: 'network' }>['config'];
  readonly id: number | undefined;
  readonly secondaryGateway: string | undefined;
  readonly isOnDemand: boolean;
}

function podsByNad(pods: readonly Pod[]): ReadonlyMap<string, readonly string[]> {
  const byNad = new Map<string, string[]>();
  for (const pod of pods) {
    for (const nadKey of podNetworks(pod).value?.keys() ?? []) {
      const nad = nadOfKey(nadKey);
      const keys = byNad.get(nad) ?? [];
      keys.push(objectKey(pod.metadata));
      byNad.set(nad, keys);
    }
  }
  return byNad;
}

const UNUSED = { state: 'Unused' } as const;

type Zones = ReadonlyMap<string, ZoneStatusContent | undefined>;

function onNode(
  node: Node,
  network: { readonly name: string; readonly isOnDemand: boolean },
  zones: Zones,
  daemons: ReadonlyMap<string, DaemonOverview>,
): NetworkOnNode {
  const { name } = node.metadata;
  const { networks } = zones.get(name) ?? {};
  const found =
    networks?.find((candidate) => candidate.name === network.name) ??
    // A node reports those that it uses.
    (network.isOnDemand && networks !== undefined ? UNUSED : undefined);
  return {
    node: name,
    subnets: nodeSubnets(node).value?.get(network.name) ?? [],
    ...stateNow(found, daemons.get(name)),
  };
}

function nodeOverview(
  node: Node,
  zones: Zones,
  daemons: ReadonlyMap<string, DaemonOverview>,
): NodeOverview {
  const { name } = node.metadata;
  const { observedAt, message } = zones.get(name) ?? {};
  const id = nodeId(node).value;
  return {
    name,
    ...(id === undefined ? {} : { id }),
    ...(observedAt === undefined ? {} : { observedAt }),
    ...(message === undefined ? {} : { message }),
    daemon: daemons.get(name) ?? { state: 'no daemon' },
  };
}

function objectsOf(zoneStatuses: readonly ZoneStatus[]): readonly ObjectOverview[] {
  const reports = zoneStatuses.flatMap(({ metadata, status }) =>
    objectStatesIn(status).map((report) => ({ ...report, node: metadata.name })),
  );
  return [...Map.groupBy(reports, ({ object }) => object)]
    .map(([object, entries]): ObjectOverview => {
      const failed = entries.filter(({ state }) => state === 'Failed');
      const counting = failed.length > 0 ? failed : entries;
      const message = [...new Set(counting.flatMap((one) => one.message ?? []))].join('; ');
      return {
        object,
        state: failed.length > 0 ? 'Failed' : 'Pending',
        ...(message === '' ? {} : { message }),
        nodes: [...new Set(counting.map(({ node }) => node))].sort(),
      };
    })
    .sort((a, b) => (a.object < b.object ? -1 : 1));
}

function problemsOf(
  { zoneStatuses, clusterNetworkConnects, leases, nodes }: OverviewObjects,
  daemons: ReadonlyMap<string, DaemonOverview>,
  ofEgress: Overview['problems'],
  time: OverviewTime,
): Overview['problems'] {
  const leader = leaderProblem(leases, time.now);
  const known = new Set(nodes.map(({ metadata }) => metadata.name));
  const ofClocks = leases.flatMap((lease) => {
    const node = nodeOfLease(lease);
    return node !== undefined && known.has(node) ? (clockProblem(node, lease, time) ?? []) : [];
  });
  // A node whose daemon is gone is a problem of its own.
  const ofAbsent = new Set(
    [...daemons].flatMap(([node, { message }]) =>
      message === undefined ? [] : [zoneCondition(node)],
    ),
  );
  const ofNodes = distinctProblems(zoneStatuses.flatMap(({ status }) => status?.problems ?? []));
  const saidByNodes = new Set(ofNodes.map(({ object, message }) => `${object} ${message}`));
  const problems = [
    ...(leader === undefined ? [] : [leader]),
    ...ofClocks,
    ...ofNodes,
    ...ofEgress,
    ...clusterNetworkConnects.flatMap((connect) =>
      (connect.status?.conditions ?? [])
        .filter(({ status, type }) => status !== 'True' && !ofAbsent.has(type))
        // What a node says of its zone is its problem already.
        .filter(({ message }) => !saidByNodes.has(`${describe(connect)} ${message}`))
        .map(({ type, message }) => ({
          object: describe(connect),
          message: inOneLine(`${type === 'Accepted' ? 'not accepted' : `not ${type}`}: ${message}`),
        })),
    ),
  ];
  const unique = new Map(
    problems.map((problem) => [`${problem.object} ${problem.message}`, problem]),
  );
  return [...unique.values()].sort((a, b) => (a.object < b.object ? -1 : 1));
}
