import {
  compareClauses,
  evaluateClause,
  type Condition,
  type ParsedClause,
} from '../data/condition.ts';
import { datumToJson } from '../data/datum.ts';
import type { Datum, JsonValue } from '../data/value.ts';

/** Conditions of `where` (RFC 7047 §5.1) compared, written and evaluated as a server does. */

const constantsInOrder = ({ constants }: Condition): readonly boolean[] =>
  constants.toSorted((a, b) => Number(a) - Number(b));

/**
 * Order of two conditions on the same table, as ovsdb-server has it: by the number of clauses, then clause by clause; 0 when they are the same,
 * whatever order their clauses were given in.
 */
export function compareConditions(a: Condition, b: Condition): number {
  const x = [...constantsInOrder(a), ...a.clauses];
  const y = [...constantsInOrder(b), ...b.clauses];
  if (x.length !== y.length) return x.length - y.length;
  for (const [i, clause] of x.entries()) {
    const order = compareMembers(clause, y[i] as boolean | ParsedClause);
    if (order !== 0) return order;
  }
  return 0;
}

/** Constants come before comparisons, `false` before `true`. */
function compareMembers(a: boolean | ParsedClause, b: boolean | ParsedClause): number {
  if (typeof a === 'object' && typeof b === 'object') return compareClauses(a, b);
  const rank = (member: boolean | ParsedClause): number =>
    typeof member === 'object' ? 2 : Number(member);
  return rank(a) - rank(b);
}

/** The condition in canonical form and order. */
export const conditionToJson = (condition: Condition): JsonValue => [
  ...constantsInOrder(condition),
  ...condition.clauses.map((clause): JsonValue => [
    clause.column,
    clause.function,
    datumToJson(clause.type, clause.argument),
  ]),
];

/** Whether a row satisfies every clause; `column` gives its values (`_uuid` and `_version` included), `undefined` for those that have their default. */
export const evaluateCondition = (condition: Condition, column: (name: string) => Datum): boolean =>
  !condition.never &&
  condition.clauses.every((clause) => evaluateClause(clause, column(clause.column)));

/** Whether a row satisfies one of the clauses, as in a monitor; an empty condition matches every row. */
export const evaluateMonitorCondition = (
  condition: Condition,
  column: (name: string) => Datum,
): boolean =>
  (condition.clauses.length === 0 && condition.constants.length === 0) ||
  condition.constants.includes(true) ||
  condition.clauses.some((clause) => evaluateClause(clause, column(clause.column)));
