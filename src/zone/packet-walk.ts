/** Follows a packet through the logical network of this node, and the answer to it: ovn-trace says the way, and Southbound where it begins. */
import { contains, familyOf, parseAddress, withoutPrefix } from '../allocators/addresses.ts';
import { ovnPrefix } from '../api/nad/network-name.ts';
import { mapIn, textIn } from '../databases/row-lookup.ts';
import {
  isDefault,
  layer2Names,
  managementPort,
  podPort,
  transitPort,
} from '../model/rules/names.ts';
import { connectPorts } from '../topology/connect/connect-rows.ts';
import { hairpinAddresses } from '../topology/services/service-node.ts';
import { MARK } from '../desired/rows.ts';
import type { Network } from '../model/model.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import { managementDevice, vrfName } from '../node/names.ts';
import type { OvnTrace } from '../node/programs/ovn-trace.ts';
import { CLIENT_PORT, microflow, sendingInterface } from '../packets/microflow.ts';
import type { Packet, SendingInterface } from '../packets/microflow.ts';
import { ownerOf, type Leg, type LegEnd, type Part } from '../packets/packet-report.ts';
import { decisionsOf, traceEnds, type TraceEnd } from '../packets/trace-end.ts';
import { readTrace, type TraceEvent } from '../packets/trace-text.ts';
import type { Try } from '../packets/verdict.ts';
import { ConfigurationError } from '../process/configuration-error.ts';
import { balanced, endpointOf, type BalancingSource, type Followed } from './packet-balancing.ts';
import { BridgeWalk, type BridgeSource, type PassedOn } from './bridge-walk.ts';
import { Origins, SOUTHBOUND, type OriginSource } from './origins.ts';
import { PacketDeciders } from './packet-deciders.ts';
import { knownPod, networkOfKey, podObject, type EndSource } from './packet-ends.ts';
import type { KnownPod, Target } from './packet-ends.ts';
import { isSameAddress, PacketPorts } from './packet-ports.ts';
import { PacketTemplates } from './packet-templates.ts';

export interface WalkSource extends BridgeSource, EndSource {
  readonly configuration: { readonly node: string };
  readonly facts: OriginSource['facts'] &
    EndSource['facts'] &
    Pick<ZoneFacts, 'connects' | 'nodes' | 'own' | 'poolAddresses' | 'settings'>;
  /** Absent without a Southbound database. */
  readonly ovnTrace: Pick<OvnTrace, 'trace'> | undefined;
}

export interface Walk {
  readonly pod: KnownPod;
  readonly way: SendingInterface;
  readonly target: Target;
}

/** What was found. */
export interface Walked {
  readonly tries: readonly Try[];
  readonly part: Part;
  /** Of a service, as its load balancer has them. */
  readonly endpoints: readonly string[];
  /** What no try met. */
  readonly missing: readonly string[];
  /** What was not looked at, and what is known beside the way. */
  readonly notes: readonly string[];
}

/** An endpoint is chosen at random: of so many tries for each the chance that one of them is never met is 1 in 400. */
const TRIES_PER_ENDPOINT = 6;
const MOST_TRIES = 36;

/** Where a packet comes into the logical network. */
type Start = Pick<Packet, 'inport' | 'fromMac' | 'toMac'>;
type NoStart = { readonly why: string };

/** Throws OvnTraceError where the program can't be run, ConfigurationError where this node has no part in it. */
export async function walked(source: WalkSource, walk: Walk, signal: AbortSignal): Promise<Walked> {
  return new PacketWalk(source, walk, signal).run();
}

class PacketWalk {
  readonly #source: WalkSource;
  readonly #trace: Pick<OvnTrace, 'trace'>;
  readonly #walk: Walk;
  readonly #signal: AbortSignal;
  readonly #origins: Origins;
  readonly #ports: PacketPorts;
  readonly #deciders: PacketDeciders;
  readonly #bridges: BridgeWalk;
  readonly #balancing: BalancingSource;
  /** Ways that came to another network over the host. */
  readonly #overHost = new Map<Leg, { readonly passed: PassedOn; readonly packet: Packet }>();

