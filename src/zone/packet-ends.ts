/** Who sends a packet, and who is meant to get it: objects by their names, with their addresses and networks. */
import {
  isWithoutNetworks,
  podNetworks,
  type PodNetwork,
} from '../api/annotations/pod-annotations.ts';
import { hostCidrs } from '../api/annotations/node-annotations.ts';
import { nodes, pods, services } from '../api/kinds.ts';
import { nadOfKey, DEFAULT_NAD_KEY } from '../api/nad/nad-key.ts';
import { nearestName } from '../api/validation/nearest-name.ts';
import { matchesSelector } from '../api/selectors.ts';
import type { Node, Pod, Service } from '../api/types.ts';
import { familyOf, withoutPrefix } from '../allocators/addresses.ts';
import { DEFAULT_NETWORK } from '../model/read/networks.ts';
import { policyObject, type PolicyDirection } from '../model/read/policies.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import type { AskedPacket, ObjectName, Protocol } from '../packets/asked-packet.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import type { Store } from '../store/store.ts';

export interface EndSource {
  readonly facts: Pick<ZoneFacts, 'definitions' | 'networks' | 'policies'>;
  readonly objects: Pick<Store, 'list'>;
}

export interface KnownPod {
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Interfaces by NAD key. */
  readonly networks: ReadonlyMap<string, PodNetwork>;
}

/** An address that is asked, at a port. */
export interface Target {
  /** `Pod red/db`; absent for an address. */
  readonly object?: string;
  readonly namespace?: string;
  /** The pod that should get it; absent where whoever has the address should. */
  readonly pod?: KnownPod;
  readonly service?: Service;
  readonly address: string;
  readonly port?: number;
  readonly protocol: Protocol;
  /** OVN's name of the network that the address is on. */
  readonly network?: string;
}

export const podObject = ({ namespace, name }: ObjectName): string => `Pod ${namespace}/${name}`;

async function foundPod(
  { objects }: EndSource,
  { namespace, name }: ObjectName,
  signal: AbortSignal,
): Promise<Pod | undefined> {
  const [found] = await objects.list(pods, signal, {
    namespace,
    fields: { 'metadata.name': name },
  });
  return found;
}

/** Throws ConfigurationError for a pod that is not there, or has no interface of ours. */
export async function knownPod(
  source: EndSource,
  asked: ObjectName,
  argument: string,
  signal: AbortSignal,
): Promise<KnownPod> {
  const pod = await foundPod(source, asked, signal);
  if (pod === undefined) throw await noPod(source, asked, argument, signal);
  return podOf(pod, argument);
}

/** The message about a pod that is not there, with the name that it may have. */
export async function noPod(
  { objects }: Pick<EndSource, 'objects'>,
  { namespace, name }: ObjectName,
  argument: string,
  signal: AbortSignal,
): Promise<ConfigurationError> {
  const others = await objects.list(pods, signal, { namespace });
  const nearest = nearestName(
    name,
    others.map(({ metadata }) => metadata.name),
  );
  return new ConfigurationError(
    argument,
    `there is no pod ${namespace}/${name}${nearest === undefined ? '' : `; did you mean "${namespace}/${nearest}"?`}`,
  );
}

function podOf(pod: Pod, argument: string): KnownPod {
  const { name, namespace = '', labels = {} } = pod.metadata;
  const named = `pod ${namespace}/${name}`;
  if (pod.spec.hostNetwork === true)
    throw new ConfigurationError(
      argument,
      `${named} is on the network of its node, and sends as the node does`,
    );
  if (isWithoutNetworks(pod))
    throw new ConfigurationError(argument, `${named} has ended and has no addresses`);
  const { value, errors } = podNetworks(pod);
  if (value === undefined || value.size === 0)
    throw new ConfigurationError(
      argument,
      `${named} has no addresses yet${errors.length === 0 ? ' (heddle status says what it waits for)' : `: ${errors.map(({ message }) => message).join('; ')}`}`,
    );
  return { name, namespace, labels, node: pod.spec.nodeName ?? '', networks: value };
}

