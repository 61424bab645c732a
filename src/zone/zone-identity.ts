/** Whether databases are those of a node, and fit to keep networks apart: told by their name, chassis and schema. Pure. */
import { claimsOf } from '../desired/engine.ts';
import { missingFor } from '../desired/ovsdb/selection.ts';
import type { ReplicaView } from 'ovsdb-client-ts';
import { zoneFeatures } from '../topology/features.ts';
import { mapOf, textOf } from '../topology/rows/found.ts';

/** What the databases of a zone say of whose they are. */
export interface ZoneIdentity {
  /** `NB_Global.name`; empty in a new database. */
  readonly name: string;
  /** Chassis that an ovn-controller of the zone registered; those of other nodes are remote ones. */
  readonly ownChassis: readonly string[];
}

/** Reads it; of a Southbound that is not there nothing is known. */
export function zoneIdentity(
  northbound: ReplicaView,
  southbound: ReplicaView | undefined,
): ZoneIdentity {
  const [global] = northbound.hasColumn('NB_Global', 'name') ? northbound.rows('NB_Global') : [];
  const chassis = southbound?.hasTable('Chassis') === true ? [...southbound.rows('Chassis')] : [];
  return {
    name: (global && textOf(global, 'name')) ?? '',
    ownChassis: chassis
      .filter((row) => mapOf(row, 'other_config').get('is-remote') !== 'true')
      .map((row) => textOf(row, 'name') ?? '')
      .sort(),
  };
}

/** Release of the ovn-northd that works on the database, as it writes it there (`25.03.0`); undefined before it did. */
export function northdRelease(northbound: ReplicaView): string | undefined {
  const [global] = northbound.hasColumn('NB_Global', 'options') ? northbound.rows('NB_Global') : [];
  const version = global && mapOf(global, 'options').get('northd_internal_version');
  return typeof version === 'string' ? version.split('-')[0]?.slice(0, 64) : undefined;
}

/** True if Northbound alone tells that it is the node's: it has the node's name, or nothing in it. */
export const isKnownByNorthbound = (node: string, northbound: ReplicaView): boolean => {
  const { name } = zoneIdentity(northbound, undefined);
  return (
    name === node ||
    (name === '' &&
      ['Logical_Switch', 'Logical_Router'].every((table) => northbound.size(table) === 0))
  );
};

/** The flag of the database that is wrong, and what is wrong with it. */
export interface ForeignDatabase {
  readonly flag: '--nb' | '--sb' | '--ovs';
  readonly message: string;
}

const remedy = (node: string): string =>
  `: correct the remote or --node; with --take-zone it becomes the zone of ${node}, and what Heddle wrote there for another node goes`;

/**
 * Why these are the databases of another node, if they are. A database without name and a Southbound without a chassis of its own are
 * new: they belong to whoever comes first. `chassisId` and `systemId` are of the Node and of the local Open vSwitch, where known.
 */
export function foreignDatabase(
  node: string,
  chassisId: string | undefined,
  { name, ownChassis }: ZoneIdentity,
  systemId: string | undefined,
): ForeignDatabase | undefined {
  if (name !== '' && name !== node)
    return {
      flag: '--nb',
      message: `this Northbound database is the zone of node "${name}" (NB_Global.name), not of ${node}${remedy(node)}`,
    };
  if (chassisId === undefined) return undefined;
  if (ownChassis.length > 0 && !ownChassis.includes(chassisId))
    return {
      flag: '--sb',
      message: `the chassis of this Southbound database is ${ownChassis.join(', ')}, and that of node ${node} is ${chassisId}${remedy(node)}`,
    };
  if (systemId !== undefined && systemId !== chassisId)
    return {
      flag: '--ovs',
      message: `the system-id of this Open vSwitch is ${systemId}, and the chassis of node ${node} is ${chassisId}: correct the remote or --node, or set external_ids:system-id back; where the machine was made anew, delete the Node and let it join`,
    };
  return undefined;
}

/** Why a server's schema can't keep networks apart, if so: what it lacks, by name. */
export function unfitSchema({ schema }: ReplicaView): string | undefined {
  const missing = missingFor(claimsOf(zoneFeatures, schema.name), schema);
  return missing.length === 0
    ? undefined
    : `schema ${schema.name} ${schema.version} lacks ${missing.join(', ')}, without which networks can't be kept apart: use OVN 25.03 or newer, and convert the database to its schema (ovsdb-client convert)`;
}
