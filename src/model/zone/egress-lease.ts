/**
 * Whether this node may have egress addresses, and what another program left of them. Neither comes from an object: a `FactSource` keeps the one
 * (src/node/egress-lease/egress-lease-source.ts), the Northbound database that was found has the other (src/zone/zone-controller.ts).
 */
import { FactTable } from '../../facts/fact-table.ts';
import type { ZoneBasis } from './zone-basis.ts';

/** `unknown`: since the start nobody could tell yet. What is there stays, and nothing comes. */
export type EgressLeaseState = 'held' | 'lost' | 'unknown';

export type EgressLeaseTables = ReturnType<typeof egressLeaseTables>;

export function egressLeaseTables({ recorder }: ZoneBasis) {
  /** Nothing where nobody asks for the health of nodes: then addresses are had as they are assigned. */
  return {
    egressLease: new FactTable<[], { readonly state: EgressLeaseState }>('egressLease', recorder),
    /** Networks whose pods leave with egress addresses by rows that an ovn-kubernetes left, and where nothing dropped at the start what else arrives to leave. */
    egressLeft: new FactTable<[network: string], { readonly network: string }>(
      'egressLeft',
      recorder,
    ),
  };
}
