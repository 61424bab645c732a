/**
 * Flows of br-int as they are, whoever wrote them: what makes a packet change its datapath (`metadata`), and what lets it out by a port. A packet
 * changes it by a pair of ports that Southbound has, and leaves by a port of its own datapath or by a tunnel, under its own key.
 */
import { list, member, pairs, rowsOf, text, uuidOf, type Row, type Tables } from '../rows.ts';
import type { Findings } from '../findings.ts';
import { networkOf, type Datapath } from '../intent/datapaths.ts';
import type { Intent } from '../intent/intent.ts';
import type { Flow } from '../snapshot.ts';
import type { Binding, Bindings, BoundPort } from './southbound.ts';

/** What an OpenFlow port of br-int is. */
type PortUse =
  | { readonly kind: 'tunnel' }
  /** Of logical ports: an interface has one, a patch port those of a localnet port. */
  | { readonly kind: 'logical'; readonly port: string }
  | { readonly kind: 'localnet'; readonly port: string };

const METADATA = /(?:^|,)metadata=(0x[0-9a-f]+|\d+)(?=,|$)/;
const SET_METADATA = /(?:set_field:|load:)(0x[0-9a-f]+|\d+)(?:->metadata|->OXM_OF_METADATA\[\])/g;
const SET_TUNNEL = /(?:set_field:|load:)(0x[0-9a-f]+|\d+)->(?:tun_id|NXM_NX_TUN_ID\[[^\]]*\])/g;
const SET_INPORT = /set_field:(0x[0-9a-f]+|\d+)->reg14/;
const OUTPUT = /\boutput:(\d+)/g;
/** Ports of which one is chosen: gateways that stand in for each other. */
const MEMBERS = /\bbundle\([^)]*\b(?:members|slaves):([\d,]+)/g;
/** Ports of registers, and forms that name ports otherwise. */
const HIDDEN = /\boutput:(?!\d|LOCAL|IN_PORT|CONTROLLER)|\benqueue[(:]|\bbundle_load\(|\boutput\(/;
const AS_PORT = /\bresubmit\((\d+)/g;
const AS_OTHER_PORT = /\bresubmit\(\d/;
const IN_PORT = /(?:^|,)in_port=(\d+)/;

export function checkIntegrationBridge(
  flows: readonly Flow[],
  openVswitch: Tables,
  bindings: Bindings,
  intent: Intent,
  findings: Findings,
): void {
  const ports = portUses(openVswitch, intent, findings);
  const peers = peerKeys(bindings);
  const byDatapathPort = new Map<string, BoundPort>();
  for (const port of bindings.ports.values())
    byDatapathPort.set(`${port.binding.key} ${port.key}`, port);
  const context = { ports, peers, bindings, byDatapathPort, intent, findings };
  for (const flow of flows) {
    // Most flows neither change the datapath nor let anything out.
    const { actions } = flow;
    if (
      !actions.includes('metadata') &&
      !actions.includes('METADATA') &&
      !actions.includes('output') &&
      !actions.includes('enqueue') &&
      !actions.includes('bundle') &&
      !AS_OTHER_PORT.test(actions) &&
      !actions.includes('TUN_ID') &&
      !actions.includes('NORMAL') &&
      !actions.includes('FLOOD') &&
      !actions.includes('ALL')
    )
      continue;
    checkFlow(flow, context);
  }
}

interface Context {
  readonly ports: ReadonlyMap<number, PortUse>;
  readonly peers: ReadonlySet<string>;
  readonly bindings: Bindings;
  readonly byDatapathPort: ReadonlyMap<string, BoundPort>;
  readonly intent: Intent;
  readonly findings: Findings;
}

/** Pairs of datapaths between which Southbound has a pair of ports. */
function peerKeys({ ports }: Bindings): ReadonlySet<string> {
  const pairs = new Set<string>();
  for (const port of ports.values()) {
    const peer = port.peer === undefined ? undefined : ports.get(port.peer);
    if (peer !== undefined) pairs.add(`${port.binding.key}>${peer.binding.key}`);
  }
  return pairs;
}

/** What each port of br-int is for; interfaces that claim the port of nobody, or one port twice, are findings. */
function portUses(
  openVswitch: Tables,
  intent: Intent,
  findings: Findings,
): ReadonlyMap<number, PortUse> {
  const uses = new Map<number, PortUse>();
  const bridge = rowsOf(openVswitch, 'Bridge').find((row) => text(row, 'name') === 'br-int');
  const rows = new Map(
    ['Port', 'Interface'].flatMap((table) =>
      rowsOf(openVswitch, table).map((row) => [uuidOf(row), row] as const),
    ),
  );
  if (bridge !== undefined) checkBridge(bridge, findings);
  const claimed = new Map<string, string>();
  for (const port of bridge === undefined ? [] : list(bridge, 'ports'))
    for (const uuid of list(rows.get(port) ?? {}, 'interfaces')) {
      const row = rows.get(uuid);
      if (row === undefined) continue;
      const name = text(row, 'name');
      const number = Number(text(row, 'ofport'));
      const logical = member(row, 'external_ids', 'iface-id');
      if (isTunnel(row)) {
        uses.set(number, { kind: 'tunnel' });
        checkTunnel(row, name, intent, findings);
      } else if (text(row, 'type') === 'patch') {
        const peer = pairs(row, 'options')['peer'] ?? '';
        const localnet = /^patch-(.+)-to-br-int$/.exec(peer)?.[1];
        if (localnet !== undefined) uses.set(number, { kind: 'localnet', port: localnet });
      } else if (logical !== undefined) {
        uses.set(number, { kind: 'logical', port: logical });
        const other = claimed.get(logical);
        if (other !== undefined)
          findings.wrong(
            'identities',
            `Open_vSwitch Interface ${name}`,
            `is bound to logical port ${logical}, as ${other} is`,
            `Pod ${intent.ports.get(logical)?.pod ?? logical}`,
            [intent.ports.get(logical)?.network],
          );
        claimed.set(logical, name);
        checkAttachment(name, logical, pairs(row, 'external_ids'), intent, findings);
      }
    }
  conntrackZones(bridge === undefined ? {} : pairs(bridge, 'external_ids'), findings);
  return uses;
}

/** What the bridge does beside its flows, or without them. */
function checkBridge(bridge: Row, findings: Findings): void {
  const where = 'Open_vSwitch Bridge br-int';
  if (bridge['fail_mode'] !== undefined && text(bridge, 'fail_mode') !== 'secure')
    findings.wrong(
      'integration bridge',
      where,
      `has fail_mode ${text(bridge, 'fail_mode') || 'standalone'}: without ovn-controller it switches between all networks`,
      'cluster',
    );
  if (list(bridge, 'mirrors').length > 0)
    findings.wrong(
      'integration bridge',
      where,
      'has a mirror, which copies what networks send to another port: no object wants that',
      'cluster',
    );
}

const isTunnel = (row: Row): boolean =>
  text(row, 'type') === 'geneve' ||
  (text(row, 'type') === 'vxlan' && member(row, 'external_ids', 'ovn-chassis-id') !== undefined);

/** A tunnel ends at a node; one that takes packets of anybody, or ends elsewhere, leads into every network. */
function checkTunnel(row: Row, name: string, { nodes }: Intent, findings: Findings): void {
  const remote = member(row, 'options', 'remote_ip');
  const ends = [...nodes.values()].map(({ tunnelAddresses }) => tunnelAddresses);
  if (remote === undefined || ends.some((addresses) => addresses.length === 0)) return;
  if (ends.some((addresses) => addresses.includes(remote))) return;
  findings.wrong(
    'integration bridge',
    `Open_vSwitch Interface ${name}`,
    `is a tunnel to ${remote}, which is of no node: what it brings is taken for another node's`,
    'no object',
  );
}

/** The interface says for which network the plugin made it: its logical port has to be of that one. */
function checkAttachment(
  name: string,
  logical: string,
  ids: Readonly<Record<string, string>>,
  intent: Intent,
  findings: Findings,
): void {
  const made = ids['k8s.ovn.org/network'] ?? (ids['sandbox'] === undefined ? undefined : 'default');
  const pod = intent.ports.get(logical);
  if (pod === undefined || made === undefined || made === pod.network) return;
  findings.wrong(
    'integration bridge',
    `Open_vSwitch Interface ${name}`,
    `was made for network ${made}, and is bound to logical port ${logical} of network ${pod.network}`,
    `Pod ${pod.pod}`,
    [made, pod.network],
  );
}

/** Zones that ovn-controller gave ports and routers, of one bridge: two with one zone see each other's connections. */
function conntrackZones(ids: Readonly<Record<string, string>>, findings: Findings): void {
  const zones = new Map<string, string>();
  for (const [key, zone] of Object.entries(ids)) {
    if (!key.startsWith('ct-zone-') || zone === '0') continue;
    const name = key.slice('ct-zone-'.length);
    const other = zones.get(zone);
    if (other !== undefined)
      findings.wrong(
        'identities',
        `Open_vSwitch Bridge br-int, conntrack zone ${zone}`,
        `is of ${other} and of ${name}`,
        'no object',
      );
    zones.set(zone, name);
  }
}

const nameOf = (binding: Binding | undefined, key: number): string =>
  binding === undefined ? `tunnel key ${key}, which is of no datapath` : binding.name;

const networkAt = (binding: Binding | undefined): string | undefined =>
  binding?.datapath === undefined ? undefined : networkOf(binding.datapath)?.name;

const flowText = ({ table, priority, match }: Flow): string =>
  `flow of br-int, table ${table}, priority ${priority}, ${match === '' ? 'all' : match}`;

const isSameNetwork = (a: Datapath | undefined, b: Datapath | undefined): boolean =>
  a !== undefined &&
  b !== undefined &&
  (a === b || (networkOf(a) !== undefined && networkOf(a) === networkOf(b)));

function checkFlow(flow: Flow, context: Context): void {
  const { ports, bindings, peers, intent, findings } = context;
  const { actions, match } = flow;
  const given = METADATA.exec(match)?.[1];
  const from = given === undefined ? undefined : Number(given);
  const source = from === undefined ? undefined : bindings.byKey.get(from);
  const wrong = (what: string, ...networks: (string | undefined)[]): void => {
    const named = [networkAt(source), ...networks].find((name) => name !== undefined);
    findings.wrong('integration bridge', flowText(flow), what, intent.objectOf(named), [
      networkAt(source),
      ...networks,
    ]);
  };
  if (/\b(NORMAL|FLOOD|ALL)\b/.test(actions)) wrong('switches packets without asking any datapath');
  if (HIDDEN.test(actions)) wrong('sends to a port that it does not name');
  for (const [, port] of actions.matchAll(AS_PORT))
    wrong(`goes on as if a packet had come by port ${port}`);
  for (const [, key] of actions.matchAll(SET_TUNNEL)) {
    const number = Number(key);
    if (from !== undefined && number !== from)
      wrong(
        `sends what is on ${nameOf(source, from)} into tunnels as ${nameOf(bindings.byKey.get(number), number)}`,
        networkAt(bindings.byKey.get(number)),
      );
  }
  const entered = [...actions.matchAll(SET_METADATA)].map(([, key]) => Number(key));
  for (const to of entered) {
    const target = bindings.byKey.get(to);
    if (from === undefined) checkEntry(flow, to, target, context, wrong);
    else if (
      to !== from &&
      !peers.has(`${from}>${to}`) &&
      !isSameNetwork(source?.datapath, target?.datapath)
    )
      wrong(
        `leads from ${nameOf(source, from)} to ${nameOf(target, to)}: no pair of ports does`,
        networkAt(target),
      );
  }
  // After a change of the datapath what is let out is that one's business.
  if (entered.some((to) => to !== from)) return;
  const outputs = [
    ...[...actions.matchAll(OUTPUT)].map(([, number]) => number),
    ...[...actions.matchAll(MEMBERS)].flatMap(([, numbers = '']) => numbers.split(',')),
  ];
  for (const number of outputs) {
    const use = ports.get(Number(number));
    if (use === undefined) {
      wrong(
        `lets what is on ${nameOf(source, from ?? -1)} out by port ${number}, which is of no logical port and no tunnel`,
      );
      continue;
    }
    if (use.kind === 'tunnel') continue;
    const bound = bindings.ports.get(use.port);
    if (from === undefined || bound === undefined || bound.binding.key !== from)
      wrong(
        `lets what is on ${from === undefined ? 'any datapath' : nameOf(source, from)} out by ${use.port}, which is on ${bound?.binding.name ?? 'no datapath'}`,
        networkAt(bound?.binding),
      );
  }
}

/** A packet that comes by a port is put on the datapath of that port. */
function checkEntry(
  flow: Flow,
  to: number,
  target: Binding | undefined,
  { ports, bindings, byDatapathPort }: Context,
  wrong: (what: string, ...networks: (string | undefined)[]) => void,
): void {
  const number = IN_PORT.exec(flow.match)?.[1];
  const use = number === undefined ? undefined : ports.get(Number(number));
  if (use === undefined || use.kind === 'tunnel') {
    wrong(
      `puts what comes by ${number === undefined ? 'any port' : `port ${number}`} on ${nameOf(target, to)}`,
      networkAt(target),
    );
    return;
  }
  const bound = bindings.ports.get(use.port);
  const key = SET_INPORT.exec(flow.actions)?.[1];
  if (bound?.binding.key !== to) {
    wrong(
      `puts what comes by ${use.port}, which is on ${bound?.binding.name ?? 'no datapath'}, on ${nameOf(target, to)}`,
      networkAt(bound?.binding),
      networkAt(target),
    );
    return;
  }
  const claimed = key === undefined ? undefined : byDatapathPort.get(`${to} ${Number(key)}`);
  if (key !== undefined && claimed?.name !== use.port)
    wrong(
      `takes what comes by ${use.port} for what ${claimed?.name ?? 'nobody'} sends`,
      networkAt(target),
    );
}
