/** The logical topology of a node's zone as boxes and lines, from the rows that describe it. Pure. */
import { EgressRows } from './egress-rows.ts';
import type { GraphRow } from './graph-row.ts';

/**
 * `network`: a whole network, of an overview; `host`: where the node's own stack is attached; `bridge`: the network outside of OVN; `zones`: other nodes; `pods`: those of one
 * switch; `egress`: objects of one kind that say what of a switch or router leaves, and how.
 */
export type BoxKind =
  | 'network'
  | 'switch'
  | 'router'
  | 'host'
  | 'bridge'
  | 'zones'
  | 'pods'
  | 'egress';

export interface Box {
  readonly id: string;
  readonly kind: BoxKind;
  readonly title: string;
  readonly lines: readonly string[];
  /** What it is, in full. */
  readonly tooltip?: string;
  /** Where there is more of it. */
  readonly link?: string;
}

export interface Line {
  readonly from: string;
  readonly to: string;
  /** Addresses of the router's end. */
  readonly label: string;
}

interface NetworkGraph {
  /** `default`, `blue_blue`; `connection all` for the routers of a ClusterNetworkConnect. */
  readonly network: string;
  readonly boxes: readonly Box[];
  readonly lines: readonly Line[];
  /** How many there are of what it consists of, by name: `pods`, `switches` …; absent in an overview. */
  readonly counts?: Readonly<Record<string, number>>;
}

export interface TopologyGraph {
  /** The default network first, then others and connections by name. */
  readonly networks: readonly NetworkGraph[];
  /** Lines between boxes of two networks: those of connections. */
  readonly links: readonly Line[];
}

/** As people sort: `net2` before `net10`. */
const NATURAL = new Intl.Collator('en', { numeric: true });

/** The default network first, then networks, then connections. */
const compareNetworks = (a: string, b: string): number =>
  placeOf(a) - placeOf(b) || NATURAL.compare(a, b);
const placeOf = (network: string): number =>
  network === 'default' ? 0 : network.startsWith(CONNECTION) ? 2 : 1;

/** Of more pods than this on a switch, and of more objects of one kind of egress, the number is shown. */
const MOST_PODS = 12;

const NETWORK_ID = 'k8s.ovn.org/network';
const OWNER_TYPE_ID = 'k8s.ovn.org/owner-type';
const NAME_ID = 'k8s.ovn.org/name';
const NAMED: Readonly<Record<string, BoxKind>> = {
  Logical_Switch: 'switch',
  Logical_Router: 'router',
};
/** What routers and switches hold besides ports, as people count it. */
const COUNTED: Readonly<Record<string, readonly [one: string, many: string]>> = {
  Logical_Router_Static_Route: ['route', 'routes'],
  Logical_Router_Policy: ['policy', 'policies'],
  NAT: ['NAT rule', 'NAT rules'],
  ACL: ['ACL', 'ACLs'],
  Load_Balancer: ['load balancer', 'load balancers'],
};

/** What an overview counts of a network, in this order: the name of one, and of many. */
export const NUMBERED = {
  pods: 'pod',
  switches: 'switch',
  routers: 'router',
  ACLs: 'ACL',
  'load balancers': 'load balancer',
} as const;

