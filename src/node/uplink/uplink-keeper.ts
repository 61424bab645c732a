/**
 * Keeps the external bridge in the place of its uplink: makes it, moves addresses and routes onto it, also those that somebody puts on the
 * uplink later, and puts all of it back when something fails on the way.
 */
import { NetlinkError } from 'rtnetlink-ts';
import type { ZoneProblem } from '../../api/zone-status.ts';
import { orAborted } from '../../store/abort.ts';
import { pause, systemClock, type Clock } from '../../store/clock.ts';
import type { Log } from '../../store/log.ts';
import { WorkQueue } from '../../store/work-queue.ts';
import {
  stepText,
  uplinkPlan,
  withoutBridge,
  type Lost,
  type Step,
  type UplinkPlan,
} from './plan.ts';
import { gatewayBridgeOf, type SwitchState, type UplinkState } from './state.ts';
import type { UplinkSwitch } from './uplink-switch.ts';
import { firstFlowLines } from '../openflow/first-flows.ts';
import { OfctlError, type OfctlProgram } from '../openflow/ofctl-program.ts';
import { deviceChangeText, deviceRequest, type DeviceChange } from './device-changes.ts';
import { carryOut } from '../linux/network-socket.ts';
import type { NetworkMonitor } from '../linux/network-monitor.ts';
import { isDefaultRoute } from '../linux/stale.ts';
import type { Sysctls } from '../linux/kernel-sysctls.ts';
import { readUplinkDevices } from './kernel-state.ts';
import { errorText, faultStack } from '../../api/error-text.ts';

export interface UplinkKeeperOptions {
  /** `--gateway-interface`. */
  readonly name: string;
  /** `--gateway-vlanid`. */
  readonly vlan: number;
  readonly node: string;
  readonly openVswitch: UplinkSwitch;
  readonly ofctl: Pick<OfctlProgram, 'bundle'>;
  /** Path of the network namespace; that of the process, if none is named. */
  readonly namespace?: string | undefined;
  /** Of the same namespace. */
  readonly monitor: NetworkMonitor;
  readonly sysctls: Sysctls;
  readonly log: Log;
  readonly clock?: Clock;
  /** Called when there may be something new in `problems`. */
  readonly onChange?: () => void;
  /** Stops it. */
  readonly signal: AbortSignal;
}

/** Whoever sets up a device does more than one thing with it. */
const DEBOUNCE = 100;
const RESYNC = 60_000;
/** For Open vSwitch to have made a device, or to take flows (reference/node.md §5). */
const DEVICE_LIMIT = 10_000;
const DEVICE_POLL = 20;
/** Of an address that somebody took off meanwhile, or that went with another one or its device. */
const GONE: readonly string[] = ['EADDRNOTAVAIL', 'ENODEV'];

/** The external bridge could not be set up, and what was there before is there again, unless it says otherwise. */
class UplinkError extends Error {
  readonly code = 'UPLINK_FAILED';
}

type Means = Pick<
  UplinkKeeperOptions,
  'openVswitch' | 'ofctl' | 'namespace' | 'sysctls' | 'clock'
> & {
  /** Ends waiting, as a failure. */
  readonly signal?: AbortSignal;
};

const NEVER = new AbortController().signal;

const readState = (
  { openVswitch, namespace }: Pick<Means, 'openVswitch' | 'namespace'>,
  names: readonly string[],
): UplinkState => ({
  switch: openVswitch.read(),
  devices: readUplinkDevices(namespace, names),
});

async function change(
  namespace: string | undefined,
  changes: readonly DeviceChange[],
): Promise<void> {
  const refusals = await carryOut(namespace, changes, deviceRequest);
  const failed = changes.flatMap((one, index) => {
    const error = refusals[index];
    if (error === undefined) return [];
    const [code, why] = error instanceof NetlinkError ? [error.code, error.why] : [];
    const isGone = one.kind === 'delete-address' && GONE.includes(code ?? '');
    return isGone ? [] : [`${deviceChangeText(one)}: ${why ?? errorText(error)}`];
  });
  if (failed.length > 0) throw new UplinkError(failed.join('; '));
}