  constructor(source: WalkSource, walk: Walk, signal: AbortSignal) {
    this.#source = source;
    this.#walk = walk;
    this.#signal = signal;
    this.#origins = new Origins(source, signal);
    const south = this.#origins.lookup(SOUTHBOUND);
    if (source.ovnTrace === undefined || south === undefined)
      throw new ConfigurationError('--sb', 'is required: packets are followed in Southbound');
    this.#trace = source.ovnTrace;
    this.#ports = new PacketPorts(south);
    this.#deciders = new PacketDeciders(this.#origins, south, this.#ports);
    this.#bridges = new BridgeWalk(source, this.#origins, signal);
    this.#balancing = {
      follow: (packet) => this.#followed(packet, 'new'),
      templates: new PacketTemplates(south, this.#ports, source.facts.own('chassisId')),
      deciders: this.#deciders,
      ports: this.#ports,
      hairpinSource: (address) =>
        hairpinAddresses(source.facts.settings).find((one) => familyOf(one) === familyOf(address)),
    };
  }

  async run(): Promise<Walked> {
    const { pod, way, target } = this.#walk;
    const isHere = pod.node === this.#source.configuration.node;
    const start = isHere ? await this.#atPod() : await this.#atTunnel();
    if ('why' in start) {
      const there = this.#unknown('there', start.why, way.from, target.address);
      return {
        tries: [{ there }],
        part: isHere ? 'whole' : 'receives',
        endpoints: [],
        missing: [],
        notes: [],
      };
    }
    const { tries, endpoints } = await this.#tries(start, isHere);
    const isSent = isHere && tries.every(({ there }) => there.end.kind === 'node');
    return {
      tries: distinctTries(tries),
      part: isHere ? (isSent ? 'sends' : 'whole') : 'receives',
      endpoints,
      missing: unmet(tries, endpoints),
      notes: this.#bridges.notes,
    };
  }

