/** Which primary networks may share a namespace (reference/api.md §4.2, §8). Pure. */
import { PRIMARY_NETWORK_LABEL } from '../annotations/network-annotations.ts';
import { formatPrefix, overlaps, type Prefix } from '../../allocators/addresses.ts';
import type { LabelSelector } from '../types.ts';

/** A primary network of a namespace, there already or wanted. */
export interface PrimaryNetwork {
  /** `<namespace>/<name>` of its NAD in the namespace. */
  readonly nad: string;
  readonly network: string;
  /** Kind of the object that declares it; undefined for a NAD made by hand. */
  readonly ownerKind: 'UserDefinedNetwork' | 'ClusterUserDefinedNetwork' | undefined;
  readonly subnets: readonly Prefix[];
  /** Of a ClusterUserDefinedNetwork. */
  readonly namespaceSelector?: LabelSelector;
}

type PrimaryConflictReason =
  | 'PrimaryNetworkExists'
  | 'MixedPrimaryNetworks'
  | 'NamespaceSelectorMismatch'
  | 'OverlappingNetworkSubnets';

export interface PrimaryConflict {
  readonly reason: PrimaryConflictReason;
  readonly message: string;
}

/** Why `wanted` can't be a primary network of the namespace beside `existing`; undefined if it can. */
export function primaryConflict(
  namespace: string,
  existing: readonly PrimaryNetwork[],
  wanted: PrimaryNetwork,
): PrimaryConflict | undefined {
  for (const other of existing) {
    if (other.nad === wanted.nad) continue;
    const conflict = conflictOf(other, wanted);
    if (conflict === undefined) continue;
    const exists = `primary network already exist in namespace "${namespace}": "${other.nad}"`;
    return {
      reason: conflict.reason,
      message: conflict.why === undefined ? exists : `${exists}: ${conflict.why}`,
    };
  }
  return undefined;
}

function conflictOf(
  other: PrimaryNetwork,
  wanted: PrimaryNetwork,
): { readonly reason: PrimaryConflictReason; readonly why?: string } | undefined {
  if (other.ownerKind === undefined || wanted.ownerKind === undefined)
    return { reason: 'PrimaryNetworkExists' };
  if (other.ownerKind !== wanted.ownerKind)
    return {
      reason: 'MixedPrimaryNetworks',
      why: `a ${wanted.ownerKind} can't be added to a namespace whose primary network is a ${other.ownerKind}`,
    };
  if (
    wanted.ownerKind === 'ClusterUserDefinedNetwork' &&
    !sameSelector(other.namespaceSelector, wanted.namespaceSelector)
  )
    return {
      reason: 'NamespaceSelectorMismatch',
      why: `a further primary network needs the same spec.namespaceSelector as network ${other.network}`,
    };
  const overlap = wanted.subnets
    .flatMap((mine) => other.subnets.map((theirs) => ({ mine, theirs })))
    .find(({ mine, theirs }) => overlaps(mine, theirs));
  if (overlap === undefined) return undefined;
  return {
    reason: 'OverlappingNetworkSubnets',
    why: `subnet ${formatPrefix(overlap.mine)} overlaps subnet ${formatPrefix(overlap.theirs)} of network ${other.network}`,
  };
}

/** Selectors that say the same, whatever the order of their keys, requirements and values. */
function sameSelector(a: LabelSelector | undefined, b: LabelSelector | undefined): boolean {
  return a !== undefined && b !== undefined && canonical(a) === canonical(b);
}

const canonical = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string =>
  JSON.stringify([
    Object.entries(matchLabels).toSorted(([x], [y]) => (x < y ? -1 : 1)),
    matchExpressions
      .map(({ key, operator, values = [] }) => JSON.stringify([key, operator, values.toSorted()]))
      .toSorted(),
  ]);

/** Text for a namespace that lacks its label (reference/api.md §10), and which of label and namespace is missing. */
export const invalidPrimaryNetwork = (namespace: string, isThere: boolean): string =>
  `invalid primary network state for namespace "${namespace}": a valid primary user defined network or network attachment definition custom resource, and required namespace label "${PRIMARY_NETWORK_LABEL}" must both be present: ${isThere ? 'the namespace lacks the label' : 'there is no such namespace'}`;

/** Text for the pods of a namespace that has the label and no network: which of the two is missing. */
export const noPrimaryNetwork = (namespace: string): string =>
  `namespace "${namespace}" has the label "${PRIMARY_NETWORK_LABEL}" and no primary network yet: create a UserDefinedNetwork with role Primary in it, or a ClusterUserDefinedNetwork that selects it; where there is one its conditions say what it lacks`;
