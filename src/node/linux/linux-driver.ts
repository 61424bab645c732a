/**
 * Keeps the network stack as units want it: takes their rows as a reconciler of a database does, compares them with what the kernel has,
 * applies the difference, and notices what others change.
 */
import type { RowOwner, RowTarget } from '../../desired/engine.ts';
import type { DesiredRow } from '../../desired/rows.ts';
import { LINUX, type LinuxTable } from './linux-rows.ts';
import { PROTOCOL } from '../numbers.ts';
import { idOf } from '../reconcile/claims.ts';
import { IpMonitor, type Stale } from './ip-monitor.ts';
import type { IpFamily, IpProgram } from '../programs/ip-program.ts';
import { linuxClaims, LinuxPlanner } from './linux-plan.ts';
import type { LinuxChange, LinuxPlan, LinuxProblem } from './linux-change.ts';
import { LinuxState } from './linux-state.ts';
import type { Sysctls } from './kernel-sysctls.ts';

export interface LinuxDriverOptions {
  readonly ip: IpProgram;
  readonly sysctls: Sysctls;
  /** Called when something may be another than it should be. */
  readonly onDrift?: () => void;
  /** Called with what went wrong with hearing of changes, in words. */
  readonly onTrouble?: (text: string) => void;
}

export interface AppliedPlan {
  /** Objects that were added, changed or removed. */
  readonly applied: number;
  readonly refused: readonly LinuxProblem[];
}

/** What the kernel refused is left at that for this long, unless devices change or something else is wanted. */
const REFUSED_REST = 30_000;
/** Without any event everything is looked at again after this time (reference/node.md §7.1: VRFs each 60 s). */
const RESYNC = 60_000;

interface Refusal {
  readonly until: number;
  /** What was wanted. */
  readonly after: string | undefined;
  readonly problem: LinuxProblem;
}

