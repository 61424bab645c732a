/** Conditions `Ready-In-Zone-<node>` of a ClusterNetworkConnect, from what nodes report (api.md §5.3). Pure. */
import type { ZoneConnectStatus, ZoneStatus } from '../api/zone-status.ts';
import type { StatedCondition } from './conditions.ts';

const PREFIX = 'Ready-In-Zone-';

export const isZoneCondition = (type: string): boolean => type.startsWith(PREFIX);

/** The condition of one node. */
export function readyInZone(
  node: string,
  { state, message }: Omit<ZoneConnectStatus, 'name'>,
): StatedCondition {
  const type = `${PREFIX}${node}`;
  return state === 'Programmed'
    ? {
        type,
        status: 'True',
        reason: 'OVNSetupSucceeded',
        message: 'Connect router and all ports created successfully',
      }
    : { type, status: 'False', reason: 'OVNSetupFailed', message: message ?? state };
}

/** Conditions of all nodes that report `connect` and that are there, by node. */
export function readyInZones(
  connect: string,
  zones: readonly ZoneStatus[],
  isNode: (name: string) => boolean,
): readonly StatedCondition[] {
  return zones
    .filter(({ metadata }) => isNode(metadata.name))
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .flatMap(({ metadata, status }) =>
      (status?.connects ?? [])
        .filter(({ name }) => name === connect)
        .map((report) => readyInZone(metadata.name, report)),
    );
}
