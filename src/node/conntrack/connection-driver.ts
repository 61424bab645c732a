/**
 * Has connections forgotten that lead where nobody answers, or leave with a wrong source, once the data plane has what is new. It does so beside the daemon's work:
 * the kernel goes through all connections for it, and who waits for a port must not wait for that.
 */
import type { RowOwner, RowTarget } from '../../desired/engine.ts';
import type { DesiredRow } from '../../desired/rows.ts';
import {
  bothStale,
  sourceConnections,
  sourceKey,
  staleSources,
  type NodeColumns,
  type NodesRow,
  type SourceConnections,
  type SourceRow,
  type StaleSource,
} from './egress-connections.ts';
import { staleHops, type HopConnections, type HopRow, type StaleHop } from './hop-connections.ts';
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
  /** The same of connections that are answered by way of next hops. */
  forgetHops(stale: readonly HopConnections[], signal: AbortSignal): Promise<void>;
  /** The same of connections of pods that leave with a wrong source. */
  forgetSources(stale: readonly SourceConnections[], signal: AbortSignal): Promise<void>;
}

/** MAC addresses of next hops. */
export interface HopMacs {
  /** Looks who they are now, and asks for those that are not known. Throws where that can't be. */
  learn(hops: Iterable<{ readonly hop: string; readonly device: string }>): void;
  /** As it was known last. */
  macOf(hop: string): string | undefined;
}

type Stale = (StaleConnections | StaleHop | StaleSource) & { readonly unit: string };
type Row = ConnectionRow | HopRow | SourceRow | NodesRow;

const isOfHop = (stale: Stale): stale is Stale & StaleHop => 'hop' in stale;
const isOfSource = (stale: Stale): stale is Stale & StaleSource => 'isServed' in stale;
const isOfService = (stale: Stale): stale is Stale & StaleConnections => 'destination' in stale;

const isHopRow = (row: Row): row is HopRow => row.table === 'hop';
const isPortRow = (row: Row): row is ConnectionRow => row.table === 'port';
const isSourceRow = (row: Row): row is SourceRow => row.table === 'source';
const isNodesRow = (row: Row): row is NodesRow => row.table === 'nodes';

const serviceKey = (protocol: string, { address, port }: Target, endpoint = ''): string =>
  `${protocol} ${address} ${port} ${endpoint}`;
const hopKey = ({ source, hop }: Pick<StaleHop, 'source' | 'hop'>): string => `${source} ${hop}`;
const keyOf = (stale: Stale): string => {
  if (isOfHop(stale)) return hopKey(stale);
  if (isOfSource(stale)) return `source ${sourceKey(stale)}`;
  return serviceKey(stale.protocol, stale.destination, stale.endpoint);
};

export class ConnectionDriver implements RowTarget, AsyncDisposable {
  readonly database = CONNECTIONS;
  readonly #trackers: readonly ConnectionTracker[];
  readonly #onChange: () => void;
  readonly #settled: (signal: AbortSignal) => Promise<void>;
  readonly #rows = new Map<RowOwner, readonly Row[]>();
  /** Of those the ones of next hops, without what has none. */
  readonly #hops = new Map<RowOwner, readonly HopRow[]>();
  /** As they were known last: before, nobody can tell which sources are right. */
  #nodes: NodeColumns | undefined;
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
  readonly #macs: HopMacs;
  /** Why it is not known by which MAC addresses next hops are reached. */
  #unlearned: string | undefined;
  #refusal: { readonly until: number; readonly reason: string } | undefined;

  /**
   * `onChange`: called when there is a problem, or none any more. `settled` resolves when no packet goes by flows that the data plane had before the call;
   * it throws where that can't be known, as `forgetServices` does. `macs` knows next hops.
   */
  constructor(
    trackers: readonly ConnectionTracker[],
    onChange: () => void = () => undefined,
    settled: (signal: AbortSignal) => Promise<void> = async () => undefined,
    macs: HopMacs = { learn: () => undefined, macOf: () => undefined },
  ) {
    this.#macs = macs;
    this.#trackers = trackers;
    this.#onChange = onChange;
    this.#settled = settled;
  }

