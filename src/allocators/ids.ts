import { AllocationError } from './allocation-error.ts';
import { RoundRobin } from './round-robin.ts';

/** Network ids: 0 is the cluster default network (reference/api.md §6.1). */
export const MAX_NETWORK_ID = 32_767;
/**
 * Up to this id a network's tunnel key and its masquerade addresses follow from the id (reference/api.md §6.7, §6.8). One of a larger id has a key of
 * its own, and a masquerade number on each node that uses it.
 */
export const LAST_FIXED_NETWORK_ID = 4095;
/** Node ids: 0 and 1 are reserved (reference/api.md §6.1). */
export const FIRST_NODE_ID = 2;
export const MAX_NODE_ID = 5000;
/** Port tunnel ids of a Layer2 or localnet network: OVN port keys end at 32767, 0 is none (reference/api.md §6.1). */
export const MAX_PORT_TUNNEL_ID = 32_766;
/** First port tunnel id of pods on a primary Layer2 network; 1…9 belong to the transit router (reference/api.md §6.1). */
export const FIRST_TRANSIT_ROUTER_PORT_TUNNEL_ID = 10;

/** One id per owner out of a range, in turn. */
export class IdAllocator {
  readonly #ids: RoundRobin;
  readonly #byOwner = new Map<string, number>();
  readonly #byId = new Map<number, string>();

  constructor(first: number, last: number) {
    this.#ids = new RoundRobin(first, last);
  }

  get size(): number {
    return this.#byOwner.size;
  }

  /** Where the search for the next free id begins. */
  get next(): number {
    return this.#ids.next;
  }

  /** Goes on where another allocator was. */
  resumeAt(next: number): void {
    this.#ids.resumeAt(next);
  }

  idOf(owner: string): number | undefined {
    return this.#byOwner.get(owner);
  }

  ownerOf(id: number): string | undefined {
    return this.#byId.get(id);
  }

  /** The owner's id: the one that it holds, else a free one up to `atMost`. Throws `exhausted`. */
  allocate(owner: string, atMost?: number): number {
    const held = this.#byOwner.get(owner);
    if (held !== undefined) return held;
    const id = this.#ids.take(atMost);
    if (id === undefined)
      throw new AllocationError('exhausted', `failed to allocate the id for the resource ${owner}`);
    this.#hold(owner, id);
    return id;
  }

  /** Gives the owner a certain id, e.g. one that is stored. Throws `conflict`, `taken` or `out-of-range`. */
  reserve(owner: string, id: number): void {
    const held = this.#byOwner.get(owner);
    if (held === id) return;
    if (held !== undefined)
      throw new AllocationError(
        'conflict',
        `can't reserve id ${id} for the resource ${owner}. It is already allocated with a different id ${held}`,
      );
    if (!this.#ids.contains(id))
      throw new AllocationError(
        'out-of-range',
        `can't reserve id ${id} for the resource ${owner}: it is out of range`,
      );
    if (!this.#ids.mark(id))
      throw new AllocationError('taken', `id ${id} is already reserved by another resource`);
    this.#hold(owner, id);
  }

  /** Returns the id that the owner held, if any. */
  release(owner: string): number | undefined {
    const id = this.#byOwner.get(owner);
    if (id === undefined) return undefined;
    this.#byOwner.delete(owner);
    this.#byId.delete(id);
    this.#ids.free(id);
    return id;
  }

  owners(): IterableIterator<string> {
    return this.#byOwner.keys();
  }

  #hold(owner: string, id: number): void {
    this.#byOwner.set(owner, id);
    this.#byId.set(id, owner);
  }
}
