/**
 * What pods of a network on this node may send to other networks, and get from them, by the ACLs of their switch. A packet between two networks passes two
 * switches, on two nodes as a rule: each node proves what leaves at its own pods, and what comes in at them.
 */
import { parseAddress } from '../../allocators/addresses.ts';
import { partOf, type Datapath, type DatapathLookup } from '../intent/datapaths.ts';
import type { Intent } from '../intent/intent.ts';
import type { VerifiedPort } from '../intent/pods.ts';
import type { NorthboundRows } from '../northbound-rows.ts';
import { list, member, text, uuidOf, type Row } from '../rows.ts';
import {
  box,
  DESTINATION,
  difference,
  EMPTY,
  EVERYTHING,
  intersection,
  SOURCE,
  withoutState,
  type HeaderSet,
} from './boxes.ts';
import { addressesNamed, type MatchContext, type PortSide } from './matched.ts';
import type { Ranges } from './ranges.ts';
import {
  arriving,
  passing,
  perhapsOf,
  readAcl,
  tracked,
  tracks,
  type AtPort,
  type Direction,
  type Passed,
  type ReadAcl,
} from './stages.ts';

/** Pods that are alike for all ACLs: their ports are in the same groups, and no match names one of them. */
interface PodClass {
  readonly ports: readonly VerifiedPort[];
  readonly addresses: Ranges;
  readonly side: PortSide;
}

/** What passes at the pods of a class, of what begins a connection, and of what belongs to one. */
export interface Leg {
  readonly pods: PodClass;
  readonly begins: Passed;
  /** Without what `begins` has. */
  readonly established: HeaderSet;
}

/** The switch of a network's pods here, with what its ACLs say. */
export interface PodSwitch {
  readonly datapath: Datapath;
  readonly acls: readonly ReadAcl[];
  /** Names of the groups that its ports are in. */
  readonly groups: ReadonlySet<string>;
  readonly classes: readonly PodClass[];
}

const podSwitch = (
  network: string,
  datapaths: Pick<DatapathLookup, 'ofNetwork'>,
): Datapath | undefined =>
  datapaths
    .ofNetwork(network)
    .find((one) => partOf(one) === 'pods' && one.table === 'Logical_Switch');

const found = (uuids: Iterable<string>, table: string, northbound: NorthboundRows): Row[] =>
  [...uuids].map((uuid) => northbound.find(table, uuid)).filter((row) => row !== undefined);

/** ACLs of a switch: its own, and those of all groups that one of its ports is in (ovn-nb(5), Port_Group). */
function aclsOf(
  datapath: Datapath,
  groups: readonly Row[],
  northbound: NorthboundRows,
): readonly ReadAcl[] {
  const holders = [datapath.row, ...groups];
  const uuids = new Set(holders.flatMap((row) => list(row, 'acls')));
  return found(uuids, 'ACL', northbound).map(readAcl);
}

/** Groups that ports of a switch are in. */
const groupsOf = ({ ports }: Datapath, northbound: NorthboundRows): readonly Row[] =>
  found(
    new Set(ports.flatMap((port) => northbound.groupsOf(uuidOf(port)))),
    'Port_Group',
    northbound,
  );

/** Names of ports that matches ask for. */
const NAMED = /"([^"]+)"/g;

function classesOf(
  datapath: Datapath,
  acls: readonly ReadAcl[],
  northbound: NorthboundRows,
  intent: Pick<Intent, 'ports'>,
): readonly PodClass[] {
  const named = new Set(
    acls.flatMap(({ row }) => [...text(row, 'match').matchAll(NAMED)].map(([, name]) => name)),
  );
  const classes = new Map<string, { ports: VerifiedPort[]; groups: ReadonlySet<string> }>();
  for (const row of datapath.ports) {
    const name = text(row, 'name');
    if (text(row, 'type') !== '') continue;
    const port = intent.ports.get(name);
    if (port === undefined) continue;
    const uuids = northbound.groupsOf(uuidOf(row));
    const key = `${named.has(name) ? name : ''} ${uuids.toSorted().join(' ')}`;
    const known = classes.get(key);
    if (known !== undefined) known.ports.push(port);
    else
      classes.set(key, {
        ports: [port],
        groups: new Set(found(uuids, 'Port_Group', northbound).map((group) => text(group, 'name'))),
      });
  }
  return [...classes.values()].map(({ ports, groups }) => ({
    ports,
    addresses: addressesNamed(ports.flatMap(({ addresses }) => addresses)),
    side: { name: ports[0]?.name ?? '', isIn: (group) => groups.has(group) },
  }));
}

