/** A plan in the making: the state that it is made for, and what was decided so far. */
import type {
  LinuxRow,
  LinuxTable,
  NeighbourColumns,
  RouteColumns,
  RuleColumns,
} from './linux-rows.ts';
import type { Wanted } from '../reconcile/claims.ts';
import {
  problemOf,
  wantedBy,
  wantedByNobody,
  type Difference,
  type HostProblem,
} from '../reconcile/host-plan.ts';
import type { LinuxChange, LinuxCommand } from './linux-change.ts';
import type { Stale } from './stale.ts';
import type { Found, FoundLink } from './linux-found.ts';
import { MARK, SETTINGS } from '../../desired/rows.ts';
import { DNS_TABLE, INTERNALLY_LOCAL_TABLE, MAIN_TABLE } from '../numbers.ts';

/** The found state, as far as a plan looks at it. */
export interface FoundState {
  readonly links: ReadonlyMap<string, FoundLink>;
  readonly routes: ReadonlyMap<number, readonly Found<RouteColumns>[]>;
  /** Networks that the kernel reaches over devices by itself, by table. */
  readonly connected: ReadonlyMap<number, ReadonlySet<string>>;
  /** By the table that they lead into; 0 for those that name none. */
  readonly rules: ReadonlyMap<number, readonly Found<RuleColumns>[]>;
  /** By device and address. */
  readonly neighbours: ReadonlyMap<string, Found<NeighbourColumns>>;
  /** Value of a key; undefined where the kernel has no such key. */
  readonly sysctl: (path: string) => string | undefined;
}

/**
 * Ways into a network go before what they lead to, and come after it: first of all the table ends in "unreachable", last of all rules lead
 * into it. A device has addresses only inside of its VRF.
 */
const REMOVE = { rule: 0, neighbour: 1, route: 2, address: 3, link: 4, sysctl: 4 } as const;
export const ADD = {
  link: 5,
  master: 6,
  sysctl: 7,
  address: 8,
  route: 9,
  neighbour: 10,
  rule: 11,
} as const;

/** For whom a device of ours is there, by its alias; undefined for others. */
export const markInAlias = (alias: string): string | undefined =>
  alias.startsWith(`${MARK} `) ? alias.slice(MARK.length + 1) : undefined;

export class LinuxDraft {
  readonly state: FoundState;
  /** Devices whose rows wait until they are there. */
  readonly awaited: Set<string>;
  /** Whether devices could be used that somebody asked for. */
  readonly asked = new Map<string, boolean>();
  readonly #changes: LinuxChange[] = [];
  readonly #problems: HostProblem[] = [];
  /** Units that can't be as they should, for now: nothing is added for them. */
  readonly #blocked = new Set<string>();

  constructor(state: FoundState, awaited = new Set<string>()) {
    this.state = state;
    this.awaited = awaited;
  }

  /** The plan of this and of parts that were made by themselves. */
  planWith(parts: Iterable<LinuxDraft> = []): Difference<LinuxChange> {
    const all = [this, ...parts];
    const blocked = new Set(all.flatMap((draft) => [...draft.#blocked]));
    const changes = all
      .flatMap((draft) => draft.#changes)
      .filter(({ action, unit }) => action === 'remove' || !blocked.has(unit))
      .sort((a, b) => a.stage - b.stage);
    return { changes, problems: all.flatMap((draft) => draft.#problems) };
  }

  change(
    one: Wanted<LinuxRow>,
    change: Omit<LinuxChange, keyof ReturnType<typeof wantedBy>>,
  ): void {
    this.#changes.push({ ...wantedBy(one), ...change });
  }

  problem(one: Wanted<LinuxRow>, kind: HostProblem['kind'], message: string): void {
    this.#problems.push(problemOf(kind, wantedBy(one), message));
    if (kind === 'held-by-other') this.#blocked.add(one.owner.id);
  }

  /** Mark of the network whose table it is, by the VRF; '' where none says so. */
  markOfTable(table: number): string {
    if ([MAIN_TABLE, INTERNALLY_LOCAL_TABLE, DNS_TABLE].includes(table)) return SETTINGS;
    for (const link of this.state.links.values())
      if (link.table === table) return markInAlias(link.alias) ?? '';
    return '';
  }

  /** Mark of the network whose device it is. */
  markOfDevice(dev: string): string {
    const { master } = this.state.links.get(dev) ?? {};
    const { table } = this.state.links.get(master ?? '') ?? {};
    return table === undefined ? '' : this.markOfTable(table);
  }

  /** What is ours and nobody wants. */
  remove(
    table: LinuxTable,
    key: string,
    before: string,
    commands: readonly LinuxCommand[],
    stale: Stale,
    mark: string,
  ): void {
    const stage = REMOVE[table];
    this.#changes.push({ ...wantedByNobody(mark), table, key, before, stage, commands, stale });
  }

  /** False while the device is not there, or is not the one that is meant. */
  isUsable(dev: string | undefined): boolean {
    if (dev === undefined) return true;
    const is = this.state.links.has(dev) && !this.awaited.has(dev);
    this.asked.set(dev, is);
    return is;
  }
}
