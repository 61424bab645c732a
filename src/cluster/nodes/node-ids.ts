/** Node ids, and the transit addresses that follow from them (reference/api.md §6.3). In memory. */
import { AllocationError } from '../../allocators/allocation-error.ts';
import {
  formatInterfaceAddress,
  parseInterfaceAddress,
  parsePrefix,
} from '../../allocators/addresses.ts';
import { FIRST_NODE_ID, IdAllocator, MAX_NODE_ID } from '../../allocators/ids.ts';
import { nodeAddress, nodeIdOfAddress } from '../../allocators/node-addresses.ts';
import { nodeId, nodeTransitAddresses } from '../../api/annotations/node-annotations.ts';
import type { FamilyCidrs } from '../../api/nad/network-config.ts';
import type { Node } from '../../api/types.ts';
import type { ClusterSettings } from '../../model/model.ts';
import { familiesOf } from '../networks/nads.ts';

/** How many nodes can have an id. */
export const MOST_NODES = MAX_NODE_ID - FIRST_NODE_ID + 1;

export class NodeIds {
  readonly #settings: Pick<ClusterSettings, 'clusterSubnets' | 'transitSubnets'>;
  readonly #ids = new IdAllocator(FIRST_NODE_ID, MAX_NODE_ID);
  /** Nodes for which none was left. */
  readonly #lacking = new Set<string>();

  constructor(settings: Pick<ClusterSettings, 'clusterSubnets' | 'transitSubnets'>) {
    this.#settings = settings;
  }

  idOf(node: string): number | undefined {
    return this.#ids.idOf(node);
  }

  /** Adopts the id that a node carries, or where that can’t be read the one of its transit addresses. Returns what is another node’s, in words. */
  adopt(node: Node): string | undefined {
    const { name } = node.metadata;
    if (this.#ids.idOf(name) !== undefined) return undefined;
    const { value, errors } = nodeId(node);
    const id = value ?? (errors.length > 0 ? this.#idOfTransitAddresses(node) : undefined);
    if (id === undefined) return undefined;
    try {
      this.#ids.reserve(name, id);
      return undefined;
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      const owner = this.#ids.ownerOf(id);
      // An annotation that can't be read is told of as that.
      return value === undefined || owner === undefined
        ? undefined
        : `${id} is the id of node ${owner}, which keeps it`;
    }
  }

  /** The id of a node, a free one if it has none; undefined where none is left. */
  allocate(node: string): number | undefined {
    try {
      const id = this.#ids.allocate(node);
      this.#lacking.delete(node);
      return id;
    } catch (error) {
      if (!(error instanceof AllocationError)) throw error;
      this.#lacking.add(node);
      return undefined;
    }
  }

  /** The node is gone. Returns those that may find an id now. */
  release(node: string): readonly string[] {
    this.#lacking.delete(node);
    return this.#ids.release(node) === undefined ? [] : [...this.#lacking];
  }

  transitAddresses(id: number): FamilyCidrs {
    const { clusterSubnets, transitSubnets } = this.#settings;
    const families = familiesOf(clusterSubnets);
    const address = (cidr: string | undefined): string | undefined => {
      const prefix = cidr === undefined ? undefined : parsePrefix(cidr);
      return prefix === undefined || !families.has(prefix.family)
        ? undefined
        : formatInterfaceAddress(nodeAddress(prefix, id));
    };
    const [v4, v6] = [address(transitSubnets.v4), address(transitSubnets.v6)];
    return { ...(v4 === undefined ? {} : { v4 }), ...(v6 === undefined ? {} : { v6 }) };
  }

  /** Undefined where the transit addresses of a node are none of ours, or don't agree. */
  #idOfTransitAddresses(node: Node): number | undefined {
    const { transitSubnets } = this.#settings;
    const { value = {} } = nodeTransitAddresses(node);
    const ids = (['v4', 'v6'] as const).flatMap((family) => {
      const [cidr, text] = [transitSubnets[family], value[family]];
      if (text === undefined) return [];
      const subnet = cidr === undefined ? undefined : parsePrefix(cidr);
      const address = parseInterfaceAddress(text);
      return subnet === undefined || address === undefined
        ? [undefined]
        : [nodeIdOfAddress(subnet, address)];
    });
    return new Set(ids).size === 1 ? ids[0] : undefined;
  }
}
