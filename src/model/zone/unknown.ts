/** What of the cluster is not known: objects that exist and could not be read since the start, and facts that could not be worked out. */
import { DEFAULT_NETWORK } from '../read/networks.ts';
import { objectKindOf } from '../read/object-kinds.ts';
import type { ZoneFacts } from './zone.ts';
import {
  aboutObject,
  adminObjects,
  concernedBy,
  egressIpObjects,
  egressServiceObjects,
  kindAndKey,
  namespaceOf,
  networkObjects,
  ofNetwork,
  ofNode,
  type About,
} from './failed-facts.ts';
import { objectId, tablesOf } from './object-tables.ts';

/** Whether rows that nobody wants may be there for something that is not known, by what they are marked with. */
export interface Unknown {
  /** Other nodes of which nothing is known. */
  readonly nodes: ReadonlySet<string>;
  /** For rows of those nodes. */
  readonly concernsNodes: (mark: string) => boolean;
  /** Keys of NADs of which nothing is known: interfaces of pods may be there for them. */
  readonly nads: ReadonlySet<string>;
  /** For rows of policies on networks that only those NADs may have brought to where these policies are. */
  readonly concernsNads: (mark: string) => boolean;
  /** For rows of everything else that is not known. */
  readonly concerns: (mark: string) => boolean;
  /** Objects that those may be marked with, as far as they are known by name. */
  readonly objects: readonly string[];
}

/**
 * `unread` are objects, `Kind namespace/name`, of which not even the facts know, as their newest version is malformed or threw. Undefined when
 * everything is known.
 */
export function unknownOf(facts: ZoneFacts, unread: Iterable<string>): Unknown | undefined {
  const nodes = new Set<string>();
  const abouts: About[] = facts.keptNetworks().map((network) => ofNetwork(facts, network));
  for (const failure of facts.graph.failures()) {
    const [kind, key] = kindAndKey(failure.object);
    if (kind === 'Node') nodes.add(key);
    else abouts.push(aboutObject(facts, failure.object));
  }
  /** Of objects that leave alone what other pods have. */
  const beside: About[] = [];
  const nads = new Set<string>();
  const note = (object: string, others: readonly string[]): void => {
    const [kind, key] = kindAndKey(object);
    if (kind === 'Node') nodes.add(key);
    else if (kind === 'NetworkAttachmentDefinition') nads.add(key);
    else (kind === 'Namespace' ? abouts : beside).push(aboutObject(facts, object));
    beside.push({ object, objects: others });
  };
  for (const object of unread) note(object, namesakes(object));
  for (const [object, others] of facts.unreadable) note(object, others);
  const isMissingPods = facts.otherPods.peekKnown() === false;
  if (isMissingPods)
    beside.push({
      object: '',
      objects: [
        ...networkObjects(facts),
        ...adminObjects(facts),
        ...egressIpObjects(facts),
        ...egressServiceObjects(facts),
      ],
    });
  if (abouts.length + beside.length + nodes.size === 0) return undefined;
  const isGone = goneFrom(facts);
  const marks = [
    concernedBy(abouts, isGone),
    concernedBy(beside, (kind, key) => kind === 'Pod' || isGone(kind, key)),
  ];
  return {
    nodes,
    nads,
    objects: [...abouts, ...beside].flatMap(({ object, objects = [] }) => [object, ...objects]),
    concernsNads: concernedBy(
      [...nads].map((nad) => ({
        object: '',
        objects: adminObjects(facts),
        namespaces: namespacesWith(facts, nad),
      })),
      isGone,
    ),
    concernsNodes: concernedBy(
      [...nodes].map((node) => ofNode(facts, node)),
      isGone,
    ),
    concerns: (mark) =>
      (isMissingPods && mark.startsWith('Pod ')) || marks.some((concerns) => concerns(mark)),
  };
}

/** True for a policy that is on a network and whose units there are therefore built: nothing else of it there may be wanted. */
export function isPlaced(facts: ZoneFacts, object: string, network: string): boolean {
  const { placements, adminPlacements } = facts;
  const [kind, key] = kindAndKey(object);
  const [namespace = '', name] = key.split('/');
  const placement =
    name === undefined ? adminPlacements.peek(kind, key) : placements.peek(namespace, name, kind);
  return placement?.networks.some((one) => one === network) === true;
}

/** True if what a namespace has on a network does not depend on NADs of which nothing is known. */
export function isOnNetwork(facts: ZoneFacts, object: string, network: string): boolean {
  const [kind, key] = kindAndKey(object);
  const own = kind === 'Namespace' ? key : namespaceOf(key);
  return (
    network === DEFAULT_NETWORK ||
    [...facts.definitions.entries()].some(
      ([, definition]) => definition.namespace === own && definition.network === network,
    )
  );
}

/** The namespace of a NAD, and those of pods with an interface of it. */
const namespacesWith = (facts: ZoneFacts, nad: string): readonly string[] => [
  namespaceOf(nad),
  ...[...facts.interfaces.entries(), ...facts.remoteInterfaces.entries()]
    .filter(([, { nadKey }]) => nadKey === nad)
    .map(([, { namespace }]) => namespace),
];

/** Objects that a NAD of which nothing is known may have been made from. */
function namesakes(object: string): readonly string[] {
  const [kind, key] = kindAndKey(object);
  if (kind !== 'NetworkAttachmentDefinition') return [];
  const name = key.slice(key.indexOf('/') + 1);
  return [
    `UserDefinedNetwork ${key}`,
    `OVNSecondaryNetwork ${key}`,
    `ClusterUserDefinedNetwork ${name}`,
  ];
}

/** Kinds whose objects are known by their networks. */
const NETWORK_KINDS: ReadonlySet<string> = new Set([
  'UserDefinedNetwork',
  'OVNSecondaryNetwork',
  'NetworkAttachmentDefinition',
]);

/** Whether it is known of an object in a namespace that it is not there. */
function goneFrom(facts: ZoneFacts): (kind: string, key: string) => boolean {
  const tables = tablesOf(facts);
  return (kind, key) => {
    if (NETWORK_KINDS.has(kind)) return !networkObjects(facts).includes(`${kind} ${key}`);
    const declared = objectKindOf(kind);
    if (declared === undefined) return false;
    const id = objectId(kind, key);
    // Of a namespace that was being deleted at the start policies may have gone before its pods.
    if (declared.table === 'policies' && facts.namespaces.peek(id.namespace)?.ending === 'unseen')
      return false;
    if (declared.nodeOf === undefined) return tables[declared.table].peek(id) === undefined;
    // As long as they are not followed, it may be one of another node.
    return facts.otherPods.peekKnown() === true && tables.networkRequests.peek(id) === undefined;
  };
}