  /** As many as it takes to meet every endpoint of a service. */
  async #tries(
    start: Start,
    isHere: boolean,
  ): Promise<{ readonly tries: readonly Try[]; readonly endpoints: readonly string[] }> {
    const { way, target } = this.#walk;
    const tries: Try[] = [];
    const endpoints = new Set<string>();
    let most = 1;
    while (tries.length < most) {
      const packet: Packet = {
        ...start,
        from: way.from,
        to: target.address,
        protocol: target.protocol,
        ...(target.port === undefined ? {} : { fromPort: CLIENT_PORT, toPort: target.port }),
      };
      const sent = await balanced(this.#balancing, packet, tries.length);
      for (const backend of sent.backends) endpoints.add(backend);
      // Where an endpoint is chosen at random each is met after some tries.
      const isInTurn = sent.balancing !== undefined;
      if (endpoints.size > 1)
        most = Math.min(MOST_TRIES, (isInTurn ? 1 : TRIES_PER_ENDPOINT) * endpoints.size);
      const logical = await this.#leg('there', sent, way.from, target.address);
      const there = isHere
        ? await this.#beyondHost(
            await this.#bridges.followed(logical, packet),
            packet,
            endpoints,
            tries.length,
          )
        : logical;
      const known = tries.find((one) => JSON.stringify(one.there) === JSON.stringify(there));
      const back =
        known === undefined ? await this.#back(there, [...endpoints], packet) : known.back;
      tries.push(back === undefined ? { there } : { there, back });
      if (endpoints.size > 1 && arrivedAt(tries).size >= endpoints.size) break;
    }
    return { tries, endpoints: [...endpoints] };
  }

  /** Goes on where the host sends it back to the bridge, and that leads it to a network: adds the endpoints that are met there. */
  async #beyondHost(leg: Leg, sent: Packet, endpoints: Set<string>, turn: number): Promise<Leg> {
    const mac = this.#source.facts.own('gateway')?.macAddress;
    if (leg.end.kind !== 'host' || mac === undefined) return leg;
    const from = translatedSource(leg.hops) ?? sent.from;
    const packet: Packet = { ...sent, inport: '', from, fromMac: mac, toMac: mac };
    const passed = await this.#bridges.passedOn(leg.end, packet);
    if (passed === undefined) return leg;
    const hops = [...leg.hops, ...passed.hops];
    if (passed.to === undefined) return { ...leg, hops, end: passed.end };
    // The switch's port to the bridge is the other end of that patch port.
    const inport = passed.to.port.replace(/^patch-(.+)-to-br-int$/, '$1');
    const found = await balanced(this.#balancing, { ...packet, inport }, turn);
    for (const backend of found.backends) endpoints.add(backend);
    const inside = await this.#leg('there', found, from, sent.to);
    const { end } = inside;
    const whole: Leg = {
      ...leg,
      hops: [...hops, ...inside.hops],
      end: end.kind === 'node' ? { ...end, isByHost: true } : end,
    };
    this.#overHost.set(whole, { passed, packet });
    return whole;
  }

  /** At the port of the pod that sends. */
  #atPod(): Promise<Start | NoStart> {
    const { pod, way } = this.#walk;
    const inport = podPort(way.nadKey, pod.namespace, pod.name);
    return this.#startAt(inport, way.network.macAddress, way.nextHop);
  }

  async #startAt(inport: string, fromMac: string, nextHop: string): Promise<Start | NoStart> {
    const port = await this.#ports.named(inport);
    if (port === undefined)
      return {
        why: `Southbound has no port ${inport}: its network may not be in the data plane yet`,
      };
    const datapath = textIn(port, 'datapath');
    const toMac =
      (await this.#ports.macOn(datapath, nextHop)) ??
      this.#macOfPod(nextHop) ??
      // For an address of a pool in the subnet the router answers, though it does not have it.
      (this.#isOfPool(nextHop) ? await this.#ports.routerOn(datapath) : undefined);
    return toMac === undefined
      ? { why: `nobody on the switch of port ${inport} has address ${nextHop}` }
      : { inport, fromMac, toMac };
  }

  #isOfPool(address: string): boolean {
    const network = networkOfKey(this.#source, this.#walk.way.nadKey) ?? '';
    const pool = this.#source.facts.poolAddresses.peek(network)?.addresses ?? [];
    return pool.some((one) => isSameAddress(one, address));
  }

  /** Of a network that has a switch on each node the ports of pods of other nodes are not here. */
  #macOfPod(address: string): string | undefined {
    const { pod, target } = this.#walk;
    return [...(target.pod?.networks.values() ?? []), ...pod.networks.values()].find(
      ({ addresses }) => addresses.some((one) => isSameAddress(one, address)),
    )?.macAddress;
  }

  /** Where it comes from another node: of Layer2 networks the pod has a port here, of Layer3 networks its node has. */
  async #atTunnel(): Promise<Start | NoStart> {
    const { pod, way, target } = this.#walk;
    const { node } = this.#source.configuration;
    // Of an address nobody knows beforehand where it is.
    if (target.service !== undefined || (target.pod !== undefined && target.pod.node !== node))
      throw new ConfigurationError(
        '--node',
        `${podObject(pod)} is on node ${pod.node}: ask there, nothing of it is on node ${node}`,
      );
    const name = networkOfKey(this.#source, way.nadKey) ?? '';
    const network = this.#source.facts.networks.peek(name);
    if (network === undefined) return { why: `network ${name} is not known on node ${node}` };
    const [other, ...others] = target.network === undefined ? this.#joined(network) : [];
    if (other !== undefined && others.length > 0)
      return {
        why: `${target.address} is in the subnets of ${others.length + 1} networks that are connected with ${name}, and on which of them it comes the sending node says alone`,
      };
    const on = target.network ?? other?.name ?? name;
    if (on !== name) return this.#atConnection(network, on);
    if (network.topology !== 'layer3') return this.#atPod();
    const prefix = ovnPrefix(name);
    const inport = transitPort(prefix, pod.node);
    const toMac = await this.#ports.macOf(transitPort(prefix, node));
    if ((await this.#ports.named(inport)) === undefined || toMac === undefined)
      return { why: `Southbound has no port ${inport}, by which it would come here` };
    return { inport, fromMac: (await this.#ports.macOf(inport)) ?? way.network.macAddress, toMac };
  }

  /** Networks connected with the sender's that the address is in: an endpoint of a service of theirs, when it is not in the sender's own. */
  #joined({ id, subnets }: Network): readonly Network[] {
    const { address } = this.#walk.target;
    const hasIt = (one: Pick<Network, 'subnets'>): boolean =>
      one.subnets.some(({ cidr }) => contains(cidr, address));
    if (hasIt({ subnets })) return [];
    const ids = new Set(
      [...this.#source.facts.connects.entries()].flatMap(([, { members }]) => {
        const all = members.map(({ networkId }) => networkId);
        return all.includes(id) ? all : [];
      }),
    );
    return this.#networks().filter((one) => ids.has(one.id) && hasIt(one));
  }

  /** Where it comes from another node on a network that is connected with the sender's, whose router it has gone through there. */
  async #atConnection(from: Network, target: string): Promise<Start | NoStart> {
    const { facts, configuration } = this.#source;
    const { node } = configuration;
    const to = facts.networks.peek(target);
    if (to === undefined) return { why: `network ${target} is not known on node ${node}` };
    const both = [...facts.connects.entries()].filter(([, { members }]) =>
      [from, to].every(({ id }) => members.some(({ networkId }) => networkId === id)),
    );
    const [connect, ...others] = both.map(([, { name }]) => name);
    if (connect === undefined)
      return {
        why: `no ClusterNetworkConnect joins networks ${from.name} and ${target} on this node`,
      };
    if (others.length > 0)
      return {
        why: `networks ${from.name} and ${target} are joined by ${both.length} ClusterNetworkConnects, and by which of them it comes the sending node says alone`,
      };
    const { onConnectRouter, onNetworkRouter } = connectPorts(connect, target, node);
    // A Layer2 network has its router on the node of the sender, and is one switch on all nodes.
    const isRouted = to.topology === 'layer3';
    const inport = isRouted ? onNetworkRouter : layer2Names(to.name, node).switchToRouter;
    const port = await this.#ports.named(inport);
    const fromMac = await this.#ports.macOf(isRouted ? onConnectRouter : inport);
    const toMac = isRouted
      ? await this.#ports.macOf(inport)
      : port && (await this.#ports.macOn(textIn(port, 'datapath'), this.#walk.target.address));
    return fromMac === undefined || toMac === undefined
      ? { why: `Southbound has no port ${inport}, by which it would come here over ${connect}` }
      : { inport, fromMac, toMac };
  }

  /** The answer of whom the packet arrived at; undefined where it arrived at nobody who was meant. */
  async #back(there: Leg, endpoints: readonly string[], sent: Packet): Promise<Leg | undefined> {
    const { end, hops } = there;
    if (end.kind === 'outside') return this.#bridges.answered(there, sent);
    if (end.kind !== 'pod' || !end.isMeant) return undefined;
    const over = this.#overHost.get(there);
    if (over !== undefined) return this.#bridges.answeredByHost(over.passed, reversed(over.packet));
    const { way, target } = this.#walk;
    const pod = target.pod ?? (await this.#podCalled(end.object));
    const { address, port } = answerer(pod, target, endpoints);
    const sees = translatedSource(hops) ?? way.from;
    const unknown = (why: string): Leg => this.#unknown('back', why, address, sees);
    // The switch sends the answer back to it, and lets it through as that.
    if (end.object === podObject(this.#walk.pod) && sees !== way.from)
      return { direction: 'back', from: address, to: sees, hops: [], end };
    if (end.object === podObject(this.#walk.pod))
      return unknown('the pod answers itself, by way of the service');
    if (sees !== way.from)
      return unknown(`its destination ${sees} is turned into the pod's address by what is tracked`);
    const answer = sendingInterface(pod.networks, sees, address);
    if (answer === undefined) return unknown(`${podObject(pod)} has no route to ${sees}`);
    const start = await this.#startAt(
      podPort(answer.nadKey, pod.namespace, pod.name),
      answer.network.macAddress,
      answer.nextHop,
    );
    if ('why' in start) return unknown(start.why);
    const packet: Packet = {
      ...start,
      from: address,
      to: sees,
      protocol: target.protocol,
      ...(port === undefined ? { isAnswer: true } : { fromPort: port, toPort: CLIENT_PORT }),
    };
    const events = await this.#followed(packet, 'reply');
    return this.#bridges.followed(await this.#leg('back', { events }, address, sees), packet);
  }

  #podCalled(object: string): Promise<KnownPod> {
    const [namespace = '', name = ''] = object.replace(/^Pod /, '').split('/');
    return knownPod(this.#source, { namespace, name }, 'DEST', this.#signal);
  }

  async #followed(packet: Packet, state: 'new' | 'reply'): Promise<readonly TraceEvent[]> {
    this.#signal.throwIfAborted();
    return readTrace(await this.#trace.trace(microflow(packet), state));
  }

  #unknown(direction: Leg['direction'], why: string, from: string, to: string): Leg {
    return { direction, from, to, hops: [], end: { kind: 'unknown', why } };
  }

  async #leg(
    direction: Leg['direction'],
    { events, balancing }: Pick<Followed, 'events' | 'balancing'>,
    from: string,
    to: string,
  ): Promise<Leg> {
    const ends = traceEnds(events);
    const hops = await this.#deciders.hops(events, decisionsOf(events, ends), balancing);
    if (balancing?.backends.length === 0) {
      const [by] = balancing.by;
      return { direction, from, to, hops, end: { kind: 'stopped', isRefused: true, by } };
    }
    const found: LegEnd[] = [];
    for (const end of ends) found.push(await this.#endOf(direction, end));
    // Of several, where OVN floods, that counts which gets furthest.
    const [end = { kind: 'unknown', why: 'it has no end' }] = found.toSorted(
      (a, b) => rankOf(a) - rankOf(b),
    );
    return { direction, from, to, hops, end };
  }

  async #endOf(direction: Leg['direction'], end: TraceEnd): Promise<LegEnd> {
    switch (end.kind) {
      case 'dropped':
      case 'refused': {
        const isRefused = end.kind === 'refused';
        const kind = isRefused ? 'refuses' : 'drops';
        return {
          kind: 'stopped',
          isRefused,
          by: await this.#deciders.decided({ kind, step: end.by }),
        };
      }
      case 'asks':
        return {
          kind: 'unknown',
          why: `router ${end.at.place.datapath} asks who has the next address, and nobody has answered yet`,
        };
      case 'unknown':
        return end;
      case 'output':
        return this.#arrival(direction, end.port, end.type);
    }
  }

  async #arrival(direction: Leg['direction'], name: string, type: string): Promise<LegEnd> {
    if (type === 'localnet') return { kind: 'outside', port: name };
    const port = await this.#ports.named(name);
    if (port !== undefined && type === 'remote') {
      const ids = mapIn(port, 'external_ids');
      const node = this.#nodeOf(ids, mapIn(port, 'options'));
      // The port of a network's transit switch is there for the network itself.
      const network = this.#networks().find(({ object }) => object === ids[MARK])?.name;
      return {
        kind: 'node',
        ...(node === undefined ? {} : { node }),
        ...(network === undefined ? {} : { network }),
      };
    }
    if (port !== undefined && mapIn(port, 'external_ids')['pod'] === 'true') {
      const object = ownerOf(await this.#origins.ofRow(SOUTHBOUND, port)) ?? name;
      return { kind: 'pod', object, isMeant: this.#isMeant(direction, name, object) };
    }
    if (type === '' && name.startsWith('k8s-')) return this.#host(name);
    return { kind: 'unknown', why: `it is put out at port ${name} of type "${type}"` };
  }

  #networks(): readonly Network[] {
    return [...this.#source.facts.networks.entries()].map(([, network]) => network);
  }

  #host(port: string): LegEnd {
    const { facts, configuration } = this.#source;
    const { node } = configuration;
    const network = this.#networks().find(({ name }) => port === managementPort(name, node));
    if (network === undefined) return { kind: 'host', port };
    return {
      kind: 'host',
      port,
      device: managementDevice(network.id),
      ...(isDefault(network) ? {} : { vrf: vrfName(network, facts.own('gateway')?.bridge) }),
    };
  }

  /** Whether that is where the packet was to get: of a service, and of an address, whoever gets it is meant. */
  #isMeant(direction: Leg['direction'], port: string, object: string): boolean {
    const { pod, way, target } = this.#walk;
    if (direction === 'back') return port === podPort(way.nadKey, pod.namespace, pod.name);
    return target.pod === undefined || object === podObject(target.pod);
  }

  #nodeOf(
    ids: Readonly<Record<string, string>>,
    options: Readonly<Record<string, string>>,
  ): string | undefined {
    const { nodes } = this.#source.facts;
    return (
      ids['node'] ??
      ids['k8s.ovn.org/node'] ??
      nodes.all().find(({ chassisId }) => chassisId === options['requested-chassis'])?.name
    );
  }
}

