/** Rows that an ovn-kubernetes of the same names wrote and left: the ids that it gives its rows, and not our mark. */

import { MARK, type FoundRow } from '../../desired/rows.ts';
import { DEFAULT_NETWORK } from '../../model/read/networks.ts';
import { networkOfController } from '../../model/rules/names.ts';
import { POLICY_EGRESS_DROP, POLICY_EXTERNAL_ROUTE } from '../numbers.ts';
import { idsOf, mapOf, numberOf, textOf } from './found.ts';
import {
  KIND_ID,
  NAME_ID,
  NETWORK_ID,
  OWNER_CONTROLLER_ID,
  OWNER_ID,
  OWNER_TYPE_ID,
  SERVICE_ELSEWHERE,
  SERVICE_ID,
} from './object-ids.ts';
import { SYMMETRIC_REPLY } from './router-rows.ts';

const REFERENCE_PREFIX = 'k8s.ovn.org/';
const REFERENCE_IDS: ReadonlySet<string> = new Set([
  'k8s-cluster-router',
  'physical_ip',
  'physical_ips',
  'gateway-physical-ip',
  'ic-node',
  SERVICE_ID,
]);

/** True for a row of a table with `external_ids` that features write, when an ovn-kubernetes wrote it: what is not wanted of those can be removed. */
export function isReferenceRow(found: FoundRow, table: string): boolean {
  const ids = idsOf(found);
  if (ids.has(MARK)) return false;
  return (
    [...ids.keys()].some((key) => key.startsWith(REFERENCE_PREFIX) || REFERENCE_IDS.has(key)) ||
    // Ports of pods of the default network, and of other nodes on a transit switch.
    (ids.get('pod') === 'true' && ids.has('namespace')) ||
    (table === 'Logical_Switch_Port' && ids.has('node') && textOf(found, 'type') === 'remote') ||
    isOfExternalRoute(found, table)
  );
}

/** Port of a gateway router to the external bridge, or to a second one. */
const TO_OUTSIDE = /^(exgw-)?rtoe-GR_/;

/** Rows of external routes, which have no ids (reference/topology.md §18.3). */
function isOfExternalRoute(found: FoundRow, table: string): boolean {
  const text = (column: string): string => textOf(found, column) ?? '';
  switch (table) {
    case 'Logical_Router_Static_Route':
      return (
        mapOf(found, 'options').get(SYMMETRIC_REPLY) === 'true' &&
        text('policy') === 'src-ip' &&
        TO_OUTSIDE.test(text('output_port'))
      );
    case 'BFD':
      return TO_OUTSIDE.test(text('logical_port'));
    case 'Logical_Router_Policy':
      return (
        numberOf(found, 'priority') === POLICY_EXTERNAL_ROUTE &&
        text('match').startsWith('inport == "rtos-')
      );
    default:
      return false;
  }
}

/** The network that such a row says it belongs to; undefined where it says none. */
export function networkOfReferenceRow(found: FoundRow): string | undefined {
  const ids = idsOf(found);
  return ids.get(NETWORK_ID) ?? networkOfController(ids.get(OWNER_CONTROLLER_ID) ?? '');
}

/**
 * Networks whose pods leave with addresses of EgressIPs by such rows, of these policies of routers and source translations, and where no row of ours
 * drops what else arrives to leave.
 */
export function networksLeavingByReference(rows: Iterable<FoundRow>): ReadonlySet<string> {
  const [leaving, closed] = [new Set<string>(), new Set<string>()];
  for (const row of rows) {
    const ids = idsOf(row);
    if (ids.get(OWNER_TYPE_ID) !== 'EgressIP') continue;
    const network = ids.get('network') ?? DEFAULT_NETWORK;
    if (numberOf(row, 'priority') === POLICY_EGRESS_DROP) closed.add(network);
    // That of one pod: `<EgressIP>_<namespace>/<pod>`.
    else if (!ids.has(MARK) && ids.get(NAME_ID)?.includes('_') === true) leaving.add(network);
  }
  return leaving.difference(closed);
}

/** Kinds of policies, whose rows name their namespaces before a colon. */
const POLICIES = /^(Network|AdminNetwork|BaselineAdminNetwork|ClusterNetwork)Policy$/;
const OF_NAMESPACES: ReadonlySet<string> = new Set(['NetpolNamespace', 'MulticastNS', 'Namespace']);

/** Objects that such a row says it is there for, besides its network. */
export function objectsOfReferenceRow(found: FoundRow, table: string): readonly string[] {
  const ids = idsOf(found);
  const { type = '', name = '' } = { type: ids.get(OWNER_TYPE_ID), name: ids.get(NAME_ID) };
  const port = table === 'Logical_Switch_Port' ? (textOf(found, 'name') ?? '') : '';
  const egressService = ids.get(SERVICE_ID)?.replace(SERVICE_ELSEWHERE, '');
  const namespace = port === '' ? undefined : ids.get('namespace');
  return [
    ...(POLICIES.test(type) ? [`${type} ${name.replace(':', '/')}`] : []),
    // Its name is `default`; the row has that of its namespace.
    ...(type === 'EgressFirewall' ? [`EgressFirewall ${name}/default`] : []),
    ...(type === 'EgressQoS' ? [`EgressQoS ${name}/default`] : []),
    ...(type === 'NetworkQoS' ? [`NetworkQoS ${name.replace(':', '/')}`] : []),
    // Names of objects have no underscore; rows that are there for all pods have none either.
    ...(type === 'EgressIP' && name.includes('_') ? [`EgressIP ${name.split('_')[0]}`] : []),
    ...(egressService === undefined ? [] : [`EgressService ${egressService}`]),
    ...(OF_NAMESPACES.has(type) ? [`Namespace ${name}`] : []),
    ...(ids.get(KIND_ID) === 'Service' ? [`Service ${ids.get(OWNER_ID)}`] : []),
    // Names of pods have no underscore.
    ...(namespace === undefined
      ? []
      : [`Pod ${namespace}/${port.slice(port.lastIndexOf('_') + 1)}`]),
  ];
}
