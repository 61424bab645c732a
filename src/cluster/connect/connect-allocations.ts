/** Connect subnets of one ClusterNetworkConnect: what its networks hold (reference/api.md §5.5). In memory. */
import { AllocationError, isExhausted } from '../../allocators/allocation-error.ts';
import { formatPrefix, parsePrefix, type Family, type Prefix } from '../../allocators/addresses.ts';
import { ConnectSubnetAllocator, type ConnectRange } from '../../allocators/connect-subnets.ts';
import { familyCidrs, type FamilyCidrs } from '../../api/nad/network-config.ts';
import type { ConnectProblem, ConnectableNetwork } from './connect-selection.ts';

/** `<topology>_<network id>`, as in the annotation. */
const connectOwner = ({ id, config }: ConnectableNetwork): string => `${config.topology}_${id}`;

const isLayer2 = (owner: string): boolean => owner.startsWith('layer2_');

export class ConnectAllocations {
  readonly ranges: readonly ConnectRange[];
  readonly #subnets: ConnectSubnetAllocator;

  /** Throws `invalid-range`. */
  constructor(ranges: readonly ConnectRange[]) {
    this.ranges = ranges;
    this.#subnets = new ConnectSubnetAllocator(ranges);
  }

  get isEmpty(): boolean {
    return this.#subnets.owners().length === 0;
  }

  /** Network ids that hold something. */
  networkIds(): ReadonlySet<number> {
    return new Set(
      this.#subnets.owners().map((owner) => Number(owner.slice(owner.indexOf('_') + 1))),
    );
  }

  /** Takes over what is stored, as far as it fits; the rest is allocated anew. */
  adopt(stored: ReadonlyMap<string, FamilyCidrs>): void {
    for (const [owner, cidrs] of stored) {
      const subnets = familyCidrs(cidrs)
        .map(parsePrefix)
        .filter((prefix) => prefix !== undefined);
      try {
        if (isLayer2(owner)) this.#subnets.reserveLayer2(owner, subnets);
        else this.#subnets.reserveLayer3(owner, subnets);
      } catch (error) {
        if (!(error instanceof AllocationError)) throw error;
      }
    }
  }

  /** Releases what networks hold that are not among `selected`. */
  releaseOthers(selected: readonly ConnectableNetwork[]): void {
    const owners = new Set(selected.map(connectOwner));
    for (const owner of this.#subnets.owners())
      if (!owners.has(owner)) this.#subnets.release(owner);
  }

  /** Gives every network its subnets; networks that find none are reported once the others are served. */
  allocate(networks: readonly ConnectableNetwork[]): ConnectProblem | undefined {
    let isFull = false;
    for (const network of networks) {
      const owner = connectOwner(network);
      try {
        if (isLayer2(owner)) this.#subnets.allocateLayer2(owner);
        else this.#subnets.allocateLayer3(owner);
      } catch (error) {
        if (!isExhausted(error)) throw error;
        isFull = true;
      }
    }
    if (!isFull) return undefined;
    const cidrs = this.ranges.map(({ cidr }) => formatPrefix(cidr)).join(', ');
    return {
      reason: 'ConnectSubnetExhausted',
      message: `Insufficient IP addresses in connect subnet ${cidrs}.`,
    };
  }

  /** What is held, as the annotation has it. */
  held(): ReadonlyMap<string, FamilyCidrs> {
    const text = (subnets: readonly Prefix[], family: Family): string | undefined => {
      const subnet = subnets.find((prefix) => prefix.family === family);
      return subnet === undefined ? undefined : formatPrefix(subnet);
    };
    return new Map(
      this.#subnets.owners().map((owner) => {
        const subnets = this.#subnets.subnetsOf(owner);
        const [v4, v6] = [text(subnets, 'v4'), text(subnets, 'v6')];
        return [
          owner,
          { ...(v4 === undefined ? {} : { v4 }), ...(v6 === undefined ? {} : { v6 }) },
        ] as const;
      }),
    );
  }
}
