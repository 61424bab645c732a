/**
 * ACLs that keep networks apart: of pods with a primary network their leg on the default network, and of connections that open services alone.
 * Policies within a network are not judged here.
 */
import { DEFAULT_NETWORK } from '../../api/nad/network-name.ts';
import type { NorthboundRows } from '../northbound-rows.ts';
import { list, member, text, uuidOf, type Row } from '../rows.ts';
import type { Findings } from '../findings.ts';
import { partOf, rowText, type Datapath, type DatapathLookup } from '../intent/datapaths.ts';
import type { Intent } from '../intent/intent.ts';

/** reference/topology.md §17.1. */
const LOCKED_GROUP = 'default-network-controller:UDNIsolation:SecondaryPods';
const DENY = 1000;
const DROP_PODS = 450;
const LETS = /^(allow|allow-related|allow-stateless|pass)$/;

interface Context {
  readonly intent: Intent;
  readonly findings: Findings;
  readonly northbound: NorthboundRows;
  readonly datapaths: DatapathLookup;
}

/** The legs of pods with a primary network on the default one. */
export function checkDefaultLegs(
  northbound: NorthboundRows,
  intent: Intent,
  datapaths: DatapathLookup,
  findings: Findings,
): void {
  const context = { intent, findings, northbound, datapaths };
  const home = podSwitch(DEFAULT_NETWORK, datapaths);
  if (home === undefined) return;
  const groups = groupsAt(home, northbound);
  const group = groups.find(
    (row) => member(row, 'external_ids', 'k8s.ovn.org/id') === LOCKED_GROUP,
  );
  checkLocked(home, group, context);
  checkAllowances(home, groups, group, context);
}

const podSwitch = (network: string, datapaths: DatapathLookup): Datapath | undefined =>
  datapaths
    .ofNetwork(network)
    .find((one) => partOf(one) === 'pods' && one.table === 'Logical_Switch');

/** Groups that ports of a switch are in. */
function groupsAt({ ports }: Datapath, northbound: NorthboundRows): readonly Row[] {
  return [...new Set(ports.flatMap((port) => northbound.groupsOf(uuidOf(port))))];
}

const aclsOf = (row: Row | undefined, { northbound }: Context): readonly Row[] =>
  (row === undefined ? [] : list(row, 'acls'))
    .map((uuid) => northbound.find('ACL', uuid))
    .filter((acl) => acl !== undefined);

const aclText = (row: Row): string =>
  `${rowText('ACL', text(row, 'direction'))} tier ${text(row, 'tier') || '0'} priority ${text(row, 'priority')} ${text(row, 'match')}`;

/** Every pod with a primary network is in the group, and the group is closed both ways. */
function checkLocked(home: Datapath, group: Row | undefined, context: Context): void {
  const { intent, findings } = context;
  const inGroup = new Set(group === undefined ? [] : list(group, 'ports'));
  let locked = 0;
  for (const port of home.ports) {
    const name = text(port, 'name');
    const pod = intent.ports.get(name);
    if (pod?.role !== 'infrastructure-locked') continue;
    locked += 1;
    if (!inGroup.has(uuidOf(port)))
      findings.wrong(
        'default network',
        rowText('Logical_Switch_Port', name),
        `of Pod ${pod.pod}, which has a primary network, is not in the group SecondaryPods: it reaches the default network`,
        `Pod ${pod.pod}`,
        ['default', ...primaryOf(pod.pod, intent)],
      );
  }
  if (locked === 0) return;
  const groupName = group === undefined ? '' : text(group, 'name');
  const rows = aclsOf(group, context);
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

/** ACLs before those that close: each is of a form that an object wants. */
function checkAllowances(
  home: Datapath,
  groups: readonly Row[],
  group: Row | undefined,
  context: Context,
): void {
  const { findings, intent } = context;
  const applied = new Set([home.row, ...groups].flatMap((row) => aclsOf(row, context)));
  for (const row of applied) {
    if (!LETS.test(text(row, 'action'))) continue;
    if ((text(row, 'tier') || '0') !== '0' || Number(text(row, 'priority')) < DENY) continue;
    const wanted = isWantedAllowance(row, group, intent);
    if (typeof wanted === 'object') {
      findings.edge({
        from: 'default',
        to: `Pod ${wanted.pod}`,
        kind: 'open port',
        where: aclText(row),
        object: `Pod ${wanted.pod}`,
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
): boolean | { readonly pod: string } {
  const type = member(row, 'external_ids', 'k8s.ovn.org/owner-type');
  const match = text(row, 'match');
  // After load balancing, where nothing of the default network is closed, and of a router's port alone.
  if (type === 'PodServers')
    return /^inport == "(stor|stotr)-[^"]+" && udp\.dst == \{68, 546\}$/.test(match);
  if (type === 'DhcpClients') return match.includes('udp.src') && match.includes('udp.dst');
  if (type !== 'UDNIsolation') return false;
  const name = group === undefined ? '' : text(group, 'name');
  const hosts = new Set(intent.defaultHostAddresses);
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
  return terms.every(isOpen) && wanted.length > 0 ? { pod: pod.pod } : false;
}

/** A connection of services alone: pods do not begin connections to pods of the others. */
export function checkServiceConnections(
  northbound: NorthboundRows,
  intent: Intent,
  datapaths: DatapathLookup,
  findings: Findings,
): void {
  const context = { intent, findings, northbound, datapaths };
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
      const rows = aclsOf(home.row, context);
      const onPorts = groupsAt(home, northbound).flatMap((row) => aclsOf(row, context));
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
