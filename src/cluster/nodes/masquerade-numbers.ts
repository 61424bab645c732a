/** Masquerade numbers of networks that have none by their ids, node by node: what is given to whom, in memory. */
import { AllocationError } from '../../allocators/allocation-error.ts';
import { IdAllocator } from '../../allocators/ids.ts';
import { FIRST_NODE_MASQUERADE, LAST_NODE_MASQUERADE } from '../../allocators/node-addresses.ts';

const ROOM = LAST_NODE_MASQUERADE - FIRST_NODE_MASQUERADE + 1;

export class MasqueradeNumbers {
  readonly #nodes = new Map<string, IdAllocator>();
  /** Networks that found no number, by node. */
  readonly #lacking = new Map<string, Set<string>>();

  /** Adopts what a node carries, as far as no other network there has it. */
  adopt(node: string, carried: ReadonlyMap<string, number>): void {
    for (const [network, number] of carried)
      try {
        this.#of(node).reserve(network, number);
      } catch (error) {
        if (!(error instanceof AllocationError)) throw error;
      }
  }

  /** Gives the network a number on the node, if one is left; true if it had none. */
  give(node: string, network: string): boolean {
    const numbers = this.#of(node);
    if (numbers.idOf(network) !== undefined) return false;
    try {
      numbers.allocate(network);
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      const lacking = this.#lacking.get(node) ?? new Set();
      this.#lacking.set(node, lacking.add(network));
      return false;
    }
    this.#forgetLack(node, network);
    return true;
  }

  /** Takes the network's number on the node back; true if it had one. One that found none may have it. */
  take(node: string, network: string): boolean {
    this.#forgetLack(node, network);
    if (this.#nodes.get(node)?.release(network) === undefined) return false;
    const [next] = this.#lacking.get(node) ?? [];
    if (next !== undefined) this.give(node, next);
    return true;
  }

  forgetNode(node: string): void {
    this.#nodes.delete(node);
    this.#lacking.delete(node);
  }

  /** Numbers on a node by network; undefined for a node that never had one. */
  numbersOf(node: string): ReadonlyMap<string, number> | undefined {
    const numbers = this.#nodes.get(node);
    return (
      numbers && new Map([...numbers.owners()].map((owner) => [owner, numbers.idOf(owner) ?? 0]))
    );
  }

  nodesOf(network: string): readonly string[] {
    return [...this.#nodes]
      .filter(([, numbers]) => numbers.idOf(network) !== undefined)
      .map(([node]) => node);
  }

  /** Networks that found no number, with what to do, by node. */
  *problems(): Iterable<readonly [node: string, message: string]> {
    for (const [node, networks] of this.#lacking)
      for (const network of networks)
        yield [
          node,
          `network ${network} has no masquerade number: all ${ROOM} of the node are in use by networks with ids above those that need none; end pods of others there, or use fewer networks on a node`,
        ];
  }

  #of(node: string): IdAllocator {
    const known =
      this.#nodes.get(node) ?? new IdAllocator(FIRST_NODE_MASQUERADE, LAST_NODE_MASQUERADE);
    this.#nodes.set(node, known);
    return known;
  }

  #forgetLack(node: string, network: string): void {
    const lacking = this.#lacking.get(node);
    lacking?.delete(network);
    if (lacking?.size === 0) this.#lacking.delete(node);
  }
}
