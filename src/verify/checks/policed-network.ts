/** A network whose ACLs are compared with what objects allow and deny, and what such comparisons have in common. */
import { parsePrefix } from '../../allocators/addresses.ts';
import { familyCidrs } from '../../api/nad/network-config.ts';
import type { Check, Findings } from '../findings.ts';
import {
  box,
  DESTINATION,
  difference,
  EVERYTHING,
  intersection,
  PORT,
  PROTOCOL,
  SOURCE,
  SOURCE_PORT,
  TooManyBoxes,
  withoutState,
  type HeaderSet,
} from '../headers/boxes.ts';
import { podSwitchOf, type PodPlace, type PodSwitch } from '../headers/legs.ts';
import { packetOf, type ExamplePacket } from '../headers/listed.ts';
import { addressesNamed } from '../headers/matched.ts';
import {
  ALL_ADDRESSES,
  allOf,
  between,
  ofPrefix,
  V4,
  V6,
  without,
  type Ranges,
} from '../headers/ranges.ts';
import { perhapsOf, type Passed } from '../headers/stages.ts';
import { rowText, type DatapathLookup } from '../intent/datapaths.ts';
import { addressesOf, type Intent } from '../intent/intent.ts';
import type { VerifiedNetwork } from '../intent/networks.ts';
import type { VerifiedPort } from '../intent/pods.ts';
import type { VerifiedServices } from '../intent/services.ts';
import type { NorthboundRows } from '../northbound-rows.ts';
import type { PolicyDirection } from '../policies/read.ts';
import type { Rules, Unread } from '../policies/rules.ts';
import { SelectedPods, type PolicedObjects } from '../policies/selected-pods.ts';
import { ownAddresses, type Wanted } from '../policies/wanted.ts';
import { member, type Row } from '../rows.ts';
import type { Settings } from '../snapshot.ts';
import { aclText } from './access-lists.ts';

/** Kinds of pods times ACLs of their switch, and pairs of sets that are compared: a network with more is not judged. */
const MOST_LOOKS = 2_000_000;
const MOST_PAIRS = 20_000_000;

/** What rows and objects say, as checks of policies and firewalls ask for it. */
export interface Policed {
  readonly rows: NorthboundRows;
  readonly datapaths: DatapathLookup;
  readonly intent: Intent;
  readonly services: VerifiedServices;
  readonly objects: PolicedObjects;
  readonly rules: Rules;
  readonly settings: Settings;
}

const MULTICAST = addressesNamed(['224.0.0.0/4', '255.255.255.255', 'ff00::/8']);
const UDP = between(17, 17);

/** Clients of DHCP ask, and nobody answers them, whatever policies say (reference/topology.md §22). */
const DHCP: HeaderSet = [
  box({ [PROTOCOL]: UDP, [PORT]: allOf([between(68, 68), between(546, 546)]) }),
  box({ [PROTOCOL]: UDP, [SOURCE_PORT]: between(68, 68), [PORT]: between(67, 67) }),
  box({ [PROTOCOL]: UDP, [SOURCE_PORT]: between(546, 546), [PORT]: between(547, 547) }),
];

/** What is wanted of the packets of some pods, one way. */
export interface Comparison {
  readonly check: Check;
  readonly direction: PolicyDirection;
  readonly ports: readonly VerifiedPort[];
  readonly universe: HeaderSet;
  readonly passed: Passed;
  readonly wanted: Wanted;
  /** The row that stops a packet. */
  readonly stopping: (packet: ExamplePacket) => Row | undefined;
  /** Whether of a row that lets packets pass its owner is at fault, and not who denies them. */
  readonly isFaulty: (owner: string, denying: string | undefined) => boolean;
  /** `policy`, `EgressFirewall`. */
  readonly kind: string;
}

export class PolicedNetwork {
  readonly network: VerifiedNetwork;
  readonly home: PodSwitch;
  readonly selected: SelectedPods;
  readonly at: Policed;
  readonly findings: Findings;
  readonly #told = new Set<string>();
  #pairs = 0;

  constructor(network: VerifiedNetwork, home: PodSwitch, at: Policed, findings: Findings) {
    this.network = network;
    this.home = home;
    this.at = at;
    this.findings = findings;
    this.selected = new SelectedPods(network.name, at.intent, at.objects);
  }

