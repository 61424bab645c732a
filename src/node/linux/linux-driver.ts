/**
 * Keeps the network stack as units want it: takes their rows as a reconciler of a database does, compares them with what the kernel has,
 * applies the difference, and notices what others change.
 */
import { LINUX, type LinuxRow } from './linux-rows.ts';
import { PROTOCOL } from '../numbers.ts';
import { idOf, type Contest } from '../reconcile/claims.ts';
import { HostDriver, type HostEvents, type Written } from '../reconcile/host-driver.ts';
import type { Difference } from '../reconcile/host-plan.ts';
import type { Refused } from '../reconcile/refusals.ts';
import { openRouteSocket } from './network-socket.ts';
import { netlinkUser } from '../programs/netlink-user.ts';
import type { NetworkMonitor } from './network-monitor.ts';
import type { Stale } from './stale.ts';
import { linuxClaims, LinuxPlanner } from './linux-plan.ts';
import { makeChanges, type LinuxWriterOptions } from './linux-writer.ts';
import type { LinuxChange } from './linux-change.ts';
import { LinuxState } from './linux-state.ts';

type LinuxDriverOptions = LinuxWriterOptions &
  Pick<HostEvents, 'onDrift'> & {
    /** Of the same namespace. */
    readonly monitor: NetworkMonitor;
  };

/** An object that was made anew is not made anew again for this long. */
const RENEWED_REST = 30_000;
/** Of more nobody needs to know. */
const MOST_CHANGERS = 5;
/** VRFs each 60 s (reference/node.md §7.1). */
const RESYNC = 60_000;

export class LinuxDriver extends HostDriver<LinuxRow, LinuxChange> {
  readonly database = LINUX;
  readonly title = 'network stack';
  readonly #options: LinuxDriverOptions;
  readonly #state: LinuxState;
  readonly #planner = new LinuxPlanner();
  /** Objects that were made anew, and until when that is enough. */
  readonly #renewed = new Map<string, number>();
  /** Links to other network namespaces that were announced, and of which nobody wants anything. */
  readonly #outward = new Set<string>();
  /** Devices with desired rows, at a version of the claims. */
  #wanted: { readonly version: number; readonly devices: ReadonlySet<string> } = {
    version: -1,
    devices: new Set(),
  };
  /** Sockets of others that changed something since all was right. */
  readonly #changers = new Set<number>();
  readonly #unfollow: () => void;

  constructor(options: LinuxDriverOptions) {
    super({ resync: RESYNC, claims: linuxClaims() });
    this.#options = options;
    const { namespace, monitor, onDrift } = options;
    this.#state = new LinuxState(() => openRouteSocket(namespace), PROTOCOL);
    this.#unfollow = monitor.follow({
      onStale: (stale, port) => {
        if (this.#isOfOthers(stale)) return;
        if (this.#changers.size < MOST_CHANGERS) this.#changers.add(port);
        this.#state.stale(stale);
        onDrift?.();
      },
    });
  }

  /** Subscribes to changes. Throws NetlinkError. */
  start(): void {
    this.#options.monitor.listen();
  }

  override async changedBy(): Promise<readonly string[]> {
    return [...this.#changers].flatMap((port) => netlinkUser(port) ?? []);
  }

  override settled(): void {
    this.#changers.clear();
  }

  protected staleAll(): void {
    this.#state.stale({ kind: 'all' });
  }

  protected async read(): Promise<void> {
    this.#followedDevices();
    // What was refused for want of a device may be possible now.
    if (this.#state.refresh()) this.refusals.clear();
  }

  /** Stage by stage. What a unit was refused ends what comes after it for that unit; others go on. */
  protected async write(
    planned: readonly LinuxChange[],
    now: number,
  ): Promise<Written<LinuxChange>> {
    const refused: Refused<LinuxChange>[] = [];
    const failed = new Set<string>();
    let applied = 0;
    const devices = new Map([...this.#state.links].map(([name, { index }]) => [name, index]));
    const stages = [...Map.groupBy(planned, ({ stage }) => stage)].sort(([a], [b]) => a - b);
    for (const [, all] of stages) {
      const changes = all.filter(({ unit, action }) => action === 'remove' || !failed.has(unit));
      const reasons = await this.#make(changes, devices);
      for (const [index, change] of changes.entries()) {
        const reason = reasons[index];
        if (reason === undefined) {
          applied += 1;
          if (change.isRenewal === true) this.#renewed.set(idOf(change), now + RENEWED_REST);
          continue;
        }
        refused.push({ change, reason });
        failed.add(change.unit);
      }
    }
    return { applied, refused };
  }

  /** Hears of nothing any more; what there is stays. */
  [Symbol.dispose](): void {
    this.#unfollow();
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

  /** Devices with desired rows. One that had none until now was not followed: it is read again. */
  #followedDevices(): ReadonlySet<string> {
    const { version } = this.claims;
    if (this.#wanted.version === version) return this.#wanted.devices;
    const devices = new Set<string>();
    for (const { row } of this.claims.winners()) {
      const dev =
        row.table === 'link'
          ? row.columns.name
          : row.table === 'rule'
            ? undefined
            : row.columns.dev;
      if (dev !== undefined) devices.add(dev);
    }
    for (const dev of this.#outward)
      if (devices.has(dev)) {
        this.#outward.delete(dev);
        this.#state.stale({ kind: 'link', dev });
      }
    this.#wanted = { version, devices };
    return devices;
  }

  protected get foundVersion(): string {
    return String(this.#state.version);
  }

  protected compare(): Difference<LinuxChange> {
    const { links, routes, connected, rules, neighbours } = this.#state;
    const sysctl = (path: string): string | undefined => this.#sysctl(path);
    const found = { links, routes, connected, rules, neighbours, sysctl };
    return this.#planner.plan(found, this.claims);
  }

  protected contestText({ row, winner }: Contest<LinuxRow>): string {
    return `${row.table} ${row.key} is that of ${winner.object}; rename one of them`;
  }

  /** What comes after something that is refused waits with it. */
  protected override possible(
    all: readonly LinuxChange[],
    resting: ReadonlySet<LinuxChange>,
    now: number,
  ): readonly LinuxChange[] {
    for (const [id, until] of this.#renewed) if (until <= now) this.#renewed.delete(id);
    const blocked = new Map<string, number>();
    for (const { unit, stage } of resting)
      blocked.set(unit, Math.min(stage, blocked.get(unit) ?? stage));
    return all.filter(
      (change) =>
        !resting.has(change) &&
        change.stage <= (blocked.get(change.unit) ?? Infinity) &&
        (change.isRenewal !== true || !this.#renewed.has(idOf(change))),
    );
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

  /** What was changed, or may have been, is read again: that it is there counts. */
  async #make(
    changes: readonly LinuxChange[],
    devices: Map<string, number>,
  ): Promise<readonly (string | undefined)[]> {
    try {
      return await makeChanges(changes, this.#options, devices);
    } finally {
      // A VRF has another number than the one of this name had before.
      for (const command of changes.flatMap(({ commands }) => commands))
        if (command.kind === 'add-vrf') devices.delete(command.name);
      for (const { stale } of changes) this.#state.stale(stale);
    }
  }
}
