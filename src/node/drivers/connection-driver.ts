/** Has connections forgotten that lead where nobody answers, once the data plane sends nobody there any more. */
import type { RowOwner, RowTarget } from '../../desired/engine.ts';
import type { DesiredRow } from '../../desired/rows.ts';
import { CONNECTIONS, staleConnections, type StaleConnections } from '../service-connections.ts';
import { ConntrackError } from './conntrack.ts';

export interface ConnectionProblem {
  readonly kind: 'refused';
  readonly table: string;
  readonly key: string;
  readonly unit: string;
  readonly object: string | undefined;
  readonly message: string;
}

/** What could not be forgotten is left at that for this long. */
const REFUSED_REST = 30_000;

/** Who tracks connections: the kernel, or Open vSwitch itself. */
export interface ConnectionTracker {
  /** Throws ConntrackError. */
  forgetService(stale: StaleConnections): Promise<void>;
}

interface Stale extends StaleConnections {
  readonly unit: string;
}

export class ConnectionDriver implements RowTarget {
  readonly database = CONNECTIONS;
  readonly #trackers: readonly ConnectionTracker[];
  readonly #rows = new Map<RowOwner, readonly DesiredRow[]>();
  /** By the rows' keys. */
  readonly #owners = new Map<string, Set<RowOwner>>();
  #stale: Stale[] = [];
  /** Of what is there at our start nobody knows since when: looking for connections to all of it costs more than it is worth. */
  #isFollowing = false;
  #refusal: { readonly until: number; readonly reason: string } | undefined;

  constructor(trackers: readonly ConnectionTracker[]) {
    this.#trackers = trackers;
  }

  set(owner: RowOwner, wanted: readonly DesiredRow[]): void {
    const before = this.#rows.get(owner);
    if (before !== undefined || this.#isFollowing)
      for (const one of staleConnections(before ?? [], wanted, (key) =>
        this.#isElsewhere(key, owner),
      ))
        this.#stale.push({ ...one, unit: owner.id });
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

  /** A service may be on several networks, each of them an owner. */
  #isElsewhere(key: string, than: RowOwner): boolean {
    const owners = this.#owners.get(key);
    return owners !== undefined && (owners.size > 1 || !owners.has(than));
  }

  has(owner: RowOwner): boolean {
    return this.#rows.has(owner);
  }

  /** To be called when the data plane is as wanted: before, a packet that is under way would be tracked again. `now` in milliseconds of a monotonic clock. */
  async forget(now: number): Promise<void> {
    this.#isFollowing = true;
    if (this.#stale.length === 0 || (this.#refusal?.until ?? 0) > now) return;
    this.#refusal = undefined;
    while (this.#stale[0] !== undefined) {
      try {
        for (const tracker of this.#trackers) await tracker.forgetService(this.#stale[0]);
      } catch (error) {
        if (!(error instanceof ConntrackError)) throw error;
        this.#refusal = { until: now + REFUSED_REST, reason: error.message };
        return;
      }
      this.#stale.shift();
    }
  }

  problems(): readonly ConnectionProblem[] {
    const [first] = this.#stale;
    if (this.#refusal === undefined || first === undefined) return [];
    const { object, unit, destination } = first;
    const { address, port } = destination;
    return [
      {
        kind: 'refused',
        table: 'port',
        key: `${address} ${port}`,
        unit,
        object,
        message: `connections to ${address} port ${port}, where nobody answers, can't be forgotten: ${this.#refusal.reason}; clients that go on to use them get no answer until they time out`,
      },
    ];
  }
}
