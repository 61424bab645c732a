/** What became of a declared network, and the conditions that say so (reference/api.md §4.5). Pure. */
import type { DaemonAbsence } from '../../api/node-lease.ts';
import type { ZoneNetworkStatus } from '../../api/zone-status.ts';
import type { StatedCondition } from '../../store/status-writer.ts';
import type { NetworkObject } from '../../api/nad/network-spec.ts';

export interface NetworkProblem {
  readonly namespace: string;
  /** Undefined = the general reason of the object's kind. */
  readonly reason?: string;
  readonly message: string;
}

export interface NetworkOutcome {
  /** Namespaces whose NAD is as it should be, sorted. */
  readonly ready: readonly string[];
  /** NADs on their way out, `<namespace>/<name>`. */
  readonly deleting: readonly string[];
  readonly problems: readonly NetworkProblem[];
  /** Ranges that the network does not have, as the object has them: those can be taken back. */
  readonly refusedSubnets?: readonly string[];
  /** Generation of the object that this became of. */
  readonly generation?: number | undefined;
}

/** A NAD that somebody deleted stays for as long as its network: the pods on it need it. */
const COMES_BACK =
  ': pods on the network go on; to have it whole again end them, delete the object, and create it anew';

/** Condition `NetworkCreated`. */
export function networkCreated(
  kind: NetworkObject['kind'],
  { ready, deleting, problems }: NetworkOutcome,
): StatedCondition {
  const type = 'NetworkCreated';
  const isCluster = kind === 'ClusterUserDefinedNetwork';
  if (problems.length > 0) {
    const general = isCluster ? 'NetworkAttachmentDefinitionSyncError' : 'SyncError';
    const reasons = new Set(problems.map(({ reason }) => reason ?? general));
    const [only = general] = reasons;
    return {
      type,
      status: 'False',
      reason: reasons.size === 1 ? only : general,
      message: [...new Set(problems.map(({ message }) => message))].join('\n'),
    };
  }
  if (deleting.length > 0)
    return {
      type,
      status: 'False',
      reason: 'NetworkAttachmentDefinitionDeleted',
      message: isCluster
        ? `NetworkAttachmentDefinition are being deleted: [${deleting.join(' ')}]${COMES_BACK}`
        : `NetworkAttachmentDefinition is being deleted${COMES_BACK}`,
    };
  return {
    type,
    status: 'True',
    reason: 'NetworkAttachmentDefinitionCreated',
    message: isCluster
      ? `NetworkAttachmentDefinition has been created in following namespaces: [${ready.join(', ')}]`
      : 'NetworkAttachmentDefinition has been created',
  };
}

/**
 * Condition `TransportAccepted` of a ClusterUserDefinedNetwork that asks for a transport: both that there are need routes that
 * RouteAdvertisements bring, which this release does not have. Undefined for Geneve tunnels.
 */
export function transportAccepted(object: NetworkObject): StatedCondition | undefined {
  const transport =
    object.kind === 'ClusterUserDefinedNetwork' ? object.spec.network.transport : undefined;
  return transport === undefined
    ? undefined
    : {
        type: 'TransportAccepted',
        status: 'False',
        reason: 'RouteAdvertisementsNotEnabled',
        message: `RouteAdvertisements feature is not enabled but required for ${transport} transport.`,
      };
}

/**
 * Condition `PrimaryNetworkConflict` (reference/api.md §4.5): somebody made a NAD that wants to be a primary network of a namespace of this one, too.
 * The network goes on; the NAD is left alone. Undefined while there is none.
 */
export function primaryNetworkConflict(nads: readonly string[]): StatedCondition | undefined {
  return nads.length === 0
    ? undefined
    : {
        type: 'PrimaryNetworkConflict',
        status: 'True',
        reason: 'ConflictingPrimaryNetwork',
        message: `conflicting primary NetworkAttachmentDefinition is left alone, remove it: [${nads.toSorted().join(' ')}]`,
      };
}

