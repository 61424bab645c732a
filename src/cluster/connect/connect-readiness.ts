/** Conditions `Ready-In-Zone-<node>` of a ClusterNetworkConnect, from what nodes report (reference/api.md §5.3). Pure. */
import type { ZoneConnectStatus, ZoneStatus } from '../../api/zone-status.ts';
import type { StatedCondition } from '../../store/status-writer.ts';
import type { AbsentDaemon } from '../nodes/node-heartbeats.ts';

const PREFIX = 'Ready-In-Zone-';

/** Type of the condition of one node. */
export const zoneCondition = (node: string): string => `${PREFIX}${node}`;

export const isZoneCondition = (type: string): boolean => type.startsWith(PREFIX);

/** The condition of one node. */
function readyInZone(
  node: string,
  { state, message }: Omit<ZoneConnectStatus, 'name'>,
): StatedCondition {
  const type = zoneCondition(node);
  const isReady = state === 'Programmed' || state === 'Unused';
  return isReady
    ? {
        type,
        status: 'True',
        reason: 'OVNSetupSucceeded',
        message:
          state === 'Unused'
            ? 'Nothing to set up: no network of this connection is in use on the node'
            : 'Connect router and all ports created successfully',
      }
    : { type, status: 'False', reason: 'OVNSetupFailed', message: message ?? state };
}

/**
 * Conditions of `nodes`, those that have a zone, by name. With `isAccepted`, a node that says nothing of the connection yet is
 * `Unknown`, as is one whose daemon is gone: its links are not known to be there.
 */
export function readyInZones(
  connect: string,
  zones: readonly ZoneStatus[],
  nodes: readonly string[],
  isAccepted: boolean,
  absentDaemon: (node: string) => AbsentDaemon | undefined = () => undefined,
): readonly StatedCondition[] {
  const byNode = new Map(zones.map(({ metadata, status }) => [metadata.name, status?.connects]));
  return nodes.toSorted().flatMap((node) => {
    const report = byNode.get(node)?.find(({ name }) => name === connect);
    const absent = report?.state === 'Unused' ? undefined : absentDaemon(node);
    if (report !== undefined && absent !== undefined)
      return [
        {
          type: zoneCondition(node),
          status: 'Unknown',
          reason: 'NoDaemon',
          message: `${absent.state}: ${absent.message}; it was ${report.state}`,
        },
      ];
    if (report !== undefined) return [readyInZone(node, report)];
    return isAccepted ? [notReported(node)] : [];
  });
}

const notReported = (node: string): StatedCondition => ({
  type: zoneCondition(node),
  status: 'Unknown',
  reason: 'NotReported',
  message: `Node ${node} has not reported this ClusterNetworkConnect: is "heddle node" running there?`,
});

/** `status.status`: a connection is a success once every node that has a zone has reported it, and not before. */
export const connectStatus = (
  accepted: StatedCondition,
  ready: readonly StatedCondition[],
): 'Success' | 'Failure' =>
  accepted.status === 'True' && ready.every(({ status }) => status === 'True')
    ? 'Success'
    : 'Failure';