  /** Pods with a primary network are closed on the default one by other rows, and what they may there is no policy's. */
  isJudged(port: VerifiedPort): boolean {
    return !isLocked(port) && this.selected.isStaying(port);
  }

  /** Addresses of the families of the network, but for groups. */
  everybody(): Ranges {
    const families = new Set(this.network.subnets.map(({ family }) => family));
    const all =
      families.size === 2 || families.size === 0 ? ALL_ADDRESSES : families.has('v4') ? V4 : V6;
    return without(all, MULTICAST);
  }

  /** Of networks of which a connection opens services alone: it keeps pods apart before policies are asked (checks/services-alone.ts). */
  closed(): Ranges {
    const joins = this.at.intent.joinsOf(this.network.name);
    const of = (isOpen: boolean): Ranges =>
      allOf(joins.filter(({ opensPods }) => opensPods === isOpen).map((one) => one.addresses));
    return without(of(false), allOf([addressesOf(this.network), of(true)]));
  }

  masquerade(): Ranges {
    const subnets = familyCidrs(this.at.settings.masqueradeSubnets).map(parsePrefix);
    return allOf(subnets.map((one) => (one === undefined ? [] : ofPrefix(one))));
  }

  leaveUnread(unread: readonly Unread[]): void {
    for (const { object, why } of unread)
      this.findings.leaveOpen(
        `${object}: ${why}: what pods get and send that it may be about is not compared with rows`,
      );
  }

  /** Compares what passes at the pods of each kind; yields after each, so that others have their turn. */
  *each(
    places: readonly PodPlace[],
    what: string,
    compare: (place: PodPlace, judged: readonly VerifiedPort[]) => void,
  ): Generator<undefined, void> {
    for (const place of places) {
      const judged = place.pods.ports.filter((port) => this.isJudged(port));
      if (judged.length === 0) continue;
      try {
        compare(place, judged);
      } catch (error) {
        if (!(error instanceof TooManyBoxes)) throw error;
        this.findings.leaveOpen(
          `network ${this.network.name}: ${what} of ${podsText(judged)}, and of pods after these, are not judged: ${error.message}`,
        );
        return;
      }
      yield;
    }
  }

  compare(comparison: Comparison): void {
    const { findings, network } = this;
    const { direction, passed, universe, wanted, kind } = comparison;
    const within = (set: HeaderSet): HeaderSet => intersection(withoutState(set), universe);
    const perhaps = within(perhapsOf(passed));
    const surely = within(passed.surely);
    this.#pairs +=
      (perhaps.length + surely.length) * (wanted.perhaps.length + wanted.surely.length);
    if (this.#pairs > MOST_PAIRS)
      throw new TooManyBoxes('the network has more sets than are compared');
    if (difference(perhaps, surely).length > 0)
      for (const [row, why] of passed.undecided)
        findings.leaveOpen(
          `${aclText(row)}: ${why}: whether ${kind === 'policy' ? 'policies' : `${kind}s`} on network ${network.name} are in force is not known`,
        );
    const open = this.#likely(difference(surely, wanted.perhaps), direction);
    if (open !== undefined) this.#tellOpen(open, comparison);
    const shut = this.#likely(difference(wanted.surely, perhaps), direction);
    if (shut !== undefined) this.#tellShut(shut, comparison);
  }

  /** One packet of them, with a pod at the other end where there is one. */
  #likely(set: HeaderSet, direction: PolicyDirection): ExamplePacket | undefined {
    if (set.length === 0) return undefined;
    const pods = addressesNamed(this.selected.all().flatMap(({ port }) => port.addresses));
    const other = direction === 'Egress' ? DESTINATION : SOURCE;
    return packetOf(intersection(set, [box({ [other]: pods })])) ?? packetOf(set);
  }

