/**
 * Keeps our nftables table as units want it: takes their rows, compares them with what nft lists, applies the difference as one transaction,
 * and notices what others change.
 */
import { NFTABLES, type NftRow } from './nft-rows.ts';
import { KUBELET_CGROUP, PODS_CGROUP } from './cgroup-names.ts';
import type { Cgroup, Cgroups } from './cgroups.ts';
import type { Contest } from '../reconcile/claims.ts';
import { HostDriver, type HostEvents, type Written } from '../reconcile/host-driver.ts';
import { problemOf, type Difference } from '../reconcile/host-plan.ts';
import { tryHalves, type Halving, type Refused } from '../reconcile/refusals.ts';
import { NftChangers } from './nft-changers.ts';
import { nftMonitor } from './nft-monitor.ts';
import { DEFINITIONS, planNft, REMOVALS, type NftChange } from './nft-plan.ts';
import { NftError, type NftProgram } from './nft-program.ts';
import { foundTable, type FoundNftTable } from './nft-state.ts';
import type { ProgramMonitor } from '../programs/program-monitor.ts';

interface NftDriverOptions extends HostEvents {
  readonly nft: NftProgram;
  readonly cgroups: Cgroups;
}

/** Of everything (reference/node.md §7.1). */
const RESYNC = 60_000;
/** How often cgroups that rules name are looked at: nothing says that one was made. */
const CGROUP_LOOK = 1000;

/** What comes of it when a cgroup of every node is not there. */
const WITHOUT_CGROUP: ReadonlyMap<string, string> = new Map([
  [KUBELET_CGROUP, 'what kubelet sends to pods of primary networks is dropped, probes too'],
  [
    PODS_CGROUP,
    "pods on the host's network are kept neither from the port of tunnels nor from the host's ports on networks and its ends of pods' interfaces",
  ],
]);

export class NftDriver extends HostDriver<NftRow, NftChange> {
  readonly database = NFTABLES;
  readonly title = NFTABLES;
  readonly #options: NftDriverOptions;
  readonly #cgroups = new Map<string, Cgroup | undefined>();
  #found: FoundNftTable | undefined;
  /** Why nothing is known of what there is. */
  #unavailable: string | undefined;
  #isStale = true;
  #version = 0;
  #monitor: ProgramMonitor | undefined;
  #look: NodeJS.Timeout | undefined;
  #isToHear = false;
  /** Who changed the table since it was right. */
  readonly #changers = new NftChangers();
  #cgroupVersion = 0;

  constructor(options: NftDriverOptions) {
    super({ resync: RESYNC });
    this.#options = options;
  }

  /** Subscribes to changes, as soon as `nft` can be run. */
  async start(): Promise<void> {
    this.#isToHear = true;
    clearInterval(this.#look);
    this.#look = setInterval(() => {
      if (this.#lookAtCgroups()) this.#options.onDrift?.();
    }, CGROUP_LOOK);
    this.#look.unref();
    await this.refresh(performance.now());
  }

  protected staleAll(): void {
    this.#isStale = true;
  }

