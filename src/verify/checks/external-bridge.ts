/**
 * Flows of the external bridge, where all networks of a node meet under one address: what comes from a network carries that network's marks, and
 * what is let into one is known by its marks, or is for one of its services. Whoever wrote a flow, it is judged by what it does.
 */
import { parseAddress } from '../../allocators/addresses.ts';
import { list, pairs, rowsOf, text, uuidOf, type Tables } from '../rows.ts';
import type { Findings } from '../findings.ts';
import type { Intent } from '../intent/intent.ts';
import { connectionOverBridge } from '../intent/connections.ts';
import { FIRST_PACKET_MARK, type VerifiedNetwork } from '../intent/networks.ts';
import type { VerifiedServices } from '../intent/services.ts';
import type { Flow, Settings } from '../snapshot.ts';
import { checkBridgeTunnels } from './bridge-tunnels.ts';

/** What must not be passed on of a primary network is dropped there (reference/node.md §4.3). */
const GUARD = 60;
const HOST_MARK = 2;
/** Of questions that a network asked (reference/node.md §4.7): this in the upper half of the cookie. */
const LEARNED = 0x0deff105;
/** Tables that what a network sends may go on in: connection zones, the host, after translation, whom it tells of sizes. */
const ONWARD: ReadonlySet<number> = new Set([0, 3, 4, 8, 13]);

/**
 * What a flow of these tables does with what it does not drop: through all tables once more. The fence of egress addresses, and what networks tell nodes of
 * sizes (reference/node.md §4.3, 710 and 700).
 */
const ONCE_MORE: ReadonlyMap<number, string> = new Map([
  [12, 'load:0x1->NXM_NX_REG1[0],resubmit(,0)'],
  [13, 'load:0x1->NXM_NX_REG1[1],resubmit(,0)'],
]);
const ASKS_FENCE = 'resubmit(,12)';

interface Context {
  /** Networks by the number of their patch port; undefined for a patch port of nobody. */
  readonly patches: ReadonlyMap<
    number,
    { readonly name: string; readonly network?: VerifiedNetwork }
  >;
  readonly intent: Intent;
  readonly services: VerifiedServices;
  readonly findings: Findings;
}

type Match = ReadonlyMap<string, string>;

export function checkExternalBridge(
  bridge: string,
  flows: readonly Flow[],
  openVswitch: Tables,
  settings: Settings,
  intent: Intent,
  services: VerifiedServices,
  findings: Findings,
): void {
  const patches = patchesOf(bridge, openVswitch, intent, findings);
  const context: Context = { patches, intent, services, findings };
  const guarded = new Set<VerifiedNetwork>();
  const fenced = new Set<string>();
  for (const flow of flows) {
    const match = matchOf(flow.match);
    const from = sourceOf(match, context);
    if (flow.actions === 'drop') {
      if (flow.table === 0 && from?.network !== undefined && match.size === 1)
        guarded.add(from.network);
      if (flow.table === 2) fenced.add(match.get('nw_src') ?? match.get('ipv6_src') ?? '');
      continue;
    }
    if (from !== undefined) leaving(flow, match, from.name, from.network, context);
    else passing(flow, match, context);
    entering(flow, match, from?.network, context);
    hiddenWays(flow, from, context);
    if ((ONCE_MORE.get(flow.table) ?? flow.actions) !== flow.actions)
      findings.wrong(
        'external bridge',
        flowText(flow),
        'lets something pass that was to go through all tables once more',
        from?.network?.object ?? 'cluster',
        [from?.network?.name],
      );
  }
  checkBridgeTunnels(bridge, flows, patches, settings, intent, findings);
  for (const { network } of patches.values()) {
    if (network === undefined || network.id === 0) continue;
    if (!guarded.has(network))
      findings.wrong(
        'external bridge',
        `flows of ${bridge}`,
        `lack the one that drops what else comes from network ${network.name}`,
        network.object,
        [network.name],
      );
    for (const address of network.hostAddresses)
      if (isInUse(address, flows) && !fenced.has(address))
        findings.wrong(
          'external bridge',
          `flows of ${bridge}, table 2`,
          `lack the one that keeps ${address} of network ${network.name} from services of the default network`,
          network.object,
          [network.name, 'default'],
        );
  }
}

/** Families that a network does not have have no flows. */
const isInUse = (address: string, flows: readonly Flow[]): boolean => {
  const kind = address.includes(':') ? 'ipv6_src' : 'nw_src';
  return flows.some(({ table, match }) => table === 2 && match.includes(kind));
};

