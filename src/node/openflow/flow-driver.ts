/**
 * Keeps the flows of bridges as units want them: takes their rows as a reconciler of a database does, compares them with what the switch has,
 * applies the difference in bundles, each of which is done as a whole, and notices what others change. A start on right flows changes nothing.
 */
import type { RowOwner, RowTarget } from '../../desired/engine.ts';
import type { DesiredRow } from '../../desired/rows.ts';
import { isSame } from '../../facts/same.ts';
import { flowKey, OPENFLOW, type FlowColumns, type OpenFlowTable } from './flow-rows.ts';
import { Claims, type Wanted } from '../reconcile/claims.ts';
import { flowMonitor } from './flow-monitor.ts';
import {
  OUR_COOKIES,
  parseFlow,
  planFlows,
  unfloodedPorts,
  UNWANTED,
  type FlowChange,
  type FlowPlan,
  type FlowProblem,
  type FoundFlow,
} from './flow-plan.ts';
import { piecesOf } from './flow-pieces.ts';
import { FlowsRefused, OfctlError, type OfctlProgram } from './ofctl-program.ts';
import type { ProgramMonitor } from '../programs/program-monitor.ts';

/** Numbers by names of ports; `:uplink` for that by which a bridge reaches the network outside. */
export type PortNumbers = ReadonlyMap<string, string>;

/** Which bridges there are besides br-int, with their ports. Throws while that is not known. */
export interface BridgePorts {
  /** Another one after each change. */
  readonly sequence: number;
  read(): ReadonlyMap<string, PortNumbers>;
  /** Calls the listener with the names of bridges that changed themselves, or of which a port did. Returns what ends it. */
  follow(listener: (bridges: ReadonlySet<string>) => void): () => void;
}

export interface FlowDriverOptions {
  readonly ofctl: OfctlProgram;
  readonly ports: BridgePorts;
  /** Called when something may be another than it should be. */
  readonly onDrift?: () => void;
  /** Called when Open vSwitch may have ended. */
  readonly onSwitchLost?: () => void;
}

export interface AppliedFlows {
  readonly applied: number;
  /** One for each unit. */
  readonly refused: readonly FlowProblem[];
}

/** What the switch refused is left at that for this long, unless something else is wanted. */
const REFUSED_REST = 30_000;
/** A bridge that does not answer is left alone for this long. */
const UNANSWERED_REST = 5000;
/** The units at fault are looked for until this many bundles were refused: what was not tried by then is tried by the next plan. */
const MOST_REFUSED_BUNDLES = 64;
/** Without any event everything is looked at again after this time (reference/node.md §4.9). */
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

interface Refusal {
  readonly until: number;
  readonly commands: ReadonlySet<string>;
  readonly problem: FlowProblem;
}

interface Failure {
  readonly change: FlowChange;
  readonly error: string;
}

/** What became of a change so far. */
interface Progress {
  applied: number;
  /** Bundles that may still be refused. */
  refusals: number;
  readonly failures: Failure[];
}

const problemOf = (
  table: OpenFlowTable,
  key: string,
  unit: string,
  object: string | undefined,
  message: string,
): FlowProblem => ({ kind: 'refused', table, key, unit, object, message });

const unitOf = ({ bridge, unit }: FlowChange): string => `${bridge} ${unit}`;

/** A switch repeats in its errors what it was sent. */
const shortened = (error: string): string => error.split('\n', 1)[0]?.slice(0, 300) ?? '';

const bridgeOf = ({ columns }: DesiredRow): string =>
  (columns as unknown as Pick<FlowColumns, 'bridge'>).bridge;

export class FlowDriver implements RowTarget, Disposable {
  readonly database = OPENFLOW;
  readonly #options: FlowDriverOptions;
  /** What units want. */
  readonly claims = new Claims(bridgeOf);
  readonly #dumps = new Map<string, Dump>();
  /** Bridges that are read again before the next plan. */
  readonly #stale = new Set<string>();
  /** Why bridges could not be read. */
  readonly #unreachable = new Map<string, string>();
  /** By bridge and unit. */
  readonly #refused = new Map<string, Refusal>();
  /** Bridges that did not answer. */
  readonly #unanswered = new Map<string, Pick<Refusal, 'until' | 'problem'>>();
  readonly #monitors = new Map<string, ProgramMonitor>();
  #ports: ReadonlyMap<string, PortNumbers> = new Map();
  #stopFollowing: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isFollowing = false;
  #lastFull = -Infinity;
  /** Grows with each change of what is wanted or found. */
  #version = 0;
  #portsAt = -1;
  #planned:
    | { readonly version: number; readonly isComplete: boolean; readonly plan: FlowPlan }
    | undefined;

