/**
 * Routes, policies and address translation of routers. Within the part of a network they lead where they like; over an edge between two
 * parts they lead what the object of that edge wants and nothing else, and none sets a mark or an address that stands for another network.
 */
import {
  asHost,
  containsAddress,
  containsPrefix,
  nthAddress,
  overlaps,
  parseAddress,
  parseInterfaceAddress,
  parsePrefix,
  prefixOf,
  type Prefix,
} from '../../allocators/addresses.ts';
import { familyCidrs } from '../../api/nad/network-config.ts';
import type { NorthboundRows } from '../northbound-rows.ts';
import { list, member, pairs, text, type Row } from '../rows.ts';
import type { Findings } from '../findings.ts';
import {
  networkOf,
  partOf,
  rowText,
  type Datapath,
  type DatapathLookup,
} from '../intent/datapaths.ts';
import { isConnectedOverBridge } from '../intent/connections.ts';
import type { Intent } from '../intent/intent.ts';
import { FIRST_PACKET_MARK, type VerifiedNetwork } from '../intent/networks.ts';
import type { Settings } from '../snapshot.ts';

/** Marks that OVN's rows may set (reference/node.md §1.2), besides those of EgressIPs and EgressServices. */
const MARKS: ReadonlySet<number> = new Set([42, 43, 1008, 1009, 1010, 1011, 1013]);
const FIRST_SERVICE_MARK = 0x80000000;
/** Offset of the forwarder of DNS in the masquerade subnet (reference/egress.md §2.4). */
const LAST_NODE_ADDRESS = 8;

interface Port {
  readonly name: string;
  readonly prefixes: readonly Prefix[];
  /** What is behind it, where that is of another owner. */
  readonly beyond: Datapath | undefined;
}

interface Context {
  readonly router: Datapath;
  readonly ports: readonly Port[];
  readonly network: VerifiedNetwork | undefined;
  readonly intent: Intent;
  readonly settings: Settings;
  readonly findings: Findings;
}

/** Of an address without a length: of its host alone. */
const wholePrefix = (value: string): Prefix | undefined =>
  parsePrefix(value.includes('/') ? value : asHost(value));

/** Options, routes, policies and translation of one router. */
export function checkRouter(
  router: Datapath,
  northbound: NorthboundRows,
  settings: Settings,
  intent: Intent,
  datapaths: DatapathLookup,
  findings: Findings,
): void {
  if (router.table !== 'Logical_Router' || router.owner.kind === 'nobody') return;
  const context: Context = {
    router,
    ports: portsOf(router, datapaths),
    network: networkOf(router),
    intent,
    settings,
    findings,
  };
  routerOptions(context);
  const each = (column: string, table: string, check: (row: Row, context: Context) => void) => {
    for (const uuid of list(router.row, column)) {
      const row = northbound.find(table, uuid);
      if (row !== undefined) check(row, context);
    }
  };
  each('static_routes', 'Logical_Router_Static_Route', route);
  each('policies', 'Logical_Router_Policy', policy);
  each('nat', 'NAT', translation);
}

/** Marks and limits of switches. */
export function checkQos(row: Row, intent: Intent, findings: Findings): void {
  const where = rowText('QoS', text(row, 'match'));
  if (pairs(row, 'bandwidth')['rate'] !== undefined && !isMarked(row))
    findings.wrong(
      'routes',
      where,
      'drops what is above a rate: no object wants that',
      'no object',
    );
  const mark = Number(member(row, 'action', 'mark') ?? 42);
  if (mark !== 42)
    findings.wrong(
      'routes',
      where,
      `sets packet mark ${mark}: no object wants that`,
      member(row, 'external_ids', 'heddle') ?? 'no object',
      [intent.byId.get(mark - FIRST_PACKET_MARK)?.name],
    );
}

/** Options by which routers answer with an address, and track connections. */
const SOURCES = ['lb_force_snat_ip', 'dnat_force_snat_ip'] as const;

function routerOptions({ router, network, intent, findings }: Context): void {
  if (network === undefined) return;
  const options = pairs(router.row, 'options');
  const wrong = (what: string, other?: string): void => {
    findings.wrong('translation', rowText(router.table, router.name), what, network.object, [
      network.name,
      other,
    ]);
  };
  for (const option of SOURCES)
    for (const address of (options[option] ?? '').split(/\s+/)) {
      const other = intent.ownerOf(address);
      if (other !== undefined && other !== network)
        wrong(`has ${option} ${address}, which is an address of network ${other.name}`, other.name);
    }
  const zone = options['snat-ct-zone'];
  // The default network's gateway router shares the host's connections with it.
  if (zone !== undefined && !(zone === '0' && network.id === 0))
    wrong(`translates in conntrack zone ${zone}, which others may have, too: no object wants that`);
}

