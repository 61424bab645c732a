/** Whether the daemons of nodes are there, for people, and what a node's report is worth by that. Pure. */
import { absenceText, heartbeatOf, type DaemonAbsence, type Lease } from '../api/node-lease.ts';
import type { NetworkState, ZoneProblem } from '../api/zone-status.ts';

/** Whether somebody keeps a node's zone. */
export interface DaemonOverview {
  readonly state: 'running' | DaemonAbsence;
  /** The last heartbeat, by the node's clock; absent where there never was one: nobody is missed there. */
  readonly heartbeat?: string;
  /** Why nobody keeps it; absent where a daemon runs or nobody is missed. */
  readonly message?: string;
}

/** When an overview is made, and what whoever makes it knows better than the stored heartbeats. */
export interface OverviewTime {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Node whose daemon makes the overview. */
  readonly running?: string;
  /** Node whose daemon is known to have ended: nobody listens on its socket. */
  readonly ended?: string;
}

/** A daemon by its heartbeat, whose age is told by the clocks of both machines: nobody has watched it. */
export function daemonOverview(
  node: string,
  lease: Lease | undefined,
  { now, running, ended }: OverviewTime,
): DaemonOverview {
  const heartbeat = lease && heartbeatOf(lease);
  const known = heartbeat === undefined ? {} : { heartbeat: heartbeat.renewTime };
  if (node === running) return { state: 'running', ...known };
  if (node === ended)
    return { state: 'no daemon', ...known, message: 'nobody listens on its socket: it has ended' };
  if (heartbeat === undefined) return { state: 'no daemon' };
  const age = now - heartbeat.renewedAt;
  if (!heartbeat.isHeld) return { state: 'no daemon', ...known, message: absenceText(heartbeat) };
  if (age < heartbeat.duration) return { state: 'running', ...known };
  return {
    state: 'Stale',
    ...known,
    message: `${absenceText(heartbeat)}, ${Math.round(age / 1000)} s ago by the clock of this machine`,
  };
}

/** Milliseconds by which clocks of two machines may differ without a word. */
export const CLOCKS = 60_000;

/** That a heartbeat is too far in the future to tell anything, if so: a daemon that ended would be taken for one that runs. */
export function clockProblem(
  node: string,
  lease: Lease,
  { now, running, ended }: OverviewTime,
): ZoneProblem | undefined {
  const { isHeld, renewTime, renewedAt } = heartbeatOf(lease);
  if (!isHeld || node === running || node === ended || renewedAt - now <= CLOCKS) return undefined;
  return {
    object: `Node ${node}`,
    message: `whether its daemon runs can't be told: its heartbeat of ${renewTime} is in ${Math.round((renewedAt - now) / 1000)} s by the clock of this machine; set the clock of ${node}, or that of this machine`,
  };
}

interface Reported {
  readonly state: NetworkState;
  readonly message?: string;
}

export interface StateNow {
  readonly state: NetworkState | DaemonAbsence | 'Unknown';
  readonly message?: string;
}

/** The state of something on a node: as reported, unless the daemon that keeps it is missed. */
export function stateNow(
  found: Reported | undefined,
  daemon: DaemonOverview | undefined,
): StateNow {
  const isUsed = found !== undefined && found.state !== 'Unused';
  if (isUsed && daemon !== undefined && daemon.state !== 'running' && daemon.message !== undefined)
    return { state: daemon.state, message: `${daemon.message}; it was ${found.state}` };
  return {
    state: found?.state ?? 'Unknown',
    ...(found?.message === undefined ? {} : { message: found.message }),
  };
}
