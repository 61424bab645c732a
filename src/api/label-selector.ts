/** Validation of label selectors, which the CRDs leave to the readers of a selector. */
import type { FieldPath } from './validation/field-errors.ts';
import { formatPath, formatValue } from './validation/field-errors.ts';
import { isLabelValue, isQualifiedName } from './validation/metadata.ts';
import { isPlainObject } from './plain-object.ts';
import type { LabelSelector, LabelSelectorRequirement } from './types.ts';

const SELECTOR_FIELDS = [
  'namespaceSelector',
  'networkSelector',
  'podSelector',
  'nodeSelector',
  'egressNodeSelector',
  'trafficSelector',
];

function requirementProblem({
  key,
  operator,
  values = [],
}: LabelSelectorRequirement): string | undefined {
  if (!isQualifiedName(key)) return `key ${formatValue(key)} is no label key`;
  switch (operator) {
    case 'In':
    case 'NotIn': {
      if (values.length === 0) return `operator ${operator} needs values`;
      const wrong = values.find((value) => !isLabelValue(value));
      return wrong === undefined ? undefined : `${formatValue(wrong)} is no label value`;
    }
    case 'Exists':
    case 'DoesNotExist':
      return values.length === 0 ? undefined : `operator ${operator} takes no values`;
    default:
      return `operator ${formatValue(operator)} is none of In, NotIn, Exists, DoesNotExist`;
  }
}

/** Why a selector selects nothing, whatever the labels are; undefined when it makes sense. */
export function labelSelectorProblem(selector: LabelSelector): string | undefined {
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    if (!isQualifiedName(key)) return `key ${formatValue(key)} is no label key`;
    if (!isLabelValue(value)) return `${formatValue(value)} is no label value`;
  }
  for (const requirement of selector.matchExpressions ?? []) {
    const problem = requirementProblem(requirement);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Selectors in the spec of a valid object that make no sense, and where they are. */
export function selectorProblems(
  spec: unknown,
  path: FieldPath = ['spec'],
): { readonly path: FieldPath; readonly message: string }[] {
  if (Array.isArray(spec)) {
    return spec.flatMap((item: unknown, index) => selectorProblems(item, [...path, index]));
  }
  if (!isPlainObject(spec)) return [];
  return Object.entries(spec).flatMap(([key, value]) => {
    const at = [...path, key];
    // A networkSelector inside a clusterUserDefinedNetworkSelector is a label selector; what holds it is not.
    if (!SELECTOR_FIELDS.includes(key) || !isPlainObject(value)) return selectorProblems(value, at);
    const problem = labelSelectorProblem(value);
    return problem === undefined ? [] : [{ path: at, message: `${formatPath(at)}: ${problem}` }];
  });
}
