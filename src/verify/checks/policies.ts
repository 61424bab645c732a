/** Policies and rows: what pods of this node get and send by their ACLs is what policies allow, no more and no less. By kinds of pods, never by pairs. */
import { parsePrefix } from '../../allocators/addresses.ts';
import { familyCidrs } from '../../api/nad/network-config.ts';
import type { Findings } from '../findings.ts';
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
import { podPlaces, podSwitchOf, type PodSwitch } from '../headers/legs.ts';
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
import { perhapsOf, stoppingRow, type AtPort, type Passed } from '../headers/stages.ts';
import { rowText, type DatapathLookup } from '../intent/datapaths.ts';
import { addressesOf, type Intent } from '../intent/intent.ts';
import type { VerifiedNetwork } from '../intent/networks.ts';
import type { VerifiedPort } from '../intent/pods.ts';
import { ReadRows } from '../northbound-rows.ts';
import {
  DIRECTIONS,
  readPolicies,
  type PolicyDirection,
  type ReadPolicies,
  type UnreadPolicy,
} from '../policies/read.ts';
import { SelectedPods } from '../policies/selected-pods.ts';
import { ownAddresses, wantedOf, type PolicySubject, type Wanted } from '../policies/wanted.ts';
import { member, type Row } from '../rows.ts';
import type { Settings, Snapshot } from '../snapshot.ts';
import { aclText } from './access-lists.ts';

/** Kinds of pods times ACLs of their switch, and pairs of sets that are compared: a network with more is not judged. */
const MOST_LOOKS = 2_000_000;
const MOST_PAIRS = 20_000_000;

export function checkPolicies(
  { policies, northbound, objects, settings }: Snapshot,
  intent: Intent,
  datapaths: DatapathLookup,
  findings: Findings,
): void {
  if (policies === undefined) return;
  const read = readPolicies(policies);
  const rows = new ReadRows(northbound);
  const selected = new SelectedPods(intent, objects);
  for (const network of intent.networks) {
    const home = podSwitchOf(network.name, rows, datapaths, intent);
    if (home === undefined) continue;
    const looks = home.classes.length * home.acls.length;
    if (looks > MOST_LOOKS) {
      findings.leaveOpen(
        `network ${network.name}: ${home.classes.length} kinds of pods and ${home.acls.length} ACLs are more than policies are compared with: not judged`,
      );
      continue;
    }
    const check = new NetworkPolicies({
      network,
      home,
      read,
      rows,
      selected,
      settings,
      intent,
      findings,
    });
    for (const direction of DIRECTIONS) check.in(direction);
  }
}

interface AtNetwork {
  readonly network: VerifiedNetwork;
  readonly home: PodSwitch;
  readonly read: ReadPolicies;
  readonly rows: ReadRows;
  readonly selected: SelectedPods;
  readonly settings: Settings;
  readonly intent: Intent;
  readonly findings: Findings;
}

/** Pods with the same ACLs and policies, and what is true of their packets. */
interface Compared {
  readonly direction: PolicyDirection;
  readonly subject: PolicySubject;
  readonly at: AtPort;
  readonly passed: Passed;
  readonly wanted: Wanted;
}

const MULTICAST = addressesNamed(['224.0.0.0/4', '255.255.255.255', 'ff00::/8']);
const UDP = between(17, 17);

/** Clients of DHCP ask, and nobody answers them, whatever policies say (reference/topology.md §22). */
const DHCP: HeaderSet = [
  box({ [PROTOCOL]: UDP, [PORT]: allOf([between(68, 68), between(546, 546)]) }),
  box({ [PROTOCOL]: UDP, [SOURCE_PORT]: between(68, 68), [PORT]: between(67, 67) }),
  box({ [PROTOCOL]: UDP, [SOURCE_PORT]: between(546, 546), [PORT]: between(547, 547) }),
];

class NetworkPolicies {
  readonly #at: AtNetwork;
  readonly #told = new Set<string>();
  #pairs = 0;

  constructor(at: AtNetwork) {
    this.#at = at;
  }

