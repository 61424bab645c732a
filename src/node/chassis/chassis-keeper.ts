/** Keeps what ovn-controller of the node reads in the local Open_vSwitch database: what somebody else set there stays. */
import type { Node } from '../../api/types.ts';
import type { ZoneProblem } from '../../api/zone-status.ts';
import type { ClusterSettings } from '../../model/model.ts';
import { orAborted } from '../../store/abort.ts';
import { systemClock, type Clock } from '../../store/clock.ts';
import type { ObjectView } from '../../store/informer.ts';
import type { Log } from '../../store/log.ts';
import { WorkQueue } from '../../store/work-queue.ts';
import { encapAddresses } from './encap-addresses.ts';
import { changeText, chassisPlan, removals, type ChassisPlan, type ExternalIds } from './plan.ts';
import {
  chassisSettings,
  ENCAP_IP,
  MARK,
  type ChassisFlows,
  type ChassisSettings,
} from './settings.ts';
import type { ChassisDatabase } from './chassis-database.ts';
import { knownAddresses } from '../announcer/node-announcer.ts';
import { readHostState } from '../linux/host-state.ts';
import { errorText, faultStack } from '../../api/error-text.ts';

export interface ChassisContext {
  readonly node: string;
  readonly settings: ClusterSettings;
  readonly chassis: ChassisSettings;
  /** Setting `--take-over`. */
  readonly takesOver: boolean;
  readonly database: ChassisDatabase;
  readonly nodes: ObjectView<Node>;
  /** Path of the network namespace that is looked at; that of the process, if none is named. */
  readonly namespace: string | undefined;
}

export interface ChassisKeeperOptions extends ChassisContext {
  readonly log: Log;
  readonly clock?: Clock;
  /** Called when there may be something new in `problems` or `notes`. */
  readonly onChange?: () => void;
  /** Stops it. */
  readonly signal: AbortSignal;
}

/** Without any event everything is looked at again after this time, as the host's facts are. */
const RESYNC = 60_000;

/** Within this time ovs-vswitchd is there again, and ovn-controller has connected to it. */
const SWITCH_RESTART = 30_000;

interface Found extends ChassisPlan {
  readonly ids: ExternalIds;
  /** What is not known yet, in words. */
  readonly awaited: string | undefined;
}

/** What is to be done now, or why that can't be known. */
async function planNow(
  { node, settings, chassis, takesOver, database, nodes, namespace }: ChassisContext,
  flows: ChassisFlows,
): Promise<Found | { readonly unavailable: string }> {
  const local = database.read();
  if ('unavailable' in local) return local;
  const ids = local.externalIds;
  const object = nodes.get(node);
  const asked = chassis.encapIps;
  // Where somebody else says where tunnels end nobody has to ask the host.
  const isOurs = asked.length > 0 || ids.get(ENCAP_IP) === ids.get(`${MARK}${ENCAP_IP}`);
  const encap =
    !isOurs || (object === undefined && asked.length === 0)
      ? undefined
      : encapAddresses(readHostState(namespace), {
          asked,
          settings,
          knownBy: object === undefined ? [] : knownAddresses(object),
        });
  const wanted = chassisSettings(chassis, {
    node,
    encapIps: encap?.kind === 'value' ? encap.addresses : undefined,
    flows,
  });
  const plan = chassisPlan(ids, wanted, { takesOver });
  return { ...plan, ids, awaited: encap?.kind === 'awaited' ? encap.message : undefined };
}

/** What is still to be done, in words; nothing when it can't be known. */
export async function chassisSteps(
  context: ChassisContext,
  flows: ChassisFlows,
): Promise<readonly string[]> {
  const plan = await planNow(context, flows);
  return 'unavailable' in plan ? [] : plan.changes.map((change) => changeText(plan.ids, change));
}