const rankOf = (end: LegEnd): number =>
  end.kind === 'pod' && end.isMeant ? 0 : end.kind === 'stopped' ? 2 : 1;

/** Who answers, and from which port: the pod that was asked, or the endpoint that the pod is. */
function answerer(
  pod: KnownPod,
  { address, port, protocol, service }: Target,
  endpoints: readonly string[],
): { readonly address: string; readonly port?: number } {
  const own = [...pod.networks.values()].flatMap(({ addresses }) => addresses.map(withoutPrefix));
  if (service === undefined && own.some((one) => isSameAddress(one, address)))
    return protocol === 'icmp' || port === undefined ? { address } : { address, port };
  for (const endpoint of endpoints) {
    const one = endpointOf(endpoint);
    if (one === undefined) continue;
    const found = own.find((address) => isSameAddress(address, one.address));
    if (found !== undefined) return { address: found, port: one.port };
  }
  const family = parseAddress(address)?.family;
  const same = own.find((one) => parseAddress(one)?.family === family) ?? address;
  return port === undefined ? { address: same } : { address: same, port };
}

/** The packet that answers it. */
const reversed = ({ from, to, fromPort, toPort, ...packet }: Packet): Packet => ({
  ...packet,
  from: to,
  to: from,
  isAnswer: true,
  ...(toPort === undefined ? {} : { fromPort: toPort }),
  ...(fromPort === undefined ? {} : { toPort: fromPort }),
});

