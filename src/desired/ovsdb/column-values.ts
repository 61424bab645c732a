/** How the value of a column becomes another one with the fewest bytes. */
import {
  datumEquals,
  datumToJson,
  toDatum,
  type Atom,
  type ColumnType,
  type Datum,
  type Mutation,
  type Writable,
} from 'ovsdb-client-ts';
import type { SetVersion } from '../../facts/counted-set.ts';
import type { PlannedColumn } from './changes.ts';
import type { ClaimedColumn } from './claimed-table.ts';
import type { SetDifference } from './compared-sets.ts';

/** What a set or map has: members of a set without a value. */
type Members = ReadonlyMap<Atom, Atom | undefined>;

export const isMap = (datum: Datum): datum is ReadonlyMap<Atom, Atom> => datum instanceof Map;
export const isSet = (datum: Datum): datum is readonly Atom[] => Array.isArray(datum);

/** What a set or map has; of a scalar nothing. */
export function membersOf(datum: Datum): Members {
  if (isMap(datum)) return datum;
  return new Map(isSet(datum) ? datum.map((atom) => [atom, undefined]) : []);
}

/** Members of one that the other lacks, or has with another value. */
export const without = (one: Members, other: Members): Members =>
  new Map([...one].filter(([key, value]) => !other.has(key) || other.get(key) !== value));

/** The type of a set or map without a limit. */
const ofAnySize = (type: ColumnType): ColumnType => ({ ...type, min: 0, max: Infinity });

/** True for a set or map of any size. */
const isUnbounded = ({ min, max }: ColumnType): boolean => min === 0 && max === Infinity;

/** True for a set of any texts, which is right when it has the right members. */
export const isTextSet = (type: ColumnType): boolean =>
  isUnbounded(type) && type.value === undefined && type.key.type === 'string';

/** Puts members in and takes others out. */
function mutationsOf(
  { name, type }: ClaimedColumn,
  put: Members,
  gone: readonly Atom[],
): readonly Mutation[] {
  const any = ofAnySize(type);
  const values = type.value === undefined ? [...put.keys()] : (put as ReadonlyMap<Atom, Atom>);
  const insert: Mutation[] =
    put.size === 0 ? [] : [[name, 'insert', datumToJson(any, toDatum(any, values))]];
  const keys = ofAnySize({ key: type.key, min: 0, max: 1 });
  const remove: Mutation[] =
    gone.length === 0 ? [] : [[name, 'delete', datumToJson(keys, toDatum(keys, gone))]];
  // A set that must not be empty gets its new members first; in a map `insert` keeps the value of a key that exists.
  return type.value === undefined ? [...insert, ...remove] : [...remove, ...insert];
}

/** The column of a new row, undefined when it has the default anyway. */
export function inserted(column: ClaimedColumn, value: Writable): PlannedColumn | undefined {
  const after = toDatum(column.type, value);
  if (datumEquals(after, column.defaultValue)) return undefined;
  const { name, type, defaultValue } = column;
  return { name, type, before: defaultValue, after, mutations: undefined };
}

/** The column's whole value becomes another one: by mutations, where these name fewer members than the value has. */
export function replaced(
  column: ClaimedColumn,
  before: Datum,
  value: Writable,
): PlannedColumn | undefined {
  const { name, type } = column;
  const after = toDatum(type, value);
  if (datumEquals(before, after)) return undefined;
  const [old, wanted] = [membersOf(before), membersOf(after)];
  const [put, gone] = [without(wanted, old), [...without(old, wanted).keys()]];
  const isSmaller = isUnbounded(type) && put.size + gone.length < wanted.size;
  return {
    name,
    type,
    before,
    after,
    mutations: isSmaller ? mutationsOf(column, put, gone) : undefined,
  };
}

/** Members of a set come and go: of a large one the others are not looked at, until somebody wants to see it. */
export function moved(
  column: ClaimedColumn,
  before: () => Datum,
  wanted: SetVersion,
  { add, remove }: SetDifference,
): PlannedColumn | undefined {
  const count = add.length + remove.length;
  if (count === 0) return undefined;
  if (count >= wanted.size) return replaced(column, before(), [...wanted]);
  const { name, type } = column;
  return {
    name,
    type,
    get before() {
      const common = new Set(wanted).difference(new Set(add));
      return toDatum(type, [...common, ...remove]);
    },
    get after() {
      return toDatum(type, [...wanted]);
    },
    mutations: mutationsOf(column, membersOf(add), remove),
  };
}

/** A set or map in which others have members of their own: what is wanted is there, nothing else changes. Undefined when it is there already. */
export function shared(
  column: ClaimedColumn,
  before: Datum,
  value: Writable,
): PlannedColumn | undefined {
  const { name, type } = column;
  const old = membersOf(before);
  const put = without(membersOf(toDatum(ofAnySize(type), value)), old);
  if (put.size === 0) return undefined;
  const members = new Map([...old, ...put]);
  const after = type.value === undefined ? [...members.keys()] : (members as Map<Atom, Atom>);
  const gone = [...put.keys()].filter((key) => old.has(key));
  return { name, type, before, after, mutations: mutationsOf(column, put, gone) };
}