/** What takes back all that Heddle set, in words. */
export function chassisRemovals(database: Pick<ChassisDatabase, 'read'>): readonly string[] {
  const local = database.read();
  return 'unavailable' in local
    ? []
    : removals(local.externalIds).map((change) => changeText(local.externalIds, change));
}

export async function removeChassisSettings(database: ChassisDatabase): Promise<void> {
  const local = database.read();
  if ('unavailable' in local) throw new Error(local.unavailable);
  await database.apply(local.externalIds, removals(local.externalIds));
}

export class ChassisKeeper {
  readonly #options: ChassisKeeperOptions;
  readonly #queue: WorkQueue;
  #isConfirmed = false;
  #lostUntil = -Infinity;
  #problems: readonly string[] = [];
  #notes: readonly string[] = [];

  constructor(options: ChassisKeeperOptions) {
    this.#options = options;
    const { node, log, clock = systemClock } = options;
    this.#queue = new WorkQueue({
      reconcile: () => this.#reconcile(),
      onFailure: ({ error, attempt }) => {
        const message = errorText(error);
        log.error({ component: 'host', attempt, stack: faultStack(error) }, message);
        this.#say([message], this.#notes);
      },
      backoff: { first: 1000, longest: 30_000 },
      clock,
    });
    let knownBy = '';
    options.nodes.onChange(({ key, after }) => {
      if (key !== node || after === undefined) return;
      const now = knownAddresses(after).join();
      if (now === knownBy) return;
      knownBy = now;
      this.#queue.add(node);
    });
  }

  /** Works until the signal aborts; resolves when a change that is under way has ended. */
  async run(): Promise<void> {
    this.#queue.add(this.#options.node);
    await this.#queue.run(this.#options.signal);
  }

  /** Addresses of the host or the local Open_vSwitch database may be others than before. */
  hostChanged(): void {
    this.#queue.add(this.#options.node);
  }

  get flows(): ChassisFlows {
    if (performance.now() < this.#lostUntil) return 'lost';
    return this.#isConfirmed ? 'kept' : 'none';
  }

  /** ovs-vswitchd has ended: what it knew is gone when it starts again. */
  switchLost(): void {
    this.#lostUntil = performance.now() + SWITCH_RESTART;
    this.#queue.add(this.#options.node);
  }

  /** ovn-controller has programmed this node. */
  confirmed(): void {
    if (this.#isConfirmed) return;
    this.#isConfirmed = true;
    this.#queue.add(this.#options.node);
  }

  /** Resolves when what is known now has been tried. */
  async caughtUp(signal: AbortSignal): Promise<void> {
    await orAborted(this.#queue.drained(), signal);
  }

  problems(): readonly ZoneProblem[] {
    return this.#problems.map((message) => ({ object: this.#object, message }));
  }

  /** What somebody else set, and is as good. */
  notes(): readonly ZoneProblem[] {
    return this.#notes.map((message) => ({ object: this.#object, message }));
  }

  get #object(): string {
    return `Node ${this.#options.node}`;
  }

  async #reconcile(): Promise<{ readonly after: number }> {
    const { database, log } = this.#options;
    const plan = await planNow(this.#options, this.flows);
    if ('unavailable' in plan) {
      this.#say([], this.#notes);
      return { after: RESYNC };
    }
    const { ids, changes, problems, notes, awaited } = plan;
    if (changes.length > 0) {
      await database.apply(ids, changes);
      log.info(
        { component: 'host', changes: changes.map((change) => changeText(ids, change)) },
        'settings of ovn-controller changed',
      );
    }
    this.#say([...problems, ...(awaited === undefined ? [] : [awaited])], notes);
    const left = this.#lostUntil - performance.now();
    return { after: left > 0 ? Math.ceil(left) : RESYNC };
  }

  #say(problems: readonly string[], notes: readonly string[]): void {
    const isSame =
      [this.#problems, this.#notes].flat().join('\n') === [problems, notes].flat().join('\n');
    this.#problems = problems;
    this.#notes = notes;
    if (!isSame) this.#options.onChange?.();
  }
}