/** Patch ports of the bridge and whose they are. */
function patchesOf(
  bridge: string,
  openVswitch: Tables,
  intent: Intent,
  findings: Findings,
): Context['patches'] {
  const names = new Map(
    intent.networks.map((network) => [
      `patch-${bridge}_${network.prefix}${intent.node}-to-br-int`,
      network,
    ]),
  );
  const rows = new Map(
    ['Port', 'Interface'].flatMap((table) =>
      rowsOf(openVswitch, table).map((row) => [uuidOf(row), row] as const),
    ),
  );
  const row = rowsOf(openVswitch, 'Bridge').find((one) => text(one, 'name') === bridge);
  if (row !== undefined && list(row, 'mirrors').length > 0)
    findings.wrong(
      'external bridge',
      `Open_vSwitch Bridge ${bridge}`,
      'has a mirror, which copies what networks send to another port: no object wants that',
      'cluster',
    );
  const patches = new Map<number, { name: string; network?: VerifiedNetwork }>();
  for (const port of row === undefined ? [] : list(row, 'ports'))
    for (const uuid of list(rows.get(port) ?? {}, 'interfaces')) {
      const found = rows.get(uuid);
      if (found === undefined || text(found, 'type') !== 'patch') continue;
      const name = text(found, 'name');
      const network = names.get(name);
      const peer = pairs(found, 'options')['peer'] ?? '';
      const wanted = name.replace(/^patch-(.+)-to-br-int$/, 'patch-br-int-to-$1');
      if (network !== undefined && peer !== wanted)
        findings.wrong(
          'external bridge',
          `Open_vSwitch Interface ${name}`,
          `has peer ${peer}, and ${wanted} is the end of network ${network.name}`,
          network.object,
          [network.name],
        );
      patches.set(Number(text(found, 'ofport')), {
        name,
        ...(network === undefined ? {} : { network }),
      });
    }
  return patches;
}

const matchOf = (match: string): Match =>
  new Map(
    match
      .split(',')
      .filter((part) => part !== '')
      .map((part): [string, string] => {
        const at = part.indexOf('=');
        return at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)];
      }),
  );

const sourceOf = (match: Match, { patches }: Context) => patches.get(Number(match.get('in_port')));

const numbers = (actions: string, pattern: RegExp): number[] =>
  [...actions.matchAll(pattern)].map(([, number]) => Number(number));

const outputsOf = (actions: string): number[] => numbers(actions, /\boutput:(\d+)/g);
const connectionMarks = (actions: string): number[] =>
  numbers(actions, /set_field:(0x[0-9a-f]+|\d+)->ct_mark/g);
const packetMarks = (actions: string): number[] =>
  numbers(actions, /set_field:(0x[0-9a-f]+|\d+)->pkt_mark/g);
const tablesOf = (actions: string): number[] => [
  ...numbers(actions, /\btable=(\d+)/g),
  ...numbers(actions, /resubmit\(,(\d+)\)/g),
];
/** Without what is learned: that is judged where it is met. */
const withoutLearning = (actions: string): string =>
  actions.replaceAll(/learn\((?:[^()]|\([^()]*\))*\)/g, '');

const flowText = ({ table, priority, match }: Flow): string =>
  `flow of the external bridge, table ${table}, priority ${priority}, ${match === '' ? 'all' : match}`;

const markedBy = (mark: number, { intent }: Context): VerifiedNetwork | undefined =>
  intent.networks.find(({ connectionMark }) => connectionMark === mark);

/** What comes from a network. */
function leaving(
  flow: Flow,
  match: Match,
  port: string,
  network: VerifiedNetwork | undefined,
  context: Context,
): void {
  const { findings, intent, patches } = context;
  const wrong = (what: string, ...others: (VerifiedNetwork | undefined)[]): void => {
    findings.wrong('external bridge', flowText(flow), what, network?.object ?? 'no object', [
      network?.name,
      ...others.map((one) => one?.name),
    ]);
  };
  if (network === undefined) {
    wrong(`lets something pass that comes by ${port}, which is of no network`);
    return;
  }
  const actions = withoutLearning(flow.actions);
  for (const mark of connectionMarks(actions))
    if (mark !== network.connectionMark) {
      const other = markedBy(mark, context);
      wrong(
        `gives connections of network ${network.name} mark ${mark}, which is of ${other?.name ?? (mark === HOST_MARK ? 'the host' : 'nobody')}: answers go there`,
        other,
      );
    }
  for (const mark of packetMarks(actions)) {
    const other = intent.byId.get(mark - FIRST_PACKET_MARK);
    if (other !== undefined && other.id > 0 && other !== network)
      wrong(`gives packets of network ${network.name} the mark of network ${other.name}`, other);
  }
  for (const number of outputsOf(actions)) {
    const other = patches.get(number)?.network;
    if (other !== undefined && other !== network)
      wrong(
        `leads from network ${network.name} to network ${other.name}: no object wants that`,
        other,
      );
  }
  for (const address of numbersOfSources(actions)) {
    const other = intent.networks.find(
      (one) =>
        one !== network &&
        (one.gatewayAddresses.includes(address) || one.hostAddresses.includes(address)),
    );
    if (other !== undefined)
      wrong(`gives network ${network.name} address ${address} of network ${other.name}`, other);
    const egress = intent.egressAddresses.get(address);
    const asked = intent.egressMarks.get(Number(match.get('pkt_mark') ?? Number.NaN));
    if (egress !== undefined && egress !== asked)
      wrong(`gives network ${network.name} address ${address} of ${egress} without its mark`);
  }
  if (network.id === 0 || flow.table !== 0) return;
  const learns = flow.actions !== actions;
  const isQuestion = learns && isNeighbourDiscovery(match);
  if (/\b(NORMAL|FLOOD|ALL)\b/.test(actions) && !isQuestion)
    wrong(`switches what comes from network ${network.name} as any bridge would`);
  for (const table of tablesOf(actions))
    if (!ONWARD.has(table))
      wrong(
        `leads what comes from network ${network.name} to table ${table}, where answers are told apart`,
      );
  const leaves = outputsOf(actions).length > 0 || actions.includes('table=8');
  if (leaves && !isKnownSender(match, network))
    wrong(`lets network ${network.name} send with any address: no object wants that`);
}

