/**
 * Answers `heddle explain POD DEST`: follows a packet, and the answer to it, through the logical network as the databases of this node have it, and says of every
 * flow that decides something whose it is. It sends nothing and changes nothing.
 */
import {
  contains,
  familyOf,
  overlaps,
  parsePrefix,
  withoutPrefix,
} from '../allocators/addresses.ts';
import { endpointSlices } from '../api/kinds.ts';
import { packetText, type AskedPacket } from '../packets/asked-packet.ts';
import { CLIENT_PORT, sendingInterface } from '../packets/microflow.ts';
import type { Leg, PacketEnd, PacketReport } from '../packets/packet-report.ts';
import { judged, type Meant, type Sender, type Try } from '../packets/verdict.ts';
import {
  chosenNetworks,
  knownPod,
  networkOfKey,
  podObject,
  policiesClosing,
  targetOf,
  type KnownPod,
  type Target,
} from './packet-ends.ts';
import { isSameAddress } from './packet-ports.ts';
import { walked, type WalkSource } from './packet-walk.ts';

/** Throws ConfigurationError for what can't be asked, OvnTraceError where the program can't be run. */
export async function explainedPacket(
  source: WalkSource,
  asked: AskedPacket,
  signal: AbortSignal,
): Promise<PacketReport> {
  const pod = await knownPod(source, asked.pod, 'POD', signal);
  const chosen = chosenNetworks(source, pod, asked.network);
  const target = await targetOf(source, asked, chosen, signal);
  const common = {
    node: source.configuration.node,
    packet: packetText(asked),
    destination: endOf(target),
  };
  const from: PacketEnd = { object: podObject(pod), node: pod.node };
  const none = { stoppedBy: [], remedies: [], legs: [], notes: [], part: 'whole' as const };
  if (hasAddress(pod, target.address)) {
    const isItself = target.pod === undefined || podObject(target.pod) === podObject(pod);
    return {
      ...common,
      ...none,
      sender: { ...from, address: target.address },
      verdict: isItself ? 'reaches' : 'does not reach',
      passesHere: isItself,
      why: isItself
        ? 'It is an address of the pod itself, whose kernel keeps it.'
        : `${podObject(pod)} has that address itself on a network of its own, and keeps what it sends there.`,
    };
  }
  // Who names a network asks about what has the pod's address there.
  const [named] = asked.network === undefined ? [] : chosen.values();
  const ownAddress = named?.addresses
    .map(withoutPrefix)
    .find((one) => familyOf(one) === familyOf(target.address));
  const way = sendingInterface(chosen, target.address, ownAddress);
  if (way === undefined)
    return {
      ...common,
      ...none,
      sender: from,
      verdict: 'does not reach',
      passesHere: false,
      why: `${podObject(pod)} has no route to ${target.address}${asked.network === undefined ? '' : ` on network ${asked.network}`}.`,
    };
  const network = networkOfKey(source, way.nadKey) ?? way.nadKey;
  const { tries, part, endpoints, missing, notes } = await walked(
    source,
    { pod, way, target },
    signal,
  );
  const sender: Sender = {
    object: podObject(pod),
    namespace: pod.namespace,
    network,
    closedBy: policiesClosing(source, pod, 'Egress'),
  };
  const meant = { ...meantBy(source, target, network), endpoints };
  const judgement = judged(tries, part, sender, meant, missing);
  return {
    ...common,
    destination: {
      ...common.destination,
      ...(endpoints.length === 0 ? {} : { endpoints }),
      ...(missing.length === 0 ? {} : { isUnmet: true }),
      ...(endpoints.length === 0 || target.namespace === undefined
        ? {}
        : { endpointNodes: await endpointNodes(source, target.namespace, endpoints, signal) }),
    },
    part,
    sender: {
      ...from,
      network,
      address: way.from,
      ...(target.port === undefined ? {} : { port: CLIENT_PORT }),
    },
    ...judgement,
    notes: [...judgement.notes, ...notes],
    legs: shownLegs(tries),
  };
}

/** By the slices of a namespace; those of which two say another node are left out. */
async function endpointNodes(
  { objects }: WalkSource,
  namespace: string,
  endpoints: readonly string[],
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const nodes = new Map<string, Set<string>>();
  for (const slice of await objects.list(endpointSlices, signal, { namespace }))
    for (const { addresses = [], nodeName } of slice.endpoints ?? [])
      for (const address of nodeName === undefined ? [] : addresses)
        nodes.set(address, (nodes.get(address) ?? new Set()).add(nodeName ?? ''));
  const nodeOf = (endpoint: string): readonly (readonly [string, string])[] => {
    const address = endpoint.slice(0, endpoint.lastIndexOf(':')).replaceAll(/[[\]]/g, '');
    const [node, ...others] = nodes.get(address) ?? [];
    return node === undefined || others.length > 0 ? [] : [[endpoint, node]];
  };
  return Object.fromEntries(endpoints.flatMap(nodeOf));
}

const hasAddress = ({ networks }: KnownPod, address: string): boolean =>
  [...networks.values()].some(({ addresses }) =>
    addresses.some((one) => isSameAddress(withoutPrefix(one), address)),
  );

const endOf = ({ object, address, port, protocol, network, pod }: Target): PacketEnd => ({
  ...(object === undefined ? {} : { object }),
  address,
  ...(port === undefined ? {} : { port }),
  protocol,
  ...(network === undefined ? {} : { network }),
  ...(pod === undefined ? {} : { node: pod.node }),
});

function meantBy(source: WalkSource, target: Target, sending: string): Omit<Meant, 'endpoints'> {
  const { object, namespace, pod, address, port, protocol, network } = target;
  const subnetsOf = (name: string): readonly string[] =>
    (source.facts.networks.peek(name)?.subnets ?? []).map(({ cidr }) => cidr);
  const subnets = network === undefined ? [] : subnetsOf(network);
  return {
    ...(object === undefined ? {} : { object }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(network === undefined ? {} : { network }),
    ...(pod === undefined ? {} : { node: pod.node }),
    isPodAddress: pod !== undefined && subnets.some((cidr) => contains(cidr, address)),
    overlaps: subnetsOf(sending).some((one) => subnets.some((other) => areOverlapping(one, other))),
    address,
    ...(port === undefined ? {} : { port }),
    protocol,
    closedBy: pod === undefined ? [] : policiesClosing(source, pod, 'Ingress'),
  };
}

function areOverlapping(one: string, other: string): boolean {
  const [a, b] = [parsePrefix(one), parsePrefix(other)];
  return a !== undefined && b !== undefined && overlaps(a, b);
}

/** Tries that go the same way are shown once. */
function shownLegs(tries: readonly Try[]): readonly Leg[] {
  const legs = tries.flatMap(({ there, back }) => [there, ...(back === undefined ? [] : [back])]);
  return [...new Map(legs.map((leg) => [JSON.stringify(leg), leg])).values()];
}