/** Rows without a network's id are those of a connection, or of the default network. */
function networkOf(ids: unknown): string {
  const network = member(ids, NETWORK_ID);
  if (network !== '') return network;
  const isConnection = member(ids, OWNER_TYPE_ID) === 'ClusterNetworkConnect';
  return isConnection ? connectionGraph(member(ids, NAME_ID)) : 'default';
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const listOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.map(textOf) : typeof value === 'string' ? [value] : [];

const member = (value: unknown, key: string): string =>
  value instanceof Map ? textOf(value.get(key)) : '';

/**
 * A graph for each network, and what links them. `exits`: of an object that gives pods an address outside, where what leaves has which: `EgressIP shop` →
 * `172.18.0.200 at n1`.
 */
export function topologyGraph(
  rows: readonly GraphRow[],
  exits: ReadonlyMap<string, readonly string[]> = new Map(),
): TopologyGraph {
  const graph = new Zone(rows, exits);
  for (const row of rows) graph.add(row);
  graph.addEgress();
  return { networks: graph.networks(), links: graph.links() };
}

/** The part of a graph that these networks are: what links them to others is left out. */
export function partOf(
  { networks, links }: TopologyGraph,
  isWanted: (network: string) => boolean,
): TopologyGraph {
  const kept = networks.filter(({ network }) => isWanted(network));
  const boxes = new Set(kept.flatMap((network) => network.boxes.map(({ id }) => id)));
  return {
    networks: kept,
    links: links.filter(({ from, to }) => boxes.has(from) && boxes.has(to)),
  };
}

/** What a connection is called among the networks of a graph. */
const CONNECTION = 'connection ';
const connectionGraph = (name: string): string => `${CONNECTION}${name}`;
export const isConnection = (network: string): boolean => network.startsWith(CONNECTION);

/** Networks that a connection of this name joins here, and the connection itself; none where there is no such connection. */
export function joinedBy({ networks, links }: TopologyGraph, name: string): ReadonlySet<string> {
  const networkOfBox = new Map(
    networks.flatMap(({ network, boxes }) => boxes.map(({ id }) => [id, network] as const)),
  );
  const wanted = connectionGraph(name);
  const joined = links
    .map(({ from, to }) => [networkOfBox.get(from), networkOfBox.get(to)])
    .filter((ends) => ends.includes(wanted))
    .flat();
  return new Set(joined.filter((network) => network !== undefined));
}

class Zone {
  readonly #routerPorts: ReadonlyMap<string, GraphRow>;
  /** Network by box. */
  readonly #networkOf = new Map<string, string>();
  readonly #boxes = new Map<string, { kind: BoxKind; title: string; lines: string[] }>();
  readonly #lines: Line[] = [];
  /** What networks consist of, as numbers. */
  readonly #numbers = new Map<string, Map<string, number>>();
  readonly #counts = new Map<string, Map<string, number>>();
  readonly #egress: EgressRows;

  constructor(rows: readonly GraphRow[], exits: ReadonlyMap<string, readonly string[]>) {
    this.#egress = new EgressRows(exits);
    this.#routerPorts = new Map(
      rows.filter(({ table }) => table === 'Logical_Router_Port').map((row) => [row.key, row]),
    );
    for (const { table, key, columns } of rows) {
      const kind = NAMED[table];
      if (kind === undefined) continue;
      this.#networkOf.set(key, networkOf(columns['external_ids']));
      this.#boxes.set(key, { kind, title: key, lines: [] });
      this.#number(key, kind === 'router' ? 'routers' : 'switches');
    }
  }

  add(row: GraphRow): void {
    this.#egress.add(row);
    const [holder] = row.holders;
    if (holder === undefined) return;
    if (Object.hasOwn(COUNTED, row.table)) {
      if (row.table === 'ACL') this.#number(holder.key, 'ACLs');
      if (row.table === 'Load_Balancer') this.#number(holder.key, 'load balancers');
      for (const { key } of row.holders) {
        const counts = this.#counts.get(key) ?? new Map<string, number>();
        this.#counts.set(key, counts.set(row.table, (counts.get(row.table) ?? 0) + 1));
      }
    } else if (row.table === 'Logical_Switch_Port') this.#addSwitchPort(row, holder.key);
    else if (row.table === 'Logical_Router_Port') this.#addRouterPort(row, holder.key);
  }

  /** To be called after all rows. */
  addEgress(): void {
    // Rules of port groups are about pods: they hang where these do.
    const switchOf = new Map<string, string>();
    for (const { from, to } of this.#lines)
      if (this.#boxes.get(to)?.kind === 'pods')
        switchOf.set(this.#networkOf.get(from) ?? 'default', from);
    for (const { holder, network, kind, lines } of this.#egress.groups()) {
      const box = this.#networkOf.has(holder) ? holder : switchOf.get(network);
      if (box !== undefined) this.#hang(box, 'egress', kind, lines);
    }
  }

  networks(): readonly NetworkGraph[] {
    const names = [...new Set(this.#networkOf.values())].toSorted(compareNetworks);
    return names.map((network) => {
      const ids = [...this.#boxes.keys()].filter((id) => this.#networkOf.get(id) === network);
      const boxes = ids.map((id) => this.#box(id));
      const lines = this.#lines.filter(
        (line) => this.#isWithin(line) && this.#networkOf.get(line.from) === network,
      );
      return { network, boxes, lines: fromPods(boxes, lines), counts: this.#countsOf(network) };
    });
  }

  links(): readonly Line[] {
    return this.#lines.filter((line) => !this.#isWithin(line));
  }

  #countsOf(network: string): Readonly<Record<string, number>> {
    const numbers = this.#numbers.get(network) ?? new Map<string, number>();
    return Object.fromEntries(
      Object.keys(NUMBERED).flatMap((what) => {
        const number = numbers.get(what) ?? 0;
        return number === 0 ? [] : [[what, number]];
      }),
    );
  }

  #number(box: string, what: keyof typeof NUMBERED): void {
    const network = this.#networkOf.get(box) ?? 'default';
    const numbers = this.#numbers.get(network) ?? new Map<string, number>();
    this.#numbers.set(network, numbers.set(what, (numbers.get(what) ?? 0) + 1));
  }

  #isWithin({ from, to }: Line): boolean {
    return this.#networkOf.get(from) === this.#networkOf.get(to);
  }

  #box(id: string): Box {
    const { kind, title, lines } = this.#boxes.get(id) ?? { kind: 'switch', title: id, lines: [] };
    const counts = [...(this.#counts.get(id) ?? [])].map(([table, count]) => {
      const [one, many] = COUNTED[table] ?? [table, table];
      return `${count} ${count === 1 ? one : many}`;
    });
    const shown =
      (kind === 'pods' || kind === 'egress') && lines.length > MOST_PODS
        ? [...lines.slice(0, MOST_PODS), `and ${lines.length - MOST_PODS} more`]
        : lines;
    return { id, kind, title, lines: counts.length === 0 ? shown : [...shown, counts.join(', ')] };
  }

  #addRouterPort({ key, columns }: GraphRow, router: string): void {
    const [peer = ''] = listOf(columns['peer']);
    const other = this.#routerPorts.get(peer)?.holders[0]?.key;
    // Both ends name each other: one line is enough.
    if (other === undefined || key > peer) return;
    const networks = listOf(columns['networks']).join(', ');
    this.#lines.push({ from: router, to: other, label: networks });
  }

  #addSwitchPort({ key, columns, object }: GraphRow, logicalSwitch: string): void {
    const { options, external_ids: ids } = columns;
    const [addresses = ''] = listOf(columns['addresses']);
    switch (textOf(columns['type'])) {
      case 'router': {
        const port = this.#routerPorts.get(member(options, 'router-port'));
        const router = port?.holders[0]?.key;
        if (port === undefined || router === undefined) return;
        const label = listOf(port.columns['networks']).join(', ');
        this.#lines.push({ from: logicalSwitch, to: router, label });
        break;
      }
      case 'localnet': {
        const vlan = columns['tag_request'];
        const lines = typeof vlan === 'number' || typeof vlan === 'bigint' ? [`VLAN ${vlan}`] : [];
        this.#hang(logicalSwitch, 'bridge', member(options, 'network_name'), lines);
        break;
      }
      case 'remote': {
        const node = member(ids, 'node');
        this.#hang(logicalSwitch, 'zones', 'other zones', [
          node === '' ? podLine(object, addresses) : `${node} ${withoutMac(addresses)}`,
        ]);
        break;
      }
      default:
        if (member(ids, 'pod') === 'true') {
          this.#number(logicalSwitch, 'pods');
          this.#hang(logicalSwitch, 'pods', 'pods', [podLine(object, addresses)]);
        } else this.#hang(logicalSwitch, 'host', key, [withoutMac(addresses)]);
    }
  }

  /** Adds lines to the box of this kind and title at a switch; it is made when it is not there yet. */
  #hang(logicalSwitch: string, kind: BoxKind, title: string, lines: readonly string[]): void {
    const id = `${logicalSwitch} ${kind} ${kind === 'pods' || kind === 'zones' ? '' : title}`;
    const box = this.#boxes.get(id);
    if (box !== undefined) {
      box.lines.push(...lines);
      return;
    }
    this.#boxes.set(id, { kind, title, lines: [...lines] });
    this.#networkOf.set(id, this.#networkOf.get(logicalSwitch) ?? 'default');
    this.#lines.push({ from: logicalSwitch, to: id, label: '' });
  }
}

