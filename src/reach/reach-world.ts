/**
 * Who may send what to whom, by objects alone: networks and what joins them, policies of every tier, EgressFirewalls. Follows
 * docs/reference/topology.md as those do who build rows, and reads none of these. Pure.
 */
import {
  asHost,
  containsPrefix,
  parseAddress,
  parsePrefix,
  type Prefix,
} from '../allocators/addresses.ts';
import { objectKey } from '../api/objects.ts';
import type { Pod, Service } from '../api/types.ts';
import type { AdminPolicy, AdminRule } from '../model/read/admin-policies.ts';
import type { Firewall } from '../model/read/egress-firewalls.ts';
import {
  policyObject,
  type AddressBlock,
  type Policy,
  type PolicyDirection,
  type PolicyRule,
} from '../model/read/policies.ts';
import { joinSubnet } from '../model/rules/network-addresses.ts';
import { selectionId, type PodSelection } from '../model/rules/selections.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import { blockKey, MemberClasses, type KnownService, type MemberClass } from './member-classes.ts';
import { membersOf, type LeftOut, type Member } from './members.ts';
import { PortSet } from './port-set.ts';

/** How one member reaches another: at the other's address, or by a service of another network. */
export interface Passage {
  /** `Service namespace/name`; absent at the address. */
  readonly by?: string;
  readonly ports: PortSet;
}

/** The other end of a packet, as rules see it. */
interface Peer {
  isSelected(id: string): boolean;
  isIn(block: AddressBlock): boolean;
}

interface Policies {
  readonly policies: readonly Policy[];
  /** In the order in which they are asked. */
  readonly admins: readonly AdminPolicy[];
}

const NO_POLICIES: Policies = { policies: [], admins: [] };

const ofSubject = ({ namespace, podSelector }: Policy): string =>
  selectionId({ namespace, podSelector, isLegacy: false });

const asBlock = (cidr: string): AddressBlock => ({ cidr, except: [] });

export class ReachWorld {
  readonly members: readonly Member[];
  readonly leftOut: readonly LeftOut[];
  /** Ranges outside that some rule tells from others, and everything. */
  readonly outside: readonly string[];
  readonly #facts: ZoneFacts;
  readonly #services: ReadonlyMap<string, KnownService>;
  readonly #policies: ReadonlyMap<string, Policies>;
  readonly #firewalls: ReadonlyMap<string, readonly Firewall[]>;
  readonly #classes: MemberClasses;
  /** Networks whose services a connection shares with one. */
  readonly #serviceNeighbours: ReadonlyMap<string, ReadonlySet<string>>;
  /** Those of them whose services are reached over the external bridge. */
  readonly #bridgedNeighbours: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #policiesOver = new Map<MemberClass, Policies>();
  readonly #passages = new Map<MemberClass, Map<MemberClass, readonly Passage[]>>();

  constructor(facts: ZoneFacts, pods: readonly Pod[], services: readonly Service[]) {
    this.#facts = facts;
    const { members, leftOut } = membersOf(facts, pods);
    this.members = members;
    this.leftOut = leftOut;
    this.#services = new Map(services.map(knownService).map((one) => [one.key, one]));
    const policies = facts.policies.all();
    const admins = facts.admins.all();
    this.#policies = policiesByNetwork(facts, policies, admins);
    this.#firewalls = facts.settings.features.egressFirewall
      ? Map.groupBy(facts.firewalls.all(), ({ namespace }) => namespace)
      : new Map<string, Firewall[]>();
    this.#serviceNeighbours = serviceNeighbours(facts);
    this.#bridgedNeighbours = bridgedNeighbours(facts);
    const blocks = [
      ...policies.flatMap(({ rules }) => rules.flatMap((rule) => rule.blocks)),
      ...admins.flatMap(({ rules }) => rules.flatMap((rule) => rule.networks.map(asBlock))),
    ];
    this.#classes = new MemberClasses({
      selections: selectionsIn(policies, admins),
      blocks: new Map(blocks.map((block) => [blockKey(block), block])),
      portNames: portNames(policies, admins, services),
      services: this.#serviceNeighbours.size === 0 ? [] : [...this.#services.values()],
      firewalled: new Set(this.#firewalls.keys()),
    });
    const cidrs = [
      ...blocks.flatMap(({ cidr, except }) => [cidr, ...except]),
      ...[...this.#firewalls.values()]
        .flat()
        .flatMap(({ rules }) =>
          rules.flatMap(({ destination }) => (destination.kind === 'cidr' ? destination.cidr : [])),
        ),
    ];
    this.outside = [...new Set(['0.0.0.0/0', '::/0', ...cidrs])];
  }

  classOf(member: Member): MemberClass {
    return this.#classes.of(member);
  }

