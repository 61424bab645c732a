/**
 * Our nftables table: each chain with its hook and priority, each set, and each mark, once, with what it is for. Rows are built from these, and
 * docs/reference/nftables.md is written from them (`npm run generate`): what `nft list table inet ovn-kubernetes` shows can be read beside it. Names and
 * priorities are those of reference/node.md §3.
 */
import type { Family } from '../../allocators/addresses.ts';
import {
  INTERNALLY_LOCAL_MARK,
  INTO_OVN_MARK,
  MARK_DNS,
  MARK_EGRESS_SERVICE,
  MARK_SECONDARY_EGRESS,
  MARK_TO_NODE_ADDRESS,
  packetMark,
  PRIORITY_DESTINATION_NAT,
  PRIORITY_FILTER,
  PRIORITY_MANGLE,
  PRIORITY_MASQUERADE,
  PRIORITY_SOURCE_NAT,
} from '../numbers.ts';

/** The hooks that a packet passes; priorities are in the order in which chains see it. */
export const PICTURE = `
               prerouting                                 forward                        postrouting
 devices ────▶ -150 marks of networks, of egress ──┬────▶ 0 from ports on networks ───┬▶ 100 addresses of ports, of egress ──▶ devices
               -100 services                       │        not into tunnels          │  101 masquerade, mark into OVN,
                                                   │                                  │      other sources of egress
                                             input ▼                           output │
                                       0 tunnels: nodes alone    processes ────▶ -150 marks of networks, local services
                                                   │                             -100 services
                                                   ▼                                0 isolation, pods on the host's network,
                                               processes                              tunnels, path MTU
`;

/** A chain; with a hook it is where packets come in. All policies accept. */
export interface ChainColumns {
  readonly name: string;
  readonly type?: 'nat' | 'filter' | 'route';
  readonly hook?: 'prerouting' | 'input' | 'forward' | 'output' | 'postrouting';
  readonly priority?: number;
}

/** A set, or with `value` a map; types in the syntax of nft(8). */
export interface SetColumns {
  readonly name: string;
  readonly type: string;
  readonly value?: string;
}

interface Hook {
  readonly type: NonNullable<ChainColumns['type']>;
  readonly hook: NonNullable<ChainColumns['hook']>;
  readonly priority: number;
}

export interface DeclaredChain extends Partial<Hook> {
  readonly meaning: string;
}

const at = (
  type: Hook['type'],
  hook: Hook['hook'],
  priority: number,
  meaning: string,
): DeclaredChain => ({ type, hook, priority, meaning });
/** A chain that others lead to. */
const led = (meaning: string): DeclaredChain => ({ meaning });

