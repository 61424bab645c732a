/** What `heddle status` shows of an overview, worst first and each thing once. Pure. */
import { ABSENCE_MEANS } from '../api/node-lease.ts';
import type { ZoneProblem } from '../api/zone-status.ts';
import type { Condition } from '../api/objects.ts';
import { inOneLine } from '../api/visible-text.ts';
import { distinctProblems } from './distinct-problems.ts';
import type { NetworkOnNode, NetworkOverview, Overview } from './overview.ts';
import { waitingText } from './waiting-pods.ts';

/** State of a network in the cluster: of its object, else the worst of the nodes that use it. */
export type NetworkStateNow = NetworkOnNode['state'] | 'Refused' | 'Deleting';

/** Worst first. */
const ORDER: readonly NetworkOnNode['state'][] = [
  'Failed',
  'no daemon',
  'Stale',
  'Pending',
  'Committed',
  'Programmed',
];

const isWrong = ({ type, status }: Condition): boolean =>
  status === (type === 'PrimaryNetworkConflict' ? 'True' : 'False');

export function networkState({
  conditions,
  isDeleting,
  nodes,
  nads,
  object,
}: Omit<NetworkOverview, 'siblings'>): NetworkStateNow {
  const created = conditions.find(({ type }) => type === 'NetworkCreated');
  if (isDeleting === true || created?.reason === 'NetworkAttachmentDefinitionDeleted')
    return 'Deleting';
  if (created?.status === 'False') return 'Refused';
  const worst = ORDER.find((state) => nodes.some((one) => one.state === state));
  if (worst !== undefined) return worst;
  const isNowhere = object !== undefined && created !== undefined && nads.length === 0;
  return isNowhere || nodes.some(({ state }) => state === 'Unused') ? 'Unused' : 'Unknown';
}

const IN_ORDER: ReadonlySet<NetworkStateNow> = new Set(['Programmed', 'Unused', 'Unknown']);

/** What people are shown besides tables. */
export interface StatusView {
  /** `3 nodes, 5 networks, 2 not ready, 9 problems`. */
  readonly verdict: string;
  readonly isWell: boolean;
  readonly problems: readonly ZoneProblem[];
  /** What is over by itself, or as soon as something else is there. */
  readonly waiting: readonly ZoneProblem[];
}

/** What a state means where nothing else is known. */
const MEANINGS: Partial<Record<NetworkOnNode['state'], string>> = {
  Committed: 'in the databases; ovn-northd and ovn-controller have not confirmed it yet',
  Pending: 'something that it needs is not there yet',
  Failed: 'could not be built',
};

const count = (number: number, what: string): string =>
  `${number} ${what}${number === 1 ? '' : 's'}`;

/** `broken`: how many manifests can't be used. */
export function statusView(overview: Overview, broken = 0): StatusView {
  const absent = new Set(
    overview.nodes.filter(({ daemon }) => daemon.message !== undefined).map(({ name }) => name),
  );
  const running = new Set(
    overview.nodes.filter(({ daemon }) => daemon.state === 'running').map(({ name }) => name),
  );
  const onNodes = overview.networks.flatMap((network) => networkLines(network, absent));
  const stated = new Set(onNodes.map(({ object, message }) => `${object} ${message}`));
  const pending = new Set(
    overview.objects.filter(({ state }) => state === 'Pending').map(({ object }) => object),
  );
  const ofObjects = overview.problems.filter(
    (problem) =>
      !stated.has(`${problem.object} ${problem.message}`) &&
      !isOfAbsence(problem, absent.union(running)),
  );
  const isPending = ({ object }: ZoneProblem): boolean => pending.has(object);
  const found = distinctProblems([
    ...overview.nodes.flatMap(nodeLines),
    ...overview.networks.flatMap((network) => conditionLines(network, overview.problems)),
    ...onNodes.filter(({ state }) => state === 'Failed').map(onThem),
    ...ofObjects.filter((problem) => !isPending(problem)),
  ]).toSorted((a, b) => rankOf(a) - rankOf(b));
  const problems = withCommonCauses(found);
  const told = new Set(found.map(({ object }) => object));
  const waiting = distinctProblems([
    ...onNodes.filter(({ state }) => state !== 'Failed').map(onThem),
    ...ofObjects.filter(isPending),
    ...overview.notInForce
      .filter(({ object }) => !told.has(object) && !pending.has(object))
      .map(({ object, nodes }) => ({ object, message: `not in force yet on ${namesOf(nodes)}` })),
    ...overview.waitingPods
      .filter(({ pod }) => !told.has(`Pod ${pod}`) && !pending.has(`Pod ${pod}`))
      .map((pod) => ({ object: `Pod ${pod.pod}`, message: waitingText(pod) })),
  ]);
  const notReady = overview.networks.filter((network) => !IN_ORDER.has(networkState(network)));
  const isWell = problems.length === 0 && notReady.length === 0 && broken === 0;
  const verdict = [
    count(overview.nodes.length, 'node'),
    count(overview.networks.length, 'network'),
    ...(notReady.length === 0 ? [] : [`${notReady.length} not ready`]),
    ...(problems.length === 0 ? [] : [count(problems.length, 'problem')]),
    ...(broken === 0 ? [] : [`${count(broken, 'error')} in manifests`]),
    ...(waiting.length === 0 ? [] : [`${waiting.length} waiting`]),
    ...(isWell && waiting.length === 0 ? ['no problems'] : []),
  ].join(', ');
  return { verdict, isWell, problems, waiting };
}

