/** Types, values, differences, conditions, mutations and messages of OVSDB, without any connection. All of it is pure. */
import '../node-floor.ts';
export * from '../data/column-type.ts';
export {
  evaluateClause,
  excludesAll,
  includesAll,
  parseCondition,
  readClause,
  type Condition,
  type ParsedClause,
} from '../data/condition.ts';
export * from './condition-evaluation.ts';
export {
  compareDatums,
  datumEquals,
  datumToJson,
  defaultDatum,
  members,
  parseDatum,
  toAtom,
  toDatum,
  writableToJson,
  type DatumLimits,
} from '../data/datum.ts';
export * from './difference.ts';
export { OvsdbError, type OvsdbErrorCode } from '../data/error.ts';
export { canonicalText, jsonEquals, RoundedReal, stringify } from '../data/json.ts';
export * from './mutation.ts';
export { parseRow, rowToJson } from './row-json.ts';
export * from '../data/schema.ts';
export * from '../data/value.ts';
export { compareUtf8 } from '../data/utf8-order.ts';
export { atomText, compareAtoms, realText } from '../data/atom.ts';
export { datumText, parseAtomRange, parseAtomText, parseDatumText } from './datum-text.ts';
export { Framer, type FramerLimits } from '../wire/framer.ts';
export { parseJson, parseJsonText } from '../wire/json-text.ts';
