/**
 * ACLs that keep networks apart: of pods with a primary network their leg on the default network, and of connections that open services alone.
 * Policies within a network are not judged here.
 */
import { DEFAULT_NETWORK } from '../../api/nad/network-name.ts';
import type { NorthboundRows } from '../northbound-rows.ts';
import { list, member, text, uuidOf, type Row } from '../rows.ts';
import type { Findings, Headers } from '../findings.ts';
import {
  networkOf,
  partOf,
  rowText,
  type Datapath,
  type DatapathLookup,
} from '../intent/datapaths.ts';
import { podSwitch } from '../headers/legs.ts';
import type { Intent } from '../intent/intent.ts';

/** reference/topology.md §17.1. */
const LOCKED_GROUP = 'default-network-controller:UDNIsolation:SecondaryPods';
const DENY = 1000;
const DROP_PODS = 450;
const LETS = /^(allow|allow-related|allow-stateless|pass)$/;

/** Groups that ports of a switch are in. */
function groupsAt({ ports }: Datapath, northbound: NorthboundRows): readonly Row[] {
  const uuids = new Set(ports.flatMap((port) => northbound.groupsOf(uuidOf(port))));
  return [...uuids]
    .map((uuid) => northbound.find('Port_Group', uuid))
    .filter((row) => row !== undefined);
}

const isHome = (datapath: Datapath): boolean =>
  datapath.table === 'Logical_Switch' &&
  partOf(datapath) === 'pods' &&
  networkOf(datapath)?.name === DEFAULT_NETWORK;

const aclsOf = (row: Row, northbound: NorthboundRows): readonly Row[] =>
  list(row, 'acls')
    .map((uuid) => northbound.find('ACL', uuid))
    .filter((acl) => acl !== undefined);

/** An ACL by what tells it from others. */
export const aclText = (row: Row): string =>
  `${rowText('ACL', text(row, 'direction'))} tier ${text(row, 'tier') || '0'} priority ${text(row, 'priority')} ${text(row, 'match')}`;

/** A pod with a primary network is in the group that is closed. */
export function checkLeg(
  port: Row,
  datapath: Datapath,
  northbound: NorthboundRows,
  intent: Intent,
  findings: Findings,
): void {
  if (!isHome(datapath)) return;
  const name = text(port, 'name');
  const pod = intent.ports.get(name);
  if (pod?.role !== 'infrastructure-locked') return;
  const group = northbound.groupCalled(LOCKED_GROUP);
  if (group === undefined || !northbound.groupsOf(uuidOf(port)).includes(group))
    findings.wrong(
      'default network',
      rowText('Logical_Switch_Port', name),
      `of Pod ${pod.pod}, which has a primary network, is not in the group SecondaryPods: it reaches the default network`,
      `Pod ${pod.pod}`,
      ['default', ...primaryOf(pod.pod, intent)],
    );
}

const lockedGroup = (northbound: NorthboundRows): Row | undefined => {
  const uuid = northbound.groupCalled(LOCKED_GROUP);
  return uuid === undefined ? undefined : northbound.find('Port_Group', uuid);
};

/** The group of pods with a primary network is closed both ways. */
export function checkLockedGroup(
  northbound: NorthboundRows,
  intent: Intent,
  findings: Findings,
): void {
  const group = lockedGroup(northbound);
  if (group === undefined || list(group, 'ports').length === 0) return;
  const groupName = text(group, 'name');
  const rows = aclsOf(group, northbound);
  for (const [direction, port] of [
    ['from-lport', 'inport'],
    ['to-lport', 'outport'],
  ] as const)
    if (
      !rows.some(
        (row) =>
          text(row, 'direction') === direction &&
          text(row, 'action') === 'drop' &&
          (text(row, 'tier') || '0') === '0' &&
          Number(text(row, 'priority')) === DENY &&
          text(row, 'match') === `${port} == @${groupName}`,
      )
    )
      findings.wrong(
        'default network',
        rowText('Port_Group', `${groupName} (SecondaryPods)`),
        `has no ACL that drops ${direction} what is of pods with a primary network`,
        'cluster',
        [
          'default',
          ...intent.networks
            .filter(({ id, role }) => id > 0 && role === 'primary')
            .map(({ name }) => name),
        ],
      );
}

const primaryOf = (pod: string, intent: Intent): string[] =>
  intent
    .portsOfPod(pod)
    .filter(({ role }) => role === 'primary')
    .map(({ network }) => network);

