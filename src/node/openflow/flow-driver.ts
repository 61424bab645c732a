/**
 * Keeps the flows of bridges as units want them: takes their rows as a reconciler of a database does, compares them with what the switch has,
 * applies the difference in bundles, each of which is done as a whole, and notices what others change. A start on right flows changes nothing.
 */
import { isSame } from '../../facts/same.ts';
import { flowKey, OPENFLOW, type OpenFlowRow } from './flow-rows.ts';
import { Claims, type Contest, type Wanted } from '../reconcile/claims.ts';
import { HostDriver, type HostEvents, type Written } from '../reconcile/host-driver.ts';
import {
  problemOf,
  wantedBy,
  wantedByNobody,
  type Difference,
  type HostPlan,
  type HostProblem,
  type MayBeWanted,
} from '../reconcile/host-plan.ts';
import { Refusals, tryHalves, type Halving, type Refused } from '../reconcile/refusals.ts';
import type { BridgePorts, PortNumbers } from './bridge-ports.ts';
import { FENCE_OPEN, isFenceFlow } from './egress-fence.ts';
import { flowMonitor } from './flow-monitor.ts';
import {
  OUR_COOKIES,
  parseFlow,
  planFlows,
  unfloodedPorts,
  type FlowChange,
  type FoundFlow,
} from './flow-plan.ts';
import { isOfNewBridge } from './first-flows.ts';
import { piecesOf } from './flow-pieces.ts';
import { numberedFlow, type NumberedFlow } from './numbered-flow.ts';
import { PIPELINE } from './pipeline.ts';
import { isReferenceFlow } from './reference-flows.ts';
import { FlowsRefused, OfctlError, type OfctlProgram } from './ofctl-program.ts';
import type { ProgramMonitor } from '../programs/program-monitor.ts';

export interface FlowDriverOptions extends Pick<HostEvents, 'onDrift'> {
  readonly ofctl: OfctlProgram;
  readonly ports: BridgePorts;
  /** What an ovn-kubernetes left on our bridges goes. */
  readonly takesOver?: boolean;
  /** Called when Open vSwitch may have ended. */
  readonly onSwitchLost?: () => void;
  /** True while that it has ended is told of the node: what of its bridges can't be read says nothing more. */
  readonly isSwitchDown?: () => boolean;
  /**
   * True while egress addresses may be used: their fence is open from the moment at which something has to pass it. `isNew`: flows that a release before, or an
   * ovn-kubernetes, left have none yet; a bridge that has just been made has nothing to go on.
   */
  readonly mayOpenFence?: (isNew: boolean) => boolean;
}

/** A bridge that does not answer is left alone for this long. */
const UNANSWERED_REST = 5000;
/** The units at fault are looked for until this many bundles were refused: what was not tried by then is tried by the next plan. */
const MOST_REFUSED_BUNDLES = 64;
/** A bridge that was read before may be that of a switch that is started again; one that is down is told of the node before this. */
const RESTART_GRACE = 20_000;
/** Of everything (reference/node.md §4.9). */
const RESYNC = 15_000;

const PORTS_AT_ONCE = 8;

interface FoundLine {
  readonly key: string;
  readonly flow: FoundFlow;
}

function foundLine(line: string): FoundLine | undefined {
  const flow = parseFlow(line);
  return flow === undefined ? undefined : { key: flowKey(flow), flow };
}

/** What was read of a bridge. */
interface Dump {
  /** By the lines that were read: most are the same the next time. */
  readonly lines: ReadonlyMap<string, FoundLine>;
  readonly flows: ReadonlyMap<string, FoundFlow>;
  readonly noFlood: ReadonlySet<string>;
}

/** A flow, and who wants it. */
export interface WantedFlow extends NumberedFlow, Wanted<OpenFlowRow> {
  readonly bridge: string;
}

interface Unreachable {
  readonly why: string;
  readonly problemFrom: number;
}

interface Unanswered {
  readonly until: number;
  readonly problem: HostProblem;
}

/** A bridge that is not there is made by somebody else. */
function missing(bridge: string, [first]: readonly Wanted[]): HostProblem {
  const whose = first === undefined ? wantedByNobody() : wantedBy(first);
  const place = { table: 'port', key: bridge };
  return problemOf('awaited', { ...whose, ...place }, `bridge ${bridge} is not there yet`);
}

const unitOf = ({ bridge, unit }: FlowChange): string => `${bridge} ${unit}`;

/** A switch repeats in its errors what it was sent. */
const shortened = (error: string): string => error.split('\n', 1)[0]?.slice(0, 300) ?? '';