  set(owner: RowOwner, rows: readonly DesiredRow[]): void {
    const wanted = rows as readonly Row[];
    const before = this.#rows.get(owner);
    this.#keepAgain(wanted);
    if (before !== undefined || this.#isFollowing)
      for (const one of [
        ...staleConnections((before ?? []).filter(isPortRow), wanted.filter(isPortRow), (key) =>
          this.#isElsewhere(key, owner),
        ),
        ...staleHops((before ?? []).filter(isHopRow), wanted.filter(isHopRow)),
      ])
        this.#add({ ...one, unit: owner.id });
    // Of what is there at our start, too: what is right is known by its source.
    for (const one of staleSources((before ?? []).filter(isSourceRow), wanted.filter(isSourceRow)))
      this.#addSource({ ...one, unit: owner.id });
    this.#nodes = wanted.find(isNodesRow)?.columns ?? this.#nodes;
    for (const { key } of before ?? []) {
      const owners = this.#owners.get(key);
      owners?.delete(owner);
      if (owners?.size === 0) this.#owners.delete(key);
    }
    for (const { key } of wanted)
      this.#owners.set(key, (this.#owners.get(key) ?? new Set()).add(owner));
    if (wanted.length === 0) this.#rows.delete(owner);
    else this.#rows.set(owner, wanted);
    const hops = wanted.filter(isHopRow);
    if (hops.length === 0) this.#hops.delete(owner);
    else this.#hops.set(owner, hops);
  }

  #add(stale: Stale): void {
    const key = keyOf(stale);
    if (this.#waiting.size + this.#ready.size < MOST_STALE) this.#waiting.set(key, stale);
    else if (!this.#waiting.has(key)) this.#left = { stale, count: (this.#left?.count ?? 0) + 1 };
  }

  #addSource(stale: Stale & StaleSource): void {
    const key = keyOf(stale);
    const earlier = this.#waiting.get(key) ?? this.#ready.get(key);
    for (const all of [this.#waiting, this.#ready]) all.delete(key);
    this.#add(
      earlier !== undefined && isOfSource(earlier)
        ? { ...bothStale(earlier, stale), unit: stale.unit }
        : stale,
    );
  }

  /** Connections to what is served again may be new ones; those of UDP begin anew by themselves. */
  #keepAgain(wanted: readonly Row[]): void {
    if (this.#waiting.size + this.#ready.size === 0) return;
    const keep = (key: string): void => {
      for (const stale of [this.#waiting, this.#ready]) stale.delete(key);
    };
    for (const row of wanted) {
      if (isHopRow(row)) {
        keep(hopKey(row.columns));
        continue;
      }
      if (!isPortRow(row)) continue;
      const { protocol, destinations } = row.columns;
      if (protocol === 'udp') continue;
      for (const destination of destinations) keep(serviceKey(protocol, destination));
    }
  }

  /** Next hops of rows, and those that go. */
  #learn(): void {
    const hops = new Map<string, { readonly hop: string; readonly device: string }>();
    for (const { columns } of [...this.#hops.values()].flat()) hops.set(columns.hop, columns);
    for (const stale of this.#ready.values()) if (isOfHop(stale)) hops.set(stale.hop, stale);
    if (hops.size > 0) this.#macs.learn(hops.values());
  }

  /** Those of hops whose MAC address no hop has that the pod still leaves by. Of one that nobody on the host ever reached nothing is known. */
  #connectionsBy(stale: readonly StaleHop[]): readonly HopConnections[] {
    if (stale.length === 0) return [];
    const left = new Set<string>();
    for (const { columns } of [...this.#hops.values()].flat())
      left.add(`${columns.source} ${this.#macs.macOf(columns.hop) ?? ''}`);
    return stale.flatMap(({ source, hop }) => {
      const mac = this.#macs.macOf(hop);
      return mac === undefined || left.has(`${source} ${mac}`) ? [] : [{ source, mac }];
    });
  }

  #connectionsOf(stale: readonly StaleSource[]): readonly SourceConnections[] {
    const nodes = this.#nodes;
    if (nodes === undefined) return [];
    const all = new Set(nodes.all);
    return stale
      .map((one) => sourceConnections(one, nodes, all))
      .filter(({ wrong }) => wrong.length > 0);
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
    for (const [key, stale] of this.#waiting) {
      if (isOfSource(stale) && this.#nodes === undefined) continue;
      this.#waiting.delete(key);
      this.#ready.set(key, stale);
    }
    this.#orUnlearned(() => this.#learn());
    if (this.#ready.size === 0 || (this.#refusal?.until ?? 0) > now) return;
    this.#forgetting ??= this.#forgetAll(now, until).finally(() => (this.#forgetting = undefined));
    await this.#forgetting;
  }

  #orUnlearned(learn: () => void): void {
    const before = this.#unlearned;
    this.#unlearned = undefined;
    try {
      learn();
    } catch (error) {
      this.#unlearned = errorText(error);
    }
    if (before !== this.#unlearned) this.#onChange();
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
        const [services, byHops, bySources] = [
          stale.filter(isOfService),
          this.#connectionsBy(stale.filter(isOfHop)),
          this.#connectionsOf(stale.filter(isOfSource)),
        ];
        for (const tracker of this.#trackers) {
          if (services.length > 0) await tracker.forgetServices(services, signal);
          if (byHops.length > 0) await tracker.forgetHops(byHops, signal);
          if (bySources.length > 0) await tracker.forgetSources(bySources, signal);
        }
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
          `connections ${textOf(first)}${more}${isOfSource(first) ? '' : ', where nobody answers,'} can't be forgotten: ${this.#refusal.reason}; ${consequence(first)}`,
        ),
      );
    }
    if (this.#left !== undefined)
      problems.push(
        refused(
          this.#left.stale,
          `connections ${textOf(this.#left.stale)} are not forgotten, nor are ${this.#left.count - 1} others, as ${MOST_STALE} wait for that: ${consequence(this.#left.stale)}`,
        ),
      );
    const [[owner, rows] = []] = this.#hops;
    const row = rows?.[0];
    if (this.#unlearned !== undefined && owner !== undefined && row !== undefined)
      problems.push(
        problemOf(
          'refused',
          { table: 'hop', key: row.key, unit: owner.id, object: row.object },
          `it is not known by which MAC addresses next hops are reached: ${this.#unlearned}; when one goes, connections that are answered by way of it are not forgotten`,
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

const consequence = (stale: Stale): string => {
  if (!isOfSource(stale)) return 'clients that go on to use them get no answer until they time out';
  return stale.isServed
    ? 'those that it began before leave with an earlier egress address, or not at all, until they end'
    : 'those that it began before leave with an egress address, or not at all, until they end';
};

const textOf = (stale: Stale): string => {
  if (isOfHop(stale)) return `of ${stale.source} by way of ${stale.hop}`;
  if (isOfSource(stale)) return `of ${stale.source}`;
  return `to ${stale.destination.address} port ${stale.destination.port}`;
};

const placeOf = (stale: Stale): { readonly table: string; readonly key: string } => {
  if (isOfHop(stale)) return { table: 'hop', key: hopKey(stale) };
  if (isOfSource(stale)) return { table: 'source', key: sourceKey(stale) };
  return { table: 'port', key: `${stale.destination.address} ${stale.destination.port}` };
};

const refused = (stale: Stale, message: string): HostProblem => {
  const { unit, object } = stale;
  return problemOf('refused', { ...placeOf(stale), unit, object }, message);
};
