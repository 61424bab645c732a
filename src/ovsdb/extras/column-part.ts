import type { ColumnType } from '../data/column-type.ts';
import { isRecord } from '../data/datum.ts';
import { syntaxError } from '../data/error.ts';
import type { Mutator } from '../data/operation.ts';
import type { Writable } from '../data/value.ts';

/** Types of what is given to change a part of a column's value. */

/** Members of a set, or pairs of a map: as many as one likes. */
export const anySize = (type: ColumnType): ColumnType => ({ ...type, min: 0, max: Infinity });

/** Keys of a map. */
export const anyKeys = ({ key }: ColumnType): ColumnType => ({ key, min: 0, max: Infinity });

/** Pairs of a map; throws `syntax error` for a set. */
export function anyPairs(type: ColumnType): ColumnType {
  if (type.value === undefined) throw syntaxError('this column is not a map');
  return anySize(type);
}

/** A number to calculate with: the range of the column is that of the result. */
const operand = ({ key }: ColumnType): ColumnType => ({ key: { type: key.type }, min: 1, max: 1 });

const isPairs = (value: Writable): boolean => value instanceof Map || isRecord(value);

/** The type that the argument of a mutation has. */
export function argumentType(mutator: Mutator, value: Writable): (type: ColumnType) => ColumnType {
  if (mutator === 'insert') return anySize;
  if (mutator === 'delete') return isPairs(value) ? anySize : anyKeys;
  return operand;
}