async function awaited(
  { clock = systemClock, signal = NEVER }: Means,
  what: string,
  isThere: () => boolean,
): Promise<void> {
  const end = performance.now() + DEVICE_LIMIT;
  while (!isThere()) {
    if (signal.aborted) throw new UplinkError(`${what}, and the daemon ends`);
    if (performance.now() > end)
      throw new UplinkError(`${what} after ${DEVICE_LIMIT / 1000} s: ovs-vsctl show says why`);
    await pause(clock, DEVICE_POLL, signal);
  }
}

/** A bridge takes flows some time after its device is there. */
async function writeFirstFlows(means: Means, bridge: string): Promise<void> {
  const { namespace, ofctl, clock = systemClock, signal = NEVER } = means;
  const end = performance.now() + DEVICE_LIMIT;
  for (;;)
    try {
      const mac = readUplinkDevices(namespace, [bridge]).get(bridge)?.mac;
      if (mac === undefined) throw new UplinkError(`device ${bridge} is gone`);
      await orAborted(ofctl.bundle(bridge, firstFlowLines(mac)), signal);
      return;
    } catch (error) {
      if (!(error instanceof OfctlError)) throw error;
      if (performance.now() > end)
        throw new UplinkError(
          `Open vSwitch has not taken flows of ${bridge} after ${DEVICE_LIMIT / 1000} s: ${error.message}`,
          { cause: error },
        );
      await pause(clock, DEVICE_POLL, signal);
    }
}

/** Takes steps. When one fails those before it are undone, last first, and it throws. */
async function take(steps: readonly Step[], means: Means): Promise<void> {
  const { namespace, openVswitch, sysctls } = means;
  const before = new Map<string, string>();
  const undo: (() => Promise<void>)[] = [];
  const restore = (path: string): Promise<void> => {
    const value = before.get(path);
    if (value !== undefined) sysctls.write(path, value);
    return Promise.resolve();
  };
  try {
    for (const step of steps)
      switch (step.kind) {
        case 'switch': {
          const { undo: back } = step;
          if (back !== undefined) undo.push(() => openVswitch.apply(back));
          await openVswitch.apply(step.change);
          break;
        }
        case 'devices':
          undo.push(() => change(namespace, step.undo));
          await change(namespace, step.changes);
          break;
        case 'device':
          await awaited(means, `there is no device ${step.name}`, () => {
            const found = readUplinkDevices(namespace, [step.name]).get(step.name);
            return found !== undefined && (step.mac === undefined || found.mac === step.mac);
          });
          break;
        case 'first-flows':
          await writeFirstFlows(means, step.bridge);
          break;
        case 'uplink':
          await awaited(
            means,
            `Open vSwitch has not taken ${step.uplink} into ${step.bridge}`,
            () => openVswitch.read().bridges.get(step.bridge)?.hasUplink === true,
          );
          break;
        case 'sysctl': {
          const { path, value } = step;
          if (value === undefined) await restore(path);
          else {
            const found = sysctls.read(path);
            if (found === undefined) break; // a kernel without IPv6, or without the device
            before.set(path, found);
            undo.push(() => restore(path));
            const error = sysctls.write(path, value);
            if (error !== undefined) throw new UplinkError(`${path}: ${error}`);
          }
          break;
        }
        case 'same-sysctl': {
          const value = sysctls.read(step.of);
          if (value === undefined || sysctls.read(step.path) === value) break;
          const error = sysctls.write(step.path, value);
          if (error !== undefined) throw new UplinkError(`${step.path}: ${error}`);
          break;
        }
      }
  } catch (error) {
    const left: string[] = [];
    for (const back of undo.toReversed())
      await back().catch((failure: unknown) => left.push(errorText(failure)));
    throw new UplinkError(
      left.length === 0
        ? `${errorText(error)}; everything is as it was before`
        : `${errorText(error)}; not put back: ${left.join('; ')}`,
      { cause: error },
    );
  }
}