function portsOf(router: Datapath, datapaths: DatapathLookup): readonly Port[] {
  return router.ports.map((row): Port => {
    const peer = text(row, 'peer');
    const beyond = peer === '' ? undefined : datapaths.byPort.get(peer);
    return {
      name: text(row, 'name'),
      prefixes: list(row, 'networks')
        .map(parseInterfaceAddress)
        .filter((address) => address !== undefined)
        .map(prefixOf),
      beyond: beyond === undefined || isOfOwner(beyond, router) ? undefined : beyond,
    };
  });
}

const isOfOwner = (a: Datapath, b: Datapath): boolean =>
  a.owner.kind === 'network'
    ? b.owner.kind === 'network' && a.owner.network === b.owner.network
    : a === b;

/** The port by which a next hop is reached: that of the longest prefix. */
function portTo(hop: string, output: string, ports: readonly Port[]): Port | undefined {
  if (output !== '') return ports.find(({ name }) => name === output);
  const address = parseAddress(hop);
  if (address === undefined) return undefined;
  let best: { readonly port: Port; readonly length: number } | undefined;
  for (const port of ports)
    for (const prefix of port.prefixes)
      if (containsAddress(prefix, address) && prefix.length > (best?.length ?? -1))
        best = { port, length: prefix.length };
  return best?.port;
}

const networksAt = ({ network }: Context, port: Port | undefined): (string | undefined)[] => [
  network?.name,
  port?.beyond === undefined ? undefined : networkOf(port.beyond)?.name,
];

/** Networks other than its own whose pods a destination may mean. */
function othersOf({ network, intent }: Context, prefix: Prefix | undefined): readonly string[] {
  if (prefix === undefined || prefix.length === 0) return [];
  return intent.networks
    .filter(
      (other) => other !== network && other.subnets.some((subnet) => overlaps(subnet, prefix)),
    )
    .map(({ name }) => name);
}

const ownerOf = ({ router, intent, network }: Context): string =>
  router.owner.kind === 'connection'
    ? router.owner.connection.object
    : intent.objectOf(network?.name);

const isMarked = (row: Row): boolean => member(row, 'external_ids', 'heddle') !== undefined;

function route(row: Row, context: Context): void {
  const { router, ports, findings, network } = context;
  const [to, hop, by] = [text(row, 'ip_prefix'), text(row, 'nexthop'), text(row, 'output_port')];
  const where = `${rowText('Logical_Router_Static_Route', to)} via ${hop} of ${router.name}`;
  const prefix = wholePrefix(to);
  const isBySource = text(row, 'policy') === 'src-ip';
  if (hop === 'discard') {
    if (!isMarked(row))
      findings.wrong(
        'routes',
        where,
        `drops what goes to ${to}: no object wants that`,
        ownerOf(context),
        [network?.name],
      );
    return;
  }
  const port = portTo(hop, by, ports);
  const wrong = (what: string): void => {
    const others = othersOf(context, prefix);
    findings.wrong('routes', where, what, ownerOf(context), [
      ...networksAt(context, port),
      ...others,
    ]);
  };
  if (prefix === undefined) return wrong('has a destination that can not be read');
  if (port === undefined)
    return wrong('has a next hop on no network of the router: no object wants it');
  if (router.owner.kind === 'connection') {
    const beyond = port.beyond === undefined ? undefined : networkOf(port.beyond);
    // Ports to other nodes have no peer; their network is that of their name.
    const target = beyond ?? networkOfLink(port.name, context);
    if (target === undefined || !target.subnets.some((subnet) => containsPrefix(subnet, prefix)))
      wrong(`leads ${to} to network ${target?.name ?? 'of nobody'}, which does not have it`);
    return;
  }
  if (port.beyond !== undefined)
    return wrong(
      `leads ${to} by ${port.name} out of network ${network?.name}: no object wants that`,
    );
  if (!isMarked(row) || !isWantedDestination(prefix, isBySource, context))
    wrong(
      `leads ${isBySource ? 'what comes from ' : ''}${to} by ${port.name}: no object wants that`,
    );
}