  /** Networks whose pods or services are reached from one; itself among them. */
  networksFrom(network: string): readonly string[] {
    const services = this.#serviceNeighbours.get(network) ?? [];
    return [...new Set([network, ...this.#facts.reachedFrom(network), ...services])];
  }

  /** What a member of a class may send to another one. */
  passages(from: MemberClass, to: MemberClass): readonly Passage[] {
    const known = this.#passages.get(from) ?? new Map<MemberClass, readonly Passage[]>();
    this.#passages.set(from, known);
    const found = known.get(to) ?? this.#worked(from, to);
    known.set(to, found);
    return found;
  }

  /** What a member of a class may send to a range outside. What names of rules stand for is not known here: rules by name and by node are passed over. */
  passageOut(from: MemberClass, cidr: string): PortSet {
    const prefix = parsePrefix(cidr);
    const network = this.#facts.networks.peek(from.network);
    const isOut = from.role === 'primary' || network?.isOptedIn === true;
    if (!isOut || prefix === undefined) return PortSet.NONE;
    const family = prefix.family;
    const subnets = network?.subnets.map((one) => parsePrefix(one.cidr)) ?? [];
    const isInside = subnets.some((one) => one !== undefined && containsPrefix(one, prefix));
    const hasFamily = subnets.some((one) => one?.family === family);
    if (isInside || !hasFamily || network?.topology === 'localnet') return PortSet.NONE;
    return this.#allowed('Egress', from, inRange(prefix), () => undefined).and(
      this.#firewall(from, prefix),
    );
  }

  /** Policies that decide what a member gets, or what it sends. */
  policiesOf(self: MemberClass, direction: PolicyDirection): readonly string[] {
    const { policies, admins } = this.#over(self);
    return [
      ...admins
        .filter(({ rules }) => rules.some((rule) => rule.direction === direction))
        .map(({ kind, name }) => `${kind} ${name}`),
      ...policies.filter(({ directions }) => directions.includes(direction)).map(policyObject),
    ];
  }

  /** Those that select a member; administrators' are about primary networks. */
  #over(self: MemberClass): Policies {
    const known = this.#policiesOver.get(self);
    if (known !== undefined) return known;
    const { policies, admins } = this.#policies.get(self.network) ?? NO_POLICIES;
    const found = {
      policies: policies.filter((policy) => self.selections.has(ofSubject(policy))),
      admins:
        self.role === 'primary'
          ? admins.filter(({ subject }) => self.selections.has(subject.id))
          : [],
    };
    this.#policiesOver.set(self, found);
    return found;
  }

  #worked(from: MemberClass, to: MemberClass): readonly Passage[] {
    const { network } = to;
    // A pod with a primary network of its own has nothing on the default one but what it opens.
    if (from.role === 'infrastructure-locked') return [];
    if (to.role === 'infrastructure-locked') {
      if (from.network !== network) return [];
      const open = to.openPorts.reduce((all, one) => all.or(openPort(one)), PortSet.NONE);
      return passage(open.and(this.#sent(from, to)));
    }
    const isJoined =
      from.network === network ||
      (from.role === 'primary' &&
        to.role === 'primary' &&
        this.#facts.reachedFrom(from.network).includes(network));
    const isShared = this.#serviceNeighbours.get(from.network)?.has(network) === true;
    if (!isJoined && !isShared) return [];
    if (this.#bridgedNeighbours.get(from.network)?.has(network) === true)
      return [...to.services].flatMap((key) => this.#overBridge(from, to, key));
    const both = this.#sent(from, to).and(this.#received(from, to));
    const services = [...(isShared ? to.services : [])].flatMap((key) => {
      const ports = servicePorts(this.#services.get(key), to, both);
      return passage(ports).map((one) => ({ ...one, by: `Service ${key}` }));
    });
    return [...(isJoined ? passage(both) : []), ...services];
  }

  /** Over the external bridge the sender's rules see the cluster IP, the receiver's its gateway router, of whichever node. */
  #overBridge(from: MemberClass, to: MemberClass, key: string): readonly Passage[] {
    const { settings, networks } = this.#facts;
    const service = this.#services.get(key);
    const network = networks.peek(to.network);
    if (service === undefined || network === undefined) return [];
    const ports = service.clusterIps.reduce((all, address) => {
      const vip = parsePrefix(asHost(address));
      const routers = vip && parsePrefix(joinSubnet(settings, network, vip.family) ?? '');
      if (vip === undefined || routers === undefined) return all;
      const sent = this.#allowed('Egress', from, inRange(vip), () => undefined).and(
        this.#firewall(from, vip),
      );
      const received = this.#allowed('Ingress', to, inRange(routers), (...port) =>
        to.numberOf(...port),
      );
      return all.or(servicePorts(service, to, received).and(sent));
    }, PortSet.NONE);
    return passage(ports).map((one) => ({ ...one, by: `Service ${key}` }));
  }

  #sent(from: MemberClass, to: MemberClass): PortSet {
    return this.#allowed('Egress', from, this.#peer(from, to), (...port) => to.numberOf(...port));
  }

  #received(from: MemberClass, to: MemberClass): PortSet {
    return this.#allowed('Ingress', to, this.#peer(to, from), (...port) => to.numberOf(...port));
  }

  /** Rules that name pods mean those on the network and on those that are connected with it. */
  #peer(self: MemberClass, peer: MemberClass): Peer {
    const isNear =
      peer.network === self.network ||
      (peer.role === 'primary' && this.#facts.reachedFrom(self.network).includes(peer.network));
    return {
      isSelected: (id) => isNear && peer.selections.has(id),
      isIn: (block) => peer.blocks.has(blockKey(block)),
    };
  }

  /** What policies of all tiers let through in one direction (docs/reference/topology.md §16). */
  #allowed(
    direction: PolicyDirection,
    self: MemberClass,
    peer: Peer,
    numberOf: MemberClass['numberOf'],
  ): PortSet {
    const { policies, admins } = this.#over(self);
    const tier = (name: AdminPolicy['tier'], open: PortSet): Verdict =>
      asked(
        admins
          .filter((one) => one.tier === name)
          .flatMap(({ rules }) => rules)
          .filter((rule) => rule.direction === direction && meansAdmin(rule, peer)),
        open,
        numberOf,
      );
    const first = tier('Admin', PortSet.ALL);
    const closing = policies.filter(({ directions }) => directions.includes(direction));
    if (closing.length === 0) {
      const last = tier('Baseline', first.open);
      return first.allowed.or(last.allowed).or(last.open);
    }
    const { passesIcmp } = this.#facts.settings.policies;
    const allowed = closing
      .flatMap(({ rules }) => rules)
      .filter((rule) => rule.direction === direction && means(rule, peer))
      .reduce(
        (all, { ports }) => all.or(PortSet.ofRule(ports, numberOf)),
        passesIcmp ? PortSet.ICMP : PortSet.NONE,
      );
    return first.allowed.or(first.open.and(allowed));
  }

