/** Pods by selectors: one text for all selections that mean the same, as ovn-kubernetes writes it (reference/topology.md §16.1). */
import type { LabelSelector, LabelSelectorRequirement } from '../../api/types.ts';

/** Pods of a namespace, or of the namespaces that a selector matches, by their labels. */
export interface PodSelection {
  readonly id: string;
  readonly namespace?: string;
  /** Instead of `namespace`. */
  readonly namespaceSelector?: LabelSelector;
  readonly podSelector: LabelSelector;
  /** True where no pod selector was given: the same pods as with an empty one, in a set of another name. */
  readonly isLegacy: boolean;
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const requirementText = ({ key, operator, values = [] }: LabelSelectorRequirement): string =>
  `LSR{Key:${key},Operator:${operator},Values:[${[...values].sort(byText).join(' ')}],}`;

/** `LS{ML:{app: web,},ME:{…},}`; the same text for selectors that say the same in another order. */
function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const labels = Object.entries(matchLabels)
    .sort(([a], [b]) => byText(a, b))
    .map(([key, value]) => `${key}: ${value},`);
  const expressions = matchExpressions.map(requirementText).sort(byText);
  return [
    'LS{',
    labels.length === 0 ? '' : `ML:{${labels.join('')}},`,
    expressions.length === 0 ? '' : `ME:{${expressions.join(',')}},`,
    '}',
  ].join('');
}

/** Key of the set of a selection's addresses. */
export const selectionId = ({
  namespace = '',
  namespaceSelector,
  podSelector,
  isLegacy,
}: Omit<PodSelection, 'id'>): string =>
  `${namespaceSelector === undefined ? namespace : selectorText(namespaceSelector)}_${selectorText(podSelector)}${isLegacy ? '_LNM' : ''}`;
