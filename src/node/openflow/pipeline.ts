/**
 * The pipeline of the external bridge: each table, priority, conntrack zone, mark, register and cookie of its flows, once, with what it means and who
 * reads it. Flows are built from these, and docs/reference/openflow.md is written from them (`npm run generate`): what `ovs-ofctl dump-flows` shows can
 * be read beside it. Numbers are those of reference/node.md §4.
 */
import { MAX_NETWORK_ID } from '../../allocators/ids.ts';
import { FIRST_EGRESS_MARK, LAST_EGRESS_MARK } from '../../api/annotations/network-annotations.ts';
import { SERVICE_MARK_BIT } from '../../model/rules/egress-service-mark.ts';
import { SETTINGS } from '../../desired/rows.ts';
import {
  INTO_OVN_MARK,
  MARK_EGRESS_BY_GATEWAY,
  MARK_TO_NEXT_HOP,
  MARK_TO_NODE_ADDRESS,
  packetMark,
} from '../numbers.ts';

/** How packets go from table to table. N is the patch port of a network. */
export const PICTURE = `
 uplink   LOCAL   N
    │       │     │
 ┌──▼───────▼─────▼──┐ zone 64000, what is for the node   ┌───────────┐ 100 by mark ────────────▶ LOCAL, N
 │    0 classify     ├───────────────────────────────────▶│ 1 replies ├ 100, local mode ▶ 11 ───▶ N; too large: LOCAL
 │                   │ 11, not IP ──▶ 20 ──▶ who asked    │           ├ 50 services ────────────▶ N
 │                   │                                    │           ├ 50, zone 64003 ▶ 6 ─────▶ LOCAL
 │                   │                                    └───────────┴ 14 ▶ 20 ────────────────▶ who asked
 │                   │ zone 64001, the host to services ──────────────────▶ 2 ──────────────────▶ N
 │                   │ zone 64001, answers of services ───────────────────▶ 3 ──────────────────▶ LOCAL
 │                   │ zone 64001, N to the node ─────────▶ 4 ─ 64002 ────▶ 3 ──────────────────▶ LOCAL
 │                   │ zone 64002, the node's answers ────▶ 5 ─ 64001 ────▶ 2 ──────────────────▶ N
 │                   │ zone 64003, answers of endpoints ──▶ 7 ──────────────────────────────────▶ uplink
 │                   │ zone 64004, fragments ─────────────▶ 0, once more
 │                   │ zone 64000, networks as the node ──▶ 8 ─ other network cards ▶ 3 ────────▶ LOCAL
 │                   │                                      └───────────────────────────────────▶ uplink
 │                   │ zone 64000, answers by these ──────▶ 1 ──────────────────────────────────▶ N
 │                   │ N to services of connected networks ───────────────▶ 3 ──────────────────▶ LOCAL
 │                   │ the host passes these on, and the answers ─────────────────────────────▶ N
 │                   │ egress addresses ──────────────────▶ 12 while the node renews it ────────▶ 0, once more
 │                   │ N says that a packet was too big ──▶ 13 not to another node ─────────────▶ 0, once more
 └───────────────────┘ zone 64000, 100 and 102 ─────────────────────────────────────────────────▶ uplink
`;

/** Where a flow stands. */
export interface FlowPlace {
  readonly table: number;
  readonly priority: number;
  readonly meaning: string;
  /** Rules of the features whose flows stand here, as `heddle plan` names them. */
  readonly rules: readonly string[];
}

type Declared = readonly [priority: number, meaning: string, ...rules: readonly string[]];

export interface FlowTable<Name extends string = string> {
  readonly id: number;
  readonly job: string;
  /** Tables that its flows go on in. */
  readonly leadsTo: readonly number[];
  readonly at: Readonly<Record<Name, FlowPlace>>;
}

