import {
  datumEquals,
  datumToJson,
  members,
  toDatum,
  type Atom,
  type ColumnType,
  type Datum,
  type JsonValue,
  type Mutation,
  type Writable,
} from '../../ovsdb/index.ts';

import type { SetVersion } from '../counted-set.ts';
import type { PlannedColumn } from './changes.ts';
import type { ClaimedColumn } from './claimed-table.ts';
import type { SetDifference } from './compared-sets.ts';

/** How the value of a column becomes another one with the fewest bytes. */

const setType = (type: ColumnType): ColumnType => ({ key: type.key, min: 0, max: Infinity });
const mapType = (type: ColumnType): ColumnType => ({ ...type, min: 0, max: Infinity });

/** True for a set or map of any size. */
const isUnbounded = ({ min, max }: ColumnType): boolean => min === 0 && max === Infinity;

/** True for a set of any texts, which is right when it has the right members. */
export const isTextSet = (type: ColumnType): boolean =>
  isUnbounded(type) && type.value === undefined && type.key.type === 'string';

const asMap = (datum: Datum): ReadonlyMap<Atom, Atom> =>
  datum instanceof Map ? (datum as ReadonlyMap<Atom, Atom>) : new Map<Atom, Atom>();

/** Adds and removes members of a set. A set that must not be empty gets its new members before it loses the old ones. */
function setMutations(
  { name, type }: ClaimedColumn,
  add: readonly Atom[],
  remove: readonly Atom[],
): readonly Mutation[] {
  const any = setType(type);
  const json = (atoms: readonly Atom[]): JsonValue => datumToJson(any, toDatum(any, atoms));
  const result: Mutation[] = [];
  if (add.length > 0) result.push([name, 'insert', json(add)]);
  if (remove.length > 0) result.push([name, 'delete', json(remove)]);
  return result;
}

/** Sets and removes keys of a map: `insert` keeps the value of a key that exists, so it is deleted first. */
function mapMutations(
  column: ClaimedColumn,
  before: ReadonlyMap<Atom, Atom>,
  put: ReadonlyMap<Atom, Atom>,
  remove: readonly Atom[],
): readonly Mutation[] {
  const gone = [...remove, ...[...put.keys()].filter((key) => before.has(key))];
  const result = [...setMutations(column, [], gone)];
  const type = mapType(column.type);
  if (put.size > 0) result.push([column.name, 'insert', datumToJson(type, toDatum(type, put))]);
  return result;
}

/** The column of a new row, undefined when it has the default anyway. */
export function inserted(column: ClaimedColumn, value: Writable): PlannedColumn | undefined {
  const after = toDatum(column.type, value);
  if (datumEquals(after, column.defaultValue)) return undefined;
  const { name, type, defaultValue } = column;
  return { name, type, before: defaultValue, after, mutations: undefined };
}

/** The column's whole value becomes another one. */
export function replaced(
  column: ClaimedColumn,
  before: Datum,
  value: Writable,
): PlannedColumn | undefined {
  const { name, type } = column;
  const after = toDatum(type, value);
  if (datumEquals(before, after)) return undefined;
  return { name, type, before, after, mutations: smallerMutations(column, before, after) };
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
  const mutations = setMutations(column, add, remove);
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
    mutations,
  };
}

/** Mutations, where they name fewer members than the whole value has. */
function smallerMutations(
  column: ClaimedColumn,
  before: Datum,
  after: Datum,
): readonly Mutation[] | undefined {
  const { type } = column;
  if (!isUnbounded(type)) return undefined;
  if (type.value !== undefined) {
    const [old, wanted] = [asMap(before), asMap(after)];
    const put = new Map([...wanted].filter(([k, v]) => old.get(k) !== v));
    const remove = [...old.keys()].filter((key) => !wanted.has(key));
    const changed = [...put.keys()].filter((key) => old.has(key)).length;
    return remove.length + put.size + changed < wanted.size
      ? mapMutations(column, old, put, remove)
      : undefined;
  }
  const [old, wanted] = [new Set(members(before)), new Set(members(after))];
  const add = [...wanted.difference(old)];
  const remove = [...old.difference(wanted)];
  return add.length + remove.length < wanted.size ? setMutations(column, add, remove) : undefined;
}

/**
 * A set or map in which others have members of their own: what is wanted is there, nothing else changes. Undefined when
 * it is there already.
 */
export function shared(
  column: ClaimedColumn,
  before: Datum,
  value: Writable,
): PlannedColumn | undefined {
  const { name, type } = column;
  if (type.value === undefined) {
    const old = new Set(members(before));
    const add = members(toDatum(setType(type), value)).filter((member) => !old.has(member));
    if (add.length === 0) return undefined;
    const after = toDatum(setType(type), [...old, ...add]);
    return { name, type, before, after, mutations: setMutations(column, add, []) };
  }
  const old = asMap(before);
  const wanted = asMap(toDatum(mapType(type), value));
  const put = new Map([...wanted].filter(([k, v]) => old.get(k) !== v));
  if (put.size === 0) return undefined;
  const after = new Map([...old, ...put]);
  return { name, type, before, after, mutations: mapMutations(column, old, put, []) };
}