  in(direction: PolicyDirection): void {
    const { home, rows, findings, network } = this.#at;
    const peers = this.#judged(direction);
    const of = direction === 'Egress' ? 'from-lport' : 'to-lport';
    for (const { pods, at, passing } of podPlaces(home, of, rows)) {
      const judged = pods.ports.filter((port) => this.#isJudged(port));
      if (judged.length === 0) continue;
      try {
        const passed = passing(headersOf(direction, judged, peers));
        for (const subject of this.#subjects(judged))
          this.#compare({ direction, subject, at, passed }, peers);
      } catch (error) {
        if (!(error instanceof TooManyBoxes)) throw error;
        findings.leaveOpen(
          `network ${network.name}: policies of ${podsText(judged)}, and of pods after these, are not judged: ${error.message}`,
        );
        return;
      }
    }
  }

  /** Pods with a primary network are closed on the default one by other rows, and what they may there is no policy's. */
  #isJudged(port: VerifiedPort): boolean {
    const { selected, read, findings } = this.#at;
    if (port.role === 'infrastructure-locked' || !selected.isStaying(port)) return false;
    const unread = read.unread.filter(
      ({ namespace }) => namespace === undefined || namespace === port.namespace,
    );
    for (const one of unread) findings.leaveOpen(unreadText(one));
    return unread.length === 0;
  }

  /** Whom policies are asked about at the other end: others have rows of their own, whatever policies say. */
  #judged(direction: PolicyDirection): Ranges {
    const { network, settings, intent, selected } = this.#at;
    const families = new Set(network.subnets.map(({ family }) => family));
    const all =
      families.size === 2 || families.size === 0 ? ALL_ADDRESSES : families.has('v4') ? V4 : V6;
    const joins = intent.joinsOf(network.name);
    const opened = allOf([
      addressesOf(network),
      ...joins.filter(({ opensPods }) => opensPods).map(({ addresses }) => addresses),
    ]);
    // A connection of services alone keeps pods apart before policies are asked (checks/services-alone.ts).
    const closed = joins.filter(({ opensPods }) => !opensPods).map(({ addresses }) => addresses);
    const masquerade = familyCidrs(settings.masqueradeSubnets).map(parsePrefix);
    return without(
      all,
      allOf([
        MULTICAST,
        ...masquerade.map((one) => (one === undefined ? [] : ofPrefix(one))),
        direction === 'Egress'
          ? without(allOf(closed), opened)
          : addressesNamed(selected.hostAddresses(network.name)),
      ]),
    );
  }