export const CHAINS = {
  'services-prerouting': at(
    'nat',
    'prerouting',
    PRIORITY_DESTINATION_NAT,
    'what comes from outside or from pods to node ports and external addresses',
  ),
  'services-output': at(
    'nat',
    'output',
    PRIORITY_DESTINATION_NAT,
    'what processes of the host send there',
  ),
  services: led('to the cluster address of the service'),
  'services-etp': led(
    'externalTrafficPolicy Local: to the management port, with the address of the client',
  ),
  'services-etp-no-nodeport': led('the same without node ports: to endpoints of this node'),
  'services-itp': led("internalTrafficPolicy Local: to endpoints that are the host's own"),
  'services-itp-mark': at(
    'route',
    'output',
    PRIORITY_MANGLE,
    'internalTrafficPolicy Local: what processes send is marked for routing table 7',
  ),
  'udn-service-prerouting': at(
    'filter',
    'prerouting',
    PRIORITY_MANGLE,
    'what comes to services of primary networks',
  ),
  'udn-service-output': at(
    'filter',
    'output',
    PRIORITY_MANGLE,
    'what processes of the host send there',
  ),
  'udn-service-mark': led('the mark of the network, by node port and external address'),
  'no-pmtud': at(
    'filter',
    'output',
    PRIORITY_FILTER,
    'the host tells no other node that a packet was too big',
  ),
  'mgmtport-snat': at(
    'nat',
    'postrouting',
    PRIORITY_SOURCE_NAT,
    'what the host itself sends into the default network has the address of its port there, and what is marked for a primary network goes to the bridge with one of that',
  ),
  'mgmtport-forward': at(
    'filter',
    'forward',
    PRIORITY_FILTER,
    'what the host forwards from its ports on networks, and what not',
  ),
  'mgmtport-mark': at(
    'filter',
    'postrouting',
    PRIORITY_MASQUERADE,
    'what the host sends into a network is marked as such',
  ),
  'tunnel-forward': at(
    'filter',
    'forward',
    PRIORITY_FILTER,
    'nothing from a network, nor led by a service, to the port of tunnels of others',
  ),
  'tunnel-input': at(
    'filter',
    'input',
    PRIORITY_FILTER,
    'nor to that of this node; what else comes there is looked at',
  ),
  'tunnel-output': at(
    'filter',
    'output',
    PRIORITY_FILTER,
    "nor from processes of pods on the host's network",
  ),
  'tunnel-sources': led('other nodes, and what --tunnel-sources names; counts and drops others'),
  'udn-isolation': at(
    'filter',
    'output',
    PRIORITY_FILTER,
    'pods of primary networks are not reached by their addresses on the default network',
  ),
  'udn-host-devices': at(
    'filter',
    'output',
    PRIORITY_FILTER,
    "pods on the host's network send by ports on their own networks alone",
  ),
  'udn-host-services': at(
    'filter',
    'output',
    PRIORITY_FILTER,
    "pods on the host's network reach services of the default and of their own networks alone",
  ),
  'udn-host-pods': led('pods that are kept from other networks'),
  'dns-prerouting': at(
    'nat',
    'prerouting',
    PRIORITY_DESTINATION_NAT,
    'names in EgressFirewalls: what pods ask the forwarder of DNS goes to DNS itself while nobody listens',
  ),
  'dns-networks': at(
    'filter',
    'prerouting',
    PRIORITY_MANGLE,
    'the same on primary networks: what the forwarder listens for is marked for routing table 8',
  ),
  'dns-postrouting': at(
    'nat',
    'postrouting',
    PRIORITY_SOURCE_NAT,
    'the same: with an address of the host, so that answers come back',
  ),
  'dns-input': at(
    'filter',
    'input',
    PRIORITY_FILTER,
    "the forwarder's address is for pods of the default network, and for DNS",
  ),
  'egress-services': at(
    'nat',
    'postrouting',
    PRIORITY_SOURCE_NAT,
    'endpoints of an egress service leave with its address',
  ),
  'egress-service-filter': at(
    'filter',
    'postrouting',
    PRIORITY_MASQUERADE,
    'what they send leaves with that address or not at all',
  ),
  'egress-ip-snat': at(
    'nat',
    'postrouting',
    PRIORITY_SOURCE_NAT,
    '--enable-egress-ip: pods leave by another network card with an address of it',
  ),
  'egress-ip-connmark': at(
    'filter',
    'prerouting',
    PRIORITY_MANGLE,
    'the same, local gateway mode: the mark stays with the connection',
  ),
  'egress-ip-sec-filter': at(
    'filter',
    'postrouting',
    PRIORITY_MASQUERADE,
    "the same: what was to leave so with a pod's address is dropped",
  ),
  'egress-ip-input': at(
    'filter',
    'input',
    PRIORITY_FILTER,
    '--enable-egress-ip: nothing of the host is reached by an egress address',
  ),
  'ovn-kube-local-gw-masq': at(
    'nat',
    'postrouting',
    PRIORITY_MASQUERADE,
    "local gateway mode: what leaves by way of the host has the host's address",
  ),
  'ovn-kube-pod-subnet-masq': led('pods of the default network'),
  'ovn-kube-udn-masq': led('networks, by their masquerade addresses'),
} as const satisfies Readonly<Record<string, DeclaredChain>>;

/** Chains that each primary network has: the packet mark of the network ends their names. */
export const NETWORK_CHAINS = {
  'udn-mark-': 'sets the mark of the network',
  'udn-host-services-':
    "processes of pods on the host's network that reach the network; all others are kept from it",
} as const;

export type ChainName =
  | keyof typeof CHAINS
  | `${keyof typeof NETWORK_CHAINS}${ReturnType<typeof packetMark>}`;

/** A chain as nft has it. */
export function chainColumns(name: ChainName): ChainColumns {
  const declared: Readonly<Record<string, DeclaredChain | undefined>> = CHAINS;
  const { type, hook, priority } = declared[name] ?? {};
  if (type === undefined || hook === undefined || priority === undefined) return { name };
  return { name, type, hook, priority };
}

type Part = 'address' | 'mark' | 'inet_proto' | 'inet_service' | 'ifname' | 'verdict';

export interface DeclaredSet {
  /** Parts of its elements; `address`: of the family that ends its name. */
  readonly type: readonly Part[];
  /** Of a map. */
  readonly value?: readonly Part[];
  readonly meaning: string;
}

