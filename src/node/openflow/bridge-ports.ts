/**
 * Numbers of bridges' ports, as the local Open_vSwitch database has them (reference/node.md §4.1, §5). The integration bridge is left out: its ports are
 * ovn-controller's and those of pods, which come and go all the time.
 */
import { hostInVlan, LOCAL, MARK_OF_HOST, UPLINK_PORT } from './flow-rows.ts';
import { INTEGRATION_BRIDGE } from '../names.ts';
import { INTO_OVN_MARK } from '../numbers.ts';
import type { ReplicaChanges, ReplicaRow, ReplicaView } from 'ovsdb-client-ts';

/** Numbers by names of ports; `:uplink` for that by which a bridge reaches the network outside. */
export type PortNumbers = ReadonlyMap<string, string>;

/** Columns that are followed for it. */
export const PORT_COLUMNS = {
  Bridge: ['name', 'ports', 'external_ids', 'datapath_type'],
  Port: ['name', 'interfaces', 'tag', 'vlan_mode'],
  Interface: ['name', 'type', 'ofport'],
} as const;

/** Key in a bridge's `external_ids` that names its uplink. */
export const UPLINK_ID = 'bridge-uplink';
/** Types of interfaces that no network card has. */
const VIRTUAL = new Set(['patch', 'internal', 'geneve', 'vxlan', 'gre', 'stt', 'erspan', 'tap']);

export const textOf = (row: ReplicaRow, column: string): string => {
  const value = row.column(column);
  return typeof value === 'string' ? value : '';
};

/** Open vSwitch numbers ports from 1; what it has not made, or can't make, has none, or −1. */
function numberOf(row: ReplicaRow): string | undefined {
  const value = row.column('ofport');
  return (typeof value === 'number' || typeof value === 'bigint') && value > 0
    ? String(value)
    : undefined;
}

/** Modes in which frames without a tag are of the port's VLAN; a port with a tag and no mode is an access port (ovs-vswitchd.conf.db(5)). */
const UNTAGGED_MODES = new Set<unknown>([undefined, 'access', 'native-untagged']);

/** VLAN of frames that the host sends and gets without a tag on this bridge; undefined for none. */
export function hostVlanOf(replica: ReplicaView, bridge: ReplicaRow): number | undefined {
  const name = textOf(bridge, 'name');
  const port = members(replica, bridge, 'ports', 'Port').find(
    (one) => textOf(one, 'name') === name,
  );
  const tag = Number(port?.column('tag'));
  return tag > 0 && UNTAGGED_MODES.has(port?.column('vlan_mode')) ? tag : undefined;
}

/** Whether Open vSwitch forwards for a bridge itself, and not in the kernel. */
export const isUserspace = (replica: ReplicaView, bridge: string): boolean =>
  [...replica.rows('Bridge')].some(
    (row) => textOf(row, 'name') === bridge && textOf(row, 'datapath_type') === 'netdev',
  );

/** Which bridges there are besides br-int, with their ports. The replica throws while it is not loaded. */
export const bridgePorts = (replica: () => ReplicaView) => ({
  /** Another one after each change. */
  get sequence(): number {
    return replica().sequence;
  },
  read: () => readPorts(replica()),
  /** Calls the listener with the names of bridges that changed themselves, or of which a port did. Returns what ends it. */
  follow: (listener: (bridges: ReadonlySet<string>) => void) =>
    replica().subscribe(
      (changes) => {
        const bridges = changedBridges(replica(), changes);
        if (bridges.size > 0) listener(bridges);
      },
      { tables: Object.keys(PORT_COLUMNS) },
    ),
});

export type BridgePorts = ReturnType<typeof bridgePorts>;

/** Names of the bridges that changed themselves, or of which a port did. */
export function changedBridges(
  replica: ReplicaView,
  { tables }: ReplicaChanges,
): ReadonlySet<string> {
  const names = new Set<string>();
  const note = (table: string, uuid: string): void => {
    const row = replica.row(table, uuid);
    if (row !== undefined && table === 'Bridge') names.add(textOf(row, 'name'));
    else for (const holder of replica.referrers(table, uuid)) note(holder.table, holder.uuid);
  };
  for (const table of Object.keys(PORT_COLUMNS))
    for (const { kind, uuid, old } of tables.get(table)?.rows ?? []) {
      const name = old.get('name');
      // What a port that is gone was in has changed with it.
      if (kind !== 'deleted') note(table, uuid);
      else if (table === 'Bridge' && typeof name === 'string') names.add(name);
    }
  names.delete(INTEGRATION_BRIDGE);
  return names;
}

