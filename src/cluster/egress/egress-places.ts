/** Where each address of an EgressIP is, and what its owner is told when it leaves a node (reference/egress.md §1.1). Pure. */
import type { EgressAssignment, EgressItem } from '../../allocators/egress-addresses.ts';
import type { ObjectEvent } from '../../store/store.ts';

/** The node that has an address, or had it last. */
interface EgressPlace {
  readonly node: string;
  /** Why it left, in words: undefined while it is there, or where nothing is known. */
  readonly why: string | undefined;
  /** It is at no node, and its owner was told. */
  readonly isLost: boolean;
}

export type EgressPlaces = ReadonlyMap<string, EgressPlace>;
export type EgressPlaceEvent = Pick<ObjectEvent, 'type' | 'reason' | 'message'>;

/** Places by what the status of an object says. */
export const placesOf = (items: readonly EgressItem[]): EgressPlaces =>
  new Map(items.map(({ node, address }) => [address, { node, why: undefined, isLost: false }]));

interface EgressPlaceFacts {
  /** Why a node has an address no more; asked as it leaves, since its node may be well again when it arrives. */
  readonly whyLeft: (node: string, address: string) => string | undefined;
  /** Moves of which the owner has been told otherwise. */
  readonly isTold: (address: string, to: string) => boolean;
}

/** `addresses`: those that the object asks for. One that it asks for no more went nowhere. */
export function movePlaces(
  before: EgressPlaces,
  addresses: Iterable<string>,
  { items, unassigned }: EgressAssignment,
  { whyLeft, isTold }: EgressPlaceFacts,
): { readonly places: EgressPlaces; readonly events: readonly EgressPlaceEvent[] } {
  const places = new Map<string, EgressPlace>();
  const events: EgressPlaceEvent[] = [];
  for (const address of addresses) {
    const was = before.get(address);
    const node = items.find((item) => item.address === address)?.node;
    if (node !== undefined) {
      places.set(address, { node, why: undefined, isLost: false });
      if (was === undefined || (was.node === node && !was.isLost)) continue;
      if (!isTold(address, node)) events.push(moved(address, was, node, whyLeft));
    } else if (was !== undefined) {
      const why = was.why ?? whyLeft(was.node, address);
      const isLost = was.isLost || unassigned.get(address)?.kind === 'no-node';
      places.set(address, { node: was.node, why, isLost });
      if (isLost && !was.isLost)
        events.push({
          type: 'Warning',
          reason: 'EgressIPLost',
          message: `egress IP ${address} has left node ${was.node}${because(why)}; no other node can have it, and pods send nothing out with it`,
        });
    }
  }
  return { places, events };
}

const because = (why: string | undefined): string => (why === undefined ? '' : `: ${why}`);

function moved(
  address: string,
  was: EgressPlace,
  to: string,
  whyLeft: EgressPlaceFacts['whyLeft'],
): EgressPlaceEvent {
  const message = was.isLost
    ? `egress IP ${address} is at node ${to}; it was at none since it left node ${was.node}`
    : `egress IP ${address} moves from node ${was.node} to node ${to}${because(was.why ?? whyLeft(was.node, address))}`;
  return { type: 'Normal', reason: 'EgressIPMoved', message };
}
