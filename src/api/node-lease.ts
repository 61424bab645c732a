/**
 * The heartbeat of a node's daemon: a Lease that it renews, as the kubelet renews that of its node. Beside the ZoneStatus, which says what
 * the daemon did last, it says that somebody keeps it true. Pure.
 */
import { leases } from './kinds.ts';
import type { KubeObject, ResourceKind } from './objects.ts';

export interface Lease extends KubeObject {
  readonly spec?: {
    /** Empty in a lease that was given up. */
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    /** RFC 3339, by the clock of the holder. */
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

export const LEASES = leases as ResourceKind<Lease>;

/** Namespace of these leases, wherever a daemon runs: who reads them may come with any namespace of his own. */
export const NODE_LEASE_NAMESPACE = 'heddle';

/** Which leases are followed. */
export const NODE_LEASES = { namespace: NODE_LEASE_NAMESPACE } as const;

const PREFIX = 'heddle-node-';

export const nodeLeaseName = (node: string): string => `${PREFIX}${node}`;

/** Whose heartbeat a lease is; undefined for leases of others. */
export const nodeOfLease = ({ metadata: { name, namespace } }: Lease): string | undefined =>
  namespace === NODE_LEASE_NAMESPACE && name.startsWith(PREFIX)
    ? name.slice(PREFIX.length)
    : undefined;

/** RFC 3339 with microseconds (`metav1.MicroTime`), of milliseconds since the epoch. */
export const microTime = (milliseconds: number): string =>
  new Date(milliseconds).toISOString().replace('Z', '000Z');

/** A heartbeat as it was written last. */
export interface Heartbeat {
  /** By the clock of the node, as written; `never` for what is no time. */
  readonly renewTime: string;
  /** The same in milliseconds since the epoch; 0 for what is no time. */
  readonly renewedAt: number;
  /** Milliseconds for which it counts. */
  readonly duration: number;
  /** The process that wrote it; empty once the daemon was stopped. */
  readonly holder: string;
  /** False once the daemon was stopped. */
  readonly isHeld: boolean;
}

export function heartbeatOf({ spec = {} }: Lease): Heartbeat {
  const { renewTime = 'never', leaseDurationSeconds = 0, holderIdentity = '' } = spec;
  const renewedAt = Date.parse(renewTime);
  return {
    renewTime: Number.isNaN(renewedAt) ? 'never' : renewTime.replace(/\.\d+Z$/, 'Z'),
    renewedAt: Number.isNaN(renewedAt) ? 0 : renewedAt,
    duration: leaseDurationSeconds * 1000,
    holder: holderIdentity,
    isHeld: holderIdentity !== '',
  };
}

/** What is reported in place of the state of a network on a node whose daemon is not there. */
export type DaemonAbsence = 'Stale' | 'no daemon';

/** Since when nobody keeps the node's zone, in words. */
export const absenceText = ({ renewTime, isHeld }: Heartbeat): string =>
  isHeld
    ? `no heartbeat of its daemon since ${renewTime}`
    : `its daemon was stopped at ${renewTime}`;

/** What it means that nobody keeps a node's zone, and what to look at. */
export const ABSENCE_MEANS =
  'its networks stay as they are, and nobody keeps them true; does "heddle node" run there?';