  #tellOpen(packet: ExamplePacket, comparison: Comparison): void {
    const { network } = this;
    const { passed, wanted, isFaulty, kind } = comparison;
    const row = passed.perhaps.find(({ headers }) => has(headers, packet))?.row;
    const denying = wanted.denying.find(({ headers }) => has(headers, packet))?.object;
    const owner = row && ownerOf(row);
    const isOfRow = owner !== undefined && isFaulty(owner, denying);
    const object = (isOfRow ? owner : (denying ?? owner)) ?? network.object;
    const what = `${row === undefined ? 'has no ACL that drops' : 'lets pass'} what ${this.#text(packet, comparison)}: no ${kind} allows that${denying === undefined ? '' : `, and ${denying} shuts it`}`;
    this.#tell('open', row, what, object, comparison);
  }

  #tellShut(packet: ExamplePacket, comparison: Comparison): void {
    const { wanted, stopping, kind } = comparison;
    const row = stopping(packet);
    const allowing = wanted.allowing.find(({ headers }) => has(headers, packet))?.object;
    const why = allowing === undefined ? `no ${kind} denies that` : `${allowing} allows that`;
    const what = `${row === undefined ? 'lets not pass' : 'drops'} what ${this.#text(packet, comparison)}, though ${why}`;
    const object = allowing ?? (row && ownerOf(row)) ?? this.network.object;
    this.#tell('shut', row, what, object, comparison);
  }

  /** Once for a row and an object, of however many kinds of pods. */
  #tell(
    kind: 'open' | 'shut',
    row: Row | undefined,
    what: string,
    object: string,
    { check, direction }: Comparison,
  ): void {
    const { findings, network, home } = this;
    const where = row === undefined ? rowText('Logical_Switch', home.datapath.name) : aclText(row);
    const key = [check, kind, where, object, direction].join(' ');
    if (this.#told.has(key)) return;
    this.#told.add(key);
    findings.wrong(check, where, what, object, [network.name]);
  }

  #text(
    { source, destination, text: packet }: ExamplePacket,
    { direction, ports }: Comparison,
  ): string {
    const { network, selected } = this;
    const [own, other] = direction === 'Egress' ? [source, destination] : [destination, source];
    const port = ports.find(({ addresses }) => addresses.includes(own)) ?? ports[0];
    const peer = selected.ownerOf(other);
    return `Pod ${port?.pod ?? ''} ${direction === 'Egress' ? 'sends' : 'gets'}${peer === undefined ? '' : ` ${direction === 'Egress' ? 'to' : 'from'} Pod ${peer}`} on network ${network.name}, as ${packet}`;
  }
}

const isLocked = ({ role }: VerifiedPort): boolean => role === 'infrastructure-locked';

/** Undefined where no pods of the network are judged, or the node has too many kinds of them, which is told. */
export function policedNetwork(
  network: VerifiedNetwork,
  at: Policed,
  findings: Findings,
): PolicedNetwork | undefined {
  // On the default network all may be legs of pods with a primary one: then its switch is not looked through.
  if (at.objects.portsOn(network.name).every(({ port }) => isLocked(port))) return undefined;
  const home = podSwitchOf(network.name, at.rows, at.datapaths, at.intent);
  if (home === undefined) return undefined;
  const looks = home.classes.length * home.acls.length;
  if (looks <= MOST_LOOKS) return new PolicedNetwork(network, home, at, findings);
  findings.leaveOpen(
    `network ${network.name}: ${home.classes.length} kinds of pods and ${home.acls.length} ACLs are more than policies are compared with: not judged`,
  );
  return undefined;
}

const has = (set: HeaderSet, { header }: ExamplePacket): boolean =>
  intersection(withoutState(set), header).length > 0;

/** The object that a row says it is of. */
const ownerOf = (row: Row): string | undefined => member(row, 'external_ids', 'heddle');

/** What pods send to peers, or get from them. */
export function headersOf(
  direction: PolicyDirection,
  ports: readonly VerifiedPort[],
  peers: Ranges,
): HeaderSet {
  const own = ownAddresses(ports);
  if (direction === 'Ingress')
    return intersection(EVERYTHING, [box({ [SOURCE]: peers, [DESTINATION]: own })]);
  return difference(intersection(EVERYTHING, [box({ [SOURCE]: own, [DESTINATION]: peers })]), DHCP);
}

function podsText(ports: readonly VerifiedPort[]): string {
  const [first] = ports;
  return `Pod ${first?.pod ?? ''}${ports.length > 1 ? ` and ${ports.length - 1} more` : ''}`;
}