const PORT = ['inet_proto', 'inet_service'] as const;
const SOCKET = ['address', ...PORT] as const;
const TARGET = ['address', 'inet_service'] as const;

export const SETS = {
  'mgmtport-no-snat-nodeports': {
    type: PORT,
    meaning: 'node ports of services that see the address of their client',
  },
  'mgmtport-no-snat-services': {
    type: SOCKET,
    meaning: 'endpoints of services without node ports that see it',
  },
  'local-node-ips': { type: ['address'], meaning: 'addresses of this node' },
  'remote-node-ips': { type: ['address'], meaning: 'addresses of other nodes' },
  nodeports: { type: PORT, value: TARGET, meaning: 'node port to cluster address' },
  'nodeports-etp-local': {
    type: PORT,
    value: TARGET,
    meaning: 'externalTrafficPolicy Local, local gateway mode: node port to the management port',
  },
  'external-ips': { type: SOCKET, value: TARGET, meaning: 'external address to cluster address' },
  'external-ips-etp-local': {
    type: SOCKET,
    value: TARGET,
    meaning: 'externalTrafficPolicy Local: external address to the management port',
  },
  'itp-services-to-redirect': {
    type: SOCKET,
    value: ['inet_service'],
    meaning: "internalTrafficPolicy Local: cluster address to a port of the host's own",
  },
  'itp-services-to-mark': {
    type: SOCKET,
    meaning: 'internalTrafficPolicy Local: cluster addresses of the default network',
  },
  'udn-mark-nodeports': {
    type: PORT,
    value: ['verdict'],
    meaning: 'node port to the chain that marks for its network',
  },
  'udn-node-ports': {
    type: PORT,
    meaning: 'those node ports, which pods of the default network reach at their own node',
  },
  'default-node-ports': {
    type: PORT,
    meaning: 'node ports of the default network, which pods of primary networks reach there',
  },
  'udn-mark-external-ips': {
    type: SOCKET,
    value: ['verdict'],
    meaning: 'external address to that chain',
  },
  'udn-mark-cluster-ips': {
    type: ['address'],
    value: ['verdict'],
    meaning: 'cluster address to that chain, for processes of the host',
  },
  'udn-host-sources': {
    type: ['mark'],
    value: ['address'],
    meaning: "marks of networks, and their gateway routers' masquerade addresses",
  },
  'udn-forwarded': {
    type: ['ifname', 'address'],
    meaning: "the host's ports on networks, with the address that it forwards from there",
  },
  'default-access-pods': {
    type: ['address'],
    meaning:
      'default-network-access: pods of this node on the default network that reach services of primary networks',
  },
  'default-access-services': {
    type: SOCKET,
    meaning: 'the services of primary networks that they reach',
  },
  'tunnel-peers': { type: ['address'], meaning: 'ends of the tunnels of other nodes' },
  'udn-pod-default-ips': {
    type: ['address'],
    meaning: 'addresses that pods of primary networks have on the default network',
  },
  'udn-open-ports': { type: SOCKET, meaning: 'ports that these pods opened there' },
  'udn-open-ports-icmp': { type: ['address'], meaning: 'those that opened ICMP' },
  'udn-service-ips': {
    type: ['address'],
    value: ['verdict'],
    meaning: "cluster addresses of primary networks' services, to the chain of the network",
  },
  'udn-host-ports': {
    type: ['ifname'],
    value: ['verdict'],
    meaning: "the host's ports on primary networks, to the chain of the network",
  },
  'egress-service-snat': {
    type: ['address'],
    value: ['address'],
    meaning: 'endpoints of egress services, and the address that they leave with',
  },
  'egress-service-sources': {
    type: ['address', 'address'],
    meaning: 'the same, by which it is seen that they do',
  },
  'egress-service-pods': {
    type: ['address'],
    meaning: 'endpoints of egress services that leave by this node',
  },
  'egress-service-networks': {
    type: ['address'],
    meaning: 'those that leave with the address of the network that they leave by',
  },
  'egress-elsewhere': {
    type: ['address'],
    meaning:
      'local gateway mode: pods of this node behind EgressIPs and EgressServices, which its host lets out to nodes alone, unless another set has them',
  },
  'egress-ip-snat': {
    type: ['address', 'ifname'],
    value: ['address'],
    meaning: 'pods with an egress address on another network card',
  },
  'egress-ip-forwarded': {
    type: ['address', 'ifname'],
    meaning: 'these pods, with the card by which the host forwards what they send',
  },
  'egress-ip-addresses': {
    type: ['ifname', 'address'],
    meaning: 'cards, with the egress addresses that what is so forwarded leaves with',
  },
  'egress-ip-leased': {
    type: ['address'],
    meaning:
      'those that another network card of it has for as long as a daemon says so: nothing leaves with one that is gone',
  },
  'egress-ip-here': {
    type: ['address'],
    meaning: 'egress addresses that this node answers for, on whatever card',
  },
} as const satisfies Readonly<Record<string, DeclaredSet>>;

