/**
 * Units of recomputation: each builds its rows from the zone alone, and no row comes from two of them.
 *
 * | unit | rows | rebuilt when these change |
 * |---|---|---|
 * | `database` | NB_Global, Copp, meters, group of isolated pods | settings, own node |
 * | `services` | address sets of services open to all | settings, those services |
 * | `nodes` | address sets of all nodes | settings, host addresses of any node |
 * | `isolation` | ACLs of isolated pods | settings, own node, default network (its subnet here) |
 * | `network/<name>` | network-wide rows and those of the own node | settings, own node, services, the network (its subnet here) |
 * | `network/<name>/node/<r>` | transit port and routes of another node | settings, the network (its subnet there), that node |
 * | `network/<name>/namespace/<ns>` | group of the namespace's pods | settings, whether the network serves the namespace |
 * | `pod/<ns>/<pod>/<nadKey>` | a port, its places in groups, its open ports | settings, own chassis, attachment, its network, its namespace's group |
 * | `node/<n>` | Southbound chassis | that node's name, chassis, tunnel addresses |
 */

import type { Attachment, Network, NodeFacts, Zone } from '../model/model.ts';
import type { DesiredRow } from '../ovsdb/plan/desired.ts';
import { addLocalChassisRows, addRemoteChassisRows } from './chassis.ts';
import { addDatabaseRows, addEnabledServiceRows, addNodeAddressRows } from './database.ts';
import { addEgressBaseRows } from './egress-base.ts';
import { addGatewayRows } from './gateway.ts';
import { addRemoteNodeRows, addTransitSwitchRows } from './interconnect.ts';
import { addIsolationRows } from './isolation.ts';
import { addNetworkWideRows, addNodeSwitchRows } from './layer3.ts';
import { addMulticastRows } from './multicast.ts';
import { controllerOf, DEFAULT_NETWORK, isDefault } from './names.ts';
import { networkOnNode } from './network-on-node.ts';
import { addPodRows } from './pods.ts';
import { addPortGroup, namespacePortGroup } from './port-groups.ts';
import { renderedZone } from './rendered-zone.ts';
import { Rows } from './rows.ts';
import { isSame } from './same.ts';
import { addEnabledServiceRoutes } from './services.ts';

export type Database = 'Northbound' | 'Southbound';

export interface Unit {
  readonly key: string;
  readonly database: Database;
  readonly build: () => readonly DesiredRow[];
}

export interface UnitChanges {
  /** Units whose rows may be others than before. */
  readonly rebuild: ReadonlyMap<string, Unit>;
  /** Keys of units that exist no more. */
  readonly gone: ReadonlySet<string>;
}

/** Every unit of a zone. */
export const zoneUnits = (zone: Zone): ReadonlyMap<string, Unit> =>
  changedUnits(undefined, zone).rebuild;

/** What must be built again after a change of the zone; everything when there was none before. */
export function changedUnits(before: Zone | undefined, after: Zone): UnitChanges {
  const old =
    before !== undefined && before.node.name === after.node.name ? indexOf(before) : undefined;
  const now = indexOf(after);
  const changes = new Changes();
  zoneChanges(changes, old, now);
  networkChanges(changes, old, now);
  podChanges(changes, old, now);
  if (before !== undefined && old === undefined) {
    for (const key of zoneUnits(before).keys()) {
      if (!changes.rebuild.has(key)) changes.gone.add(key);
    }
  }
  return changes;
}

class Changes implements UnitChanges {
  readonly rebuild = new Map<string, Unit>();
  readonly gone = new Set<string>();

  northbound(key: string, build: (rows: Rows) => void): void {
    this.rebuild.set(key, { key, database: 'Northbound', build: () => built(build) });
  }

  southbound(key: string, build: (rows: Rows) => void): void {
    this.rebuild.set(key, { key, database: 'Southbound', build: () => built(build) });
  }
}

function built(build: (rows: Rows) => void): readonly DesiredRow[] {
  const rows = new Rows();
  build(rows);
  return rows.list;
}

/** A zone with what is looked up in it. */
interface ZoneIndex {
  readonly zone: Zone;
  readonly networks: ReadonlyMap<string, Network>;
  readonly remoteNodes: ReadonlyMap<string, NodeFacts>;
  /** By unit key. */
  readonly pods: ReadonlyMap<string, Attachment>;
  /** Namespaces that a network has a group for. */
  readonly groups: (network: Network) => ReadonlySet<string>;
}

