/**
 * Which nodes' daemons are there, by whether their leases are renewed: as Kubernetes judges nodes, by when this process saw the last
 * renewal, on its own monotonic clock. No time of day is compared with another one.
 */
import {
  absenceText,
  heartbeatOf,
  nodeOfLease,
  type DaemonAbsence,
  type Heartbeat,
  type Lease,
} from '../../api/node-lease.ts';
import type { Clock } from '../../store/clock.ts';
import type { ObjectView } from '../../store/informer.ts';

/** Milliseconds between two looks. */
const LOOK = 5000;

/** What a node's reports are worth nothing for. */
export interface AbsentDaemon {
  readonly state: DaemonAbsence;
  readonly message: string;
}

const absentSince = (heartbeat: Heartbeat): AbsentDaemon => ({
  state: heartbeat.isHeld ? 'Stale' : 'no daemon',
  message: absenceText(heartbeat),
});

/** What the ZoneStatus of a node says in place of its daemon. */
export const reportOf = ({ state, message }: AbsentDaemon): string => `${state}: ${message}`;

export interface NodeHeartbeatsOptions {
  readonly leases: ObjectView<Lease>;
  /** False while the leases can't be read: then silence says nothing of the nodes. */
  readonly isReadable: () => boolean;
  readonly clock: Clock;
  /** What the node's ZoneStatus says in place of its daemon, if anything. */
  readonly reported: (node: string) => string | undefined;
  /** A node's daemon is gone, or is there again. */
  readonly onChange: (node: string) => void;
}

interface Seen {
  heartbeat: Heartbeat;
  /** On our clock. */
  at: number;
  absent: AbsentDaemon | undefined;
}

export class NodeHeartbeats {
  readonly #options: NodeHeartbeatsOptions;
  readonly #seen = new Map<string, Seen>();
  #lookedAt: number;
  /** Nobody is judged before this, on our clock. */
  #patientUntil = 0;

  constructor(options: NodeHeartbeatsOptions) {
    this.#options = options;
    this.#lookedAt = options.clock.monotonic();
  }

  /** Follows the leases until `signal` aborts. */
  follow(signal: AbortSignal): void {
    const { leases, clock } = this.#options;
    leases.onChange(({ before, after }) => {
      const lease = after ?? before;
      const node = lease && nodeOfLease(lease);
      if (node === undefined) return;
      if (after === undefined) this.#forget(node);
      else this.#renewed(node, heartbeatOf(after));
    });
    this.#lookedAt = clock.monotonic();
    const again = (): void => {
      if (signal.aborted) return;
      this.#look();
      cancel = clock.after(LOOK, again);
    };
    let cancel = clock.after(LOOK, again);
    signal.addEventListener('abort', () => cancel(), { once: true });
  }

  /** Why what a node reported is not to be relied on; undefined where its daemon is there, or never reported. */
  absent(node: string): AbsentDaemon | undefined {
    return this.#seen.get(node)?.absent;
  }

  /** The process that was the daemon of a node last; empty where it was stopped. */
  holder(node: string): string | undefined {
    return this.#seen.get(node)?.heartbeat.holder;
  }

  /** Milliseconds since the daemon of a node was heard last; undefined where it never was. */
  age(node: string): number | undefined {
    const seen = this.#seen.get(node);
    return seen && this.#options.clock.monotonic() - seen.at;
  }

  /** Milliseconds since the daemon of each node was heard last. */
  ages(): ReadonlyMap<string, number> {
    const now = this.#options.clock.monotonic();
    return new Map([...this.#seen].map(([node, { at }]) => [node, now - at]));
  }

  /** The nodes whose daemons are gone, by name. */
  absentees(): readonly (readonly [node: string, absent: AbsentDaemon])[] {
    return [...this.#seen]
      .flatMap(([node, { absent }]) => (absent === undefined ? [] : [[node, absent] as const]))
      .sort(([a], [b]) => (a < b ? -1 : 1));
  }

  #renewed(node: string, heartbeat: Heartbeat): void {
    const now = this.#options.clock.monotonic();
    const known = this.#seen.get(node);
    if (known === undefined) {
      this.#seen.set(node, { heartbeat, at: now, absent: undefined });
      // The manager before us missed the daemon since this very heartbeat: it is not forgotten while we wait for the next one.
      if (this.#options.reported(node) === reportOf(absentSince(heartbeat)))
        this.#judge(node, true);
      return;
    }
    known.heartbeat = heartbeat;
    known.at = now;
    // A daemon that was stopped is missed as late as one that died: most are back before that.
    if (heartbeat.isHeld) this.#judge(node, false);
  }

  #forget(node: string): void {
    const wasAbsent = this.absent(node) !== undefined;
    this.#seen.delete(node);
    if (wasAbsent) this.#options.onChange(node);
  }

  #look(): void {
    const { clock, isReadable } = this.#options;
    const now = clock.monotonic();
    // This process stood still.
    const hasJumped = now - this.#lookedAt > 2 * LOOK;
    this.#lookedAt = now;
    const longest = Math.max(
      0,
      ...[...this.#seen.values()].map(({ heartbeat }) => heartbeat.duration),
    );
    if (hasJumped || !isReadable()) this.#patientUntil = now + longest;
    for (const [node, seen] of this.#seen) {
      if (now >= this.#patientUntil && now - seen.at > seen.heartbeat.duration)
        this.#judge(node, true);
    }
  }

  #judge(node: string, isAbsent: boolean): void {
    const seen = this.#seen.get(node);
    if (seen === undefined || (seen.absent !== undefined) === isAbsent) return;
    seen.absent = isAbsent ? absentSince(seen.heartbeat) : undefined;
    this.#options.onChange(node);
  }
}
