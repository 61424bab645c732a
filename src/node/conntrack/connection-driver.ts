/**
 * Has connections forgotten that lead where nobody answers, once the data plane sends nobody there any more. It does so beside the daemon's work:
 * the kernel goes through all connections for it, and who waits for a port must not wait for that.
 */
import type { RowOwner, RowTarget } from '../../desired/engine.ts';
import type { DesiredRow } from '../../desired/rows.ts';
import {
  CONNECTIONS,
  staleConnections,
  type ConnectionRow,
  type StaleConnections,
} from './service-connections.ts';
import type { Target } from '../exposed-services.ts';
import { problemOf, type HostProblem } from '../reconcile/host-plan.ts';
import { errorText } from '../../api/error-text.ts';

/** What could not be forgotten is left at that for this long. */
const REFUSED_REST = 30_000;
/** More than these do not wait: what else becomes stale meanwhile times out by itself. */
export const MOST_STALE = 10_000;
/** So many are forgotten before those that follow. */
const AT_ONCE = 1024;

/** Who tracks connections: the kernel, or Open vSwitch itself. */
export interface ConnectionTracker {
  /** Throws where they can't be forgotten, and soon after `signal` aborts. */
  forgetServices(stale: readonly StaleConnections[], signal: AbortSignal): Promise<void>;
}

interface Stale extends StaleConnections {
  readonly unit: string;
}

const keyOf = (protocol: string, { address, port }: Target, endpoint = ''): string =>
  `${protocol} ${address} ${port} ${endpoint}`;

export class ConnectionDriver implements RowTarget, AsyncDisposable {
  readonly database = CONNECTIONS;
  readonly #trackers: readonly ConnectionTracker[];
  readonly #onChange: () => void;
  readonly #settled: (signal: AbortSignal) => Promise<void>;
  readonly #rows = new Map<RowOwner, readonly ConnectionRow[]>();
  /** By the rows' keys. */
  readonly #owners = new Map<string, Set<RowOwner>>();
  /** Stale since the data plane was as wanted last. */
  readonly #waiting = new Map<string, Stale>();
  /** Nobody is sent there any more. */
  readonly #ready = new Map<string, Stale>();
  /** The last one that was too many, and how many those were. */
  #left: { readonly stale: Stale; readonly count: number } | undefined;
  readonly #stop = new AbortController();
  #forgetting: Promise<void> | undefined;
  /** Of what is there at our start nobody knows since when: looking for connections to all of it costs more than it is worth. */
  #isFollowing = false;
  #refusal: { readonly until: number; readonly reason: string } | undefined;

  /**
   * `onChange`: called when there is a problem, or none any more. `settled` resolves when no packet goes by flows that the data plane had before the call;
   * it throws where that can't be known, as `forgetServices` does.
   */
  constructor(
    trackers: readonly ConnectionTracker[],
    onChange: () => void = () => undefined,
    settled: (signal: AbortSignal) => Promise<void> = async () => undefined,
  ) {
    this.#trackers = trackers;
    this.#onChange = onChange;
    this.#settled = settled;
  }

