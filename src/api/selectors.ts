/** Label selectors: which labels they match, and how they are written in a request. */
import type { KubeObject } from './objects.ts';
import type { LabelSelector, LabelSelectorRequirement } from './types.ts';

type Labels = Readonly<Record<string, string>>;

/** The label by which selectors name an object. */
export const NAME_LABEL = 'kubernetes.io/metadata.name';

/** A namespace as an API server stores it: with its name as a label. */
export const withNameLabel = <T extends KubeObject>(namespace: T): T => ({
  ...namespace,
  metadata: {
    ...namespace.metadata,
    labels: { ...namespace.metadata.labels, [NAME_LABEL]: namespace.metadata.name },
  },
});

/**
 * metav1.LabelSelector: `{}` selects everything, undefined nothing. An unknown operator selects nothing, so that a selector
 * nobody understands never widens what is selected.
 */
export function matchesSelector(selector: LabelSelector | undefined, labels: Labels = {}): boolean {
  if (selector === undefined) return false;
  return (
    Object.entries(selector.matchLabels ?? {}).every(
      ([key, value]) => Object.hasOwn(labels, key) && labels[key] === value,
    ) && (selector.matchExpressions ?? []).every((requirement) => meets(requirement, labels))
  );
}

function meets({ key, operator, values = [] }: LabelSelectorRequirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      return false;
  }
}

/** The selector as the `labelSelector` of a request says it; throws for an unknown operator. */
export const formatSelector = ({
  matchLabels = {},
  matchExpressions = [],
}: LabelSelector): string =>
  [
    ...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`),
    ...matchExpressions.map(formatRequirement),
  ].join(',');

function formatRequirement({ key, operator, values = [] }: LabelSelectorRequirement): string {
  switch (operator) {
    case 'In':
      return `${key} in (${values.join(',')})`;
    case 'NotIn':
      return `${key} notin (${values.join(',')})`;
    case 'Exists':
      return key;
    case 'DoesNotExist':
      return `!${key}`;
    default:
      throw new Error(`label selector: operator ${JSON.stringify(operator)} is unknown`);
  }
}
