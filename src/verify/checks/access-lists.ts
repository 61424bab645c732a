/** ACLs that keep pods with a primary network apart from the default network, where each has a leg. Policies within a network are not judged. */
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
import type { Intent } from '../intent/intent.ts';

/** reference/topology.md §17.1. */
const LOCKED_GROUP = 'default-network-controller:UDNIsolation:SecondaryPods';
const DENY = 1000;
const LETS = /^(allow|allow-related|allow-stateless|pass)$/;

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
