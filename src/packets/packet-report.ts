/** What `heddle explain POD DEST` answers, as plain data, and in words. Pure. */
import { visibleText } from '../api/visible-text.ts';
import { rootOf, type Origin } from '../views/origin.ts';
import type { Protocol } from './asked-packet.ts';
import type { DecisionKind } from './trace-end.ts';

export type Verdict = 'reaches' | 'does not reach' | "can't be decided here";

/** The part of the way that this node's databases say. */
export type Part =
  | 'whole'
  /** From the pod to the tunnel to another node. */
  | 'sends'
  /** From the tunnel to the pod that is asked. */
  | 'receives';

/** One end of the connection. */
export interface PacketEnd {
  /** `Pod blue/web`; absent for an address that no object here has. */
  readonly object?: string;
  /** OVN's name of the network. */
  readonly network?: string;
  readonly address?: string;
  readonly port?: number;
  /** Of whom is asked: `tcp`. */
  readonly protocol?: Protocol;
  readonly node?: string;
  /** Of a service: addresses and ports among which its load balancer chooses here. */
  readonly endpoints?: readonly string[];
  /** Of several endpoints: no try met some of them. */
  readonly isUnmet?: true;
  /** The nodes that endpoints are on, as far as slices say. */
  readonly endpointNodes?: Readonly<Record<string, string>>;
}

/** A flow that decided something, and who wants it. */
export interface Decided {
  readonly kind: DecisionKind;
  readonly stage: string;
  /** What it does to the packet, or where it sends it. */
  readonly text?: string;
  readonly match: string;
  /** Of what is not in OVN: `bridge br-ex`, or `kernel`. */
  readonly place?: string;
  readonly origin?: Origin;
}

/** What leaves a bridge: by which port, and with which addresses. */
export interface Wire {
  readonly bridge: string;
  /** Absent where the bridge forwards as a switch does, to whatever port it has learned. */
  readonly port?: string;
  readonly from: string;
  readonly to: string;
  /** Of a bridge that tracks it: its conntrack zone, and the mark by which answers find their network. */
  readonly connection?: { readonly zone: number; readonly mark: string };
}

/** Where the kernel of a node sends what it gets. */
type HostRoute =
  | { readonly kind: 'here' }
  | {
      readonly kind: 'sent';
      /** Number of the routing table. */
      readonly table: number;
      readonly device: string;
      readonly via?: string;
    };

/** A switch, a router, or a bridge beside br-int, that the packet goes through. */
export interface Hop {
  readonly datapath: string;
  readonly in?: string;
  readonly out?: string;
  readonly decisions: readonly Decided[];
}

/** One way of a packet, there or back. */
export interface Leg {
  readonly direction: 'there' | 'back';
  /** Whose databases say it, where several nodes were asked. */
  readonly node?: string;
  /** Addresses as it leaves. */
  readonly from: string;
  readonly to: string;
  readonly hops: readonly Hop[];
  readonly end: LegEnd;
}

export type LegEnd =
  /** At the port of a pod: of the one that was meant, or of another. */
  | { readonly kind: 'pod'; readonly object: string; readonly isMeant: boolean }
  /** Goes to another node through the tunnel, on a network. */
  | {
      readonly kind: 'node';
      readonly node?: string;
      readonly network?: string;
      /** The host has brought it to that network: there it comes from the network's gateway router, not from the pod. */
      readonly isByHost?: true;
    }
  /** Handed to the kernel of this node. */
  | {
      readonly kind: 'host';
      readonly port: string;
      /** The host's device of the network, and its VRF where it has one. */
      readonly device?: string;
      readonly vrf?: string;
      /** What its routes make of the packet. */
      readonly route?: HostRoute;
    }
  /** Leaves by the external bridge, or to a physical network. */
  | { readonly kind: 'outside'; readonly port: string; readonly wire?: Wire }
  /** An answer from outside is given to the network that asked, by a patch port. */
  | { readonly kind: 'returned'; readonly port: string }
  | { readonly kind: 'stopped'; readonly by: Decided; readonly isRefused: boolean }
  | { readonly kind: 'unknown'; readonly why: string };