  constructor(options: FlowDriverOptions) {
    this.#options = options;
  }

  set(owner: RowOwner, wanted: readonly DesiredRow[]): void {
    this.#version += 1;
    this.claims.set(owner, wanted);
  }

  has(owner: RowOwner): boolean {
    return this.claims.has(owner);
  }

  /** Begins to hear of changes; who could not begin with the rest of the host begins again. */
  start(): void {
    this.#isFollowing = true;
    clearInterval(this.#timer);
    this.#timer = setInterval(() => this.#options.onDrift?.(), RESYNC);
    this.#timer.unref();
  }

  /** Brings what is known of the switch up to date. `now` in milliseconds of a monotonic clock. */
  async refresh(now: number): Promise<void> {
    const { ports } = this.#options;
    this.#follow();
    if (this.#portsAt !== ports.sequence) {
      this.#portsAt = ports.sequence;
      const read = ports.read();
      if (!isSame(this.#ports, read)) this.#version += 1;
      this.#ports = read;
    }
    if (now - this.#lastFull >= RESYNC) {
      this.#staleAll();
      this.#lastFull = now;
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

  /** What is to be done for what is known; `refresh` comes first. */
  plan(now: number, isComplete: boolean): FlowPlan {
    const plan = this.#fullPlan(isComplete);
    for (const resting of [this.#refused, this.#unanswered])
      for (const [key, { until }] of resting) if (until <= now) resting.delete(key);
    if (this.#refused.size + this.#unanswered.size === 0) return plan;
    const problems = [...plan.problems];
    const changes: FlowChange[] = [];
    for (const [key, all] of Map.groupBy(plan.changes, unitOf)) {
      const refusal = this.#refused.get(key);
      const isResting =
        refusal !== undefined && all.every(({ command }) => refusal.commands.has(command));
      if (isResting) problems.push(refusal.problem);
      else changes.push(...all.filter(({ bridge }) => !this.#unanswered.has(bridge)));
    }
    for (const { problem } of this.#unanswered.values()) problems.push(problem);
    return { ...plan, changes, isEmpty: changes.length === 0, problems };
  }

  /**
   * Applies a plan, a bridge after the other, in pieces. Of a piece that is refused the units at fault are found; they are left out of what
   * follows, and the others applied. `signal` ends it between two pieces.
   */
  async apply(plan: FlowPlan, now: number, signal?: AbortSignal): Promise<AppliedFlows> {
    const refused: FlowProblem[] = [];
    let applied = 0;
    for (const [bridge, changes] of Map.groupBy(plan.changes, (change) => change.bridge)) {
      // That it is there counts, not that it was asked for.
      this.#stale.add(bridge);
      const progress: Progress = { applied: 0, refusals: MOST_REFUSED_BUNDLES, failures: [] };
      try {
        await this.#applyOn(bridge, changes, progress, signal);
      } catch (error) {
        if (!(error instanceof OfctlError)) throw error;
        const message = `bridge ${bridge} did not take changes of its flows: ${shortened(error.message)}; is ovs-vswitchd busy, or gone?`;
        const problem = problemOf('port', bridge, UNWANTED, undefined, message);
        this.#unanswered.set(bridge, { until: now + UNANSWERED_REST, problem });
        refused.push(problem);
      }
      applied += progress.applied;
      for (const [unit, failures] of Map.groupBy(progress.failures, ({ change }) => unitOf(change)))
        refused.push(this.#refuse(unit, failures, now));
    }
    return { applied, refused };
  }

  /** Throws OfctlError when the switch does not answer: what it did is seen when it is read again. */
  async #applyOn(
    bridge: string,
    changes: readonly FlowChange[],
    progress: Progress,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const isOnFlow = (change: FlowChange): boolean => change.table === 'flow';
    for (const piece of piecesOf(changes.filter(isOnFlow))) {
      signal?.throwIfAborted();
      const atFault = new Map(progress.failures.map(({ change, error }) => [change.unit, error]));
      for (const change of piece) {
        const error = atFault.get(change.unit);
        if (error !== undefined) progress.failures.push({ change, error });
      }
      const tried = piece.filter(({ unit }) => !atFault.has(unit));
      await this.#bundle(bridge, tried, progress);
    }
    const ports = changes.filter((change) => !isOnFlow(change));
    await this.#setPorts(bridge, ports, progress);
  }

  /** What a unit can't have rests: one problem, whatever the number of flows. */
  #refuse(key: string, failures: readonly Failure[], now: number): FlowProblem {
    const { change, error } = failures[0] as Failure;
    const { bridge, table, unit, object } = change;
    const first = change.after ?? `the removal of ${change.before}`;
    const more =
      failures.length === 1 ? '' : ` and ${failures.length - 1} more changes of its flows`;
    const message = `bridge ${bridge} refused ${first}${more}: ${shortened(error)}`;
    const problem = problemOf(table, change.key, unit, object, message);
    const commands = new Set(failures.map((failure) => failure.change.command));
    this.#refused.set(key, { until: now + REFUSED_REST, commands, problem });
    return problem;
  }

  /** Hears of nothing any more; what there is stays. */
  [Symbol.dispose](): void {
    this.#isFollowing = false;
    clearInterval(this.#timer);
    this.#stopFollowing?.();
    for (const monitor of this.#monitors.values()) monitor[Symbol.dispose]();
    this.#monitors.clear();
  }

  /** The plan of everything; made again only when something is another than the last time. */
  #fullPlan(isComplete: boolean): FlowPlan {
    const known = this.#planned;
    if (known?.version === this.#version && known.isComplete === isComplete) return known.plan;
    const wanted = this.#wantedBridges();
    const changes: FlowChange[] = [];
    const problems: FlowProblem[] = [...this.#contests()];
    let heldBack = 0;
    // Who wants nothing wants to know that nothing is left.
    const unread = wanted.size === 0 && isComplete ? this.#unreachable.keys() : [];
    for (const bridge of new Set([...wanted, ...this.#dumps.keys(), ...unread])) {
      const rows = [...this.claims.winnersOf(bridge)];
      const dump = this.#dumps.get(bridge);
      if (dump === undefined) {
        problems.push(...this.#missing(bridge, rows));
        continue;
      }
      const ports = this.#ports.get(bridge);
      const numberOf = (name: string): string | undefined => ports?.get(name);
      const one = planFlows(bridge, { ...dump, numberOf }, rows, isComplete);
      changes.push(...one.changes);
      problems.push(...one.problems);
      heldBack += one.heldBack;
    }
    const plan = { isEmpty: changes.length === 0, changes, problems, heldBack };
    this.#planned = { version: this.#version, isComplete, plan };
    return plan;
  }

  #wantedBridges(): ReadonlySet<string> {
    return new Set(this.claims.groups());
  }

  *#contests(): Iterable<FlowProblem> {
    for (const { row, unit, winner } of this.claims.contests())
      yield {
        kind: 'name-taken',
        table: row.table as OpenFlowTable,
        key: row.key,
        unit,
        object: row.object,
        message: `flow ${row.key} is that of ${winner.object}`,
      };
  }

  /** A bridge that is not there is made by somebody else; one that can't be read is a problem. */
  *#missing(bridge: string, [first]: readonly Wanted[]): Iterable<FlowProblem> {
    const why = this.#unreachable.get(bridge);
    yield {
      kind: why === undefined ? 'awaited' : 'refused',
      table: 'port',
      key: bridge,
      unit: first?.owner.id ?? UNWANTED,
      object: first?.row.object,
      message:
        why === undefined
          ? `bridge ${bridge} is not there yet`
          : `flows of bridge ${bridge} can't be read: ${why}`,
    };
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
      this.#dumps.delete(bridge);
      this.#unreachable.set(bridge, error.message);
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

  #staleAll(): void {
    for (const bridge of this.#ports.keys()) this.#stale.add(bridge);
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
  async #bundle(bridge: string, changes: readonly FlowChange[], progress: Progress): Promise<void> {
    if (changes.length === 0 || progress.refusals <= 0) return;
    try {
      await this.#options.ofctl.bundle(
        bridge,
        changes.map(({ command }) => command),
      );
      progress.applied += changes.length;
    } catch (error) {
      if (!(error instanceof FlowsRefused)) throw error;
      progress.refusals -= 1;
      const units = [...new Set(changes.map(({ unit }) => unit))];
      if (units.length === 1) {
        for (const change of changes) progress.failures.push({ change, error: error.message });
        return;
      }
      const first = new Set(units.slice(0, units.length >> 1));
      for (const isFirst of [true, false])
        await this.#bundle(
          bridge,
          changes.filter(({ unit }) => first.has(unit) === isFirst),
          progress,
        );
    }
  }

  async #setPorts(
    bridge: string,
    changes: readonly FlowChange[],
    progress: Progress,
  ): Promise<void> {
    const setPort = async (change: FlowChange): Promise<void> => {
      try {
        await this.#options.ofctl.noFlood(bridge, change.command);
        progress.applied += 1;
      } catch (error) {
        if (!(error instanceof OfctlError)) throw error;
        progress.failures.push({ change, error: error.message });
      }
    };
    // A process per port: there is no bundle of these.
    for (let at = 0; at < changes.length; at += PORTS_AT_ONCE)
      await Promise.all(changes.slice(at, at + PORTS_AT_ONCE).map(setPort));
  }
}