export class FlowDriver extends HostDriver<OpenFlowRow, FlowChange> {
  readonly database = OPENFLOW;
  readonly title = 'flows';
  readonly #options: FlowDriverOptions;
  readonly #dumps = new Map<string, Dump>();
  /** Bridges that are read again before the next plan. */
  readonly #stale = new Set<string>();
  /** Why bridges could not be read, and from when on that is a problem. */
  readonly #unreachable = new Map<string, Unreachable>();
  /** Bridges that did not answer. */
  readonly #unanswered = new Map<string, Unanswered>();
  readonly #monitors = new Map<string, ProgramMonitor>();
  #ports: ReadonlyMap<string, PortNumbers> = new Map();
  #stopFollowing: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isFollowing = false;
  /** Grows with each change of what was found. */
  #version = 0;
  /** When the state was looked at last. */
  #readAt = 0;
  #portsAt = -1;
  /** Flows name ports by numbers: with other ones others are wanted. */
  #portsVersion = 0;

  constructor(options: FlowDriverOptions) {
    super({
      resync: RESYNC,
      refusals: new Refusals(unitOf),
      claims: new Claims(({ columns }) => columns.bridge),
    });
    this.#options = options;
  }

  /** Subscribes to changes; who could not begin with the rest of the host begins again. */
  start(): void {
    this.#isFollowing = true;
    clearInterval(this.#timer);
    this.#timer = setInterval(() => this.#options.onDrift?.(), RESYNC);
    this.#timer.unref();
  }

  override async refresh(now: number): Promise<void> {
    this.#readAt = now;
    await super.refresh(now);
  }

  protected staleAll(): void {
    for (const bridge of this.#ports.keys()) this.#stale.add(bridge);
  }

  protected async read(): Promise<void> {
    const { ports } = this.#options;
    this.#follow();
    if (this.#portsAt !== ports.sequence) {
      this.#portsAt = ports.sequence;
      const read = ports.read();
      if (!isSame(this.#ports, read)) {
        this.#version += 1;
        this.#portsVersion += 1;
      }
      this.#ports = read;
    }
    const wanted = this.#wantedBridges();
    for (const bridge of new Set([
      ...this.#dumps.keys(),
      ...this.#unreachable.keys(),
      ...this.#monitors.keys(),
    ]))
      if (!this.#ports.has(bridge)) this.#forget(bridge);
    for (const bridge of this.#ports.keys()) {
      const isKnown = this.#dumps.has(bridge) || this.#unreachable.has(bridge);
      if (isKnown && !this.#stale.has(bridge)) continue;
      // Others' bridges are looked at for flows that we left there.
      await this.#read(bridge, wanted.has(bridge));
      if (wanted.has(bridge)) this.#watch(bridge);
    }
  }

  override plan(now: number, mayBeWanted?: MayBeWanted): HostPlan<FlowChange> {
    for (const [bridge, { until }] of this.#unanswered)
      if (until <= now) this.#unanswered.delete(bridge);
    const plan = super.plan(now, mayBeWanted);
    const unanswered = [...this.#unanswered.values()].map(({ problem }) => problem);
    return { ...plan, problems: [...plan.problems, ...this.#unread(now), ...unanswered] };
  }

  protected override possible(
    all: readonly FlowChange[],
    resting: ReadonlySet<FlowChange>,
  ): readonly FlowChange[] {
    if (resting.size + this.#unanswered.size === 0) return all;
    return all.filter((change) => !resting.has(change) && !this.#unanswered.has(change.bridge));
  }

  /**
   * A bridge after the other, in pieces. Of a piece that is refused the units at fault are found; they are left out of what
   * follows, and the others applied. `signal` ends it between two pieces.
   */
  protected async write(
    planned: readonly FlowChange[],
    now: number,
    signal?: AbortSignal,
  ): Promise<Written<FlowChange>> {
    const problems: HostProblem[] = [];
    const refused: Refused<FlowChange>[] = [];
    let applied = 0;
    for (const [bridge, changes] of Map.groupBy(planned, (change) => change.bridge)) {
      // That it is there counts, not that it was asked for.
      this.#stale.add(bridge);
      const progress: Halving<FlowChange> = {
        attempt: (all) => this.#bundle(bridge, all),
        refusalsLeft: MOST_REFUSED_BUNDLES,
        applied: 0,
        refused: [],
      };
      try {
        await this.#applyOn(bridge, changes, progress, signal);
      } catch (error) {
        if (!(error instanceof OfctlError)) throw error;
        const problem = problemOf(
          'refused',
          { ...wantedByNobody(), table: 'port', key: bridge },
          `bridge ${bridge} did not take changes of its flows: ${shortened(error.message)}; is ovs-vswitchd busy, or gone?`,
        );
        this.#unanswered.set(bridge, { until: now + UNANSWERED_REST, problem });
        problems.push(problem);
      }
      applied += progress.applied;
      refused.push(...progress.refused);
    }
    return { applied, refused, problems };
  }

  /** One problem, whatever the number of flows. */
  protected override refusedText([{ change, reason }, ...others]: readonly [
    Refused<FlowChange>,
    ...Refused<FlowChange>[],
  ]): string {
    const first = change.after ?? `the removal of ${change.before}`;
    const more = others.length === 0 ? '' : ` and ${others.length} more changes of its flows`;
    return `bridge ${change.bridge} refused ${first}${more}: ${shortened(reason)}`;
  }

  /** Throws OfctlError when the switch does not answer: what it did is seen when it is read again. */
  async #applyOn(
    bridge: string,
    changes: readonly FlowChange[],
    progress: Halving<FlowChange>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const isOnFlow = (change: FlowChange): boolean => change.table === 'flow';
    for (const piece of piecesOf(changes.filter(isOnFlow))) {
      signal?.throwIfAborted();
      const atFault = new Map(progress.refused.map(({ change, reason }) => [change.unit, reason]));
      for (const change of piece) {
        const reason = atFault.get(change.unit);
        if (reason !== undefined) progress.refused.push({ change, reason });
      }
      const tried = piece.filter(({ unit }) => !atFault.has(unit));
      const units = [...Map.groupBy(tried, ({ unit }) => unit).values()];
      await tryHalves(units, progress);
    }
    const ports = changes.filter((change) => !isOnFlow(change));
    await this.#setPorts(bridge, ports, progress);
  }

  /** Flows that units want, with the numbers that ports had at the last look. */
  *wantedFlows(): Iterable<WantedFlow> {
    const numbers = this.#portNumbers;
    for (const bridge of this.claims.groups()) {
      const ports = numbers.get(bridge);
      const numberOf = (name: string): string | undefined => ports?.get(name);
      for (const { row, owner } of this.claims.winnersOf(bridge)) {
        if (row.table !== 'flow') continue;
        const numbered = numberedFlow(row.columns, numberOf);
        if (numbered !== undefined) yield { bridge, ...numbered, row, owner };
      }
    }
  }

  /** Number of a port of a bridge at the last look. */
  portNumber(bridge: string, name: string): string | undefined {
    return this.#portNumbers.get(bridge)?.get(name);
  }

  /** As they were at the last look; now, where there was none. */
  get #portNumbers(): ReadonlyMap<string, PortNumbers> {
    return this.#portsAt < 0 ? this.#options.ports.read() : this.#ports;
  }

  /** Hears of nothing any more; what there is stays. */
  [Symbol.dispose](): void {
    this.#isFollowing = false;
    clearInterval(this.#timer);
    this.#stopFollowing?.();
    for (const monitor of this.#monitors.values()) monitor[Symbol.dispose]();
    this.#monitors.clear();
  }

  override get wantedVersion(): string {
    return `${super.wantedVersion} ${this.#portsVersion}`;
  }

  protected get foundVersion(): string {
    return String(this.#version);
  }

  protected compare(): Difference<FlowChange> {
    const wanted = this.#wantedBridges();
    const changes: FlowChange[] = [];
    const problems: HostProblem[] = [];
    for (const bridge of new Set([...wanted, ...this.#dumps.keys()])) {
      if (this.#unreachable.has(bridge)) continue;
      const rows = [...this.claims.winnersOf(bridge)];
      const dump = this.#dumps.get(bridge);
      if (dump === undefined) {
        problems.push(missing(bridge, rows));
        continue;
      }
      const ports = this.#ports.get(bridge);
      const numberOf = (name: string): string | undefined => ports?.get(name);
      const one = planFlows(
        bridge,
        {
          ...dump,
          numberOf,
          ...(this.#options.takesOver === true ? { isTakenOver: isReferenceFlow } : {}),
        },
        rows,
      );
      changes.push(...one.changes);
      problems.push(...one.problems);
    }
    return { changes, problems };
  }

  protected contestText({ row, winner }: Contest<OpenFlowRow>): string {
    return `flow ${row.key} is that of ${winner.object}`;
  }

  #wantedBridges(): ReadonlySet<string> {
    return new Set(this.claims.groups());
  }

  /** Bridges that can't be read are a problem of the node, not of who wants their first flow. */
  #unread(now: number): readonly HostProblem[] {
    if (this.#options.isSwitchDown?.() === true) return [];
    const wanted = this.#wantedBridges();
    return [...this.#unreachable].flatMap(([bridge, { why, problemFrom }]) =>
      // Who wants nothing wants to know that nothing is left.
      now < problemFrom || (wanted.size > 0 && !wanted.has(bridge))
        ? []
        : [
            problemOf(
              'refused',
              { ...wantedByNobody(), table: 'port', key: bridge },
              `flows of bridge ${bridge} can't be read: ${why}; see whether ovs-vswitchd runs, and its log`,
            ),
          ],
    );
  }

  async #read(bridge: string, isWanted: boolean): Promise<void> {
    const { ofctl } = this.#options;
    this.#stale.delete(bridge);
    this.#version += 1;
    try {
      const lines = isWanted
        ? await ofctl.flows(bridge)
        : (await Promise.all(OUR_COOKIES.map((cookie) => ofctl.flows(bridge, cookie)))).flat();
      const before = this.#dumps.get(bridge)?.lines;
      const parsed = new Map<string, FoundLine>();
      const flows = new Map<string, FoundFlow>();
      for (const line of lines) {
        const one = before?.get(line) ?? foundLine(line);
        if (one === undefined) continue;
        parsed.set(line, one);
        flows.set(one.key, one.flow);
      }
      const noFlood = isWanted ? unfloodedPorts(await ofctl.ports(bridge)) : new Set<string>();
      this.#dumps.set(bridge, { lines: parsed, flows, noFlood });
      this.#unreachable.delete(bridge);
    } catch (error) {
      // Open vSwitch has not made it, or is not there: another look comes with the next event.
      if (!(error instanceof OfctlError)) throw error;
      const problemFrom = this.#dumps.delete(bridge)
        ? this.#readAt + RESTART_GRACE
        : (this.#unreachable.get(bridge)?.problemFrom ?? this.#readAt);
      this.#unreachable.set(bridge, { why: error.message, problemFrom });
    }
  }

  #watch(bridge: string): void {
    if (!this.#isFollowing || this.#monitors.has(bridge)) return;
    const monitor = flowMonitor(
      this.#options.ofctl,
      bridge,
      () => {
        this.#stale.add(bridge);
        this.#options.onDrift?.();
      },
      () => this.#options.onSwitchLost?.(),
    );
    // Where it can't be started it is tried again.
    monitor.start().catch(() => undefined);
    this.#monitors.set(bridge, monitor);
  }

  #forget(bridge: string): void {
    this.#dumps.delete(bridge);
    this.#unreachable.delete(bridge);
    this.#monitors.get(bridge)?.[Symbol.dispose]();
    this.#monitors.delete(bridge);
  }

  /** A port that was made again has another number; a bridge that was made again has no flows. */
  #follow(): void {
    if (!this.#isFollowing || this.#stopFollowing !== undefined) return;
    this.#stopFollowing = this.#options.ports.follow((bridges) => {
      for (const bridge of bridges) this.#stale.add(bridge);
      this.#options.onDrift?.();
    });
  }

  /** Throws OfctlError when the switch does not answer. */
  async #bundle(bridge: string, changes: readonly FlowChange[]): Promise<string | undefined> {
    const { mayOpenFence } = this.#options;
    const opens = changes.some((one) => isFenceFlow(one) && one.action !== 'remove');
    const lines = [
      ...(opens && mayOpenFence?.(this.#hasNoFence(bridge)) === true ? [FENCE_OPEN] : []),
      ...changes.map(({ command }) => command),
    ];
    try {
      await this.#options.ofctl.bundle(bridge, lines);
      return undefined;
    } catch (error) {
      if (error instanceof FlowsRefused) return error.message;
      throw error;
    }
  }

  #hasNoFence(bridge: string): boolean {
    const found = [...(this.#dumps.get(bridge)?.flows.values() ?? [])];
    return (
      found.every(({ table }) => table !== PIPELINE.fence.id) &&
      !found.every((flow) => isOfNewBridge(flow))
    );
  }

  async #setPorts(
    bridge: string,
    changes: readonly FlowChange[],
    progress: Halving<FlowChange>,
  ): Promise<void> {
    const setPort = async (change: FlowChange): Promise<void> => {
      try {
        await this.#options.ofctl.noFlood(bridge, change.command);
        progress.applied += 1;
      } catch (error) {
        if (!(error instanceof OfctlError)) throw error;
        progress.refused.push({ change, reason: error.message });
      }
    };
    // A process per port: there is no bundle of these.
    for (let at = 0; at < changes.length; at += PORTS_AT_ONCE)
      await Promise.all(changes.slice(at, at + PORTS_AT_ONCE).map(setPort));
  }
}