export interface PacketReport {
  readonly node: string;
  /** `Pod blue/web → Service red/db:5432/tcp`. */
  readonly packet: string;
  readonly verdict: Verdict;
  readonly part: Part;
  /** Whether this node's part lets it pass; absent where that is not known. */
  readonly passesHere?: boolean;
  /** One sentence. */
  readonly why: string;
  readonly sender: PacketEnd;
  readonly destination: PacketEnd;
  /** The smallest set of rows without which it would get further. */
  readonly stoppedBy: readonly Decided[];
  /** The smallest changes that would let it through, each by itself, in the words of objects. */
  readonly remedies: readonly string[];
  readonly legs: readonly Leg[];
  /** What is taken for granted, or was not looked at. */
  readonly notes: readonly string[];
}

/** `NetworkPolicy red/db`, of whoever wants what decided. */
export function ownerOf(origin: Origin | undefined): string | undefined {
  if (origin === undefined) return undefined;
  const { owner } = rootOf(origin);
  return 'object' in owner ? owner.object : undefined;
}

/** The rule that something follows, of the row that it was made of. */
function ruleOf(
  origin: Origin | undefined,
): { readonly name: string; readonly text: string; readonly source: string } | undefined {
  if (origin === undefined) return undefined;
  const { owner } = rootOf(origin);
  return owner.kind === 'wanted' ? owner.rule : undefined;
}

/** `policy/default-deny`. */
export function featureOfOrigin(origin: Origin | undefined): string | undefined {
  if (origin === undefined) return undefined;
  const { owner } = rootOf(origin);
  return owner.kind === 'wanted' ? owner.feature : undefined;
}

const endText = ({ object, network, address, port, node, endpoints = [] }: PacketEnd): string =>
  [
    object ?? '',
    address === undefined
      ? ''
      : port === undefined
        ? address
        : `${address.includes(':') ? `[${address}]` : address}:${port}`,
    network === undefined ? '' : `on ${network}`,
    node === undefined ? '' : `(node ${node})`,
    endpoints.length === 0 ? '' : `by one of ${endpoints.join(', ')}`,
  ]
    .filter(Boolean)
    .join(' ');

/** What the leg ends with, in words. */
export function legEndText(end: LegEnd): string {
  switch (end.kind) {
    case 'pod':
      return end.isMeant ? `arrives at ${end.object}` : `arrives at ${end.object} instead`;
    case 'node':
      return `goes through the tunnel to ${end.node === undefined ? 'another node' : `node ${end.node}`}`;
    case 'host':
      return `is handed to the kernel of this node at port ${end.port}${end.device === undefined ? '' : `, device ${end.device}`}${end.vrf === undefined ? '' : ` of VRF ${end.vrf}`}${routeText(end.route)}`;
    case 'outside':
      return end.wire === undefined ? `leaves by port ${end.port}` : wireText(end.wire);
    case 'returned':
      return `comes back to the network by ${end.port}, and to the pod by its connection`;
    case 'stopped':
      return `${end.isRefused ? 'is refused' : 'is dropped'} in ${end.by.stage}`;
    case 'unknown':
      return `is lost sight of: ${end.why}`;
  }
}

function routeText(route: HostRoute | undefined): string {
  if (route === undefined) return '';
  if (route.kind === 'here') return ', whose own address that is';
  const { table, device, via } = route;
  return `, which sends it out of ${device}${via === undefined ? '' : ` via ${via}`} (table ${table})`;
}

const wireText = ({ bridge, port, from, to, connection }: Wire): string =>
  `leaves by ${port === undefined ? bridge : `${port} of ${bridge}`} as ${from} → ${to}${connection === undefined ? '' : ` (conntrack zone ${connection.zone}, mark ${connection.mark})`}`;

