/** Whether this node may have egress addresses. It comes from no object: a `FactSource` keeps it (src/node/egress-lease/egress-lease-source.ts). */
import { FactTable } from '../../facts/fact-table.ts';
import type { ZoneBasis } from './zone-basis.ts';

/** `unknown`: since the start nobody could tell yet. What is there stays, and nothing comes. */
export type EgressLeaseState = 'held' | 'lost' | 'unknown';

export type EgressLeaseTables = ReturnType<typeof egressLeaseTables>;

export function egressLeaseTables({ recorder }: ZoneBasis) {
  /** Nothing where nobody asks for the health of nodes: then addresses are had as they are assigned. */
  return {
    egressLease: new FactTable<[], { readonly state: EgressLeaseState }>('egressLease', recorder),
  };
}