/** ACLs of the default network's switch: see `checkAllowances`. */
export function checkHomeAllowances(
  datapath: Datapath,
  northbound: NorthboundRows,
  intent: Intent,
  findings: Findings,
): void {
  if (isHome(datapath)) checkAllowances(datapath.row, northbound, intent, findings);
}

/** ACLs of a group: see `checkAllowances`. */
export function checkGroupAllowances(
  group: Row,
  northbound: NorthboundRows,
  intent: Intent,
  datapaths: DatapathLookup,
  findings: Findings,
): void {
  if (!aclsOf(group, northbound).some(isBeforeClosing)) return;
  if (list(group, 'ports').some((port) => datapaths.holding(port).some(isHome)))
    checkAllowances(group, northbound, intent, findings);
}

const isBeforeClosing = (row: Row): boolean =>
  LETS.test(text(row, 'action')) &&
  (text(row, 'tier') || '0') === '0' &&
  Number(text(row, 'priority')) >= DENY;

/** ACLs before those that close the legs of pods with a primary network: each is of a form that an object wants. */
function checkAllowances(
  holder: Row,
  northbound: NorthboundRows,
  intent: Intent,
  findings: Findings,
): void {
  const group = lockedGroup(northbound);
  for (const row of aclsOf(holder, northbound)) {
    if (!isBeforeClosing(row)) continue;
    const wanted = isWantedAllowance(row, group, intent);
    if (typeof wanted === 'object') {
      findings.edge({
        from: 'default',
        to: `Pod ${wanted.pod}`,
        kind: 'open port',
        where: aclText(row),
        object: `Pod ${wanted.pod}`,
        passes: openedTo(wanted.pod, wanted.terms, intent),
      });
      continue;
    }
    if (!wanted)
      findings.wrong(
        'default network',
        aclText(row),
        'lets packets pass before pods with a primary network are kept from the default network: no object wants that',
        member(row, 'external_ids', 'heddle') ?? 'no object',
        ['default', ...podNamedIn(text(row, 'match'), intent)],
      );
  }
}

/** Networks of the pod whose port a match names. */
const podNamedIn = (match: string, intent: Intent): string[] =>
  [...match.matchAll(/(?:in|out)port == "([^"]+)"/g)].flatMap(([, name]) => {
    const pod = intent.ports.get(name ?? '');
    return pod === undefined ? [] : primaryOf(pod.pod, intent);
  });

/** True for what the host may; a pod for what it opened. */
function isWantedAllowance(
  row: Row,
  group: Row | undefined,
  intent: Intent,
): boolean | { readonly pod: string; readonly terms: readonly string[] } {
  const type = member(row, 'external_ids', 'k8s.ovn.org/owner-type');
  const match = text(row, 'match');
  // After load balancing, where nothing of the default network is closed, and of a router's port alone.
  if (type === 'PodServers')
    return /^inport == "(stor|stotr)-[^"]+" && udp\.dst == \{68, 546\}$/.test(match);
  if (type === 'DhcpClients') return match.includes('udp.src') && match.includes('udp.dst');
  if (type !== 'UDNIsolation') return false;
  const name = group === undefined ? '' : text(group, 'name');
  const hosts = new Set(intent.here?.defaultHostAddresses);
  const ofHost = new RegExp(`^(in|out)port == @${name} && \\((.+)\\)$`).exec(match)?.[2];
  if (ofHost !== undefined) {
    const addresses = [...ofHost.matchAll(/(?:tpa|spa|target|src) ?== ?([0-9a-fA-F.:]+)/g)].map(
      ([, one]) => one ?? '',
    );
    return (
      addresses.length > 0 &&
      addresses.every((one) => hosts.has(one)) &&
      !/\|\| *1|\btcp\b|\budp\b/.test(ofHost)
    );
  }
  const port = /^(in|out)port == "([^"]+)" && \((.+)\)$/.exec(match);
  const pod = intent.ports.get(port?.[2] ?? '');
  if (port === null || pod === undefined) return false;
  const wanted = intent.openPorts.get(pod.pod) ?? [];
  const terms = (port[3] ?? '')
    .replaceAll(/[()]/g, '')
    .split('||')
    .map((term) => term.trim());
  const isOpen = (term: string): boolean => {
    if (term === 'arp' || term === 'nd') return true;
    if (term === 'icmp' || term === 'icmp4' || term === 'icmp6')
      return wanted.some(({ protocol }) => protocol === 'icmp');
    const [, protocol, number] = /^(tcp|udp|sctp)\.dst == (\d+)$/.exec(term) ?? [];
    return wanted.some((one) => one.protocol === protocol && one.port === Number(number));
  };
  return terms.every(isOpen) && wanted.length > 0 ? { pod: pod.pod, terms } : false;
}