function table<Name extends string>(
  id: number,
  job: string,
  leadsTo: readonly number[],
  places: Readonly<Record<Name, Declared>>,
): FlowTable<Name> {
  const at: Partial<Record<Name, FlowPlace>> = {};
  for (const name of Object.keys(places) as Name[]) {
    const [priority, meaning, ...rules] = places[name];
    at[name] = { table: id, priority, meaning, rules };
  }
  return { id, job, leadsTo, at: at as Record<Name, FlowPlace> };
}

/** Tables, and the places in them from the highest priority down. */
export const PIPELINE = {
  classify: table(
    0,
    'by ingress port: what leaves is tracked, replies are looked up, what must not leave is dropped',
    [0, 1, 2, 3, 4, 5, 7, 8, 12, 13, 20],
    {
      egressFence: [
        710,
        'what has an egress address of this node, is to get it, or says where it is: whether the node may still have it',
        'egress-fence',
      ],
      pathMtu: [
        700,
        'shared gateway mode: a network that says that a packet was too big: whom it tells',
        'path-mtu',
      ],
      bfd: [650, 'local gateway mode: BFD of a network to the uplink', 'bfd'],
      intoTunnels: [
        600,
        'nothing from a network to the port of tunnels; its fragments are put together first',
        'tunnels-alone',
        'fragments',
      ],
      connectedByHost: [
        570,
        'the host passes that on, and what those services answer; nobody outside has such an address',
        'connected-services',
        'redirects',
        'strangers',
      ],
      hostToNetwork: [
        560,
        "the host to services of a primary network, from the address of the network's gateway router",
        'host-to-network',
      ],
      masqueradedToServices: [
        550,
        'the host to services, from a masquerade address',
        'host-to-services',
      ],
      connectedToHost: [
        520,
        'a network to services of another one that it is connected with and overlaps: to the host',
        'connected-services',
      ],
      hostAndOvn: [
        500,
        'the host to services and what they answer; OVN to addresses of the node and what that answers',
        'host-to-services',
        'hairpin',
        'egress-card',
      ],
      namedTunnelSources: [
        206,
        'to the port of tunnels: what --tunnel-sources names',
        'from-nodes',
      ],
      tunnelPeers: [
        205,
        'to the port of tunnels: addresses that tunnels of other nodes have; everybody with --tunnel-sources any',
        'from-nodes',
        'tunnels',
      ],
      strangers: [204, 'to the port of tunnels: everybody else is dropped', 'from-nodes'],
      tunnels: [200, 'other tunnel packets, between uplink and host', 'tunnels'],
      servicesByNextHops: [
        181,
        'local gateway mode: an address of the service ranges never leaves the node by a next hop, either',
        'services-outside',
      ],
      toNextHops: [
        180,
        'local gateway mode: the default network to next hops of external routes, and to classes of destinations of EgressIPs',
        'network-out',
        'egress-address',
        'egress-card',
      ],
      unknownEgressLocally: [
        176,
        'local gateway mode: what the default network marked for an EgressIP that has no address here does not leave',
        'egress-address-alone',
      ],
      toNodeLocally: [175, 'local gateway mode: OVN to the node, as a connection', 'hairpin'],
      servicesOutside: [
        115,
        'an address of the service ranges never leaves the node',
        'services-outside',
      ],
      fragments: [
        110,
        'shared gateway mode: fragments from the uplink are put together',
        'fragments',
      ],
      questions: [110, 'a primary network asks for a neighbour', 'questions'],
      services: [
        110,
        'what services answer outside; who asks for their external addresses; what says that nobody is behind a port',
        'to-service',
        'host-endpoint',
        'external-address',
        'refusal',
      ],
      egressNeighbours: [
        106,
        'who asks for an egress address is answered by the host that has it, and not by OVN',
        'egress-neighbours',
      ],
      asNode: [
        105,
        "what egress marked leaves with the node's address, or with that of an EgressIP or EgressService",
        'network-out',
        'egress-address',
        'egress-card',
      ],
      unknownEgress: [
        104,
        'what is marked for an EgressIP or EgressService that has no address here does not leave',
        'egress-address-alone',
      ],
      podSources: [
        103,
        'nothing leaves with an address of a pod, nor with one between routers',
        'pod-sources',
        'egress-card',
      ],
      nodeSubnets: [
        102,
        "the host and the default network to the node's own subnets; their neighbour discovery",
        'host-out',
        'network-out',
        'tracked',
      ],
      waysOut: [100, 'what the host and networks send outside', 'host-out', 'network-out'],
      nothingElse: [60, 'nothing else of a primary network', 'nothing-else'],
      connections: [50, "IP to the bridge's MAC address: whose connection is it", 'replies'],
      whoHasTheNode: [12, "who asks for the node's address", 'who-has-the-node'],
      toTheBridge: [11, "what else is for the bridge's MAC address: answers to ARP", 'answers'],
      defaultNetwork: [
        10,
        'the default network sends what it likes with the address of the bridge',
        'default-network',
      ],
      nothingElseOfDefault: [9, 'nothing else of the default network', 'nothing-else'],
      restOfHost: [2, 'what else the host sends: as on any switch', 'as-the-node'],
      asTheNode: [
        1,
        "what else has the bridge's MAC address: a port of OVN that has no flows of its own yet",
        'as-the-node',
      ],
      normal: [0, 'a switch; unmanaged: cookie 0, left when Heddle goes', 'normal'],
    },
  ),
  replies: table(
    1,
    'after conntrack: replies by mark, new connections to services, what is for the host',
    [6, 11, 20],
    {
      marked: [100, 'replies, to the port that the mark names', 'replies'],
      services: [
        50,
        'new connections to node ports and external addresses',
        'to-service',
        'host-endpoint',
      ],
      moved: [
        41,
        'an egress address that moves: what the other node passed on and this one does not know, either, is dropped',
        'egress-moves',
      ],
      moving: [
        40,
        'an egress address that moves: what belongs to no connection of this node may be one of the other',
        'egress-moves',
      ],
      advertisements: [14, 'advertisements of neighbours and routers', 'answers'],
      bfd: [13, 'BFD, to the default network and the host', 'bfd'],
      toHost: [10, 'everything else for the node', 'other-traffic'],
      normal: [0, 'a switch', 'other-traffic'],
    },
  ),
  toOvn: table(2, 'from the host into OVN: which network', [], {
    sharedServices: [
      300,
      'services that every primary network may use: the default network',
      'shared-services',
    ],
    networks: [250, "a network, by the host's packet mark", 'choice-of-network'],
    otherServices: [
      200,
      'pods of primary networks reach no other service of the default network',
      'other-networks-services',
    ],
    defaultNetwork: [100, 'the default network', 'choice-of-network'],
  }),
  // The priority of a flow that names none (OpenFlow 1.3, OFP_DEFAULT_PRIORITY).
  toHost: table(3, 'from OVN to the host', [], {
    all: [32_768, 'MAC addresses that the host expects', 'to-host'],
  }),
  hairpin: table(4, 'from OVN to an address of the node', [3], {
    all: [0, "with OVN's masquerade address as its source", 'hairpin'],
  }),
  hairpinReplies: table(5, 'what the node answers to that', [2], {
    all: [0, 'to the address that OVN had', 'hairpin'],
  }),
  toHostEndpoint: table(6, 'from outside to an endpoint that is the host itself', [], {
    tunnels: [10, 'no service leads to the port of tunnels', 'tunnels-alone'],
    all: [0, 'to the host', 'host-endpoint'],
  }),
  fromHostEndpoint: table(7, 'what that endpoint answers', [], {
    all: [0, 'to the uplink', 'host-endpoint'],
  }),
  asNode: table(
    8,
    "what leaves with the node's address, or that of an EgressIP or EgressService, after its translation",
    [3],
    {
      egressAsNode: [
        110,
        "what is marked for an EgressIP does not leave with the node's address, which its connection has from before",
        'egress-address-alone',
      ],
      translated: [
        100,
        'what has that address now, to the uplink; what leaves by another network card, to the host',
        'network-out',
        'egress-address',
        'egress-card',
      ],
      untranslated: [
        0,
        'everything else is dropped: there was no place, or no port, for one connection more',
        'untranslated',
      ],
    },
  ),
  tooLarge: table(11, 'local gateway mode: what is too large for a network', [], {
    host: [10, 'to the host, which says so to the sender', 'too-large'],
    networks: [5, 'what fits, to a primary network by its mark', 'too-large'],
    defaultNetwork: [1, 'what fits, to the default network', 'too-large'],
  }),
  fence: table(12, 'egress addresses, while the daemon says that this node may have them', [0], {
    outside: [200, 'from outside: it is the address of another node', 'fence'],
    // `FENCE_OPEN` in egress-fence.ts stands between them, and goes by itself.
    closed: [0, 'the daemon does not say so, or did 30 s ago: dropped', 'fence'],
  }),
  pathMtu: table(13, 'shared gateway mode: whom a network tells that a packet was too big', [0], {
    nodes: [100, 'another node: dropped', 'path-mtu'],
    others: [0, 'everybody else', 'path-mtu'],
  }),
  neighbours: table(20, 'who asked for which neighbour, learned for 3 s', [], {
    learned: [100, 'an answer, to the port that asked', 'questions'],
  }),
} as const;

