import { datumEquals, datumToJson, members, toDatum } from '../data/datum.ts';
import type { ColumnType } from '../data/column-type.ts';
import type { Mutation } from '../data/operation.ts';
import type { PlannedColumn } from './plan-change.ts';
import type { PlanColumn } from './plan-table.ts';
import type { Atom, Datum, Writable } from '../data/value.ts';

/** How the value of a column becomes another one with the fewest bytes. */

const setType = (type: ColumnType): ColumnType => ({ key: type.key, min: 0, max: Infinity });
const mapType = (type: ColumnType): ColumnType => ({ ...type, min: 0, max: Infinity });

const asMap = (datum: Datum): ReadonlyMap<Atom, Atom> =>
  datum instanceof Map ? (datum as ReadonlyMap<Atom, Atom>) : new Map<Atom, Atom>();

/** Adds and removes members of a set. */
function setMutations(
  column: PlanColumn,
  add: readonly Atom[],
  remove: readonly Atom[],
): readonly Mutation[] {
  const type = setType(column.type);
  const result: Mutation[] = [];
  if (remove.length > 0) {
    result.push([column.name, 'delete', datumToJson(type, toDatum(type, remove))]);
  }
  if (add.length > 0) result.push([column.name, 'insert', datumToJson(type, toDatum(type, add))]);
  return result;
}

/** Sets and removes keys of a map: `insert` keeps the value of a key that exists, so it is deleted first. */
function mapMutations(
  column: PlanColumn,
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
export function inserted(column: PlanColumn, value: Writable): PlannedColumn | undefined {
  const after = toDatum(column.type, value);
  if (datumEquals(after, column.defaultValue)) return undefined;
  const { name, type, defaultValue } = column;
  return { name, type, before: defaultValue, after, mutations: undefined };
}

/** The column's whole value becomes another one. */
export function replaced(
  column: PlanColumn,
  before: Datum,
  value: Writable,
): PlannedColumn | undefined {
  const { name, type } = column;
  const after = toDatum(type, value);
  if (datumEquals(before, after)) return undefined;
  return { name, type, before, after, mutations: smallerMutations(column, before, after) };
}

/** Mutations, where they name fewer members than the whole value has. */
function smallerMutations(
  column: PlanColumn,
  before: Datum,
  after: Datum,
): readonly Mutation[] | undefined {
  const { type } = column;
  if (type.max !== Infinity || type.min !== 0) return undefined;
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

/** A set that gains and loses some members; undefined when neither. */
export function changedMembers(
  column: PlanColumn,
  before: Datum,
  add: readonly Atom[],
  remove: readonly Atom[],
): PlannedColumn | undefined {
  if (add.length === 0 && remove.length === 0) return undefined;
  const { name, type } = column;
  const after = [...new Set(members(before)).difference(new Set(remove)), ...add];
  return {
    name,
    type,
    before,
    after: toDatum(setType(type), after),
    mutations: setMutations(column, add, remove),
  };
}

/**
 * A set or map in which others have members of their own: what is wanted is there, and of the rest only what
 * `isUnwanted` names goes.
 */
export function shared(
  column: PlanColumn,
  before: Datum,
  value: Writable,
  isUnwanted: (member: Atom) => boolean,
): PlannedColumn | undefined {
  const { name, type } = column;
  if (type.value === undefined) {
    const old = new Set(members(before));
    const wanted = new Set(members(toDatum(setType(type), value)));
    const remove = [...old.difference(wanted)].filter(isUnwanted);
    return changedMembers(column, before, [...wanted.difference(old)], remove);
  }
  const old = asMap(before);
  const wanted = asMap(toDatum(mapType(type), value));
  const put = new Map([...wanted].filter(([k, v]) => old.get(k) !== v));
  const remove = [...old.keys()].filter((key) => !wanted.has(key) && isUnwanted(key));
  if (put.size === 0 && remove.length === 0) return undefined;
  const kept = [...old].filter(([key]) => !remove.includes(key));
  return {
    name,
    type,
    before,
    after: new Map([...kept, ...put]),
    mutations: mapMutations(column, old, put, remove),
  };
}
