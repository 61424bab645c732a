/**
 * Flows of the external bridge, where all networks of a node meet under one address: what comes from a network carries that network's marks, and
 * what is let into one is known by its marks, or is for one of its services. Whoever wrote a flow, it is judged by what it does.
 */
import { list, pairs, rowsOf, text, uuidOf, type Tables } from '../rows.ts';
import type { Findings } from '../findings.ts';
import type { Intent } from '../intent/intent.ts';
import { FIRST_PACKET_MARK, type VerifiedNetwork } from '../intent/networks.ts';
import type { VerifiedServices } from '../intent/services.ts';
import type { Flow, Settings } from '../snapshot.ts';
import {
  connectionMarks,
  flowText,
  HOST_MARK,
  markedBy,
  matchOf,
  packetMarks,
  withoutLearning,
  type BridgeContext,
  type Match,
} from './bridge-flow.ts';
import { checkBridgeTunnels } from './bridge-tunnels.ts';
import { checkEntering } from './entering-flows.ts';
import { checkLeaving } from './leaving-flows.ts';

/** What must not be passed on of a primary network is dropped there (reference/node.md §4.3). */
const GUARD = 60;

/**
 * What a flow of these tables does with what it does not drop: through all tables once more. The fence of egress addresses, and what networks tell nodes of
 * sizes (reference/node.md §4.3, 710 and 700).
 */
const ONCE_MORE: ReadonlyMap<number, string> = new Map([
  [12, 'load:0x1->NXM_NX_REG1[0],resubmit(,0)'],
  [13, 'load:0x1->NXM_NX_REG1[1],resubmit(,0)'],
]);
const ASKS_FENCE = 'resubmit(,12)';

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
  const context: BridgeContext = { patches, intent, services, findings };
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
    if (from !== undefined) checkLeaving(flow, match, from.name, from.network, context);
    else passing(flow, match, context);
    checkEntering(flow, match, from?.network, context);
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
): BridgeContext['patches'] {
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

const sourceOf = (match: Match, { patches }: BridgeContext) =>
  patches.get(Number(match.get('in_port')));

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
  { findings }: BridgeContext,
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

/** What comes from elsewhere: it has no network's mark, and nothing is above the guards of networks. */
function passing(flow: Flow, match: Match, context: BridgeContext): void {
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