/** Seconds for which a gateway router that asked for a neighbour gets the answer. */
export const NEIGHBOUR_WAIT = 3;
/** Neighbours that one network can ask for within that time. */
export const NEIGHBOUR_LIMIT = 256;

/** Conntrack zones of the bridge (reference/node.md §1.2). */
export const ZONES = {
  uplink: 64_000,
  services: 64_001,
  hairpin: 64_002,
  hostEndpoint: 64_003,
  fragments: 64_004,
} as const;

export const ZONE_MEANINGS: Readonly<Record<keyof typeof ZONES, string>> = {
  uplink: 'what leaves the node, of OVN and of the host, and the replies to it',
  services: "the host's traffic to services",
  hairpin: "OVN's traffic to the host",
  hostEndpoint: "from outside to endpoints of services that are the host's own",
  fragments: 'fragments are put together',
};

/** Conntrack mark of a network in the zone of what leaves the node, added to its id (reference/node.md §1.2). */
const CONNTRACK_MARK = 3;
const CONNTRACK_MARK_DEFAULT = '0x1';
/** Mark of the host's own connections. */
export const CONNTRACK_MARK_HOST = '0x2';
/** As Open vSwitch prints it. */
export const conntrackMark = (networkId: number): string =>
  networkId === 0 ? CONNTRACK_MARK_DEFAULT : `0x${(CONNTRACK_MARK + networkId).toString(16)}`;