const indexes = new WeakMap<Zone, ZoneIndex>();

/** Zones are immutable: each is looked through once. */
function indexOf(zone: Zone): ZoneIndex {
  const known = indexes.get(zone);
  if (known !== undefined) return known;
  const index = buildIndex(zone);
  indexes.set(zone, index);
  return index;
}

const podKey = (attachment: Attachment): string =>
  `pod/${attachment.namespace}/${attachment.pod}/${attachment.nadKey}`;

function buildIndex(zone: Zone): ZoneIndex {
  const { networks, remoteNodes, ports } = renderedZone(zone);
  const { egressFirewall, multicast } = zone.settings.features;
  const groupsByNetwork = new Map<string, ReadonlySet<string>>();
  return {
    zone,
    networks,
    remoteNodes,
    pods: new Map([...ports.values()].map((attachment) => [podKey(attachment), attachment])),
    groups(network) {
      const known = groupsByNetwork.get(network.name);
      if (known !== undefined) return known;
      // Rules per namespace exist for these features only, and for networks that are somebody's primary one.
      const isGrouped =
        (egressFirewall || multicast) && (isDefault(network) || network.role === 'primary');
      const namespaces = isDefault(network) ? zone.namespaces : network.namespaces;
      const groups = new Set(isGrouped ? namespaces : []);
      groupsByNetwork.set(network.name, groups);
      return groups;
    },
  };
}

function zoneChanges(changes: Changes, old: ZoneIndex | undefined, now: ZoneIndex): void {
  const { zone } = now;
  const sameSettings = isSame(old?.zone.settings, zone.settings);
  const sameNode = isSame(old?.zone.node, zone.node);
  const sameServices = isSame(old?.zone.allowedDefaultServices, zone.allowedDefaultServices);
  if (!sameSettings || !sameNode) {
    changes.northbound('database', (rows) => addDatabaseRows(rows, zone));
  }
  if (!sameSettings || !sameServices) {
    changes.northbound('services', (rows) => addEnabledServiceRows(rows, zone));
  }
  if (!sameSettings || !sameNode || !isSame(old?.zone.remoteNodes, zone.remoteNodes)) {
    changes.northbound('nodes', (rows) => addNodeAddressRows(rows, zone));
  }
  if (!sameNode) {
    changes.southbound(`node/${zone.node.name}`, (rows) => addLocalChassisRows(rows, zone.node));
  }
  for (const [name, node] of now.remoteNodes) {
    if (isSame(old?.remoteNodes.get(name), node)) continue;
    changes.southbound(`node/${name}`, (rows) => addRemoteChassisRows(rows, node));
  }
  for (const name of old?.remoteNodes.keys() ?? []) {
    if (!now.remoteNodes.has(name)) changes.gone.add(`node/${name}`);
  }
  const defaultNetwork = now.networks.get(DEFAULT_NETWORK);
  const oldDefault = old?.networks.get(DEFAULT_NETWORK);
  if (defaultNetwork === undefined) {
    if (oldDefault !== undefined) changes.gone.add('isolation');
  } else if (!sameSettings || !sameNode || !isSameHere(oldDefault, defaultNetwork, zone)) {
    changes.northbound('isolation', (rows) =>
      addIsolationRows(rows, networkOnNode(zone, defaultNetwork)),
    );
  }
}

/** Everything about a network except the subnets of its nodes, of which a change concerns one node. */
function isSameShape(old: Network | undefined, now: Network): boolean {
  if (old === now) return true;
  if (old === undefined) return false;
  const { nodeSubnets: _old, ...oldShape } = old;
  const { nodeSubnets: _now, ...shape } = now;
  return isSame(oldShape, shape);
}

const isSameHere = (old: Network | undefined, now: Network, zone: Zone): boolean =>
  isSameShape(old, now) &&
  isSame(old?.nodeSubnets.get(zone.node.name), now.nodeSubnets.get(zone.node.name));