/** The switch of a network's pods on this node; undefined where it has none. */
export function podSwitchOf(
  network: string,
  northbound: NorthboundRows,
  datapaths: Pick<DatapathLookup, 'ofNetwork'>,
  intent: Pick<Intent, 'ports'>,
): PodSwitch | undefined {
  const datapath = podSwitch(network, datapaths);
  if (datapath === undefined) return undefined;
  const rows = groupsOf(datapath, northbound);
  const acls = aclsOf(datapath, rows, northbound);
  const groups = new Set(rows.map((row) => text(row, 'name')));
  return { datapath, acls, groups, classes: classesOf(datapath, acls, northbound, intent) };
}

const setsRead = new WeakMap<Row, Ranges>();

/** Addresses of a row of Address_Set; of a group those of its ports, which OVN names after it (ovn-nb(5), Port_Group). */
function addressesIn(name: string, northbound: NorthboundRows): Ranges | undefined {
  const row = northbound.named('Address_Set', name);
  if (row !== undefined) {
    const addresses = setsRead.get(row) ?? addressesNamed(list(row, 'addresses'));
    setsRead.set(row, addresses);
    return addresses;
  }
  const [, group = '', family] = /^(.+)_ip([46])$/.exec(name) ?? [];
  const ports = group === '' ? undefined : northbound.named('Port_Group', group);
  if (ports === undefined) return undefined;
  const words = found(list(ports, 'ports'), 'Logical_Switch_Port', northbound).flatMap((port) =>
    list(port, 'addresses').flatMap((one) => one.split(/\s+/)),
  );
  return addressesNamed(
    words.filter((word) => parseAddress(word)?.family === (family === '4' ? 'v4' : 'v6')),
  );
}

/** Load balancers of a switch. */
const balancersOf = (row: Row, northbound: NorthboundRows): readonly Row[] =>
  found(
    [
      ...list(row, 'load_balancer'),
      ...found(list(row, 'load_balancer_group'), 'Load_Balancer_Group', northbound).flatMap(
        (group) => list(group, 'load_balancer'),
      ),
    ],
    'Load_Balancer',
    northbound,
  );

/** By which port packets get from the switch to other networks, and from there. */
function routerSide({ ports }: Datapath, northbound: NorthboundRows): PortSide | 'any' {
  const routers = ports.filter((port) => text(port, 'type') === 'router');
  const [port] = routers;
  if (port === undefined || routers.length > 1) return 'any';
  const groups = new Set(
    found(northbound.groupsOf(uuidOf(port)), 'Port_Group', northbound).map((row) =>
      text(row, 'name'),
    ),
  );
  return { name: text(port, 'name'), isIn: (group) => groups.has(group) };
}

/** True where what no ACL is about is dropped. */
const isClosed = (northbound: NorthboundRows): boolean =>
  northbound.all('NB_Global').some((row) => member(row, 'options', 'default_acl_drop') === 'true');

/**
 * What passes between pods of the switch and the addresses of others, one way. Each packet meets the ACLs of both directions there: those `from-lport` at the port
 * that it comes in by, and those `to-lport` at the one that it leaves by. At the port to the router OVN tracks nothing anew (ovn-northd(8), `ls_in_pre_acl`).
 */