/** Bit that says that a frame is too large, and how actions and matches name it. */
export const TOO_LARGE = { bit: 'NXM_NX_REG0[0]', match: 'reg0=0x1' } as const;

/** Bit that says that a packet has passed the fence of egress addresses, and how actions and matches name it. */
export const PAST_FENCE = { bit: 'NXM_NX_REG1[0]', notYet: 'reg1=0/0x1' } as const;

/** Bit that says that a packet tells no other node of sizes, and how actions and matches name it. */
export const PAST_PATH_MTU = { bit: 'NXM_NX_REG1[1]', notYet: 'reg1=0/0x2' } as const;

/** A mark or a register. */
export interface FlowField {
  readonly field: 'ct_mark' | 'pkt_mark' | 'reg0' | 'reg1';
  /** One value; `+ N`: with the id of a network added. */
  readonly value: string;
  readonly has: (value: string) => boolean;
  readonly meaning: string;
  /** Tables whose flows set it, and that match it. */
  readonly setIn: readonly number[];
  readonly readIn: readonly number[];
  /** Who else sets or reads it. */
  readonly elsewhere?: string;
}

/** Mark of an EgressIP, as Open vSwitch prints it. */
export const egressMark = (mark: number): string => `0x${mark.toString(16)}`;
/** Of what goes to a next hop, as Open vSwitch prints it. */
export const TO_NEXT_HOP = `0x${MARK_TO_NEXT_HOP.toString(16)}`;
/** Of what the default network sends to leave with an egress address, as Open vSwitch prints it. */
export const EGRESS_BY_GATEWAY = `0x${MARK_EGRESS_BY_GATEWAY.toString(16)}`;
/** Marks of EgressIPs, with a mask: no other mark is among these. */
const EGRESS_MARKS = 0xc000;
export const ALL_EGRESS_MARKS = `0x${EGRESS_MARKS.toString(16)}/0xffffe000`;
const isEgressMark = (value: string): boolean =>
  Number(value) === EGRESS_MARKS ||
  (Number(value) >= FIRST_EGRESS_MARK && Number(value) <= LAST_EGRESS_MARK);