/** The address that the packet came to have on its way, if it is another one. */
function translatedSource(hops: Leg['hops']): string | undefined {
  const texts = hops.flatMap(({ decisions }) =>
    decisions.flatMap(({ kind, text = '' }) => (kind === 'translates' ? [text] : [])),
  );
  return texts.findLast((text) => text.startsWith('from '))?.slice('from '.length);
}

const arrivedAt = (tries: readonly Try[]): ReadonlySet<string> =>
  new Set(tries.flatMap(({ there: { end } }) => (end.kind === 'pod' ? [end.object] : [])));

/** Tries that end alike are one. */
const distinctTries = (tries: readonly Try[]): readonly Try[] => [
  ...new Map(tries.map((one) => [JSON.stringify([one.there.end, one.back?.end]), one])).values(),
];

/** Where some arrive at pods of this node and the others nowhere else, all endpoints should have been met. */
function unmet(tries: readonly Try[], endpoints: readonly string[]): readonly string[] {
  const met = arrivedAt(tries).size;
  const isAllHere = tries.every(({ there }) => there.end.kind === 'pod');
  return endpoints.length > 1 && isAllHere && met < endpoints.length
    ? [
        `${endpoints.length - met} of ${endpoints.length} endpoints were not met in ${tries.length} tries`,
      ]
    : [];
}