/** Ways out of a flow that say neither by which port nor in which table a packet goes on, or make it seem to have come by another port. */
const HIDDEN: readonly (readonly [RegExp, string])[] = [
  [/\bresubmit\([^,)]+/, 'goes on as if a packet had come by another port'],
  [
    /->(?:in_port|NXM_OF_IN_PORT\[\]|OXM_OF_IN_PORT\[\])/,
    'changes the port by which a packet came',
  ],
  [/\boutput:(?!\d|LOCAL|IN_PORT|CONTROLLER)/, 'sends to the port that a register names'],
  [
    /\b(?:enqueue|bundle|bundle_load|multipath)[(:]|\boutput\(/,
    'sends in a way that says not to which port',
  ],
];

function hiddenWays(
  flow: Flow,
  from: { readonly name: string; readonly network?: VerifiedNetwork } | undefined,
  { findings }: Context,
): void {
  const actions = withoutLearning(flow.actions);
  for (const [form, what] of HIDDEN)
    if (form.test(actions))
      findings.wrong(
        'external bridge',
        flowText(flow),
        `${what}: no object wants that`,
        from?.network?.object ?? 'cluster',
        [from?.network?.name],
      );
}

const numbersOfSources = (actions: string): string[] =>
  [...actions.matchAll(/nat\(src=([0-9a-fA-F.:]+)/g)].map(([, address]) => address ?? '');

const isNeighbourDiscovery = (match: Match): boolean =>
  match.has('arp') || (match.has('icmp6') && /^13[3-6]$/.test(match.get('icmp_type') ?? ''));

/** By what a sender of a network may be known: its own address, a mark of egress, a service's port, that nobody is behind one, BFD. */
function isKnownSender(match: Match, { gatewayAddresses }: VerifiedNetwork): boolean {
  const source = match.get('nw_src') ?? match.get('ipv6_src');
  if (source !== undefined && gatewayAddresses.includes(source)) return true;
  if (match.has('pkt_mark')) return true;
  if (source !== undefined && match.has('tp_src')) return true;
  if (source !== undefined && match.has('icmp_type')) return true;
  return match.get('tp_dst') === '3784';
}

/** What comes from elsewhere: it has no network's mark, and nothing is above the guards of networks. */
function passing(flow: Flow, match: Match, context: Context): void {
  const { findings, intent } = context;
  const wrong = (what: string, ...others: (VerifiedNetwork | undefined)[]): void => {
    findings.wrong(
      'external bridge',
      flowText(flow),
      what,
      intent.objectOf(others.find((one) => one !== undefined)?.name),
      others.map((one) => one?.name),
    );
  };
  for (const mark of connectionMarks(flow.actions)) {
    const other = markedBy(mark, context);
    if (mark !== HOST_MARK)
      wrong(
        `gives connections that come from elsewhere the mark of network ${other?.name ?? mark}`,
        other,
      );
  }
  for (const mark of packetMarks(flow.actions)) {
    const network = intent.byId.get(mark - FIRST_PACKET_MARK);
    if (network === undefined || network.id === 0) continue;
    const source = match.get('nw_src') ?? match.get('ipv6_src') ?? '';
    if (!network.gatewayAddresses.includes(source))
      wrong(
        `gives packets with source ${source === '' ? 'of anybody' : source} the mark of network ${network.name}`,
        network,
        intent.networks.find((one) => one.gatewayAddresses.includes(source)),
      );
  }
  const isForAll =
    flow.table === 0 &&
    flow.priority > GUARD &&
    !match.has('in_port') &&
    flow.actions !== ASKS_FENCE;
  if (isForAll) wrong('lets something pass from every network, before what is of none is dropped');
}

/** What is let into a network. */
function entering(
  flow: Flow,
  match: Match,
  from: VerifiedNetwork | undefined,
  context: Context,
): void {
  const { patches, findings, services } = context;
  for (const number of outputsOf(withoutLearning(flow.actions))) {
    const patch = patches.get(number);
    if (patch === undefined) continue;
    const { network } = patch;
    const wrong = (what: string, ...others: (VerifiedNetwork | undefined)[]): void => {
      findings.wrong('external bridge', flowText(flow), what, network?.object ?? 'no object', [
        network?.name,
        ...others.map((one) => one?.name),
      ]);
    };
    if (network === undefined) {
      wrong(`leads to ${patch.name}, which is of no network`);
      continue;
    }
    if (from !== undefined) continue; // `leaving` judges that
    const mark = match.get('ct_mark');
    if (mark !== undefined && Number(mark) !== network.connectionMark) {
      const other = markedBy(Number(mark), context);
      wrong(
        `leads connections of ${other?.name ?? `mark ${mark}`} to network ${network.name}`,
        other,
      );
      continue;
    }
    const packet = match.get('pkt_mark');
    const marked =
      packet === undefined
        ? undefined
        : context.intent.byId.get(Number(packet) - FIRST_PACKET_MARK);
    if (marked !== undefined && marked.id > 0 && marked !== network) {
      wrong(`leads what is marked for network ${marked.name} to network ${network.name}`, marked);
      continue;
    }
    if (network.id === 0 || mark !== undefined || marked === network || isLearned(flow, network))
      continue;
    const port = match.get('tp_dst');
    const address = match.get('nw_dst') ?? match.get('ipv6_dst');
    const users = port === undefined ? [] : services.usersOf(address, Number(port));
    const user = users.find(({ networks }) => networks.has(network.name));
    if (user !== undefined) {
      findings.edge({
        from: 'outside',
        to: network.name,
        kind: 'service',
        where: `${address ?? 'the node'} port ${port}`,
        object: user.object,
      });
      continue;
    }
    if (isRefusal(match, services, network) || isConnected(flow, match, network, context)) continue;
    const [other] = users;
    wrong(
      other === undefined
        ? `lets what comes from elsewhere into network ${network.name}: no object wants that`
        : `leads what is for ${other.object} to network ${network.name}`,
      ...(other === undefined
        ? []
        : [...other.networks].map((name) => context.intent.byName.get(name))),
    );
  }
}

/** That a packet to an external address was too big. */
const isRefusal = (
  match: Match,
  { byKey }: VerifiedServices,
  { name }: VerifiedNetwork,
): boolean => {
  const address = match.get('nw_dst') ?? match.get('ipv6_dst');
  return (
    address !== undefined &&
    parseAddress(address) !== undefined &&
    match.has('icmp_type') &&
    [...byKey.values()].some(
      ({ externalAddresses, networks }) =>
        externalAddresses.includes(address) && networks.has(name),
    )
  );
};

/** What the host passes on to a service that a connection opens over this bridge, by cluster IP and port, or what a service answers to a network that may ask. */
function isConnected(
  flow: Flow,
  match: Match,
  network: VerifiedNetwork,
  { intent, services, findings }: Context,
): boolean {
  const from = match.get('nw_src') ?? match.get('ipv6_src') ?? '';
  const to = match.get('nw_dst') ?? match.get('ipv6_dst') ?? '';
  const client = intent.networks.find(({ gatewayAddresses }) => gatewayAddresses.includes(from));
  if (client !== undefined) {
    const service = services.byClusterAddress.get(to);
    const connection = connectionOverBridge(intent.connections, client.name, network.name);
    if (connection === undefined || service?.networks.has(network.name) !== true) return false;
    if (!service.ports.has(Number(match.get('tp_dst') ?? Number.NaN))) return false;
    findings.edge({
      from: client.name,
      to: network.name,
      kind: 'service',
      where: flowText(flow),
      object: connection.object,
    });
    return true;
  }
  const answering = services.byClusterAddress.get(from)?.networks ?? [];
  return (
    network.gatewayAddresses.includes(to) &&
    [...answering].some(
      (server) => connectionOverBridge(intent.connections, network.name, server) !== undefined,
    )
  );
}

/** An answer to what the network asked. */
function isLearned({ cookie, table }: Flow, { id }: VerifiedNetwork): boolean {
  const number = BigInt(cookie === '' ? 0 : cookie);
  return table === 20 && number >> 32n === BigInt(LEARNED) && Number(number & 0xffffffffn) === id;
}
