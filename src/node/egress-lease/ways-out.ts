/** By which networks nothing can leave this host: what carries them has no carrier, or is not there (docs/decisions/egress-health.md). Pure; times in milliseconds. */
import { isAskable } from '../linux/network-socket.ts';
import type { BridgeUplinks } from '../openflow/bridge-ports.ts';
import {
  bitsOf,
  containsAddress,
  formatPrefix,
  parseInterfaceAddress,
  prefixOf,
  type Prefix,
} from '../../allocators/addresses.ts';

/** A device of the kernel. */
interface SeenDevice {
  readonly name: string;
  readonly isUp: boolean;
  readonly hasCarrier: boolean;
  /** Of the host, with prefix length. */
  readonly addresses: readonly string[];
}

export interface SeenHost {
  readonly devices: readonly SeenDevice[];
  /** Where the default network leaves; undefined for a node without a gateway. */
  readonly gateway: { readonly bridge: string; readonly addresses: readonly string[] } | undefined;
  /** Bridges of Open vSwitch; undefined while its database can't be read. */
  readonly bridges: ReadonlyMap<string, BridgeUplinks> | undefined;
  /** What the bridge of the gateway had as its uplinks before; empty where nobody saw one. */
  readonly knownUplinks: readonly string[];
}

/** What carries networks. `unknown`: nobody can tell now. */
export interface WayOut {
  /** The gateway's bridge, or another device. */
  readonly device: string;
  readonly isGateway: boolean;
  /** With prefix length. */
  readonly networks: readonly string[];
  readonly state: 'up' | 'unknown' | { readonly down: string };
}

const networksOf = (addresses: readonly string[]): readonly Prefix[] =>
  addresses.flatMap((text) => {
    const address = parseInterfaceAddress(text);
    // An address alone is of no network.
    return address === undefined || address.length === bitsOf(address.family)
      ? []
      : [prefixOf(address)];
  });

/** Of the gateway, and of each other device that has an address in another network. Only what is certain is down. */
export function waysOut(host: SeenHost): readonly WayOut[] {
  const { gateway, devices } = host;
  const ofGateway = networksOf(gateway?.addresses ?? []);
  const cards = devices.flatMap((device): readonly WayOut[] => {
    // What is in the gateway's network leaves by the gateway.
    const networks = networksOf(device.addresses).filter(
      ({ family, base }) => !ofGateway.some((one) => containsAddress(one, { family, value: base })),
    );
    return device.name === gateway?.bridge || networks.length === 0
      ? []
      : [
          {
            device: device.name,
            isGateway: false,
            networks: networks.map(formatPrefix),
            state: stateOf(device, device.name),
          },
        ];
  });
  if (gateway === undefined) return cards;
  const way = {
    device: gateway.bridge,
    isGateway: true,
    networks: ofGateway.map(formatPrefix),
    state: gatewayState(host, gateway.bridge),
  };
  return [way, ...cards];
}

const stateOf = ({ isUp, hasCarrier }: SeenDevice, name: string): WayOut['state'] => {
  if (!isUp) return { down: `${name} is down` };
  return hasCarrier ? 'up' : { down: `${name} has no carrier` };
};

/** Names of interfaces are whatever somebody wrote into the database. */
const shownName = (name: string): string => (isAskable(name) ? name : 'of another name');

function gatewayState(
  { devices, bridges, knownUplinks }: SeenHost,
  bridge: string,
): WayOut['state'] {
  if (bridges === undefined) return 'unknown';
  const found = bridges.get(bridge);
  if (found === undefined) return { down: `Open vSwitch has no bridge ${bridge}` };
  const deviceOf = (name: string): SeenDevice | undefined =>
    devices.find((device) => device.name === name);
  const own = deviceOf(bridge);
  // ovs-vswitchd may just be starting: then what it makes is not there yet.
  if (own === undefined) return 'unknown';
  if (!own.isUp) return { down: `bridge ${bridge} is down` };
  if (found.found.length === 0) {
    const missing = found.named === undefined ? knownUplinks : [found.named];
    return missing.length === 0
      ? 'up'
      : { down: `uplink ${missing.map(shownName).join(', ')} is not in ${bridge}` };
  }
  const states = found.found.map(({ name, isOfKernel }): WayOut['state'] => {
    const device = deviceOf(name);
    const shown = `uplink ${shownName(name)} of ${bridge}`;
    if (!isOfKernel) return 'unknown';
    return device === undefined ? { down: `${shown} is not there` } : stateOf(device, shown);
  });
  // One that works is enough.
  return (
    states.find((state) => state === 'up') ??
    states.find((state) => state === 'unknown') ??
    states[0] ??
    'unknown'
  );
}

/** So long it has to be down without a break: a card that negotiates anew, or a port that is put in again, takes less. */
export const DOWN_AFTER = 1500;
/** So long it has to be up again: one that comes and goes gets nothing. */
export const UP_AFTER = 10_000;

interface HeldState {
  /** Why it is down, as far as that holds. */
  down: string | undefined;
  /** Since when it is the other way round. */
  since: number | undefined;
}

/** Ways out as they have been for a while. */
export class HeldWaysOut {
  readonly #states = new Map<string, HeldState>();
  #startedAt: number | undefined;

  /** Takes what is seen; gives when to look again, if not before something happens. */
  take(ways: readonly WayOut[], now: number): number {
    this.#startedAt ??= now;
    const devices = new Set(ways.map(({ device }) => device));
    for (const device of this.#states.keys()) if (!devices.has(device)) this.#states.delete(device);
    const due = ways.map(({ device, state }) => this.#takeState(device, state, now));
    return Math.min(...due, this.isKnown(now) ? Infinity : this.#startedAt + DOWN_AFTER);
  }

  /** False while what is down may not have been for long enough. */
  isKnown(now: number): boolean {
    return this.#startedAt !== undefined && now - this.#startedAt >= DOWN_AFTER;
  }

  /** Why a device carries nothing; undefined while it does, or nobody knows. */
  whyDown(device: string): string | undefined {
    return this.#states.get(device)?.down;
  }

  #takeState(device: string, state: WayOut['state'], now: number): number {
    const held = this.#states.get(device) ?? { down: undefined, since: undefined };
    this.#states.set(device, held);
    const down = typeof state === 'object' ? state.down : undefined;
    if (state === 'unknown' || (down === undefined) === (held.down === undefined)) {
      held.since = undefined;
      if (down !== undefined) held.down = down;
      return Infinity;
    }
    held.since ??= now;
    const after = held.since + (down === undefined ? UP_AFTER : DOWN_AFTER);
    if (now < after) return after;
    held.down = down;
    held.since = undefined;
    return Infinity;
  }
}

/** Networks by which nothing leaves, each with why: where several devices have a network, all of them. */
export function networksDown(
  ways: readonly WayOut[],
  whyDown: (device: string) => string | undefined,
): ReadonlyMap<string, string> {
  const why = new Map<string, string | undefined>();
  for (const { device, networks } of ways)
    for (const network of networks) {
      const reason = whyDown(device);
      why.set(network, why.has(network) && why.get(network) === undefined ? undefined : reason);
    }
  return new Map(
    [...why].flatMap(([network, reason]) => (reason === undefined ? [] : [[network, reason]])),
  );
}