/** What takes apart the bridges that Heddle made. */
export function bridgeRemovals(
  means: Pick<Means, 'openVswitch' | 'namespace'>,
): readonly UplinkPlan[] {
  const { bridges } = means.openVswitch.read();
  const ours = [...bridges].filter(([, { isOurs, isMappedByUs }]) => isOurs || isMappedByUs);
  return ours.map(([bridge, { uplink }]) =>
    withoutBridge(bridge, readState(means, uplink === undefined ? [bridge] : [bridge, uplink])),
  );
}

export const removalsText = (plans: readonly UplinkPlan[]): string =>
  plans
    .flatMap(({ steps, problem }) => (problem === undefined ? steps.map(stepText) : [problem]))
    .join('\n');

/** Puts addresses and routes back onto the uplinks of bridges that Heddle made, and removes these. */
export async function removeBridges(means: Means): Promise<void> {
  for (const { steps, problem } of bridgeRemovals(means)) {
    if (problem !== undefined) throw new UplinkError(problem);
    await take(steps, means);
  }
}

/** What the bridge has after the uplink's was moved to it; undefined when it was not there before. */
function joined({ devices }: UplinkState, bridge: string): (Lost & { index: number }) | undefined {
  const before = devices.get(bridge);
  if (before === undefined) return undefined;
  // The first address of a network is the one that the host speaks from.
  const all = [before, ...[...devices.values()].filter(({ name }) => name !== bridge)];
  return {
    index: before.index,
    addresses: [
      ...new Map(
        all.flatMap(({ addresses }) => addresses).map((one) => [one.address, one]),
      ).values(),
    ],
    routes: all.flatMap(({ routes }) => routes),
  };
}

const lostText = (bridge: string): string =>
  `external bridge ${bridge} was deleted, or made anew without its addresses: it is set up again, and until then nothing leaves this node by it`;

/** The bridge of the card, or that bridge itself. */
function bridgeOf(name: string, { bridges, mappings }: SwitchState): string {
  return bridges.has(name) ? name : (gatewayBridgeOf(mappings) ?? `br${name}`);
}

/** What is still to be done for `--gateway-interface`, in words; nothing when it can't be. */
export function uplinkSteps(
  { name, vlan }: Pick<UplinkKeeperOptions, 'name' | 'vlan'>,
  means: Pick<Means, 'openVswitch' | 'namespace'>,
): readonly string[] {
  const bridge = bridgeOf(name, means.openVswitch.read());
  return uplinkPlan(name, readState(means, [name, bridge]), { vlan }).steps.map(stepText);
}

export class UplinkKeeper {
  readonly #options: UplinkKeeperOptions;
  readonly #queue: WorkQueue;
  #problem: string | undefined;
  /** Name of the bridge, as it was last. */
  #seen: string | undefined;
  /** The bridge's addresses and routes as they were seen last, and on which device. */
  #kept: (Lost & { readonly index: number }) | undefined;

