/** What facts that could not be worked out are about: the object that is named, and whose rows may be theirs. */
import type { FactFailure } from '../../facts/derivation-graph.ts';
import { externalRouteObject } from './external-routes.ts';
import type { ZoneFacts } from './zone.ts';
import { networkIdsOf } from '../read/connects.ts';
import { DEFAULT_NETWORK } from '../read/networks.ts';

/** What a derived fact is about. */
export interface About {
  /** `Service blue/web`. */
  readonly object: string;
  /** Other objects, and namespaces with all that is in them, whose rows may follow from it. */
  readonly objects?: readonly string[];
  readonly namespaces?: readonly string[];
}

/** Kind and key of an object as rows are marked with it: `Service blue/web`. Of what has no key, such as `cluster`, it is empty. */
export function kindAndKey(object: string): readonly [kind: string, key: string] {
  const [kind = '', key = ''] = object.split(' ');
  return [kind, key];
}

type AboutKey = (facts: ZoneFacts, name: string) => About;

/** Objects of the networks; a network that nothing is known of is named itself. */
export const networkObject = (facts: ZoneFacts, name: string): string =>
  name === DEFAULT_NETWORK
    ? 'cluster'
    : (facts.networks.peek(name)?.object ??
      facts.registrations.peek(name)?.object ??
      `network ${name}`);

/** Of all networks: one that nothing else uses may be in use by what is not known. */
export const networkObjects = (facts: ZoneFacts): readonly string[] => [
  ...new Set(
    [DEFAULT_NETWORK, ...networkNames(facts.registrations), ...networkNames(facts.networks)].map(
      (name) => networkObject(facts, name),
    ),
  ),
];
const networkNames = (table: { entries(): Iterable<[string, object]> }): readonly string[] =>
  [...table.entries()].map(([name]) => name);
const connectObjects = (facts: ZoneFacts): readonly string[] =>
  [...facts.connects.entries()].map(([name]) => `ClusterNetworkConnect ${name}`);
/** Policies of administrators, which are in no namespace. */
export const adminObjects = (facts: ZoneFacts): readonly string[] => [
  ...[...facts.admins.entries()].map(([, { kind, name }]) => `${kind} ${name}`),
  ...[...facts.externalRoutes.entries()].map(([name]) => externalRouteObject(name)),
];

/** They may select pods of any namespace. */
export const egressIpObjects = (facts: ZoneFacts): readonly string[] =>
  [...facts.egressIps.entries()].map(([name]) => `EgressIP ${name}`);

export const egressServiceObjects = (facts: ZoneFacts): readonly string[] =>
  [...facts.egressServices.entries()].map(([, { key }]) => `EgressService ${key}`);

/** Namespaces whose pods may be on a network. */
const namespacesOn = (facts: ZoneFacts, network: string): readonly string[] =>
  network === DEFAULT_NETWORK
    ? [...facts.namespaces.entries()].map(([name]) => name)
    : [...facts.definitions.entries()]
        .filter(([, definition]) => definition.network === network)
        .map(([, { namespace }]) => namespace);

/** Networks of the connections of a network: services are shared there. */
const connectedWith = (facts: ZoneFacts, network: string): readonly string[] => {
  const id = facts.registrations.peek(network)?.id;
  return [...facts.connects.entries()]
    .map(([, connect]) => networkIdsOf(connect))
    .filter((ids) => id !== undefined && ids.includes(id))
    .flat()
    .flatMap((networkId) => facts.networks.keysBy('id', String(networkId)));
};

/** Networks of one namespace reach each other, as those of a connection do. */
export const ofNetwork: AboutKey = (facts, name) => ({
  object: networkObject(facts, name),
  objects: [
    ...networkObjects(facts),
    ...connectObjects(facts),
    ...adminObjects(facts),
    ...egressIpObjects(facts),
    ...(name === DEFAULT_NETWORK ? [...facts.nodes.entries()].map(([node]) => `Node ${node}`) : []),
  ],
  namespaces: [name, ...connectedWith(facts, name)].flatMap((one) => namespacesOn(facts, one)),
});
/** Who is on it is known by its pods. */
export const ofNode: AboutKey = (facts, name) => ({
  object: `Node ${name}`,
  objects: [
    ...networkObjects(facts),
    ...connectObjects(facts),
    ...[...facts.remoteInterfaces.entries()]
      .filter(([, { node }]) => node === name)
      .map(([, { namespace, pod }]) => `Pod ${namespace}/${pod}`),
  ],
});
/** Networks of the namespace may be in use by it alone. */
const inNamespace = (facts: ZoneFacts, object: string, namespace: string): About => ({
  object,
  objects: [
    ...networkObjects(facts),
    ...connectObjects(facts),
    ...adminObjects(facts),
    ...egressIpObjects(facts),
  ],
  namespaces: [
    namespace,
    ...[...facts.definitions.entries()]
      .filter(([, definition]) => definition.namespace === namespace)
      .flatMap(([, { network }]) => [network, ...connectedWith(facts, network)])
      .flatMap((network) => namespacesOn(facts, network)),
  ],
});
const connectedIds = (facts: ZoneFacts, name: string): readonly number[] => {
  const connect = facts.connects.peek(name);
  return connect === undefined ? [] : networkIdsOf(connect);
};
const ofConnect: AboutKey = (facts, name) => ({
  object: `ClusterNetworkConnect ${name}`,
  objects: networkObjects(facts),
  namespaces: connectedIds(facts, name).flatMap((networkId) =>
    facts.networks
      .keysBy('id', String(networkId))
      .flatMap((network) => namespacesOn(facts, network)),
  ),
});
const ofEgressIp: AboutKey = (facts, name) => ({
  object: `EgressIP ${name}`,
  objects: [...networkObjects(facts), ...egressIpObjects(facts)],
  namespaces: [...facts.namespaces.entries()].map(([namespace]) => namespace),
});
export const namespaceOf = (key: string): string => key.slice(0, key.indexOf('/'));

/** Of which kind it is says what may follow from it. */
export function aboutObject(facts: ZoneFacts, object: string): About {
  const [kind, key] = kindAndKey(object);
  if (kind === 'Node') return ofNode(facts, key);
  if (kind === 'network') return ofNetwork(facts, key);
  if (kind === 'EgressIP') return ofEgressIp(facts, key);
  if (kind === 'ClusterNetworkConnect') return ofConnect(facts, key);
  if (kind === 'Namespace') return inNamespace(facts, object, key);
  return key.includes('/') ? inNamespace(facts, object, namespaceOf(key)) : { object };
}

/** Whether rows with this mark may follow from what these facts are about; nothing follows for an object in a namespace that `isGone`. */
export function concernedBy(
  abouts: Iterable<About>,
  isGone: (kind: string, key: string) => boolean = () => false,
): (mark: string) => boolean {
  const objects = new Set<string>();
  const spaces = new Set<string>();
  for (const { object, objects: others = [], namespaces = [] } of abouts) {
    for (const one of [object, ...others]) objects.add(one);
    for (const namespace of namespaces) spaces.add(namespace);
  }
  return (mark) => {
    if (objects.has(mark)) return true;
    const [kind, name] = kindAndKey(mark);
    if (kind !== 'Namespace' && !name.includes('/')) return false;
    return spaces.has(kind === 'Namespace' ? name : namespaceOf(name)) && !isGone(kind, name);
  };
}

/** One text for the fact, as a person finds it again. */
export const factName = ({ table, key }: FactFailure): string => `${table} of ${key.join(' ')}`;