interface OnNodes extends ZoneProblem {
  readonly state: NetworkOnNode['state'];
  readonly nodes: readonly string[];
}

const namesOf = (nodes: readonly string[]): string =>
  nodes.length > 5 ? `${nodes.length} nodes` : nodes.join(', ');

const onThem = ({ object, message, state, nodes }: OnNodes): ZoneProblem => ({
  object,
  message: `${state} on ${namesOf(nodes)}: ${message}`,
});

/** Nodes that have not what they use of a network, by why; where no daemon keeps a node that is the problem. */
function networkLines(
  { name, object, nodes }: NetworkOverview,
  absent: ReadonlySet<string>,
): readonly OnNodes[] {
  const lacking = nodes.filter(
    ({ node, state }) => MEANINGS[state] !== undefined && !absent.has(node),
  );
  return [
    ...Map.groupBy(lacking, ({ state, message }) => `${state} ${message ?? ''}`).values(),
  ].map((group) => {
    const [first] = group as [NetworkOnNode];
    return {
      object: object ?? `Network ${name}`,
      state: first.state,
      message: first.message ?? MEANINGS[first.state] ?? '',
      nodes: group.map(({ node }) => node),
    };
  });
}

/** What the object of a network says of itself, but for what nodes or allocations say better. */
function conditionLines(
  { name, object, conditions, nodes }: NetworkOverview,
  problems: readonly ZoneProblem[],
): readonly ZoneProblem[] {
  const isCauseKnown = (type: string): boolean => {
    if (type === 'NetworkReady') return nodes.some(({ state }) => !IN_ORDER.has(state));
    return (
      type === 'NetworkAllocationSucceeded' &&
      problems.some(({ message }) => message.includes(`network name ${name}:`))
    );
  };
  return conditions
    .filter((condition) => isWrong(condition) && !isCauseKnown(condition.type))
    .map(({ type, message }) => ({
      object: object ?? `Network ${name}`,
      message: inOneLine(type === 'NetworkReady' ? `not ready: ${message}` : message),
    }));
}

/** A node whose daemon is gone says nothing else that counts. */
const nodeLines = ({ name, daemon, message }: Overview['nodes'][number]): readonly ZoneProblem[] =>
  daemon.message !== undefined
    ? [
        {
          object: `Node ${name}`,
          message: `${daemon.state}: ${daemon.message}: ${daemon.state === 'Stale' ? ABSENCE_MEANS.replace(/\?$/, ', and do its clock and that of this machine agree?') : ABSENCE_MEANS}`,
        },
      ]
    : message === undefined
      ? []
      : [{ object: `Node ${name}`, message }];

/**
 * What the cluster manager reports of a node whose daemon is gone: its lease says it, too. Of a daemon that answers it is not so: its heartbeats may not get
 * into a state directory that is full.
 */
const isOfAbsence = ({ object, message }: ZoneProblem, known: ReadonlySet<string>): boolean =>
  object.startsWith('Node ') && known.has(object.slice(5)) && message.endsWith(ABSENCE_MEANS);

/** As many objects with the same words are one problem: a disk that is full is not one of every network. */
const COMMON = 3;

/** What many objects say alike once, at the first of them. */
const withCommonCauses = (problems: readonly ZoneProblem[]): readonly ZoneProblem[] =>
  [...Map.groupBy(problems, ({ message }) => message).values()].flatMap((alike) => {
    const [first] = alike;
    return first === undefined || alike.length < COMMON
      ? alike
      : [{ object: `${first.object} and ${alike.length - 1} others`, message: first.message }];
  });