  protected async read(): Promise<void> {
    if (!this.#isToHear) this.#lookAtCgroups();
    if (!this.#isStale) return;
    // What changes while it is listed is listed again.
    this.#isStale = false;
    this.#version += 1;
    try {
      const objects = await this.#options.nft.list();
      this.#found = objects === undefined ? undefined : foundTable(objects);
      this.#unavailable = undefined;
      await this.#listen();
    } catch (error) {
      this.#isStale = true;
      if (!(error instanceof NftError)) throw error;
      this.#unavailable = error.message;
    }
  }

  override get wantedVersion(): string {
    return `${super.wantedVersion} ${this.#cgroupVersion}`;
  }

  override changedBy(): Promise<readonly string[]> {
    return this.#changers.all();
  }

  override settled(): void {
    this.#changers.settled();
  }

  protected get foundVersion(): string {
    return String(this.#version);
  }

  protected compare(isComplete: boolean): Difference<NftChange> {
    if (this.#unavailable !== undefined) {
      const unit = JSON.stringify(['nft']);
      const table = { table: 'table', key: NFTABLES, unit, object: undefined };
      return { changes: [], problems: [problemOf('refused', table, this.#unavailable)] };
    }
    const named = new Set<string>();
    const pathOf = (name: string): string | undefined => {
      named.add(name);
      return this.#cgroup(name)?.path;
    };
    const plan = planNft(this.#found, this.claims.winners(), pathOf, isComplete);
    for (const name of this.#cgroups.keys()) if (!named.has(name)) this.#cgroups.delete(name);
    return plan;
  }

  protected contestText({ row, winner }: Contest<NftRow>): string {
    return `nftables ${row.table} ${row.key} is that of ${winner.object}; change one of them`;
  }

  /** The table as it is now, read anew; undefined while there is none. Throws NftError. */
  async listed(): Promise<FoundNftTable | undefined> {
    const objects = await this.#options.nft.list();
    return objects === undefined ? undefined : foundTable(objects);
  }

  /** Has what counters say read again: nobody tells that they count. */
  async refreshCounters(): Promise<void> {
    this.#isStale = true;
    await this.read();
  }

  /** Packets that counters in a chain had seen when the table was listed last; undefined where nothing counts. */
  counted(chain: string): number | undefined {
    const counts = this.#found?.chains.get(chain)?.rules.flatMap(({ packets }) => packets ?? []);
    return counts?.reduce((sum, packets) => sum + packets, 0);
  }

  /** All of it in one transaction. When that is refused the chains and sets at fault are found, so that one mistake harms itself alone. */
  protected async write(changes: readonly NftChange[]): Promise<Written<NftChange>> {
    this.#isStale = true;
    const isReplaced = changes.some(
      ({ table, action }) => table === 'table' && action === 'remove',
    );
    const groups = [...Map.groupBy(changes, ({ group }) => group)]
      .toSorted(([a], [b]) => placeOf(a) - placeOf(b))
      .map(([, group]) => group);
    const attempt = (all: readonly NftChange[]) => this.#transact(all);
    const halving: Halving<NftChange> = {
      attempt,
      refusalsLeft: Infinity,
      applied: 0,
      refused: [],
    };
    // A table that is made anew is made as a whole.
    await tryHalves(isReplaced ? [changes] : groups, halving);
    return halving;
  }

  protected override refusedText(refused: readonly [Refused<NftChange>]): string {
    return `nftables ${super.refusedText(refused)}`;
  }

  /** Hears of nothing any more; what there is stays. */
  [Symbol.dispose](): void {
    clearInterval(this.#look);
    this.#monitor?.[Symbol.dispose]();
  }

  /** From then on every change is reported; what came before is listed once more. */
  async #listen(): Promise<void> {
    if (!this.#isToHear || this.#monitor !== undefined) return;
    const { nft, onDrift, onTrouble } = this.#options;
    const monitor = nftMonitor({
      program: nft.program,
      onChange: (by, isOpen) => {
        this.#isStale = true;
        this.#changers.heard(by, isOpen);
        onDrift?.();
      },
      ...(onTrouble === undefined ? {} : { onTrouble }),
    });
    this.#monitor = monitor;
    try {
      await monitor.start();
    } catch (error) {
      monitor[Symbol.dispose]();
      this.#monitor = undefined;
      throw new NftError(`nft monitor can't be started: ${String(error)}`, { cause: error });
    }
  }

  async #transact(changes: readonly NftChange[]): Promise<string | undefined> {
    const commands = changes.flatMap((change) => change.commands);
    // What is of one step stays in its order.
    const refused = this.#changers.sending();
    const refusal = await this.#options.nft.change(
      commands.toSorted((a, b) => a.step - b.step).map(({ text }) => text),
    );
    if (refusal !== undefined) refused();
    return refusal;
  }

  #cgroup(name: string): Cgroup | undefined {
    if (!this.#cgroups.has(name)) {
      const found = this.#options.cgroups.find(name);
      this.#cgroups.set(name, found);
      // That of a pod comes when kubelet starts it.
      const without = WITHOUT_CGROUP.get(name);
      if (found === undefined && without !== undefined)
        this.#options.onTrouble?.(
          `there is no cgroup ${name} (cgroup v2) on this host: ${without}`,
        );
    }
    return this.#cgroups.get(name);
  }

  /** True when one is another than before: rules that name it mean one that is gone. */
  #lookAtCgroups(): boolean {
    let isOther = false;
    for (const [name, before] of this.#cgroups) {
      const found = this.#options.cgroups.find(name, before);
      this.#cgroups.set(name, found);
      if (found?.id === before?.id && found?.path === before?.path) continue;
      isOther = true;
      this.#cgroupVersion += 1;
      this.#isStale = true;
    }
    return isOther;
  }
}

/** What others need comes first. */
const placeOf = (group: string): number => (group === DEFINITIONS ? 0 : group === REMOVALS ? 2 : 1);
