/** What pods of a network get and send by its ACLs is what objects allow: policies, and EgressFirewalls outside. */
import type { Findings } from '../findings.ts';
import type { VerifiedNetwork } from '../intent/networks.ts';
import { checkFirewalls } from './firewalls.ts';
import { policedNetwork, type Policed } from './policed-network.ts';
import { checkPolicies } from './policies.ts';

/** Yields after each kind of pods, so that others may have their turn. */
export function* checkPoliced(
  network: VerifiedNetwork,
  at: Policed,
  findings: Findings,
): Generator<undefined, void> {
  const policed = policedNetwork(network, at, findings);
  if (policed === undefined) return;
  yield* checkPolicies(policed);
  yield* checkFirewalls(policed);
}