  /** The first rule that is about a packet decides; what none is about passes. */
  #firewall({ firewall, network }: MemberClass, prefix: Prefix): PortSet {
    const places = this.#facts.namespaceNetworks.peek(firewall ?? '')?.networks ?? [];
    const isPlaced =
      places.some((place) => place === network) ||
      this.#facts.networks.peek(network)?.isOptedIn === true;
    if (firewall === undefined || !isPlaced) return PortSet.ALL;
    return (this.#firewalls.get(firewall) ?? []).reduce((all, { rules }) => {
      let open = PortSet.ALL;
      let allowed = PortSet.NONE;
      for (const { isAllowed, destination, ports } of rules) {
        if (destination.kind !== 'cidr' || !isWithin(prefix, asBlock(destination.cidr))) continue;
        const met = open.and(PortSet.ofRule(ports, () => undefined));
        open = open.without(met);
        if (isAllowed) allowed = allowed.or(met);
      }
      return all.and(allowed.or(open));
    }, PortSet.ALL);
  }
}

/** What rules in their order come to: what they let through, and what they leave to others. */
interface Verdict {
  readonly allowed: PortSet;
  readonly open: PortSet;
}

function asked(
  rules: readonly AdminRule[],
  ports: PortSet,
  numberOf: MemberClass['numberOf'],
): Verdict {
  let [open, allowed, passed] = [ports, PortSet.NONE, PortSet.NONE];
  for (const rule of rules) {
    const met = open.and(PortSet.ofRule(rule.ports, numberOf));
    open = open.without(met);
    if (rule.action === 'Allow') allowed = allowed.or(met);
    if (rule.action === 'Pass') passed = passed.or(met);
  }
  return { allowed, open: open.or(passed) };
}

const means = ({ peers, blocks }: PolicyRule, peer: Peer): boolean =>
  (peers.length === 0 && blocks.length === 0) ||
  peers.some(({ id }) => peer.isSelected(id)) ||
  blocks.some((block) => peer.isIn(block));

const meansAdmin = ({ peers, networks }: AdminRule, peer: Peer): boolean =>
  peers.some(({ id }) => peer.isSelected(id)) || networks.some((cidr) => peer.isIn(asBlock(cidr)));

