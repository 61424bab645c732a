/** The ClusterNetworkConnect that two NetworkConnects make, and what they are told of it. Pure. */
import { createHash } from 'node:crypto';
import { formatPrefix } from '../../allocators/addresses.ts';
import { TENANT_NETWORKS } from '../../api/annotations/network-annotations.ts';
import { conditionOf } from '../../api/conditions.ts';
import { clusterNetworkConnects } from '../../api/kinds.ts';
import { objectKey } from '../../api/objects.ts';
import { NAME_LABEL } from '../../api/selectors.ts';
import type { ClusterNetworkConnect, NetworkConnect } from '../../api/types.ts';
import type { StatedCondition } from '../../store/status-writer.ts';
import { rangesOf } from './connect-selection.ts';
import {
  ownNetwork,
  pairKey,
  peerNetwork,
  requestedPair,
  sameRanges,
  type NetworkPair,
  type PairOutcome,
  type TenantConnectPlan,
} from './tenant-connect-plan.ts';

const namespaceOf = (network: string): string => network.slice(0, network.indexOf('/'));

/** Of the pair alone, so that a new manager finds what the one before made. */
export function tenantConnectName(pair: NetworkPair): string {
  const [a, b] = pair.map(namespaceOf);
  const digest = createHash('sha256').update(pairKey(pair)).digest('hex').slice(0, 16);
  return `tenants-${a}-${b}-${digest}`;
}

/** The networks of a connection that tenants made; undefined of an administrator's. */
export function tenantNetworks({ metadata }: ClusterNetworkConnect): NetworkPair | undefined {
  const [a, b, ...more] = (metadata.annotations?.[TENANT_NETWORKS] ?? '').split(' ');
  if (a === undefined || b === undefined || more.length > 0) return undefined;
  // A mark that somebody copied says nothing.
  return metadata.name === tenantConnectName([a, b]) ? [a, b] : undefined;
}

/** What the object should be. */
export const tenantConnect = (
  pair: NetworkPair,
  { types, ranges }: Extract<PairOutcome, { readonly kind: 'agreed' }>,
): ClusterNetworkConnect => ({
  apiVersion: clusterNetworkConnects.apiVersion,
  kind: 'ClusterNetworkConnect',
  metadata: {
    name: tenantConnectName(pair),
    annotations: { [TENANT_NETWORKS]: pairKey(pair) },
  },
  spec: {
    networkSelectors: [
      {
        networkSelectionType: 'PrimaryUserDefinedNetworks',
        primaryUserDefinedNetworkSelector: {
          namespaceSelector: {
            matchExpressions: [{ key: NAME_LABEL, operator: 'In', values: pair.map(namespaceOf) }],
          },
        },
      },
    ],
    connectSubnets: ranges.map(({ cidr, networkPrefix }) => ({
      cidr: formatPrefix(cidr),
      networkPrefix,
    })),
    connectivity: [...types],
  },
});

/** How an object that is there becomes what it should be: its ranges can't change. */
export type TenantConnectChange = 'none' | 'patch' | 'replace';

export function tenantConnectChange(
  found: ClusterNetworkConnect,
  wanted: ClusterNetworkConnect,
): TenantConnectChange {
  const [before, after] = [found.spec, wanted.spec];
  const hasSame = (read: (spec: ClusterNetworkConnect['spec']) => unknown): boolean =>
    JSON.stringify(read(before)) === JSON.stringify(read(after));
  if (!sameRanges(rangesOf(found), rangesOf(wanted))) return 'replace';
  if (before.connectivityEnabled !== undefined) return 'replace';
  return hasSame((spec) => spec.connectivity) && hasSame((spec) => spec.networkSelectors)
    ? 'none'
    : 'patch';
}

/** What a NetworkConnect says of itself. */
export interface TenantConnectStatus {
  readonly conditions: readonly [accepted: StatedCondition, connected: StatedCondition];
  readonly nodes: string | null;
  readonly reason: string | null;
}

/**
 * Nothing in it depends on what is at the other end, until somebody there has named this network: one that does not answer and one that is
 * not there look the same. `connect` is the pair's connection, if it is there.
 */
export function tenantConnectStatus(
  request: NetworkConnect,
  { refusals, pairs }: TenantConnectPlan,
  connect: ClusterNetworkConnect | undefined,
): TenantConnectStatus {
  const refusal = refusals.get(objectKey(request.metadata));
  const pair = requestedPair(request);
  const accepted: StatedCondition =
    refusal === undefined ? ACCEPTED : { type: 'Accepted', status: 'False', ...refusal };
  const outcome = pairs.get(pairKey(pair)) ?? { kind: 'one-sided' };
  const connected: StatedCondition =
    refusal === undefined ? connectedCondition(request, pair, outcome, connect) : NOT_ACCEPTED;
  const isInForce = refusal === undefined && outcome.kind === 'agreed';
  return {
    conditions: [accepted, connected],
    nodes: (isInForce ? connect?.status?.nodes : undefined) ?? null,
    reason: [accepted, connected].find(({ status }) => status !== 'True')?.reason ?? null,
  };
}

const ACCEPTED: StatedCondition = {
  type: 'Accepted',
  status: 'True',
  reason: 'ValidationSucceeded',
  message: 'The request counts',
};

const notConnected = (reason: string, message: string): StatedCondition => ({
  type: 'Connected',
  status: 'False',
  reason,
  message,
});

const NOT_ACCEPTED = notConnected('NotAccepted', 'The request does not count: see Accepted');

/** Reasons of a connection whose messages speak of its two networks alone. */
const OF_THE_PAIR = ['OverlappingNetworkSubnets', 'IPFamilyMismatch', 'UnsupportedNetworkType'];

function connectedCondition(
  request: NetworkConnect,
  pair: NetworkPair,
  outcome: PairOutcome,
  connect: ClusterNetworkConnect | undefined,
): StatedCondition {
  if (outcome.kind === 'one-sided')
    return notConnected(
      'PeerNotAgreed',
      `Nothing is connected until a NetworkConnect that counts, in namespace "${request.spec.peer.namespace}", has network "${request.spec.peer.network}" and names "${ownNetwork(request)}" as its peer`,
    );
  if (outcome.kind === 'refused') return notConnected(outcome.reason, outcome.message);
  const isAsPlanned =
    connect !== undefined && tenantConnectChange(connect, tenantConnect(pair, outcome)) === 'none';
  const { status } = connect ?? {};
  const accepted = conditionOf(status?.conditions, 'Accepted');
  if (!isAsPlanned || accepted === undefined)
    return notConnected('BeingConnected', 'Both sides agree, and the connection is being made');
  if (accepted.status !== 'True')
    return notConnected(
      accepted.reason,
      OF_THE_PAIR.includes(accepted.reason)
        ? accepted.message
        : `The connection can’t be made now; ClusterNetworkConnect ${connect.metadata.name} tells administrators why`,
    );
  if (status?.status !== 'Success')
    return notConnected(
      'NotProgrammed',
      `The connection is in the data plane of ${status?.nodes ?? '0'} nodes`,
    );
  const reach = outcome.types.map((type) => (type === 'PodNetwork' ? 'pods' : 'cluster IPs'));
  return {
    type: 'Connected',
    status: 'True',
    reason: 'Connected',
    message: `Connected with ${peerNetwork(request)}: ${reach.toSorted().join(' and ')} are reached`,
  };
}