/** Marks of EgressServices have this bit, and no others do. */
export const ALL_SERVICE_MARKS = `0x${SERVICE_MARK_BIT.toString(16)}/0x${SERVICE_MARK_BIT.toString(16)}`;

const is = (value: string) => (other: string) => other === value;
const isFrom = (lowest: string) => (other: string) =>
  Number(other) > Number(lowest) && Number(other) <= Number(lowest) + MAX_NETWORK_ID;

export const FLOW_FIELDS: readonly FlowField[] = [
  {
    field: 'ct_mark',
    value: CONNTRACK_MARK_DEFAULT,
    has: is(CONNTRACK_MARK_DEFAULT),
    meaning: 'a connection of the default network',
    setIn: [0],
    readIn: [1],
  },
  {
    field: 'ct_mark',
    value: CONNTRACK_MARK_HOST,
    has: is(CONNTRACK_MARK_HOST),
    meaning: 'a connection of the host; in local gateway mode what networks send by way of it, too',
    setIn: [0],
    readIn: [1],
  },
  {
    field: 'ct_mark',
    value: `0x${CONNTRACK_MARK} + N`,
    has: isFrom(`0x${CONNTRACK_MARK}`),
    meaning: 'a connection of network N',
    setIn: [0],
    readIn: [1, 11],
  },
  {
    field: 'pkt_mark',
    value: `${packetMark(0)} + N`,
    has: isFrom(packetMark(0)),
    meaning: 'from the host to network N',
    setIn: [0],
    readIn: [2],
    elsewhere: 'set by nftables (`udn-mark-…`), read by the rules of priority 2000, too',
  },
  {
    field: 'pkt_mark',
    value: MARK_TO_NODE_ADDRESS,
    has: is(MARK_TO_NODE_ADDRESS),
    meaning: "traffic of pods for egress, to leave with the node's address",
    setIn: [],
    readIn: [0],
    elsewhere: "set by OVN's egress features, read by nftables, too (there 1008)",
  },
  {
    field: 'pkt_mark',
    value: TO_NEXT_HOP,
    has: is(TO_NEXT_HOP),
    meaning: 'local gateway mode: from the default network to a next hop',
    setIn: [],
    readIn: [0],
    elsewhere: "set by policies 501 of the default network's distributed router (there 1010)",
  },
  {
    field: 'pkt_mark',
    value: EGRESS_BY_GATEWAY,
    has: is(EGRESS_BY_GATEWAY),
    meaning: 'from the default network, to leave with the address of an EgressIP',
    setIn: [],
    readIn: [0],
    elsewhere: "set by policies 95 of the default network's gateway router (there 1013)",
  },
  {
    field: 'pkt_mark',
    value: `${FIRST_EGRESS_MARK} + N`,
    has: isEgressMark,
    meaning: 'to leave with the address of the EgressIP of that mark',
    setIn: [],
    readIn: [0, 8],
    elsewhere:
      'set by policies of gateway routers; the mark stands in an annotation of the EgressIP',
  },
  {
    field: 'pkt_mark',
    value: `0x${SERVICE_MARK_BIT.toString(16)} + N`,
    has: (value) => Number(value) >= SERVICE_MARK_BIT,
    meaning: 'to leave with the address of a load balancer of an EgressService',
    setIn: [],
    readIn: [0],
    elsewhere: 'set by policies of gateway routers; it follows from the address',
  },
  {
    field: 'pkt_mark',
    value: INTO_OVN_MARK,
    has: is(INTO_OVN_MARK),
    meaning:
      'from the host into OVN, and so in a tunnel; from a network to services of another one; 0 on the userspace datapath',
    setIn: [0, 2],
    readIn: [],
    elsewhere: 'read by nftables (`tunnel-output`)',
  },
  {
    field: 'reg0',
    value: '0x1',
    has: is('0x1'),
    meaning: 'too large for a network',
    setIn: [1],
    readIn: [11],
  },
  {
    field: 'reg1',
    value: '0x1',
    has: is('0x1'),
    meaning: 'past the fence of egress addresses',
    setIn: [12],
    readIn: [0],
  },
  {
    field: 'reg1',
    value: '0x2',
    has: is('0x2'),
    meaning: 'tells no other node that a packet was too big',
    setIn: [13],
    readIn: [0],
  },
];

