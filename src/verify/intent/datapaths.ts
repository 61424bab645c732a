/** Which switch and router of a node is whose, by its name (reference/topology.md §1.2). The cut says whether what hangs on it is as the name claims. */
import { member, rowsOf, text, uuidOf, list, type Row, type Tables } from '../rows.ts';
import type { Intent } from './intent.ts';
import type { VerifiedConnection } from './connections.ts';
import type { VerifiedNetwork } from './networks.ts';

export type Part =
  | 'pods'
  | 'cluster router'
  | 'gateway router'
  | 'join'
  | 'external'
  | 'transit'
  | 'connect router';

/** Whose a switch or router is. */
export type Owner =
  | { readonly kind: 'network'; readonly network: VerifiedNetwork; readonly part: Part }
  | { readonly kind: 'connection'; readonly connection: VerifiedConnection }
  | { readonly kind: 'nobody' };

export interface Datapath {
  readonly uuid: string;
  readonly table: 'Logical_Switch' | 'Logical_Router';
  readonly name: string;
  readonly owner: Owner;
  readonly row: Row;
  /** Rows of its ports. */
  readonly ports: readonly Row[];
}

/** Switches and routers as a check of one of them asks for others. */
export interface DatapathLookup {
  /** Of a port of a router or a switch, by its name. */
  readonly byPort: Pick<ReadonlyMap<string, Datapath>, 'get' | 'has'>;
  ofNetwork(name: string): readonly Datapath[];
  /** Switches and routers that list a port, by its UUID. */
  holding(port: string): readonly Datapath[];
}

export interface Datapaths extends DatapathLookup {
  readonly all: readonly Datapath[];
  readonly byUuid: ReadonlyMap<string, Datapath>;
  /** Of a port of a router or a switch, by its name. */
  readonly byPort: ReadonlyMap<string, Datapath>;
  readonly portByName: ReadonlyMap<string, Row>;
}

const NOBODY: Owner = { kind: 'nobody' };

type Names = readonly (readonly [string, Owner])[];

/** Names follow from the network and the node alone. */
const namesOfNetworks = new WeakMap<VerifiedNetwork, { readonly node: string; names: Names }>();

/** Names of the switches and routers that a network may have on a node. */
function namesOf(network: VerifiedNetwork, node: string): Names {
  const known = namesOfNetworks.get(network);
  if (known?.node === node) return known.names;
  const { prefix, topology } = network;
  const owner = (part: Part): Owner => ({ kind: 'network', network, part });
  const names: Names = [
    ...(topology === 'layer3'
      ? ([
          [`router ${prefix}ovn_cluster_router`, owner('cluster router')],
          [`switch ${prefix}${node}`, owner('pods')],
          [`switch ${prefix}join`, owner('join')],
          [`switch ${prefix}transit_switch`, owner('transit')],
        ] as const)
      : ([
          [`router ${prefix}transit_router`, owner('cluster router')],
          [`switch ${prefix}ovn_${topology}_switch`, owner('pods')],
        ] as const)),
    [`router GR_${prefix}${node}`, owner('gateway router')],
    [`switch ext_${prefix}${node}`, owner('external')],
  ];
  namesOfNetworks.set(network, { node, names });
  return names;
}

/** Switches and routers that the networks may have on this node. */
export function expectedNames({
  networks,
  connections,
  node,
}: Pick<Intent, 'networks' | 'connections' | 'node'>): ReadonlyMap<string, Owner> {
  const names = new Map<string, Owner>();
  // Of two networks with one prefix the first one has rows.
  for (const network of networks.toSorted((a, b) => a.id - b.id))
    for (const [name, owner] of namesOf(network, node))
      if (!names.has(name)) names.set(name, owner);
  for (const connection of connections)
    names.set(`router connect_router_${connection.name}`, { kind: 'connection', connection });
  return names;
}

export const DATAPATHS = ['Logical_Switch', 'Logical_Router'] as const;

/** A switch or router with its owner by `names`, and its ports by their UUIDs. */
export function datapathOf(
  table: Datapath['table'],
  row: Row,
  names: ReadonlyMap<string, Owner>,
  portOf: (uuid: string) => Row | undefined,
): Datapath {
  const name = text(row, 'name');
  const kind = table === 'Logical_Switch' ? 'switch' : 'router';
  return {
    uuid: uuidOf(row),
    table,
    name,
    owner: names.get(`${kind} ${name}`) ?? NOBODY,
    row,
    ports: list(row, 'ports')
      .map(portOf)
      .filter((port) => port !== undefined),
  };
}

export function datapathsOf(northbound: Tables, intent: Intent): Datapaths {
  const names = expectedNames(intent);
  const rows = new Map<string, Row>();
  for (const table of ['Logical_Switch_Port', 'Logical_Router_Port'])
    for (const row of rowsOf(northbound, table)) rows.set(uuidOf(row), row);
  const all: Datapath[] = [];
  const byPort = new Map<string, Datapath>();
  const portByName = new Map<string, Row>();
  const byNetwork = new Map<string, Datapath[]>();
  const byPortUuid = new Map<string, Datapath[]>();
  for (const table of DATAPATHS)
    for (const row of rowsOf(northbound, table)) {
      const datapath = datapathOf(table, row, names, (uuid) => rows.get(uuid));
      all.push(datapath);
      for (const port of datapath.ports) {
        const name = text(port, 'name');
        const holding = byPortUuid.get(uuidOf(port));
        if (holding === undefined) byPortUuid.set(uuidOf(port), [datapath]);
        else holding.push(datapath);
        const known = byPort.get(name);
        if (known !== undefined && !isBefore(known, datapath)) continue;
        byPort.set(name, datapath);
        portByName.set(name, port);
      }
      const network = networkOf(datapath)?.name;
      if (network !== undefined)
        byNetwork.set(network, [...(byNetwork.get(network) ?? []), datapath]);
    }
  return {
    all,
    byUuid: new Map(all.map((one) => [one.uuid, one])),
    byPort,
    portByName,
    ofNetwork: (name) => byNetwork.get(name) ?? NO_DATAPATHS,
    holding: (port) => byPortUuid.get(port) ?? NO_DATAPATHS,
  };
}

/** Of two that list one port the last one has it: a router after a switch, then by UUID. */
export const isBefore = (a: Datapath, b: Datapath): boolean =>
  a.table === b.table ? a.uuid < b.uuid : a.table === 'Logical_Switch';

const NO_DATAPATHS: readonly Datapath[] = [];

export const networkOf = ({ owner }: Datapath): VerifiedNetwork | undefined =>
  owner.kind === 'network' ? owner.network : undefined;

export const partOf = ({ owner }: Datapath): Part | undefined =>
  owner.kind === 'network'
    ? owner.part
    : owner.kind === 'connection'
      ? 'connect router'
      : undefined;

/** Whose it is, in words of the field. */
export function ownerText({ owner, table, name }: Datapath): string {
  if (owner.kind === 'network') return `network ${owner.network.name}`;
  if (owner.kind === 'connection') return owner.connection.object;
  const kind = table === 'Logical_Switch' ? 'switch' : 'router';
  return `${kind} ${name}, which no object asks for`;
}

/** The name of a row for people: `Northbound Logical_Switch_Port blue_web`. */
export const rowText = (table: string, name: string, database = 'Northbound'): string =>
  `${database} ${table} ${name}`;

/** The network that a row says it is of. */
export const claimedNetwork = (row: Row): string | undefined =>
  member(row, 'external_ids', 'k8s.ovn.org/network');