function isWithin(prefix: Prefix, { cidr, except }: AddressBlock): boolean {
  const block = parsePrefix(cidr);
  return (
    block !== undefined &&
    containsPrefix(block, prefix) &&
    !except.some((hole) => {
      const one = parsePrefix(hole);
      return one !== undefined && containsPrefix(one, prefix);
    })
  );
}

/** Somebody of whom rules know the address alone. */
const inRange = (prefix: Prefix): Peer => ({
  isSelected: () => false,
  isIn: (block) => isWithin(prefix, block),
});

const passage = (ports: PortSet): readonly Passage[] => (ports.isEmpty ? [] : [{ ports }]);

const openPort = ({ protocol, port }: Member['openPorts'][number]): PortSet =>
  protocol === 'icmp'
    ? PortSet.ICMP
    : port === undefined
      ? PortSet.of(protocol, 0, 65_535)
      : PortSet.of(protocol, port);

/** Ports of a service, as its clients call them, behind which a member takes what it may get. */
function servicePorts(
  service: KnownService | undefined,
  to: MemberClass,
  allowed: PortSet,
): PortSet {
  return (service?.ports ?? []).reduce((all, { protocol = 'TCP', port, targetPort = port }) => {
    const name = protocol.toLowerCase() as Lowercase<typeof protocol>;
    const target = typeof targetPort === 'number' ? targetPort : to.numberOf(name, targetPort);
    const isOpen = target !== undefined && allowed.has(name, target);
    return isOpen ? all.or(PortSet.of(name, port)) : all;
  }, PortSet.NONE);
}

const knownService = ({ metadata, spec }: Service): KnownService => ({
  key: objectKey(metadata),
  namespace: metadata.namespace ?? '',
  selector: spec.selector ?? {},
  ports: spec.ports ?? [],
  clusterIps: spec.clusterIPs.filter((address) => parseAddress(address) !== undefined),
});

function policiesByNetwork(
  facts: ZoneFacts,
  policies: readonly Policy[],
  admins: readonly AdminPolicy[],
): ReadonlyMap<string, Policies> {
  const ordered = admins.toSorted((a, b) => a.priority - b.priority || (a.name < b.name ? -1 : 1));
  const placed = policies.map((policy) => ({
    policy,
    networks:
      facts.placements.peek(policy.namespace, policy.name, policy.kind)?.networks.map(String) ?? [],
  }));
  return new Map(
    [...facts.networks.entries()].map(([, { name }]) => [
      name,
      {
        policies: placed
          .filter(({ networks }) => networks.includes(name))
          .map(({ policy }) => policy),
        admins: ordered,
      },
    ]),
  );
}

function selectionsIn(
  policies: readonly Policy[],
  admins: readonly AdminPolicy[],
): ReadonlyMap<string, PodSelection> {
  const peers = [...policies, ...admins].flatMap(({ rules }) =>
    rules.flatMap((rule) => rule.peers),
  );
  const subjects = admins.map(({ subject }) => subject);
  const own = policies.map((policy): PodSelection => ({
    id: ofSubject(policy),
    namespace: policy.namespace,
    podSelector: policy.podSelector,
    isLegacy: false,
  }));
  return new Map([...peers, ...subjects, ...own].map((one) => [one.id, one]));
}

function portNames(
  policies: readonly Policy[],
  admins: readonly AdminPolicy[],
  services: readonly Service[],
): ReadonlySet<string> {
  const ofRules = [...policies, ...admins].flatMap(({ rules }) =>
    rules.flatMap(({ ports }) => ports.flatMap(({ name }) => name ?? [])),
  );
  const ofServices = services.flatMap(({ spec }) =>
    (spec.ports ?? []).flatMap(({ targetPort }) =>
      typeof targetPort === 'string' ? targetPort : [],
    ),
  );
  return new Set([...ofRules, ...ofServices]);
}

function serviceNeighbours(facts: ZoneFacts): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const [name, { hasServices }] of facts.connects.entries()) {
    if (!hasServices) continue;
    const members = facts.idsOf(name);
    for (const member of members) {
      const others = found.get(member) ?? new Set<string>();
      for (const other of members) if (other !== member) others.add(other);
      found.set(member, others);
    }
  }
  return found;
}

/** Pairs that a connection links are none: they meet as other networks do. */
function bridgedNeighbours(facts: ZoneFacts): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, ReadonlySet<string>>();
  for (const [, { name, id }] of facts.networks.entries()) {
    const linked = facts
      .connectsSharingServices(id)
      .flatMap((connect) => facts.membersOf(connect).map((member): string => member.name));
    const over = facts.connects
      .keysBy('bridgedTo', String(id))
      .flatMap((connect) => facts.bridgedClients(connect, id))
      .filter((other) => !linked.includes(other));
    if (over.length > 0) found.set(name, new Set(over));
  }
  return found;
}