function networkChanges(changes: Changes, old: ZoneIndex | undefined, now: ZoneIndex): void {
  const { zone } = now;
  const sameSettings = isSame(old?.zone.settings, zone.settings);
  const sameHost =
    sameSettings &&
    isSame(old?.zone.node, zone.node) &&
    isSame(old?.zone.allowedDefaultServices, zone.allowedDefaultServices);
  const newNodes = new Map(
    [...now.remoteNodes].filter(([name, node]) => !isSame(old?.remoteNodes.get(name), node)),
  );
  const lostNodes = [...(old?.remoteNodes.keys() ?? [])].filter(
    (name) => !now.remoteNodes.has(name),
  );
  for (const network of now.networks.values()) {
    const before = old?.networks.get(network.name);
    const unit = `network/${network.name}`;
    if (!sameHost || !isSameHere(before, network, zone)) {
      changes.northbound(unit, (rows) => addNetworkRows(rows, zone, network));
    }
    const sameForNodes = sameSettings && isSameShape(before, network);
    const candidates =
      sameForNodes && before?.nodeSubnets === network.nodeSubnets ? newNodes : now.remoteNodes;
    for (const [name, node] of candidates) {
      const isUnchanged =
        sameForNodes &&
        !newNodes.has(name) &&
        isSame(before?.nodeSubnets.get(name), network.nodeSubnets.get(name));
      if (isUnchanged) continue;
      changes.northbound(`${unit}/node/${name}`, (rows) =>
        addRemoteNodeRows(rows, zone.settings, network, node),
      );
    }
    if (before !== undefined) {
      for (const name of lostNodes) changes.gone.add(`${unit}/node/${name}`);
    }
    namespaceChanges(changes, old, now, network);
  }
  for (const network of old?.networks.values() ?? []) {
    if (now.networks.has(network.name)) continue;
    const unit = `network/${network.name}`;
    changes.gone.add(unit);
    for (const name of old?.remoteNodes.keys() ?? []) changes.gone.add(`${unit}/node/${name}`);
    for (const namespace of old?.groups(network) ?? []) {
      changes.gone.add(`${unit}/namespace/${namespace}`);
    }
  }
}

function namespaceChanges(
  changes: Changes,
  old: ZoneIndex | undefined,
  now: ZoneIndex,
  network: Network,
): void {
  const before = old?.networks.get(network.name);
  const oldGroups = before === undefined ? undefined : old?.groups(before);
  const groups = now.groups(network);
  for (const namespace of groups) {
    if (oldGroups?.has(namespace) === true) continue;
    changes.northbound(`network/${network.name}/namespace/${namespace}`, (rows) =>
      addPortGroup(rows, namespacePortGroup(controllerOf(network.name), namespace)),
    );
  }
  for (const namespace of oldGroups ?? []) {
    if (!groups.has(namespace)) changes.gone.add(`network/${network.name}/namespace/${namespace}`);
  }
}

/** Rows of one network: those that exist once, and those of the zone's own node. */
function addNetworkRows(rows: Rows, zone: Zone, network: Network): void {
  const on = networkOnNode(zone, network);
  addNetworkWideRows(rows, on);
  addMulticastRows(rows, on);
  addNodeSwitchRows(rows, on);
  addGatewayRows(rows, on);
  addEnabledServiceRoutes(rows, on, zone.allowedDefaultServices);
  addTransitSwitchRows(rows, on);
  addEgressBaseRows(rows, on);
}

/** What a network's pods have from it. */
function isSameForPods(
  old: ZoneIndex,
  before: Network | undefined,
  now: ZoneIndex,
  network: Network,
): boolean {
  const node = now.zone.node.name;
  return (
    before !== undefined &&
    before.topology === network.topology &&
    before.role === network.role &&
    before.nodeSubnets.has(node) === network.nodeSubnets.has(node) &&
    old.zone.node.chassisId === now.zone.node.chassisId &&
    isSame(old.zone.settings, now.zone.settings)
  );
}

function podChanges(changes: Changes, old: ZoneIndex | undefined, now: ZoneIndex): void {
  const { zone } = now;
  const changedNetworks = new Set(
    [...now.networks.values()]
      .filter(
        (network) =>
          old === undefined || !isSameForPods(old, old.networks.get(network.name), now, network),
      )
      .map((network) => network.name),
  );
  for (const [key, attachment] of now.pods) {
    const network = now.networks.get(attachment.network);
    if (network === undefined) continue;
    const inGroup = now.groups(network).has(attachment.namespace);
    const before = old?.networks.get(attachment.network);
    const isUnchanged =
      !changedNetworks.has(network.name) &&
      isSame(old?.pods.get(key), attachment) &&
      before !== undefined &&
      old?.groups(before).has(attachment.namespace) === inGroup;
    if (isUnchanged) continue;
    changes.northbound(key, (rows) => addPodRows(rows, zone, network, attachment, inGroup));
  }
  for (const key of old?.pods.keys() ?? []) {
    if (!now.pods.has(key)) changes.gone.add(key);
  }
}
