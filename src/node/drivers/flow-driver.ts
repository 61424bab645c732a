/**
 * Keeps the flows of bridges as units want them: takes their rows as a reconciler of a database does, compares them with what the switch has,
 * applies the difference as one bundle per bridge, and notices what others change. A start on right flows changes nothing.
 */
import type { RowOwner, RowTarget } from '../../desired/engine.ts';
import type { DesiredRow } from '../../desired/rows.ts';
import { isSame } from '../../desired/same.ts';
import { flowKey, OPENFLOW, type FlowColumns, type OpenFlowTable } from '../flow-rows.ts';
import { Claims, type Wanted } from './claims.ts';
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
import { OfctlError, type OfctlProgram } from './ofctl-program.ts';
import type { ProgramMonitor } from './program-monitor.ts';

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
}

export interface AppliedFlows {
  readonly applied: number;
  readonly refused: readonly FlowProblem[];
}

/** What the switch refused is left at that for this long, unless something else is wanted. */
const REFUSED_REST = 30_000;
/** Without any event everything is looked at again after this time (node.md §4.9). */
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
  readonly command: string;
  readonly problem: FlowProblem;
}

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
  readonly #refused = new Map<string, Refusal>();
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

  /** Begins to hear of changes. */
  start(): void {
    this.#isFollowing = true;
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
    const resting: FlowProblem[] = [];
    const changes = plan.changes.filter(({ key, command }) => {
      const refusal = this.#refused.get(key);
      if (refusal === undefined || refusal.until <= now || refusal.command !== command) return true;
      resting.push(refusal.problem);
      return false;
    });
    const problems = [...plan.problems, ...resting];
    return { ...plan, changes, isEmpty: changes.length === 0, problems };
  }

  /** Applies a plan: a bundle per bridge. Of one that is refused the units at fault are found, and the others applied. */
  async apply(plan: FlowPlan, now: number): Promise<AppliedFlows> {
    const refused: FlowProblem[] = [];
    let applied = 0;
    const isOnFlow = (change: FlowChange): boolean => change.table === 'flow';
    for (const [bridge, changes] of Map.groupBy(plan.changes, (change) => change.bridge)) {
      const units = [...Map.groupBy(changes.filter(isOnFlow), ({ unit }) => unit).values()];
      const failures = [
        ...(await this.#bundle(bridge, units)),
        ...(await this.#setPorts(
          bridge,
          changes.filter((change) => !isOnFlow(change)),
        )),
      ];
      for (const { change, error } of failures) {
        const { table, key, unit, object, command } = change;
        const message = `bridge ${bridge} refused ${change.after ?? `the removal of ${change.before}`}: ${error}`;
        const problem: FlowProblem = { kind: 'refused', table, key, unit, object, message };
        refused.push(problem);
        this.#refused.set(key, { until: now + REFUSED_REST, command, problem });
      }
      applied += changes.length - failures.length;
      // That it is there counts, not that it was asked for.
      this.#stale.add(bridge);
    }
    return { applied, refused };
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
    const monitor = flowMonitor(this.#options.ofctl, bridge, () => {
      this.#stale.add(bridge);
      this.#options.onDrift?.();
    });
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

  async #bundle(
    bridge: string,
    units: readonly (readonly FlowChange[])[],
  ): Promise<readonly { readonly change: FlowChange; readonly error: string }[]> {
    if (units.length === 0) return [];
    const changes = units.flat();
    try {
      // A flow that goes can have the match of one that comes.
      const order = ({ action }: FlowChange): number => (action === 'remove' ? 0 : 1);
      const lines = changes.toSorted((a, b) => order(a) - order(b)).map(({ command }) => command);
      await this.#options.ofctl.bundle(bridge, lines);
      return [];
    } catch (error) {
      if (!(error instanceof OfctlError)) throw error;
      if (units.length === 1) return changes.map((change) => ({ change, error: error.message }));
      const half = units.length >> 1;
      return [
        ...(await this.#bundle(bridge, units.slice(0, half))),
        ...(await this.#bundle(bridge, units.slice(half))),
      ];
    }
  }

  async #setPorts(
    bridge: string,
    changes: readonly FlowChange[],
  ): Promise<readonly { readonly change: FlowChange; readonly error: string }[]> {
    const failures: { readonly change: FlowChange; readonly error: string }[] = [];
    const setPort = async (change: FlowChange): Promise<void> => {
      try {
        await this.#options.ofctl.noFlood(bridge, change.command);
      } catch (error) {
        if (!(error instanceof OfctlError)) throw error;
        failures.push({ change, error: error.message });
      }
    };
    // A process per port: there is no bundle of these.
    for (let at = 0; at < changes.length; at += PORTS_AT_ONCE)
      await Promise.all(changes.slice(at, at + PORTS_AT_ONCE).map(setPort));
    return failures;
  }
}
