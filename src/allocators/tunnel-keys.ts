import { AllocationError } from './allocation-error.ts';
import { LAST_FIXED_NETWORK_ID } from './ids.ts';
import { RoundRobin } from './round-robin.ts';

/** Datapath key of the transit or Layer2 switch of network 0; network `n` has this + n (reference/api.md §6.7). */
const SWITCH_TUNNEL_KEY_BASE = 16_711_683;
/** Keys beyond the fixed ones, for transit routers and connect routers (reference/api.md §6.7). */
const FIRST_DYNAMIC_TUNNEL_KEY = SWITCH_TUNNEL_KEY_BASE + LAST_FIXED_NETWORK_ID + 1;
/** OVN's largest datapath key, 2^24 - 1. */
const MAX_TUNNEL_KEY = 16_777_215;

/** Key of the transit switch or Layer2 switch of a network whose key follows from its id. Throws `out-of-range` for others. */
export function switchTunnelKey(networkId: number): number {
  if (!Number.isInteger(networkId) || networkId < 0 || networkId > LAST_FIXED_NETWORK_ID)
    throw new AllocationError('out-of-range', `network id ${networkId} has no switch tunnel key`);
  return SWITCH_TUNNEL_KEY_BASE + networkId;
}

/** Datapath tunnel keys by owner. The first key of a network is derived from its id, further ones are dynamic. */
export class TunnelKeyAllocator {
  readonly #dynamic = new RoundRobin(FIRST_DYNAMIC_TUNNEL_KEY, MAX_TUNNEL_KEY);
  readonly #byOwner = new Map<string, number[]>();

  keysOf(owner: string): readonly number[] {
    return this.#byOwner.get(owner) ?? [];
  }

  /** `count` keys of a network, the first one derived from its id where it has one by that. Throws `exhausted` or `conflict`. */
  allocateForNetwork(owner: string, networkId: number, count: number): readonly number[] {
    if (count === 0) return [];
    const held = this.keysOf(owner);
    if (networkId > LAST_FIXED_NETWORK_ID) return this.#fill(owner, held, count);
    const fixed = switchTunnelKey(networkId);
    if (held.length > 0 && held[0] !== fixed)
      throw new AllocationError(
        'conflict',
        `the resource ${owner} holds tunnel key ${held[0]}, but network id ${networkId} has ${fixed}`,
      );
    return this.#fill(owner, held.length === 0 ? [fixed] : held, count);
  }

  /** `count` dynamic keys, e.g. of a connect router. Throws `exhausted` or `conflict`. */
  allocateDynamic(owner: string, count: number): readonly number[] {
    return this.#fill(owner, this.keysOf(owner), count);
  }

  /** Gives the owner certain keys, e.g. stored ones: all of them or none. Throws `taken`, `out-of-range` or `conflict`. */
  reserve(owner: string, keys: readonly number[]): void {
    const held = this.keysOf(owner);
    if (held.length > 0) {
      if (held.length === keys.length && held.every((key, index) => key === keys[index])) return;
      throw new AllocationError(
        'conflict',
        `can't reserve tunnel keys [${keys.join(' ')}] for the resource ${owner}: it holds [${held.join(' ')}]`,
      );
    }
    const marked: number[] = [];
    for (const key of keys) {
      if (isFixed(key)) continue;
      if (!this.#dynamic.mark(key)) {
        for (const undo of marked) this.#dynamic.free(undo);
        const inside = this.#dynamic.contains(key);
        throw new AllocationError(
          inside ? 'taken' : 'out-of-range',
          `tunnel key ${key} of the resource ${owner} ${inside ? 'is already reserved by another resource' : 'is out of range'}`,
        );
      }
      marked.push(key);
    }
    this.#byOwner.set(owner, [...keys]);
  }

  release(owner: string): void {
    for (const key of this.keysOf(owner)) if (!isFixed(key)) this.#dynamic.free(key);
    this.#byOwner.delete(owner);
  }

  #fill(owner: string, held: readonly number[], count: number): readonly number[] {
    if (held.length > count)
      throw new AllocationError(
        'conflict',
        `the resource ${owner} already has more ids allocated [${held.join(' ')}] than requested ${count}`,
      );
    const keys = [...held];
    while (keys.length < count) {
      const key = this.#dynamic.take();
      if (key === undefined) {
        for (const undo of keys.slice(held.length)) this.#dynamic.free(undo);
        throw new AllocationError(
          'exhausted',
          `failed to allocate tunnel keys for the resource ${owner}: all ${MAX_TUNNEL_KEY - FIRST_DYNAMIC_TUNNEL_KEY + 1} are in use`,
        );
      }
      keys.push(key);
    }
    this.#byOwner.set(owner, keys);
    return keys;
  }
}

// Fixed keys follow from the network id, which is unique by itself.
const isFixed = (key: number): boolean =>
  Number.isInteger(key) && key >= SWITCH_TUNNEL_KEY_BASE && key < FIRST_DYNAMIC_TUNNEL_KEY;

/** True for keys that routers spanning zones may have. */
export const isDynamicTunnelKey = (key: number): boolean =>
  Number.isInteger(key) && key >= FIRST_DYNAMIC_TUNNEL_KEY && key <= MAX_TUNNEL_KEY;