  /** Pods that the same policies are about, and whose ports have the same names. */
  #subjects(ports: readonly VerifiedPort[]): readonly PolicySubject[] {
    const { network, read, selected } = this.#at;
    const isPrimary = network.role === 'primary';
    const groups = Map.groupBy(
      ports.map((port) => ({
        port,
        policies: read.namespaced.filter(
          ({ namespace, nads, pods }) =>
            (nads === undefined
              ? isPrimary
              : !isPrimary && nads.some((nad) => network.nads.includes(nad))) &&
            selected.isSelected({ namespaces: namespace, pods }, port),
        ),
        admins: isPrimary
          ? read.admins.filter(({ subject }) => selected.isSelected(subject, port))
          : [],
      })),
      ({ port, policies, admins }) => {
        const named = [...policies, ...admins].flatMap(({ rules }) =>
          rules.flatMap((rule) => rule.ports.filter(({ name }) => name !== undefined)),
        );
        const numbers = named.map(({ protocol, name = '' }) =>
          selected.numbersOf(port, protocol, name),
        );
        return JSON.stringify([
          policies.map(({ object }) => object),
          admins.map(({ object }) => object),
          numbers,
        ]);
      },
    );
    return [...groups.values()].flatMap((group): PolicySubject[] => {
      const [first] = group;
      if (first === undefined) return [];
      const { policies, admins } = first;
      return [{ network: network.name, ports: group.map(({ port }) => port), policies, admins }];
    });
  }

  #compare(found: Omit<Compared, 'wanted'>, peers: Ranges): void {
    const { selected, settings, findings, network } = this.#at;
    const { direction, subject, passed } = found;
    const universe = headersOf(direction, subject.ports, peers);
    const wanted = wantedOf(direction, subject, universe, selected, settings.policies.passesIcmp);
    const within = (set: HeaderSet): HeaderSet => intersection(withoutState(set), universe);
    const perhaps = within(perhapsOf(passed));
    const surely = within(passed.surely);
    const compared = { ...found, wanted };
    this.#pairs +=
      (perhaps.length + surely.length) * (wanted.perhaps.length + wanted.surely.length);
    if (this.#pairs > MOST_PAIRS)
      throw new TooManyBoxes('the network has more sets than are compared');
    if (difference(perhaps, surely).length > 0)
      for (const [row, why] of passed.undecided)
        findings.leaveOpen(
          `${aclText(row)}: ${why}: whether policies on network ${network.name} are in force is not known`,
        );
    const open = this.#likely(difference(surely, wanted.perhaps), direction);
    if (open !== undefined) this.#tellOpen(open, compared);
    const shut = this.#likely(difference(wanted.surely, perhaps), direction);
    if (shut !== undefined) this.#tellShut(shut, compared);
  }

  /** One packet of them, with a pod at the other end where there is one. */
  #likely(set: HeaderSet, direction: PolicyDirection): ExamplePacket | undefined {
    if (set.length === 0) return undefined;
    const { network, selected } = this.#at;
    const pods = addressesNamed(selected.all(network.name).flatMap(({ port }) => port.addresses));
    const other = direction === 'Egress' ? DESTINATION : SOURCE;
    return packetOf(intersection(set, [box({ [other]: pods })])) ?? packetOf(set);
  }

  #tellOpen(packet: ExamplePacket, compared: Compared): void {
    const { network, home } = this.#at;
    const { passed, wanted } = compared;
    const row = passed.perhaps.find(({ headers }) => has(headers, packet))?.row;
    const denying = wanted.denying.find(({ headers }) => has(headers, packet))?.object;
    // A row of a policy lets more pass than it says; of any other row the policy is at fault that does not hold.
    const owner = row && ownerOf(row);
    const isOfNamespace = denying === undefined || denying.includes('/');
    const isOfPolicy = owner !== undefined && /Policy /.test(owner);
    const object = (isOfNamespace && isOfPolicy ? owner : (denying ?? owner)) ?? network.object;
    const where = row === undefined ? rowText('Logical_Switch', home.datapath.name) : aclText(row);
    const what = `${row === undefined ? 'has no ACL that drops' : 'lets pass'} what ${this.#text(packet, compared)}: no policy allows that${denying === undefined ? '' : `, and ${denying} shuts it`}`;
    this.#tell('open', where, what, object, compared.direction);
  }

  #tellShut(packet: ExamplePacket, compared: Compared): void {
    const { network, home } = this.#at;
    const { at, wanted, direction } = compared;
    const row = stoppingRow(packet.header, at);
    const allowing = wanted.allowing.find(({ headers }) => has(headers, packet))?.object;
    const where = row === undefined ? rowText('Logical_Switch', home.datapath.name) : aclText(row);
    const why = allowing === undefined ? 'no policy denies that' : `${allowing} allows that`;
    const what = `${row === undefined ? 'lets not pass' : 'drops'} what ${this.#text(packet, compared)}, though ${why}`;
    const object = allowing ?? (row && ownerOf(row)) ?? network.object;
    this.#tell('shut', where, what, object, direction);
  }

  /** Once for a row and an object, of however many kinds of pods. */
  #tell(
    kind: 'open' | 'shut',
    where: string,
    what: string,
    object: string,
    direction: PolicyDirection,
  ): void {
    const key = [kind, where, object, direction].join(' ');
    if (this.#told.has(key)) return;
    this.#told.add(key);
    const { findings, network } = this.#at;
    findings.wrong('policies', where, what, object, [network.name]);
  }

  #text(
    { source, destination, text: packet }: ExamplePacket,
    { direction, subject }: Compared,
  ): string {
    const { network, selected } = this.#at;
    const [own, other] = direction === 'Egress' ? [source, destination] : [destination, source];
    const port = subject.ports.find(({ addresses }) => addresses.includes(own)) ?? subject.ports[0];
    const peer = selected.ownerOf(network.name, other);
    return `Pod ${port?.pod ?? ''} ${direction === 'Egress' ? 'sends' : 'gets'}${peer === undefined ? '' : ` ${direction === 'Egress' ? 'to' : 'from'} Pod ${peer}`} on network ${network.name}, as ${packet}`;
  }
}

const has = (set: HeaderSet, { header }: ExamplePacket): boolean =>
  intersection(withoutState(set), header).length > 0;

/** The object that a row says it is of. */
const ownerOf = (row: Row): string | undefined => member(row, 'external_ids', 'heddle');

function headersOf(
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

const unreadText = ({ object, why }: UnreadPolicy): string =>
  `${object}: ${why}: what pods get and send that it may be about is not compared with rows`;