/** OVN's name of the network of a NAD key. */
export const networkOfKey = ({ facts }: EndSource, nadKey: string): string | undefined =>
  nadKey === DEFAULT_NAD_KEY ? DEFAULT_NETWORK : facts.definitions.peek(nadOfKey(nadKey))?.network;

/** Interfaces of a pod by which it may send; all of them unless a network is named. Throws ConfigurationError for one that it is not on. */
export function chosenNetworks(
  source: EndSource,
  { namespace, name, networks }: KnownPod,
  network: string | undefined,
): ReadonlyMap<string, PodNetwork> {
  if (network === undefined) return networks;
  const namesOf = (nadKey: string): readonly string[] => {
    const ovn = networkOfKey(source, nadKey);
    const object = ovn === undefined ? undefined : source.facts.networks.peek(ovn)?.object;
    const name = object?.split(' ').at(-1) ?? '';
    return [nadKey, ovn ?? '', object ?? '', name, name.split('/').at(-1) ?? ''];
  };
  const chosen = [...networks].filter(([nadKey]) => namesOf(nadKey).includes(network));
  if (chosen.length === 0)
    throw new ConfigurationError(
      '--network',
      `pod ${namespace}/${name} is not on "${network}"; it is on ${[...networks.keys()].map((key) => networkOfKey(source, key) ?? key).join(', ')}`,
    );
  return new Map(chosen);
}

/** Policies that close a pod in a direction on a network, in the order of their names. */
export const policiesClosing = (
  { facts }: EndSource,
  { namespace, labels }: Pick<KnownPod, 'namespace' | 'labels'>,
  direction: PolicyDirection,
): readonly string[] =>
  facts.policies
    .all()
    .filter(
      (policy) =>
        policy.namespace === namespace &&
        policy.directions.includes(direction) &&
        matchesSelector(policy.podSelector, labels),
    )
    .map(policyObject)
    .toSorted();

/** Whom a question means. Throws ConfigurationError for objects that are not there, or have no such port. */
export async function targetOf(
  source: EndSource,
  asked: AskedPacket,
  sending: ReadonlyMap<string, PodNetwork>,
  signal: AbortSignal,
): Promise<Target> {
  const { destination } = asked;
  switch (destination.kind) {
    case 'address':
      return { address: destination.address, ...wanted(asked) };
    case 'node':
      return nodeTarget(source, asked, destination.name, sending, signal);
    case 'pod':
      return podTarget(source, asked, await knownPod(source, destination, 'DEST', signal), sending);
    case 'service':
      return serviceTarget(
        asked,
        await foundService(source, destination, signal),
        destination,
        sending,
      );
    case 'either': {
      const pod = await foundPod(source, destination, signal);
      if (pod !== undefined) return podTarget(source, asked, podOf(pod, 'DEST'), sending);
      const service = await foundService(source, destination, signal);
      if (service !== undefined) return serviceTarget(asked, service, destination, sending);
      await knownPod(source, destination, 'DEST', signal);
      throw new ConfigurationError('DEST', 'is not there');
    }
  }
}

/** A port without a protocol is of TCP; without a port it is an echo that is asked for. */
function wanted({ port, protocol }: AskedPacket): Pick<Target, 'port' | 'protocol'> {
  if (typeof port === 'string')
    throw new ConfigurationError(
      'DEST',
      `"${port}": ports of services alone have names; write a number`,
    );
  if (port === undefined) {
    if (protocol !== undefined && protocol !== 'icmp')
      throw new ConfigurationError('DEST', `${protocol} needs a port`);
    return { protocol: 'icmp' };
  }
  return { port, protocol: protocol ?? 'tcp' };
}

const familiesIn = (networks: ReadonlyMap<string, PodNetwork>): ReadonlySet<string> =>
  new Set([...networks.values()].flatMap(({ addresses }) => addresses.map((one) => familyOf(one))));

async function nodeTarget(
  { objects }: EndSource,
  asked: AskedPacket,
  name: string,
  sending: ReadonlyMap<string, PodNetwork>,
  signal: AbortSignal,
): Promise<Target> {
  const [node]: readonly Node[] = await objects.list(nodes, signal, {
    fields: { 'metadata.name': name },
  });
  if (node === undefined) throw new ConfigurationError('DEST', `there is no node ${name}`);
  const families = familiesIn(sending);
  const address = addressesOfNode(node).find((one) => families.has(familyOf(one)));
  if (address === undefined)
    throw new ConfigurationError(
      'DEST',
      `node ${name} has no address of a family that the pod has`,
    );
  return { object: `Node ${name}`, address, ...wanted(asked) };
}