function readPorts(replica: ReplicaView): ReadonlyMap<string, PortNumbers> {
  const bridges = new Map<string, PortNumbers>();
  for (const bridge of replica.rows('Bridge')) {
    const name = textOf(bridge, 'name');
    if (name === INTEGRATION_BRIDGE) continue;
    const ports = new Map<string, string>();
    const cards: string[] = [];
    for (const port of members(replica, bridge, 'ports', 'Port'))
      for (const one of members(replica, port, 'interfaces', 'Interface')) {
        const number = numberOf(one);
        if (number === undefined) continue;
        const interfaceName = textOf(one, 'name');
        ports.set(interfaceName, number);
        if (interfaceName !== name && !VIRTUAL.has(textOf(one, 'type'))) cards.push(interfaceName);
      }
    const named = idOf(bridge, UPLINK_ID);
    // Of several network cards nobody knows which it is.
    const uplink = named ?? (cards.length === 1 ? cards[0] : undefined);
    const number = uplink === undefined ? undefined : ports.get(uplink);
    if (number !== undefined) ports.set(UPLINK_PORT, number);
    const hostVlan = hostVlanOf(replica, bridge);
    if (hostVlan !== undefined) ports.set(hostInVlan(hostVlan), LOCAL);
    ports.set(MARK_OF_HOST, isUserspace(replica, name) ? '0' : INTO_OVN_MARK);
    bridges.set(name, ports);
  }
  return bridges;
}

/** An interface by which a bridge may reach the network outside. */
interface BridgeUplink {
  readonly name: string;
  /** It is a device of the kernel, and not one that ovs-vswitchd drives itself. */
  readonly isOfKernel: boolean;
}

/** Types of interfaces that are devices of the kernel; an empty one is the same as the first. */
const OF_KERNEL = new Set(['', 'system', 'afxdp', 'afxdp-nonpmd']);

export interface BridgeUplinks {
  /** The one that the bridge says is its uplink. */
  readonly named: string | undefined;
  /** Those that it has, whether or not Open vSwitch has made them: the one that it names, else all. */
  readonly found: readonly BridgeUplink[];
}

/** Of each bridge besides br-int. */
export function readUplinks(replica: ReplicaView): ReadonlyMap<string, BridgeUplinks> {
  const uplinks = new Map<string, BridgeUplinks>();
  for (const bridge of replica.rows('Bridge')) {
    const name = textOf(bridge, 'name');
    if (name === INTEGRATION_BRIDGE) continue;
    const all = members(replica, bridge, 'ports', 'Port').flatMap((port) =>
      members(replica, port, 'interfaces', 'Interface').flatMap((one): readonly BridgeUplink[] => {
        const [interfaceName, type] = [textOf(one, 'name'), textOf(one, 'type')];
        return interfaceName === name || VIRTUAL.has(type)
          ? []
          : [{ name: interfaceName, isOfKernel: OF_KERNEL.has(type) }];
      }),
    );
    const named = idOf(bridge, UPLINK_ID);
    const found = named === undefined ? all : all.filter((one) => one.name === named);
    uplinks.set(name, { named, found });
  }
  return uplinks;
}

export function members(
  replica: ReplicaView,
  row: ReplicaRow,
  column: string,
  table: string,
): readonly ReplicaRow[] {
  const value = row.column(column);
  return (Array.isArray(value) ? (value as readonly unknown[]) : []).flatMap(
    (uuid) => replica.row(table, String(uuid)) ?? [],
  );
}

export function idOf(row: ReplicaRow, key: string): string | undefined {
  const ids = row.column('external_ids');
  return ids instanceof Map ? (ids as ReadonlyMap<string, string>).get(key) : undefined;
}