const networkOfLink = (port: string, { intent, router }: Context): VerifiedNetwork | undefined => {
  const { owner } = router;
  if (owner.kind !== 'connection') return undefined;
  const start = `crtor-${owner.connection.name}_`;
  return [...owner.connection.networks]
    .map((name) => intent.byName.get(name))
    .find((one) => one !== undefined && port.startsWith(`${start}${one.name}_`));
};

/** Destinations (or sources) that a network's routers have routes for (reference/topology.md §7.4). */
function isWantedDestination(
  prefix: Prefix,
  isBySource: boolean,
  { network, router, settings, intent }: Context,
): boolean {
  if (network === undefined) return false;
  const within = (prefixes: readonly Prefix[]): boolean =>
    prefixes.some((one) => containsPrefix(one, prefix));
  if (within(network.subnets)) return true;
  if (isBySource) return false;
  const { masqueradeSubnets, serviceSubnets } = settings;
  const masquerade = familyCidrs(masqueradeSubnets).map(parsePrefix);
  if (within(network.joinSubnets) || within(network.transitSubnets)) return true;
  const services = serviceSubnets.map(parsePrefix).filter((one) => one !== undefined);
  const isHost = prefix.length === (prefix.family === 'v4' ? 32 : 128);
  if (partOf(router) === 'gateway router')
    return (
      prefix.length === 0 ||
      masquerade.some((one) => one !== undefined && containsPrefix(one, prefix)) ||
      // What the external bridge lets pass of it is judged there.
      (isHost &&
        services.some((one) => containsPrefix(one, prefix)) &&
        isConnectedOverBridge(intent.connections, network.name))
    );
  // Services that are open to all networks; the forwarder of DNS.
  return (
    isHost &&
    (services.some((one) => containsPrefix(one, prefix)) ||
      masquerade.some(
        (one) =>
          one !== undefined &&
          containsPrefix(one, prefix) &&
          prefix.base - one.base < BigInt(LAST_NODE_ADDRESS),
      ))
  );
}

const DESTINATION = /ip[46]\.dst == ([0-9a-fA-F.:]+(?:\/\d+)?)/g;
const ONLY_DESTINATIONS =
  /^(?:inport == "([^"]+)" && )?\(?ip[46]\.dst == [0-9a-fA-F.:/]+(?: \|\| ip[46]\.dst == [0-9a-fA-F.:/]+)*\)?$/;

function policy(row: Row, context: Context): void {
  const { router, ports, findings, network } = context;
  const match = text(row, 'match');
  const where = `${rowText('Logical_Router_Policy', text(row, 'priority'))} ${match} of ${router.name}`;
  const wrong = (what: string, more: readonly (string | undefined)[] = []): void => {
    findings.wrong('routes', where, what, ownerOf(context), [network?.name, ...more]);
  };
  checkMark(row, context, wrong);
  if (!isMarked(row)) {
    const named = [...match.matchAll(DESTINATION)].map(([, cidr]) => wholePrefix(cidr ?? ''));
    wrong(
      'no object wants it',
      named.flatMap((prefix) => othersOf(context, prefix)),
    );
    return;
  }
  if (text(row, 'action') !== 'reroute') return;
  const hops = [...list(row, 'nexthops'), ...list(row, 'nexthop')];
  for (const hop of hops) {
    const port = portTo(hop, text(row, 'output_port'), ports);
    if (port === undefined) {
      wrong(`has next hop ${hop}, which is on no network of the router`);
      continue;
    }
    if (port.beyond === undefined) continue;
    const allowed = reachableBeyond(port.beyond, context);
    const form = ONLY_DESTINATIONS.exec(match);
    const inport = form?.[1];
    const isOwn = inport !== undefined && isPodsPort(inport, context);
    const isConnection = port.beyond.owner.kind === 'connection';
    const meant = [...match.matchAll(DESTINATION)].map(([, cidr]) => wholePrefix(cidr ?? ''));
    const foreign = meant.some(
      (prefix) =>
        prefix === undefined ||
        !allowed.some((other) => other.subnets.some((subnet) => containsPrefix(subnet, prefix))),
    );
    if (form === null || foreign || (isConnection && !isOwn)) {
      const names = allowed.map(({ name }) => name).join(', ') || 'nobody';
      wrong(
        `leads by ${port.name} out of network ${network?.name} more than what its pods send to pods of ${names}`,
        [networkOf(port.beyond)?.name, ...meant.flatMap((prefix) => othersOf(context, prefix))],
      );
    }
  }
}