/** Condition `NetworkAllocationSucceeded`; names one node that failed, as the events name all of them. */
export function networkAllocationSucceeded(failing: Iterable<string>): StatedCondition {
  const [node] = [...failing].toSorted();
  const type = 'NetworkAllocationSucceeded';
  return node === undefined
    ? {
        type,
        status: 'True',
        reason: 'NetworkAllocationSucceeded',
        message: 'Network allocation succeeded for all synced nodes.',
      }
    : {
        type,
        status: 'False',
        reason: 'InternalError',
        message: `Network allocation failed for at least one node: ${node}, check UDN events for more info.`,
      };
}

/** What one node reports of a network; without a state, that it has not reported yet. */
export interface ZoneReport {
  readonly node: string;
  readonly state?: ZoneNetworkStatus['state'] | DaemonAbsence;
  readonly message?: string;
  /** What a proof found there that no object wants. */
  readonly violations?: number;
}

/** `2/3`: nodes whose data plane has the network, of those that use it; undefined while no node has reported it. */
export function nodesText(reports: readonly ZoneReport[]): string | undefined {
  if (reports.every(({ state }) => state === undefined)) return undefined;
  const using = reports.filter(({ state }) => state !== 'Unused');
  return `${using.filter(({ state }) => state === 'Programmed').length}/${using.length}`;
}

/** Reason of the first condition that is not as it should be. */
export const reasonOf = (conditions: readonly StatedCondition[]): string | undefined =>
  conditions.find(
    ({ type, status }) => status === (type === 'PrimaryNetworkConflict' ? 'True' : 'False'),
  )?.reason;

/** A condition's message has an end (32,768 characters), a cluster's nodes may not. */
const NODES_NAMED = 20;

const andMore = (count: number): string =>
  count > NODES_NAMED ? ` and ${count - NODES_NAMED} more` : '';

/**
 * Condition `NetworkReady` (reference/api.md §4.5): true when every node that renders the network reports it in the data plane;
 * undefined while no node has reported it.
 */
export function networkReady(reports: readonly ZoneReport[]): StatedCondition | undefined {
  if (reports.every(({ state }) => state === undefined)) return undefined;
  const sorted = reports.toSorted((a, b) => (a.node < b.node ? -1 : 1));
  const waiting = sorted.filter(({ state }) => state !== 'Programmed' && state !== 'Unused');
  const type = 'NetworkReady';
  if (waiting.length === 0) {
    const users = sorted.filter(({ state }) => state === 'Programmed').map(({ node }) => node);
    const named = users.slice(0, NODES_NAMED).join(', ');
    return {
      type,
      status: 'True',
      reason: 'NetworkInDataPlane',
      message:
        users.length === 0
          ? 'No node uses the network yet: a node gets its rows with the first pod on it.'
          : `Network is in the data plane of every node that uses it: [${named}]${andMore(users.length)}`,
    };
  }
  const lines = waiting
    .slice(0, NODES_NAMED)
    .map(({ node, state = 'no report yet', message }) =>
      message === undefined ? `${node}: ${state}` : `${node}: ${state}: ${message}`,
    );
  return {
    type,
    status: 'False',
    reason: 'NetworkNotInDataPlane',
    message: `${lines.join('\n')}${andMore(waiting.length)}`,
  };
}

/**
 * Condition `NetworkIsolated`: false while a node's proof (heddle verify) finds a way into the network or out of it that no object wants; undefined
 * otherwise, as not every node need look. Names of others are in the ZoneStatus alone: tenants read this.
 */
export function networkIsolated(reports: readonly ZoneReport[]): StatedCondition | undefined {
  const found = reports.filter(({ violations = 0 }) => violations > 0).map(({ node }) => node);
  if (found.length === 0) return undefined;
  const named = found.toSorted().slice(0, NODES_NAMED).join(', ');
  return {
    type: 'NetworkIsolated',
    status: 'False',
    reason: 'IsolationViolated',
    message: `something leads into the network, or out of it, that no object wants, on: [${named}]${andMore(found.length)}; the administrator finds what in the ZoneStatus of these nodes`,
  };
}