  constructor(options: UplinkKeeperOptions) {
    this.#options = options;
    const { name, log, clock = systemClock } = options;
    this.#queue = new WorkQueue({
      reconcile: () => this.#reconcile(),
      onFailure: ({ error, attempt }) => {
        const message = errorText(error);
        const stack = faultStack(error);
        log.error({ component: 'host', uplink: name, attempt, stack }, message);
        this.#say(message);
      },
      backoff: { first: 1000, longest: 30_000 },
      clock,
    });
  }

  #look(): void {
    this.#queue.addAfter(this.#options.name, DEBOUNCE);
  }

  /** Works until the signal aborts; resolves when a movement that is under way has ended. */
  async run(): Promise<void> {
    const { signal, name } = this.#options;
    try {
      this.#queue.add(name);
      await this.#queue.run(signal);
    } finally {
      for (const unfollow of this.#unfollow ?? []) unfollow();
    }
  }

  #unfollow: readonly (() => void)[] | undefined;

  /** The local Open_vSwitch database may be another than before, or can be written now. */
  openVswitchChanged(): void {
    this.#queue.add(this.#options.name);
  }

  /** Resolves when what is known now has been tried. */
  async caughtUp(signal: AbortSignal): Promise<void> {
    await orAborted(this.#queue.drained(), signal);
  }

  problems(): readonly ZoneProblem[] {
    const object = `Node ${this.#options.node}`;
    return this.#problem === undefined ? [] : [{ object, message: this.#problem }];
  }

  async #reconcile(): Promise<{ readonly after: number }> {
    const { name, vlan, openVswitch, monitor, log } = this.#options;
    const unavailable = openVswitch.unavailable();
    if (unavailable !== undefined) {
      this.#say(`the external bridge is not looked after: ${unavailable}`);
      return { after: RESYNC };
    }
    this.#unfollow ??= this.#follow();
    monitor.listen();
    const bridge = (this.#seen = this.#bridge());
    const state = readState(this.#options, [name, bridge]);
    const lost = this.#lost(state, bridge);
    const plan = uplinkPlan(name, state, { vlan, lost, ownDevice: this.#kept?.index });
    // Its device may outlive an ovs-vswitchd that is away.
    const isGone = this.#kept !== undefined && !state.switch.bridges.has(bridge);
    // What is wrong is told until it is mended.
    const wrong = this.#problem ?? (isGone || lost !== undefined ? lostText(bridge) : undefined);
    this.#say(plan.steps.length > 0 ? wrong : plan.problem);
    if (plan.steps.length > 0) {
      const began = performance.now();
      await take(plan.steps, this.#options);
      this.#say(undefined);
      log.info(
        {
          component: 'host',
          uplink: name,
          bridge,
          steps: plan.steps.length,
          duration: performance.now() - began,
        },
        'external bridge set up',
      );
    }
    let device = state.devices.get(bridge);
    if (plan.steps.length > 0) {
      device = readUplinkDevices(this.#options.namespace, [bridge]).get(bridge);
      // Also if the bridge went at once.
      this.#kept = joined(state, bridge) ?? this.#kept;
    }
    // One that is about to go has lost its routes before its addresses.
    if (device?.isUp === true && device.addresses.length > 0)
      if (openVswitch.read().bridges.has(bridge)) this.#kept = device;
    return { after: RESYNC };
  }

  #follow(): readonly (() => void)[] {
    const { monitor, name, openVswitch } = this.#options;
    return [
      openVswitch.follow(() => this.#look()),
      monitor.follow({
        onStale: (stale) => {
          const isOurs = stale.kind === 'link' && [name, this.#seen].includes(stale.dev);
          if (stale.kind === 'all' || isOurs) this.#look();
        },
        onRoute: (route) => {
          if (isDefaultRoute(route)) this.#look();
        },
      }),
    ];
  }

  #bridge(): string {
    return bridgeOf(this.#options.name, this.#options.openVswitch.read());
  }

  /** What went with a bridge that somebody deleted, or that Open vSwitch made anew, unless somebody set up the uplink since. */
  #lost({ devices }: UplinkState, bridge: string): Lost | undefined {
    const kept = this.#kept;
    const device = devices.get(bridge);
    if (kept === undefined || device?.index === kept.index) return undefined;
    const isSetUp = [device, devices.get(this.#options.name)].some(
      (one) => one !== undefined && one.addresses.length > 0,
    );
    return isSetUp ? undefined : kept;
  }

  #say(problem: string | undefined): void {
    if (this.#problem === problem) return;
    this.#problem = problem;
    this.#options.onChange?.();
  }
}