function podTarget(
  source: EndSource,
  asked: AskedPacket,
  pod: KnownPod,
  sending: ReadonlyMap<string, PodNetwork>,
): Target {
  const senders = new Set([...sending.keys()].map((key) => networkOfKey(source, key)));
  const families = familiesIn(sending);
  const interfaces = [...pod.networks].flatMap(([nadKey, network]) => {
    const address = network.addresses.find((one) => families.has(familyOf(one)));
    const name = networkOfKey(source, nadKey);
    return address === undefined || name === undefined
      ? []
      : [{ name, address: withoutPrefix(address), role: network.role }];
  });
  // A network that both are on first, and last the default one of a pod that has a primary network of its own.
  const rank = ({ name, role }: (typeof interfaces)[number]): number =>
    role === 'infrastructure-locked'
      ? 4
      : (senders.has(name) ? 0 : 2) + (role === 'primary' ? 0 : 1);
  const [best] = interfaces.toSorted((a, b) => rank(a) - rank(b));
  if (best === undefined)
    throw new ConfigurationError(
      'DEST',
      `pod ${pod.namespace}/${pod.name} has no address of a family that the sender has`,
    );
  return {
    object: podObject(pod),
    namespace: pod.namespace,
    pod,
    address: best.address,
    network: best.name,
    ...wanted(asked),
  };
}

async function foundService(
  { objects }: EndSource,
  { namespace, name }: ObjectName,
  signal: AbortSignal,
): Promise<Service | undefined> {
  const [found] = await objects.list(services, signal, {
    namespace,
    fields: { 'metadata.name': name },
  });
  return found;
}

function serviceTarget(
  { port, protocol }: AskedPacket,
  service: Service | undefined,
  { namespace, name }: ObjectName,
  sending: ReadonlyMap<string, PodNetwork>,
): Target {
  const named = `service ${namespace}/${name}`;
  if (service === undefined) throw new ConfigurationError('DEST', `there is no ${named}`);
  const families = familiesIn(sending);
  const address = service.spec.clusterIPs.find((one) => families.has(familyOf(one)));
  if (address === undefined)
    throw new ConfigurationError(
      'DEST',
      service.spec.clusterIPs.length === 0
        ? `${named} has no address of its own: ask for one of its pods`
        : `${named} has no address of a family that the pod has`,
    );
  const ports = (service.spec.ports ?? []).map(({ protocol: its = 'TCP', ...rest }) => ({
    ...rest,
    protocol: PROTOCOL_NAMES[its],
  }));
  const meant = ports.filter(
    (one) =>
      (port === undefined || one.port === port || one.name === port) &&
      (protocol === undefined || one.protocol === protocol),
  );
  const [only, ...others] = meant;
  const list = ports
    .map((one) => `${one.port}/${one.protocol}${one.name === undefined ? '' : ` (${one.name})`}`)
    .join(', ');
  if (only === undefined && typeof port === 'number')
    // It is asked all the same: what has no such port drops or refuses it.
    return {
      object: `Service ${namespace}/${name}`,
      namespace,
      service,
      address,
      port,
      protocol: protocol === 'icmp' ? 'tcp' : (protocol ?? 'tcp'),
    };
  if (only === undefined || (others.length > 0 && port === undefined))
    throw new ConfigurationError(
      'DEST',
      `${named} has ${ports.length === 0 ? 'no ports' : `ports ${list}`}: write which one`,
    );
  return {
    object: `Service ${namespace}/${name}`,
    namespace,
    service,
    address,
    port: only.port,
    protocol: only.protocol,
  };
}

const PROTOCOL_NAMES = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' } as const;

const addressesOfNode = (node: Node): readonly string[] => [
  ...(node.status?.addresses ?? [])
    .filter(({ type }) => type === 'InternalIP')
    .map(({ address }) => address),
  ...(hostCidrs(node).value ?? []).map(withoutPrefix),
];
