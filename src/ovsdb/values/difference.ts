import { cardinality, isSentWhole, type ColumnType } from '../data/column-type.ts';
import { compareAtoms } from '../data/atom.ts';
import { datumEquals, defaultDatum, members, parseDatum } from '../data/datum.ts';
import { OvsdbError } from '../data/error.ts';
import type { Atom, Datum, JsonValue } from '../data/value.ts';

/**
 * Differences of values as update2 and update3 carry them. Members of sets may be given in any order; results are in canonical order. A value
 * that is `undefined` is the default of its type.
 */

/**
 * What turns `before` into `after`; undefined when they are equal. A column of at most one member: the new value.
 * A larger set: members of exactly one of both. A larger map: pairs to remove (as they are), to add and to replace (as they
 * will be).
 */
export function difference(
  type: ColumnType,
  before: Datum,
  after: Datum,
): { readonly datum: Datum } | undefined {
  const [from, to] = [before ?? defaultDatum(type), after ?? defaultDatum(type)];
  if (isSentWhole(type)) return datumEquals(from, to) ? undefined : { datum: to };
  const datum =
    cardinality(type) === 'map'
      ? mapDifference(from as ReadonlyMap<Atom, Atom>, to as ReadonlyMap<Atom, Atom>)
      : symmetric(from, to);
  return members(datum).length === 0 ? undefined : { datum };
}

function symmetric(before: Datum, after: Datum): readonly Atom[] {
  const [a, b] = [members(before).toSorted(compareAtoms), members(after).toSorted(compareAtoms)];
  const result: Atom[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const order = i >= a.length ? 1 : j >= b.length ? -1 : compareAtoms(a[i] as Atom, b[j] as Atom);
    if (order < 0) result.push(a[i++] as Atom);
    else if (order > 0) result.push(b[j++] as Atom);
    else {
      i++;
      j++;
    }
  }
  return result;
}

function mapDifference(
  before: ReadonlyMap<Atom, Atom>,
  after: ReadonlyMap<Atom, Atom>,
): ReadonlyMap<Atom, Atom> {
  const pairs: [Atom, Atom][] = [];
  for (const [key, value] of before) if (!after.has(key)) pairs.push([key, value]);
  for (const [key, value] of after) if (before.get(key) !== value) pairs.push([key, value]);
  return new Map(pairs.sort((a, b) => compareAtoms(a[0], b[0])));
}

/** Reads a difference in wire form: it may have more or fewer members than the type allows. */
export const parseDifference = (type: ColumnType, json: JsonValue): Datum => {
  if (isSentWhole(type)) return parseDatum(type, json, { trusted: true });
  const datum = parseDatum(type, json, { trusted: true, anySize: true });
  return datum instanceof Map ? datum : members(datum);
};

/** `before` with the difference applied. Throws `ovsdb error` when the result has too few or too many members. */
export function applyDifference(type: ColumnType, before: Datum, diff: Datum): Datum {
  if (isSentWhole(type)) return diff;
  const result = applied(before ?? defaultDatum(type), diff);
  const size = members(result).length;
  if (size < type.min || size > type.max) {
    throw new OvsdbError(
      'ovsdb error',
      // The words of ovsdb-server, as they are.
      `Datum crated by diff has size error: ${size} members, allowed are ${type.min} to ${type.max === Infinity ? 'unlimited' : type.max}`,
    );
  }
  return result;
}

/**
 * Two differences, one after the other, as one; undefined when the second takes the first back. What lies between may have more or fewer
 * members than the type allows.
 */
export function mergeDifferences(
  type: ColumnType,
  before: Datum,
  first: Datum,
  second: Datum,
): { readonly datum: Datum } | undefined {
  const after = isSentWhole(type)
    ? second
    : applied(applied(before ?? defaultDatum(type), first), second);
  return difference(type, before, after);
}

const applied = (before: Datum, diff: Datum): Datum =>
  diff instanceof Map
    ? applyToMap(before as ReadonlyMap<Atom, Atom>, diff as ReadonlyMap<Atom, Atom>)
    : symmetric(before, diff);

function applyToMap(
  before: ReadonlyMap<Atom, Atom>,
  diff: ReadonlyMap<Atom, Atom>,
): ReadonlyMap<Atom, Atom> {
  const result = new Map(before);
  for (const [key, value] of diff) {
    if (result.get(key) === value) result.delete(key);
    else result.set(key, value);
  }
  return new Map([...result].sort((a, b) => compareAtoms(a[0], b[0])));
}