/** What hits all comes before what hits one. */
function rankOf({ object }: ZoneProblem): number {
  const [kind = ''] = object.split(' ');
  if (kind === 'Lease') return -1;
  if (kind === 'Node' || kind === 'ZoneStatus') return 0;
  return /Network/.test(kind) && !/Policy|QoS/.test(kind) ? 1 : 2;
}

/** What of an overview somebody wants to see. */
export interface StatusFilter {
  readonly namespace?: string | undefined;
  /** By the network's name, its object's, or a NAD's. */
  readonly network?: string | undefined;
  readonly node?: string | undefined;
}

/** `Kind namespace/name` → both; an object without a namespace has none. */
function partsOf(object: string): { readonly namespace: string | undefined; readonly key: string } {
  const key = object.slice(object.indexOf(' ') + 1);
  const slash = key.indexOf('/');
  return { namespace: slash === -1 ? undefined : key.slice(0, slash), key };
}

const isNamed = (network: NetworkOverview, name: string): boolean =>
  [network.name, network.object?.split(' ')[1], ...network.nads].includes(name);

/** Namespaces of which something is known: a network, a pod, an object that waits or is wrong. Sorted. */
export function knownNamespaces(overview: Overview): readonly string[] {
  const objects = [
    ...overview.networks.flatMap(({ object }) => object ?? []),
    ...[...overview.problems, ...overview.objects, ...overview.notInForce].map(
      ({ object }) => object,
    ),
  ];
  const keys = [
    ...overview.networks.flatMap(({ nads, pods }) => [...nads, ...pods]),
    ...overview.waitingPods.map(({ pod }) => pod),
  ].map((key) => key.slice(0, key.indexOf('/')));
  return [
    ...new Set([...keys, ...objects.flatMap((object) => partsOf(object).namespace ?? [])]),
  ].toSorted();
}

/** The part of an overview that concerns a namespace, a network, a node. */
export function filtered(overview: Overview, { namespace, network, node }: StatusFilter): Overview {
  const isOfNode = (object: string): boolean => {
    if (node === undefined) return true;
    if (object.startsWith('Node ') || object.startsWith('ZoneStatus '))
      return partsOf(object).key === node;
    const known = overview.objects.find((one) => one.object === object);
    return known === undefined || known.nodes.includes(node);
  };
  const networks = overview.networks
    .filter((one) => network === undefined || isNamed(one, network))
    .filter(
      ({ nads, object }) =>
        namespace === undefined ||
        nads.some((key) => key.startsWith(`${namespace}/`)) ||
        (object !== undefined && partsOf(object).namespace === namespace),
    )
    .map((one) => ({
      ...one,
      nodes: one.nodes.filter((on) => node === undefined || on.node === node),
    }));
  const pods = new Set(networks.flatMap((one) => one.pods));
  const objects = new Set(networks.flatMap(({ object }) => object ?? []));
  const nads = new Set(networks.flatMap((one) => one.nads));
  const names = networks.map(({ name }) => name);
  const isShown = (object: string): boolean => {
    if (!isOfNode(object)) return false;
    const { namespace: own, key } = partsOf(object);
    if (namespace !== undefined && own !== namespace && !objects.has(object)) return false;
    if (network === undefined) return true;
    return objects.has(object) || pods.has(key) || nads.has(key);
  };
  const isAbout = ({ object, message }: ZoneProblem): boolean =>
    isShown(object) ||
    (isOfNode(object) &&
      (namespace !== undefined || network !== undefined) &&
      names.some((name) => message.includes(`network name ${name}:`)));
  return {
    ...overview,
    networks,
    connections: overview.connections
      .filter(
        (connection) =>
          (namespace === undefined && network === undefined) ||
          connection.networks.some(({ name }) => name !== undefined && names.includes(name)),
      )
      .map((one) => ({
        ...one,
        nodes: one.nodes.filter((on) => node === undefined || on.node === node),
      })),
    nodes: overview.nodes.filter(({ name }) => node === undefined || name === node),
    waitingPods: overview.waitingPods.filter(
      (one) =>
        isShown(`Pod ${one.pod}`) &&
        (node === undefined || one.node === undefined || one.node === node),
    ),
    problems: overview.problems.filter(isAbout),
    objects: overview.objects.filter(({ object }) => isShown(object)),
    notInForce: overview.notInForce
      .map((one) => ({
        ...one,
        nodes: one.nodes.filter((on) => node === undefined || on === node),
      }))
      .filter(({ object, nodes }) => nodes.length > 0 && isShown(object)),
    notes: overview.notes.filter(({ object }) => isShown(object)),
  };
}