function decidedLines(decided: Decided): readonly string[] {
  const { kind, stage, text, origin } = decided;
  const root = origin && rootOf(origin);
  const object = ownerOf(origin);
  const rule = ruleOf(origin);
  const row = root === undefined ? '' : `${root.table} ${(root.uuid ?? '').slice(0, 8)}`.trim();
  return [
    `    ${[kind, text ?? '', `(${stage})`].filter(Boolean).join(' ')}${row === '' ? '' : ` by ${row}`}${object === undefined ? '' : `, for ${object}`}`,
    ...(rule === undefined ? [] : [`      ${rule.name}: ${rule.text} (${rule.source})`]),
  ];
}

function legLines({ direction, node, from, to, hops, end }: Leg): readonly string[] {
  return [
    '',
    `${direction === 'there' ? 'There' : 'Back'}${node === undefined ? '' : `, on node ${node}`}: ${from} → ${to}`,
    ...hops.flatMap(({ datapath, in: inport, out, decisions }) => [
      `  ${datapath}${inport === undefined ? '' : ` from ${inport}`}${out === undefined ? '' : ` to ${out}`}`,
      ...decisions.flatMap(decidedLines),
    ]),
    `  ${legEndText(end)}`,
    ...unfollowedLines(end),
  ];
}

/** Family and name of Heddle's table of nftables (reference/node.md §3). */
const NFT_TABLE = 'inet ovn-kubernetes';

/** At which hooks nftables of the host see what the kernel was handed, by what its routes make of it. */
const HOOKS = {
  here: 'prerouting and input',
  sent: 'prerouting, forward and postrouting',
} as const;

/** Where the way goes on and is not followed. */
function unfollowedLines(end: LegEnd): readonly string[] {
  if (end.kind !== 'host') return [];
  const hooks = end.route === undefined ? '' : ` at ${HOOKS[end.route.kind]}`;
  return [
    `    not followed: nftables of the host${hooks}, which may drop it or give it another address (of Heddle's own rules: nft list table ${NFT_TABLE})`,
  ];
}

/** The answer for people, without its first line. */
export function packetReportText(report: PacketReport): string {
  const { why, sender, destination, stoppedBy, remedies, legs, notes } = report;
  return [
    why,
    `  from  ${endText(sender)}`,
    `  to    ${endText(destination)}`,
    ...(stoppedBy.length === 0 ? [] : ['', 'Stopped by']),
    ...stoppedBy.flatMap(stopLines),
    ...(remedies.length === 0 ? [] : ['', 'It would pass with']),
    ...remedies.map((text) => `  ${text}`),
    ...legs.flatMap(legLines),
    ...(notes.length === 0 ? [] : ['']),
    ...notes.map((text) => `note: ${text}`),
  ]
    .map(visibleText)
    .join('\n');
}

function stopLines({ stage, text, match, place, origin }: Decided): readonly string[] {
  const root = origin && rootOf(origin);
  const object = ownerOf(origin);
  const rule = ruleOf(origin);
  const whose = object === undefined ? '' : `, for ${object}`;
  const row =
    root === undefined
      ? `${stage}: ${match === '' ? 'no flow matches' : match}`
      : `${root.table}${root.uuid === undefined ? '' : ` ${root.uuid.slice(0, 8)}`} (${root.place})${whose}`;
  return [
    `  ${place === undefined ? row : place === 'kernel' ? `kernel, ${stage}: ${text ?? ''}` : `flow of ${place}, ${stage}: ${match || 'all packets'}${whose}`}`,
    ...(root?.text === undefined || root.text === '' ? [] : [`    is    ${root.text}`]),
    ...(rule === undefined ? [] : [`    rule  ${rule.name}: ${rule.text} (${rule.source})`]),
  ];
}
