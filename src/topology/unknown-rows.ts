/** Which rows that nobody wants may be there for something that is not known, and stay. */
import type { MayBeWanted } from '../desired/ovsdb/reconciler.ts';
import type { FoundRow } from '../desired/rows.ts';
import type { ZoneFacts } from '../model/zone/zone.ts';
import { isOnNetwork, isPlaced, type Unknown } from '../model/zone/unknown.ts';
import { connectedRemoteNodes } from './connect/remote-node.ts';
import { egressGatewayNeighbours } from './egress/gateway-neighbours.ts';
import { remoteChassis } from './interconnect/chassis.ts';
import { REMOTE_NODE_ID, remoteGateway } from './interconnect/remote-gateway.ts';
import { remoteNode, ROUTE_NODE_ID } from './interconnect/remote-node.ts';
import { PORT_NODE_ID } from './interconnect/transit-end.ts';
import { adminAddresses, adminPolicy } from './policy/admin-policy.ts';
import { policyGroup, policyRules } from './policy/network-policy.ts';
import { remotePodPorts } from './pods/remote-port.ts';
import { idKey, idsOf } from './rows/found.ts';
import { NAD_ID } from './rows/object-ids.ts';
import { networkOfReferenceRow } from './rows/reference-rows.ts';

/** Tables with rows for other nodes, most of which are marked with a network. */
const NODE_TABLES: ReadonlySet<string> = new Set(
  [
    remoteChassis,
    remoteNode,
    remoteGateway,
    egressGatewayNeighbours,
    connectedRemoteNodes,
    remotePodPorts,
  ].flatMap(({ claims }) => claims.map(({ table }) => table)),
);

/** Tables of the rows that policies want; each says on which network. */
const POLICY_TABLES: ReadonlySet<string> = new Set(
  [adminAddresses, adminPolicy, policyGroup, policyRules].flatMap(({ claims }) =>
    claims.map(({ table }) => table),
  ),
);

/** The other node that a row is for; undefined where its mark alone says so. */
function nodeOf(row: FoundRow, table: string): string | undefined {
  // Those of them without ids.
  if (table === 'Encap' || table === 'Static_MAC_Binding') return undefined;
  const ids = idsOf(row);
  const ofPort = table === 'Logical_Switch_Port' ? ids.get(PORT_NODE_ID) : undefined;
  return ids.get(ROUTE_NODE_ID) ?? ids.get(REMOTE_NODE_ID) ?? ofPort;
}

export function rowsOfUnknown(
  facts: ZoneFacts,
  { nodes, concernsNodes, nads, concernsNads, concerns }: Unknown,
): MayBeWanted {
  const mayBeOfNode: MayBeWanted = (row, table, object) => {
    if (nodes.size === 0 || !NODE_TABLES.has(table) || !concernsNodes(object)) return false;
    const node = nodeOf(row, table);
    return node === undefined || nodes.has(node);
  };
  const networkOf = (row: FoundRow, table: string): string | undefined =>
    POLICY_TABLES.has(table) ? networkOfReferenceRow(row) : undefined;
  const isOfBuiltPolicy: MayBeWanted = (row, table, object) => {
    const network = networkOf(row, table);
    if (network === undefined || !isPlaced(facts, object, network)) return false;
    // Which numbers a named port has, pods say.
    return idKey(row)?.includes('namedPort') !== true;
  };
  const mayBeOfNad: MayBeWanted = (row, table, object) => {
    if (table === 'Logical_Switch_Port') return nads.has(idsOf(row).get(NAD_ID) ?? '');
    if (nads.size === 0 || !concernsNads(object) || isOfBuiltPolicy(row, table, object))
      return false;
    const network = networkOf(row, table);
    return network !== undefined && !isOnNetwork(facts, object, network);
  };
  return (row, table, object) =>
    // Of a row whose mark is lost nobody can tell whose it is.
    object === '' ||
    (concerns(object) && !isOfBuiltPolicy(row, table, object)) ||
    mayBeOfNode(row, table, object) ||
    mayBeOfNad(row, table, object);
}