/** Cookies of our flows (reference/node.md §4.1); no other flow is ever changed. That of a flow for an object has a mark of it in the upper half. */
export const COOKIE = '0xdeff105';
const COOKIE_MARKED = new RegExp(`^0x[0-9a-f]+0${COOKIE.slice(2)}$`);
/** Hash of an object's name: FNV-1a, of which one bit is left for masks. */
export function cookieOf(object: string): string {
  if (object === SETTINGS) return COOKIE;
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(object)) hash = Math.imul(hash ^ byte, 0x01000193);
  return `0x${((BigInt(hash & 0x7fffffff) << 32n) | BigInt(COOKIE)).toString(16)}`;
}
/** True for a cookie that says for which object a flow is there. */
export const isMarkedCookie = (cookie: string): boolean => COOKIE_MARKED.test(cookie);
/** What an ovn-kubernetes has at priority 700 of table 0, a flow for each network and node: ours to remove. */
export const COOKIE_PATH_MTU = '0x304';
/** Of the flow that opens the fence of egress addresses: no release takes it for one to compare or to remove, and it goes by itself. */
export const COOKIE_FENCE = '0xdeff12fe';
/** Of an unmanaged flow. */
export const NO_COOKIE = '0x0';
/** Cookie of what a network learns of neighbours: it has a limit of its own. */
export const learnedCookie = (networkId: number): string =>
  `0x${((0xdeff105n << 32n) | BigInt(networkId)).toString(16)}`;

export interface Cookie {
  readonly text: string;
  readonly has: (cookie: string) => boolean;
  readonly meaning: string;
}

export const COOKIES: readonly Cookie[] = [
  {
    text: COOKIE,
    has: is(COOKIE),
    meaning: 'a flow that is there for the node itself',
  },
  {
    text: `HASH in the upper half, ${COOKIE} in the lower`,
    has: isMarkedCookie,
    meaning: 'a flow for a network, another node or a service: 31 bits of a hash of its name',
  },
  {
    text: `${COOKIE} in the upper half, N in the lower`,
    has: (cookie) => /^0xdeff105[0-9a-f]{8}$/.test(cookie),
    meaning: 'table 20: what network N learned',
  },
  {
    text: NO_COOKIE,
    has: is(NO_COOKIE),
    meaning: 'unmanaged; of Heddle only table 0, priority 0, put there when it is missing',
  },
];