/** `blue/web 103.103.0.3`; the MAC of a pod without addresses. */
function podLine(object: string, addresses: string): string {
  const ips = withoutMac(addresses);
  return `${object.replace(/^Pod /, '')} ${ips === '' ? addresses : ips}`;
}

/** `0a:58:0a:f4:00:03 10.244.0.3` → `10.244.0.3`. */
const withoutMac = (addresses: string): string => addresses.split(' ').slice(1).join(' ');

/** Lines in the direction of packets that leave: a picture has pods on one side and the outside on the other. */
function fromPods(boxes: readonly Box[], lines: readonly Line[]): readonly Line[] {
  const distance = new Map(
    boxes.filter(({ kind }) => kind === 'pods' || kind === 'host').map(({ id }) => [id, 0]),
  );
  let front = [...distance.keys()];
  while (front.length > 0) {
    const next: string[] = [];
    for (const id of front)
      for (const { from, to } of lines) {
        const other = from === id ? to : to === id ? from : undefined;
        if (other === undefined || distance.has(other)) continue;
        distance.set(other, (distance.get(id) ?? 0) + 1);
        next.push(other);
      }
    front = next;
  }
  return lines.map((line) =>
    (distance.get(line.from) ?? 0) > (distance.get(line.to) ?? 0)
      ? { ...line, from: line.to, to: line.from }
      : line,
  );
}