/** The router's own port to its pods. */
const isPodsPort = (name: string, { network, intent }: Context): boolean =>
  network !== undefined &&
  (name === `rtos-${network.prefix}${intent.node}` ||
    name === `trtos-${network.prefix}ovn_${network.topology}_switch`);

/** Networks whose pods may be meant over an edge. */
function reachableBeyond(
  beyond: Datapath,
  { intent, network }: Context,
): readonly VerifiedNetwork[] {
  const other = networkOf(beyond);
  if (other !== undefined)
    return network !== undefined && intent.joinedBy(network.name, other.name) !== undefined
      ? [other]
      : [];
  if (beyond.owner.kind !== 'connection') return [];
  return [...beyond.owner.connection.networks]
    .filter((name) => name !== network?.name)
    .map((name) => intent.byName.get(name))
    .filter((one) => one !== undefined);
}

function checkMark(
  row: Row,
  { intent }: Context,
  wrong: (what: string, more?: readonly (string | undefined)[]) => void,
): void {
  const given = pairs(row, 'options')['pkt_mark'];
  if (given === undefined) return;
  const mark = Number(given);
  if (MARKS.has(mark) || intent.egressMarks.has(mark) || mark >= FIRST_SERVICE_MARK) return;
  const other = intent.byId.get(mark - FIRST_PACKET_MARK);
  const whose = other === undefined ? 'nobody' : `network ${other.name}`;
  wrong(`sets packet mark ${mark}, which is of ${whose}`, [other?.name]);
}

function translation(row: Row, context: Context): void {
  const { router, network, intent, findings } = context;
  if (network === undefined) return;
  const [type, external, inner] = [
    text(row, 'type'),
    text(row, 'external_ip'),
    text(row, 'logical_ip'),
  ];
  const where = `${rowText('NAT', type)} ${inner} as ${external} of ${router.name}`;
  const wrong = (what: string, more: readonly (string | undefined)[] = []): void => {
    findings.wrong('translation', where, what, network.object, [network.name, ...more]);
  };
  const prefix = wholePrefix(inner);
  const other = intent.ownerOf(external);
  if (other !== undefined && other !== network)
    return wrong(`gives network ${network.name} an address of network ${other.name}`, [other.name]);
  if (type !== 'snat')
    return wrong(
      'leads from outside to an address: no object wants that',
      othersOf(context, prefix),
    );
  if (
    prefix === undefined ||
    ![...network.subnets, ...network.joinSubnets].some((one) => containsPrefix(one, prefix))
  )
    return wrong(
      `is for ${inner}, which is not of network ${network.name}`,
      othersOf(context, prefix),
    );
  const own =
    partOf(router) === 'gateway router' ? network.gatewayAddresses : network.hostAddresses;
  const isOwn =
    network.id === 0
      ? intent.here?.addresses.includes(external) === true || intent.egressAddresses.has(external)
      : own.includes(external);
  if (!isOwn || !isMarked(row)) wrong(`gives it address ${external}: no object wants that`);
}

/** Addresses of a port that stand for a network in the masquerade subnet: nobody has another's. */
export function checkAddresses(
  port: Row,
  datapath: Datapath,
  { masqueradeSubnets }: Settings,
  intent: Intent,
  findings: Findings,
): void {
  const network = networkOf(datapath);
  if (network === undefined) return;
  const column = datapath.table === 'Logical_Router' ? 'networks' : 'addresses';
  for (const word of list(port, column).flatMap((one) => one.split(/\s+/))) {
    const address = word.split('/')[0] ?? '';
    const owner = intent.ownerOf(address);
    const isNobodys = familyCidrs(masqueradeSubnets).some(
      (cidr) => nthAddress(cidr, 4) === address,
    );
    if ((owner === undefined || owner === network) && !isNobodys) continue;
    const table = column === 'networks' ? 'Logical_Router_Port' : 'Logical_Switch_Port';
    findings.wrong(
      'identities',
      rowText(table, text(port, 'name')),
      owner === undefined
        ? `has ${address}, which nobody may have`
        : `of network ${network.name} has ${address} of network ${owner.name}`,
      network.object,
      [network.name, owner?.name],
    );
  }
}