export class LinuxDriver implements RowTarget, Disposable {
  readonly database = LINUX;
  readonly #options: LinuxDriverOptions;
  readonly #state: LinuxState;
  /** What units want. */
  readonly claims = linuxClaims();
  readonly #planner = new LinuxPlanner();
  readonly #refused = new Map<string, Refusal>();
  /** Objects that were made anew, and until when that is enough. */
  readonly #renewed = new Map<string, number>();
  #planned:
    | { readonly version: number; readonly isComplete: boolean; readonly plan: LinuxPlan }
    | undefined;
  /** Links to other network namespaces that were announced, and of which nobody wants anything. */
  readonly #outward = new Set<string>();
  /** Devices of which somebody wants something, at a version of the claims. */
  #wanted: { readonly version: number; readonly devices: ReadonlySet<string> } = {
    version: -1,
    devices: new Set(),
  };
  #monitor: IpMonitor | undefined;
  #lastFull = -Infinity;

  constructor(options: LinuxDriverOptions) {
    this.#options = options;
    this.#state = new LinuxState(options.ip, PROTOCOL);
  }

  set(owner: RowOwner, wanted: readonly DesiredRow[]): void {
    this.claims.set(owner, wanted);
    this.#planned = undefined;
  }

  has(owner: RowOwner): boolean {
    return this.claims.has(owner);
  }

  /** Begins to hear of changes. Throws when `ip` is not there, or is too old. */
  async start(): Promise<void> {
    const { ip, onDrift, onTrouble } = this.#options;
    await ip.check();
    this.#monitor?.[Symbol.dispose]();
    this.#monitor = new IpMonitor({
      program: ip.program,
      protocol: PROTOCOL,
      onStale: (stale) => {
        if (this.#isOfOthers(stale)) return;
        this.#state.stale(stale);
        onDrift?.();
      },
      ...(onTrouble === undefined ? {} : { onTrouble }),
    });
    await this.#monitor.start();
  }

  /** How often events of the kernel were lost. */
  get overruns(): number {
    return this.#monitor?.overruns ?? 0;
  }

  /** Brings what is known of the kernel up to date. `now` in milliseconds of a monotonic clock. */
  async refresh(now: number): Promise<void> {
    if (now - this.#lastFull >= RESYNC) {
      this.#state.stale({ kind: 'all' });
      this.#lastFull = now;
    }
    this.#followedDevices();
    // What was refused for want of a device may be possible now.
    if (await this.#state.refresh()) this.#refused.clear();
  }

  /** What is to be done for what is known; `refresh` comes first. */
  plan(now: number, isComplete: boolean): LinuxPlan {
    const full = this.#fullPlan(isComplete);
    const plan = {
      ...full,
      changes: full.changes.filter(
        (change) => change.isRenewal !== true || (this.#renewed.get(idOf(change)) ?? 0) <= now,
      ),
    };
    const resting = new Map<string, LinuxProblem>();
    for (const change of plan.changes) {
      const refusal = this.#refused.get(idOf(change));
      if (refusal !== undefined && refusal.until > now && refusal.after === change.after)
        resting.set(idOf(change), refusal.problem);
    }
    // What comes after something that is refused waits with it.
    const blocked = new Map<string, number>();
    for (const change of plan.changes)
      if (resting.has(idOf(change)) && !blocked.has(change.unit))
        blocked.set(change.unit, change.stage);
    const changes = plan.changes.filter(
      (change) =>
        !resting.has(idOf(change)) && !(change.stage > (blocked.get(change.unit) ?? Infinity)),
    );
    return {
      ...plan,
      changes,
      isEmpty: changes.length === 0,
      problems: [...this.#contests(), ...plan.problems, ...resting.values()],
    };
  }

  /** Applies a plan, stage by stage. What a unit was refused ends what comes after it for that unit; others go on. */
  async apply(plan: LinuxPlan, now: number): Promise<AppliedPlan> {
    const refused: LinuxProblem[] = [];
    const failed = new Set<string>();
    let applied = 0;
    const stages = [...Map.groupBy(plan.changes, ({ stage }) => stage)].sort(([a], [b]) => a - b);
    for (const [, all] of stages) {
      const changes = all.filter(({ unit, action }) => action === 'remove' || !failed.has(unit));
      const errors = await this.#run(changes);
      for (const [index, change] of changes.entries()) {
        const error = errors[index];
        // The kernel made the rule meanwhile, as it does with the first VRF.
        const isThere = change.table === 'rule' && change.action === 'add' && error === FILE_EXISTS;
        if (error === undefined || isThere) {
          applied += 1;
          if (change.isRenewal === true) this.#renewed.set(idOf(change), now + REFUSED_REST);
          continue;
        }
        const problem = refusedProblem(change, error);
        refused.push(problem);
        failed.add(change.unit);
        this.#refused.set(idOf(change), {
          until: now + REFUSED_REST,
          after: change.after,
          problem,
        });
      }
      this.#touched(changes);
    }
    return { applied, refused };
  }

  /** Hears of nothing any more; what there is stays. */
  [Symbol.dispose](): void {
    this.#monitor?.[Symbol.dispose]();
  }

  /** True for what happens to links to other network namespaces of which nobody wants anything: pods have one each, and come and go all the time. */
  #isOfOthers(stale: Stale): boolean {
    if (stale.kind === 'all') this.#outward.clear();
    if (stale.kind !== 'link' && stale.kind !== 'sysctls') return false;
    const { dev } = stale;
    const isWanted = this.#followedDevices().has(dev);
    if (stale.kind === 'sysctls') return !isWanted && dev !== 'all' && dev !== 'default';
    if (stale.isOutward === 'there' && !isWanted) this.#outward.add(dev);
    if (stale.isOutward === 'held') this.#outward.delete(dev);
    const isOfOthers = this.#outward.has(dev);
    if (stale.isOutward === 'gone') this.#outward.delete(dev);
    return isOfOthers;
  }

  /** Devices of which somebody wants something. One that nobody wanted until now was not followed: it is read again. */
  #followedDevices(): ReadonlySet<string> {
    const { version } = this.claims;
    if (this.#wanted.version === version) return this.#wanted.devices;
    const devices = new Set<string>();
    for (const { row } of this.claims.winners()) {
      const { dev, name } = row.columns as { readonly dev?: string; readonly name?: string };
      for (const one of [dev, name]) if (one !== undefined) devices.add(one);
    }
    for (const dev of this.#outward)
      if (devices.has(dev)) {
        this.#outward.delete(dev);
        this.#state.stale({ kind: 'link', dev });
      }
    this.#wanted = { version, devices };
    return devices;
  }

  /** The plan of everything; made again only when something is another than the last time. */
  #fullPlan(isComplete: boolean): LinuxPlan {
    const { version, links, routes, connected, rules, neighbours } = this.#state;
    const known = this.#planned;
    if (known?.version === version && known.isComplete === isComplete) return known.plan;
    const sysctl = (path: string): string | undefined => this.#sysctl(path);
    const found = { links, routes, connected, rules, neighbours, sysctl };
    const plan = this.#planner.plan(found, this.claims, isComplete);
    this.#planned = { version, isComplete, plan };
    return plan;
  }

  *#contests(): Iterable<LinuxProblem> {
    for (const { row, unit, winner } of this.claims.contests())
      yield {
        kind: 'name-taken',
        table: row.table as LinuxTable,
        key: row.key,
        unit,
        object: row.object,
        message: `${row.table} ${row.key} is that of ${winner.object}; rename one of them`,
      };
  }

  #sysctl(path: string): string | undefined {
    const { sysctls } = this.#state;
    if (!sysctls.has(path)) sysctls.set(path, this.#read(path));
    return sysctls.get(path);
  }

  /** What can't be read is no value that anybody wants: why it can't be written either is a problem of who wants it. */
  #read(path: string): string | undefined {
    try {
      return this.#options.sysctls.read(path);
    } catch (error) {
      return `unreadable (${(error as Error).message})`;
    }
  }

  /** Runs the commands of changes of one stage; returns why each failed, or undefined. */
  async #run(changes: readonly LinuxChange[]): Promise<(string | undefined)[]> {
    const errors: (string | undefined)[] = changes.map(() => undefined);
    const families = new Map<
      IpFamily,
      { readonly index: number; readonly words: readonly string[] }[]
    >();
    for (const [index, { commands, write }] of changes.entries()) {
      if (write !== undefined) errors[index] = this.#options.sysctls.write(write.path, write.value);
      for (const { family, words } of commands) {
        const batch = families.get(family);
        if (batch === undefined) families.set(family, [{ index, words }]);
        else batch.push({ index, words });
      }
    }
    // Nothing of one family needs anything of the other within a stage.
    await Promise.all(
      [...families].map(async ([family, batch]) => {
        const words = batch.map((one) => one.words);
        for (const [place, error] of (await this.#options.ip.change(family, words)).entries()) {
          const index = batch[place]?.index;
          if (index !== undefined && error !== undefined) errors[index] ??= error;
        }
      }),
    );
    return errors;
  }

  /** What was written is read again: that it is there counts, not that it was asked for. */
  #touched(changes: readonly LinuxChange[]): void {
    for (const { table, key, write } of changes) {
      switch (table) {
        case 'link':
          this.#state.stale({ kind: 'link', dev: key });
          break;
        case 'address':
          this.#state.stale({ kind: 'link', dev: key.split(' ')[0] ?? '' });
          break;
        case 'route':
          this.#state.stale({ kind: 'routes', table: Number(key.split(' ')[2]) });
          break;
        case 'rule':
          this.#state.stale({
            kind: 'rules',
            table: Number(/ lookup (\d+)/.exec(key)?.[1] ?? 0),
          });
          break;
        case 'neighbour': {
          const [dev = '', address = ''] = key.split(' ');
          this.#state.stale({ kind: 'neighbour', dev, address });
          break;
        }
        case 'sysctl':
          this.#state.forgetSysctl(key);
          if (write !== undefined) this.#state.forgetSysctl(write.path);
          break;
      }
    }
  }
}

/** EEXIST, as ip(8) says it. */
const FILE_EXISTS = 'File exists';
/** What the kernel says of a VRF when it has none. */
const NO_SUCH_KIND = /Unknown device type|not supported/i;

function refusedProblem(
  { table, key, unit, object, before, after, action }: LinuxChange,
  error: string,
): LinuxProblem {
  const what = action === 'remove' ? `can't be removed (${before})` : `can't be made (${after})`;
  const remedy =
    table === 'link' && NO_SUCH_KIND.test(error)
      ? '; load the kernel module vrf (modprobe vrf)'
      : '';
  return {
    kind: 'refused',
    table,
    key,
    unit,
    object,
    message: `${table} ${key} ${what}: ${error}${remedy}`,
  };
}
