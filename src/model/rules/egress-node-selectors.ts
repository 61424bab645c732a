/** Which nodes may have addresses of EgressIPs, by their labels (reference/egress.md §1.2). Pure. */
import { EGRESS_ASSIGNABLE_LABEL } from '../../api/annotations/network-annotations.ts';
import { labelSelectorProblem } from '../../api/label-selector.ts';
import { matchesSelector } from '../../api/selectors.ts';
import type { EgressIP, LabelSelector, Node } from '../../api/types.ts';

/** What counts for an object without one; ovn-kubernetes' CRD writes it there. */
const ASSIGNABLE: LabelSelector = {
  matchExpressions: [{ key: EGRESS_ASSIGNABLE_LABEL, operator: 'Exists' }],
};
const ASSIGNABLE_TEXT = JSON.stringify(ASSIGNABLE);

/** Nodes that may have addresses of an object: OKEP-6800. */
export const egressNodeSelector = ({ spec }: EgressIP): LabelSelector =>
  spec.egressNodeSelector ?? ASSIGNABLE;

/** True for an object that leaves it to the label of nodes. */
export const isByLabel = (egressIp: EgressIP): boolean =>
  JSON.stringify(egressNodeSelector(egressIp)) === ASSIGNABLE_TEXT;

/** Selectors of objects that can be read, each once. */
export function egressNodeSelectors(egressIps: readonly EgressIP[]): readonly LabelSelector[] {
  const selectors = new Map<string, LabelSelector>();
  for (const { spec } of egressIps)
    if (spec.egressNodeSelector !== undefined)
      selectors.set(JSON.stringify(spec.egressNodeSelector), spec.egressNodeSelector);
  return [...selectors.values()].filter((one) => labelSelectorProblem(one) === undefined);
}

/** True for a node that has the label, whether or not an object asks for it, or that an object selects. */
export const isEgressNode = (
  { metadata: { labels = {} } }: Node,
  selectors: readonly LabelSelector[],
): boolean =>
  Object.hasOwn(labels, EGRESS_ASSIGNABLE_LABEL) ||
  selectors.some((selector) => matchesSelector(selector, labels));