export type SetName = keyof typeof SETS;

/** Whether there is one for each family, which ends its name. */
export const isOfFamily = ({ type, value = [] }: DeclaredSet): boolean =>
  [...type, ...value].includes('address');

/** Name of the variant of a set for a family. */
export const ofFamily = (name: SetName, family: Family): string => `${name}-${family}`;

/** A set as nft has it. `family`: of a set that has one. */
export function setColumns(name: SetName, family: Family | undefined): SetColumns {
  const declared: DeclaredSet = SETS[name];
  if (isOfFamily(declared) !== (family !== undefined))
    throw new Error(`set ${name}: a family is for sets of addresses, and for all of them`);
  const text = (parts: readonly Part[]): string =>
    parts.map((part) => (part === 'address' ? `ip${family}_addr` : part)).join(' . ');
  return {
    name: family === undefined ? name : ofFamily(name, family),
    type: text(declared.type),
    ...(declared.value === undefined ? {} : { value: text(declared.value) }),
  };
}

/** A mark of packets, or with `ct` of connections, as rules of the table use it. */
export interface DeclaredMark {
  readonly value: string;
  readonly has: (value: number) => boolean;
  readonly meaning: string;
  /** Chains that set it, and that match it. */
  readonly setIn: readonly string[];
  readonly readIn: readonly string[];
  /** Who else sets or reads it. */
  readonly elsewhere: string;
}

const is = (value: number | string) => (other: number) => other === Number(value);

export const MARKS: readonly DeclaredMark[] = [
  {
    value: `${packetMark(0)} + N`,
    has: (value) => value > Number(packetMark(0)) && value <= Number(packetMark(0)) + 0xffff,
    meaning: 'for network N',
    setIn: ['udn-mark-'],
    readIn: [],
    elsewhere:
      'the key of map `udn-host-sources`; read by rules of priority 2000 and by table 2 of the external bridge',
  },
  {
    value: MARK_TO_NODE_ADDRESS,
    has: is(MARK_TO_NODE_ADDRESS),
    meaning: "egress of pods with the node's address",
    setIn: [],
    readIn: ['egress-ip-connmark', 'egress-service-filter', 'egress-services', 'mgmtport-forward'],
    elsewhere: 'set by OVN, read by table 0 of the external bridge',
  },
  {
    value: `0x${MARK_SECONDARY_EGRESS.toString(16)}`,
    has: is(MARK_SECONDARY_EGRESS),
    meaning: 'egress of pods by another network card',
    setIn: [],
    readIn: ['egress-ip-sec-filter', 'mgmtport-forward'],
    elsewhere: 'set by OVN',
  },
  {
    value: `0x${MARK_EGRESS_SERVICE.toString(16)}`,
    has: is(MARK_EGRESS_SERVICE),
    meaning: 'egress of pods of an egress service',
    setIn: [],
    readIn: ['mgmtport-forward'],
    elsewhere: 'set by OVN; 0 on the userspace datapath',
  },
  {
    value: `0x${MARK_DNS.toString(16)}`,
    has: is(MARK_DNS),
    meaning: 'from and to the forwarder of DNS on primary networks',
    setIn: ['dns-networks'],
    readIn: ['udn-host-devices'],
    elsewhere:
      'set by the forwarder, read by the rule of priority 31, which leads to routing table 8',
  },
  {
    value: INTERNALLY_LOCAL_MARK,
    has: is(INTERNALLY_LOCAL_MARK),
    meaning: 'to a service of the default network with internalTrafficPolicy Local',
    setIn: ['services-itp-mark'],
    readIn: [],
    elsewhere: 'read by the rule of priority 30, which leads to routing table 7',
  },
  {
    value: INTO_OVN_MARK,
    has: is(INTO_OVN_MARK),
    meaning: 'from the host into OVN, and so in a tunnel',
    setIn: ['mgmtport-mark'],
    readIn: ['tunnel-output'],
    elsewhere: 'set by table 2 of the external bridge',
  },
];
