/** Who of several pods has an address or a MAC address of a network. Pure. */
import type { VirtualMachine } from '../model.ts';
import { hostText, type PodAddressing } from './pod-ranges.ts';
import { isSameMachine } from './virtual-machines.ts';

/** An attachment that says that it has addresses. */
export interface PodClaim extends PodAddressing {
  readonly namespace: string;
  readonly pod: string;
  readonly nadKey: string;
  readonly network: string;
  /** When it was first read with these addresses, in rounds of the process: those of a start come together. */
  readonly since: number;
  /** When the pod was created. */
  readonly created: string;
  readonly machine?: VirtualMachine;
}

const TUNNEL_ID = ' port tunnel id ';

/** What nobody else on the network can have, as texts that are the same for the same claim. */
export const claimsOf = ({
  network,
  addresses,
  macAddress,
  tunnelId,
}: PodClaim): readonly string[] => [
  `${network} ${macAddress}`,
  ...(tunnelId === undefined ? [] : [`${network}${TUNNEL_ID}${tunnelId}`]),
  ...addresses.map((address) => `${network} ${hostText(address)}`),
];

/** Who had it first keeps it. Of several that a start finds, it is the older pod's. */
export function claimComesBefore(a: PodClaim, b: PodClaim): boolean {
  if (a.since !== b.since) return a.since < b.since;
  if (a.created !== b.created) return a.created < b.created;
  return keyOf(a) < keyOf(b);
}

const keyOf = ({ namespace, pod, nadKey }: PodClaim): string => `${namespace}/${pod} ${nadKey}`;

/**
 * Why the claim does not count: another one that does has an address of it. `ownersOf` finds those. Two pods of one virtual machine may
 * have the same addresses: it moves from one to the other.
 */
export function claimProblem(
  claim: PodClaim,
  ownersOf: (claimed: string) => readonly PodClaim[],
): string | undefined {
  for (const claimed of claimsOf(claim)) {
    const owners = ownersOf(claimed);
    const isMove =
      owners.length === 1 &&
      owners.every((owner) => isSameMachine(owner, claim)) &&
      !claimed.startsWith(`${claim.network}${TUNNEL_ID}`);
    const owner = isMove ? undefined : owners[0];
    if (owner === undefined) continue;
    const what = claimed.slice(claim.network.length + 1);
    return `${what} of network "${claim.network}" is that of pod "${owner.namespace}/${owner.pod}" (attachment "${owner.nadKey}")`;
  }
  return undefined;
}