export function legsOf(
  { datapath, acls, groups, classes }: PodSwitch,
  direction: Direction,
  others: Ranges,
  northbound: NorthboundRows,
): readonly Leg[] {
  const isTracking = tracks(acls, balancersOf(datapath.row, northbound));
  const router = routerSide(datapath, northbound);
  const shared = sharedOf({ acls, groups }, northbound);
  return classes.flatMap((pods): Leg[] => {
    const leaves = direction === 'from-lport';
    const [inport, outport] = leaves ? [pods.side, router] : [router, pods.side];
    const comes = place(shared, 'from-lport', inport, 'none');
    const goes = place(shared, 'to-lport', inport, outport);
    const ends = leaves
      ? { [SOURCE]: pods.addresses, [DESTINATION]: others }
      : { [SOURCE]: others, [DESTINATION]: pods.addresses };
    const headers = intersection(EVERYTHING, [box(ends)]);
    if (headers.length === 0) return [];
    const through = (state: 'new' | 'established'): Passed => {
      const first = passing(arriving(tracked(headers, state, comes, leaves && isTracking)), comes);
      if (leaves) return passing(first, goes);
      return passing(
        inState(first, (set) => tracked(set, state, goes, isTracking)),
        goes,
      );
    };
    return [
      {
        pods,
        begins: through('new'),
        established: isTracking ? through('established').surely : EMPTY,
      },
    ];
  });
}

/** Pods of a class where they send, or get, what begins a connection. */
export interface PodPlace {
  readonly pods: PodClass;
  readonly at: AtPort;
  /** What of these headers gets past the ACLs of the pods' own ports. */
  readonly passing: (headers: HeaderSet) => Passed;
}

/** Ports of the switch's pods, whoever is at the other end: what pods send meets the ACLs `from-lport` there, and what they get those `to-lport`. */
export function podPlaces(
  { datapath, acls, groups, classes }: PodSwitch,
  direction: Direction,
  northbound: NorthboundRows,
): readonly PodPlace[] {
  const isTracking = tracks(acls, balancersOf(datapath.row, northbound));
  const shared = sharedOf({ acls, groups }, northbound);
  return classes.map((pods) => {
    const ends = direction === 'from-lport' ? [pods.side, 'none'] : ['any', pods.side];
    const [inport, outport] = ends as [MatchContext['inport'], MatchContext['outport']];
    const at = place(shared, direction, inport, outport);
    return {
      pods,
      at,
      passing: (headers) => passing(arriving(tracked(headers, 'new', at, isTracking)), at),
    };
  });
}

/**
 * The same pods where what they send leaves the switch for its router: there packets meet the ACLs `to-lport`, among them those that ask by which port a packet
 * came in. OVN tracks nothing anew there.
 */
export function leavingPlaces(
  { datapath, acls, groups, classes }: PodSwitch,
  northbound: NorthboundRows,
): readonly PodPlace[] {
  const isTracking = tracks(acls, balancersOf(datapath.row, northbound));
  const shared = sharedOf({ acls, groups }, northbound);
  const router = routerSide(datapath, northbound);
  return classes.map((pods) => {
    const comes = place(shared, 'from-lport', pods.side, 'none');
    const at = place(shared, 'to-lport', pods.side, router);
    return {
      pods,
      at,
      passing: (headers) => passing(arriving(tracked(headers, 'new', comes, isTracking)), at),
    };
  });
}

const sharedOf = (
  { acls, groups }: Pick<PodSwitch, 'acls' | 'groups'>,
  northbound: NorthboundRows,
): Parameters<typeof place>[0] => ({
  acls,
  isClosed: isClosed(northbound),
  hasGroup: (name) => groups.has(name),
  addresses: (name) => addressesIn(name, northbound),
});

const place = (
  {
    acls,
    isClosed: closed,
    hasGroup,
    addresses,
  }: Pick<AtPort, 'acls' | 'isClosed'> & Pick<MatchContext, 'hasGroup' | 'addresses'>,
  direction: Direction,
  inport: MatchContext['inport'],
  outport: MatchContext['outport'],
): AtPort => ({
  acls,
  direction,
  isClosed: closed,
  context: { inport, outport, hasGroup, addresses },
});

/** The same packets as they are tracked at another port. */
const inState = (
  { perhaps, surely, undecided }: Passed,
  seen: (headers: HeaderSet) => HeaderSet,
): Passed => ({
  perhaps: perhaps.map(({ headers, row }) => ({ headers: seen(withoutState(headers)), row })),
  surely: seen(withoutState(surely)),
  undecided,
});

/** True when what may pass is what surely passes. */
export const isDecided = (passed: Passed): boolean =>
  difference(perhapsOf(passed), passed.surely).length === 0;