/** What the default network may send to a pod, by the terms of an ACL that asks for protocols and ports alone. */
function openedTo(pod: string, terms: readonly string[], intent: Intent): readonly Headers[] {
  const destinations = intent
    .portsOfPod(pod)
    .filter(({ network }) => network === DEFAULT_NETWORK)
    .flatMap(({ addresses }) => addresses);
  const ports = Map.groupBy(terms, (term) => term.split('.')[0] ?? '');
  return [...ports].map(([protocol, all]) => {
    const numbers = all.flatMap((term) => / == (\d+)$/.exec(term)?.[1] ?? []).map(Number);
    return { destinations, protocol, ...(numbers.length === 0 ? {} : { ports: numbers }) };
  });
}

/** A connection of services alone: pods do not begin connections to pods of the others. */
export function checkServiceConnections(
  northbound: NorthboundRows,
  intent: Intent,
  datapaths: DatapathLookup,
  findings: Findings,
): void {
  const arePodsJoined = (a: string, b: string): boolean =>
    intent.joinedBy(a, b)?.startsWith('Namespace ') === true ||
    intent.connections.some(
      ({ networks, opensPods }) => opensPods && networks.has(a) && networks.has(b),
    );
  for (const { networks, opensPods, object, name } of intent.connections) {
    if (opensPods || networks.size < 2) continue;
    for (const one of networks) {
      const home = podSwitch(one, datapaths);
      if (home === undefined) continue;
      const others = [...networks].filter((other) => other !== one && !arePodsJoined(one, other));
      if (others.length === 0) continue;
      const rows = aclsOf(home.row, northbound);
      const onPorts = groupsAt(home, northbound).flatMap((row) => aclsOf(row, northbound));
      for (const row of new Set([...rows, ...onPorts]))
        if (isBeforeDrops(row, others, intent))
          findings.wrong(
            'cut',
            aclText(row),
            `lets pass what pods of network ${one} begin with pods of ${others.join(', ')}, before that is dropped: ${object} opens services alone`,
            object,
            [one, ...others],
          );
      const drops = rows.filter(
        (row) =>
          text(row, 'action') === 'drop' &&
          Number(text(row, 'priority')) === DROP_PODS &&
          (text(row, 'tier') || '0') === '0' &&
          text(row, 'direction') === 'from-lport' &&
          text(row, 'match').includes('ct.new'),
      );
      for (const other of others) {
        const subnets = intent.byName.get(other)?.subnets ?? [];
        const isDropped = drops.some((row) =>
          subnets.every((subnet) => text(row, 'match').includes(intent.textOf(subnet))),
        );
        if (!isDropped && isLinked(name, one, datapaths, intent))
          findings.wrong(
            'cut',
            rowText('Logical_Switch', home.name),
            `has no ACL that drops what pods of network ${one} begin with pods of network ${other}: ${object} opens services alone`,
            object,
            [one, other],
          );
      }
    }
  }
}

/** Of the first tier, and above the drops: what is for services, and the host, DHCP and the network's own router are known by whose they are. */
const KNOWN_BEFORE: ReadonlySet<string> = new Set([
  'ClusterNetworkConnect',
  'DhcpClients',
  'PodServers',
  'UDNIsolation',
]);

const isBeforeDrops = (row: Row, others: readonly string[], intent: Intent): boolean =>
  text(row, 'direction') === 'from-lport' &&
  LETS.test(text(row, 'action')) &&
  (text(row, 'tier') || '0') === '0' &&
  Number(text(row, 'priority')) > DROP_PODS &&
  (!KNOWN_BEFORE.has(member(row, 'external_ids', 'k8s.ovn.org/owner-type') ?? '') ||
    others.some((other) =>
      intent.byName
        .get(other)
        ?.subnets.some((subnet) => text(row, 'match').includes(intent.textOf(subnet))),
    ));

const isLinked = (
  connection: string,
  network: string,
  { byPort }: DatapathLookup,
  { node }: Intent,
): boolean =>
  byPort.has(`crtor-${connection}_${network}_${node}`) ||
  byPort.has(`crtor-${connection}_${network}`);