  set(owner: RowOwner, rows: readonly DesiredRow[]): void {
    const wanted = rows as readonly ConnectionRow[];
    const before = this.#rows.get(owner);
    this.#keepAgain(wanted);
    if (before !== undefined || this.#isFollowing)
      for (const one of staleConnections(before ?? [], wanted, (key) =>
        this.#isElsewhere(key, owner),
      ))
        this.#add({ ...one, unit: owner.id });
    for (const { key } of before ?? []) {
      const owners = this.#owners.get(key);
      owners?.delete(owner);
      if (owners?.size === 0) this.#owners.delete(key);
    }
    for (const { key } of wanted)
      this.#owners.set(key, (this.#owners.get(key) ?? new Set()).add(owner));
    if (wanted.length === 0) this.#rows.delete(owner);
    else this.#rows.set(owner, wanted);
  }

  #add(stale: Stale): void {
    const key = keyOf(stale.protocol, stale.destination, stale.endpoint);
    if (this.#waiting.size + this.#ready.size < MOST_STALE) this.#waiting.set(key, stale);
    else if (!this.#waiting.has(key)) this.#left = { stale, count: (this.#left?.count ?? 0) + 1 };
  }

  /** Connections to what is served again may be new ones; those of UDP begin anew by themselves. */
  #keepAgain(wanted: readonly ConnectionRow[]): void {
    if (this.#waiting.size + this.#ready.size === 0) return;
    for (const { columns } of wanted) {
      const { protocol, destinations } = columns;
      if (protocol === 'udp') continue;
      for (const destination of destinations)
        for (const stale of [this.#waiting, this.#ready])
          stale.delete(keyOf(protocol, destination));
    }
  }

  /** A service may be on several networks, each of them an owner. */
  #isElsewhere(key: string, than: RowOwner): boolean {
    const owners = this.#owners.get(key);
    return owners !== undefined && (owners.size > 1 || !owners.has(than));
  }

  has(owner: RowOwner): boolean {
    return this.#rows.has(owner);
  }

  /**
   * Begins to forget what is stale. To be called when the data plane is as wanted: before, a packet that is under way would be tracked again.
   * Resolves when nothing is being forgotten any more. `now` in milliseconds of a monotonic clock; `until` ends it, and what is left is for the
   * next time.
   */
  async forget(now: number, until?: AbortSignal): Promise<void> {
    this.#isFollowing = true;
    for (const [key, stale] of this.#waiting) this.#ready.set(key, stale);
    this.#waiting.clear();
    if (this.#ready.size === 0 || (this.#refusal?.until ?? 0) > now) return;
    this.#forgetting ??= this.#forgetAll(now, until).finally(() => (this.#forgetting = undefined));
    await this.#forgetting;
  }

  /** Resolves when nothing is being forgotten. */
  async idle(): Promise<void> {
    await this.#forgetting;
  }

  async #forgetAll(now: number, until?: AbortSignal): Promise<void> {
    const stop = this.#stop.signal;
    const signal = until === undefined ? stop : AbortSignal.any([stop, until]);
    const wasRefused = this.#refusal !== undefined;
    while (this.#ready.size > 0 && !signal.aborted) {
      const batch = [...this.#ready.entries().take(AT_ONCE)];
      try {
        await this.#settled(signal);
        signal.throwIfAborted();
        // What is served again meanwhile has new ones.
        const stale = batch.flatMap(([key, one]) => (this.#ready.get(key) === one ? one : []));
        for (const tracker of this.#trackers) await tracker.forgetServices(stale, signal);
      } catch (error) {
        if (signal.aborted) return;
        // Whoever runs this is waited for by nobody: what else is wrong is reported the same way.
        this.#refusal = { until: now + REFUSED_REST, reason: errorText(error) };
        if (!wasRefused) this.#onChange();
        return;
      }
      for (const [key, one] of batch) if (this.#ready.get(key) === one) this.#ready.delete(key);
    }
    const hadProblem = wasRefused || this.#left !== undefined;
    this.#refusal = undefined;
    this.#left = undefined;
    if (hadProblem) this.#onChange();
  }

  problems(): readonly HostProblem[] {
    const [first] = this.#ready.values();
    const problems: HostProblem[] = [];
    if (this.#refusal !== undefined && first !== undefined) {
      const more = this.#ready.size === 1 ? '' : ` and ${this.#ready.size - 1} others`;
      problems.push(
        refused(
          first,
          `connections to ${textOf(first)}${more}, where nobody answers, can't be forgotten: ${this.#refusal.reason}; clients that go on to use them get no answer until they time out`,
        ),
      );
    }
    if (this.#left !== undefined)
      problems.push(
        refused(
          this.#left.stale,
          `connections to ${textOf(this.#left.stale)} are not forgotten, nor are ${this.#left.count - 1} others, as ${MOST_STALE} wait for that: clients that go on to use them get no answer until they time out`,
        ),
      );
    return problems;
  }

  /** Ends what is under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.idle();
  }
}

const textOf = ({ destination: { address, port } }: Stale): string => `${address} port ${port}`;

const refused = ({ unit, object, destination }: Stale, message: string): HostProblem => {
  const key = `${destination.address} ${destination.port}`;
  return problemOf('refused', { table: 'port', key, unit, object }, message);
};
