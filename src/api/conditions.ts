/** Conditions of a status: a list with one entry per type (metav1.Condition). */
import type { Condition } from './objects.ts';
import { clipped, visibleText } from './visible-text.ts';

/** Longest message that the API server takes. */
const LONGEST_MESSAGE = 32768;

export interface NewCondition {
  readonly type: string;
  readonly status: Condition['status'];
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
}

/** A message as a condition holds it. */
export const conditionMessage = (text: string): string =>
  clipped(visibleText(text), LONGEST_MESSAGE);

/**
 * The list with one condition set. `now` (RFC 3339) is the time of a change of status; while the status stays, the old
 * time does. Answers the same list when nothing changes, so that nothing needs to be written.
 */
export function withCondition(
  conditions: readonly Condition[],
  condition: NewCondition,
  now: string,
): readonly Condition[] {
  const old = conditions.find(({ type }) => type === condition.type);
  const next: Condition = {
    ...condition,
    // It may tell of what another tenant or node wrote.
    message: conditionMessage(condition.message),
    lastTransitionTime: old?.status === condition.status ? old.lastTransitionTime : now,
  };
  if (old === undefined) return [...conditions, next];
  const same =
    old.status === next.status &&
    old.reason === next.reason &&
    old.message === next.message &&
    old.observedGeneration === next.observedGeneration;
  return same ? conditions : conditions.map((each) => (each === old ? next : each));
}

/** The list without conditions of a type; the same list when there is none. */
export const withoutCondition = (
  conditions: readonly Condition[],
  type: string,
): readonly Condition[] =>
  conditions.some((each) => each.type === type)
    ? conditions.filter((each) => each.type !== type)
    : conditions;

export const conditionOf = (
  conditions: readonly Condition[] | undefined,
  type: string,
): Condition | undefined => conditions?.find((each) => each.type === type);
